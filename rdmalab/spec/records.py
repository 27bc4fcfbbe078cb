"""The kinds of record in the trace, and what fields `a` and `b` hold in each.

A record is the tuple `(event, at_ns, cause, kind, node, object, a, b)`. `object` is the number of
the object that the kind's noun names: a QP number, a CQ handle, an MR handle. For CALLED and
REFUSED it is the number of the verb's first object. `cause` is the number of the record that
scheduled the event, -1 for a command.
"""

from collections.abc import Callable, Container, Iterable
from enum import IntEnum, auto
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, TypeVar

if TYPE_CHECKING:
    from rdmalab.hca.wr import Cqe, RecvWqe, SendWqe, SendWR
    from rdmalab.spec.async_events import AsyncEvent
    from rdmalab.spec.completions import Arm
    from rdmalab.spec.limits import LinkLayer, PortState
    from rdmalab.spec.states import MigState, QPState
    from rdmalab.spec.statuses import WCStatus
    from rdmalab.wire.frame import Frame
    from rdmalab.wire.packet import Packet
    from rdmalab.world.transit import Injection

Record = tuple[int, int, int, "Kind", str, int, Any, Any]


class Field(IntEnum):
    """The index of each field of a record."""

    EVENT = 0
    AT_NS = 1
    CAUSE = 2
    KIND = 3
    NODE = 4
    OBJECT = 5
    A = 6
    B = 7


class Kind(IntEnum):
    """Kind of a record. Hashed as an int, because Enum.__hash__ is a slow Python function."""

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
    BATCH_FAILED = auto()
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
    REREGISTERED = auto()
    LINK_SET = auto()
    FAULT_SET = auto()
    FAULT_CLEARED = auto()
    FAULT_TRIGGERED = auto()
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


# --------------------------------------------------------------------------- reading a record
event_of: Callable[[Record], int] = itemgetter(Field.EVENT)
at_ns_of: Callable[[Record], int] = itemgetter(Field.AT_NS)
cause_of: Callable[[Record], int] = itemgetter(Field.CAUSE)
kind_of: Callable[[Record], Kind] = itemgetter(Field.KIND)
node_of: Callable[[Record], str] = itemgetter(Field.NODE)
object_of: Callable[[Record], int] = itemgetter(Field.OBJECT)


place_of: Callable[[Record], tuple[str, int]] = itemgetter(Field.NODE, Field.OBJECT)
"""The node and the number of the object: what a noun makes a thing."""


def objects_named(records: Iterable[Record]) -> set[tuple[str, int]]:
    """(node, object) of each record; without a call of Python per record, which costs most."""
    return set(map(place_of, records))


def of_kinds(records: Iterable[Record], kinds: Container[Kind]) -> list[Record]:
    """The records of these kinds, in order."""
    return [record for record in records if record[3] in kinds]


A: Final = 6  # Field.A, as a literal that mypy can follow into the tuple
B: Final = 7
T = TypeVar("T")
Part: TypeAlias = Callable[[Record], T]
"""Reads field a or b of a record with its type. KINDS lists the parts of each kind; a part of another
kind is read without an error and means nothing.
"""

MEANINGS: dict[Part[object], str] = {}
"""The format of the value of each part, a key of SAYINGS in `views/record_text.py`."""


def _part(place: int, meaning: str) -> Part[Any]:
    """Written in C: a function of Python would cost a question of `why` a fifth more."""
    part: Part[Any] = itemgetter(place)
    MEANINGS[part] = meaning
    return part


