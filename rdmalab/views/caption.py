"""One plain sentence about what an event did, and what it means: the caption above the panes."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from rdmalab.command import is_query
from rdmalab.session.names import Names
from rdmalab.spec import records as rec
from rdmalab.spec.records import Kind, Record, kind_of, node_of
from rdmalab.spec.refusals import Syndrome
from rdmalab.spec.states import ERROR_STATES, QPState
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.timers import INFINITE_RETRIES
from rdmalab.views import fmt
from rdmalab.views.columns import Meaning
from rdmalab.views.fates import key_refusal
from rdmalab.views.record_text import RecordContext, duplicate, sentence, subject, thing_of
from rdmalab.world.world import World


class Caption(NamedTuple):
    """text: a sentence without a full stop."""

    meaning: Meaning
    text: str


def caption(world: World, names: Names, event: int) -> Caption:
    """Sentence for the most important record of an event; event: a number, -1 before the first."""
    records = world.trace.records
    found = [RecordContext(world, names, records[number]) for number in records.span(event)]
    if not found:
        return Caption(Meaning.PLAIN, "Nothing has changed" if event >= 0 else "No event yet")
    chief = min(found, key=lambda each: _rank(each.record))
    text = _TELLERS.get(kind_of(chief.record), _plain)(chief, found)
    meaning = Meaning.ATTENTION if _is_endless(chief, found) else meaning_of(chief.record)
    return Caption(meaning, text[0].upper() + text[1:])


def last_act(world: World, event: int) -> int:
    """The newest event up to this one that was no query; -1: before the first event."""
    records = world.trace.records
    while event >= 0 and _is_query([records[number] for number in records.span(event)]):
        event -= 1
    return event


def _is_query(records: list[Record]) -> bool:
    """Whether an event was a call that only reads, answered or refused."""
    verbs = [rec.verb_of(record) for record in records if kind_of(record) is Kind.CALLED]
    is_call = all(kind_of(record) in (Kind.CALLED, Kind.REFUSED) for record in records)
    return is_call and bool(verbs) and is_query(verbs[0])


def meaning_of(record: Record) -> Meaning:
    """Meaning of a record: a failure, a refusal, a loss, a wait, success, …"""
    meaning = _MEANINGS[kind_of(record)]
    return meaning if isinstance(meaning, Meaning) else meaning(record)


def _rank(record: Record) -> tuple[int, int]:
    """Failures first, then refusals, losses and flushes, then the order of the table."""
    kind, meaning = kind_of(record), meaning_of(record)
    loud = meaning in _LOUD and kind not in (Kind.PACKET_SENT, Kind.PACKET_RECEIVED)
    return _LOUD.index(meaning) if loud else len(_LOUD), _ORDER[kind]


_LOUD = (Meaning.FAILED, Meaning.REFUSED, Meaning.LOST, Meaning.FLUSHED)


def _of_status(record: Record) -> Meaning:
    is_end = kind_of(record) is Kind.WQE_COMPLETED
    status = rec.status_of(record) if is_end else rec.cqe_of(record).status
    special = {WCStatus.SUCCESS: Meaning.OK, WCStatus.WR_FLUSH_ERR: Meaning.FLUSHED}
    return special.get(status, Meaning.FAILED)


def _of_packet(record: Record) -> Meaning:
    answer = fmt.syndrome(rec.packet_of(record))
    if answer in (None, Syndrome.ACK):
        return Meaning.UNDER_WAY
    return Meaning.REFUSED if answer is Syndrome.RNR_NAK else Meaning.FAILED


def _of_state(record: Record) -> Meaning:
    bad = rec.new_state_of(record) in ERROR_STATES
    return Meaning.FAILED if bad else Meaning.CURRENT


def _of_call(record: Record) -> Meaning:
    return Meaning.REFUSED if rec.errno_of(record) else Meaning.DIM


# The kinds by importance, with their meaning, or with the function that reads it from a record.
_BY_RANK: tuple[tuple[Meaning | Callable[[Record], Meaning], str], ...] = (
    (Meaning.FAILED, "DEVICE_DIED SRQ_FAILED CQ_OVERRUN PROGRAM_FAILED"),
    (_of_status, "WQE_COMPLETED CQE_ADDED"),
    (_of_state, "STATE_CHANGED"),
    (Meaning.REFUSED, "REQUEST_REFUSED WINDOW_REFUSED BATCH_FAILED PACKET_DROPPED REFUSED"),
    (Meaning.LOST, "PACKET_LOST PACKET_HARMED"),
    (Meaning.ATTENTION, "PORT_CHANGED FAULT_TRIGGERED PACKET_DELAYED PACKET_HELD PACKET_RELEASED "
     "PACKET_COPIED PACKET_MARKED PACKET_INJECTED WINDOW_INVALIDATED QUEUE_DISCARDED "
     "EVENTS_DISCARDED"),
    (Meaning.WAITING, "WENT_BACK TIMER_ARMED TIMER_FIRED PROGRAM_WAITED"),
    (Meaning.OK, "CQ_EVENT_RAISED"),
    (_of_packet, "PACKET_SENT PACKET_RECEIVED"),
    (Meaning.ATTENTION, "ASYNC_RAISED"),
    (_of_status, "CQE_POLLED POLL_STARTED POLL_ADVANCED"),
    (Meaning.OK, "PROGRAM_DONE WINDOW_BOUND MEMORY_FLUSHED"),
    (Meaning.UNDER_WAY, "SEND_POSTED RECV_POSTED SRQ_POSTED"),
    (Meaning.CURRENT, "MIGRATION_CHANGED"),
    (Meaning.PLAIN, "REGION_CLOSED WR_FILLED WR_BUILT NEXT_WR_SET REGION_OPENED CQ_EVENT_TAKEN "
     "CQ_EVENTS_ACKED ASYNC_TAKEN ASYNC_ACKED CQ_ARMED CQ_RESIZED DEVICE_OPENED DEVICE_CLOSED "
     "CREATED DESTROYED LINK_LAYER_SET GROUP_JOINED GROUP_LEFT SRQ_SET QP_SHARED REREGISTERED "
     "LINK_SET FAULT_SET FAULT_CLEARED GID_SET PKEY_SET HOST_WROTE ATTRIBUTES_SET"),
    (Meaning.UNDER_WAY, "MEMORY_WRITTEN MEMORY_READ WQE_STARTED RECV_TAKEN"),
    (Meaning.PLAIN, "SLOTS_FREED SRQ_FREED"),
    (Meaning.UNDER_WAY, "PROGRAM_WOKEN PROGRAM_RAN"),
    (_of_call, "CALLED"),
)  # fmt: skip
_MEANINGS = {Kind[name]: meaning for meaning, kinds in _BY_RANK for name in kinds.split()}
_ORDER = {kind: place for place, kind in enumerate(_MEANINGS)}


# --------------------------------------------------------------------------- requests that ended
class Endings(NamedTuple):
    """The requests that ended without success, and the queue pairs that went to an error state.

    failed: request and status, `wr7 RDMA_WRITE 5 B`. flushed: `wr8`. moves: name → state.
    """

    failed: list[tuple[str, str]]
    flushed: list[str]
    moves: dict[str, str]

    @property
    def text(self) -> str:
        """`wr7 RDMA_WRITE 5 B ended with REM_ACCESS_ERR; wr8 was flushed`, or empty."""
        were = "were" if self.flushed[1:] else "was"
        flushed = f"{fmt.listed(self.flushed, _LISTED)} {were} flushed" if self.flushed else ""
        ends = [f"{request} ended with {status}" for request, status in self.failed]
        failed = fmt.listed(ends, _LISTED)
        return "; ".join(filter(None, (failed, flushed)))

    @property
    def states(self) -> str:
        """`A.qp0 and B.qp0 went to ERR`, or empty."""
        by_state: dict[str, list[str]] = {}
        for name, state in self.moves.items():
            by_state.setdefault(state, []).append(name)
        return "; ".join(f"{' and '.join(who)} went to {to}" for to, who in by_state.items())


_LISTED = 2


def endings(names: Names, records: Iterable[Record]) -> Endings:
    """Those of these records: sends by their WQE, receives by their completion.

    The queue pair is named where several have sends, or receives, that ended so.
    """
    ends: list[tuple[str, str, WCStatus | int]] = []
    moves: dict[str, str] = {}
    for record in records:
        kind = kind_of(record)
        if kind is Kind.STATE_CHANGED and _of_state(record) is Meaning.FAILED:
            moves[subject(names, record)] = fmt.member(rec.new_state_of(record), QPState)
        elif kind is Kind.WQE_COMPLETED:
            request = fmt.send_wqe(rec.send_wqe_of(record))
            ends.append((subject(names, record), request, rec.status_of(record)))
        elif kind is Kind.CQE_ADDED and not (cqe := rec.cqe_of(record)).is_send:
            owner = fmt.qp_name(names, node_of(record), cqe.qp_num)
            ends.append((owner, f"{_RECEIVE} {fmt.wr(cqe.wr_id)}", cqe.status))
    ends = [each for each in ends if each[2] != WCStatus.SUCCESS]
    sides = {(owner, request.startswith(_RECEIVE)) for owner, request, _ in ends}
    several = len(sides) > len({is_receive for _, is_receive in sides})
    found = Endings([], [], moves)
    for owner, request, status in ends:
        is_flushed = status == WCStatus.WR_FLUSH_ERR
        short = request.split()[0] if is_flushed and not request.startswith(_RECEIVE) else request
        name = f"{owner} {short}" if several else short
        if is_flushed:
            found.flushed.append(name)
        else:
            found.failed.append((name, fmt.member(status, WCStatus)))
    return found


_RECEIVE = "receive"


# --------------------------------------------------------------------------- sentences
_Event = list[RecordContext]


def _plain(chief: RecordContext, found: _Event) -> str:
    """The sentence of the record, and how many more of its kind the event has."""
    who, text = subject(chief.names, chief.record), sentence(*chief)
    more = sum(kind_of(each.record) is kind_of(chief.record) for each in found) - 1
    text += f" (and {more} more)" if more else ""
    if not who or text.startswith(("the ", "timed ")):
        return text
    return f"{who}: {text}" if text.startswith("its ") else f"{who} {text}"


def _first(found: _Event, kind: Kind) -> RecordContext | None:
    return next((each for each in found if kind_of(each.record) is kind), None)


def _ended(chief: RecordContext, found: _Event) -> str:
    """Requests that ended, queue pairs that changed their state."""
    bad = endings(chief.names, (each.record for each in found))
    packet, wrote = _first(found, Kind.PACKET_SENT), _first(found, Kind.MEMORY_WRITTEN)
    reason = bad.text or (_plain(packet, [packet]) if packet else "")
    if bad.moves and reason:
        return f"{bad.states}: {reason}"
    if bad.text:
        return f"{subject(*chief[1:])}: {bad.text}"
    text, kind = _plain(chief, found), kind_of(chief.record)
    if kind is Kind.WQE_COMPLETED:
        added = _first(found, Kind.CQE_ADDED)
        return f"{text}, {f'CQE in {subject(*added[1:])}' if added else 'unsignaled: no CQE'}"
    return f"{_plain(wrote, [wrote])}; {text}" if wrote and kind is Kind.CQE_ADDED else text


def _refused(chief: RecordContext, found: _Event) -> str:
    """A request that the responder did not execute; of a key which test it failed."""
    record, packet, reason = chief.record, rec.roce_packet_of(chief.record), ""
    if rec.reason_of(record) == "rkey":
        start = chief.world.trace.records.span(rec.event_of(record)).start
        reason = key_refusal(chief.world, chief.names, start + found.index(chief))
    reason = reason or fmt.reason(rec.reason_of(record))
    op = packet.opcode_row.op.name
    return f"{subject(chief.names, record)} refused {op} psn {packet.psn}: {reason}"


def _call(_chief: RecordContext, found: _Event) -> str:
    """A call that was refused, or that changed nothing."""
    call, refused = _first(found, Kind.CALLED), _first(found, Kind.REFUSED)
    complaint = f": {rec.complaint_of(refused.record)}" if refused else ""
    verb, code = (rec.verb_of(call.record), rec.errno_of(call.record)) if call else ("", 0)
    who = node_of(found[0].record) or "the lab"
    if not code:
        did = "found no completion" if verb == "poll_cq" else "changed nothing"
        return f"{who}: {verb} {did}"
    return f"{who} refused {verb} with {fmt.errno_word(code)}{complaint}"


def _waits(chief: RecordContext, found: _Event) -> str:
    record, met = chief.record, _first(found, Kind.PACKET_RECEIVED)
    wait = fmt.duration(rec.expires_ns_of(record) - rec.at_ns_of(record))
    again = f", then sends psn {rec.packet_of(met.record).psn} again" if met else ""
    again += f", without limit (rnr_retry={INFINITE_RETRIES})" if _is_endless(chief, found) else ""
    return f"{subject(chief.names, record)} waits {wait}{again}"


def _is_endless(chief: RecordContext, found: _Event) -> bool:
    """Whether a request waits for the RNR timer, and its retries have no limit."""
    met, thing = _first(found, Kind.PACKET_RECEIVED), thing_of(chief.record)
    if kind_of(chief.record) is not Kind.TIMER_ARMED or met is None or thing is None:
        return False
    if fmt.syndrome(rec.packet_of(met.record)) is not Syndrome.RNR_NAK:
        return False
    hca = chief.world.nodes.get(thing.node)
    qp = None if hca is None else hca.qps.items.get(thing.number)
    return qp is not None and qp.attr.rnr_retry == INFINITE_RETRIES


def _received(chief: RecordContext, found: _Event) -> str:
    """The packet, and the bytes that it wrote."""
    wrote, text = _first(found, Kind.MEMORY_WRITTEN), _plain(chief, [chief])
    more = f", {sentence(*wrote)}" if wrote else duplicate([each.record for each in found])
    return text + more


_TELLERS: dict[Kind, Callable[[RecordContext, _Event], str]] = {
    Kind.WQE_COMPLETED: _ended, Kind.CQE_ADDED: _ended, Kind.STATE_CHANGED: _ended,
    Kind.REQUEST_REFUSED: _refused, Kind.REFUSED: _call, Kind.CALLED: _call,
    Kind.TIMER_ARMED: _waits, Kind.PACKET_RECEIVED: _received,
}  # fmt: skip
