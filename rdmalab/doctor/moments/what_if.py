"""Trials of a fix on a branch of the session that is undone."""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain

from rdmalab.command import Noun, Thing
from rdmalab.doctor.evidence import posting_calls
from rdmalab.doctor.evidence.components import Component
from rdmalab.doctor.evidence.content import words_for
from rdmalab.doctor.evidence.log import Log
from rdmalab.doctor.evidence.made_good import is_repaired
from rdmalab.doctor.evidence.messages import executed, meet, piece_of, unanswered
from rdmalab.doctor.evidence.outcome import Status, SubjectOutcome, outcome_of
from rdmalab.doctor.evidence.ownership import gathered, swallowed
from rdmalab.doctor.evidence.subject import Sort, Subject, name_of
from rdmalab.doctor.evidence.work_of_queues import renewed, shared_bytes, subject_of_cqe, undone
from rdmalab.doctor.evidence.work_requests import Receive, Send
from rdmalab.doctor.moments import future
from rdmalab.grammar.nodes import Node
from rdmalab.hca.objects import CompChannel, MemoryRegion
from rdmalab.hca.wr import SendWqe
from rdmalab.session.lines import replies
from rdmalab.session.session import Session
from rdmalab.spec import records as rec
from rdmalab.spec.programs import ProgramState
from rdmalab.spec.records import Kind, event_of
from rdmalab.spec.row import dataclass
from rdmalab.spec.states import QPState
from rdmalab.spec.statuses import WCStatus
from rdmalab.world.programs import Program, programs_of
from rdmalab.world.relations import exists, find_qp, peer_of


@dataclass(slots=True)
class TrialOutcome:
    """The result of a trial. failure: the line that did not work and why, or what is still wrong.

    ends: it helps what was asked about, and is no cure of the program, for this reason.
    """

    works: bool
    failure: str = ""
    ends: str = ""


WAITS_AGAIN = "it then waits for a message"
"""The limit of a fix that posts a receive again: the program still has to send to it."""

Hangs = Callable[[Session, Subject, Log], list[str]]
"""The names of the causes for which a thread at rest never goes on; [] where it serves."""

IDLE = ("nothing-outstanding", "silent-peer")
"""Causes for which a thread rests as it may be meant, if it was not asked about."""


def makes_true(session: Session, lines: Sequence[str], questions: Sequence[Node]) -> list[bool]:
    """Carry out a cure, let time go on, and ask; lines that are refused make nothing true."""
    with future.undone_trial(session):
        failure = carry_out(session, lines)
        if failure:
            return [False] * len(questions)
        future.let_time_pass(session)
        return [bool(session.ask(question)) for question in questions]


def attempt(
    session: Session,
    lines: Sequence[str],
    subject: Subject,
    log: Log | None = None,
    hangs: Hangs | None = None,
) -> TrialOutcome:
    """Carry out a fix, let time go on, and see what comes of the subject.

    It works if the subject comes to a good end, earlier than without it, its queue pair and the
    peer are not in ERR then, the threads end, and nothing was sent that no program posts.
    hangs: asked of a thread in a loop without end, which is at rest where no request comes.
    """
    log = log or Log(session)
    without_ns = _good_end_ns(session, subject, log)
    with future.undone_trial(session):
        start = Start(session, subject, log)
        if failure := carry_out(session, lines):
            return TrialOutcome(works=False, failure=failure)
        future.let_time_pass(session)
        now = Log(session, log)
        found = _came_of(session, subject, start, now)
        if found.works:
            found = _with_threads(session, subject, start, now) or found
        if found.works and hangs is not None:
            ends = next(_servers(session, subject, now, hangs), "")
            found = TrialOutcome(works=False, ends=ends) if ends else found
        if not found.works or subject.sort not in (Sort.SEND, Sort.RECV):
            return found
        if name := _left_in_err(session, subject):
            return TrialOutcome(works=False, failure=f"{name} is in ERR after it")
        after = outcome_of(session, renewed(session, subject, now, start.event), now)
        end_ns = future.end_ns_of(after, now)
        if without_ns is not None and end_ns is not None and end_ns >= without_ns:
            return TrialOutcome(works=False, failure="it completes no earlier than without the fix")
        only_waits = subject.sort is Sort.RECV and after.kind is Status.PENDING
        return TrialOutcome(works=False, ends=WAITS_AGAIN) if only_waits else found