nothing: Part[None] = _part(A, "")
verb_of: Part[str] = _part(A, "verb")
errno_of: Part[int] = _part(B, "errno")
rule_of: Part[str] = _part(A, "rule")
complaint_of: Part[str] = _part(B, "complaint")
noun_of: Part[str] = _part(A, "noun")
old_state_of: Part["QPState"] = _part(A, "state")
new_state_of: Part["QPState"] = _part(B, "state")
attr_mask_of: Part[int] = _part(A, "attr_mask")
thread_of: Part[int] = _part(A, "count")
wr_id_of: Part[int] = _part(A, "wr_id")
send_flags_of: Part[int] = _part(B, "send_flags")
send_wr_of: Part["SendWR"] = _part(A, "send_wr")
setter_of: Part[str] = _part(B, "verb")
batch_error_of: Part[str] = _part(A, "complaint")
count_of: Part[int] = _part(A, "count")
freed_of: Part[int] = _part(A, "slots")
ending_of: Part[str] = _part(B, "ending")
send_wqe_of: Part["SendWqe"] = _part(A, "send_wqe")
recv_wqe_of: Part["RecvWqe"] = _part(A, "recv_wqe")
wqe_of: Part["SendWqe | RecvWqe"] = _part(A, "")  # either of them; no kind has it
status_of: Part["WCStatus"] = _part(B, "status")
queue_of: Part[str] = _part(A, "queue")
slots_of: Part[int] = _part(B, "slots")
requests_of: Part[int] = _part(B, "requests")
packet_of: Part["Packet | Frame"] = _part(A, "packet")
roce_packet_of: Part["Packet"] = _part(A, "")  # where it is known to be no frame
reason_of: Part[str] = _part(B, "reason")
frame_of: Part[bytes] = _part(B, "frame")
wait_ns_of: Part[int] = _part(B, "wait_ns")
arrives_ns_of: Part[int] = _part(B, "at_ns")
injection_of: Part["Injection"] = _part(B, "injection")
address_of: Part[int] = _part(A, "address")
length_of: Part[int] = _part(B, "length")
cqe_of: Part["Cqe"] = _part(A, "cqe")
old_size_of: Part[int] = _part(A, "count")
new_size_of: Part[int] = _part(B, "count")
arm_of: Part["Arm"] = _part(A, "arm")
channel_of: Part[int] = _part(A, "channel")
cq_context_of: Part[int] = _part(B, "context")
psn_of: Part[int] = _part(A, "psn")
expires_ns_of: Part[int] = _part(A, "at_ns")
async_event_of: Part["AsyncEvent"] = _part(A, "event")
event_noun_of: Part[str] = _part(B, "noun")
port_state_of: Part["PortState"] = _part(A, "port_state")
link_layer_of: Part["LinkLayer"] = _part(A, "link_layer")
old_mig_state_of: Part["MigState"] = _part(A, "mig_state")
new_mig_state_of: Part["MigState"] = _part(B, "mig_state")
gid_of: Part[int] = _part(A, "gid")
srq_field_of: Part[str] = _part(A, "srq_field")
srq_value_of: Part[int] = _part(B, "number")
bound_rkey_of: Part[int] = _part(B, "rkey")
void_rkey_of: Part[int] = _part(A, "rkey")
rereg_of: Part[int] = _part(A, "rereg")
setting_of: Part[str] = _part(A, "setting")
setting_value_of: Part["int | str"] = _part(B, "value")
fault_of: Part[str] = _part(A, "fault")
why_not_of: Part[str] = _part(B, "why_not")
table_index_of: Part[int] = _part(A, "index")
gid_entry_of: Part[int] = _part(B, "entry")
pkey_of: Part[int] = _part(B, "pkey")
line_number_of: Part[int] = _part(A, "count")
line_of: Part[str] = _part(B, "line")


class KindRow(NamedTuple):
    """noun: the kind of object that `object` numbers. a, b: the parts. sentence: template for both."""

    noun: str
    a: Part[object]
    b: Part[object]
    sentence: str


