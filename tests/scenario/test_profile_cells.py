"""Cells of the profile table: where two profiles differ, and who reads them."""

import dataclasses

from rdmalab.scenario.profile_comparison import (
    PARTS,
    Cell,
    Reading,
    cause,
    changed,
    copied,
    differing,
    watching,
)
from rdmalab.spec.profiles import CELLS, MLX5, RXE, STRICT, Profile

ERRNO = Cell("errnos", "send-state")
CAPS = Cell("caps", "max_cqe")


def test_every_part_but_name_and_sentence_is_compared() -> None:
    left = {each.name for each in dataclasses.fields(Profile)} - PARTS
    assert left == {"name", "about", "lacks_counters"}  # a table shows those, no engine asks them
    assert set(CELLS) < PARTS


def test_where_two_profiles_differ() -> None:
    found = differing(STRICT, MLX5)
    assert {Cell("rounding"), ERRNO, CAPS} < set(found)
    assert Cell("timer_tick_ns") not in found
    assert differing(RXE, RXE) == []
    assert [ERRNO.text, CAPS.text, Cell("rounding").text] == [
        "errnos[send-state]", "caps.max_cqe", "rounding",
    ]  # fmt: skip


def test_a_profile_with_all_values_of_another_is_that_one() -> None:
    made = changed(STRICT, differing(STRICT, RXE), RXE)
    named = dataclasses.replace(made, name="rxe", about=RXE.about)
    assert dataclasses.replace(named, lacks_counters=RXE.lacks_counters) == RXE
    assert changed(STRICT, [], RXE) is STRICT
    without = changed(MLX5, [ERRNO], STRICT)
    assert "send-state" in MLX5.errnos
    assert "send-state" not in without.errnos


def test_a_limit_that_a_file_sets_is_kept() -> None:
    own = dataclasses.replace(STRICT, caps=dataclasses.replace(STRICT.caps, max_cqe=7))
    assert changed(own, [CAPS], RXE).caps.max_cqe == 7
    assert changed(STRICT, [CAPS], RXE).caps.max_cqe == RXE.caps.max_cqe


def test_a_watched_profile_is_equal_in_all_and_notes_what_engines_read() -> None:
    notes: dict[str, Reading] = {}
    watched = copied(watching(notes, lambda: 5), RXE, {})
    assert watched.joins_acks is RXE.joins_acks
    assert notes == {}  # this test is no engine
    names: dict[str, object] = {"__name__": "rdmalab.hca.completer", "profile": watched}
    exec("value = profile.joins_acks", names)
    assert names["value"] is RXE.joins_acks
    assert notes == {"joins_acks": Reading(5, "rdmalab.hca.completer")}
    again = dataclasses.replace(watched, caps=STRICT.caps)
    names["profile"] = again
    exec("value = profile.rounding", names)
    assert notes["rounding"].event == 5


def test_cause_of_a_differing_cell_in_words() -> None:
    notes = {"errnos": Reading(3, "rdmalab.hca.errors")}
    found = cause("strict", "mlx5", ERRNO, notes)
    assert (found.left, found.right, found.asked_by) == ("EINVAL", "ENOMEM", "hca.errors")
    assert "{}" not in found.sentence
    for cell in differing(STRICT, RXE):
        row = cause("strict", "rxe", cell, {})
        assert row.sentence
        assert row.left != row.right or cell.part == "attributes"
        assert "<" not in row.left + row.right
