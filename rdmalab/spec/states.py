"""The queue pair state machine: states, transitions, and the attributes of each transition.

All that `modify_qp` checks is defined here. The transitions are those of `qp_state_table` in the
kernel's `core/verbs.c`, for all six types; every other room reads them and adds none.
"""

from collections.abc import Collection, Iterable
from enum import Enum, IntEnum, IntFlag
from functools import reduce
from itertools import pairwise
from operator import or_
from typing import NamedTuple

from rdmalab.spec.access import FOR_QP, Access
from rdmalab.spec.limits import DeviceCaps
from rdmalab.spec.row import Row, dataclass


class QPType(IntEnum):
    """IBV_QPT_*."""

    RC = 2
    UC = 3
    UD = 4
    RAW_PACKET = 8
    XRC_SEND = 9
    XRC_RECV = 10


class QPState(IntEnum):
    """IBV_QPS_*."""

    RESET = 0
    INIT = 1
    RTR = 2
    RTS = 3
    SQD = 4
    SQE = 5
    ERR = 6


class Attr(IntFlag):
    """IBV_QP_*: the bits of `attr_mask`; bits 21..24 are retired."""

    STATE = 1 << 0
    CUR_STATE = 1 << 1
    EN_SQD_ASYNC_NOTIFY = 1 << 2
    ACCESS_FLAGS = 1 << 3
    PKEY_INDEX = 1 << 4
    PORT = 1 << 5
    QKEY = 1 << 6
    AV = 1 << 7
    PATH_MTU = 1 << 8
    TIMEOUT = 1 << 9
    RETRY_CNT = 1 << 10
    RNR_RETRY = 1 << 11
    RQ_PSN = 1 << 12
    MAX_QP_RD_ATOMIC = 1 << 13
    ALT_PATH = 1 << 14
    MIN_RNR_TIMER = 1 << 15
    SQ_PSN = 1 << 16
    MAX_DEST_RD_ATOMIC = 1 << 17
    PATH_MIG_STATE = 1 << 18
    CAP = 1 << 19
    DEST_QPN = 1 << 20
    RATE_LIMIT = 1 << 25


class MTU(IntEnum):
    """IBV_MTU_*: the attribute holds the code, text shows the bytes."""

    B256 = 1
    B512 = 2
    B1024 = 3
    B2048 = 4
    B4096 = 5

    @property
    def octets(self) -> int:
        """The payload of a full packet."""
        return 128 << self

    @classmethod
    def in_bytes(cls, code: int) -> int:
        """The payload that a code means; a number that is no code stays what it is."""
        return cls(code).octets if code in tuple(cls) else code


class MigState(IntEnum):
    """IBV_MIG_*."""

    MIGRATED = 0
    REARM = 1
    ARMED = 2


# ---------------------------------------------------------------- states


@dataclass(frozen=True, slots=True)
class StateRow(Row):
    """Behaviour of a QP in one state.

    posts_recv, posts_send: posting is accepted. flushes_sends, flushes_recvs: queued work requests
    complete with WR_FLUSH_ERR. receives: packets are processed, not dropped. starts_sends: the next
    send work request is started.
    """

    posts_recv: bool
    posts_send: bool
    flushes_sends: bool
    flushes_recvs: bool
    receives: bool
    starts_sends: bool
    note: str


_S = QPState
_RECV = _SEND = _FLUSH_S = _FLUSH_R = _HEARS = _STARTS = True
_no = False

# fmt: off
STATES: dict[QPState, StateRow] = {
    #                  posts: recv   send   flushes: sends   recvs     receives starts
    _S.RESET: StateRow(       _no,   _no,            _no,      _no,      _no,    _no,
        "queues are empty; a move here discards work requests without completions"),
    _S.INIT:  StateRow(       _RECV, _no,            _no,      _no,      _no,    _no,
        "initialized: packets are dropped; receives may be posted, none is used"),
    _S.RTR:   StateRow(       _RECV, _no,            _no,      _no,      _HEARS, _no,
        "ready to receive: executes requests and answers; cannot send requests"),
    _S.RTS:   StateRow(       _RECV, _SEND,          _no,      _no,      _HEARS, _STARTS,
        "ready to send: fully operational"),
    _S.SQD:   StateRow(       _RECV, _SEND,          _no,      _no,      _HEARS, _no,
        "send queue drained: starts no send; finishes started ones, goes on to receive"),
    _S.SQE:   StateRow(       _RECV, _SEND,          _FLUSH_S, _no,      _HEARS, _no,
        "send queue error: a send failed on an unreliable QP; flushes sends, goes on to receive"),
    _S.ERR:   StateRow(       _RECV, _SEND,          _FLUSH_S, _FLUSH_R, _no,    _no,
        "unusable until RESET: all posted work is flushed, packets are dropped"),
}
# fmt: on

