"""Packets to an address or a queue pair that does not exist."""

import pytest

from tests.doctor.asking import chain, cured, played, why

_UP = ("reset A.qp0", "modify_qp A.qp0 state=INIT pkey_index=0 port_num=1 qp_access_flags=0",
       "modify_qp A.qp0 state=RTR path_mtu=512 {} rq_psn=0 max_dest_rd_atomic=1 min_rnr_timer=12",
       "modify_qp A.qp0 state=RTS timeout=8 retry_cnt=1 rnr_retry=7 sq_psn=0 max_rd_atomic=1",
       "post_send A.qp0 wr_id=2 opcode=RDMA_WRITE sg=A.mr0[0:8] remote=B.mr0[0] flags=SIGNALED",
       "run")  # fmt: skip


@pytest.mark.parametrize("asked", ["", "A.qp0.wr[2]"])
def test_a_datagram_to_a_lid_that_no_port_has(asked: str) -> None:
    lab = played(
        "use ud_pair link_layer=InfiniBand", "post_recv B.qp0 wr_id=1 sg=B.mr0[0:128]",
        "create_ah A.ah9 pd=A.pd0 dlid=99 port_num=1",
        "post_send A.qp0 wr_id=2 opcode=SEND sg=A.mr0[0:8] ah=A.ah9 remote_qpn=B.qp0 "
        "remote_qkey=0x11111111 flags=SIGNALED", "run",
    )  # fmt: skip
    assert chain(lab, asked) == ["wrong-gid"]
    assert "A.qp0 sends to LID 99" in why(lab, asked).text
    assert cured(lab, asked)[0] == "create_ah A.ah1 pd=A.pd0 to=B"


def test_a_connection_to_a_lid_that_no_port_has() -> None:
    to = "dest_qp_num=B.qp0 dlid=99"
    lab = played("use rc_pair link_layer=InfiniBand", *(line.format(to) for line in _UP))
    assert chain(lab) == ["wrong-gid", "retry-exc"]
    assert cured(lab, "")


def test_the_number_of_no_queue_pair_has_advice_where_the_right_one_is_anybodys_guess() -> None:
    to = "dest_qp_num=0x77 ah=B"
    lab = played("use rc_pair", "destroy_qp B.qp0", *(line.format(to) for line in _UP))
    report = why(lab)
    assert report.slug == "wrong-qpn"
    assert report.remedy is not None
    assert report.remedy.cure.program == (
        "give A.qp0 as dest_qp_num the number that create_qp returned on B, while that queue pair "
        "exists"
    )
