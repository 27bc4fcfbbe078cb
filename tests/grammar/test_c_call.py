"""A call of C that was pasted: its line has what the call tells."""

import pytest

from rdmalab.command import NotUnderstood
from rdmalab.grammar.line import parse
from rdmalab.vocabulary import VOCABULARY

LINES = {
    "ibv_modify_qp(A_qp0, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | "
    "IBV_QP_ACCESS_FLAGS);":
        "modify_qp A.qp0 state=INIT qp_access_flags=REMOTE_WRITE pkey_index=0 port_num=1",
    "if (ibv_modify_qp(B_qp1, &attr, IBV_QP_STATE|IBV_QP_AV|IBV_QP_PATH_MTU|IBV_QP_DEST_QPN"
    "|IBV_QP_RQ_PSN|IBV_QP_MAX_DEST_RD_ATOMIC|IBV_QP_MIN_RNR_TIMER))":
        "modify_qp B.qp1 state=RTR path_mtu=512 rq_psn=0 dest_qp_num=A.qp0 ah=A "
        "max_dest_rd_atomic=1 min_rnr_timer=12",
    "ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_SQ_PSN)":
        "modify_qp A.qp0 state=RTS sq_psn=0 timeout=14",
    "ret = ibv_poll_cq(B_cq1, 16, wc);": "poll_cq B.cq1 num_entries=16",
    "A_mr1 = ibv_reg_mr(A_pd0, (void *)0x10000000, 4096, IBV_ACCESS_LOCAL_WRITE | "
    "IBV_ACCESS_REMOTE_WRITE);":
        "reg_mr A.mr1 pd=A.pd0 length=4096 access=LOCAL_WRITE|REMOTE_WRITE",
    "ibv_create_cq(ctx, 64, NULL, channel, 0)": "create_cq A.cq1 cqe=64 comp_vector=0",
    "ibv_req_notify_cq(A_cq0, 1)": "req_notify_cq A.cq0 solicited_only=1",
    "ibv_ack_cq_events(cq, n)": "ack_cq_events A.cq1 nevents=1",
    "ibv_query_qp(qp, &attr, IBV_QP_STATE | IBV_QP_CAP, &init)":
        "query_qp A.qp0 attr_mask=STATE|CAP",
}  # fmt: skip


@pytest.mark.parametrize("call", LINES)
def test_a_call_is_answered_with_its_line(call: str) -> None:
    with pytest.raises(NotUnderstood, match="is a call in C") as caught:
        parse(call, VOCABULARY, "A")
    assert caught.value.hint == f"write {LINES[call]}"
    assert parse(LINES[call], VOCABULARY, "A")
