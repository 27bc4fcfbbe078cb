"""Threads that wait: for completions, for events, and the threads that were to provide these."""

import re
from functools import cached_property
from itertools import takewhile
from typing import NamedTuple

from rdmalab.command import Noun, Thing
from rdmalab.doctor.case import Case, CompletionQueue, Program, QueuePair, Receive, Sort, Subject
from rdmalab.doctor.evidence import components
from rdmalab.doctor.evidence.finding import Evidence, fact
from rdmalab.doctor.evidence.host_reads import watched
from rdmalab.doctor.evidence.posting_calls import SENDING, unlinked
from rdmalab.doctor.evidence.work_of_queues import has_work_for, is_one_sided, subject_of_cqe
from rdmalab.doctor.facts.lines_to_run import is_to_post, is_to_write
from rdmalab.doctor.moments.future import goes_on
from rdmalab.grammar.program import Line
from rdmalab.grammar.trees import render
from rdmalab.hca import channels
from rdmalab.hca.qp import SharedReceiveQueue
from rdmalab.hca.wr import Cqe, SendWqe
from rdmalab.spec import records as rec
from rdmalab.spec.completions import Arm
from rdmalab.spec.programs import ProgramState
from rdmalab.spec.records import Kind
from rdmalab.spec.row import dataclass
from rdmalab.spec.statuses import WCStatus
from rdmalab.views import fmt
from rdmalab.views.record_text import ARMS
from rdmalab.world.programs import programs_of
from rdmalab.world.relations import peer_of

_POSTS = (Kind.SEND_POSTED, Kind.RECV_POSTED, Kind.SRQ_POSTED)
_WR_ID = re.compile(r"\bwr_id ?==? ?(\d+)")
_COUNT = re.compile(r"\.total(?:\([^)]*\))? (?:==|>=) (\d+)")
_OF_MESSAGE = re.compile(r"\b(?:imm_data|byte_len|src_qp|RECV\w*)\b")
_MOST_TAKEN = 64  # of the newest completions
_MOST_LINES = 16  # of a thread that repeats lines, the newest that it ran


class Taken(NamedTuple):
    """A completion that a poll returned: in which event, and to which program."""

    event: int
    cqe: Cqe
    by: str


