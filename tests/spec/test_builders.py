"""The extended post API as tables: the numbers of verbs.h, and who has which builder."""

import pytest

from rdmalab.spec.builders import InitMask, flag_of, moves_data, offered, qp_setter
from rdmalab.spec.states import QPType
from rdmalab.spec.work import BUILDERS, SendOps, WROpcode

_T, _O = QPType, WROpcode
WRITES = SendOps.RDMA_WRITE | SendOps.RDMA_WRITE_WITH_IMM
SENDS = SendOps.SEND | SendOps.SEND_WITH_IMM
ATOMICS = SendOps.ATOMIC_CMP_AND_SWP | SendOps.ATOMIC_FETCH_AND_ADD
WINDOWS = SendOps.LOCAL_INV | SendOps.BIND_MW | SendOps.SEND_WITH_INV
RELIABLE = WRITES | SENDS | WINDOWS | SendOps.RDMA_READ | ATOMICS


def test_the_numbers_are_those_of_the_header() -> None:
    assert [int(flag) for flag in SendOps] == [1 << n for n in range(13)]
    assert [int(flag) for flag in InitMask] == [1 << n for n in range(7)]
    assert [int(f) for f in (SendOps.SEND, SendOps.TSO, SendOps.ATOMIC_WRITE)] == [4, 1024, 4096]
    assert int(InitMask.SEND_OPS_FLAGS) == 64


def test_every_flag_has_a_builder_and_every_builder_a_flag() -> None:
    assert {flag_of(opcode) for opcode in BUILDERS} == set(SendOps)
    assert len(set(BUILDERS.values())) == len(SendOps)


@pytest.mark.parametrize(
    ("qp_type", "builders"),
    [
        (_T.RC, RELIABLE | SendOps.FLUSH | SendOps.ATOMIC_WRITE),
        (_T.XRC_SEND, RELIABLE),
        (_T.UC, WRITES | SENDS | WINDOWS),
        (_T.UD, SENDS | SendOps.TSO),
        (_T.RAW_PACKET, SendOps.SEND | SendOps.TSO),
        (_T.XRC_RECV, SendOps(0)),
    ],
)
def test_the_man_page_table_of_types(qp_type: QPType, builders: SendOps) -> None:
    assert offered(qp_type) == builders


def test_what_moves_no_data_takes_no_setter_for_it() -> None:
    silent = {opcode for opcode in BUILDERS if not moves_data(opcode)}
    assert silent == {_O.LOCAL_INV, _O.BIND_MW, _O.FLUSH, _O.ATOMIC_WRITE}


def test_builders_that_need_a_ud_address() -> None:
    assert qp_setter(_T.UD, _O.SEND) == "wr_set_ud_addr"
    assert qp_setter(_T.XRC_SEND, _O.SEND) == qp_setter(_T.XRC_SEND) == "wr_set_xrc_srqn"
    assert qp_setter(_T.XRC_SEND, _O.LOCAL_INV) == ""  # nothing leaves
    assert qp_setter(_T.RC, _O.SEND) == qp_setter(_T.UC) == qp_setter(_T.RAW_PACKET) == ""
