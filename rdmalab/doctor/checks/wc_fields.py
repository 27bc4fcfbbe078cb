"""Fields of a completion that a program reads, or does not read."""

from typing import NamedTuple

from rdmalab.doctor.evidence.work_of_queues import subject_of_cqe
from rdmalab.doctor.kit import *
from rdmalab.doctor.moments.moments import is_ordered
from rdmalab.doctor.moments.what_if import attempt
from rdmalab.hca.wr import swap_octets
from rdmalab.spec.completions import READS
from rdmalab.spec.work import WCFlags

_LOOK = "look at wc.status of every completion; the other fields mean something only after SUCCESS"


@check("status-ignored", asked=True)
def status_ignored(case: Case, program: Program) -> Finding:
    """Of a program, whether it never asks for a status, and had one to ask for."""
    if _looks(program):
        return ok("it asks for the status of completions")
    taken = _taken(case)
    bad = [record for record in taken if cqe_of(record).status is not WCStatus.SUCCESS]
    bad = [record for record in bad if not _is_ordered(case, record)]
    if not bad:
        return ok("it polled no completion with an error")
    name = case.names.of(case.subject.thing)
    calls = [call for call in case.log.calls(node=case.node) if call.program == name]
    later = [call for call in calls if call.event > event_of(bad[0])]
    if not later and program.state is not ProgramState.DONE:
        return ok("it has run no further line after that")
    cqe = cqe_of(bad[0])
    flushed = sum(cqe_of(record).status is WCStatus.WR_FLUSH_ERR for record in bad[1:])
    return warn(
        fact(f"{name} polled {fmt.wr(cqe.wr_id)} with {cqe.status.name}", event_of(bad[0])),
        _next_call(case, later),
        *_flushes(bad, flushed),
        fact("none of its lines asks for a status"),
        cure=_status_ignored_cure(case, cqe),
    )


def _is_ordered(case: Case, record: Record) -> bool:
    """Whether it is a flush that the program itself asked for, by the state ERR."""
    cqe = cqe_of(record)
    return cqe.status is WCStatus.WR_FLUSH_ERR and is_ordered(
        case.session, case.log, subject_of_cqe(case.node, cqe)
    )


def _next_call(case: Case, later: list[Call]) -> Evidence:
    """Evidence: the next call of the program."""
    if later:
        return fact(f"it continued with {later[0].verb}", later[0].event)
    return fact("it ended without an error", case.log.last(Kind.PROGRAM_DONE, case.subject.thing))


def _looks(program: Program) -> bool:
    """Whether one of its questions is about the status of a completion, or how the QP is."""
    asked = [line.text for line in program.lines if line.question is not None]
    return any(".status" in text or "status=" in text or ".state" in text for text in asked)


def _taken(case: Case) -> list[Record]:
    """The completions that the program polled, oldest first."""
    ran = {event_of(r) for r in case.log.about(Kind.PROGRAM_RAN, case.subject.thing)}
    return [r for r in case.log.of(Kind.CQE_POLLED, case.node) if event_of(r) in ran]


def _flushes(bad: list[Record], flushed: int) -> list[Evidence]:
    if not flushed:
        return []
    return [fact(f"{fmt.count(flushed, 'more completion')} had WR_FLUSH_ERR", event_of(bad[-1]))]


def _status_ignored_cure(case: Case, cqe: Cqe) -> Fix:
    """Both ends reset and connected, and all lost work posted again, each receive with room."""
    qp = find_qp(case.world, case.node, cqe.qp_num)
    if qp is None or not cqe.is_send or not qp.transport.connected:
        return Fix(program=_LOOK)
    ended = case.log.about(Kind.WQE_COMPLETED, qp.thing)
    lost = [send_wqe_of(r) for r in ended if rec.status_of(r)]
    peer = peer_of(case.world, qp)
    taking = [wqe.length for wqe in lost if commands.needs_receive(wqe.wr)]
    lines = commands.bring_up_again(case, qp)
    lines += commands.rooms(case, peer, *taking) if peer is not None else []
    lines += [commands.post_send(case, qp, wqe.wr) for wqe in lost]
    works = attempt(case.session, lines, Subject(Sort.SEND, qp.thing, lost[-1].serial,
                                                 lost[-1].wr.wr_id)).works  # fmt: skip
    return Fix(lines) if works else Fix(program=_LOOK)


_ADVICE = "look at the status first, and at the other fields only if it is SUCCESS"


