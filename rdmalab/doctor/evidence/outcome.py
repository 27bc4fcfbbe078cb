"""The outcome of a subject: completed, pending, never, lost, refused …"""

from enum import Enum

from rdmalab.command import Noun, Thing
from rdmalab.doctor.evidence.components import gone_in
from rdmalab.doctor.evidence.content import words_for
from rdmalab.doctor.evidence.log import Log
from rdmalab.doctor.evidence.messages import Piece, arrived_with, piece_of
from rdmalab.doctor.evidence.subject import Sort, Subject, name_of
from rdmalab.doctor.evidence.work_requests import CqePlace, Receive, Send
from rdmalab.hca.cq import CompletionQueue
from rdmalab.hca.objects import MemoryRegion
from rdmalab.hca.qp import QueuePair
from rdmalab.session.session import Session
from rdmalab.spec.programs import ProgramState
from rdmalab.spec.records import Kind, Record, address_of, event_of, length_of, node_of
from rdmalab.spec.row import dataclass
from rdmalab.spec.rules import errno_name
from rdmalab.spec.statuses import WCStatus
from rdmalab.views import fmt
from rdmalab.world.programs import Program
from rdmalab.world.relations import exists, users_of

_SHOWN = 4  # users of an object
_NEWEST = 16  # refused calls, among which that of a failed program is


class Status(Enum):
    """The first word of the answer."""

    COMPLETED = "completed"
    LATE = "completed late"
    FAILED = "completed with an error"
    PENDING = "pending"
    NEVER = "never"
    LOST = "lost"
    REFUSED = "refused"
    UNKNOWN = "unknown"
    WELL = "well"


@dataclass(slots=True)
class SubjectOutcome:
    """The state of a thing, in a sentence. event: the one that led to this state.

    done: it was carried out with success, whether or not it has a completion.
    rule: the name of the rule that refused a call, as in `spec.rules`. ends_well: False of what is
    pending and fails without another call, or has no end in sight.
    """

    kind: Status
    sentence: str
    event: int | None = None
    done: bool = False
    rule: str = ""
    ends_well: bool = True

    @property
    def good(self) -> bool:
        """Whether this state needs no explanation: COMPLETED, LATE or WELL."""
        return self.kind in (Status.COMPLETED, Status.LATE, Status.WELL)


def outcome_of(session: Session, subject: Subject, log: Log) -> SubjectOutcome:
    """As it is now, without a look ahead."""
    return _OF[subject.sort](session, subject, log)


# --------------------------------------------------------------------------- work requests
def _send(session: Session, subject: Subject, log: Log) -> SubjectOutcome:
    send = Send(session, subject, log)
    if subject.serial < 0:
        return _unposted(log)
    if send.ending is not None and send.ending.status is not WCStatus.SUCCESS:
        return _ended(session, send, send.ending.status, send.ending.event)
    if send.overrun is not None:
        return _overrun(session, send.overrun, subject.thing.node)
    if send.added is not None:
        return _ended(session, send, WCStatus.SUCCESS, send.added.event)
    if send.ending is not None:
        return _unseen(send, send.ending.event)
    return _waiting(session, subject, send)


def _unposted(log: Log) -> SubjectOutcome:
    """No post of it is known."""
    if not log.begins:
        return SubjectOutcome(Status.NEVER, "it was never posted")
    return SubjectOutcome(Status.UNKNOWN, f"it was not posted {_lately(log)}")


def _lately(log: Log) -> str:
    """As far back as the log goes."""
    return f"since {fmt.ev(log.begins)}; the log does not keep earlier events"


def _unseen(send: Send, event: int) -> SubjectOutcome:
    if send.wqe is not None and not send.wqe.signaled:
        never = "it was carried out, but is unsignaled: no CQE will be generated"
        return SubjectOutcome(Status.NEVER, never, event, done=True)
    return SubjectOutcome(Status.LOST, "it was carried out, and its completion was lost", event)


