"""History: every moment that was can be had again, exactly, whatever was done since."""

import random
from typing import Any

import pytest

from rdmalab import Lab
from rdmalab.session import history
from rdmalab.session.branch import TimePoint
from rdmalab.session.history import History
from rdmalab.session.replayed_records import ReplayedRecords
from rdmalab.spec.records import RARE, Kind
from tests.labs import everything, fingerprint, still, well

# Lines of a busy session: losses and corruption, memory, a destroyed QP, a deregistered MR.
LINES = (
    "use rc_pair max_send_wr=8 cqe=64 mtu=512 timeout=8",
    "fault drop A->B nth=7", "fault corrupt B->A nth=9 byte=60",
    "write A.mr0[0:5] \"hello\"", "post_recv B.qp0 wr_id=1 sg=B.mr0[0:1024]",
    "post_send A.qp0 opcode=SEND wr_id=1 sg=A.mr0[0:900] flags=SIGNALED", "step 3",
    "post_send A.qp0 opcode=RDMA_WRITE wr_id=2 sg=A.mr0[0:2000] remote=B.mr0[100]", "run 5us",
    "post_send A.qp0 opcode=ATOMIC_FETCH_AND_ADD wr_id=3 sg=A.mr0[8:16] remote=B.mr0[0] "
    "compare_add=5 flags=SIGNALED", "run", "poll_cq A.cq0 num_entries=4",
    "post_send A.qp0 opcode=RDMA_READ wr_id=4 sg=A.mr0[0:3000] remote=B.mr0[0] flags=SIGNALED",
    "step 6", "dereg_mr B.mr0", "run 2us", "create_qp B.qp7 pd=B.pd0 qp_type=UD send_cq=B.cq0 "
    "recv_cq=B.cq0", "run", "reg_mr B.mr9 pd=B.pd0 length=8192 access=LOCAL_WRITE",
    "fill B.mr9[0:5000] 7", "destroy_qp B.qp7", "post_recv B.qp0 wr_id=9 sg=B.mr9[0:64]", "run",
)  # fmt: skip


