"""Work requests: the word for how far each has come."""

import pytest

from rdmalab.lab import Lab
from rdmalab.spec.profiles import RXE
from rdmalab.spec.states import QPState
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import SendFlags, WROpcode
from rdmalab.views import queues, wqes
from rdmalab.views.wqes import Progress
from tests.labs import well
from tests.pairs import Pair
from tests.views.looking import PEER_QP, QP

UNSIGNALED = SendFlags(0)


def progress(pair: Pair) -> list[str]:
    return [row.word for row in wqes.wqe_rows(pair.world, QP)]


def test_from_posted_to_acked() -> None:
    pair = Pair()
    pair.b.recv(64)
    pair.a.issue(WROpcode.SEND, 64, wr_id=7)
    pair.a.issue(WROpcode.RDMA_WRITE, 600, wr_id=8, flags=UNSIGNALED)
    assert progress(pair) == ["POSTED", "POSTED"]
    pair.world.run(1)
    assert progress(pair) == ["ON WIRE", "POSTED"]
    pair.run()
    assert progress(pair) == ["ACKED", "ACKED unsignaled"]
    assert wqes.wqe_rows(pair.world, QP)[1].text == "wr8 RDMA_WRITE 600 B ACKED unsignaled psn 1..3"


def test_what_waits_says_for_what() -> None:
    pair = Pair(rd_atomic=1)
    for _ in range(2):
        pair.a.issue(WROpcode.RDMA_READ, 8)
    pair.world.run(1)
    assert progress(pair) == ["ON WIRE", "WAITING rd-atomic"]
    pair.a.issue(WROpcode.RDMA_WRITE, 8)
    assert progress(pair)[2] == "POSTED"


def test_an_rnr_nak_makes_all_wait() -> None:
    pair = Pair(rd_atomic=1)
    pair.a.issue(WROpcode.SEND, 8)
    while pair.a.qp.comp.rnr_until_ns is None:
        assert pair.world.step()
    pair.a.issue(WROpcode.RDMA_WRITE, 8)
    assert progress(pair) == ["RNR WAIT", "WAITING rnr"]


def test_an_error_flushes_what_was_never_begun() -> None:
    pair = Pair(rnr_retry=0, rd_atomic=1)
    pair.a.issue(WROpcode.SEND, 8)
    pair.run()
    pair.a.issue(WROpcode.SEND, 8)
    assert progress(pair) == ["FAILED RNR_RETRY_EXC_ERR", "FAILED WR_FLUSH_ERR"]


def test_a_request_whose_cqe_an_overrun_has_lost_keeps_its_status() -> None:
    lab = Lab()
    well(lab, "use rc_pair cqe=2")
    for wr_id in (1, 2, 3):
        well(lab, f"post_recv B.qp0 wr_id={wr_id} sg=B.mr0[0:64]")
        well(lab, f"post_send A.qp0 wr_id={wr_id} opcode=SEND sg=A.mr0[0:64] flags=SIGNALED")
    lab.do("run")
    rows = wqes.wqe_rows(lab.session.world, QP)
    assert [row.word for row in rows] == ["ACKED", "ACKED", "FAILED REM_OP_ERR"]
    row = queues.qp_row(lab.session.world, lab.session.names, QP)
    assert (row.sq.acked, row.sq.failed) == (3, 1)
    assert wqes.wqe_by_id(lab.session.world, QP, 3) == rows[2]


def test_a_request_that_was_never_sent_has_no_psn() -> None:
    pair = Pair(rnr_retry=0, rd_atomic=1)
    pair.a.issue(WROpcode.SEND, 8)
    pair.a.issue(WROpcode.RDMA_WRITE, 600, sg=[pair.a.sge(0, 600, lkey=0xDEAD)])
    pair.a.issue(WROpcode.SEND, 8)
    assert [row.psns for row in wqes.wqe_rows(pair.world, QP)] == ["0", "1..3", "4"]
    pair.run()
    pair.a.issue(WROpcode.SEND, 8)
    rows = wqes.wqe_rows(pair.world, QP)
    assert [row.psns for row in rows] == ["0", "", "", ""]
    assert rows[2].text == "wr1 SEND 8 B FAILED WR_FLUSH_ERR"