def _good_end_ns(session: Session, subject: Subject, log: Log) -> int | None:
    """Time in ns at which the subject succeeds without another call; None where it does not."""
    if session.world.agenda.next_ns() is None or subject.sort not in (Sort.SEND, Sort.RECV):
        return None
    if outcome_of(session, subject, log).kind is not Status.PENDING:
        return None
    ahead = future.look_ahead(session, subject, log=log)
    return ahead.end_ns if ahead.settled and ahead.outcome.good else None


def _left_in_err(session: Session, subject: Subject) -> str:
    """The name of its queue pair, or of the peer, if that is in ERR; else nothing."""
    world, (noun, node, number) = session.world, subject.thing
    own = find_qp(world, node, number) if noun is Noun.QP else None
    pair = [qp for qp in (own, own and peer_of(world, own)) if qp is not None]
    dead = [qp for qp in pair if qp.state is QPState.ERR]
    return session.names.of(dead[0].thing) if dead else ""


class Start:
    """Facts before a trial: the event, the newest record, a program's line, the completions.

    silent: the subject is a send that waits or failed, and no success of it has a completion.
    """

    def __init__(self, session: Session, subject: Subject, log: Log) -> None:
        self.event = session.world.event
        self.record = session.world.trace.latest
        self.on_cq = _on_cq(session, subject)
        wqe = Send(session, subject, log).wqe if subject.sort is Sort.SEND else None
        self.silent = wqe is not None and not wqe.signaled
        program = _program(session, subject)
        self.line = program.line.number if program is not None else 0


def _came_of(session: Session, subject: Subject, start: Start, log: Log) -> TrialOutcome:
    if subject.sort is Sort.CALL:
        if missed := _missed(subject, log):
            return _handed_over(session, subject, missed, start, log)
        return _unblocked(session, subject, start)
    if subject.sort is Sort.BYTES:
        return _brought(session, log, subject, start.event)
    again = renewed(session, subject, log, start.event)
    found = outcome_of(session, again, log)
    works = found.good or found.done or _waits_again(session, subject, found, log)
    if works and subject.sort is Sort.SEND and _is_lost(session, again, log):
        return TrialOutcome(works=False, failure="it ends with SUCCESS, but is lost again")
    if start.silent and found.done and not found.good:
        return TrialOutcome(works=False, ends="it has no completion, as it is not signaled")
    if subject.sort is Sort.PROGRAM and found.kind is Status.PENDING:
        works = future.passes_line(session, subject.thing, start.line, start.record)
    stays = (
        "" if works or subject.sort is not Sort.PROGRAM else _stays_failed(session, subject, log)
    )
    return TrialOutcome(works, "" if works else stays or found.sentence)


def _missed(subject: Subject, log: Log) -> list[Subject]:
    """The requests that the refused call asked about was to post; [] of other subjects."""
    calls = (call for call in log.refused() if subject.sort is Sort.CALL)
    return [each for call in calls if call.event == subject.event
            for each in posting_calls.not_posted(log, call)]  # fmt: skip


def _around(session: Session, subject: Subject, log: Log) -> Component:
    """The component of a subject, which the fix may have created again."""
    about = next(iter(_missed(subject, log)), subject)
    found = log.component_of(renewed(session, about, log).thing)
    caller = session.names.find(log.asked(subject.event)[1]) if subject.sort is Sort.CALL else None
    if caller is None or not exists(session.world, caller):
        return found
    return found | log.component_of(caller)


