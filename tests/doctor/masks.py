"""A scenario in disguise: every object has another name, and two healthy pairs work beside it.

What was asked for is taken from the journal of the scenario as it is played, so short forms and
repetitions are verbs already, and it is asked for at the same times.
"""

import dataclasses
import re
from collections.abc import Callable

from rdmalab.command import Noun
from rdmalab.doctor.report.report import Report
from rdmalab.grammar.expressions import parse_expression
from rdmalab.grammar.format import render
from rdmalab.lab import open_session
from rdmalab.scenario.expect import Expectation
from rdmalab.scenario.loader import Scenario
from rdmalab.scenario.planned_step import PlannedStep
from rdmalab.scenario.runner import Runner, judge_report
from rdmalab.session.journal import Entry
from rdmalab.session.lines import replies
from rdmalab.session.session import Session
from rdmalab.views.query_fields import PARTS
from rdmalab.vocabulary import VOCABULARY

HEALTHY = ("rc_pair max_send_wr=16", "rc_pair mtu=1024")
_TRAFFIC = (
    "post_recv {b}.{qp} wr_id={n} sg={b}.{mr}[0:64]",
    "post_recv {a}.{qp} wr_id={n} sg={a}.{mr}[64:128]",
    "post_send {a}.{qp} wr_id={n} opcode=SEND sg={a}.{mr}[0:8] flags=SIGNALED",
    "post_send {b}.{qp} wr_id={n} opcode=SEND sg={b}.{mr}[0:8] flags=SIGNALED",
    "post_send {a}.{qp} wr_id={n} opcode=RDMA_READ sg={a}.{mr}[0:8] remote={b}.{mr}[0] "
    "flags=SIGNALED",
)
_TRAFFIC_NS = 20_000
_PATH = re.compile(r"\b([A-Za-z]\w*)\.([A-Za-z_]\w*)")


class Mask:
    """New names for everything; node names, too, in the opposite order of the alphabet."""

    def __init__(self, nodes: list[str], *, hosts: bool = True) -> None:
        self.nodes = dict(zip(nodes, "ZYXWV" if hosts else nodes, strict=False))

    def line(self, text: str) -> str:
        """The same, about things with other names."""
        text = _PATH.sub(self._path, text)
        for old, new in self.nodes.items():
            text = re.sub(rf"(?<![\w.\"]){old}(?=->|[\s,;}}]|$)|(?<=->){old}\b", new, text)
        return text

    def _path(self, found: re.Match[str]) -> str:
        node, name = found.groups()
        if node not in self.nodes:
            return found[0]
        return f"{self.nodes[node]}.{name if name in PARTS else self.name(name)}"

    def name(self, name: str) -> str:
        """`qp0` → `n0pq`."""
        return f"n{name[::-1]}"


def disguised(scenario: Scenario) -> tuple[Session, Mask]:
    """The world at the end of the scenario, in disguise, with the healthy pairs in it."""
    runner, setup = _played(scenario)
    mask = Mask(list(scenario.document.nodes))
    profiles = {mask.nodes[name]: hca.profile for name, hca in runner.session.world.nodes.items()}
    session = open_session(profiles, seed=scenario.document.seed)
    late_ns = 0
    for number, entry in enumerate([*runner.session.journal, None]):
        if number == setup:
            late_ns = _add_healthy(session)
        if entry is not None:
            _repeat(session, entry, mask, late_ns)
    _run_to(session, runner.session.world.now_ns + late_ns)
    return session, mask


def together(first: Scenario, second: Scenario) -> Session:
    """One world in which both came about, the second behind the first, on things of its own."""
    session = _played(first)[0].session
    runner = _played(second)[0]
    mask, late_ns = Mask(list(second.document.nodes), hosts=False), session.world.now_ns
    for entry in runner.session.journal:
        _repeat(session, entry, mask, late_ns)
    _run_to(session, runner.session.world.now_ns + late_ns)
    return session


def _played(scenario: Scenario) -> tuple[Runner, int]:
    """Played to its question; and how many lines were asked for in the setup."""
    runner, setup = Runner(scenario, open_session), None
    while (step := runner.coming) is not None and step.step.why is None:
        starts = not step.is_setup or step.line.startswith("program ")
        if starts and setup is None:
            setup = len(runner.session.journal)
        runner.next_step()
    return runner, setup or 0


def _run_to(session: Session, at_ns: int) -> None:
    while session.history.run(1_000, at_ns) == 1_000:
        pass
    session.history.advance(at_ns)


def _repeat(session: Session, entry: Entry, mask: Mask, late_ns: int) -> None:
    _run_to(session, entry.at_ns + late_ns)
    command = VOCABULARY[entry.invocation.name]
    line = mask.line(render(entry.invocation, command))
    for reply in replies(session, line, file=True):
        assert reply.error is None, (line, reply.error)


def _add_healthy(session: Session) -> int:
    """Two pairs on the first two nodes, whose messages have come; how long that took, in ns.

    The scenario goes on so much later: its own packets never wait behind theirs.
    """
    before_ns = session.world.now_ns
    for each in HEALTHY:
        _well(session, f"use {each}")
        a, b = list(session.world.nodes)[:2]
        qp, mr = (session.names.all(noun)[-1].partition(".")[2] for noun in (Noun.QP, Noun.MR))
        for number, line in enumerate(_TRAFFIC, 700):
            _well(session, line.format(a=a, b=b, qp=qp, mr=mr, n=number))
    _run_to(session, before_ns + _TRAFFIC_NS)
    return _TRAFFIC_NS


def _well(session: Session, line: str) -> None:
    for reply in replies(session, line, file=True):
        assert not reply.failed, (line, reply.error or reply.refusal)


def asked(scenario: Scenario) -> list[PlannedStep]:
    """The questions of a scenario."""
    return [step for step in scenario.steps if step.step.why is not None]


def judge(session: Session, step: PlannedStep, mask: Callable[[str], str]) -> Report:
    """Ask the same of the disguised world; Stop if the answer is another one."""
    (reply,) = replies(session, mask(step.line), file=True)
    assert reply.error is None, reply.error
    goal = tuple(
        dataclasses.replace(placed, expectation=_masked(placed.expectation, mask))
        for placed in step.goal
    )
    judge_report(session, dataclasses.replace(step, goal=goal), reply.value)
    report: Report = reply.value
    return report


def _masked(expectation: Expectation, mask: Callable[[str], str]) -> Expectation:
    text = mask(expectation.text)
    return Expectation(text, parse_expression(text))
