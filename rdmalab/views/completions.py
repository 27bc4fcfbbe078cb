"""Completion queues and the completions in them."""

from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

from rdmalab.command import Noun, Thing
from rdmalab.hca import channels
from rdmalab.hca.cq import CompletionQueue
from rdmalab.hca.device import Hca
from rdmalab.hca.objects import CompChannel
from rdmalab.hca.wr import Cqe, swap_octets
from rdmalab.session.names import Names
from rdmalab.spec import records as rec
from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.completions import Arm, WcEx
from rdmalab.spec.records import Kind, Record
from rdmalab.spec.row import dataclass
from rdmalab.spec.states import QPType
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import WORK, WCFlags, WCOpcode
from rdmalab.views import columns, fmt, record_text
from rdmalab.views.columns import BRIEF, USUAL, Col, Gauge, Meaning, describe, loud, words
from rdmalab.world.world import World


@dataclass(slots=True)
class ChannelRow(columns.NamedObject):
    """A completion channel."""

    cqs: Annotated[str, "the completion queues that use it"]
    events: Annotated[int, "completion events that are not yet read"]
    unacked: Annotated[int, "events of its queues that were read and not acknowledged"]
    next: Annotated[str, "the queue whose event is read next; empty: get_cq_event would block"]


describe(
    ChannelRow,
    Col("name", Meaning.NAME),
    Col(
        "events",
        lambda row: loud(row.events),
        of=lambda row: f"{row.events} event{' waits' if row.events == 1 else 's wait'}",
    ),
    Col("unacked", lambda row: loud(row.unacked), "{} unacked"),
    Col("cqs", of=lambda row: f"of {row.cqs}" if row.cqs else "no CQ uses it"),
)


@dataclass(slots=True)
class EventsRow:
    """The asynchronous events of a node."""

    waiting: Annotated[int, "events that are not yet read"]
    unacked: Annotated[int, "events that were read and not acknowledged"]
    next: Annotated[AsyncEvent | None, "the event that get_async_event returns next"]
    newest: Annotated[AsyncEvent | None, "the newest event that is not yet read"]


def channel_row(world: World, names: Names, thing: Thing) -> ChannelRow:
    """One completion channel."""
    channel = world.find(thing, CompChannel)
    cqs = channels.members(world.nodes[thing.node], channel)

    def name(number: int) -> str:
        """The name of a CQ."""
        return names.of(Thing(Noun.CQ, thing.node, number))

    return ChannelRow(
        name=names.of(thing),
        node=thing.node,
        cqs=" ".join(name(cq.number) for cq in cqs),
        events=len(channel.events),
        unacked=sum(cq.unacked for cq in cqs),
        next=name(channel.events[0]) if channel.events else "",
    )


def events_row(world: World, node: str) -> EventsRow:
    """The asynchronous events of one node."""
    hca = world.nodes[node]
    waiting = hca.async_events
    return EventsRow(
        waiting=len(waiting),
        unacked=len(hca.async_unacked),
        next=waiting[0][0] if waiting else None,
        newest=waiting[-1][0] if waiting else None,
    )


