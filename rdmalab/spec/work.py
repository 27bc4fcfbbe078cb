"""Work requests: what each opcode sends, requires at the peer, and completes with."""

from enum import Enum, IntEnum, IntFlag

from rdmalab.spec.access import Access
from rdmalab.spec.opcodes import Op
from rdmalab.spec.row import Row, dataclass
from rdmalab.spec.states import QPType


class WROpcode(IntEnum):
    """IBV_WR_*."""

    RDMA_WRITE = 0
    RDMA_WRITE_WITH_IMM = 1
    SEND = 2
    SEND_WITH_IMM = 3
    RDMA_READ = 4
    ATOMIC_CMP_AND_SWP = 5
    ATOMIC_FETCH_AND_ADD = 6
    LOCAL_INV = 7
    BIND_MW = 8
    SEND_WITH_INV = 9
    TSO = 10
    DRIVER1 = 11
    FLUSH = 14
    ATOMIC_WRITE = 15


class SendOps(IntFlag):
    """IBV_QP_EX_WITH_*, the `send_ops_flags` of create_qp_ex: each bit requests one builder."""

    RDMA_WRITE = 1
    RDMA_WRITE_WITH_IMM = 2
    SEND = 4
    SEND_WITH_IMM = 8
    RDMA_READ = 16
    ATOMIC_CMP_AND_SWP = 32
    ATOMIC_FETCH_AND_ADD = 64
    LOCAL_INV = 128
    BIND_MW = 256
    SEND_WITH_INV = 512
    TSO = 1024
    FLUSH = 2048
    ATOMIC_WRITE = 4096


class SendFlags(IntFlag):
    """IBV_SEND_*."""

    FENCE = 1
    SIGNALED = 2
    SOLICITED = 4
    INLINE = 8
    IP_CSUM = 16


class Placement(IntFlag):
    """IBV_FLUSH_*: the placement that a FLUSH guarantees."""

    GLOBAL = 1
    PERSISTENT = 2


class Selectivity(IntEnum):
    """IBV_FLUSH_*: the memory range that a FLUSH covers."""

    RANGE = 0
    MR = 1


class WCOpcode(IntEnum):
    """IBV_WC_*, the opcode of a work completion; values from 128 are receive completions."""

    SEND = 0
    RDMA_WRITE = 1
    RDMA_READ = 2
    COMP_SWAP = 3
    FETCH_ADD = 4
    BIND_MW = 5
    LOCAL_INV = 6
    TSO = 7
    FLUSH = 8
    ATOMIC_WRITE = 9
    RECV = 128
    RECV_RDMA_WITH_IMM = 129
    TM_ADD = 130
    TM_DEL = 131
    TM_SYNC = 132
    TM_RECV = 133
    TM_NO_TAG = 134
    DRIVER1 = 135
    DRIVER2 = 136
    DRIVER3 = 137


class WCFlags(IntFlag):
    """IBV_WC_*, the `wc_flags` of a work completion."""

    GRH = 1
    WITH_IMM = 2
    IP_CSUM_OK = 4
    WITH_INV = 8


class Local(Enum):
    """Use of the local buffers by a work request."""

    NONE = "untouched"
    GATHER = "read"
    SCATTER = "written"


@dataclass(frozen=True, slots=True)
class Work(Row):
    """The properties of an opcode of `post_send`.

    types: the QP types that have it. message: the wire operation, None if nothing is sent.
    immediate, invalidate: it uses the WR's `imm_data`, `invalidate_rkey`. consumes_receive: it uses
    a receive at the peer. local: what it does with its buffers. remote: the right it needs on the
    peer's key and QP. wc_opcode: the opcode of its completion. inline, solicits: INLINE is allowed,
    SOLICITED has an effect. outstanding: it counts against max_rd_atomic. operands: fields of the
    WR that only it reads.
    """

    types: frozenset[QPType]
    message: Op | None
    immediate: bool
    invalidate: bool
    consumes_receive: bool
    local: Local
    remote: Access
    wc_opcode: WCOpcode
    inline: bool
    solicits: bool
    outstanding: bool
    operands: tuple[str, ...] = ()

    @property
    def reads(self) -> frozenset[str]:
        """The fields of the WR that it reads, of those that not every opcode reads."""
        found = {*self.operands, *(("remote_addr", "rkey") if self.remote else ())}
        found |= {"imm_data"} if self.immediate else set()
        return frozenset(found | ({"invalidate_rkey"} if self.invalidate else set()))


