"""A case: the one thing that is asked about, and what hangs on it."""

from typing import Any

import pytest

from rdmalab.hca.qp import QueuePair
from rdmalab.lab import Lab
from rdmalab.world.relations import peer_of
from tests.doctor.asking import case_of
from tests.labs import RECV, SEND, lab_of


def there(lab: Lab, name: str) -> Any:
    """The object of this name."""
    thing = lab.session.names.find(name)
    assert thing is not None
    return lab.session.world.find(thing, QueuePair)


def test_case_of_a_send_has_qp_and_peer() -> None:
    lab = lab_of(RECV, SEND)
    case = case_of(lab, "A.qp0.wr[1]")
    assert case.send is not None
    assert [case.receive, case.call, case.program, case.cq] == [None] * 4
    assert case.qp is there(lab, "A.qp0")
    assert case.peer is there(lab, "B.qp0")
    assert case.peer is not None
    assert (case.node, case.qp_name(case.peer)) == ("A", "B.qp0")
    assert not case.at_rest


def test_case_of_a_shared_receive_has_the_qp_that_took_it() -> None:
    lab = lab_of("post_srq_recv B.srq0 wr_id=4 sg=B.mr0[0:64]", pair="use srq_pair")
    assert case_of(lab, "B.srq0.recv_wr[4]").qp is None
    lab.do("post_send A.qp1 opcode=SEND sg=A.mr0[0:8]")
    lab.do("run")
    taker = case_of(lab, "B.srq0.recv_wr[4]").qp
    assert taker is there(lab, "B.qp1")


@pytest.mark.parametrize(
    ("lines", "peer"), [((), True), (("destroy_qp B.qp0",), False), (("reset A.qp0",), False)]
)
def test_peer_of_exists(lines: tuple[str, ...], peer: bool) -> None:
    lab = lab_of(*lines)
    qp = there(lab, "A.qp0")
    assert (peer_of(lab.session.world, qp) is not None) is peer


def test_future_of_a_case_is_computed_once() -> None:
    lab = lab_of(RECV, SEND)
    case = case_of(lab, "A.qp0.wr[1]")
    assert case.will_succeed
    assert case.future is case.future
