"""Refusals of a responder, and the effect of each on both sides.

One row per reason: the AETH syndrome of its answer (None: no answer), whether it answers only once
per gap, whether its QP enters ERR, the status of the receive WQE in use, and the asynchronous event
if no receive WQE can report the error. The order of the checks is `hca/responder/checks.py`.
Sources: transport.md 10 (Soft-RoCE, MindShare table 17-7, IBA 9.7).
"""

from collections.abc import Collection
from enum import IntEnum
from typing import NamedTuple

from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.statuses import WCStatus


class Syndrome(IntEnum):
    """The classes of an AETH syndrome (bits 7-5) and the NAK codes."""

    ACK = 0x00
    RNR_NAK = 0x20
    NAK_SEQUENCE = 0x60
    NAK_INVALID_REQUEST = 0x61
    NAK_REMOTE_ACCESS = 0x62
    NAK_REMOTE_OPERATION = 0x63
    NAK_INVALID_RD_REQUEST = 0x64

    @property
    def noun(self) -> str:
        """The kind of name in messages."""
        return "syndrome"

    @staticmethod
    def legal() -> Collection[str]:
        """All names of syndromes."""
        return SYNDROMES

    def is_called(self, name: str) -> bool:
        """True if `name`, a legal name, matches this syndrome."""
        return self in SYNDROMES[name]


CLASS_MASK = 0xE0
VALUE_MASK = 0x1F

# What a name of a syndrome matches. RNR NAK is a class of its own (AETH bits 7-5), so NAK, which
# names every NAK code, does not name it.
SYNDROMES: dict[str, frozenset[Syndrome]] = {
    **{syndrome.name: frozenset([syndrome]) for syndrome in Syndrome},
    "NAK": frozenset(s for s in Syndrome if s & CLASS_MASK == Syndrome.NAK_SEQUENCE & CLASS_MASK),
}
NO_CREDITS = 0x1F  # an ACK that says nothing about end-to-end credits


def syndrome_of(code: int) -> Syndrome | None:
    """The syndrome of an AETH code; None for a reserved code."""
    if code & CLASS_MASK in (Syndrome.ACK, Syndrome.RNR_NAK):
        code &= CLASS_MASK
    return Syndrome(code) if code in tuple(Syndrome) else None


# What the requester makes of a fatal NAK. A code without a row counts as a remote operation error.
REQUESTER_STATUS: dict[int, WCStatus] = {
    Syndrome.NAK_INVALID_REQUEST: WCStatus.REM_INV_REQ_ERR,
    Syndrome.NAK_REMOTE_ACCESS: WCStatus.REM_ACCESS_ERR,
    Syndrome.NAK_REMOTE_OPERATION: WCStatus.REM_OP_ERR,
}


class Refusal(NamedTuple):
    """The reason a request was not executed.

    breaks: a QP that sends no answers enters ERR too. takes_receive: a request that would use a
    receive WQE takes it before the refusal: the WQE completes with `status`.
    """

    name: str
    sentence: str
    syndrome: Syndrome | None
    once: bool = False
    fatal: bool = True
    status: WCStatus | None = None
    event: AsyncEvent | None = None
    breaks: bool = False
    takes_receive: bool = False


_INVALID = Syndrome.NAK_INVALID_REQUEST
_REQ_ERR = WCStatus.REM_INV_REQ_ERR

