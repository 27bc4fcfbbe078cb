"""Calls that hand over work requests: the lists of posts, the batches of builders."""

from dataclasses import field, replace
from typing import Any, NamedTuple

from rdmalab.command import CallArguments, Invocation, NotUnderstood, Noun, Refused, Thing
from rdmalab.doctor.evidence.log import Call, Log
from rdmalab.doctor.evidence.subject import Sort, Subject
from rdmalab.grammar.format import render
from rdmalab.hca.extended import ABORTED, DROPPED, POSTED, UNOPENED
from rdmalab.hca.qp import QueuePair, SharedReceiveQueue
from rdmalab.hca.wr import SGE, RecvWR, SendWR
from rdmalab.session.names import Names
from rdmalab.session.session import Session
from rdmalab.spec import records as rec
from rdmalab.spec.builders import DATA_SETTERS
from rdmalab.spec.records import Kind, Record
from rdmalab.spec.row import dataclass
from rdmalab.views import fmt
from rdmalab.world.relations import find_qp
from rdmalab.world.world import World

POSTS_OF = {"post_send": Kind.SEND_POSTED, "post_recv": Kind.RECV_POSTED,
            "post_srq_recv": Kind.SRQ_POSTED}  # fmt: skip
SENDING = ("post_send", "bind_mw", "wr_complete")
RECEIVING = ("post_recv", "post_srq_recv")
# Not for a value in the request: each one after the bad_wr would have been refused, too.
OF_THE_QUEUE = ("send-state", "recv-state", "queue-full", "recv-shared", "srq-error")


@dataclass(slots=True)
class Attempt:
    """A refused call that hands over work requests.

    wrs: each as it was given, key → value. posted: how many of them are on the queue all the same;
    the one after them is the bad_wr.
    """

    call: Call
    wrs: list[CallArguments]
    posted: int

    @property
    def left(self) -> list[CallArguments]:
        """The bad_wr, and all after it."""
        return self.wrs[self.posted :]

    @property
    def left_ids(self) -> list[int]:
        """The wr_ids of these."""
        return list(map(id_of, self.left))

    def is_bad(self, wr_id: int) -> bool:
        """Whether this one is what the call was refused for."""
        return wr_id in self.left_ids[:1]


def id_of(wr: CallArguments) -> int:
    """The given wr_id; 0 if none was given."""
    return int(wr.get("wr_id", 0))


def attempt(log: Log, call: Call) -> Attempt | None:
    """The work requests of a refused post; None for other calls, or without its arguments."""
    kind = POSTS_OF.get(call.verb)
    if kind is None or call.invocation is None or not call.refusal:
        return None
    wrs = call.invocation.arguments.get("wr")
    records = (r for r in log.within(call.event) if rec.kind_of(r) is kind)
    return Attempt(call, list(wrs or []), sum(rec.place_of(r) == call.thing for r in records))


def not_posted(log: Log, call: Call) -> list[Subject]:
    """The work requests that a refused call was to post and did not, each on the queue it is for:
    a receive on the SRQ of its queue pair.
    """
    thing = Thing(Noun.SRQ if call.verb == "post_srq_recv" else Noun.QP, *call.thing)
    qp = find_qp(log.session.world, *call.thing) if call.refusal == "recv-shared" else None
    if qp is not None and qp.srq:
        thing = Thing(Noun.SRQ, qp.node, qp.srq)
    sort = Sort.SEND if call.verb in SENDING else Sort.RECV
    tried, batch = attempt(log, call), closed_by(log, call)
    ids = tried.left_ids if tried is not None else []
    ids += [built.wr.wr_id for built in batch.built] if batch is not None else []
    return [Subject(sort, thing, wr_id=wr_id) for wr_id in ids]


def unlinked(log: Log, event: int) -> list[int]:
    """The wr_ids that the call of an event names after a request whose next is NULL."""
    call, _ = log.asked(event)
    wrs = call.arguments.get("wr", []) if call is not None and call.name in POSTS_OF else []
    ends = (number for number, wr in enumerate(wrs, 1) if not wr.get("next", True))
    return list(map(id_of, wrs[next(ends, len(wrs)) :]))


