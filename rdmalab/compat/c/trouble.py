"""Reports while programs still run: why something failed, or will never end."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from shutil import get_terminal_size
from typing import NamedTuple

from rdmalab.command import NotUnderstood, Noun, Ref, Refused
from rdmalab.compat.c.calls import Calls
from rdmalab.compat.c.connections import Connections
from rdmalab.compat.c.program import DESTROYS_ID, GETS_ASYNC_EVENT, GETS_CM_EVENT, Program
from rdmalab.doctor.case import Log
from rdmalab.doctor.consultation import consult
from rdmalab.doctor.diagnosis.examination import for_program
from rdmalab.doctor.report.report import Report
from rdmalab.grammar.expressions import parse_expression
from rdmalab.hca.qp import QueuePair
from rdmalab.hca.wr import Cqe
from rdmalab.shell.show_why import answer_lines
from rdmalab.shell.styled_text import text_of
from rdmalab.spec import records as rec
from rdmalab.spec.records import Kind
from rdmalab.spec.rules import errno_name
from rdmalab.spec.states import QPState
from rdmalab.spec.statuses import WCStatus
from rdmalab.views import fmt
from rdmalab.world.relations import exists

_WIDEST = 100  # columns of a report; where none limits them, all of these
_UNACKED = "has read an event of this id, and not called rdma_ack_cm_event"
_MOST_QUESTIONS = 4
_MOST_RECORDS = 10_000  # of the log, in which the last call of a program is sought

Tell = Callable[[str], None]
Root = tuple[str, str]
"""The slug of a cause, and what it is of."""


class Leaving(NamedTuple):
    """The end of a program.

    sentence: its last refused call, its last poll in vain, or its last call. text: why, in the
    words of `why`; empty: not known. is_refusal: the sentence is on a refused call. root: the cause
    that the text names; None: none.
    """

    sentence: str
    text: str = ""
    is_refusal: bool = False
    root: Root | None = None


class Trouble:
    """Reports each kind of trouble once. found: something was wrong; stuck: all programs hang.

    hang: how they hang, in one sentence. is_idle: they only wait for clients, and all clients have
    ended well. failed: sentences on programs that have ended with another code than 0 and had no
    call refused.
    """

    def __init__(self, calls: Calls, hosts: Connections, tell: Tell) -> None:
        self.calls = calls
        self.hosts = hosts
        self.tell = tell
        self.margin = 0  # columns that a face needs beside a report
        self.found = False
        self.stuck = False
        self.hang = ""
        self.is_idle = False
        self.failed: list[str] = []
        self._left: dict[int, Leaving] = {}  # by process, in the order of leaving
        self._flushed: dict[int, tuple[str, Cqe]] = {}  # by process: the first it has polled
        self._reported: set[Root | None] = set()  # root causes
        self._codes: set[int] = set()  # of those that have ended

    def begin_again(self) -> None:
        """Another program has come: what fails from now on is reported too."""
        self.found, self.stuck, self.is_idle, self.hang = False, False, False, ""
        self.failed, self._left, self._flushed = [], {}, {}
        self._reported, self._codes = set(), set()
        self.calls.session.unanswered, self.calls.session.outside = [], []
        self.hosts.refused.clear()

    def why(self, question: str = "") -> tuple[str, Report]:
        """The answer of `why` as text, and as it is; NotUnderstood as of `why`.

        Below it the line of the source of each event in it that a call of a program has caused.
        """
        asked = parse_expression(question).node if question else None
        report = for_program(self.calls.session, consult(self.calls.session, asked))
        width = min(_WIDEST, get_terminal_size((_WIDEST, 24)).columns - self.margin)
        lines = list(map(text_of, answer_lines(report, width)))
        return "\n".join([*lines, *self._sources(report)]), report

    def _sources(self, report: Report) -> list[str]:
        events = sorted({row.event for row in report.rows if row.event in self.calls.callers})
        found = [(event, self.calls.callers[event].line) for event in events]
        return [f"     {fmt.ev(event)}: {line}" for event, line in found if line]

    def polled(self, program: Program, node: str, cqe: Cqe) -> None:
        """A program has got this completion: the first one with an error is explained.

        One that was flushed only if the program then ends, for others name the error.
        """
        if cqe.status is WCStatus.WR_FLUSH_ERR:
            self._flushed.setdefault(program.pid, (node, cqe))
        if self.found or cqe.status in (WCStatus.SUCCESS, WCStatus.WR_FLUSH_ERR):
            return
        self.found = True
        self.tell(f"rdmalab: {program.name} on {node} has polled {cqe.status.name}")
        self._asked(self._question(node, cqe))
        caller = self.calls.callers.get(self._posted(node, cqe)[0])
        if caller is not None and caller.line:
            self.tell(f"     posted at {caller.line}")

    def _question(self, node: str, cqe: Cqe) -> str:
        """The question of `why` about what has completed; empty if its queue pair was destroyed.

        Programs give all their requests the same wr_id, by which `why` explains the newest one.
        """
        qp = self.calls.names.get((node, Noun.QP, cqe.qp_num))
        if qp is None or not self._posted(node, cqe)[1]:
            return str(qp or "")
        return fmt.work_name(str(qp), cqe.wr_id, is_send=cqe.is_send)

    def _posted(self, node: str, cqe: Cqe) -> tuple[int, bool]:
        """The event of the post of what has completed; whether no later one has its wr_id.

        The event is -1 for a receive of a shared queue, and where the log has it no more.
        """
        kind = Kind.SEND_POSTED if cqe.is_send else Kind.RECV_POSTED
        wqe_of = rec.send_wqe_of if cqe.is_send else rec.recv_wqe_of
        is_newest = True
        for record in reversed(self.calls.world.trace.records):
            about = rec.kind_of(record), rec.node_of(record), rec.object_of(record)
            if about != (kind, node, cqe.qp_num):
                continue
            wqe = wqe_of(record)
            if wqe.serial == cqe.serial:
                return rec.event_of(record), is_newest
            is_newest = is_newest and wqe.wr.wr_id != cqe.wr_id
        return -1, is_newest

    def leaves(self, program: Program) -> None:
        """Keep how a program leaves, and why, before its objects go.

        Where other trouble was reported before, `why` alone would answer about that.
        """
        if self.stuck:
            return
        last = Leaving(next(self._last(program), ""))
        whys = (self._refusal, self._poll_in_vain, self._flush)
        found = (leaving for look in whys if (leaving := look(program)) is not None)
        self._left[program.pid] = next(found, last)

    def _refusal(self, program: Program) -> Leaving | None:
        word, error = program.refused
        if not word or any(each.is_refusal for each in self._left.values()):
            return None
        name = errno_name(error)
        if program.cause and word.startswith("cm_"):
            word, text = word.replace("cm_", "rdma_"), f"  {program.cause}"
            return Leaving(f"{word} was refused with {name}", text, is_refusal=True)
        with suppress(NotUnderstood):  # no call of an adapter was refused so
            text, report = self.why(name if self.found else "")
            if report.is_trouble:
                return Leaving(f"{word} was refused with {name}", text, is_refusal=True)
        return None

    def _poll_in_vain(self, program: Program) -> Leaving | None:
        """Of a program that takes an empty queue for a failure: its newest request is not done."""
        if not program.empty_polls:
            return None
        at = f" at {program.looked_by.line}" if program.looked_by and program.looked_by.line else ""
        question = next(self._awaited(program), str(program.looked_at))
        sentence = f"its last poll of {program.looked_at}{at} found nothing"
        text, root = self._answered(question)
        return Leaving(sentence, text, root=root)

    def _flush(self, program: Program) -> Leaving | None:
        """Of a program that has polled a flushed request: the error that flushed it."""
        if self.found or program.pid not in self._flushed:
            return None
        text, root = self._answered(self._question(*self._flushed[program.pid]))
        return Leaving(f"it has polled {WCStatus.WR_FLUSH_ERR.name}", text, root=root)

    def _awaited(self, program: Program) -> Iterator[str]:
        """The requests that would still complete on the queues that a program waits for."""
        for queue in self._waited_for(program):
            number = self.calls.find(queue).number
            for name, qp in self._users(queue):
                sends = [w for w in qp.sq.wqes.values() if w.serial >= qp.comp.serial]
                if qp.send_cq == number and (signaled := [w for w in sends if w.signaled]):
                    yield fmt.work_name(name, signaled[-1].wr.wr_id, is_send=True)
                if qp.recv_cq == number and qp.source.wqes:
                    yield fmt.work_name(name, qp.source.wqes[-1].wr.wr_id, is_send=False)

    def _users(self, cq: Ref) -> Iterator[tuple[str, QueuePair]]:
        """The queue pairs of programs that complete on a completion queue, with their names."""
        number = self.calls.find(cq).number
        for qp in self.calls.world.nodes[cq.node].qps.items.values():
            name = self.calls.names.get((cq.node, Noun.QP, qp.number))
            if name is not None and number in (qp.send_cq, qp.recv_cq):
                yield str(name), qp

    def ended(self, name: str, pid: int, code: int) -> None:
        """Report what was kept of a program, if it ends with another code than 0."""
        self._codes.add(code)
        refusals = (each for each in self._left.values() if each.is_refusal)
        left = next(refusals, None) or self._left.get(pid)  # a script leaves before its shell
        if not code or self.stuck or left is None or not left.sentence:
            return
        if not left.is_refusal:
            self.failed.append(f"{name} ended with {code}: {left.sentence}")
            if self.found:  # an error that it has polled was told
                return
        if left.is_refusal:
            self.found, self._left = True, {}
        after = " after" if left.is_refusal else ":"
        self.tell(f"rdmalab: {name} ended with {code}{after} {left.sentence}")
        if left.text:
            self._reported.add(left.root)
            self.tell(left.text)

    def hangs(self, sentence: str) -> None:
        """Nothing will come of the waiting of all programs."""
        if self.stuck:
            return
        if self._serves_only():
            self.stuck = self.is_idle = True
            self.tell("rdmalab: the clients have ended well, and no other program will connect")
            self._tell_places()
            return
        reasons = [f"{program.name} {reason}" for program in self.calls.programs
                   for reason in self._reasons(program)]  # fmt: skip
        self.stuck, self.found, self.hang = True, True, "; ".join([sentence, *reasons])
        self.tell(f"rdmalab: {sentence}")
        self._tell_places()
        for refused in self.hosts.refused:
            self.tell(f"  {refused}")
        if self._is_explained():
            return
        self._keep_waits()
        questions = self._unanswered()[:_MOST_QUESTIONS]
        self.calls.session.unanswered = [parse_expression(each).node for each in questions]
        text, report = self.why()
        if report.is_trouble and report.causes and _root(report) in self._reported:
            self.tell("  why: the cause that was reported above")
            return
        if report.is_trouble:
            self.tell(f"why {report.question}".rstrip() + f"\n{text}" if report.question else text)
            return
        for question in questions:
            self._asked(question)

    def _is_explained(self) -> bool:
        """True if rdma_cm knows the reason, or servers wait for clients, of which one has failed.

        What an adapter would say of their waits is true, and no cause: nothing is under way.
        """
        nodes, programs = self.calls.world.nodes.values(), self.calls.programs
        ready = any(qp.state is QPState.RTS for hca in nodes for qp in hca.qps.items.values())
        is_refused = bool(self.hosts.refused) and not ready
        return is_refused or any(map(self._reasons, programs)) or self._serve()

    def _serves_only(self) -> bool:
        """True if the programs are servers, and all others have ended well."""
        return self._codes == {0} and not (self.found or self.hosts.refused) and self._serve()

    def _serve(self) -> bool:
        """True if each program waits for a connection at its address, and has nothing under way."""
        return all(
            self.hosts.listening(program)
            and any(word == GETS_CM_EVENT for word, _, _ in program.all_waits)
            and not program.empty_polls
            and not self._reasons(program)
            and not self._has_sends(program)
            for program in self.calls.programs
        )

    def _has_sends(self, program: Program) -> bool:
        """True if a send of a program is not complete."""
        tables = (self.calls.world.nodes[node].qps.items for node, noun, _ in program.own
                  if noun is Noun.QP)  # fmt: skip
        return any(qp.comp.serial < qp.sq.posted for items in tables for qp in items.values())

    def overdue(self) -> None:
        """The time is over: tell where each program is. Who reads memory asks the lab nothing."""
        if not self.stuck:
            self._tell_places()

    def _tell_places(self) -> None:
        for program in self.calls.programs:
            at = [f"listens at {address}" for address in self.hosts.listening(program)]
            at += self._reasons(program)
            is_known = program.empty_polls or program.blocks or program.listens
            last = () if is_known else self._last(program)
            text = ", ".join([_waits(program), *at, *last])
            self.tell(f"  {program.name} on {program.node or 'A and B'}: {text}")

    def _reasons(self, program: Program) -> list[str]:
        """Sentences on the duties to rdma_cm that a program has left undone."""
        unacked = any(word == DESTROYS_ID for word, _, _ in program.blocks.values())
        return [*self.hosts.open_requests(program), *[_UNACKED] * unacked]

    def _last(self, program: Program) -> Iterator[str]:
        """The last call of a program, and the bytes that came last to the memory of its node."""
        calls = self.calls
        newest = list(islice(reversed(calls.world.trace.records), _MOST_RECORDS))
        for record in newest:
            caller = calls.callers.get(rec.event_of(record))
            if rec.kind_of(record) is Kind.CALLED and caller and caller.program == program.name:
                at = f" at {caller.line}" if caller.line else ""
                yield f"its last call was {rec.verb_of(record)}{at}"
                break
        for record in newest:
            if rec.kind_of(record) is Kind.MEMORY_WRITTEN and rec.node_of(record) == program.node:
                length, event = fmt.count(rec.length_of(record), "byte"), rec.event_of(record)
                names, addr = calls.session.names, rec.address_of(record)
                place = fmt.thing_at(calls.world, names, program.node, addr)
                yield f"the last {length} came to {place} at {fmt.ev(event)}"
                break

    def outside(self, program: Program, wait: str, others: Mapping[str, int]) -> None:
        """A program waits for another one in a socket, which has ended: its name, with its code."""
        if self.stuck:
            return
        self.stuck = True
        ended = " and ".join(f"{name} ended with {code}" for name, code in others.items())
        where = program.node or "A and B"
        self.hang = f"{ended}; {program.name} on {where} waits outside of the lab, {wait}"
        self.tell(f"rdmalab: {self.hang}")
        if any(others.values()):
            self.tell("  Both run on this machine: each finds the other's sockets at localhost.")

    def _keep_waits(self) -> None:
        """Calls that block become commands of the lab once it is known that they never end."""
        for program in self.calls.programs:
            for word, what, caller in program.all_waits:
                if word not in self.calls.session.vocabulary:
                    continue  # rdma_get_cm_event: the hosts', not the adapters'
                if word == GETS_ASYNC_EVENT and not program.waits_for_async_only:
                    continue  # who handles errors may wait for one without end
                self.calls.caller = caller
                with suppress(Refused):
                    self.calls.perform(word, **{self.calls.objects.subject(word): what})

    def _asked(self, question: str) -> None:
        text, root = self._answered(question)
        self._reported.add(root)
        self.tell(text)

    def _answered(self, question: str) -> tuple[str, Root | None]:
        """A question and its answer; the first cause that it names."""
        root = None
        try:
            text, report = self.why(question)
            root = _root(report)
        except NotUnderstood as error:
            text = error.message
        return f"why {question}".rstrip() + f"\n{text}", root

    def _unanswered(self) -> list[str]:
        """The newest request of each queue pair that would complete on a queue that is waited for.

        Of a program that only waits for asynchronous events its node.
        """
        found = []
        for program in self.calls.programs:
            found += [str(what) for word, what, _ in program.all_waits
                      if word == GETS_ASYNC_EVENT and program.waits_for_async_only]  # fmt: skip
        queues = {str(q): q for program in self.calls.programs for q in self._waited_for(program)}
        for queue in queues.values():
            number = self.calls.find(queue).number
            for name, qp in self._users(queue):
                if qp.send_cq == number and qp.sq.wqes:
                    wr_id = list(qp.sq.wqes.values())[-1].wr.wr_id
                    found.append(fmt.work_name(name, wr_id, is_send=True))
                elif qp.recv_cq == number:
                    found.append(name)
            found.append(str(queue))
        return found

    def _waited_for(self, program: Program) -> Iterator[Ref]:
        """The queue that it polls, and those of whose channel it waits for events.

        Of these the ones that a call has armed, if there are any: they are what it means.
        """
        log, polled = Log(self.calls.session), self.calls.session.names.find(str(program.looked_at))
        if program.looked_at is not None and polled and exists(self.calls.world, polled):
            yield program.looked_at
        for word, what, _ in program.all_waits:
            channel = self.calls.session.names.find(str(what)) if word == "get_cq_event" else None
            cqs = self.calls.world.nodes[what.node].cqs.items.values()
            own = [cq for cq in cqs if channel is not None and cq.channel == channel.number]
            armed = [cq for cq in own if log.about(Kind.CQ_ARMED, cq.thing)]
            found = (self.calls.names.get((what.node, Noun.CQ, cq.number)) for cq in armed or own)
            yield from filter(None, found)


def _root(report: Report) -> Root | None:
    """The first cause of an answer, and what it is of; None without one."""
    return next(((each.check.slug, str(each.subject)) for each in report.causes), None)


def _waits(program: Program) -> str:
    found = [f"blocks in {word} of {what}" for word, what, _ in program.blocks.values()]
    found += [f"sleeps in {call} until {word} of {what} has an event"
              for call, (word, what, _) in program.listens]  # fmt: skip
    if program.refusals > 1:
        word, error = program.refused
        found.append(
            f"{word} was refused {program.refusals:,} times in a row ({errno_name(error)})"
        )
    if program.empty_polls:
        found.append(f"polls {program.looked_at}")
    return ", ".join(found) or "sleeps, and not in the lab"
