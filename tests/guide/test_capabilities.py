"""Every member of every enum of the book is done by an engine, or there is a reason why not."""

import json

import pytest

from rdmalab.cli import main
from rdmalab.guide.capabilities import AREAS, CapabilityRow, lines, rows
from rdmalab.spec.absent import REASONS
from rdmalab.spec.absent import VERBS as ABSENT_VERBS
from rdmalab.spec.profiles import PROFILES, RXE, STRICT
from rdmalab.vocabulary import VERBS, VOCABULARY
from tests.guide.test_explain import public_enums


def found(area: str, profile: str = "strict") -> dict[str, CapabilityRow]:
    return {r.name: r for r in rows(PROFILES[profile], VOCABULARY) if r.area == area}


@pytest.mark.parametrize("profile", PROFILES)
def test_what_is_not_there_has_a_reason(profile: str) -> None:
    areas = {title for title, *_ in AREAS}
    silent = [r for r in rows(PROFILES[profile], VOCABULARY) if not r.emulated and not r.text]
    wrong = [(r.area, r.name) for r in silent if r.area in (*areas, "packets", "verbs")]
    assert not wrong


def test_the_verbs_that_there_are() -> None:
    listed = {r.name for r in rows(STRICT, VERBS) if r.area == "verbs" and r.emulated}
    assert {"post_send", "wr_send_tso", "create_srq_ex"} <= listed
    assert not {"step", "show", "use"} & listed


def test_checksums_that_a_device_looks_at() -> None:
    assert found("completion flags")["IP_CSUM_OK"].emulated
    assert found("send flags")["IP_CSUM"].emulated
    assert not found("send flags", "rxe")["IP_CSUM"].emulated


def test_tables_of_a_profile_are_printed_in_words() -> None:
    other = {r.name: r.text for r in rows(RXE, VERBS) if r.area.startswith("differences of rxe")}
    assert other["lacks_builders"] == "RC:FLUSH, UC:LOCAL_INV, UD:TSO, not none"
    assert other["batch_errnos"].startswith("queue-full ENOSPC, ")
    assert not any(mark in text for text in other.values() for mark in "{}<>")


def test_an_event_is_there_when_an_engine_raises_it() -> None:
    events = found("asynchronous events")
    assert events["GID_CHANGE"].emulated
    assert "InfiniBand" in events["LID_CHANGE"].text


def test_the_device_decides() -> None:
    assert found("queue pair types")["RC"].emulated
    strict, rxe = found("asynchronous events"), found("asynchronous events", "rxe")
    assert (strict["QP_ACCESS_ERR"].emulated, rxe["QP_ACCESS_ERR"].emulated) == (True, False)
    assert (strict["PATH_MIG"].emulated, rxe["PATH_MIG"].emulated) == (True, False)
    states = found("path migration states"), found("path migration states", "rxe")
    assert [each["ARMED"].emulated for each in states] == [True, False]
    layers = found("link layers"), found("link layers", "rxe")
    assert [each["INFINIBAND"].emulated for each in layers] == [True, False]
    families = found("address families"), found("address families", "rxe")
    assert [each["InfiniBand (LRH)"].emulated for each in families] == [True, False]
    other = {r.name: r for r in rows(RXE, VOCABULARY) if r.area.startswith("differences of rxe")}
    assert other["lkey_is_rkey"].text == "yes, not no"


def test_infiniband_ports_lack_raw_packet_and_attach_mcast() -> None:
    missing = found("InfiniBand ports")
    assert set(missing) == {"RAW_PACKET, create_flow", "attach_mcast"}
    assert "subnet manager" in missing["attach_mcast"].text
    assert not any(row.emulated for row in missing.values())
    assert not found("InfiniBand ports", "rxe")


def test_a_word_makes_its_verb_appear() -> None:
    def is_there(words: set[str]) -> bool:
        return next(r.emulated for r in rows(STRICT, words) if r.name == "alloc_dm")

    assert (is_there(set()), is_there({"alloc_dm"})) == (False, True)


def test_it_fits_eighty_columns() -> None:
    assert max(map(len, lines(rows(STRICT, VOCABULARY), 80))) <= 80


def test_the_command_prints_a_page_or_a_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["capabilities"]) == 0
    assert "queue pair types" in capsys.readouterr().out
    assert main(["capabilities", "--json", "--profile", "rxe"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["profile"] == "rxe"
    assert {"area", "name", "emulated", "text"} == set(document["capabilities"][0])


# Parts of tables, which are no capability of a device.
PARTS = {
    "Op", "PacketPlace", "Side", "Local", "EventKind", "Rounding", "SlotsFreed", "Field", "Kind",
    "Mishap", "Arm", "CmEvent", "RejectReason", "Number",
}  # fmt: skip


def test_areas_cover_every_public_enum() -> None:
    names = {cls.__name__ for _, cls, _ in AREAS}
    assert {cls.__name__ for cls in public_enums()} - PARTS == names


def test_no_reason_is_given_for_what_is_there() -> None:
    """A reason is read where the lab's own device lacks the thing, and nowhere else."""
    lacking = {(cls, r.name) for title, cls, _ in AREAS for r in found(title).values()
               if not r.emulated}  # fmt: skip
    given = {(cls, member.name) for cls, members in REASONS.items() for member in members}
    assert given == lacking
    assert not set(ABSENT_VERBS) & set(VERBS)
