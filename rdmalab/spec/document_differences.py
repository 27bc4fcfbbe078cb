"""Differences of devices and documents: both statements, the reason, and a scenario that shows it.

Refusals, warnings at a post and `explain` read the same rows. The engine does not: what a device
does is a cell of `profiles.py` or a row of `states.py`.
"""

from collections.abc import Sequence
from functools import reduce
from operator import or_
from typing import NamedTuple

from rdmalab.spec.states import MOVES, Attr, QPState, QPType, fields_of
from rdmalab.spec.transports import TRANSPORTS


class Difference(NamedTuple):
    """document: what a document states, with its name. devices: what devices do instead. lesson:
    the scenario that shows both, an argument of `load`. about: the topics whose pages show it, in
    short form.
    """

    about: tuple[str, ...]
    brief: str
    document: str
    devices: str
    reason: str
    source: str
    lesson: str

    @property
    def sentence(self) -> str:
        """Both sides in one sentence, without a full stop."""
        return f"{self.document}; {self.devices}"


_INVALIDATES = ("IBV_WR_SEND_WITH_INV", "wr_send_inv", "IBV_QP_EX_WITH_SEND_WITH_INV")

# fmt: off
DIFFERENCES: dict[str, Difference] = {
    "zero-length-sge": Difference(
        ("length", "sge-zero", "zero_sge_bytes", "message-length"),
        "devices take length 0 as 0 bytes",
        "RDMAmojo, ibv_post_send(), states that length 0 means 2^31 bytes",
        "mlx5 and Soft-RoCE take such an SGE as 0 bytes",
        "libmlx5 leaves it out of the work queue entry, Soft-RoCE adds its 0 bytes",
        "libmlx5 set_data_seg, kernel rxe", "sge/nothing-or-everything"),
    "long-message": Difference(
        ("message-length", "max_msg_sz", "refuses_long_message", "long_message_status"),
        "ConnectX reports a message longer than max_msg_sz in a completion",
        "IBTA allows messages of RC and UC up to 2^31 bytes",
        "a port of ConnectX takes 2^30 bytes: a longer send is posted and completes with "
        "IBV_WC_LOC_LEN_ERR; Soft-RoCE sends any length, no device limits receives",
        "libmlx5 and librxe do not compare a length with max_msg_sz",
        "libmlx5, librxe; pytorch/gloo#474, measured", "onesided/longer-than-the-port"),
    "long-datagram": Difference(
        ("IBV_QPT_UD", "ud-too-long", "long_datagram_status"),
        "ConnectX reports a datagram that exceeds the MTU",
        "IBTA C10-93.1.1: nothing is sent, and this is no error",
        "ConnectX completes it with IBV_WC_LOC_LEN_ERR; Soft-RoCE reports SUCCESS and sends "
        "nothing",
        "ConnectX compares the length with the MTU when it reads the work queue entry",
        "IBTA C10-93.1.1; google/rdma-unit-test", "ud/one-packet"),
    "uc-send-with-inv": Difference(
        _INVALIDATES,
        "no packet of UC carries it: LOC_QP_OP_ERR",
        "ibv_wr_start(3) lists SEND_WITH_INV for UC",
        "the post is accepted and completes with IBV_WC_LOC_QP_OP_ERR",
        "no packet of UC carries an R_Key to invalidate: IBTA has SEND_WITH_INVALIDATE for RC and "
        "XRC only",
        "IBTA table of BTH opcodes; Soft-RoCE, measured", "wr/uc-send-with-invalidate"),
    "xrc-send-with-inv": Difference(
        _INVALIDATES,
        "over XRC there is no window to invalidate",
        "ibv_wr_start(3) lists SEND_WITH_INV for XRC_SEND",
        "the receive completes with IBV_WC_REM_INV_REQ_ERR, and the window stays bound",
        "a window of type 2 belongs to the queue pair that bound it, and an XRC_RECV queue pair "
        "has no send queue to bind one with",
        "IBTA C10-172; ibv_bind_mw(3)", "xrc/send-with-invalidate"),
    "send-inv-region": Difference(
        _INVALIDATES,
        "a region is not invalidated",
        "ibv_wr_start(3) states that wr_send_inv invalidates a memory region of the peer",
        "a region registered by a program is not invalidated: the receive completes with "
        "IBV_WC_REM_INV_REQ_ERR",
        "only windows of type 2, and regions of the kernel's fast registration, can be invalidated",
        "IBTA 10.6.5; Soft-RoCE, measured", "mw/invalidate-a-region"),
    "send-imm-opcode": Difference(
        ("IBV_WR_SEND_WITH_IMM", "wr_send_imm", "IBV_QP_EX_WITH_SEND_WITH_IMM",
         "IBV_WC_RECV_RDMA_WITH_IMM", "IBV_WC_RECV"),
        "the peer of a SEND with immediate gets IBV_WC_RECV",
        "ibv_wr_start(3) states that the peer of wr_send_imm gets IBV_WC_RECV_RDMA_WITH_IMM",
        "the receive completes with IBV_WC_RECV and the flag IBV_WC_WITH_IMM; "
        "IBV_WC_RECV_RDMA_WITH_IMM is of RDMA WRITE with immediate only",
        "the opcode of the completion shows whether the receive's buffers were filled",
        "libmlx5 cq.c; Soft-RoCE, measured", "wr/datagrams"),
    "fence-prior-work": Difference(
        ("IBV_SEND_FENCE",),
        "FENCE waits for READs and atomics only, not for all prior work",
        "ibv_wr_start(3) states that a request with FENCE does not start until prior work "
        "has completed",
        "it waits for earlier READs and atomics only, not for SENDs and WRITEs",
        "the peer executes SENDs and WRITEs in order; only the data of a READ or an atomic comes "
        "back later",
        "IBTA 10.8.3.3; ibv_post_send(3)", "wr/flags-and-ids-persist"),
    "modify-qp-return": Difference(
        ("modify_qp",),
        "returns the errno, not -1",
        "the bring-up guide states that modify_qp returns -1 and sets errno",
        "ibv_modify_qp returns the errno itself, see ibv_modify_qp(3)",
        "libibverbs returns the value of the driver",
        "ibv_modify_qp(3), rdma-core", "bringup/guide-by-the-letter"),
    "receive-before-rtr": Difference(
        ("RTR",),
        "RTR needs no posted receive",
        "the bring-up guide states that a receive must be posted before the transition to RTR",
        "devices enter RTR without one; a message that arrives before the first receive gets an "
        "RNR NAK",
        "no attribute of the transition depends on the receive queue",
        "ibv_modify_qp(3), IBA 10.3.1", "bringup/no-receive-before-rtr"),
    "sq-psn-of-ud": Difference(
        ("sq_psn",),
        "UD needs it too in RTR → RTS",
        "the bring-up guide lists sq_psn in the transition to RTS for connected types only",
        "devices also refuse the transition of UD without sq_psn",
        "each packet of a datagram has a PSN",
        "ibv_modify_qp(3)", "bringup/guide-by-the-letter-rts"),
}
# fmt: on

