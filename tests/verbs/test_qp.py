import dataclasses

import pytest

from rdmalab.hca.attributes import AhAttr
from rdmalab.lab import Lab
from rdmalab.spec.profiles import PROFILES
from rdmalab.spec.states import Attr, QPState, QPType, fields_of
from tests.covers import covers
from tests.labs import RECV, SEND, lab_of, refusal, status, well
from tests.shell.prompts import Prompt

_NEW = "create_qp A.qp1 pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0"
_INIT = "modify_qp A.qp0 state=INIT pkey_index=0 port_num=1 qp_access_flags=0"


def test_create_qp_is_in_reset_with_its_capacities() -> None:
    lab = lab_of(f"{_NEW} max_send_wr=3 max_inline_data=7 sq_sig_all=1")
    qp = lab.session.world.nodes["A"].qps.items[18]
    assert (qp.cap.max_send_wr, qp.cap.max_inline_data, qp.sq_sig_all) == (3, 7, True)
    assert well(lab, "query_qp A.qp1").value.qp_state is QPState.RESET


def test_sq_sig_all_signals_every_request() -> None:
    send = SEND.replace(" flags=SIGNALED", "")
    assert status(lab_of(RECV, send, "run", pair="use rc_pair sq_sig_all=1")) == "SUCCESS"
    assert status(lab_of(RECV, send, "run")) == ""


def test_modify_qp_is_all_or_nothing() -> None:
    lab = lab_of("reset A.qp0")
    assert refusal(lab, f"{_INIT} timeout=9").rule == "attr-surplus"
    attr = well(lab, "query_qp A.qp0").value
    assert attr.qp_state is QPState.RESET
    assert attr.timeout != 9


def test_attr_mask_that_does_not_fit_the_fields() -> None:
    lab = lab_of("reset A.qp0")
    refused = refusal(lab, "modify_qp A.qp0 state=INIT attr_mask=STATE|PORT")
    assert refused.rule == "mask-mismatch"
    well(lab, f"{_INIT} attr_mask=STATE|PKEY_INDEX|PORT|ACCESS_FLAGS")


def test_query_qp_returns_a_copy() -> None:
    lab = lab_of()
    answer = well(lab, "query_qp A.qp0").value
    answer.timeout, answer.ah_attr.hop_limit = 31, 1
    again = well(lab, "query_qp A.qp0").value
    assert (again.timeout, again.ah_attr.hop_limit) == (14, 64)


def test_query_qp_init_attr() -> None:
    lab = lab_of("create_cq A.cq1 cqe=4", f"{_NEW} max_recv_wr=3 sq_sig_all=1")
    lab.do("create_qp A.qp2 pd=A.pd0 qp_type=UD send_cq=A.cq1 recv_cq=A.cq0")
    answer = well(lab, "query_qp A.qp1").value
    assert answer.cap.max_recv_wr == answer.init_attr.cap.max_recv_wr == 3
    assert (answer.init_attr.qp_type, answer.init_attr.sq_sig_all) == (QPType.RC, True)
    made = well(lab, "query_qp A.qp2").value.init_attr
    assert made.qp_type is QPType.UD
    assert [lab.session.names.of(cq) for cq in (made.send_cq, made.recv_cq)] == ["A.cq1", "A.cq0"]


def test_query_qp_cap_on_soft_roce() -> None:
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
def test_query_qp_has_no_number_of_outstanding_requests() -> None:
    """The lab counts for the person who looks; the program has to count by itself."""
    lab = lab_of()
    before = well(lab, "query_qp A.qp0").value
    for _ in range(3):
        well(lab, SEND)
    assert well(lab, "query_qp A.qp0").value == before
    assert lab.look("A.qp0.sq.used == 3")


def test_query_qp_psns_are_those_of_now() -> None:
    lab = lab_of(RECV, SEND, "run", pair="use rc_pair psn=7")
    assert well(lab, "query_qp A.qp0").value.sq_psn == 8
    assert well(lab, "query_qp B.qp0").value.rq_psn == 8


def test_query_qp_updates_the_state_in_libibverbs() -> None:
    lab = lab_of("post_send A.qp0 opcode=RDMA_WRITE sg=A.mr0[0:8] remote_addr=1 rkey=1", "run")
    qp = lab.session.world.nodes["A"].qps.items[17]
    assert (qp.state, qp.known_state) == (QPState.ERR, QPState.RTS)
    well(lab, "query_qp A.qp0")
    assert qp.known_state is QPState.ERR


