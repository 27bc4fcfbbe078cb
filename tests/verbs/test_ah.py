"""Address handles and groups, typed."""

from rdmalab import Lab


def test_create_ah_and_a_ud_send_as_typed() -> None:
    lab = Lab()
    lab.do("use ud_pair")
    lab.do("post_recv B.qp0 wr_id=3 sg=B.mr0[0:104]")
    lab.do("post_send A.qp0 wr_id=7 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED ah=A.ah0 "
           "remote_qpn=B.qp0 remote_qkey=0x11111111")  # fmt: skip
    lab.run()
    assert lab.look("A.cq0.total(status=SUCCESS)") == 1
    assert lab.look("B.cq0.cqes[0].byte_len") == 104
    assert lab.look("A.ah0.to") == "B"


def test_attach_mcast_and_detach_mcast() -> None:
    lab = Lab()
    lab.do("use ud_pair")
    lab.do("attach_mcast B.qp0 gid=224.0.0.9")
    assert lab.look("B.qp0.groups") == "::ffff:224.0.0.9"
    assert lab.do("destroy_qp B.qp0")[0].failed
    lab.do("detach_mcast B.qp0 gid=224.0.0.9")
    assert not lab.do("destroy_qp B.qp0")[0].failed


def test_destroyed_ah_fails_a_waiting_send() -> None:
    lab = Lab()
    lab.do("use ud_pair")
    lab.do("modify_qp A.qp0 state=SQD")
    lab.do("post_send A.qp0 opcode=SEND ah=A.ah0 remote_qpn=B.qp0 remote_qkey=0x11111111")
    assert not lab.do("destroy_ah A.ah0")[0].failed
    lab.do("modify_qp A.qp0 state=RTS")
    lab.run()
    assert lab.look("A.cq0.cqes[0].status").name == "LOC_QP_OP_ERR"
