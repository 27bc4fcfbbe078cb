"""Threads that wait at rest: what they look at, and which threads were to provide it."""

from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from typing import NamedTuple

from rdmalab.command import Noun, Ref, Thing
from rdmalab.doctor import named
from rdmalab.doctor.case import Case, CompletionQueue, Program, QueuePair
from rdmalab.doctor.finding import Evidence, fact
from rdmalab.doctor.outstanding import has_work_for
from rdmalab.doctor.work.attempts import RECEIVING, SENDING
from rdmalab.grammar.program import Line
from rdmalab.hca.wr import Cqe
from rdmalab.spec.programs import ProgramState
from rdmalab.spec.records import (
    Kind,
    cqe_of,
    event_of,
    kind_of,
    line_number_of,
    line_of,
)
from rdmalab.views import fmt
from rdmalab.world.programs import programs_of
from rdmalab.world.relations import find_qp, peer_of

_OVER = (ProgramState.DONE, ProgramState.FAILED)
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
        return lines_of(self.case, self.program)

    @cached_property
    def things(self) -> list[Thing]:
        """All objects that these lines name, as far as they live."""
        return things_of(self.case, self.program)

    @cached_property
    def cqs(self) -> list[Thing]:
        """The completion queues among them, or those of the channel that it waits on."""
        return cqs_of(self.case, self.program)

    @cached_property
    def qps(self) -> list[QueuePair]:
        """The queue pairs that complete on these queues, and those that its question names."""
        numbers = {(cq.node, cq.number) for cq in self.cqs}
        named = [find_qp(self.case.world, t.node, t.number)
                 for t in self.things if t.noun is Noun.QP]  # fmt: skip
        return [
            qp
            for hca in self.case.world.nodes.values()
            for qp in hca.qps.items.values()
            if qp in named or numbers & {(qp.node, qp.send_cq), (qp.node, qp.recv_cq)}
        ]

    @cached_property
    def providers(self) -> list[Program]:
        """The threads that it names, and those that would post what it waits for."""
        ends = {(q.node, q.number) for qp in self.qps for q in (qp, peer_of(self.case.world, qp))
                if q is not None}  # fmt: skip
        return [
            other
            for other in programs_of(self.case.world)
            if other is not self.program
            and (other.thing in self.things or _is_to_post(self.case, other, ends))
        ]

    @cached_property
    def feeding(self) -> list[QueuePair]:
        """Those of the queue pairs that complete on one of these queues."""
        places = {(cq.node, cq.number) for cq in self.cqs}
        return [qp for qp in self.qps if places & {(qp.node, qp.send_cq), (qp.node, qp.recv_cq)}]

    @cached_property
    def outstanding(self) -> list[QueuePair]:
        """Those of them with a send or a receive that is to complete on one of these queues."""
        return [qp for qp in self.feeding if has_work_for(qp, self.cqs)]

    @cached_property
    def taken(self) -> list[Taken]:
        """The completions taken from these queues since it was started, oldest first."""
        log, begun = self.case.log, self.case.log.created(self.thing)
        since = log.begins if begun is None else begun
        polls = log.in_order([Kind.CQE_POLLED], *self.cqs)
        found = [(event_of(r), cqe_of(r)) for r in polls if event_of(r) > since]
        return [Taken(event, cqe, log.asked(event)[1]) for event, cqe in found[-_MOST_TAKEN:]]

    @property
    def took_the_last(self) -> bool:
        """Whether it polled the last completion of its queues itself, and none is on them."""
        cqs = (self.case.world.find(cq, CompletionQueue) for cq in self.cqs)
        own = bool(self.taken) and self.taken[-1].by == self.name
        return own and not any(cq.cqes for cq in cqs)

    def own_poll(self) -> list[Evidence]:
        """`A.main itself polled wr8 in line 2: poll A.cq0`, of the last completion."""
        last = self.taken[-1]
        ran = (r for r in self.case.log.within(last.event) if kind_of(r) is Kind.PROGRAM_RAN)
        line = next((f" in line {line_number_of(r)}: {line_of(r)}" for r in ran), "")
        return [fact(f"{self.name} itself polled {fmt.wr(last.cqe.wr_id)}{line}", last.event)]

    def one_poll_each(self) -> str:
        """Advice for a thread that polls for one more completion than came."""
        many = fmt.count(sum(each.by == self.name for each in self.taken), "completion")
        line = self.program.line.number
        return f"poll once for each completion: {many} came, line {line} waits for another"

    @property
    def serves(self) -> bool:
        """Whether it waits for the next completion in a loop without end, and has taken some."""
        return 0 in self.program.loops and any(each.by == self.name for each in self.taken)

    def since(self) -> int:
        """The event in which it came to its line; the present one where that is not kept."""
        own = {line.number for line in self.lines}
        waited = self.case.log.about(Kind.PROGRAM_WAITED, self.thing)
        if self.program.state is ProgramState.WAITING and waited:
            return event_of(waited[-1])
        ran = self.case.log.about(Kind.PROGRAM_RAN, self.thing)
        here = list(takewhile(lambda each: line_number_of(each) in own, reversed(ran)))
        is_kept = here and (len(here) < len(ran) or not self.case.log.begins)
        return event_of(here[-1]) if is_kept else self.case.world.event

    def words(self) -> Evidence:
        """`A.x waits in line 1: poll A.cq0`."""
        line = self.program.line
        what = "waits" if self.program.state is ProgramState.WAITING else "polls in vain"
        return fact(f"{self.name} {what} in line {line.number}: {line.text}", self.since())