# fmt: off
KINDS: dict[Kind, KindRow] = {
    Kind.CALLED:            KindRow("node", verb_of, errno_of, "called {a}: {b}"),
    Kind.REFUSED:           KindRow("node", rule_of, complaint_of, "refused a call: {b}"),
    Kind.CREATED:           KindRow("any", noun_of, nothing, "created {a}"),
    Kind.DESTROYED:         KindRow("any", noun_of, nothing, "destroyed {a}"),
    Kind.STATE_CHANGED:     KindRow("qp", old_state_of, new_state_of, "went {a} → {b}"),
    Kind.ATTRIBUTES_SET:    KindRow("qp", attr_mask_of, nothing, "took {a}"),
    Kind.REGION_OPENED:     KindRow("qp", thread_of, nothing, "opened its critical region for thread {a}"),
    Kind.NEXT_WR_SET:       KindRow("qp", wr_id_of, send_flags_of, "set wr_id={a} wr_flags={b} for the next work request"),
    Kind.WR_BUILT:          KindRow("qp", send_wr_of, nothing, "built {a}, not posted yet"),
    Kind.WR_FILLED:         KindRow("qp", send_wr_of, setter_of, "filled {a} by {b}"),
    Kind.BATCH_FAILED:     KindRow("qp", batch_error_of, nothing, "made its batch invalid: {a}"),
    Kind.REGION_CLOSED:     KindRow("qp", count_of, ending_of, "closed its critical region: {a} work requests {b}"),
    Kind.SEND_POSTED:       KindRow("qp", send_wqe_of, nothing, "posted {a}"),
    Kind.RECV_POSTED:       KindRow("qp", recv_wqe_of, nothing, "posted {a}"),
    Kind.WQE_STARTED:       KindRow("qp", send_wqe_of, nothing, "started {a}"),
    Kind.WQE_COMPLETED:     KindRow("qp", send_wqe_of, status_of, "completed {a}: {b}"),
    Kind.RECV_TAKEN:        KindRow("qp", recv_wqe_of, nothing, "took {a} for an arriving message"),
    Kind.SLOTS_FREED:       KindRow("qp", queue_of, slots_of, "freed {b} of its {a}"),
    Kind.PACKET_SENT:       KindRow("qp", packet_of, nothing, "sent {a}"),
    Kind.PACKET_RECEIVED:   KindRow("qp", packet_of, nothing, "received {a}"),
    Kind.PACKET_DROPPED:    KindRow("qp", packet_of, reason_of, "dropped {a}: {b}"),
    Kind.PACKET_LOST:       KindRow("qp", packet_of, reason_of, "the cable lost {a}: {b}"),
    Kind.PACKET_HARMED:     KindRow("qp", packet_of, frame_of, "the cable corrupted {a}"),
    Kind.PACKET_MARKED:     KindRow("qp", packet_of, frame_of, "the cable marked {a}: congestion experienced"),
    Kind.PACKET_DELAYED:    KindRow("qp", packet_of, wait_ns_of, "the cable delayed {a} by {b}"),
    Kind.PACKET_HELD:       KindRow("qp", packet_of, wait_ns_of, "the cable holds {a} back, for {b} at most"),
    Kind.PACKET_RELEASED:   KindRow("qp", packet_of, arrives_ns_of, "the cable released {a} after a later packet, it arrives at {b}"),
    Kind.PACKET_COPIED:     KindRow("qp", packet_of, wait_ns_of, "the cable copied {a}, the copy arrives {b} later"),
    Kind.PACKET_INJECTED:   KindRow("node", packet_of, injection_of, "has not sent {a}: {b}"),
    Kind.REQUEST_REFUSED:   KindRow("qp", packet_of, reason_of, "refused {a}: {b}"),
    Kind.MEMORY_READ:       KindRow("qp", address_of, length_of, "read {b} bytes at {a}"),
    Kind.MEMORY_WRITTEN:    KindRow("qp", address_of, length_of, "wrote {b} bytes at {a}"),
    Kind.HOST_WROTE:        KindRow("mr", address_of, length_of, "the application wrote {b} bytes at {a}"),
    Kind.CQE_ADDED:         KindRow("cq", cqe_of, nothing, "added {a}"),
    Kind.CQE_POLLED:        KindRow("cq", cqe_of, nothing, "returned {a}"),
    Kind.CQ_OVERRUN:        KindRow("cq", cqe_of, nothing, "overran and lost {a}"),
    Kind.CQ_RESIZED:        KindRow("cq", old_size_of, new_size_of, "was resized from {a} to {b} completions"),
    Kind.CQ_ARMED:          KindRow("cq", arm_of, nothing, "was armed for {a}"),
    Kind.CQ_EVENT_RAISED:   KindRow("cq", channel_of, nothing, "raised a completion event for {a}"),
    Kind.CQ_EVENT_TAKEN:    KindRow("cq", channel_of, cq_context_of, "had its event read from {a}, cq_context {b}"),
    Kind.CQ_EVENTS_ACKED:   KindRow("cq", count_of, nothing, "had events acknowledged: {a}"),
    Kind.POLL_STARTED:      KindRow("cq", cqe_of, nothing, "began an extended poll with {a}"),
    Kind.POLL_ADVANCED:     KindRow("cq", cqe_of, nothing, "went on to {a}"),
    Kind.WENT_BACK:         KindRow("qp", psn_of, reason_of, "retransmits from psn={a}: {b}"),
    Kind.TIMER_ARMED:       KindRow("qp", expires_ns_of, reason_of, "armed its {b} timer, due at {a}"),
    Kind.TIMER_FIRED:       KindRow("qp", nothing, reason_of, "its {b} timer fired"),
    Kind.ASYNC_RAISED:      KindRow("any", async_event_of, event_noun_of, "raised {a}"),
    Kind.ASYNC_TAKEN:       KindRow("any", async_event_of, event_noun_of, "had {a} taken"),
    Kind.ASYNC_ACKED:       KindRow("any", async_event_of, event_noun_of, "had {a} acknowledged"),
    Kind.EVENTS_DISCARDED:  KindRow("any", count_of, event_noun_of, "discarded events that were not fetched: {a}"),
    Kind.QUEUE_DISCARDED:   KindRow("qp", queue_of, requests_of, "discarded {b} of its {a}"),
    Kind.PORT_CHANGED:      KindRow("node", port_state_of, nothing, "its port went {a}"),
    Kind.LINK_LAYER_SET:    KindRow("node", link_layer_of, nothing, "its port is one of {a} now"),
    Kind.MIGRATION_CHANGED: KindRow("qp", old_mig_state_of, new_mig_state_of, "changed path_mig_state from {a} to {b}"),
    Kind.GROUP_JOINED:      KindRow("qp", gid_of, nothing, "joined the multicast group {a}"),
    Kind.GROUP_LEFT:        KindRow("qp", gid_of, nothing, "left the multicast group {a}"),
    Kind.SRQ_POSTED:        KindRow("srq", recv_wqe_of, nothing, "got {a}"),
    Kind.SRQ_FREED:         KindRow("srq", freed_of, nothing, "freed {a}"),
    Kind.SRQ_SET:           KindRow("srq", srq_field_of, srq_value_of, "set {a}={b}"),
    Kind.SRQ_FAILED:        KindRow("srq", nothing, nothing, "entered its error state: no receive is taken from it any more"),
    Kind.QP_SHARED:         KindRow("qp", count_of, nothing, "is open {a} times now"),
    Kind.WINDOW_BOUND:      KindRow("mw", address_of, bound_rkey_of, "was bound at {a}, rkey {b}"),
    Kind.WINDOW_INVALIDATED: KindRow("mw", void_rkey_of, reason_of, "is unbound, rkey {a} is invalid: {b}"),
    Kind.WINDOW_REFUSED:    KindRow("qp", send_wqe_of, reason_of, "cannot do {a}: {b}"),
    Kind.MEMORY_FLUSHED:    KindRow("qp", address_of, length_of, "flushed {b} bytes at {a}"),
    Kind.REREGISTERED:   KindRow("mr", rereg_of, nothing, "changed its {a}"),
    Kind.LINK_SET:          KindRow("link", setting_of, setting_value_of, "the link's {a} became {b}"),
    Kind.FAULT_SET:         KindRow("fault", fault_of, nothing, "set fault {a}"),
    Kind.FAULT_CLEARED:     KindRow("fault", count_of, nothing, "cleared {a} faults"),
    Kind.FAULT_TRIGGERED:      KindRow("fault", fault_of, why_not_of, "timed fault applied: {a}{b}"),
    Kind.GID_SET:           KindRow("node", table_index_of, gid_entry_of, "entry {a} of its GID table became {b}"),
    Kind.PKEY_SET:          KindRow("node", table_index_of, pkey_of, "entry {a} of its P_Key table became {b}"),
    Kind.DEVICE_OPENED:     KindRow("node", nothing, nothing, "opened its device"),
    Kind.DEVICE_CLOSED:     KindRow("node", nothing, nothing, "closed its device"),
    Kind.DEVICE_DIED:       KindRow("node", nothing, nothing, "its device failed"),
    Kind.PROGRAM_RAN:       KindRow("program", line_number_of, line_of, "line {a}: {b}"),
    Kind.PROGRAM_WAITED:    KindRow("program", line_number_of, nothing, "waits"),
    Kind.PROGRAM_WOKEN:     KindRow("program", line_number_of, nothing, "is resumed"),
    Kind.PROGRAM_DONE:      KindRow("program", nothing, nothing, "is finished"),
    Kind.PROGRAM_FAILED:    KindRow("program", line_number_of, complaint_of, "failed in line {a}: {b}"),
}
# fmt: on