@dataclass
class ThreadWait:
    """A thread that does not go on. lines: the line it waits in, or those that it repeats."""

    case: Case
    program: Program

    @property
    def thing(self) -> Thing:
        return self.program.thing

    @property
    def name(self) -> str:
        return self.case.names.of(self.thing)

    @cached_property
    def lines(self) -> list[Line]:
        """The line it waits in; of one that polls at rest all lines that it repeats."""
        case, program = self.case, self.program
        if (program.state.is_over or program.state is ProgramState.WAITING) or not case.at_rest:
            return [program.line]
        ran = case.log.about(Kind.PROGRAM_RAN, program.thing)[-_MOST_LINES:]
        numbers = {rec.line_number_of(each) for each in ran} | {program.line.number}
        return [line for line in program.lines if line.number in numbers]

    @cached_property
    def spin(self) -> Line | None:
        """The look of a loop that does nothing but look at bytes at rest until it stops."""
        looks = [line for line in self.lines if line.question is not None]
        if self.program.state is ProgramState.WAITING or not self.case.at_rest or len(looks) != 1:
            return None
        look, alone = looks[0], not any(line.invocation for line in self.lines)
        body = self.program.lines[look.number : look.jump] if look.word == "if" and alone else []
        stops = any(line.word == "stop" for line in body)
        return look if stops and watched(self.case.session, look.question) is not None else None

    @property
    def line(self) -> Line:
        """The line it waits in."""
        return self.spin or self.program.line

    @cached_property
    def things(self) -> list[Thing]:
        """All objects that these lines name, as far as they live."""
        named = (components.things_of(self.case.session, line) for line in self.lines)
        living = (thing for things in named for thing in things if thing.noun is not Noun.NODE)
        return list(dict.fromkeys(living))

    @cached_property
    def cqs(self) -> list[Thing]:
        """The completion queues among them, or those of the channel that it waits on."""
        channels = {thing[1:] for thing in self.things if thing.noun is Noun.CHANNEL}
        every = (cq for hca in self.case.world.nodes.values() for cq in hca.cqs.items.values())
        notified = [cq.thing for cq in every if (cq.node, cq.channel) in channels]
        named = (thing for thing in self.things if thing.noun is Noun.CQ)
        return list(dict.fromkeys([*named, *notified]))

    def completes(self, qp: QueuePair) -> bool:
        """Whether work of a queue pair completes on one of these queues."""
        own = {(qp.node, qp.send_cq), (qp.node, qp.recv_cq)}
        return any(cq[1:] in own for cq in self.cqs)

    @cached_property
    def qps(self) -> list[QueuePair]:
        """The queue pairs that complete on these queues, and those that its question names."""
        every = (qp for hca in self.case.world.nodes.values() for qp in hca.qps.items.values())
        return [qp for qp in every if qp.thing in self.things or self.completes(qp)]

    @cached_property
    def providers(self) -> list[Program]:
        """The threads that it names, and those that would post, or write, what it waits for."""
        own = [qp.thing for qp in self.qps]
        peers = [
            (qp, peer) for qp in self.qps if (peer := peer_of(self.case.world, qp)) is not None
        ]
        senders = [peer.thing for _, peer in peers]
        question = self.line.question
        # A receive at the peer brings only the completion of a send, which a condition may count.
        takers = [peer.thing for qp, peer in peers
                  if question is not None or qp.comp.serial < qp.sq.posted]  # fmt: skip
        piece = watched(self.case.session, question)
        others = [each for each in programs_of(self.case.world) if each is not self.program]
        return [other for other in others if other.thing in self.things
                or is_to_post(self.case, other, [*own, *takers])
                or is_to_post(self.case, other, senders, SENDING)
                or (piece and is_to_write(self.case, other, self.thing.node, piece))]  # fmt: skip

    @cached_property
    def feeding(self) -> list[QueuePair]:
        """Those of the queue pairs that complete on one of these queues."""
        return [qp for qp in self.qps if self.completes(qp)]

    @cached_property
    def outstanding(self) -> list[QueuePair]:
        """Those of them with a send or a receive that is to complete on one of these queues."""
        return [qp for qp in self.feeding if has_work_for(qp, self.cqs)]

    @cached_property
    def coming(self) -> list[Subject]:
        """The messages under way to receives that would complete on one of these queues."""
        cqs = {cq[1:] for cq in self.cqs}
        ends = (peer_of(self.case.world, qp) for qp in self.feeding if (qp.node, qp.recv_cq) in cqs)
        sent = [(peer, wqe) for peer in ends if peer is not None
                for wqe in peer.sq.wqes.values() if wqe.serial >= peer.comp.serial]  # fmt: skip
        return [Subject.of_send(peer.thing, wqe) for peer, wqe in sent
                if wqe.work is not None and wqe.work.consumes_receive]  # fmt: skip

    @property
    def shared(self) -> list[SharedReceiveQueue]:
        """The shared receive queues with receives that complete on one of these queues: XRC."""
        srqs = (srq for hca in self.case.world.nodes.values() for srq in hca.srqs.items.values())
        cqs = {cq[1:] for cq in self.cqs}
        return [srq for srq in srqs if srq.wqes and (srq.node, srq.cq) in cqs]

    @cached_property
    def taken(self) -> list[Taken]:
        """The completions taken from these queues since it was started, oldest first."""
        log, begun = self.case.log, self.case.log.created(self.thing)
        since = log.begins if begun is None else begun
        polls = log.in_order([Kind.CQE_POLLED], *self.cqs)
        found = [(rec.event_of(r), rec.cqe_of(r)) for r in polls if rec.event_of(r) > since]
        return [Taken(event, cqe, log.asked(event)[1]) for event, cqe in found[-_MOST_TAKEN:]]

    @property
    def took_the_last(self) -> bool:
        """Whether it polled the last completion of its queues itself, and none is on them."""
        cqs = (self.case.world.find(cq, CompletionQueue) for cq in self.cqs)
        own = bool(self.taken) and self.taken[-1].by == self.name
        own = own and watched(self.case.session, self.line.question) is None
        return own and not any(cq.cqes for cq in cqs)

    def own_poll(self) -> list[Evidence]:
        """`A.main itself polled wr8 in line 2: poll A.cq0`, of the last completion."""
        last = self.taken[-1]
        ran = (r for r in self.case.log.within(last.event) if rec.kind_of(r) is Kind.PROGRAM_RAN)
        line = next((f" in line {rec.line_number_of(r)}: {rec.line_of(r)}" for r in ran), "")
        return [fact(f"{self.name} itself polled {fmt.wr(last.cqe.wr_id)}{line}", last.event)]

    def one_poll_each(self) -> str:
        """Advice for a thread that polls for one more completion than came."""
        many = fmt.count(sum(each.by == self.name for each in self.taken), "completion")
        line = self.program.line.number
        return f"poll once for each completion: {many} came, line {line} waits for another"

    @property
    def unposted(self) -> list[Evidence]:
        """Evidence on a wr_id that its condition names and no request on these queues has."""
        named = [int(text) for line in self.lines if line.question is not None
                 for text in _WR_ID.findall(render(line.question))]  # fmt: skip
        log, node = self.case.log, self.thing.node
        if not named or log.begins:
            return []
        posts = [r for kind in _POSTS for r in log.of(kind, node)]
        lacking = {*named} - {rec.wqe_of(r).wr.wr_id for r in posts}
        if not lacking:
            return []
        last, what = max(reversed(self._posted), key=rec.event_of, default=None), self.posts_named
        but = f"; the last {what} posted is {fmt.wr(rec.wqe_of(last).wr.wr_id)}" if last else ""
        return [fact(f"no {what} was posted with wr_id {min(lacking)}{but}",
                     rec.event_of(last) if last else None)]  # fmt: skip

    @cached_property
    def _posted(self) -> list[rec.Record]:
        """The posts that were to complete on its queues."""
        log, cqs, found = self.case.log, {cq[1:] for cq in self.cqs}, list[rec.Record]()
        for qp in self.feeding:
            found += log.about(_POSTS[0], qp.thing) if (qp.node, qp.send_cq) in cqs else []
            if (qp.node, qp.recv_cq) in cqs:
                found += log.about(_POSTS[1], qp.thing)
                found += log.about(_POSTS[2], Thing(Noun.SRQ, qp.node, qp.srq)) if qp.srq else []
        return found

    @property
    def unlinked(self) -> list[Subject]:
        """The sends that the newest call on its queue pairs named after a next that is NULL."""
        last = ((qp.thing, r) for qp in self.feeding
                for r in self.case.log.about(Kind.SEND_POSTED, qp.thing)[-1:])  # fmt: skip
        return [Subject(Sort.SEND, thing, wr_id=wr_id) for thing, r in last
                for wr_id in unlinked(self.case.log, rec.event_of(r))]  # fmt: skip

    @property
    def posts_named(self) -> str:
        """The word for what completes on its queues: `receive`, `send`, or `request` for both."""
        sends = sum(rec.kind_of(r) is Kind.SEND_POSTED for r in self._posted)
        is_one = self._posted and sends in (0, len(self._posted))
        return ("send" if sends else "receive") if is_one else "request"

    @property
    def refuted(self) -> list[Subject]:
        """The failed work whose completion it polled last, if its condition is about that."""
        failed = [t.cqe for t in self.taken[-1:] if t.by == self.name and t.cqe.status]
        asks = failed and self.program.line.question is not None
        return [subject_of_cqe(self.thing.node, cqe) for cqe in failed] if asks else []

    @cached_property
    def expects_message(self) -> bool:
        """Whether it has posted a receive of its own, and polls for one completion without having
        polled that one: it means the message, not the sends beside it.
        """
        case, log = self.case, self.case.log
        if self.program.line.question is not None or self.program.line.word != "poll":
            return False
        posts = [(qp.thing, r) for qp in self.qps for r in log.about(_POSTS[1], qp.thing)
                 if log.asked(rec.event_of(r))[1] == self.name]  # fmt: skip
        newest = max(posts, key=lambda each: rec.event_of(each[1]), default=None)
        if newest is None:
            return False
        thing, wqe = newest[0], rec.recv_wqe_of(newest[1])
        subject = Subject(Sort.RECV, thing, wqe.serial, wqe.wr.wr_id)
        return Receive(case.session, subject, log).polled is None

    def means(self, qp: QueuePair, wqe: SendWqe) -> bool:
        """Whether the completion that it waits for may be that of a send, as far as its line says.

        Not where that send would complete elsewhere, where its condition is about other work or a
        message, where a message for it found no receive, or will not be sent, or where it serves.
        """
        if self.cqs and Thing(Noun.CQ, qp.node, qp.send_cq) not in self.cqs:
            return False
        question = self.program.line.question
        if question is not None:
            text = render(question)
            named = [int(number) for number in _WR_ID.findall(text)]
            return not _OF_MESSAGE.search(text) and (not named or wqe.wr.wr_id in named)
        polls = self.program.line.word == "poll"
        return not (self._lacks_message if polls else self._serves_messages)

    @cached_property
    def _lacks_message(self) -> bool:
        """Whether a message to its queues is on its way, has failed, or is one of a failed thread;
        or whether this very line has taken messages before, and nothing else."""
        ran = {(rec.event_of(r), rec.line_number_of(r))
               for r in self.case.log.about(Kind.PROGRAM_RAN, self.thing)}  # fmt: skip
        line = self.program.line.number
        here = [each.cqe.is_send for each in self.taken if (each.event, line) in ran]
        ends = [qp for qp in self.feeding if Thing(Noun.CQ, qp.node, qp.recv_cq) in self.cqs]
        senders = {peer.thing for qp in ends if (peer := peer_of(self.case.world, qp)) is not None}
        unmet = any(rec.status_of(r) is WCStatus.RNR_RETRY_EXC_ERR
                    and Thing(Noun.QP, *rec.place_of(r)) in senders
                    for r in self.case.log.failed_sends)  # fmt: skip
        failed = any(each.state is ProgramState.FAILED for each in self.providers)
        return bool(self.coming) or unmet or failed or (bool(here) and not any(here))

    @property
    def _serves_messages(self) -> bool:
        """Whether it serves, has polled messages and no send, and holds a receive for the next."""
        own = {each.cqe.is_send for each in self.taken if each.by == self.name}
        return self.serves and own == {False} and any(
            qp.source.wqes and (qp.node, qp.recv_cq) in {cq[1:] for cq in self.cqs}
            for qp in self.feeding)  # fmt: skip

    @cached_property
    def silent(self) -> list[Subject]:
        """The newest unsignaled send that it posted, if all of these make up for what it lacks.

        It lacks what its condition counts, or one completion more than it has polled.
        """
        log, begun = self.case.log, self.case.log.created(self.thing) or 0
        ends = [(qp, rec.send_wqe_of(r)) for qp in self.feeding
                for r in log.about(Kind.WQE_COMPLETED, qp.thing)
                if rec.event_of(r) > begun and not rec.status_of(r)]  # fmt: skip
        posts = ((qp, wqe, log.event_of(Kind.SEND_POSTED, qp.thing, wqe.serial))
                 for qp, wqe in ends if not wqe.signaled and self.means(qp, wqe))  # fmt: skip
        done = [Subject.of_send(qp.thing, wqe) for qp, wqe, event in posts
                if event is not None and log.asked(event)[1] == self.name]  # fmt: skip
        questions = (render(line.question) for line in self.lines if line.question is not None)
        counts = [int(n) for text in questions for n in _COUNT.findall(text)]
        wanted = max(counts, default=len(self.taken) + 1)
        polls = self.program.wants is None and not self.expects_message  # it sleeps in no verb
        return done[-1:] if polls and len(self.taken) + len(done) == wanted else []

    @property
    def serves(self) -> bool:
        """Whether it waits for the next request in a loop without end, and has served some.

        It has taken completions, or it sleeps in a line that it has passed before, and its loop
        sends nothing before that; or its peer has served itself, by one-sided requests. What came
        before the log begins may have been its own.
        """
        if 0 not in self.program.loops:
            return False
        cqs = [self.case.world.find(cq, CompletionQueue) for cq in self.cqs]
        older = self.case.log.begins > 0 and any(cq.total > len(cq.cqes) for cq in cqs)
        took = older or any(each.by == self.name for each in self.taken)
        return took or self._came_round or self._goes_round

    @property
    def _goes_round(self) -> bool:
        """Whether it polls without blocking in a loop that it never leaves, for a silent peer."""
        program = self.program
        blocks = program.state is ProgramState.WAITING or program.line.word == "poll"
        leaves = blocks or any(line.word == "stop" for line in program.lines)
        peers = (peer_of(self.case.world, qp) for qp in self.feeding if not leaves)
        return any(peer is not None and is_one_sided(self.case.log, peer) for peer in peers)

    @property
    def _came_round(self) -> bool:
        program, log = self.program, self.case.log
        if program.state is not ProgramState.WAITING or program.wants is not None:
            return False
        ran = log.about(Kind.PROGRAM_RAN, self.thing)
        passed = sum(rec.line_number_of(r) == program.line.number for r in ran)
        start = next(i for i, line in enumerate(program.lines) if line.word == "loop"
                     and not line.amount)  # fmt: skip
        sends = any(line.invocation is not None and line.invocation.name in SENDING
                    for line in program.lines[start : program.at])  # fmt: skip
        return not sends and (passed > 1 or log.begins > 0)

    def since(self) -> int:
        """The event in which it came to its line; the present one where that is not kept."""
        own = {line.number for line in self.lines}
        waited = self.case.log.about(Kind.PROGRAM_WAITED, self.thing)
        if self.program.state is ProgramState.WAITING and waited:
            return rec.event_of(waited[-1])
        ran = self.case.log.about(Kind.PROGRAM_RAN, self.thing)
        here = list(takewhile(lambda each: rec.line_number_of(each) in own, reversed(ran)))
        is_kept = here and (len(here) < len(ran) or not self.case.log.begins)
        return rec.event_of(here[-1]) if is_kept else self.case.world.event

    def words(self) -> Evidence:
        """`A.x waits in line 1: poll A.cq0`."""
        what = "waits" if self.program.state is ProgramState.WAITING else "polls in vain"
        place = f"line {self.line.number}: {self.line.text}"
        return fact(f"{self.name} {what} in {place}", self.since())


