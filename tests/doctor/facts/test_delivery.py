"""The last try of a send, who took its packets, and whether it was carried out."""

import pytest

from rdmalab.doctor.facts.delivery import (
    answers,
    by_fault,
    by_port,
    carried_out,
    faults_of,
    last_try,
)
from rdmalab.spec.records import Kind, kind_of
from tests.doctor.asking import case_of
from tests.labs import RECV, SEND, lab_of

_WR = "A.qp0.wr[1]"
_QUICK = "use rc_pair timeout=8 retry_cnt=3"


def test_last_try_is_since_the_retransmission() -> None:
    case = case_of(lab_of("fault drop A->B nth=1", RECV, SEND, "run", pair=_QUICK), _WR)
    assert case.send is not None
    assert len(case.send.transmissions) == 2
    tried = last_try(case)
    assert [row.number for row in tried] == [case.send.transmissions[1].number]
    assert [row.label for row in answers(case)] == ["ACK"]


def test_last_try_is_empty_before_sending() -> None:
    case = case_of(lab_of(SEND), _WR)
    assert (last_try(case), answers(case), carried_out(case)) == ([], [], None)


@pytest.mark.parametrize(
    ("line", "port", "fault"),
    [
        ("link down", True, False),
        ("port A ARMED", True, False),
        ("port B ARMED", True, False),
        ("fault drop A->B", False, True),
        ("fault corrupt A->B byte=60", False, True),
        ("modify_qp B.qp0 state=RESET", False, False),
    ],
)
def test_by_port_and_by_fault_of_a_lost_packet(line: str, port: bool, fault: bool) -> None:
    (row,) = last_try(case_of(lab_of(line, SEND, "run 10us"), _WR))
    assert (by_port(row), by_fault(row)) == (port, fault)


def test_faults_of_a_dropped_or_corrupted_packet() -> None:
    lab = lab_of("fault delay A->B 1us", "fault corrupt A->B byte=60", SEND, "run 10us")
    case = case_of(lab, _WR)
    assert faults_of(case, last_try(case)) == [2]
    lab = lab_of("fault delay A->B 1us", "fault drop A->B", SEND, "run 10us")
    case = case_of(lab, _WR)
    assert faults_of(case, last_try(case)) == [2]


@pytest.mark.parametrize(
    "line",
    [
        SEND,
        "post_send A.qp0 wr_id=1 opcode=RDMA_WRITE sg=A.mr0[0:2000] remote=B.mr0[0]",
        "post_send A.qp0 wr_id=1 opcode=RDMA_WRITE remote=B.mr0[0]",
    ],
)
def test_carried_out_at_the_arrival_of_the_last_packet(line: str) -> None:
    lab = lab_of("fault drop B->A", RECV, line, "run 10us")
    case = case_of(lab, _WR)
    event = carried_out(case)
    assert event is not None
    assert Kind.PACKET_RECEIVED in [kind_of(r) for r in case.log.within(event) if r[4] == "B"]
    later = lab_of("fault drop A->B", RECV, line, "run 10us")
    assert carried_out(case_of(later, _WR)) is None


def test_a_duplicate_is_received_and_not_carried_out() -> None:
    lab = lab_of(RECV, SEND, "run", "reset A.qp0", "to_rts A.qp0 B.qp0", RECV,
                 SEND.replace("=1 ", "=5 "), "run 10us")  # fmt: skip
    case = case_of(lab, "A.qp0.wr[5]")
    assert last_try(case)
    assert carried_out(case) is None