_T, _O, _W, _A = QPType, WROpcode, WCOpcode, Access

_RELIABLE = frozenset({_T.RC, _T.XRC_SEND})
_CONNECTED = _RELIABLE | {_T.UC}
_ADDRESSED = _CONNECTED | {_T.UD}
_ALL = _ADDRESSED | {_T.RAW_PACKET}
_RC = frozenset({_T.RC})
_OFFLOADED = frozenset({_T.UD, _T.RAW_PACKET})
_VENDOR: frozenset[QPType] = frozenset()

_SEND, _WRITE, _READ = Op.SEND, Op.RDMA_WRITE, Op.RDMA_READ_REQUEST
_SWAP, _ADD, _FLUSH, _PUT8 = Op.COMPARE_SWAP, Op.FETCH_ADD, Op.FLUSH, Op.ATOMIC_WRITE
_IN, _OUT, _NO = Local.SCATTER, Local.GATHER, Local.NONE

_NOTHING = _A(0)
_TO_WRITE, _TO_READ, _TO_SWAP = _A.REMOTE_WRITE, _A.REMOTE_READ, _A.REMOTE_ATOMIC
_TO_FLUSH = _A.FLUSH_GLOBAL | _A.FLUSH_PERSISTENT  # the WR's placement type says which of the two

_IMM = _INV = _TAKES = _INLINE = _SOLICITS = _COUNTS = True
_no = False

# fmt: off
WORK: dict[WROpcode, Work] = {
    #                            types        message  immediate invalidate takes a receive
    #                            local remote     completes as     inline   solicits   counts   operands
    _O.RDMA_WRITE:            Work(_CONNECTED,  _WRITE,  _no,      _no,       _no,
                                 _OUT, _TO_WRITE, _W.RDMA_WRITE,   _INLINE, _no,       _no),
    _O.RDMA_WRITE_WITH_IMM:   Work(_CONNECTED,  _WRITE,  _IMM,     _no,       _TAKES,
                                 _OUT, _TO_WRITE, _W.RDMA_WRITE,   _INLINE, _SOLICITS, _no),
    _O.SEND:                  Work(_ALL,        _SEND,   _no,      _no,       _TAKES,
                                 _OUT, _NOTHING,  _W.SEND,         _INLINE, _SOLICITS, _no),
    _O.SEND_WITH_IMM:         Work(_ADDRESSED,  _SEND,   _IMM,     _no,       _TAKES,
                                 _OUT, _NOTHING,  _W.SEND,         _INLINE, _SOLICITS, _no),
    _O.RDMA_READ:             Work(_RELIABLE,   _READ,   _no,      _no,       _no,
                                 _IN,  _TO_READ,  _W.RDMA_READ,    _no,     _no,       _COUNTS),
    _O.ATOMIC_CMP_AND_SWP:    Work(_RELIABLE,   _SWAP,   _no,      _no,       _no,
                                 _IN,  _TO_SWAP,  _W.COMP_SWAP,    _no,     _no,       _COUNTS,
                                 ("compare_add", "swap")),
    _O.ATOMIC_FETCH_AND_ADD:  Work(_RELIABLE,   _ADD,    _no,      _no,       _no,
                                 _IN,  _TO_SWAP,  _W.FETCH_ADD,    _no,     _no,       _COUNTS,
                                 ("compare_add",)),
    _O.LOCAL_INV:             Work(_CONNECTED,  None,    _no,      _INV,      _no,
                                 _NO,  _NOTHING,  _W.LOCAL_INV,    _no,     _no,       _no),
    _O.BIND_MW:               Work(_CONNECTED,  None,    _no,      _no,       _no,
                                 _NO,  _NOTHING,  _W.BIND_MW,      _no,     _no,       _no,
                                 ("mw", "mw_rkey", "bind_mr", "bind_addr", "bind_length", "bind_access")),
    _O.SEND_WITH_INV:         Work(_CONNECTED,  _SEND,   _no,      _INV,      _TAKES,
                                 _OUT, _NOTHING,  _W.SEND,         _INLINE, _SOLICITS, _no),
    _O.TSO:                   Work(_OFFLOADED,  _SEND,   _no,      _no,       _TAKES,
                                 _OUT, _NOTHING,  _W.TSO,          _no,     _no,       _no,
                                 ("hdr_addr", "hdr_sz", "mss")),
    _O.DRIVER1:               Work(_VENDOR,     None,    _no,      _no,       _no,
                                 _NO,  _NOTHING,  _W.DRIVER1,      _no,     _no,       _no),
    _O.FLUSH:                 Work(_RC,         _FLUSH,  _no,      _no,       _no,
                                 _NO,  _TO_FLUSH, _W.FLUSH,        _no,     _no,       _no,
                                 ("flush_length", "flush_type", "flush_level")),
    _O.ATOMIC_WRITE:          Work(_RC,         _PUT8,   _no,      _no,       _no,
                                 _OUT, _TO_WRITE, _W.ATOMIC_WRITE, _no,     _no,       _COUNTS),
}