def thread_wait(case: Case) -> ThreadWait | None:
    """Of the program that is asked about, if it will not go on without another call."""
    return of_program(case, case.program) if case.program is not None else None


def of_program(case: Case, program: Program) -> ThreadWait | None:
    """What any program waits for; None where it does not wait, or goes on beside the case."""
    over = program.state in _OVER or not case.log.rests(program.thing)
    return None if over else ThreadWait(case, program)


def lines_of(case: Case, program: Program) -> list[Line]:
    """The line it is in; of one that polls at rest all lines that it repeats."""
    if program.state in (*_OVER, ProgramState.WAITING) or not case.at_rest:
        return [program.line]
    ran = case.log.about(Kind.PROGRAM_RAN, program.thing)[-_MOST_LINES:]
    numbers = {line_number_of(each) for each in ran} | {program.line.number}
    return [line for line in program.lines if line.number in numbers]


def things_of(case: Case, program: Program) -> list[Thing]:
    """The objects that these lines name, as far as they live."""
    found: dict[Thing, None] = {}
    for line in lines_of(case, program):
        things = named.things_of(case.session, line)
        found |= dict.fromkeys(t for t in things if t.noun is not Noun.NODE)
    return list(found)


def cqs_of(case: Case, program: Program) -> list[Thing]:
    """The completion queues that a thread looks at, by name or through a channel."""
    things = things_of(case, program)
    channels = {(t.node, t.number) for t in things if t.noun is Noun.CHANNEL}
    found_ = [
        cq.thing
        for hca in case.world.nodes.values()
        for cq in hca.cqs.items.values()
        if (cq.node, cq.channel) in channels
    ]
    return list(dict.fromkeys([*(t for t in things if t.noun is Noun.CQ), *found_]))


def looked_at(case: Case) -> list[Thing]:
    """The completion queues that the program asked about waits for; none for other subjects."""
    return cqs_of(case, case.program) if case.program is not None else []


def _is_to_post(case: Case, program: Program, ends: set[tuple[str, int]]) -> bool:
    """Whether a thread that is not done has still to post on one of these queue pairs."""
    for line in program.lines[program.at :] if program.state is not ProgramState.DONE else ():
        if line.invocation is None or line.invocation.name not in (*SENDING, *RECEIVING):
            continue
        for value in line.invocation.arguments.values():
            thing = case.names.find(str(value)) if isinstance(value, Ref) else None
            if thing is not None and thing.noun is Noun.QP and (thing.node, thing.number) in ends:
                return True
    return False