@dataclass(slots=True)
class WcRow:
    """A completion, in the CQ or already polled; `undefined` names its fields without a meaning."""

    wr_id: Annotated[int, "of the work request, as posted"]
    status: Annotated[WCStatus, "how it ended"]
    opcode: Annotated[WCOpcode | int, "what was done; undefined on an error"]
    byte_len: Annotated[int, "bytes moved; undefined on an error, and for a SEND or WRITE done"]
    imm_data: Annotated[int, "as it lies in memory; defined only with WITH_IMM on a receive"]
    invalidated_rkey: Annotated[int, "the key invalidated here; defined only with WITH_INV"]
    wc_flags: Annotated[WCFlags, "undefined on an error"]
    qp_num: Annotated[int, "the QP of the work request"]
    src_qp: Annotated[int, "the sender's QP, for datagrams only"]
    slid: Annotated[int, "the LID a datagram came from; InfiniBand only"]
    sl: Annotated[int, "its service level; InfiniBand only"]
    dlid_path_bits: Annotated[int, "which LID of this port it came to; InfiniBand only"]
    vendor_err: Annotated[int, "the device's own code of an error"]
    at_ns: Annotated[int, "when it was added to the CQ"]
    qp: Annotated[str, "the name of the QP"]
    is_send: Annotated[bool, "whether a send queue's work request is done"]
    undefined: tuple[str, ...]

    def known(self, field: str, value: int | str) -> int | str | None:
        """A value, or None if the field has no meaning in this completion."""
        return None if field in self.undefined else value

    @property
    def text(self) -> str:
        """`wr2 RECV SUCCESS 64 B`, `wr8 REM_ACCESS_ERR A.qp0 vendor_err=0x8a`.

        An error has only wr_id, status, qp_num and vendor_err: ibv_poll_cq(3).
        """
        return words(self, USUAL if self.status else BRIEF)


def _htonl(imm_data: int) -> str:
    """The number that a program reads with ntohl, as it is written at post_send and in queries."""
    return f"htonl({swap_octets(imm_data):#x})"


def _ended(status: int) -> Meaning:
    if status == WCStatus.SUCCESS:
        return Meaning.OK
    return Meaning.FLUSHED if status == WCStatus.WR_FLUSH_ERR else Meaning.FAILED


describe(
    WcRow,
    Col("wr_id", Meaning.NAME, "wr{}", form=fmt.number),
    Col("opcode", of=lambda row: row.known("opcode", fmt.member(row.opcode, WCOpcode)), absent="-"),
    Col("status", lambda row: _ended(row.status), of=lambda row: fmt.member(row.status, WCStatus)),
    Col(
        "len",
        Meaning.NUMBER,
        "{} B",
        of=lambda row: row.known("byte_len", row.byte_len),
        right=True,
        absent="-",
    ),
    Col("qp", Meaning.DIM, rank=USUAL),
    Col("imm_data", label="imm={}", of=lambda row: row.known("imm_data", _htonl(row.imm_data))),
    Col(
        "inv",
        label="inv={}",
        of=lambda row: row.known("invalidated_rkey", f"{row.invalidated_rkey:#x}"),
    ),
    Col(
        "vendor_err",
        Meaning.DIM,
        "vendor_err={}",
        of=lambda row: f"{row.vendor_err:#x}" if row.status else None,
        rank=USUAL,
    ),
)


@dataclass(slots=True)
class CqRow(columns.NamedObject):
    """A completion queue."""

    capacity: Annotated[int, "completions it can hold: cqe as granted"]
    count: Annotated[int, "completions in the CQ, not yet polled"]
    free: Annotated[int, "completions that still fit"]
    total: Annotated[int, "completions ever added to it"]
    dead: Annotated[bool, "it overran and accepts no completions any more"]
    armed: Annotated[Arm, "what its next event waits for; the event disarms it"]
    channel: Annotated[str, "its completion channel, empty if none"]
    context: Annotated[int, "cq_context, which comes back with each event"]
    events: Annotated[int, "events on its channel that are not yet read"]
    unacked: Annotated[int, "events read and not acknowledged: destroy_cq waits for them"]
    wc_flags: Annotated[WcEx | None, "the fields that an extended CQ provides; nothing: a plain CQ"]
    reading: Annotated[int, "completions read since start_poll; end_poll removes them"]
    next: Annotated[WcRow | None, "the completion that poll_cq returns next"]
    last: Annotated[WcRow | None, "the newest completion, polled or not"]


def _armed(row: CqRow) -> str | None:
    if row.armed is Arm.NONE:
        return "not armed" if row.channel else None
    return f"ARMED {row.armed.name.lower()}"