def requests(call: Call) -> list[CallArguments]:
    """The fields of the work requests that a call names; empty for calls of a builder."""
    return list(call.invocation.arguments.get("wr") or []) if call.invocation is not None else []


def names_target(call: Call, names: Names, qp: QueuePair) -> bool:
    """Whether a call was to send datagrams to a queue pair of another node, or of a name there."""
    wrs = requests(call)
    targets = [wr.get("remote_qpn") for wr in wrs] if call.verb == "post_send" else []
    return any(names.find(str(each)) == qp.thing
               or (each == qp.number and call.thing[0] != qp.node) for each in targets)  # fmt: skip


def latest_attempt(log: Log, subject: Subject) -> Attempt | None:
    """The newest refused call that a work request, which is on no queue, was handed over in."""
    if subject.serial >= 0 or subject.sort not in (Sort.SEND, Sort.RECV):
        return None
    verbs = SENDING if subject.sort is Sort.SEND else RECEIVING
    for call in reversed(log.refused()):
        if call.thing == subject.thing[1:] and call.verb in verbs and _is_queue(call, subject):
            found = attempt(log, call)
            if found is not None and subject.wr_id in found.left_ids:
                return found
    return None


def _is_queue(call: Call, subject: Subject) -> bool:
    """Whether the call is for this kind of queue: a QP and an SRQ may have the same number."""
    return (call.verb == "post_srq_recv") is (subject.thing.noun is Noun.SRQ)


def of_call(log: Log, call: Call | None) -> Attempt | None:
    """The work requests that a call handed over."""
    return attempt(log, call) if call is not None else None


def queue_of(world: World, call: Call | None) -> QueuePair | SharedReceiveQueue | None:
    """The queue pair, or the SRQ, that a call wanted to post to."""
    if call is None or call.verb not in (*SENDING, *RECEIVING):
        return None
    node, number = call.thing
    if call.verb != "post_srq_recv":
        return find_qp(world, node, number)
    return world.nodes[node].srqs.items.get(number) if node in world.nodes else None


def corrected_call(session: Session, attempt_: Attempt, wrs: list[CallArguments]) -> str:
    """The call once more, with these work requests."""
    call = attempt_.call
    assert call.invocation is not None
    arguments = {**call.invocation.arguments, "wr": wrs}
    arguments.pop("bad_wr", None)
    return render(Invocation(call.verb, arguments), session.vocabulary[call.verb])


def posted_text(attempt_: Attempt) -> str:
    """`1 of 3 work requests was posted; wr 22 was not`."""
    many, was = len(attempt_.wrs), "was" if attempt_.posted == 1 else "were"
    names = " ".join(map(fmt.wr, attempt_.left_ids))
    if many == 1:
        return f"{names} was not posted"
    return f"{attempt_.posted} of {many} {was} posted, not {names}"


def bound(session: Session, attempt_: Attempt, wrs: list[CallArguments]) -> list[Any]:
    """The work requests as the device gets them; [] where a name in them no longer exists."""
    command = session.vocabulary[attempt_.call.verb]
    kind = next(p.kind for p in command.parameters if p.name == "wr")
    try:
        return list(session.binder.value(kind, wrs))
    except (NotUnderstood, Refused):
        return []


def differences(one: SendWR | RecvWR, other: SendWR | RecvWR) -> int:
    """In how many of opcode, buffers and target two work requests differ."""
    return sum(a != b for a, b in zip(_request(one), _request(other), strict=True))


def _request(wr: SendWR | RecvWR) -> tuple[object, object, object]:
    """Opcode, buffers and target of a work request; of a receive its buffers alone.

    Elements of a send that adjoin in one region are one buffer.
    """
    if isinstance(wr, RecvWR):
        return None, wr.sg, None
    sg = list[SGE]()
    for sge in wr.sg:
        last = sg[-1] if sg else None
        if last is not None and (last.addr + last.length, last.lkey) == (sge.addr, sge.lkey):
            sg[-1] = replace(last, length=last.length + sge.length)
        else:
            sg.append(sge)
    return wr.opcode, sg, (wr.remote_addr, wr.rkey, wr.ah, wr.remote_qpn, wr.remote_qkey)


_KINDS = (Kind.REGION_OPENED, Kind.WR_BUILT, Kind.WR_FILLED, Kind.BATCH_FAILED, Kind.REGION_CLOSED)


