"""Who may have something to say to a queue pair, and what kept it from saying it."""

from rdmalab.doctor.diagnosis.related_subjects import newest
from rdmalab.doctor.facts.bring_up import stopped
from rdmalab.doctor.facts.undelivered import talkers, unsent
from rdmalab.hca.qp import QueuePair
from rdmalab.lab import Lab
from tests.doctor.asking import case_of, pair

_DATAGRAM = (
    "post_send A.qp0 wr_id={} opcode=SEND sg=A.mr0[0:8] ah=A.ah0 remote_qpn=B.qp0 "
    "remote_qkey=0x11111111 flags=SIGNALED"
)
_RECV = "post_recv B.qp0 wr_id=1 sg=B.mr0[0:104]"


def sender(lab: Lab) -> QueuePair:
    return lab.session.world.nodes["A"].qps.items[lab.look("A.qp0.qp_num")]


def test_talkers_of_a_ud_qp() -> None:
    lab = pair(_RECV, "post_recv B.qp0 wr_id=2 sg=B.mr0[0:104]", use="use ud_pair")
    case = case_of(lab, "B.qp0.recv_wr[2]")
    assert case.qp is not None
    assert talkers(case, case.qp) == []
    lab.do(_DATAGRAM.format(7))
    case = case_of(lab, "B.qp0.recv_wr[2]")
    assert case.qp is not None
    assert talkers(case, case.qp) == [sender(lab)]
    assert [each.wr_id for each in newest(case, sender(lab))] == [7]


def test_unsent_after_a_refused_post() -> None:
    lab = pair(_RECV)
    send = "post_send A.qp0 wr_id=2 opcode=SEND sg=A.mr0[0:200] flags=SIGNALED"
    lab.do(f"{send}|INLINE")
    (call,) = unsent(case_of(lab, "B.qp0.recv_wr[1]"), sender(lab))
    assert call.verb == "post_send"
    lab.do(send)
    assert unsent(case_of(lab, "B.qp0.recv_wr[1]"), sender(lab)) == []


def test_stopped_by_a_refused_modify_qp() -> None:
    lab = pair(_RECV, "reset A.qp0")
    lab.do("modify_qp A.qp0 state=INIT port_num=1")
    (call,) = stopped(case_of(lab, "B.qp0.recv_wr[1]"), sender(lab))
    assert call.verb == "modify_qp"
    lab.do("to_rts A.qp0 B.qp0")
    assert stopped(case_of(lab, "B.qp0.recv_wr[1]"), sender(lab)) == []
