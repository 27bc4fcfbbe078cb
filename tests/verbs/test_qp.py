import pytest

from rdmalab.lab import Lab
from rdmalab.spec.profiles import PROFILES
from rdmalab.spec.states import QPState, QPType
from tests.covers import covers
from tests.labs import RECV, SEND, lab_of, refusal, status, well

_NEW = "create_qp A.qp1 pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0"
_INIT = "modify_qp A.qp0 state=INIT pkey_index=0 port_num=1 qp_access_flags=0"


def test_a_new_queue_pair_has_what_was_asked_and_stands_in_reset() -> None:
    lab = lab_of(f"{_NEW} max_send_wr=3 max_inline_data=7 sq_sig_all=1")
    qp = lab.session.world.nodes["A"].qps.items[18]
    assert (qp.cap.max_send_wr, qp.cap.max_inline_data, qp.sq_sig_all) == (3, 7, True)
    assert well(lab, "query_qp A.qp1").value.qp_state is QPState.RESET


def test_every_request_completes_visibly_with_sq_sig_all() -> None:
    send = SEND.replace(" flags=SIGNALED", "")
    assert status(lab_of(RECV, send, "run", pair="use rc_pair sq_sig_all=1")) == "SUCCESS"
    assert status(lab_of(RECV, send, "run")) == ""


def test_a_move_is_all_or_nothing() -> None:
    lab = lab_of("reset A.qp0")
    assert refusal(lab, f"{_INIT} timeout=9").rule == "attr-surplus"
    attr = well(lab, "query_qp A.qp0").value
    assert attr.qp_state is QPState.RESET
    assert attr.timeout != 9


def test_a_mask_that_does_not_fit_the_fields() -> None:
    lab = lab_of("reset A.qp0")
    refused = refusal(lab, "modify_qp A.qp0 state=INIT attr_mask=STATE|PORT")
    assert refused.rule == "mask-mismatch"
    well(lab, f"{_INIT} attr_mask=STATE|PKEY_INDEX|PORT|ACCESS_FLAGS")


def test_asking_does_not_hand_out_the_queue_pairs_own_attributes() -> None:
    lab = lab_of()
    answer = well(lab, "query_qp A.qp0").value
    answer.timeout, answer.ah_attr.hop_limit = 31, 1
    again = well(lab, "query_qp A.qp0").value
    assert (again.timeout, again.ah_attr.hop_limit) == (14, 64)


def test_asking_tells_what_the_queue_pair_was_made_of() -> None:
    lab = lab_of("create_cq A.cq1 cqe=4", f"{_NEW} max_recv_wr=3 sq_sig_all=1")
    lab.do("create_qp A.qp2 pd=A.pd0 qp_type=UD send_cq=A.cq1 recv_cq=A.cq0")
    answer = well(lab, "query_qp A.qp1").value
    assert answer.cap.max_recv_wr == answer.init_attr.cap.max_recv_wr == 3
    assert (answer.init_attr.qp_type, answer.init_attr.sq_sig_all) == (QPType.RC, True)
    made = well(lab, "query_qp A.qp2").value.init_attr
    assert made.qp_type is QPType.UD
    assert [lab.session.names.of(cq) for cq in (made.send_cq, made.recv_cq)] == ["A.cq1", "A.cq0"]


def test_soft_roce_hands_back_the_numbers_asked_and_tells_the_truth_when_asked() -> None:
    lab = Lab(profile="rxe")
    for line in ("use rc_pair", f"{_NEW} max_send_wr=5 max_inline_data=100"):
        well(lab, line)
    real = well(lab, "query_qp A.qp1").value
    assert (lab.look("A.qp1.cap.max_send_wr"), real.cap.max_send_wr) == (5, 7)
    assert (lab.look("A.qp1.cap.max_send_sge"), real.cap.max_send_sge) == (6, 6)
    assert real.init_attr.cap == real.cap
    lab = lab_of(f"{_NEW} max_send_wr=5")
    assert lab.look("A.qp1.cap.max_send_wr") == 5


@covers("S092")
def test_no_answer_tells_how_many_requests_wait() -> None:
    """The lab counts for the person who looks; the program has to count by itself."""
    lab = lab_of()
    before = well(lab, "query_qp A.qp0").value
    for _ in range(3):
        well(lab, SEND)
    assert well(lab, "query_qp A.qp0").value == before
    assert lab.look("A.qp0.sq.used == 3")


def test_asking_tells_the_psns_as_they_are_now() -> None:
    lab = lab_of(RECV, SEND, "run", pair="use rc_pair psn=7")
    assert well(lab, "query_qp A.qp0").value.sq_psn == 8
    assert well(lab, "query_qp B.qp0").value.rq_psn == 8


def test_the_library_learns_of_an_error_only_by_asking() -> None:
    lab = lab_of("post_send A.qp0 opcode=RDMA_WRITE sg=A.mr0[0:8] remote_addr=1 rkey=1", "run")
    qp = lab.session.world.nodes["A"].qps.items[17]
    assert (qp.state, qp.known_state) == (QPState.ERR, QPState.RTS)
    well(lab, "query_qp A.qp0")
    assert qp.known_state is QPState.ERR


def test_what_waits_in_a_destroyed_queue_pair_vanishes() -> None:
    lab = lab_of(SEND, "run 5us", "destroy_qp A.qp0", "run")
    assert lab.look("A.cq0.count") == 0
    assert lab.look("idle")


@pytest.mark.parametrize("profile", PROFILES)
def test_a_pair_works_on_every_device(profile: str) -> None:
    lab = Lab(profile=profile)
    for line in ("use rc_pair", RECV, SEND, "run"):
        well(lab, line)
    assert status(lab) == "SUCCESS"