def _waiting(row: CqRow) -> str:
    parts = [fmt.count(row.events, "event")] if row.events else []
    return ", ".join(parts + ([f"{row.unacked} unacked"] if row.unacked else []))


describe(
    CqRow,
    Col("name", Meaning.NAME),
    Col("completions", label="CQ {}", of=lambda row: Gauge(row.capacity, row.count)),
    Col("total", Meaning.DIM, "{} so far", rank=USUAL),
    Col(
        "dead",
        Meaning.FAILED,
        of=lambda row: "OVERRUN: no more CQEs are added" if row.dead else None,
    ),
    Col("armed", lambda row: Meaning.NAME if row.armed else Meaning.DIM, of=_armed),
    Col("channel", label="channel: {}", of=lambda row: row.channel.partition(".")[2]),
    Col("events", Meaning.ATTENTION, of=_waiting),
)


# Whose byte_len the specification promises to a sender.
_MEASURED = frozenset(row.wc_opcode for row in WORK.values() if row.outstanding)
_OF_DATAGRAM = ("src_qp", "slid", "sl", "dlid_path_bits")
_DOUBTFUL = ("opcode", "byte_len", "imm_data", "invalidated_rkey", "wc_flags", *_OF_DATAGRAM)


# By the name of the field of a CqRow, but for fields that are those of the queue: rows are made of
# all these, answers of one.
_FACTS: dict[str, Callable[[Hca, Names, CompletionQueue], Any]] = {
    "name": lambda hca, names, cq: names.of(Thing(Noun.CQ, hca.node, cq.number)),
    "node": lambda hca, _n, _cq: hca.node,
    "count": lambda _h, _n, cq: len(cq.cqes),
    "free": lambda _h, _n, cq: cq.capacity - len(cq.cqes),
    "channel": lambda hca, names, cq: fmt.part_name(names, Noun.CHANNEL, hca.node, cq.channel),
    "events": lambda hca, _n, cq: _unread_events(hca, cq),
    "wc_flags": lambda _h, _n, cq: None if cq.fields is None else WcEx(cq.fields),
    "next": lambda hca, names, cq: wc_row(hca, names, cq.cqes[0]) if cq.cqes else None,
    "last": lambda hca, names, cq: None if cq.last is None else wc_row(hca, names, cq.last),
}


def cq_row(world: World, names: Names, thing: Thing) -> CqRow:
    """One CQ; all its completions are `wc_rows`."""
    hca, cq = world.at(thing, CompletionQueue)
    made = {name: fact(hca, names, cq) for name, fact in _FACTS.items()}
    return CqRow(**columns.same_fields(CqRow, cq) | made)


def cq_field(world: World, names: Names, thing: Thing, name: str) -> object:
    """One field of the row; a condition that is asked after each event needs no other."""
    hca, cq = world.at(thing, CompletionQueue)
    return _FACTS[name](hca, names, cq) if name in _FACTS else getattr(cq, name)


def _unread_events(hca: Hca, cq: "CompletionQueue") -> int:
    if not cq.channel:
        return 0
    return hca.channels.find(cq.channel).events.count(cq.number)


def wc_rows(world: World, names: Names, thing: Thing) -> list[WcRow]:
    """The completions in a CQ, the next to be polled first."""
    cq = world.find(thing, CompletionQueue)
    return [wc_row(world.nodes[thing.node], names, cqe) for cqe in cq.cqes]


def wc_row(hca: Hca, names: Names, cqe: Cqe) -> WcRow:
    """One completion of this node."""
    return WcRow(
        **columns.same_fields(WcRow, cqe) | {"wc_flags": WCFlags(cqe.wc_flags)},
        invalidated_rkey=cqe.imm_data,  # a union, in C
        qp=names.of(Thing(Noun.QP, hca.node, cqe.qp_num)),
        undefined=_undefined(hca, cqe),
    )