def test_destroy_qp_discards_outstanding_requests() -> None:
    lab = lab_of(SEND, "run 5us", "destroy_qp A.qp0", "run")
    assert lab.look("A.cq0.count") == 0
    assert lab.look("idle")


@pytest.mark.parametrize("profile", PROFILES)
def test_a_pair_works_on_every_device(profile: str) -> None:
    lab = Lab(profile=profile)
    for line in ("use rc_pair", RECV, SEND, "run"):
        well(lab, line)
    assert status(lab) == "SUCCESS"


# The fields of struct ibv_qp_attr.
_QP_ATTR = {
    "qp_state", "cur_qp_state", "path_mtu", "path_mig_state", "qkey", "rq_psn", "sq_psn",
    "dest_qp_num", "qp_access_flags", "cap", "ah_attr", "alt_ah_attr", "pkey_index",
    "alt_pkey_index", "en_sqd_async_notify", "sq_draining", "max_rd_atomic", "max_dest_rd_atomic",
    "min_rnr_timer", "port_num", "timeout", "retry_cnt", "rnr_retry", "alt_port_num", "alt_timeout",
}  # fmt: skip


@pytest.mark.parametrize("profile", PROFILES)
@covers("S229")
def test_query_qp_has_every_field_of_the_struct(profile: str) -> None:
    assert len(_QP_ATTR) == 25
    lab = Lab(profile=profile)
    well(lab, "use rc_pair")
    answer = well(lab, "query_qp A.qp0").value
    assert {f.name for f in dataclasses.fields(answer)} == {*_QP_ATTR, "rate_limit", "init_attr"}
    assert all(getattr(answer, name) is not None for name in _QP_ATTR)
    assert answer.qp_state is QPState.RTS
    assert answer.cur_qp_state is (QPState.RESET if profile == "rxe" else QPState.RTS)
    assert (answer.alt_timeout, answer.alt_pkey_index, answer.alt_port_num) == (0, 0, 0)
    assert answer.alt_ah_attr == AhAttr(port_num=0)
    printed = [line.partition(" ")[0] for line in Prompt("use rc_pair").ask("query_qp A.qp0")]
    assert set(printed) > _QP_ATTR


def test_query_qp_sq_draining() -> None:
    lab = lab_of(SEND, "run 200ns", "modify_qp A.qp0 state=SQD")
    assert well(lab, "query_qp A.qp0").value.sq_draining == 1
    for line in (RECV, "run"):
        well(lab, line)
    assert well(lab, "query_qp A.qp0").value.sq_draining == 0


def test_query_qp_with_a_mask_has_sq_draining_too() -> None:
    prompt = Prompt("use rc_pair", SEND, "run 200ns", "modify_qp A.qp0 state=SQD")
    rows = [row.split() for row in prompt.ask("query_qp A.qp0 attr_mask=STATE")]
    assert ["sq_draining", "1"] in rows
    rows = [row.split() for row in prompt.ask("query_qp A.qp0 attr_mask=CUR_STATE")]
    assert not [row for row in rows if row[:1] == ["sq_draining"]]


def test_query_qp_attr_mask_selects_fields() -> None:
    lab = lab_of()
    answer = well(lab, "query_qp A.qp0 attr_mask=IBV_QP_TIMEOUT|CAP|ALT_PATH").value
    assert set(answer.given()) == {"timeout", "cap", *fields_of(Attr.ALT_PATH)}
    assert answer.sq_draining is None
    assert answer.init_attr.qp_type is QPType.RC
    answer = well(lab, "query_qp A.qp0 attr_mask=STATE").value
    assert (answer.given(), answer.sq_draining) == ({"qp_state": QPState.RTS}, 0)


def test_query_qp_without_state_leaves_the_state_in_libibverbs() -> None:
    lab = lab_of("post_send A.qp0 opcode=RDMA_WRITE sg=A.mr0[0:8] remote_addr=1 rkey=1", "run")
    qp = lab.session.world.nodes["A"].qps.items[17]
    well(lab, "query_qp A.qp0 attr_mask=CAP")
    assert qp.known_state is QPState.RTS


def test_query_qp_with_an_unknown_mask_names_the_legal_ones() -> None:
    (reply,) = lab_of().do("query_qp A.qp0 attr_mask=FOO")
    assert reply.error is not None
    assert reply.error.hint.startswith("legal here: STATE, CUR_STATE, EN_SQD_ASYNC_NOTIFY")