class Reading(NamedTuple):
    """A field of a completion is read."""

    event: int
    field: str
    cqe: Cqe


def _queue(case: Case) -> Thing | None:
    if case.cq is not None:
        return case.subject.thing
    added = case.work.added if case.work is not None else None
    return Thing(Noun.CQ, case.node, added.cq) if added is not None else None


@check("error-field-read", asked=True, thing=_queue)
def error_field_read(case: Case, thing: Thing) -> Finding:
    """Check whether a program read an undefined field of a completion with an error."""
    found = [r for r in _readings(case, thing) if _concerns(case, r.cqe)]
    if not found:
        return ok("no field of an error completion was read that means nothing")
    first = found[0]
    status = WCStatus(first.cqe.status).name
    text = f"{first.field} was read of the completion wr_id={first.cqe.wr_id}, which has {status}"
    more = [fact(f"and {each.field}", each.event) for each in found[1:3]]
    return warn(fact(text, first.event), *more, cure=Fix(program=_ADVICE))


def _concerns(case: Case, cqe: Cqe) -> bool:
    work = case.work
    return work is None or (work.added is not None and work.added.cqe == cqe)


def _readings(case: Case, thing: Thing) -> list[Reading]:
    """Fields that were read of completions in error, and are undefined there."""
    seen = [r for kind in (Kind.POLL_STARTED, Kind.POLL_ADVANCED)
            for r in case.log.about(kind, thing)]  # fmt: skip
    found = []
    for call in case.log.calls("wc_read", thing.node) if seen else []:
        before = [record for record in seen if event_of(record) < call.event]
        if call.errno or call.thing[1] != thing.number or not before or call.invocation is None:
            continue
        cqe: Cqe = cqe_of(max(before, key=event_of))
        field = str(call.invocation.arguments.get("field", ""))
        if cqe.status != WCStatus.SUCCESS and field in READS and not READS[field].on_error:
            found.append(Reading(call.event, field, cqe))
    return found


SMALL = 1 << 16  # who swaps a number below that gets a large one


def _received(case: Case) -> tuple[int, Cqe] | None:
    """The newest completion with immediate data, of the CQ or of the receive."""
    if case.receive is not None and case.receive.added is not None:
        added = case.receive.added
        return (added.event, added.cqe) if _has_imm(added.cqe) else None
    if case.cq is None:
        return None
    for record in reversed(case.log.about(Kind.CQE_ADDED, case.subject.thing)):
        if _has_imm(cqe_of(record)):
            return event_of(record), cqe_of(record)
    return None


@check("imm-endian", asked=True, found=_received)
def imm_endian(case: Case, found: tuple[int, Cqe]) -> Finding:
    """Check whether immediate data look byte-swapped: small as stored, large once converted."""
    event, cqe = found
    if not _looks_swapped(cqe.imm_data):
        return ok("its immediate data look as if htonl had been used", event)
    message = messages.taking(case.log, case.node, 0 if cqe.srq else cqe.qp_num, cqe)
    swapped = fact(_swapped_text(cqe.imm_data), event)
    if message is None:
        return warn(swapped)
    posted = fact(f"{case.names.of(message.thing)} posted it in this form", message.posted)
    return warn(swapped, posted, cure=_imm_endian_cure(case, message))


def _looks_swapped(value: int) -> bool:
    return 0 < value < SMALL


def _swapped_text(value: int) -> str:
    swapped = swap_octets(value)
    return f"imm_data={value} in memory; ntohl of it is {swapped:#010x}, {swapped}"


@imm_endian.instead
def _sent(case: Case, send: Send, wqe: SendWqe) -> Finding:
    if wqe.work is None or not wqe.work.immediate:
        return NA
    value = wqe.wr.imm_data
    if not _looks_swapped(value):
        return ok("its immediate data look as if htonl had been used")
    program = f"imm_data is in network byte order: htonl({value})"
    return warn(fact(_swapped_text(value), send.posted), cure=Fix(program=program))


def _has_imm(cqe: Cqe) -> bool:
    good = cqe.status is WCStatus.SUCCESS and not cqe.is_send
    return good and bool(cqe.wc_flags & WCFlags.WITH_IMM)


def _imm_endian_cure(case: Case, message: Message) -> Fix | None:
    """The message once more, converted."""
    qp = find_qp(case.world, *message.thing[1:])
    if qp is None:
        return None
    converted = f"htonl({message.wqe.wr.imm_data})"
    return Fix(posted_again(case, qp, message, imm_data=converted))
