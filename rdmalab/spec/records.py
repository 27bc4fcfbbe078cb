"""The kinds of record in the trace: what happened, in the past tense, and what `a` and `b` mean.

A record is the plain tuple `(event, at_ns, cause, kind, node, object, a, b)`. `object` is the number
of the thing that the kind's noun names (a QP number, a CQ handle, an MR handle; of CALLED and
REFUSED that of the first thing the verb was given); `cause` the number of the record that scheduled
the event, -1 for a command.
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
    """What happened. Its hash is that of the number: the one of Enum is written in Python."""

    __hash__ = int.__hash__

    CALLED = auto()
    REFUSED = auto()
    CREATED = auto()
    DESTROYED = auto()
    STATE_CHANGED = auto()
    ATTRIBUTES_SET = auto()
    REGION_OPENED = auto()
    NEXT_WR_SET = auto()
    WR_BUILT = auto()
    WR_FILLED = auto()
    BATCH_SPOILED = auto()
    REGION_CLOSED = auto()
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
    PACKET_MARKED = auto()
    PACKET_DELAYED = auto()
    PACKET_HELD = auto()
    PACKET_RELEASED = auto()
    PACKET_COPIED = auto()
    PACKET_INJECTED = auto()
    REQUEST_REFUSED = auto()
    MEMORY_READ = auto()
    MEMORY_WRITTEN = auto()
    HOST_WROTE = auto()
    CQE_ADDED = auto()
    CQE_POLLED = auto()
    CQ_OVERRUN = auto()
    CQ_RESIZED = auto()
    CQ_ARMED = auto()
    CQ_EVENT_RAISED = auto()
    CQ_EVENT_TAKEN = auto()
    CQ_EVENTS_ACKED = auto()
    POLL_STARTED = auto()
    POLL_ADVANCED = auto()
    WENT_BACK = auto()
    TIMER_ARMED = auto()
    TIMER_FIRED = auto()
    ASYNC_RAISED = auto()
    ASYNC_TAKEN = auto()
    ASYNC_ACKED = auto()
    EVENTS_DISCARDED = auto()
    QUEUE_DISCARDED = auto()
    PORT_CHANGED = auto()
    LINK_LAYER_SET = auto()
    MIGRATION_CHANGED = auto()
    GROUP_JOINED = auto()
    GROUP_LEFT = auto()
    SRQ_POSTED = auto()
    SRQ_FREED = auto()
    SRQ_SET = auto()
    SRQ_FAILED = auto()
    QP_SHARED = auto()
    WINDOW_BOUND = auto()
    WINDOW_INVALIDATED = auto()
    WINDOW_REFUSED = auto()
    MEMORY_FLUSHED = auto()
    REGISTERED_ANEW = auto()
    LINK_SET = auto()
    FAULT_SET = auto()
    FAULT_CLEARED = auto()
    FAULT_STRUCK = auto()
    GID_SET = auto()
    PKEY_SET = auto()
    DEVICE_OPENED = auto()
    DEVICE_CLOSED = auto()
    DEVICE_DIED = auto()
    PROGRAM_RAN = auto()
    PROGRAM_WAITED = auto()
    PROGRAM_WOKEN = auto()
    PROGRAM_DONE = auto()
    PROGRAM_FAILED = auto()


class KindRow(NamedTuple):
    """`sentence` is filled with the words of a and b; `wire` kinds stand in the ladder."""

    noun: str
    a: str
    b: str
    sentence: str


# fmt: off
KINDS: dict[Kind, KindRow] = {
    Kind.CALLED:          KindRow("node", "verb",       "errno",    "called {a}: {b}"),
    Kind.REFUSED:         KindRow("node", "rule",       "complaint", "refused by rule {a}: {b}"),
    Kind.CREATED:         KindRow("any",  "noun",       "",         "created {a}"),
    Kind.DESTROYED:       KindRow("any",  "noun",       "",         "destroyed {a}"),
    Kind.STATE_CHANGED:   KindRow("qp",   "state",      "state",    "went {a} → {b}"),
    Kind.ATTRIBUTES_SET:  KindRow("qp",   "attr_mask",  "",         "took {a}"),
    Kind.REGION_OPENED:   KindRow("qp",   "count",      "",         "opened its critical region for thread {a}"),
    Kind.NEXT_WR_SET:     KindRow("qp",   "wr_id",      "send_flags", "gives the next work request wr_id={a} wr_flags={b}"),
    Kind.WR_BUILT:        KindRow("qp",   "send_wr",    "",         "built {a}, not posted yet"),
    Kind.WR_FILLED:       KindRow("qp",   "send_wr",    "verb",     "filled {a} by {b}"),
    Kind.BATCH_SPOILED:   KindRow("qp",   "complaint",  "",         "spoiled its batch: {a}"),
    Kind.REGION_CLOSED:   KindRow("qp",   "count",      "ending",   "closed its critical region: {a} work requests {b}"),
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
    Kind.PACKET_MARKED:   KindRow("qp",   "packet",     "frame",    "the cable marked {a}: congestion experienced"),
    Kind.PACKET_DELAYED:  KindRow("qp",   "packet",     "wait_ns",  "the cable delayed {a} by {b}"),
    Kind.PACKET_HELD:     KindRow("qp",   "packet",     "wait_ns",  "the cable holds {a} back, for {b} at most"),
    Kind.PACKET_RELEASED: KindRow("qp",   "packet",     "at_ns",    "the cable let go of {a}: overtaken, it arrives at {b}"),
    Kind.PACKET_COPIED:   KindRow("qp",   "packet",     "wait_ns",  "the cable copied {a}, the copy arrives {b} behind it"),
    Kind.PACKET_INJECTED: KindRow("node", "packet",     "injection", "has not sent {a}: {b}"),
    Kind.REQUEST_REFUSED: KindRow("qp",   "packet",     "reason",   "refused {a}: {b}"),
    Kind.MEMORY_READ:     KindRow("qp",   "address",    "length",   "read {b} bytes at {a}"),
    Kind.MEMORY_WRITTEN:  KindRow("qp",   "address",    "length",   "wrote {b} bytes at {a}"),
    Kind.HOST_WROTE:      KindRow("mr",   "address",    "length",   "the application wrote {b} bytes at {a}"),
    Kind.CQE_ADDED:       KindRow("cq",   "cqe",        "",         "added {a}"),
    Kind.CQE_POLLED:      KindRow("cq",   "cqe",        "",         "handed out {a}"),
    Kind.CQ_OVERRUN:      KindRow("cq",   "cqe",        "",         "overran and lost {a}"),
    Kind.CQ_RESIZED:      KindRow("cq",   "count",      "count",    "was resized from {a} to {b} completions"),
    Kind.CQ_ARMED:        KindRow("cq",   "arm",        "",         "was armed for {a}"),
    Kind.CQ_EVENT_RAISED: KindRow("cq",   "channel",    "",         "raised a completion event for {a}"),
    Kind.CQ_EVENT_TAKEN:  KindRow("cq",   "channel",    "context",  "gave its event to who waited on {a}, cq_context {b}"),
    Kind.CQ_EVENTS_ACKED: KindRow("cq",   "count",      "",         "had {a} events acknowledged"),
    Kind.POLL_STARTED:    KindRow("cq",   "cqe",        "",         "began an extended poll with {a}"),
    Kind.POLL_ADVANCED:   KindRow("cq",   "cqe",        "",         "went on to {a}"),
    Kind.WENT_BACK:       KindRow("qp",   "psn",        "reason",   "goes back to psn={a}: {b}"),
    Kind.TIMER_ARMED:     KindRow("qp",   "at_ns",      "reason",   "armed its {b} timer for {a}"),
    Kind.TIMER_FIRED:     KindRow("qp",   "",           "reason",   "its {b} timer fired"),
    Kind.ASYNC_RAISED:    KindRow("any",  "event",      "noun",     "raised {a}"),
    Kind.ASYNC_TAKEN:     KindRow("any",  "event",      "noun",     "had {a} taken"),
    Kind.ASYNC_ACKED:     KindRow("any",  "event",      "noun",     "had {a} acknowledged"),
    Kind.EVENTS_DISCARDED: KindRow("any", "count",      "noun",     "took {a} events that nobody had fetched with it"),
    Kind.QUEUE_DISCARDED: KindRow("qp",   "queue",      "count",    "discarded {b} WQEs of its {a}"),
    Kind.PORT_CHANGED:    KindRow("node", "port_state", "",         "its port went {a}"),
    Kind.LINK_LAYER_SET:  KindRow("node", "link_layer", "",         "its port is one of {a} now"),
    Kind.MIGRATION_CHANGED: KindRow("qp", "mig_state",  "mig_state", "changed path_mig_state from {a} to {b}"),
    Kind.GROUP_JOINED:    KindRow("qp",   "gid",        "",         "joined the multicast group {a}"),
    Kind.GROUP_LEFT:      KindRow("qp",   "gid",        "",         "left the multicast group {a}"),
    Kind.SRQ_POSTED:      KindRow("srq",  "recv_wqe",   "",         "got {a}"),
    Kind.SRQ_FREED:       KindRow("srq",  "count",      "",         "{a} slots came free"),
    Kind.SRQ_SET:         KindRow("srq",  "srq_field",  "number",   "took {a}={b}"),
    Kind.SRQ_FAILED:      KindRow("srq",  "",           "",         "broke: no receive is taken from it any more"),
    Kind.QP_SHARED:       KindRow("qp",   "count",      "",         "is open {a} times now"),
    Kind.WINDOW_BOUND:    KindRow("mw",   "address",    "rkey",     "was bound from {a} on, rkey {b}"),
    Kind.WINDOW_INVALIDATED: KindRow("mw", "rkey",      "reason",   "is bound no more, rkey {a} is void: {b}"),
    Kind.WINDOW_REFUSED:  KindRow("qp",   "send_wqe",   "reason",   "cannot do {a}: {b}"),
    Kind.MEMORY_FLUSHED:  KindRow("qp",   "address",    "length",   "flushed {b} bytes at {a}"),
    Kind.REGISTERED_ANEW: KindRow("mr",   "rereg",      "",         "changed its {a}"),
    Kind.LINK_SET:        KindRow("link", "setting",    "value",    "the link's {a} became {b}"),
    Kind.FAULT_SET:       KindRow("fault", "fault",     "",         "set fault {a}"),
    Kind.FAULT_CLEARED:   KindRow("fault", "count",     "",         "cleared {a} faults"),
    Kind.FAULT_STRUCK:    KindRow("fault", "fault",     "why_not",  "it happened: {a}{b}"),
    Kind.GID_SET:         KindRow("node", "index",      "entry",    "entry {a} of its GID table became {b}"),
    Kind.PKEY_SET:        KindRow("node", "index",      "pkey",     "entry {a} of its P_Key table became {b}"),
    Kind.DEVICE_OPENED:   KindRow("node", "",           "",         "opened its device"),
    Kind.DEVICE_CLOSED:   KindRow("node", "",           "",         "closed its device"),
    Kind.DEVICE_DIED:     KindRow("node", "",           "",         "its device died"),
    Kind.PROGRAM_RAN:     KindRow("program", "count",   "line",     "line {a}: {b}"),
    Kind.PROGRAM_WAITED:  KindRow("program", "count",   "",         "waits"),
    Kind.PROGRAM_WOKEN:   KindRow("program", "count",   "",         "is woken"),
    Kind.PROGRAM_DONE:    KindRow("program", "",        "",         "is done"),
    Kind.PROGRAM_FAILED:  KindRow("program", "count",   "complaint", "failed in line {a}: {b}"),
}
# fmt: on

# Few, and what whoever asks why looks for first: they are kept when others are only recalled.
RARE = frozenset(
    (
        Kind.REFUSED, Kind.STATE_CHANGED, Kind.REQUEST_REFUSED, Kind.TIMER_FIRED, Kind.WENT_BACK,
        Kind.CQ_OVERRUN, Kind.ASYNC_RAISED, Kind.PACKET_LOST, Kind.PACKET_DROPPED,
        Kind.PORT_CHANGED, Kind.LINK_LAYER_SET, Kind.MIGRATION_CHANGED, Kind.LINK_SET, Kind.FAULT_SET, Kind.FAULT_CLEARED, Kind.FAULT_STRUCK,
        Kind.DEVICE_DIED, Kind.SRQ_FAILED, Kind.QUEUE_DISCARDED, Kind.CREATED, Kind.DESTROYED,
    )
)  # fmt: skip