def waiting_on(case: Case, cq: Thing) -> list[ThreadWait]:
    """The waits of all threads that look at a completion queue."""
    every = (of_program(case, program) for program in programs_of(case.world))
    return [waits for waits in every if waits is not None and cq in waits.cqs]


def thread_wait(case: Case) -> ThreadWait | None:
    """Of the program that is asked about, if it will not go on without another call."""
    return of_program(case, case.program) if case.program is not None else None


def of_program(case: Case, program: Program) -> ThreadWait | None:
    """The wait of any program; None where it does not wait, or goes on beside the case."""
    over = program.state.is_over or not case.log.rests(program.thing)
    return None if over else ThreadWait(case, program)


def looked_at(case: Case) -> list[Thing]:
    """The completion queues that the program asked about waits for; none for other subjects."""
    return ThreadWait(case, case.program).cqs if case.program is not None else []


RULE = "cq-event-none"


@dataclass(slots=True)
class EventWaiter:
    """One of them. channel: it waits on this one; cqs: those with this channel; since: event."""

    name: str
    channel: Thing
    cqs: list[CompletionQueue]
    since: int | None


def event_waiter(case: Case) -> EventWaiter | None:
    """The program, or the call, that is asked about, if it waits in get_cq_event."""
    channel = _channel(case)
    if channel is None:
        return None
    found = case.hca.channels.items.get(channel.number)
    cqs = channels.members(case.hca, found) if found is not None else []
    if case.call is not None:
        return EventWaiter(case.call.verb, channel, cqs, case.call.event)
    since = case.log.last(Kind.PROGRAM_WAITED, case.subject.thing)
    return EventWaiter(case.names.of(case.subject.thing), channel, cqs, since)