# The function behind each opcode.
BUILDERS: dict[WROpcode, str] = {
    _O.RDMA_WRITE: "wr_rdma_write",
    _O.RDMA_WRITE_WITH_IMM: "wr_rdma_write_imm",
    _O.SEND: "wr_send",
    _O.SEND_WITH_IMM: "wr_send_imm",
    _O.RDMA_READ: "wr_rdma_read",
    _O.ATOMIC_CMP_AND_SWP: "wr_atomic_cmp_swp",
    _O.ATOMIC_FETCH_AND_ADD: "wr_atomic_fetch_add",
    _O.LOCAL_INV: "wr_local_inv",
    _O.BIND_MW: "wr_bind_mw",
    _O.SEND_WITH_INV: "wr_send_inv",
    _O.TSO: "wr_send_tso",
    _O.FLUSH: "wr_flush",
    _O.ATOMIC_WRITE: "wr_atomic_write",
}

# The fields of a WR that not every opcode reads.
READ_BY_SOME = frozenset(name for row in WORK.values() for name in row.reads)

# What starts only when all work requests before it are complete.
ORDERED = frozenset({WROpcode.LOCAL_INV})

# The rights that a FLUSH needs, on the QP and on the key.
PLACEMENT_RIGHTS: dict[Placement, Access] = {
    Placement.GLOBAL:     _A.FLUSH_GLOBAL,
    Placement.PERSISTENT: _A.FLUSH_PERSISTENT,
}

# The strict reading: a flag given to a QP type that cannot honour it is a mistake, not a wish.
FLAG_TYPES: dict[SendFlags, frozenset[QPType]] = {
    SendFlags.FENCE:     _RELIABLE,
    SendFlags.SIGNALED:  _ALL,
    SendFlags.SOLICITED: _ALL,
    SendFlags.INLINE:    _ALL,
    SendFlags.IP_CSUM:   _OFFLOADED,
}
# fmt: on


def is_local(opcode: int) -> bool:
    """True if the work request sends no packet, such as a bind."""
    row = WORK.get(WROpcode(opcode)) if opcode in tuple(WROpcode) else None
    return row is not None and row.message is None