# Few, and what whoever asks why looks for first: they are kept when others are only recalled.
RARE = frozenset(
    (
        Kind.REFUSED,
        Kind.STATE_CHANGED,
        Kind.REQUEST_REFUSED,
        Kind.TIMER_FIRED,
        Kind.WENT_BACK,
        Kind.CQ_OVERRUN,
        Kind.ASYNC_RAISED,
        Kind.PACKET_LOST,
        Kind.PACKET_DROPPED,
        Kind.PORT_CHANGED,
        Kind.LINK_LAYER_SET,
        Kind.MIGRATION_CHANGED,
        Kind.LINK_SET,
        Kind.FAULT_SET,
        Kind.FAULT_CLEARED,
        Kind.FAULT_TRIGGERED,
        Kind.DEVICE_DIED,
        Kind.SRQ_FAILED,
        Kind.QUEUE_DISCARDED,
        Kind.CREATED,
        Kind.DESTROYED,
    )
)


# Whether work succeeded stands in the record, so these may be kept, too.
_KEPT_IF_FAILED = {
    Kind.WQE_COMPLETED: lambda record: bool(record[B]),
    Kind.CQE_ADDED: lambda record: bool(record[A].status),
}
_MAYBE_KEPT = RARE.union(_KEPT_IF_FAILED)