def _channel(case: Case) -> Thing | None:
    """The channel on which no event is pending, for a call, a blocked thread, or one at rest."""
    if case.call is not None:
        return Thing(Noun.CHANNEL, *case.call.thing) if case.call.refusal == RULE else None
    program = case.program
    if program is None or program.state.is_over:
        return None
    if program.state is ProgramState.WAITING:
        wants = program.wants
        return wants[1] if wants is not None and wants[0] == RULE else None
    things = ThreadWait(case, program).things if case.at_rest else []
    return next((thing for thing in things if thing.noun is Noun.CHANNEL), None)


def read_by_other(case: Case) -> Evidence | None:
    """The last completion event of its queues, if another thread read it since it was started."""
    waiter = event_waiter(case) if case.program is not None else None
    if waiter is None:
        return None
    begun, log = case.log.created(case.subject.thing) or 0, case.log
    reads = log.in_order([Kind.CQ_EVENT_TAKEN], *(cq.thing for cq in waiter.cqs))
    event = rec.event_of(reads[-1]) if reads else -1
    if event <= begun or log.who(event) == waiter.name:
        return None
    cq = case.name(Noun.CQ, case.node, rec.object_of(reads[-1]))
    return fact(f"{log.who(event)} read the last completion event of {cq}", event)