# fmt: off
_ROWS = (
    Refusal("dying",           "the QP is in error: an earlier request was NAKed, later packets are discarded",          None, fatal=False),
    Refusal("sequence-gap",    "packets before this one are missing",                    Syndrome.NAK_SEQUENCE, once=True, fatal=False),
    Refusal("rnr-wait",        "the QP waits for the packet it answered with RNR NAK",   None, fatal=False),
    Refusal("opcode-order",    "the opcode does not continue the message in progress",   _INVALID, status=_REQ_ERR, event=AsyncEvent.QP_REQ_ERR),
    Refusal("wrong-srq",       "the SRQ that it names is not in this QP's XRC domain",       _INVALID, status=_REQ_ERR, event=AsyncEvent.QP_REQ_ERR),
    Refusal("not-enabled",     "qp_access_flags does not allow this operation",          _INVALID, status=_REQ_ERR, event=AsyncEvent.QP_REQ_ERR),
    Refusal("no-depth",        "max_dest_rd_atomic is 0: no READ or atomic is served",   _INVALID, status=_REQ_ERR, event=AsyncEvent.QP_REQ_ERR),
    Refusal("too-deep",        "more READs and atomics than max_dest_rd_atomic",         _INVALID, status=_REQ_ERR, event=AsyncEvent.QP_REQ_ERR),
    Refusal("no-receive",      "no receive WQE is posted",                               Syndrome.RNR_NAK, fatal=False),
    Refusal("length",          "the payload does not fit the path MTU or the message",   _INVALID, status=_REQ_ERR, event=AsyncEvent.QP_REQ_ERR),
    Refusal("rkey",            "the R_Key, its PD, rights or range do not allow it",     Syndrome.NAK_REMOTE_ACCESS, event=AsyncEvent.QP_ACCESS_ERR),
    Refusal("unaligned",       "the atomic's address is not a multiple of 8",               _INVALID, status=_REQ_ERR, event=AsyncEvent.QP_REQ_ERR),
    Refusal("receive-short",   "the message is longer than the receive WQE's buffers",   _INVALID, status=WCStatus.LOC_LEN_ERR, breaks=True),
    Refusal("receive-denied",  "a buffer of the receive WQE may not be written",         Syndrome.NAK_REMOTE_OPERATION, status=WCStatus.LOC_PROT_ERR, breaks=True),
    Refusal("invalidate",      "the key to invalidate is not a bound type 2 window of this QP", Syndrome.ACK, status=_REQ_ERR),
    Refusal("cq-overrun",      "the CQ of its completion is full",                       Syndrome.NAK_REMOTE_OPERATION, breaks=True),
)
# fmt: on

REFUSALS: dict[str, Refusal] = {row.name: row for row in _ROWS}


class Drop(NamedTuple):
    """The reason a packet was dropped before a responder or completer: no answer, one counter."""

    name: str
    sentence: str


_DROPS = (
    Drop("malformed", "the bytes are not a RoCEv2 packet, or the ICRC is wrong"),
    Drop("wrong-address", "the destination address is not one of this node's"),
    Drop(
        "wrong-link-layer",
        "the port is InfiniBand and the packet is Ethernet, or the other way round",
    ),
    Drop("unknown-opcode", "the opcode does not exist"),
    Drop("wrong-qpn", "no QP has this number"),
    Drop("wrong-type", "the opcode is of another QP type"),
    Drop("not-ready", "the QP's state accepts no such packet"),
    Drop("wrong-source", "the sender is not the peer of this QP"),
    Drop("pkey", "the P_Keys do not match"),
    Drop("qkey", "the Q_Key of the datagram differs from the QP's"),
    Drop("no-group", "no QP here is attached to this multicast address"),
    Drop("no-flow", "no flow rule here matches this frame"),
    Drop("dying", "the QP is in error: an earlier request was NAKed, later packets are discarded"),
    Drop("duplicate-gone", "the result of this duplicate is no longer kept"),
    Drop("sequence-gap", "a gap already answered with a NAK"),
    Drop("rnr-wait", "sent before the RNR NAK arrived"),
    Drop("rest-of-message", "its message was lost, or dropped, before"),
    Drop("unexpected-ack", "the acknowledgement matches no outstanding request"),
    Drop("port-down", "the port is not ACTIVE"),
)

DROPS: dict[str, Drop] = {row.name: row for row in _DROPS}

MALFORMED = {
    "too-short": "the frame is shorter than its headers",
    "mac": "the destination MAC is not that of the port",
    "ethertype": "the EtherType is neither IPv4 nor IPv6",
    "ip": "the IP header is not that of a UDP datagram in one piece, or its checksum is wrong",
    "udp-port": "the UDP port is not 4791",
    "udp-length": "the UDP length is not that of the packet",
    "length": "the packet length in the LRH is not that of the packet",
    "lrh": "the LRH has another version, or no transport header follows it",
    "grh": "the GRH has another version, next header or length",
    "tver": "the transport version (tver) is not 0",
    "opcode": "the opcode does not exist",
    "pad": "pad_count exceeds the payload",
    "icrc": "the ICRC is wrong",
    "vcrc": "the VCRC is wrong",
}
"""Sentences on bytes that are no RDMA packet, by the reason of `wire.roce.Malformed`; a drop has `malformed: `
before it.
"""