def _receive(session: Session, subject: Subject, log: Log) -> SubjectOutcome:
    receive = Receive(session, subject, log)
    if subject.serial < 0:
        return _unposted(log)
    if receive.overrun is not None:
        return _overrun(session, receive.overrun, subject.thing.node)
    if receive.ending is not None:
        status, event = receive.ending
        return _ended(session, receive, status, event)
    return _waiting(session, subject, receive)


def _ended(session: Session, work: Send | Receive, status: WCStatus, event: int) -> SubjectOutcome:
    kind = Status.COMPLETED if status is WCStatus.SUCCESS else Status.FAILED
    where = f" with {status.name}"
    if work.polled is not None:
        by = work.polled.program or "a call"
        where += f"; {by} polled its completion at {fmt.ev(work.polled.event)}"
    elif work.added is not None:
        cq = Thing(Noun.CQ, work.subject.thing.node, work.added.cq)
        where += _unpolled(session, work.log, cq, work.added)
    return SubjectOutcome(kind, f"it ended{where}", event)


def _unpolled(session: Session, log: Log, thing: Thing, added: CqePlace) -> str:
    """The fate of a completion that no poll returned; empty if it is not known."""
    name = session.names.of(thing)
    there = exists(session.world, thing)
    if there and added.cqe in session.world.find(thing, CompletionQueue).cqes:
        return "; its completion is not polled yet"
    if log.begins > added.event:
        return ""
    if not there:
        return f"; {name} was destroyed with its completion on it"
    return f"; its completion was removed from {name} with its queue pair, before any poll"


def _overrun(session: Session, place: CqePlace, node: str) -> SubjectOutcome:
    name = session.names.of(Thing(Noun.CQ, node, place.cq))
    return SubjectOutcome(Status.LOST, f"{name} was full when its completion came", place.event)


def _waiting(session: Session, subject: Subject, work: Send | Receive) -> SubjectOutcome:
    """Of what has no completion."""
    if work.discarded is not None:
        text = "a RESET discarded it, without a completion"
        return SubjectOutcome(Status.LOST, text, work.discarded)
    if (cqe := work.unpolled) is not None:
        kind = Status.FAILED if cqe.status else Status.COMPLETED
        text = f"it ended with {cqe.status.name}; its completion is not polled yet"
        return SubjectOutcome(kind, text)
    over = not work.on_queue and not (isinstance(work, Receive) and work.taking is not None)
    if over and work.log.begins and exists(session.world, subject.thing):
        return SubjectOutcome(Status.UNKNOWN, f"it is over, and did not end {_lately(work.log)}")
    if not exists(session.world, subject.thing):
        what = "queue" if subject.thing.noun is Noun.SRQ else "queue pair"
        return SubjectOutcome(Status.LOST, f"its {what} was destroyed")
    if isinstance(work, Receive) and work.taking is not None:
        return SubjectOutcome(Status.PENDING, "a message is using it", event_of(work.taking))
    return SubjectOutcome(Status.PENDING, "it has no completion", work.posted)


# --------------------------------------------------------------------------- the others
def _call(session: Session, subject: Subject, log: Log) -> SubjectOutcome:
    calls = [call for call in log.refused() if call.event == subject.event]
    if not calls:
        return SubjectOutcome(Status.UNKNOWN, "the log does not have this call")
    call = calls[-1]
    text = f"{call.verb} returned {errno_name(call.errno)}: {call.call_text(session)}"
    return SubjectOutcome(Status.REFUSED, text, call.event, rule=call.refusal)


def _program(session: Session, subject: Subject, log: Log) -> SubjectOutcome:
    if not exists(session.world, subject.thing):
        return SubjectOutcome(Status.UNKNOWN, "the program no longer exists")
    program = session.world.find(subject.thing, Program)
    line = f"in line {program.line.number}: {program.line.text}"
    if program.state is ProgramState.DONE:
        return SubjectOutcome(Status.WELL, "it is done")
    if program.state is ProgramState.FAILED:
        name = session.names.of(subject.thing)
        rules = [call.refusal for call in log.refused()[-_NEWEST:] if call.program == name]
        rule = rules[-1] if rules else ""
        return SubjectOutcome(Status.REFUSED, f"it failed {line}: {program.why}", rule=rule)
    what = "waits" if program.state is ProgramState.WAITING else "is"
    if gone := [session.names.of(thing) for thing in gone_in(session, program.line.invocation)]:
        text = f"it {what} {line}; {fmt.listed(gone, _SHOWN)} was destroyed"
        return SubjectOutcome(Status.NEVER, text)
    return SubjectOutcome(Status.PENDING, f"it {what} {line}")


