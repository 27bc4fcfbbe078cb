"""Cures are lines that mean what was posted and set before."""

import pytest

from rdmalab.command import Noun
from rdmalab.doctor.case import Case
from rdmalab.doctor.evidence.log import Log
from rdmalab.doctor.evidence.work_of_queues import newest_send
from rdmalab.lab import Lab
from rdmalab.repair import commands
from rdmalab.spec.states import QPState
from tests.labs import RECV, SEND, lab_of, well


def case_of(lab: Lab, wr_id: int = 1) -> Case:
    thing, log = lab.session.names.find("A.qp0"), Log(lab.session)
    assert thing is not None
    return Case(lab.session, newest_send(lab.session, log, thing, wr_id), log, asked=True)


@pytest.mark.parametrize(
    "line",
    [
        SEND,
        "post_send A.qp0 wr_id=1 opcode=RDMA_WRITE_WITH_IMM sg=A.mr0[0:8],A.mr0[64:80] "
        "flags=SIGNALED imm_data=0x1234 remote=B.mr0[100]",
        "post_send A.qp0 wr_id=1 opcode=ATOMIC_CMP_AND_SWP sg=A.mr0[8:16] remote=B.mr0[0] "
        "compare_add=5 swap=7",
        "post_send A.qp0 wr_id=1 opcode=RDMA_WRITE sg={addr=0x5 length=9 lkey=0xdead} "
        "remote_addr=0x1064 rkey=0xbeef",
        "post_send A.qp0 wr_id=1 opcode=SEND_WITH_INV sg=A.mr0[0:8] invalidate_rkey=0x77",
    ],
)
def test_post_send_repeats_the_request(line: str) -> None:
    lab = lab_of(line)
    case = case_of(lab)
    assert case.send is not None
    assert case.send.wqe is not None
    assert case.qp is not None
    answer = commands.post_send(case, case.qp, case.send.wqe.wr)
    well(lab, answer)
    first, second = case.qp.sq.wqes[0], case.qp.sq.wqes[1]
    assert first.wr == second.wr


def test_post_send_changes_or_leaves_out_arguments() -> None:
    case = case_of(lab_of(SEND))
    assert case.send is not None
    assert case.send.wqe is not None
    assert case.qp is not None
    answer = commands.post_send(case, case.qp, case.send.wqe.wr, sg="A.mr0[0:8]", flags=None)
    assert answer == "post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:8]"


@pytest.mark.parametrize(
    "pair", ["use rc_pair mtu=1024 timeout=10 rnr_retry=3", "use uc_pair", "use rc_pair psn=77"]
)
def test_both_ends_are_brought_up_again(pair: str) -> None:
    lab = lab_of(SEND, "run 2ms", pair=pair)
    case = case_of(lab)
    assert case.qp is not None
    mtu = lab.look("A.qp0.path_mtu")
    for line in commands.bring_up_again(case, case.qp):
        well(lab, line)
    assert {lab.look(f"{node}.qp0.state") for node in "AB"} == {QPState.RTS}
    assert lab.look("A.qp0.path_mtu") == lab.look("B.qp0.path_mtu") == mtu
    assert lab.look("A.qp0.dest_qp_num") == lab.look("B.qp0.qp_num")
    assert lab.look("A.qp0.sq_psn") == lab.look("B.qp0.rq_psn")


def test_bring_up_again_with_a_changed_attribute() -> None:
    lab = lab_of()
    case = case_of(lab)
    assert case.qp is not None
    for line in commands.bring_up_again(case, case.qp, {"rnr_retry": "2"}, {"min_rnr_timer": "5"}):
        well(lab, line)
    assert (lab.look("A.qp0.rnr_retry"), lab.look("B.qp0.rnr_retry")) == (2, 7)
    assert lab.look("B.qp0.min_rnr_timer") == 5


def test_a_receive_is_offered_only_where_none_waits() -> None:
    for lines, many in (((SEND,), 2), ((RECV, SEND), 1)):
        case = case_of(lab_of(*lines))
        assert case.send is not None
        assert case.send.wqe is not None
        assert case.qp is not None
        answer = commands.again(case, case.qp, case.send.wqe.wr)
        assert len(answer) == many
        assert answer[-1].startswith("post_send A.qp0")
        answer = commands.again(case, case.qp, case.send.wqe.wr, after_reset=True)
        own = " wr_id=2" if many == 1 else ""  # the one that the reset takes away
        assert answer[0] == f"post_recv B.qp0{own} sg=B.mr0[0:64]"


def test_room_for_a_receive_is_beside_the_receives_that_wait() -> None:
    receives = "post_recv B.qp0 sg=B.mr0[0:64]", "post_recv B.qp0 sg=B.mr0[100:4000]"
    case = case_of(lab_of(*receives, SEND))
    assert case.peer is not None
    first, last = "post_recv B.qp0 sg=B.mr0[64:100]", "post_recv B.qp0 sg=B.mr0[4000:4096]"
    assert commands.rooms(case, case.peer, 36) == [first]
    assert commands.rooms(case, case.peer, 96) == [last]
    assert commands.rooms(case, case.peer, 36, 96) == [first, last]
    assert commands.rooms(case, case.peer, 0) == ["post_recv B.qp0 sg=B.mr0[64:65]"]


def test_a_receive_for_which_no_bytes_are_left_has_a_region_of_its_own() -> None:
    receives = "post_recv B.qp0 sg=B.mr0[0:64]", "post_recv B.qp0 sg=B.mr0[100:4096]"
    case = case_of(lab_of(*receives, SEND))
    assert case.peer is not None
    own = "reg_mr B.mr1 pd=B.pd0 length=97 access=LOCAL_WRITE"
    assert commands.rooms(case, case.peer, 97) == [own, "post_recv B.qp0 sg=B.mr1[0:97]"]
    assert commands.rooms(case, case.peer, 30, 30) == [
        "reg_mr B.mr1 pd=B.pd0 length=60 access=LOCAL_WRITE",
        "post_recv B.qp0 sg=B.mr1[0:30]",
        "post_recv B.qp0 sg=B.mr1[30:60]",
    ]
    full = case_of(lab_of("post_recv B.qp0 sg=B.mr0[0:4096]", SEND))
    assert full.peer is not None
    assert commands.rooms(full, full.peer, 0) == ["post_recv B.qp0 wr_id=0"]


def test_room_on_a_shared_queue_is_made_there() -> None:
    lab = lab_of("post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:64]", pair="use srq_pair")
    case = case_of(lab)
    assert case.peer is not None
    assert commands.rooms(case, case.peer, 64) == ["post_srq_recv B.srq0 sg=B.mr0[0:64]"]
    assert case.name(Noun.QP, "A", 99) == "A.qp#0x63"