def kept_of(records: Iterable[Record], first: int) -> list[tuple[int, Record]]:
    """Records that are kept when others are only recalled, numbered from `first`: rare ones, and
    those of failed work.
    """
    return [
        (number, record)
        for number, record in enumerate(records, first)
        if record[3] in _MAYBE_KEPT and _KEPT_IF_FAILED.get(record[3], bool)(record)
    ]


_RAN = Kind.PROGRAM_RAN
_CHANGES_NOTHING = frozenset((_RAN, Kind.CALLED, Kind.REFUSED))
_line_ran: Callable[[Record], tuple[object, ...]] = itemgetter(Field.NODE, Field.OBJECT, Field.A)


def without_idle_repeats(records: list[Record], rare: Iterable[Record]) -> list[Record]:
    """The records without events in which a program did no more than run a line again in vain.

    Of those of one line the first and the last stay, and those that have a record in `rare`.
    """
    ran = [record for record in records if record[3] is _RAN]
    if not ran:  # most sessions have no programs; each look at all records is a part of a snapshot
        return records
    idle = set(map(event_of, ran))
    idle.difference_update([r[0] for r in records if r[3] not in _CHANGES_NOTHING])
    if not idle:
        return records
    ran = [record for record in ran if record[0] in idle]
    lines, events = list(map(_line_ran, ran)), list(map(event_of, ran))
    idle.difference_update(dict(zip(lines, events, strict=True)).values())
    lines.reverse()
    events.reverse()
    idle.difference_update(dict(zip(lines, events, strict=True)).values())
    idle.difference_update(map(event_of, rare))
    return [record for record in records if record[0] not in idle]