def _handed_over(
    session: Session, call: Subject, missed: Sequence[Subject], start: Start, log: Log
) -> TrialOutcome:
    """Of a refused post: each of its requests is posted now, and each send comes to a good end.

    A message that was lost for want of a receive is repeated, unless the thread stays failed.
    """
    for each in (renewed(session, subject, log, start.event) for subject in missed):
        is_send = each.sort is Sort.SEND
        posted = (Send if is_send else Receive)(session, each, log).posted
        found = outcome_of(session, each, log)
        done = found.good or found.done or not is_send
        if posted is None or posted <= start.event or not done:
            text = found.sentence if posted is not None and posted > start.event else "not posted"
            return TrialOutcome(works=False, failure=f"{name_of(session.names, each)}: {text}")
    lost = next(_lost_before(session, call.event, missed, start, log), "")
    lost = "" if _stays_failed(session, call, log) else lost
    return TrialOutcome(not lost, ends=lost)


def _lost_before(
    session: Session, event: int, missed: Sequence[Subject], start: Start, log: Log
) -> Iterator[str]:
    """Messages that were lost since a receive was not posted, and that the fix does not repeat.

    missed: the requests that the refused call of this event was to post.
    """
    queues = {each.thing for each in missed if each.sort is Sort.RECV}
    for record in log.of(Kind.SEND_POSTED) if queues else ():
        subject = Subject.of_send(Thing(Noun.QP, *rec.place_of(record)), rec.send_wqe_of(record))
        send = Send(session, subject, log)
        if rec.event_of(record) > start.event or not _takes_receive(rec.send_wqe_of(record)):
            continue
        is_last = renewed(session, subject, log, start.event) == subject
        if is_last and _found_no_receive(session, send, event) & queues:
            yield f"{name_of(session.names, subject)} is lost already"


def _found_no_receive(session: Session, send: Send, event: int) -> set[Thing]:
    """The queue pair at which a send found no receive after an event, and its SRQ.

    Empty where it found one, still waits for one, or was repaired since.
    """
    targets: set[Thing] = set()
    qp, ending = send.qp, send.ending
    if qp is None or ending is None or ending.event <= event:
        return targets
    if ending.status is WCStatus.RNR_RETRY_EXC_ERR:
        peer = peer_of(session.world, qp)
        mended = is_repaired(session, send.log, send.subject, ending.event)
        targets = {peer.thing} if peer is not None and not mended else targets
    elif not qp.transport.acknowledged and (lost := unanswered(session, send, asked=True)):
        targets = {Thing(Noun.QP, miss.node, miss.number) for miss in lost.because("no-receive")}
    qps = [find_qp(session.world, *thing[1:]) for thing in targets]
    return targets | {Thing(Noun.SRQ, qp.node, qp.srq) for qp in qps if qp is not None and qp.srq}


def _waits_again(session: Session, subject: Subject, found: SubjectOutcome, log: Log) -> bool:
    """Whether a receive that was flushed or discarded waits for a message again, as before."""
    if subject.sort is not Sort.RECV or found.kind is not Status.PENDING:
        return False
    receive = Receive(session, subject, log)
    taken = receive.flushed or receive.discarded is not None
    return taken and not _left_in_err(session, subject)


def _unblocked(session: Session, subject: Subject, start: Start) -> TrialOutcome:
    """Of a call that would block: an event is pending now, or nothing is left to be polled."""
    channel = _awaited_channel(session, subject)
    if channel is None:
        return TrialOutcome(works=True)
    pending = bool(session.world.find(channel, CompChannel).events)
    works = pending or bool(start.on_cq and not _on_cq(session, subject))
    return TrialOutcome(works, "" if works else "no completion event is pending")


def _awaited_channel(session: Session, subject: Subject) -> Thing | None:
    """The channel of a get_cq_event that would block, if it lives."""
    if subject.sort is not Sort.CALL:
        return None
    calls = [c for c in Log(session).refused() if c.event == subject.event]
    if not calls or calls[-1].refusal != "cq-event-none":
        return None
    channel = Thing(Noun.CHANNEL, *calls[-1].thing)
    return channel if exists(session.world, channel) else None