def _undefined(hca: Hca, cqe: Cqe) -> tuple[str, ...]:
    if cqe.status != WCStatus.SUCCESS:
        return _DOUBTFUL
    qp = hca.qps.items.get(cqe.qp_num)
    datagram = qp is not None and qp.qp_type is QPType.UD
    measured = not cqe.is_send or cqe.opcode in _MEASURED or hca.profile.send_byte_len
    defined = {
        "opcode": True,
        "byte_len": measured,
        "imm_data": bool(cqe.wc_flags & WCFlags.WITH_IMM) and not cqe.is_send,
        "invalidated_rkey": bool(cqe.wc_flags & WCFlags.WITH_INV),
        "wc_flags": True,
        **dict.fromkeys(_OF_DATAGRAM, datagram and not cqe.is_send),
    }
    return tuple(name for name in _DOUBTFUL if not defined[name])


def overran(thing: Thing, so_far: int, record: Record) -> int:
    """Completions lost because the CQ was full, carried on by one record."""
    return so_far + record_text.is_about(record, Kind.CQ_OVERRUN, thing)


FIELDS = {
    "posted_ns": "when it was posted; known also after its slot is free",
    "completed_ns": "when the device completed it, polled or not; nothing before that",
}


class WorkTime(NamedTuple):
    """The newest work request with its wr_id on a queue. completed_ns: None before its end."""

    serial: int
    posted_ns: int
    completed_ns: int | None = None


_Key = tuple[str, str, int, str, int]  # node, noun and number of the queue's owner, queue, wr_id


class WorkTimes:
    """The times of all work requests, carried on record by record."""

    __slots__ = ("_times",)

    def __init__(self) -> None:
        self._times: dict[_Key, WorkTime] = {}

    def __deepcopy__(self, memo: dict[int, object]) -> "WorkTimes":
        """A copy shares the times, which never change: a deep one would take seconds."""
        del memo
        twin = WorkTimes()
        twin._times = dict(self._times)
        return twin

    def with_record(self, record: Record) -> "WorkTimes":
        """This object, after one more record."""
        kind = rec.kind_of(record)
        if kind is Kind.SEND_POSTED or kind is Kind.WQE_COMPLETED:
            wqe = rec.send_wqe_of(record)
            key = _key(record, Noun.QP, rec.object_of(record), "wr", wqe.wr.wr_id)
            self._note(key, wqe.serial, rec.at_ns_of(record), is_post=kind is Kind.SEND_POSTED)
        elif kind is Kind.RECV_POSTED or kind is Kind.SRQ_POSTED:
            recv, noun = rec.recv_wqe_of(record), Noun.QP if kind is Kind.RECV_POSTED else Noun.SRQ
            key = _key(record, noun, rec.object_of(record), "recv_wr", recv.wr.wr_id)
            self._note(key, recv.serial, rec.at_ns_of(record), is_post=True)
        elif kind is Kind.CQE_ADDED and not rec.cqe_of(record).is_send:
            cqe = rec.cqe_of(record)
            noun, number = (Noun.SRQ, cqe.srq) if cqe.srq else (Noun.QP, cqe.qp_num)
            key = _key(record, noun, number, "recv_wr", cqe.wr_id)
            self._note(key, cqe.serial, rec.at_ns_of(record), is_post=False)
        return self

    def _note(self, key: _Key, serial: int, at_ns: int, *, is_post: bool) -> None:
        if is_post:
            self._times[key] = WorkTime(serial, at_ns)
        elif (time := self._times.get(key)) is not None and time.serial == serial:
            self._times[key] = time._replace(completed_ns=at_ns)

    def of(self, thing: Thing, queue: str, wr_id: int) -> WorkTime | None:
        """The newest work request with this wr_id. queue: `wr` or `recv_wr`."""
        return self._times.get((thing.node, thing.noun, thing.number, queue, wr_id))


def _key(record: Record, noun: Noun, number: int, queue: str, wr_id: int) -> _Key:
    return rec.node_of(record), noun, number, queue, wr_id
