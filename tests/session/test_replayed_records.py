"""Records that are no longer in memory are the same when they are read, in short parts."""

import pytest

from rdmalab import Lab
from rdmalab.session import history, replayed_records
from rdmalab.session.interruption import Stopped, stoppable
from rdmalab.spec.records import RARE, Kind
from tests.labs import fingerprint, still

APART = 16
RNR = ("use rc_pair rnr_retry=7", "post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:64]")


@pytest.fixture(autouse=True)
def _close_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a session a hundred times as long."""
    for name, value in (("EVENTS_APART", APART), ("RECENT", 6), ("OLD", 3), ("HOT", 2)):
        monkeypatch.setattr(history, name, value)


def lived(events: int = 1_500) -> Lab:
    """The first experiment: B has no receive, A tries again and again."""
    lab = Lab()
    for line in (*RNR, f"step {events}"):
        lab.do(line)
    return lab


def whole(monkeypatch: pytest.MonkeyPatch) -> Lab:
    """The same with all records in memory."""
    with monkeypatch.context() as within:
        within.setattr(history, "HOT", 10**6)
        return lived()


def test_snapshots_and_rare_records_have_a_bound() -> None:
    few, many = lived(1_000), lived(4_000)
    sizes = [
        (len(snapshots), sum(len(snapshot.rare) for snapshot in snapshots))
        for snapshots in (lab.session.history.branch.snapshots for lab in (few, many))
    ]
    assert sizes[0][0] == sizes[1][0] == 9
    assert sizes[1][1] <= sizes[0][1] * 1.1


def test_no_part_is_longer_than_two_snapshots_of_the_present(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lab, answer = lived(), whole(monkeypatch)
    monkeypatch.setattr(replayed_records, "STRETCHES", 10**6)
    trace, past = lab.session.world.trace, lab.session.history.past
    assert trace.first > 1_000
    ours, theirs = trace.records, answer.session.world.trace.records
    assert [r[:6] for r in reversed(ours)] == [r[:6] for r in reversed(theirs)]
    assert [ours[n][:6] for n in (3, 999, 500)] == [theirs[n][:6] for n in (3, 999, 500)]
    for stretch in past.stretches.values():
        assert stretch.records[-1][0] - stretch.records[0][0] < APART
    assert fingerprint(lab) == fingerprint(answer)


def test_parts_and_marks_are_kept_for_few() -> None:
    lab = lived()
    past = lab.session.history.past
    for _record in reversed(lab.session.world.trace.records):
        assert len(past.stretches) <= replayed_records.STRETCHES
        assert len(past.marks) <= replayed_records.GAPS


def test_all_of_a_rare_kind_are_found_though_only_some_are_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lab, answer = lived(), whole(monkeypatch)
    records = lab.session.world.trace.records
    for kind in RARE:
        wanted = [
            (n, r[:6]) for n, r in enumerate(answer.session.world.trace.records) if r[3] is kind
        ]
        assert [(n, r[:6]) for n, r in records.of_kind(kind)] == wanted[::-1]
    kept = [each for s in lab.session.history.branch.snapshots for each in s.rare]
    assert len(kept) < len(list(records.of_kind(Kind.TIMER_FIRED)))


def test_going_far_back_marks_the_way_and_finds_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    lab, answer = lived(), whole(monkeypatch)
    for event in (300, 299, 1_200, 40, 1_199):
        for each in (lab, answer):
            each.do(f"goto {event}")
        assert still(lab.session.world) == still(answer.session.world)
    for each in (lab, answer):
        each.do("goto 100ms")
    assert lab.session.history.here == answer.session.history.here
    assert still(lab.session.world) == still(answer.session.world)


def test_the_tail_is_short_in_the_past_too() -> None:
    lab = lived(4_000)
    end = lab.session.history.here
    lab.do("goto start")
    while not lab.session.history.live:
        lab.session.history.run(10)
        assert len(lab.session.world.trace.tail) < 20 * APART
    assert lab.session.history.here == end
    again = lived(4_000)
    for each in (lab, again):
        each.do("step 100")
    assert still(lab.session.world) == still(again.session.world)
    assert fingerprint(lab) == fingerprint(again)


def test_the_first_record_of_a_run_needs_no_replay(monkeypatch: pytest.MonkeyPatch) -> None:
    lab = lived(100)
    reply = lab.do("step 2000")[0]
    trace = lab.session.world.trace
    assert trace.first > 300
    with monkeypatch.context() as within:
        within.setattr(
            replayed_records.ReplayedRecords, "before", lambda *_: pytest.fail("it is replayed")
        )
        first = trace.event - 2_000 + 1
        for event in range(first, first + 20):
            span = trace.records.span(event)
            assert {record[0] for record in trace.records[span.start : span.stop]} == {event}
    assert reply.travel is not None
    assert lab.session.history.past.of_event(first + 20).first != span.start


def test_stopped_on_a_long_way_nothing_has_moved() -> None:
    lab = lived()
    before, here = fingerprint(lab), lab.session.history.here
    lab.session.history.past.marks.clear()
    lab.session.history.past.stretches.clear()
    asked = 0

    def soon() -> bool:
        nonlocal asked
        asked += 1
        return asked > 3

    for line in ("goto 200", "goto 30ms"):
        asked = 0
        with stoppable(soon), pytest.raises(Stopped):
            lab.do(line)
        assert lab.session.history.here == here
        assert lab.session.history.live
    assert fingerprint(lab) == before