@pytest.fixture(autouse=True)
def _close_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Snapshots as close as in a session a hundred times as long, and a short hot tail."""
    for name, value in (("EVENTS_APART", 5), ("RECENT", 4), ("OLD", 2), ("HOT", 2)):
        monkeypatch.setattr(history, name, value)


def visited(lab: Lab, lines: tuple[str, ...] = LINES) -> dict[TimePoint, Any]:
    """Play the lines event by event; everything there was at each place on the way."""
    been = {}
    for line in lines:
        for reply in lab.replies(line):
            assert reply.error is None, reply.error
            travel = reply.travel
            while travel is not None and not travel.go(1):
                been[lab.session.history.here] = moment(lab)
            been[lab.session.history.here] = moment(lab)
    return been


def moment(lab: Lab) -> Any:
    names = lab.session.names
    named = (dict(names.thing_of), dict(names.name_of), set(names.retired))
    return still(lab.session.world), repr(named[:2]), named[2], fingerprint(lab)


def test_every_place_is_again_what_it_was() -> None:
    lab = Lab()
    been = visited(lab)
    places = list(been)
    random.Random(1).shuffle(places)
    for place in places:
        lab.session.history.seek(place)
        assert lab.session.history.here == place
        assert moment(lab) == been[place], place


def test_the_moment_of_a_snapshot_needs_no_replay(monkeypatch: pytest.MonkeyPatch) -> None:
    lab = Lab()
    visited(lab)
    history, replayed = lab.session.history, list[int]()
    next_ = History._next

    def counted(self: History, stop: int, until_ns: int | None = None) -> bool:
        replayed.append(stop)
        return next_(self, stop, until_ns)

    monkeypatch.setattr(History, "_next", counted)
    kept = [snapshot.place for snapshot in history.branch.snapshots]
    for place in kept:
        assert history.place_after(place.event) == place
        history.seek(place)
    assert len(kept) > 4
    assert not replayed


def test_the_present_is_where_it_was() -> None:
    lab = Lab()
    visited(lab)
    before, end = everything(lab), lab.session.history.here
    lab.session.history.seek(TimePoint(20, 0))
    assert not lab.session.history.live
    lab.session.history.seek(end)
    assert lab.session.history.live
    assert everything(lab) == before


def test_what_is_older_than_the_tail_reads_the_same() -> None:
    long, short = Lab(), Lab()
    visited(long)
    history.HOT = 10**6
    visited(short)
    assert long.session.world.trace.first > 0 == short.session.world.trace.first
    ours, theirs = long.session.world.trace.records, short.session.world.trace.records
    before = moment(long)
    assert [r[:4] for r in ours] == [r[:4] for r in theirs]
    assert [r[:4] for r in reversed(ours)] == [r[:4] for r in reversed(theirs)]
    assert [ours.span(e) for e in range(-1, 99)] == [theirs.span(e) for e in range(-1, 99)]
    assert [r[:4] for r in ours[3:40:3]] == [r[:4] for r in theirs[3:40:3]]
    assert ours[-1][:4] == theirs[-1][:4]
    assert moment(long) == before
    assert fingerprint(long) == fingerprint(short)


def test_what_is_rare_is_found_without_reading_all(monkeypatch: pytest.MonkeyPatch) -> None:
    lab = Lab()
    visited(lab)
    past, trace = lab.session.history, lab.session.world.trace
    whole = list(enumerate(trace.records))
    assert any(record[3] is Kind.WENT_BACK for _, record in whole)
    assert trace.first > 0
    for event in (lab.session.world.event, 40, 12):
        past.seek(past.place_after(event))
        count = len(trace.records)
        with monkeypatch.context() as within:
            within.setattr(ReplayedRecords, "of_record", _replays)
            for kind in RARE:
                found = [(number, record[:6]) for number, record in trace.records.of_kind(kind)]
                wanted = [(n, r[:6]) for n, r in whole[:count] if r[3] is kind]
                assert found == wanted[::-1]


def _replays(_recall: ReplayedRecords, number: int) -> Any:
    pytest.fail(f"record {number} is replayed")


def test_in_the_past_the_same_happens_again_up_to_the_present() -> None:
    lab = Lab()
    been = visited(lab)
    end, whole = lab.session.history.here, everything(lab)
    lab.session.history.seek(TimePoint(-1, 0))
    while not lab.session.history.live:
        lab.session.history.run(1)
        if (here := lab.session.history.here) in been:
            assert moment(lab) == been[here]
    assert (lab.session.history.here, everything(lab)) == (end, whole)


def test_a_command_in_the_past_opens_a_branch_and_loses_nothing() -> None:
    lab = Lab()
    visited(lab)
    old, history_ = everything(lab), lab.session.history
    history_.seek(history_.place_after(30))
    first = history_.branch
    well(lab, "reset A.qp0")
    assert history_.branch.parent == first.name
    assert history_.branch.forked.event == 30
    assert [e.event for e in history_.branch.journal if e.event <= 30] == [
        e.event for e in first.journal if e.event <= 30
    ]
    lab.do("run")
    new = everything(lab)
    history_.switch(first)
    assert everything(lab) == old
    history_.switch(history_.branches["branch-1"])
    assert everything(lab) == new


@pytest.mark.parametrize("line", ["query_qp A.qp0", "query_gid A index=99"])
def test_a_query_in_the_past_opens_no_branch_and_changes_nothing(line: str) -> None:
    lab = Lab()
    visited(lab)
    history_ = lab.session.history
    history_.seek(history_.place_after(30))
    seen = everything(lab)
    (reply,) = lab.replies(line)
    assert (reply.event, reply.left) == (None, "")
    assert (reply.refusal is not None) == ("gid" in line)
    assert (everything(lab), list(history_.branches)) == (seen, ["main"])


def test_a_refusal_is_kept_with_its_rule() -> None:
    lab = Lab()
    lab.do("use rc_pair")
    lab.do("modify_qp B.qp0 state=INIT pkey_index=0 port_num=1 qp_access_flags=0")
    (found,) = lab.session.world.trace.records.of_kind(Kind.REFUSED)
    assert found.record[3:7] == (Kind.REFUSED, "B", 17, "transition")
    assert "RTS" in found.record[7]
