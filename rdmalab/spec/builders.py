"""The extended post API: which builders a queue pair type has, and which setters each one needs.

A builder makes one work request; the setters after it give the buffers and the destination. All but
the names follows from the opcode's row in `work.py`.
"""

from enum import IntFlag

from rdmalab.spec.states import QPType
from rdmalab.spec.transports import TRANSPORTS
from rdmalab.spec.work import BUILDERS, WORK, Local, SendOps, WROpcode


class InitMask(IntFlag):
    """IBV_QP_INIT_ATTR_*, the `comp_mask` of create_qp_ex: which fields are filled in."""

    PD = 1
    XRCD = 2
    CREATE_FLAGS = 4
    MAX_TSO_HEADER = 8
    IND_TABLE = 16
    RX_HASH = 32
    SEND_OPS_FLAGS = 64


DATA_SETTERS = ("wr_set_sge", "wr_set_sge_list", "wr_set_inline_data", "wr_set_inline_data_list")
INLINE_SETTERS = frozenset({"wr_set_inline_data", "wr_set_inline_data_list"})
INLINE_LISTS = frozenset({"wr_set_inline_data_list"})
UD_SETTER, XRC_SETTER = "wr_set_ud_addr", "wr_set_xrc_srqn"


def flag_of(opcode: WROpcode) -> SendOps:
    """The bit that asks for this opcode's builder."""
    return SendOps[opcode.name]


def offered(qp_type: QPType) -> SendOps:
    """The builders that a QP type can have: those whose opcode it has."""
    flags = SendOps(0)
    for opcode in BUILDERS:
        if qp_type in WORK[opcode].types:
            flags |= flag_of(opcode)
    return flags


def moves_data(opcode: WROpcode) -> bool:
    """True if the builder needs a DATA setter; wr_atomic_write takes its 8 bytes as an argument."""
    return WORK[opcode].local is not Local.NONE and opcode is not WROpcode.ATOMIC_WRITE


def qp_setter(qp_type: QPType, opcode: WROpcode | None = None) -> str:
    """The setter that a QP type requires after each builder that sends a message; "" for most."""
    if opcode is not None and WORK[opcode].message is None:
        return ""
    if qp_type is QPType.XRC_SEND:
        return XRC_SETTER
    return UD_SETTER if TRANSPORTS[qp_type].addressed else ""