def stays(case: Case) -> bool:
    """Whether no event comes without a new call. Runs a branch, so ask this last."""
    called = case.call is not None
    return case.at_rest or not (called or goes_on(case.session, case.subject.thing))


def wait_evidence(case: Case, waiter: EventWaiter) -> Evidence:
    """`B.rx waits on B.ch0`."""
    if case.call is not None:
        name = case.names.of(waiter.channel)
        return fact(f"{waiter.name} on {name} would block without end", waiter.since)
    return fact(f"{waiter.name} waits on {case.names.of(waiter.channel)}", waiter.since)


# --------------------------------------------------------------------------- what is in a queue
def added(case: Case, cq: CompletionQueue, cqe: Cqe) -> int | None:
    """The event in which a completion came onto a queue."""
    key = _key(cqe)
    for record in reversed(case.log.about(Kind.CQE_ADDED, cq.thing)):
        if _key(rec.cqe_of(record)) == key:
            return int(rec.event_of(record))
    return None


def _key(cqe: Cqe) -> tuple[int, int, bool, int]:
    return cqe.qp_num, cqe.serial, cqe.is_send, cqe.srq


def armed(case: Case, cq: CompletionQueue) -> int | None:
    """The event in which it was armed last."""
    return case.log.last(Kind.CQ_ARMED, cq.thing)


def polled_since(case: Case, cq: CompletionQueue, event: int) -> bool:
    """Whether a call has polled it since this event."""
    calls = case.log.calls("poll_cq", cq.node)
    return any(call.thing[1] == cq.number and call.event > event for call in calls)


def armed_words(case: Case, cq: CompletionQueue) -> Evidence:
    """The last arming of a CQ, and whether an event has disarmed it since."""
    name, event = case.names.of(cq.thing), armed(case, cq)
    if event is None:
        begins = case.log.begins
        return fact(f"{name} was {f'not armed since event {begins}' if begins else 'never armed'}")
    if cq.armed is not Arm.NONE:
        return fact(f"{name} was armed for {ARMS[cq.armed]}", event)
    spent = case.log.last(Kind.CQ_EVENT_RAISED, cq.thing) or event
    return fact(f"{name} was armed at event {event}; the event it raised disarmed it", spent)
