"""The first evidence of a mismatch names both values."""

import pytest

from tests.doctor.asking import answer, played

_SEND = "post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:2048] flags=SIGNALED"


def _by_hand(*, mtu: int = 512, qpn: str = "B.qp0", rq_psn: int = 0) -> tuple[str, ...]:
    """A pair that is brought up with other values at one end, and a message."""
    init = "state=INIT pkey_index=0 port_num=1 qp_access_flags=REMOTE_WRITE"
    rest = "max_dest_rd_atomic=1 min_rnr_timer=12"
    return (
        "use rc_pair", "reset A.qp0", "reset B.qp0", f"modify_qp A.qp0 {init}",
        f"modify_qp B.qp0 {init}",
        f"modify_qp A.qp0 state=RTR path_mtu={mtu} dest_qp_num={qpn} rq_psn=0 {rest} ah=B",
        f"modify_qp B.qp0 state=RTR path_mtu=512 dest_qp_num=A.qp0 rq_psn={rq_psn} {rest} ah=A",
        "modify_qp A.qp0 state=RTS timeout=14 retry_cnt=7 rnr_retry=7 sq_psn=0 max_rd_atomic=1",
        "post_recv B.qp0 wr_id=1 sg=B.mr0[0:2048]", _SEND,
    )  # fmt: skip


HEADLINES = {
    "sq_psn=0 of A.qp0 is not rq_psn=762 of B.qp0": _by_hand(rq_psn=762),
    "path_mtu=4096 of A.qp0 is not path_mtu=512 of B.qp0": _by_hand(mtu=4096),
    "A.qp0 was given dest_qp_num=0x4d, but B.qp0 has number 0x11": _by_hand(qpn="0x4d"),
    "A.tx and B.rx wait for each other": (
        "use rc_pair", "post_recv A.qp0 wr_id=1 sg=A.mr0[0:64]",
        "post_recv B.qp0 wr_id=1 sg=B.mr0[0:64]",
        f"program A.tx lines={{poll A.cq0; {_SEND}; poll A.cq0}}",
        f"program B.rx lines={{poll B.cq0; {_SEND.replace('A.', 'B.')}; poll B.cq0}}", "run 50us",
    ),
    "B.qp0 was connected to A.qp1, not to A.qp0": (
        "use rc_pair timeout=7 retry_cnt=1", "reset B.qp0",
        "create_qp A.qp1 pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0", "to_rts B.qp0 A.qp1",
        "post_send A.qp0 wr_id=1 opcode=RDMA_WRITE sg=A.mr0[0:8] remote=B.mr0[0] flags=SIGNALED",
    ),
    "the receive wr_id=3 of B.qp0 has room for 32 bytes; A.qp0 sends 2048": (
        "use rc_pair", "post_recv B.qp0 wr_id=3 sg=B.mr0[0:32]", _SEND,
    ),
    "it has 64 bytes; the datagram needs 104: 40 of GRH and 64 of data": (
        "use ud_pair", "post_recv B.qp0 wr_id=3 sg=B.mr0[0:64]",
        "post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:64] ah=A.ah0 remote_qpn=B.qp0 "
        "remote_qkey=0x11111111 flags=SIGNALED",
    ),
}  # fmt: skip


@pytest.mark.parametrize("text", HEADLINES)
def test_headline_of_a_mismatch_names_both_values(text: str) -> None:
    ran = () if HEADLINES[text][-1].startswith("run") else ("run",)
    report = answer(played(*HEADLINES[text], *ran), "why")
    assert report.causes[0].finding.evidence[0].text == text
