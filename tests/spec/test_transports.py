"""Transports: every QP type has its row, and the rows agree with the rest of the book."""

import pytest

from rdmalab.spec.opcodes import OPCODES, Service
from rdmalab.spec.states import MOVES, Attr, QPState, QPType, after_send_error
from rdmalab.spec.transports import TRANSPORTS
from rdmalab.spec.work import WORK

INTO_RTR = QPState.INIT, QPState.RTR


def test_every_type_has_its_row() -> None:
    assert set(TRANSPORTS) == set(QPType)


@pytest.mark.parametrize("qp_type", QPType)
def test_connected_qp_types_need_dest_qp_num_at_rtr(qp_type: QPType) -> None:
    answer = MOVES[qp_type, *INTO_RTR].required & Attr.DEST_QPN
    assert bool(answer) is TRANSPORTS[qp_type].connected


@pytest.mark.parametrize("qp_type", QPType)
def test_acknowledged_qp_types_enter_err_and_others_sqe(qp_type: QPType) -> None:
    dies = after_send_error(qp_type) is QPState.ERR
    assert dies is TRANSPORTS[qp_type].acknowledged


@pytest.mark.parametrize("qp_type", QPType)
def test_qp_types_that_send_have_opcodes(qp_type: QPType) -> None:
    assert any(qp_type in row.types for row in WORK.values()) is TRANSPORTS[qp_type].sends


def test_a_service_that_is_acknowledged_has_an_acknowledgement() -> None:
    answering = {row.service for row in OPCODES.values() if row.label == "ACKNOWLEDGE"}
    assert {t.service for t in TRANSPORTS.values() if t.acknowledged} == answering
    assert answering == {Service.RC, Service.XRC}


def test_only_datagrams_say_where_they_go() -> None:
    assert [t.name for t in QPType if TRANSPORTS[t].addressed] == ["UD"]
