"""Which work request a wr_id means."""

from rdmalab.doctor.evidence.log import Log
from rdmalab.doctor.evidence.work_of_queues import newest_receive, newest_send, renewed
from rdmalab.hca.qp import QueuePair
from rdmalab.lab import Lab
from tests.labs import RECV, SEND, lab_of


def test_the_newest_with_a_wr_id_is_meant() -> None:
    lab = lab_of(SEND, SEND, RECV, RECV)
    log = Log(lab.session)
    a, b = (lab.session.names.find(name) for name in ("A.qp0", "B.qp0"))
    assert a is not None
    assert b is not None
    assert newest_send(lab.session, log, a, 1).serial == 1
    assert newest_send(lab.session, log, a, 7).serial == -1
    assert newest_receive(lab.session, log, b, 2).serial == 1
    assert newest_receive(lab.session, log, b, 7).serial == -1


def test_renewed_is_the_newest_post() -> None:
    lab = lab_of(SEND)
    a = lab.session.names.find("A.qp0")
    assert a is not None
    first = newest_send(lab.session, Log(lab.session), a, 1)
    lab.do(SEND)
    again = renewed(lab.session, first, Log(lab.session))
    assert (first.serial, again.serial) == (0, 1)


def test_newest_send_of_an_early_post_on_rxe() -> None:
    lab = Lab(profile="rxe")
    for line in ("use rc_pair", "modify_qp A.qp0 state=RESET", SEND):
        lab.do(line)
    a = lab.session.names.find("A.qp0")
    assert a is not None
    found = newest_send(lab.session, Log(lab.session), a, 1)
    early = lab.session.world.find(a, QueuePair).sq.early
    assert (found.serial >= 0) is bool(early)
