"""Visits and trials: afterwards everything is as it was before."""

import pytest

from rdmalab import Lab
from rdmalab.session import history
from rdmalab.session.branch import TimePoint
from rdmalab.session.history import read_only_visit, undone_afterwards
from tests.labs import RECV, SEND, everything, lab_of, well
from tests.session.test_history import moment, visited


@pytest.fixture(autouse=True)
def _close_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Snapshots close together, and a short hot tail."""
    for name, value in (("EVENTS_APART", 5), ("RECENT", 4), ("OLD", 2), ("HOT", 2)):
        monkeypatch.setattr(history, name, value)


def test_jumps_are_counted_and_looking_is_none() -> None:
    lab = Lab()
    visited(lab)
    history_ = lab.session.history
    lab.do("run 1us")
    assert history_.jumps == 0
    with read_only_visit(history_):
        history_.seek(TimePoint(3, 0))
    assert history_.jumps == 0
    lab.do("goto 3")
    lab.do("goto 1us")
    lab.do("alloc_pd A.pd7")
    assert history_.jumps == 2
    lab.do("switch main")
    assert history_.jumps == 3


def test_what_was_only_tried_has_not_happened() -> None:
    lab = Lab()
    been = visited(lab)
    past, question = lab.session.history, "wire.count()"
    for place in [*list(been)[::4], past.here]:
        past.seek(place)
        before, live, total = moment(lab), past.live, lab.look(question)
        branches, jumps = dict(past.branches), past.jumps
        with undone_afterwards(past):
            lab.do("alloc_pd A.pd7")
            lab.do("reg_mr A.mr7 pd=A.pd7 length=64 access=LOCAL_WRITE")
            lab.do("post_send A.qp0 opcode=SEND sg=A.mr7 flags=SIGNALED")
            lab.do("run")
            lab.do("destroy_qp A.qp0")
            assert lab.session.names.find("A.mr7") is not None
            lab.look(question)
        assert moment(lab) == before
        assert (past.live, past.branches, past.jumps) == (live, branches, jumps)
        assert lab.look(question) == total
        assert lab.session.names.find("A.mr7") is None
    past.seek(past.end)
    assert everything(lab)


def test_a_total_that_was_read_in_a_trial_within_a_trial_is_read_again() -> None:
    lab = lab_of(RECV, SEND)
    past, question = lab.session.history, "B.cq0.total(status=SUCCESS)"
    assert lab.look(question) == 0
    with undone_afterwards(past):
        well(lab, "run")
        for _ in range(3):
            with undone_afterwards(past):
                well(lab, RECV)
                assert lab.look(question) == 1
        assert lab.look(question) == 1
    assert lab.look(question) == 0
    well(lab, "step")
    with read_only_visit(past):
        past.seek(TimePoint(past.here.event - 1, 0))
        assert lab.look(question) == 0
    well(lab, "run")
    assert lab.look(question) == 1


def test_who_left_the_line_for_the_port_without_a_packet_may_get_in_line_again() -> None:
    lab = Lab()
    write = "post_send A.qp0 wr_id=7 opcode=RDMA_WRITE sg=A.mr0[0:8] remote=B.mr0 flags=SIGNALED"
    for line in ("use rc_pair", write, "reset A.qp0", "reset B.qp0", "connect A.qp0 B.qp0", "run"):
        well(lab, line)
    before = moment(lab)
    with undone_afterwards(lab.session.history):
        well(lab, write)
    assert moment(lab) == before
    well(lab, write)
    well(lab, "run")
    assert lab.look("A.cq0.count") == 1