def _cq(session: Session, subject: Subject, log: Log) -> SubjectOutcome:
    if not exists(session.world, subject.thing):
        return SubjectOutcome(Status.LOST, "it was destroyed")
    cq = session.world.find(subject.thing, CompletionQueue)
    lost = log.about(Kind.CQ_OVERRUN, subject.thing)
    if lost:
        return SubjectOutcome(Status.LOST, "it was full when completions came", event_of(lost[0]))
    unread = f"; {fmt.count(cq.unacked, 'event')} of it unacknowledged" if cq.unacked else ""
    if cq.cqes:
        many = fmt.count(len(cq.cqes), "completion")
        failed = sum(cqe.status is not WCStatus.SUCCESS for cqe in cq.cqes)
        status = Status.FAILED if failed else Status.COMPLETED
        text = f"{many} on it, {failed} with an error" if failed else f"{many} on it"
        return SubjectOutcome(status, f"{text}{unread}")
    return SubjectOutcome(Status.PENDING, f"no completion is on it{unread}")


def _qp(session: Session, subject: Subject, log: Log) -> SubjectOutcome:
    del log
    if not exists(session.world, subject.thing):
        return SubjectOutcome(Status.LOST, "it was destroyed")
    qp = session.world.find(subject.thing, QueuePair)
    text, row = f"it is in {qp.state.name}", qp.state_row
    if not row.flushes_sends:
        return SubjectOutcome(Status.WELL, text)
    what = "work requests" if row.flushes_recvs else "send requests"
    return SubjectOutcome(Status.FAILED, f"{text}, where {what} are flushed")


def _bytes(session: Session, subject: Subject, log: Log) -> SubjectOutcome:
    if not exists(session.world, subject.thing):
        return SubjectOutcome(Status.LOST, "its region was destroyed")
    mr, node = session.world.find(subject.thing, MemoryRegion), subject.thing.node
    start, stop = mr.addr + subject.start, mr.addr + subject.stop
    for record in reversed(log.of(Kind.MEMORY_WRITTEN, node)):
        address, length = address_of(record), length_of(record)
        if address < stop and start < address + length:
            text = _written_by(session, log, record, (start, stop - start))
            return SubjectOutcome(Status.WELL, text, event_of(record))
    if log.begins:
        return SubjectOutcome(Status.UNKNOWN, f"no message was written there {_lately(log)}")
    return SubjectOutcome(Status.NEVER, "no message was ever written there")


def _written_by(session: Session, log: Log, record: Record, asked: Piece) -> str:
    """The request that wrote bytes, and which, where that is not what is asked about."""
    message, where = (
        arrived_with(log, record),
        words_for(session, node_of(record), piece_of(record)),
    )
    if message is None or where is None:
        return "a message has written these bytes"
    request = f"{name_of(session.names, message.subject)} {message.wqe.wr.opcode.name}"
    is_same = piece_of(record) == asked
    return f"{request} wrote {'these bytes' if is_same else f'{where}, these bytes among them'}"


def _object(session: Session, subject: Subject, log: Log) -> SubjectOutcome:
    """The use of an object without work of its own."""
    thing = subject.thing
    if not exists(session.world, thing):
        return SubjectOutcome(Status.WELL, "it was destroyed", log.destroyed(thing))
    users = [session.names.of(user) for user, _ in users_of(session.world, thing)]
    text = f"it is used by {fmt.listed(users, _SHOWN)}" if users else "no object uses it"
    return SubjectOutcome(Status.WELL, text, log.created(thing))


_OF = {Sort.SEND: _send, Sort.RECV: _receive, Sort.CALL: _call, Sort.PROGRAM: _program,
       Sort.CQ: _cq, Sort.QP: _qp, Sort.BYTES: _bytes, Sort.OBJECT: _object}  # fmt: skip
