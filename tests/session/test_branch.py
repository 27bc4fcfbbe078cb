"""What a branch keeps of a long past has a bound, and its ends are all there."""

from itertools import pairwise
from typing import Any

from rdmalab.session.branch import (
    ENDS,
    Snapshot,
    TimePoint,
    both_ends,
    bound_telling,
    telling_before,
    thin_out,
)
from rdmalab.spec.records import Kind, Record, without_idle_repeats
from rdmalab.world.trace import Numbered


def _numbered(number: int, kind: Kind = Kind.WENT_BACK, thing: int = 17, b: Any = "") -> Numbered:
    return Numbered(number, (number, number, -1, kind, "A", thing, number, b))


def _snapshot(event: int, rare: list[Numbered] | None = None) -> Snapshot:
    return Snapshot(TimePoint(event, 0), event, 0, {}, {}, (0, 0, 0), rare or [])


def test_what_is_rare_is_kept_as_it_is() -> None:
    found = [_numbered(n, b=str(n // ENDS)) for n in range(50)]
    assert both_ends(found) == (found, frozenset())


def test_of_repeated_records_both_ends_are_kept() -> None:
    found = [_numbered(n, Kind.TIMER_FIRED if n % 2 else Kind.WENT_BACK) for n in range(1_000)]
    other = _numbered(333, Kind.REFUSED)
    found[333] = other
    kept, left_out = both_ends(found)
    assert left_out == {Kind.TIMER_FIRED, Kind.WENT_BACK}
    assert kept == [*found[: 2 * ENDS], other, *found[-2 * ENDS :]]


def test_things_and_reasons_are_sorts_of_their_own() -> None:
    found = [_numbered(n, thing=n % 3, b=("ack", "RNR")[n % 2]) for n in range(1_000)]
    kept, _ = both_ends(found)
    assert len(kept) == 3 * 2 * 2 * ENDS


def test_a_long_past_has_so_many_snapshots_evenly_apart() -> None:
    kept: list[Snapshot] = []
    for event in range(0, 100_000, 10):
        kept = thin_out([*kept, _snapshot(event)], recent=8, old=16)
    assert len(kept) == 24
    events = [snapshot.place.event for snapshot in kept]
    assert events[0] == 0
    assert events[-8:] == list(range(99_920, 100_000, 10))
    gaps = [after - before for before, after in pairwise(events[:-7])]
    assert max(gaps) < 3 * 100_000 / 16


def test_what_a_snapshot_had_goes_over_to_the_next() -> None:
    kept: list[Snapshot] = []
    for event in range(200):
        rare = [_numbered(event, Kind.REFUSED, thing=event)]
        kept = thin_out([*kept, _snapshot(event, rare)], recent=4, old=4)
    assert [each.number for snapshot in kept for each in snapshot.rare] == list(range(200))
    assert not any(snapshot.left_out for snapshot in kept)


def test_the_bound_of_what_repeats_holds_when_snapshots_go() -> None:
    kept: list[Snapshot] = []
    for event in range(400):
        kept = thin_out([*kept, _snapshot(event, [_numbered(event, b="RNR")])], recent=4, old=4)
    assert max(len(snapshot.rare) for snapshot in kept) == 2 * ENDS
    assert {kind for snapshot in kept for kind in snapshot.left_out} == {Kind.WENT_BACK}


# --------------------------------------------------------------------------- polls in a long past
def _polls(first: int, count: int) -> list[Record]:
    """A program polls in two lines; every tenth event is one of another object."""
    sent = (Kind.PACKET_SENT, 17, "packet", None)
    return [
        (event, event, -1, kind, "A", thing, a, b)
        for event in range(first, first + count)
        for kind, thing, a, b in ([sent] if event % 10 == 0 else [
            (Kind.PROGRAM_RAN, 1, 1 + event % 2, "poll A.cq0"), (Kind.CALLED, 1, "poll_cq", 0),
        ])
    ]  # fmt: skip


def _kept_of(events: int, step: int, most: int) -> list[Snapshot]:
    kept = [_snapshot(-1)]
    for first in range(0, events, step):
        new = _snapshot(first + step - 1)
        new.telling = without_idle_repeats(_polls(first, step), ())
        kept = thin_out([*kept, new], recent=4, old=4)
        bound_telling(kept, most)
    return kept


def test_of_idle_polls_the_first_and_the_last_of_a_line_stay() -> None:
    found = without_idle_repeats(_polls(0, 100), [])
    assert {r[0] for r in found if r[3] is Kind.PROGRAM_RAN} == {1, 2, 98, 99}
    assert [r[0] for r in found if r[3] is Kind.PACKET_SENT] == list(range(0, 100, 10))
    rare = [(51, 51, -1, Kind.REFUSED, "A", 1, "", "")]
    assert 51 in {r[0] for r in without_idle_repeats(_polls(0, 100), rare)}


def test_all_but_idle_polls_is_kept_from_the_beginning_on() -> None:
    begins, found = telling_before(_kept_of(1_000, 50, 10_000), 730, 10_000)
    assert begins == 0
    assert [r[0] for r in found if r[3] is Kind.PACKET_SENT] == list(range(0, 730, 10))
    assert len(found) < 500
    assert found == sorted(found, key=lambda record: record[0])


def test_records_but_idle_polls_have_a_bound_and_no_gap() -> None:
    kept = _kept_of(1_000, 50, 60)
    assert sum(len(each.telling or ()) for each in kept) <= 60
    begins, found = telling_before(kept, 1_000, 10_000)
    assert 0 < begins < 1_000
    assert [r[0] for r in found if r[3] is Kind.PACKET_SENT] == [
        event for event in range(0, 1_000, 10) if event >= begins
    ]
    assert telling_before(kept, 1_000, 1) == (1_000, [])
    assert telling_before(kept, 1_200, 10_000) == (1_200, [])  # more than the snapshots have