def test_a_local_failure_waits_for_its_turn() -> None:
    pair = Pair()
    pair.a.issue(WROpcode.RDMA_WRITE, 8)
    pair.a.issue(WROpcode.RDMA_WRITE, 8, sg=[pair.a.sge(0, 8, lkey=0xDEAD)])
    pair.world.run(2)
    first, second = wqes.wqe_rows(pair.world, QP)
    assert first.status is Progress.ON_WIRE
    assert (second.status, second.wc_status) == (Progress.FAILED, WCStatus.LOC_PROT_ERR)


def test_soft_roce_keeps_what_was_refused_before_rts() -> None:
    pair = Pair(profile=RXE)
    lone = pair.end("A")
    lone.peer = pair.b
    with pytest.raises(Exception, match="send-state"):
        lone.issue(WROpcode.SEND, 8)
    (row,) = wqes.wqe_rows(pair.world, QP._replace(number=lone.qp.number))
    assert (row.status, row.first_psn, row.word) == (Progress.EARLY, None, "EARLY")


def test_a_work_request_is_found_by_its_id_even_when_it_is_gone() -> None:
    pair = Pair()
    pair.b.recv(64, wr_id=2)
    pair.a.issue(WROpcode.SEND, 64, wr_id=7)
    recv = wqes.recv_by_id(pair.world, PEER_QP, 2)
    assert recv is not None
    assert recv.text == "wr2 64 B POSTED"
    pair.run()
    pair.a.sent()
    send = wqes.wqe_by_id(pair.world, QP, 7)
    assert send is not None
    assert (send.status, send.length) == (Progress.GONE, 64)
    recv = wqes.recv_by_id(pair.world, PEER_QP, 2)
    assert recv is not None
    assert recv.status is Progress.GONE
    assert wqes.wqe_by_id(pair.world, QP, 8) is None
    assert wqes.recv_by_id(pair.world, PEER_QP, 8) is None


def test_the_newest_of_one_id_is_meant() -> None:
    pair = Pair()
    for length in (8, 16):
        pair.a.issue(WROpcode.RDMA_WRITE, length, wr_id=7)
    row = wqes.wqe_by_id(pair.world, QP, 7)
    assert row is not None
    assert row.length == 16


def test_the_receive_in_use_stands_first() -> None:
    pair = Pair()
    pair.b.recv(600, wr_id=2)
    pair.b.recv(600, wr_id=3)
    pair.a.issue(WROpcode.SEND, 600)
    while pair.b.qp.resp.recv is None:
        assert pair.world.step()
    first, second = wqes.recv_rows(pair.world, PEER_QP)
    assert (first.wr_id, first.status, first.received) == (2, Progress.ON_WIRE, 256)
    assert (second.wr_id, second.status) == (3, Progress.POSTED)


def test_reset_empties_the_queue() -> None:
    pair = Pair()
    pair.a.issue(WROpcode.SEND, 8)
    pair.a.modify(qp_state=QPState.RESET)
    assert wqes.wqe_rows(pair.world, QP) == []


def test_a_bind_has_no_psn_and_is_done_without_an_answer() -> None:
    lab = Lab()
    for line in (
        "use rc_pair",
        "reg_mr B.mr1 pd=B.pd0 length=64 access=LOCAL_WRITE|MW_BIND",
        "alloc_mw B.mw0 pd=B.pd0 type=TYPE_1",
        "bind_mw B.qp0 B.mw0 wr_id=5 bind=B.mr1[0:64] bind_access=REMOTE_WRITE",
        "use ud_pair",
        "post_send A.qp2 wr_id=6 opcode=SEND ah=A.ah2 remote_qpn=B.qp2",
    ):
        lab.do(line)
    lab.run()
    assert [lab.look(f"B.qp0.wr[5].{psn}") for psn in ("first_psn", "last_psn")] == [None, None]
    rows = {row.wr_id: row for name in ("B.qp0", "A.qp2") for row in wqes_of(lab, name)}
    assert (rows[5].word, rows[6].word) == ("DONE unsignaled", "SENT unsignaled")
    assert rows[6].first_psn == 0


def wqes_of(lab: Lab, name: str) -> list[wqes.WqeRow]:
    thing = lab.session.names.find(name)
    assert thing is not None
    return wqes.wqe_rows(lab.session.world, thing)