_RESET, _INIT, _RTR, _RTS = QPState.RESET, QPState.INIT, QPState.RTR, QPState.RTS
_MOST = Attr.ACCESS_FLAGS

# What a widely read bring-up guide asks of types that devices refuse it on: "all" types, those that
# are connected, and those that are not. Required and optional attributes, by move.
_OF_ALL: dict[tuple[QPState, QPState], Attr] = {
    (_RESET, _INIT): _MOST | Attr.PKEY_INDEX,
    (_INIT, _RTR): _MOST | Attr.PKEY_INDEX | Attr.PATH_MTU,
    (_RTR, _RTS): _MOST,
}
_OF_CONNECTED: dict[tuple[QPState, QPState], Attr] = {
    (_INIT, _RTR): Attr.MAX_DEST_RD_ATOMIC | Attr.MIN_RNR_TIMER,
    (_RTR, _RTS): (
        Attr.TIMEOUT | Attr.RETRY_CNT | Attr.RNR_RETRY | Attr.MAX_QP_RD_ATOMIC | Attr.MIN_RNR_TIMER
    ),
}

_OF_UNCONNECTED = dict.fromkeys(_OF_ALL, Attr.QKEY)

_OF_ALL_TYPES = reduce(or_, _OF_ALL.values())

# Why a type has no use for an attribute: such a queue pair …
_REASONS: dict[Attr, str] = {
    Attr.PKEY_INDEX: "sends Ethernet frames, which have no P_Key",
    Attr.QKEY: "sends Ethernet frames, which have no Q_Key",
    Attr.ACCESS_FLAGS: "serves no RDMA request that could need a right",
    Attr.PATH_MTU: "has no path of its own, each message is one packet of the port's MTU",
    Attr.MAX_DEST_RD_ATOMIC: "serves no READ and no atomic",
    Attr.MIN_RNR_TIMER: "sends no RNR NAK",
    Attr.TIMEOUT: "waits for no acknowledgement",
    Attr.RETRY_CNT: "waits for no acknowledgement",
    Attr.RNR_RETRY: "receives no RNR NAK",
    Attr.MAX_QP_RD_ATOMIC: "sends no READ and no atomic",
}
GUIDE_LESSON = "bringup/guide-by-the-letter"


def demanded(qp_type: QPType, now: QPState, to: QPState) -> Attr:
    """Attributes that the guide allows in this transition and some QP type refuses.

    0 for a transition that the guide does not describe.
    """
    asked = _OF_ALL.get((now, to), Attr(0))
    others = _OF_CONNECTED if TRANSPORTS[qp_type].connected else _OF_UNCONNECTED
    return asked | others.get((now, to), Attr(0))


def guide_note(qp_types: Sequence[QPType], attributes: Attr) -> str:
    """The reason devices refuse attributes that the guide lists for types; "" if there are none."""
    if not attributes or not qp_types:
        return ""
    fields = ", ".join(fields_of(attributes))
    whom = "all connected types"
    if attributes & _OF_ALL_TYPES:
        whom = "all types"
    elif attributes & Attr.QKEY:
        whom = "all unconnected types"
    reasons = ", ".join(dict.fromkeys(_REASONS[attribute] for attribute in attributes))
    types = ", ".join(qp_type.name for qp_type in qp_types)
    return (
        f"a widely read guide demands {fields} of {whom}; devices refuse it on {types}, "
        f"because such a QP {reasons}"
    )


def refused_on(attributes: Attr) -> list[QPType]:
    """The types that the guide lists an attribute for but that have it in no transition."""
    return [
        kind
        for kind in QPType
        if any(
            attributes & demanded(kind, now, to) & ~(move.required | move.optional)
            for (of, now, to), move in MOVES.items()
            if of is kind
        )
    ]
