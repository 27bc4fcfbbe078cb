"""The kinds of record in the trace: what happened, in the past tense, and what `a` and `b` mean.

A record is the plain tuple `(event, at_ns, cause, kind, node, object, a, b)`. `object` is the number
of the thing that the kind's noun names (a QP number, a CQ handle, an MR handle); `cause` the number
of the record that scheduled the event, -1 for a command.
"""

from enum import IntEnum, auto
from typing import Any, NamedTuple

Record = tuple[int, int, int, "Kind", str, int, Any, Any]


class Field(IntEnum):
    """Where each part of a record stands."""

    EVENT = 0
    AT_NS = 1
    CAUSE = 2
    KIND = 3
    NODE = 4
    OBJECT = 5
    A = 6
    B = 7


class Kind(IntEnum):
    """What happened."""

    CALLED = auto()
    CREATED = auto()
    DESTROYED = auto()
    STATE_CHANGED = auto()
    ATTRIBUTES_SET = auto()
    SEND_POSTED = auto()
    RECV_POSTED = auto()
    WQE_STARTED = auto()
    WQE_COMPLETED = auto()
    RECV_TAKEN = auto()
    SLOTS_FREED = auto()
    PACKET_SENT = auto()
    PACKET_RECEIVED = auto()
    PACKET_DROPPED = auto()
    PACKET_LOST = auto()
    PACKET_HARMED = auto()
    REQUEST_REFUSED = auto()
    MEMORY_READ = auto()
    MEMORY_WRITTEN = auto()
    HOST_WROTE = auto()
    CQE_ADDED = auto()
    CQE_POLLED = auto()
    CQ_OVERRUN = auto()
    WENT_BACK = auto()
    TIMER_ARMED = auto()
    TIMER_FIRED = auto()
    ASYNC_RAISED = auto()
    QUEUE_DISCARDED = auto()
    PORT_CHANGED = auto()
    GROUP_JOINED = auto()
    GROUP_LEFT = auto()
    WINDOW_BOUND = auto()
    WINDOW_INVALIDATED = auto()
    WINDOW_REFUSED = auto()
    MEMORY_FLUSHED = auto()
    REGISTERED_ANEW = auto()
    LINK_SET = auto()
    FAULT_SET = auto()
    FAULT_CLEARED = auto()


class KindRow(NamedTuple):
    """`sentence` is filled with the words of a and b; `wire` kinds stand in the ladder."""

    noun: str
    a: str
    b: str
    sentence: str


# fmt: off
KINDS: dict[Kind, KindRow] = {
    Kind.CALLED:          KindRow("node", "verb",       "errno",    "called {a}: {b}"),
    Kind.CREATED:         KindRow("any",  "noun",       "",         "created {a}"),
    Kind.DESTROYED:       KindRow("any",  "noun",       "",         "destroyed {a}"),
    Kind.STATE_CHANGED:   KindRow("qp",   "state",      "state",    "went {a} → {b}"),
    Kind.ATTRIBUTES_SET:  KindRow("qp",   "attr_mask",  "",         "took {a}"),
    Kind.SEND_POSTED:     KindRow("qp",   "send_wqe",   "",         "posted {a}"),
    Kind.RECV_POSTED:     KindRow("qp",   "recv_wqe",   "",         "posted {a}"),
    Kind.WQE_STARTED:     KindRow("qp",   "send_wqe",   "",         "started {a}"),
    Kind.WQE_COMPLETED:   KindRow("qp",   "send_wqe",   "status",   "completed {a}: {b}"),
    Kind.RECV_TAKEN:      KindRow("qp",   "recv_wqe",   "",         "took {a} for an arriving message"),
    Kind.SLOTS_FREED:     KindRow("qp",   "queue",      "count",    "{b} {a} slots came free"),
    Kind.PACKET_SENT:     KindRow("qp",   "packet",     "",         "sent {a}"),
    Kind.PACKET_RECEIVED: KindRow("qp",   "packet",     "",         "received {a}"),
    Kind.PACKET_DROPPED:  KindRow("qp",   "packet",     "reason",   "dropped {a}: {b}"),
    Kind.PACKET_LOST:     KindRow("qp",   "packet",     "reason",   "the cable lost {a}: {b}"),
    Kind.PACKET_HARMED:   KindRow("qp",   "packet",     "frame",    "the cable harmed {a}"),
    Kind.REQUEST_REFUSED: KindRow("qp",   "packet",     "reason",   "refused {a}: {b}"),
    Kind.MEMORY_READ:     KindRow("qp",   "address",    "length",   "read {b} bytes at {a}"),
    Kind.MEMORY_WRITTEN:  KindRow("qp",   "address",    "length",   "wrote {b} bytes at {a}"),
    Kind.HOST_WROTE:      KindRow("mr",   "address",    "length",   "the application wrote {b} bytes at {a}"),
    Kind.CQE_ADDED:       KindRow("cq",   "cqe",        "",         "added {a}"),
    Kind.CQE_POLLED:      KindRow("cq",   "cqe",        "",         "handed out {a}"),
    Kind.CQ_OVERRUN:      KindRow("cq",   "cqe",        "",         "overran and lost {a}"),
    Kind.WENT_BACK:       KindRow("qp",   "psn",        "reason",   "goes back to psn={a}: {b}"),
    Kind.TIMER_ARMED:     KindRow("qp",   "at_ns",      "reason",   "armed its {b} timer for {a}"),
    Kind.TIMER_FIRED:     KindRow("qp",   "",           "reason",   "its {b} timer fired"),
    Kind.ASYNC_RAISED:    KindRow("any",  "event",      "noun",     "raised {a}"),
    Kind.QUEUE_DISCARDED: KindRow("qp",   "queue",      "count",    "discarded {b} WQEs of its {a}"),
    Kind.PORT_CHANGED:    KindRow("node", "port_state", "",         "its port went {a}"),
    Kind.GROUP_JOINED:    KindRow("qp",   "gid",        "",         "joined the multicast group {a}"),
    Kind.GROUP_LEFT:      KindRow("qp",   "gid",        "",         "left the multicast group {a}"),
    Kind.WINDOW_BOUND:    KindRow("mw",   "address",    "rkey",     "was bound from {a} on, rkey {b}"),
    Kind.WINDOW_INVALIDATED: KindRow("mw", "rkey",      "reason",   "is bound no more, rkey {a} is void: {b}"),
    Kind.WINDOW_REFUSED:  KindRow("qp",   "send_wqe",   "reason",   "cannot do {a}: {b}"),
    Kind.MEMORY_FLUSHED:  KindRow("qp",   "address",    "length",   "flushed {b} bytes at {a}"),
    Kind.REGISTERED_ANEW: KindRow("mr",   "rereg",      "",         "changed its {a}"),
    Kind.LINK_SET:        KindRow("link", "setting",    "value",    "the link's {a} became {b}"),
    Kind.FAULT_SET:       KindRow("fault", "fault",     "",         "set fault {a}"),
    Kind.FAULT_CLEARED:   KindRow("fault", "count",     "",         "cleared {a} faults"),
}
# fmt: on