ERROR_STATES = frozenset(state for state, row in STATES.items() if row.flushes_sends)
"""States that a failure leads to: SQE and ERR, which flush the requests that are posted."""

# ---------------------------------------------------------------- moves


class Move(NamedTuple):
    """Attributes that a transition requires and allows besides STATE."""

    required: Attr
    optional: Attr


_A = Attr
_NONE = Attr(0)

_RC, _XRC_SEND, _XRC_RECV = QPType.RC, QPType.XRC_SEND, QPType.XRC_RECV
_ALL = frozenset(QPType)
_RAW = frozenset({QPType.RAW_PACKET})
_UD = frozenset({QPType.UD})
_UC = frozenset({QPType.UC})
_ASKING = frozenset({_RC, _XRC_SEND})  # types that send reliably: they retry
_ANSWERING = frozenset({_RC, _XRC_RECV})  # types that receive reliably: they answer RNR and READs
_RELIABLE = _ASKING | _ANSWERING
_CONNECTED = _RELIABLE | _UC
_ADDRESSED = _CONNECTED | _UD  # all that have a P_Key and a PSN

_Pair = tuple[QPState, QPState]

# From a new QP to one that sends, and the three moves between.
BRING_UP = (_S.RESET, _S.INIT, _S.RTR, _S.RTS)
BRING_UP_MOVES: tuple[_Pair, ...] = tuple(pairwise(BRING_UP))

_TO_INIT = ((_S.RESET, _S.INIT),)
_STAY_INIT = ((_S.INIT, _S.INIT),)
_TO_RTR = ((_S.INIT, _S.RTR),)
_TO_RTS = ((_S.RTR, _S.RTS),)
_STAY_RTS = ((_S.RTS, _S.RTS),)
_DRAIN = ((_S.RTS, _S.SQD),)
_STAY_SQD = ((_S.SQD, _S.SQD),)
_RESUME = ((_S.SQD, _S.RTS),)
_RECOVER = ((_S.SQE, _S.RTS),)
_RESET = tuple((now, _S.RESET) for now in QPState)
_FAIL = tuple((now, _S.ERR) for now in QPState if now is not _S.RESET)

_INTO_RTS = _TO_RTS + _STAY_RTS + _RESUME
_PAIRS: tuple[_Pair, ...] = (  # of every type
    *_RESET, *_FAIL, *_TO_INIT, *_STAY_INIT, *_TO_RTR, *_INTO_RTS, *_DRAIN, *_STAY_SQD, *_RECOVER,
)  # fmt: skip

_PLACE = _A.PKEY_INDEX | _A.PORT
_ROUTE = _A.AV | _A.PATH_MTU | _A.DEST_QPN | _A.RQ_PSN
_RETRIES = _A.RETRY_CNT | _A.RNR_RETRY | _A.MAX_QP_RD_ATOMIC
_MIGRATION = _A.ALT_PATH | _A.PATH_MIG_STATE

