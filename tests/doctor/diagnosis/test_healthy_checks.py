"""Beside the chain."""

from rdmalab.doctor.diagnosis.healthy_checks import coming, looked_at
from rdmalab.doctor.evidence.log import Log
from rdmalab.doctor.evidence.subject import Sort, Subject
from rdmalab.lab import Lab


def test_looked_at_sentence() -> None:
    lab = Lab()
    assert looked_at(lab.session, Log(lab.session)) == "nothing: there is no queue"
    for line in (
        "use rc_pair",
        "post_send A.qp0 opcode=SEND sg=A.mr0[0:8] flags=SIGNALED",
        "modify_qp B.qp0 state=INIT",
    ):
        lab.do(line)
    both, log = lab.session, Log(lab.session)
    assert looked_at(both, log) == (
        "2 queue pairs, 2 completion queues, 1 send under way, 1 refused call"
    )
    assert looked_at(both, log, "A").endswith(
        "1 completion queue, 1 send under way, 0 refused calls"
    )


def test_next_event_of_the_qp_or_its_peer() -> None:
    lab = Lab()
    for line in ("use rc_pair", "use rc_pair", "post_recv B.qp1 sg=B.mr1[0:8]"):
        lab.do(line)
    thing = lab.session.names.find("A.qp1")
    assert thing is not None
    subject = Subject(Sort.SEND, thing)
    assert coming(lab.session, subject) == "no packet, timer or program is pending"
    for qp in ("qp0", "qp1"):
        lab.do(f"post_send A.{qp} opcode=SEND sg=A.mr{qp[-1]}[0:8] flags=SIGNALED")
    assert coming(lab.session, subject) == "at 0.100 us A.qp0 sends a packet of wr0 SEND 8 B"
    lab.do("step 3")
    assert coming(lab.session, subject).split()[3] in ("A.qp1", "B.qp1")