def _is_lost(session: Session, subject: Subject, log: Log) -> bool:
    """Whether packets of it were dropped, or acknowledged as duplicates and not carried out."""
    send = Send(session, subject, log)
    if send.qp is None or send.qp.transport.acknowledged:
        return any(each.subject == subject for each in swallowed(log, subject.thing.node))
    found = unanswered(session, send, asked=True)
    return found is not None and bool(found.misses)


def _brought(session: Session, log: Log, subject: Subject, before: int) -> TrialOutcome:
    """Outcome of a trial: a message wrote these bytes after an event, and no request failed."""
    mr = session.world.find(subject.thing, MemoryRegion)
    span = (mr.addr + subject.start, subject.stop - subject.start)
    failed = [r for r in (*log.failed_sends, *log.failed_receives) if event_of(r) > before]
    came = [r for r in log.of(Kind.MEMORY_WRITTEN, subject.thing.node)
            if event_of(r) > before and meet([span], [piece_of(r)])]  # fmt: skip
    if failed:
        return TrialOutcome(works=False, failure="a work request failed")
    return TrialOutcome(bool(came), "" if came else "no message has come")


def _program(session: Session, subject: Subject) -> Program | None:
    living = subject.sort is Sort.PROGRAM and exists(session.world, subject.thing)
    return session.world.find(subject.thing, Program) if living else None


def _on_cq(session: Session, subject: Subject) -> int:
    """Number of completions in the queues beside which a program sleeps."""
    program = _program(session, subject)
    channel = program.wants[1] if program is not None and program.wants is not None else None
    channel = channel or _awaited_channel(session, subject)
    if channel is None or channel.noun is not Noun.CHANNEL:
        return 0
    cqs = session.world.nodes[channel.node].cqs.items.values()
    return sum(len(cq.cqes) for cq in cqs if cq.channel == channel.number)


def carry_out(session: Session, lines: Sequence[str]) -> str:
    """The verb and object of the line that was refused, and why; nothing where all went well."""
    for line in lines:
        for reply in replies(session, line, file=True):
            if reply.travel is not None:
                reply.travel.go(future.MOST_EVENTS)
            if (error := reply.error or reply.refusal) is not None:
                return f"{' '.join(reply.text.split()[:2])}: {error.message}"
    return ""


def _with_threads(
    session: Session, subject: Subject, start: Start, log: Log
) -> TrialOutcome | None:
    """The outcome for the threads after a fix that helps the subject; None if they end well."""
    if name := _stays_failed(session, subject, log):
        return TrialOutcome(works=False, failure=name)
    ends = side_effect(session, subject, start.event, log)
    return TrialOutcome(works=False, ends=ends) if ends else None


def _stays_failed(session: Session, subject: Subject, log: Log) -> str:
    """A thread around the subject that has failed, with its line; empty if none has."""
    around = _around(session, subject, log)
    failed = (p for p in programs_of(session.world) if p.state is ProgramState.FAILED)
    return next((f"{session.names.of(p.thing)} has failed in line {p.line.number}; a fix does not"
                 " start it again" for p in failed if p.thing in around), "")  # fmt: skip


_WAITS = (Sort.PROGRAM, Sort.CQ, Sort.CALL)


def side_effect(session: Session, subject: Subject, event: int, log: Log) -> str:
    """Unwanted effects of the lines carried out since an event; empty if none."""
    of_subject = (look(session, subject, event, log) for look in (_sent, _threads, _failures))
    of_all = (look(session, event, log) for look in (_refilled, _polled_again, shared_bytes))
    return next(chain(*of_subject, *of_all), "")