# Who must, who may set what on which moves; rows for the same move add up.
# fmt: off
_REQUIRED = (
    (_CONNECTED, _TO_INIT,             _PLACE | _A.ACCESS_FLAGS),
    (_UD,        _TO_INIT,             _PLACE | _A.QKEY),
    (_RAW,       _TO_INIT,             _A.PORT),

    (_CONNECTED, _TO_RTR,              _ROUTE),
    (_ANSWERING, _TO_RTR,              _A.MAX_DEST_RD_ATOMIC | _A.MIN_RNR_TIMER),

    (_ADDRESSED, _TO_RTS,              _A.SQ_PSN),
    (_RELIABLE,  _TO_RTS,              _A.TIMEOUT),
    (_ASKING,    _TO_RTS,              _RETRIES),
)
_OPTIONAL = (
    (_CONNECTED, _STAY_INIT,           _PLACE | _A.ACCESS_FLAGS),
    (_UD,        _STAY_INIT,           _PLACE | _A.QKEY),

    (_CONNECTED, _TO_RTR,              _A.ALT_PATH | _A.ACCESS_FLAGS | _A.PKEY_INDEX),
    (_UD,        _TO_RTR,              _A.PKEY_INDEX | _A.QKEY),

    (_ADDRESSED, _INTO_RTS,            _A.CUR_STATE),
    (_CONNECTED, _INTO_RTS,            _A.ACCESS_FLAGS | _MIGRATION),
    (_ANSWERING, _INTO_RTS,            _A.MIN_RNR_TIMER),
    (_UD,        _INTO_RTS,            _A.QKEY),
    (_RAW,       _TO_RTS + _STAY_RTS,  _A.RATE_LIMIT),

    (_ADDRESSED, _DRAIN,               _A.EN_SQD_ASYNC_NOTIFY),

    (_CONNECTED, _STAY_SQD,            _A.AV | _A.PKEY_INDEX | _A.ACCESS_FLAGS | _MIGRATION),
    (_RELIABLE,  _STAY_SQD,            _A.PORT | _A.TIMEOUT),
    (_ASKING,    _STAY_SQD,            _RETRIES),
    (_ANSWERING, _STAY_SQD,            _A.MAX_DEST_RD_ATOMIC | _A.MIN_RNR_TIMER),
    (_UD,        _STAY_SQD,            _A.PKEY_INDEX | _A.QKEY),

    (_UC,        _RECOVER,             _A.CUR_STATE | _A.ACCESS_FLAGS),
    (_UD,        _RECOVER,             _A.CUR_STATE | _A.QKEY),
)
# fmt: on

IGNORED = {QPType.XRC_SEND: _A.MAX_DEST_RD_ATOMIC | _A.MIN_RNR_TIMER, QPType.XRC_RECV: _RETRIES}
"""Attributes of the other side of XRC: the kernel takes them out of the mask before a driver sees
it, because programs set them as for RC (modify_qp_mask in drivers/infiniband/core/uverbs_cmd.c)."""

_Rows = Iterable[tuple[frozenset[QPType], tuple[_Pair, ...], Attr]]


def _sum(rows: _Rows, qp_type: QPType, pair: _Pair) -> Attr:
    return reduce(or_, (a for types, pairs, a in rows if qp_type in types and pair in pairs), _NONE)


MOVES: dict[tuple[QPType, QPState, QPState], Move] = {
    (qp_type, *pair): Move(_sum(_REQUIRED, qp_type, pair), _sum(_OPTIONAL, qp_type, pair))
    for qp_type in QPType
    for pair in sorted(_PAIRS)
}


def legal_next(qp_type: QPType, now: QPState, lacks: Collection[_Pair] = ()) -> tuple[QPState, ...]:
    """The states that `modify_qp` can set from here. lacks: transitions that a device does not have."""
    return tuple(to for to in QPState if (qp_type, now, to) in MOVES and (now, to) not in lacks)


def missing(qp_type: QPType, now: QPState, to: QPState, given: Attr) -> Attr:
    """The attributes that a legal transition still requires."""
    return Attr(int(MOVES[qp_type, now, to].required) & ~int(given))


def surplus(qp_type: QPType, now: QPState, to: QPState, given: Attr) -> Attr:
    """The attributes that a legal transition does not allow, including bits without a name."""
    move = MOVES[qp_type, now, to]
    return Attr(int(given) & ~int(move.required | move.optional | Attr.STATE))


# ---------------------------------------------------------------- transitions without a call


class Mishap(Enum):
    """An error that makes the device change the state of a QP."""

    SEND_ERROR = "a send work request completes in error"
    RECEIVE_ERROR = "a receive completes in error, or a request is answered with a fatal NAK"
    CQ_OVERRUN = "a CQ of the QP overruns, or the device fails"


class Automatic(NamedTuple):
    """A transition that the device makes, not `modify_qp`."""

    mishap: Mishap
    types: frozenset[QPType]
    origins: tuple[QPState, ...]
    to: QPState


