"""Reports while programs still run: why something failed, or will never end."""

from collections.abc import Callable
from contextlib import suppress
from errno import errorcode

from rdmalab.command import NotUnderstood, Noun, Refused
from rdmalab.compat.c.calls import Calls
from rdmalab.compat.c.connections import Connections
from rdmalab.compat.c.program import Program
from rdmalab.doctor.consultation import consult
from rdmalab.doctor.report.report import Report
from rdmalab.grammar.expressions import parse_expression
from rdmalab.hca.wr import Cqe
from rdmalab.shell.show_why import answer_lines
from rdmalab.shell.styled_text import text_of
from rdmalab.spec import records as rec
from rdmalab.spec.records import Kind
from rdmalab.spec.statuses import WCStatus
from rdmalab.views import fmt

_WIDTH = 100
_MOST_QUESTIONS = 4

Tell = Callable[[str], None]


class Trouble:
    """Reports each kind of trouble once. found: something was wrong; stuck: all programs hang."""

    def __init__(self, calls: Calls, hosts: Connections, tell: Tell) -> None:
        self.calls = calls
        self.hosts = hosts
        self.tell = tell
        self.found = False
        self.stuck = False

    def begin_again(self) -> None:
        """Another program has come: what fails from now on is reported too."""
        self.found = self.stuck = False
        self.hosts.refused.clear()

    def why(self, question: str = "") -> tuple[str, Report]:
        """The answer of `why` as text, and as it is; NotUnderstood as of `why`.

        Below it the line of the source of each event in it that a call of a program has caused.
        """
        asked = parse_expression(question).node if question else None
        report = consult(self.calls.session, asked)
        lines = list(map(text_of, answer_lines(report, _WIDTH)))
        return "\n".join([*lines, *self._sources(report)]), report

    def _sources(self, report: Report) -> list[str]:
        events = sorted({row.event for row in report.rows if row.event in self.calls.callers})
        found = [(event, self.calls.callers[event].line) for event in events]
        return [f"     {fmt.ev(event)}: {line}" for event, line in found if line]

    def polled(self, program: Program, node: str, cqe: Cqe) -> None:
        """A program has got this completion: the first one with an error is explained."""
        if self.found or cqe.status in (WCStatus.SUCCESS, WCStatus.WR_FLUSH_ERR):
            return
        self.found = True
        qp = self.calls.names.get((node, Noun.QP, cqe.qp_num))
        side = "wr" if cqe.is_send else "recv_wr"
        self.tell(f"rdmalab: {program.name} on {node} has polled {cqe.status.name}")
        self._asked(f"{qp}.{side}[{cqe.wr_id}]" if qp is not None else "")
        if line := self._posted_at(node, cqe):
            self.tell(f"     posted at {line}")

    def _posted_at(self, node: str, cqe: Cqe) -> str:
        """The source line of the post of what has completed; empty if it is not known."""
        kind = Kind.SEND_POSTED if cqe.is_send else Kind.RECV_POSTED
        wqe_of = rec.send_wqe_of if cqe.is_send else rec.recv_wqe_of
        for record in reversed(self.calls.world.trace.records):
            about = rec.kind_of(record), rec.node_of(record), rec.object_of(record)
            if about == (kind, node, cqe.qp_num) and wqe_of(record).serial == cqe.serial:
                caller = self.calls.callers.get(rec.event_of(record))
                return caller.line if caller is not None else ""
        return ""

    def hangs(self, sentence: str) -> None:
        """Nothing will come of the waiting of all programs."""
        if self.stuck:
            return
        self.stuck = self.found = True
        self.tell(f"rdmalab: {sentence}")
        for program in self.calls.programs:
            at = [f"listens at {address}" for address in self.hosts.listening(program)]
            text = ", ".join([_waits(program), *at])
            self.tell(f"  {program.name} on {program.node or 'A and B'}: {text}")
        for refused in self.hosts.refused:
            self.tell(f"  {refused}")
        self._keep_waits()
        text, report = self.why()
        if report.is_trouble:
            self.tell(text)
            return
        for question in self._unanswered()[:_MOST_QUESTIONS]:
            self._asked(question)

    def _keep_waits(self) -> None:
        """Calls that block become commands of the lab once it is known that they never end."""
        for program in self.calls.programs:
            for word, what in program.blocks.values():
                if word not in self.calls.session.vocabulary:
                    continue  # rdma_get_cm_event: the hosts', not the adapters'
                with suppress(Refused):
                    self.calls.perform(word, **{self.calls.objects.subject(word): what})

    def _asked(self, question: str) -> None:
        try:
            text, _ = self.why(question)
        except NotUnderstood as error:
            text = error.message
        self.tell(f"why {question}".rstrip() + f"\n{text}")

    def _unanswered(self) -> list[str]:
        """The newest request of each queue pair that would complete on a queue that is polled."""
        found = []
        for program in self.calls.programs:
            if program.looked_at is None:
                continue
            queue = program.looked_at
            number = self.calls.find(queue).number
            for qp in self.calls.world.nodes[queue.node].qps.items.values():
                name = self.calls.names.get((queue.node, Noun.QP, qp.number))
                if name is not None and qp.send_cq == number and qp.sq.wqes:
                    found.append(f"{name}.wr[{list(qp.sq.wqes.values())[-1].wr.wr_id}]")
                elif name is not None and qp.recv_cq == number:
                    found.append(str(name))
            found.append(str(queue))
        return found


def _waits(program: Program) -> str:
    found = ["blocks in {} of {}".format(*each) for each in program.blocks.values()]
    if program.refusals > 1:
        word, error = program.refused
        found.append(
            f"{word} was refused {program.refusals:,} times in a row ({errorcode.get(error)})"
        )
    elif program.empty_polls:
        found.append(f"polls {program.looked_at}")
    return ", ".join(found) or "sleeps, and not in the lab"