class Setting(NamedTuple):
    """A setter that filled a work request: which, and in which event."""

    verb: str
    event: int


@dataclass(slots=True)
class Building:
    """A work request that was built. wr: with the values of its setters; event, flags: of its
    builder."""

    wr: SendWR
    event: int
    flags: int = 0
    setters: list[Setting] = field(default_factory=list)

    @property
    def data_setter(self) -> Setting | None:
        """The setter of the data; None if there is none."""
        return next((each for each in self.setters if each.verb in DATA_SETTERS), None)


@dataclass(slots=True)
class Batch:
    """One region. opened, closed: events; ending: as `extended` has it, empty while it is open.

    spoiled: the event of a function that made a mistake and could not tell.
    """

    thing: Thing
    opened: int
    built: list[Building] = field(default_factory=list)
    spoiled: int | None = None
    closed: int | None = None
    ending: str = ""

    def refusal(self, log: Log) -> Call | None:
        """The answer of wr_complete, where it dropped the batch."""
        if self.ending != DROPPED:
            return None
        return next((call for call in log.refused() if call.event == self.closed), None)

    def find(self, wr_id: int) -> Building | None:
        """The newest work request of it with this wr_id."""
        return next((each for each in reversed(self.built) if each.wr.wr_id == wr_id), None)


def batches(log: Log, thing: Thing) -> list[Batch]:
    """The regions of a queue pair whose beginning is kept, oldest first."""
    if thing.noun is not Noun.QP or not log.about(Kind.REGION_OPENED, thing):
        return []
    found: list[Batch] = []
    for each in log.in_order(_KINDS, thing):
        _take(found, each, thing)
    return found


def _take(found: list[Batch], record: Record, thing: Thing) -> None:
    """One record more, of the newest region."""
    kind, event = rec.kind_of(record), rec.event_of(record)
    if kind is Kind.REGION_OPENED:
        found.append(Batch(thing, event))
    elif not found or found[-1].closed is not None:
        return
    elif kind is Kind.WR_BUILT:
        wr = rec.send_wr_of(record)
        found[-1].built.append(Building(wr, event, int(wr.flags)))
    elif kind is Kind.WR_FILLED and found[-1].built:
        found[-1].built[-1].wr = rec.send_wr_of(record)
        found[-1].built[-1].setters.append(Setting(str(rec.setter_of(record)), event))
    elif kind is Kind.BATCH_FAILED:
        found[-1].spoiled = event
    elif kind is Kind.REGION_CLOSED and rec.ending_of(record) != UNOPENED:
        found[-1].closed, found[-1].ending = event, str(rec.ending_of(record))


def latest_batch(log: Log, subject: Subject) -> Batch | None:
    """The newest region in which a send, which is on no queue, was built and not posted.

    Of a queue pair: the region that is open, if something was built in it.
    """
    if subject.sort is Sort.QP:
        newest = batches(log, subject.thing)[-1:]
        return next((each for each in newest if each.built and each.closed is None), None)
    if subject.serial >= 0 or subject.sort is not Sort.SEND:
        return None
    for batch in reversed(batches(log, subject.thing)):
        if batch.ending != POSTED and batch.find(subject.wr_id) is not None:
            return batch
    return None


def posted_at(log: Log, thing: Thing, event: int | None, wr_id: int) -> Building | None:
    """The building of a send whose batch was posted in an event; None if it was not built."""
    closed = (each for each in batches(log, thing) if each.closed == event)
    return next((each.find(wr_id) for each in closed), None)


def given_up(log: Log, qp: Thing) -> Batch | None:
    """The newest region of a queue pair if it was aborted, and nothing was posted there since."""
    newest = [each for each in batches(log, qp)[-1:] if each.built and each.ending == ABORTED]
    posts = [rec.event_of(record) for record in log.about(Kind.SEND_POSTED, qp)[-1:]]
    return next((each for each in newest if not posts or posts[0] < each.opened), None)


def closed_by(log: Log, call: Call) -> Batch | None:
    """The region that this refused wr_complete has dropped."""
    if call.verb != "wr_complete":
        return None
    found = batches(log, Thing(Noun.QP, *call.thing))
    return next((batch for batch in found if batch.closed == call.event), None)