def _sent(session: Session, subject: Subject, event: int, log: Log) -> Iterator[str]:
    """Requests typed since an event that no program posts, or that were carried out before."""
    for record in log.since(event + 1, Kind.SEND_POSTED):
        thing = Thing(Noun.QP, *rec.place_of(record))
        wqe = rec.send_wqe_of(record)
        harmless = not (wqe.signaled or wqe.length or _takes_receive(wqe))
        call, program = log.asked(rec.event_of(record))
        if harmless or program or (call is not None and call.name == "wr_complete"):
            continue
        same = _same_before(log, thing, wqe, event)
        done = _executed(session, same, event, log) if same is not None else None
        if same is not None and done is not None:
            yield f"{name_of(session.names, same)} is carried out twice, first in event {done}"
        elif _was_meant(log, thing, wqe, subject):
            continue
        elif same is None:
            yield f"{session.names.of(thing)} sends a message that no program posts"
        elif subject.sort in _WAITS and _is_repeated(session, same, log):
            yield f"{name_of(session.names, same)} is carried out twice"


def _repetitions(event: int, log: Log) -> Iterator[tuple[Thing, SendWqe, Subject]]:
    """Requests typed since an event, with their queue and the request that each repeats."""
    for record in log.since(event + 1, Kind.SEND_POSTED):
        thing, wqe = Thing(Noun.QP, *rec.place_of(record)), rec.send_wqe_of(record)
        same = _same_before(log, thing, wqe, event)
        if same is not None and not log.asked(rec.event_of(record))[1]:
            yield thing, wqe, same


def _refilled(session: Session, event: int, log: Log) -> Iterator[str]:
    """Requests typed since an event whose bytes the program had written again since their post."""
    for thing, wqe, same in _repetitions(event, log):
        first = log.event_of(Kind.SEND_POSTED, same.thing, same.serial)
        source = gathered(session.world.nodes[thing.node], wqe)
        writes = [r for r in log.of(Kind.HOST_WROTE, thing.node) if meet(source, [piece_of(r)])]
        if writes and first is not None and first < rec.event_of(writes[-1]) <= event:
            where = words_for(session, thing.node, piece_of(writes[-1]))
            yield f"it sends what was written to {where} only in event {rec.event_of(writes[-1])}"


def _polled_again(session: Session, event: int, log: Log) -> Iterator[str]:
    """Programs that polled a success twice, once since an event: that poll was for another one."""
    for thing, wqe, same in _repetitions(event, log):
        before, again = (Send(session, s, log) for s in (same, Subject.of_send(thing, wqe)))
        first = before.polled.program if before.succeeded and before.polled is not None else ""
        if first and again.polled is not None and again.polled.program == first:
            yield f"{first} polls the completion of {name_of(session.names, same)} twice"


def _executed(session: Session, subject: Subject, event: int, log: Log) -> int | None:
    """The event in which the present peer of a connection executed its request, up to an event.

    The fix may have created the queue pair of the request again, under its name.
    """
    send = Send(session, subject, log)
    qp = find_qp(session.world, *renewed(session, subject, log).thing[1:])
    peer = peer_of(session.world, qp) if qp is not None else None
    if qp is None or peer is None or not qp.transport.acknowledged:
        return None
    done = executed(log, send, event)
    return rec.event_of(done) if done is not None and rec.place_of(done) == peer.thing[1:] else None


def _failures(session: Session, subject: Subject, event: int, log: Log) -> Iterator[str]:
    """Work around the subject that was posted since an event, and failed; receives that did.

    A flush is one of a typed send: a program may drain its queue pair on purpose.
    """
    around = _around(session, subject, log)
    for record in log.failed_sends:
        thing = Thing(Noun.QP, *rec.place_of(record))
        if rec.event_of(record) <= event or thing not in around:
            continue
        failed = Subject.of_send(thing, rec.send_wqe_of(record))
        posted = Send(session, failed, log).posted
        flushed = rec.status_of(record) is WCStatus.WR_FLUSH_ERR
        if posted is not None and posted > event and not (flushed and log.asked(posted)[1]):
            status = WCStatus(rec.status_of(record)).name
            yield f"{name_of(session.names, failed)} then ends with {status}"
    for record in log.failed_receives:
        node, cqe = rec.node_of(record), rec.cqe_of(record)
        is_own = Thing(Noun.QP, node, cqe.qp_num) in around
        if rec.event_of(record) > event and is_own and cqe.status is not WCStatus.WR_FLUSH_ERR:
            name = name_of(session.names, subject_of_cqe(node, cqe))
            yield f"{name} then ends with {cqe.status.name}"