_UNRELIABLE = _ALL - _RELIABLE
_SENDING = (_S.RTS, _S.SQD)
_RECEIVING = tuple(state for state, row in STATES.items() if row.receives)

# fmt: off
AUTOMATIC = (
    Automatic(Mishap.SEND_ERROR,    _RELIABLE,   _SENDING,       _S.ERR),
    Automatic(Mishap.SEND_ERROR,    _UNRELIABLE, _SENDING,       _S.SQE),
    Automatic(Mishap.RECEIVE_ERROR, _ALL,        _RECEIVING,       _S.ERR),
    Automatic(Mishap.CQ_OVERRUN,    _ALL,        tuple(QPState), _S.ERR),
)
# fmt: on

_AFTER_SEND_ERROR = {
    qp_type: row.to for row in AUTOMATIC if row.mishap is Mishap.SEND_ERROR for qp_type in row.types
}


def after_send_error(qp_type: QPType) -> QPState:
    """The state that a QP enters when one of its send work requests completes in error."""
    return _AFTER_SEND_ERROR[qp_type]


# ---------------------------------------------------------------- attributes


class Attribute(NamedTuple):
    """One field of `ibv_qp_attr`.

    Legal values are low..high. If high is None, `limit` names the field of DeviceCaps that is the
    highest value; an empty `limit` means a record, which is checked field by field.
    """

    mask: Attr
    low: int
    high: int | None
    default: int
    types: frozenset[QPType]
    limit: str
    sentence: str

    def highest(self, caps: DeviceCaps) -> int | None:
        """The largest value on this device; None for a record."""
        if self.high is not None:
            return self.high
        return int(getattr(caps, self.limit)) if self.limit else None

    def takes(self, caps: DeviceCaps) -> str:
        """The legal values as they are typed: MTUs in bytes, everything else as a range."""
        highest = self.highest(caps)
        if self.mask is Attr.PATH_MTU:
            return " ".join(str(mtu.octets) for mtu in MTU if mtu <= (highest or 0))
        return f"{int(self.low)}..{highest}"

    def is_undefined(self, value: int, caps: DeviceCaps) -> bool:
        """True if the value is outside the range; for access flags, if it has an undefined bit."""
        highest = self.highest(caps)
        if highest is None:
            return False
        if self.mask is Attr.ACCESS_FLAGS:
            return bool(value & ~highest)
        return not self.low <= value <= highest


# As plain integers: `|` of flags makes an object each time, 3 ms for the table below.
_TAKEN = [(key[0], int(move.required) | int(move.optional)) for key, move in MOVES.items()]


def _takers(mask: Attr) -> frozenset[QPType]:
    bits = int(mask)
    return frozenset(qp_type for qp_type, taken in _TAKEN if bits & taken)


def _row(mask: Attr, low: int, high: int | str | None, default: int, sentence: str) -> Attribute:
    types = _ALL if mask is Attr.STATE else _takers(mask)
    ceiling, limit = (None, high) if isinstance(high, str) else (high, "")
    return Attribute(mask, low, ceiling, default, types, limit, sentence)


_BITS_24 = 0xFF_FFFF
_BITS_32 = 0xFFFF_FFFF

