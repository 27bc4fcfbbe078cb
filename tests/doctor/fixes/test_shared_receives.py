"""Fixes for a queue pair with an SRQ name the SRQ, and are tried on it."""

import pytest

from tests.doctor.asking import played, why


@pytest.mark.parametrize("asked", ["", "B.qp0.recv_wr[1]"])
def test_a_receive_posted_to_the_srq_instead_is_what_the_call_wanted(asked: str) -> None:
    lab = played("use srq_pair", "post_recv B.qp0 wr_id=1 sg=B.mr0[0:64]")
    lines = ["post_srq_recv B.srq0 wr_id=1 sg=B.mr0[0:64]"]
    report = why(lab, asked)
    assert report.slug == "srq-vs-rq"
    assert report.remedy is not None
    assert report.remedy.cure.lines == lines
    assert report.remedy.works


def test_a_datagram_with_a_wrong_key_needs_room_on_the_srq() -> None:
    lab = played(
        "use ud_pair", "create_srq B.srq0 pd=B.pd0 max_wr=8 max_sge=1",
        "create_qp B.qp1 pd=B.pd0 qp_type=UD send_cq=B.cq0 recv_cq=B.cq0 srq=B.srq0 max_send_wr=4",
        "modify_qp B.qp1 state=INIT pkey_index=0 port_num=1 qkey=0x11111111",
        "modify_qp B.qp1 state=RTR", "post_srq_recv B.srq0 wr_id=1 sg=B.mr0[0:64]",
        "post_send A.qp0 wr_id=2 opcode=SEND sg=A.mr0[0:64] ah=A.ah0 remote_qpn=B.qp1 "
        "remote_qkey=0x22222222 flags=SIGNALED", "run",
    )  # fmt: skip
    remedy = why(lab).remedy
    assert remedy is not None
    assert "post receives of 104 bytes on B.srq0" in remedy.cure.program