def _takes_receive(wqe: SendWqe) -> bool:
    return wqe.work is not None and wqe.work.consumes_receive


def _same_before(log: Log, thing: Thing, wqe: SendWqe, event: int) -> Subject | None:
    """The newest request of the node, posted up to an event, that this one posts once more."""
    for record in reversed(log.of(Kind.SEND_POSTED, thing.node)):
        other = rec.send_wqe_of(record)
        alike = (other.wr.wr_id, other.wr.opcode) == (wqe.wr.wr_id, wqe.wr.opcode)
        if rec.event_of(record) <= event and alike and (wqe.wr.wr_id or other.length == wqe.length):
            return Subject.of_send(Thing(Noun.QP, thing.node, rec.object_of(record)), other)
    return None


def _was_meant(log: Log, thing: Thing, wqe: SendWqe, subject: Subject) -> bool:
    """Whether a request was asked about, built, or handed over in a call that was refused."""
    meant = Subject(Sort.SEND, thing, wr_id=wqe.wr.wr_id)
    asked = subject.sort is Sort.SEND and subject.wr_id == wqe.wr.wr_id
    calls = posting_calls.latest_attempt(log, meant) or posting_calls.latest_batch(log, meant)
    return (asked and subject.thing.node == thing.node) or calls is not None


def _is_repeated(session: Session, subject: Subject, log: Log) -> bool:
    """Whether a request had been carried out, and its completion or its message was taken."""
    send = Send(session, subject, log)
    done = send.ending is not None and send.ending.status is WCStatus.SUCCESS
    connected = send.qp is not None and send.qp.transport.acknowledged
    message = send.wqe is not None and _takes_receive(send.wqe) and connected
    missed = unanswered(session, send, asked=True)  # on UC and UD success is no arrival
    return done and (send.polled is not None or message) and not (missed and missed.misses)


def _threads(session: Session, subject: Subject, event: int, log: Log) -> Iterator[str]:
    """Threads that failed since an event, and those around the subject that wait on.

    Then messages that were posted since, and for which no receive is left.
    """
    around = _around(session, subject, log)
    for program in programs_of(session.world):
        line = f"line {program.line.number}: {program.line.text}"
        failed = log.about(Kind.PROGRAM_FAILED, program.thing)[-1:]
        name = session.names.of(program.thing)
        if failed and rec.event_of(failed[0]) > event:
            yield f"{name} fails in {line}"
        if program.state.is_over or 0 in program.loops:
            continue
        if program.thing in around and log.rests(program.thing):
            yield f"{name} still waits in {line}"
    refused = [r for r in log.since(event + 1, Kind.REQUEST_REFUSED)
               if rec.reason_of(r) == "no-receive"]  # fmt: skip
    for place in dict.fromkeys(map(rec.place_of, refused)):
        target = find_qp(session.world, *place)
        sender = peer_of(session.world, target) if target and not target.source.wqes else None
        for send in undone(sender) if sender is not None else ():
            if sender and sender.thing in around and (Send(session, send, log).posted or 0) > event:
                yield f"{name_of(session.names, send)} then finds no receive"


def _servers(session: Session, subject: Subject, log: Log, hangs: Hangs) -> Iterator[str]:
    """Threads around the subject, in a loop without end, that wait for what never comes."""
    around = _around(session, subject, log)
    for program in programs_of(session.world):
        serves = 0 in program.loops and program.thing in around and log.rests(program.thing)
        server = Subject(Sort.PROGRAM, program.thing)
        found = hangs(session, server, log) if serves else []
        if any(server == subject or slug not in IDLE for slug in found):
            line = f"line {program.line.number}: {program.line.text}"
            yield f"{session.names.of(program.thing)} then waits in vain in {line}"