# fmt: off
ATTRIBUTES: dict[str, Attribute] = {
    #                          mask                    low     high      default
    "qp_state":            _row(_A.STATE,               _S.RESET, _S.ERR, _S.RESET,
        "the state to enter"),
    "cur_qp_state":        _row(_A.CUR_STATE,           _S.RTR, _S.SQE,   _S.RESET,
        "the state in which the caller expects the QP"),
    "path_mtu":            _row(_A.PATH_MTU,            MTU.B256, "max_path_mtu", MTU.B256,
        "the payload of a full packet, 256 to 4096 bytes; the same at both ends"),
    "path_mig_state":      _row(_A.PATH_MIG_STATE,      0,      MigState.ARMED, MigState.MIGRATED,
        "whether an alternate path is loaded (REARM), ready (ARMED), or none is (MIGRATED)"),
    "qkey":                _row(_A.QKEY,                0,      _BITS_32, 0,
        "the Q_Key that an incoming datagram must carry; with bit 31 set it is privileged"),
    "rq_psn":              _row(_A.RQ_PSN,              0,      _BITS_24, 0,
        "the first packet number expected: the peer's sq_psn"),
    "sq_psn":              _row(_A.SQ_PSN,              0,      _BITS_24, 0,
        "the first packet number sent: the peer's rq_psn"),
    "dest_qp_num":         _row(_A.DEST_QPN,            0,      _BITS_24, 0,
        "the number of the peer's QP"),
    "qp_access_flags":     _row(_A.ACCESS_FLAGS,        0,      int(FOR_QP), 0,
        "what the peer may do through this QP: write, read, atomics, flush"),
    "cap":                 _row(_A.CAP,                 0,      None,     0,
        "new queue sizes; no move of the table takes it"),
    "ah_attr":             _row(_A.AV,                  0,      None,     0,
        "the path to the peer: GID, port and the rest of an address"),
    "alt_ah_attr":         _row(_A.ALT_PATH,            0,      None,     0,
        "the path to use when the first one fails; InfiniBand only"),
    "pkey_index":          _row(_A.PKEY_INDEX,          0,      "max_pkey_index", 0,
        "which entry of the port's P_Key table the packets carry"),
    "alt_pkey_index":      _row(_A.ALT_PATH,            0,      "max_pkey_index", 0,
        "the P_Key entry of the alternate path"),
    "en_sqd_async_notify": _row(_A.EN_SQD_ASYNC_NOTIFY, 0,      1,        0,
        "whether SQ_DRAINED is raised when SQD has drained"),
    "max_rd_atomic":       _row(_A.MAX_QP_RD_ATOMIC,    0,      "max_qp_init_rd_atom", 0,
        "how many READs and atomics this QP may have outstanding; with 0 none starts"),
    "max_dest_rd_atomic":  _row(_A.MAX_DEST_RD_ATOMIC,  0,      "max_qp_rd_atom", 0,
        "how many READs and atomics of the peer this QP serves at once; with 0 all are refused"),
    "min_rnr_timer":       _row(_A.MIN_RNR_TIMER,       0,      31,       0,
        "the code of the wait in an RNR NAK; 0 is the longest, 655.36 ms"),
    "port_num":            _row(_A.PORT,                1,      "phys_port_cnt", 0,
        "the port of the device, counted from 1"),
    "timeout":             _row(_A.TIMEOUT,             0,      31,       0,
        "the code of the ack timeout, 4.096 us * 2^n; 0 disables the timer"),
    "retry_cnt":           _row(_A.RETRY_CNT,           0,      7,        0,
        "how often to retransmit after a timeout or a sequence error NAK"),
    "rnr_retry":           _row(_A.RNR_RETRY,           0,      7,        0,
        "how often to retransmit after an RNR NAK; 7 retries without limit"),
    "alt_port_num":        _row(_A.ALT_PATH,            1,      "phys_port_cnt", 0,
        "the port of the alternate path"),
    "alt_timeout":         _row(_A.ALT_PATH,            0,      31,       0,
        "the timeout code of the alternate path"),
    "rate_limit":          _row(_A.RATE_LIMIT,          0,      _BITS_32, 0,
        "how fast to send, in kbit/s; 0 is without limit"),
}
# fmt: on


def fields_of(mask: int) -> tuple[str, ...]:
    """The struct fields of mask bits; ALT_PATH is four fields."""
    return tuple(name for name, row in ATTRIBUTES.items() if row.mask & mask)


USUAL: dict[str, int] = {
    "pkey_index": 0, "port_num": 1, "qp_access_flags": Access.REMOTE_WRITE, "qkey": 0x11111111,
    "path_mtu": MTU.B512, "rq_psn": 0, "sq_psn": 0, "max_dest_rd_atomic": 1, "min_rnr_timer": 12,
    "timeout": 14, "retry_cnt": 7, "rnr_retry": 7, "max_rd_atomic": 1,
}  # fmt: skip
"""By the names of `modify_qp`; the Q_Key is one that only the programs can choose."""


def usual_word(name: str) -> str:
    """The usual value of an attribute as `modify_qp` takes it; "" if it has none."""
    match USUAL.get(name):
        case None:
            return ""
        case MTU() as mtu:
            return str(mtu.octets)
        case Access() as right:
            return right.name or ""
        case number:
            return f"{number:#x}" if name == "qkey" else str(number)
