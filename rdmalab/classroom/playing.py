"""Play a submission: the setup of the lab, the typed lines, and the time that follows them."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from enum import Enum

from rdmalab.classroom.lab_file import LabFile
from rdmalab.classroom.rules import APPLY, NO_LINE, START, Rulebook
from rdmalab.command import NotAllowed, WrongFile
from rdmalab.doctor.moments.future import undone_trial
from rdmalab.lab import open_session
from rdmalab.scenario.planned_step import PlannedStep
from rdmalab.scenario.runner import Runner
from rdmalab.session.branch import TimePoint
from rdmalab.session.lines import Reply, replies
from rdmalab.session.run_control import RunControl
from rdmalab.session.session import RunBounds, Session
from rdmalab.spec.row import dataclass
from rdmalab.views import fmt

WAY_BACK = "back and goto undo lines"
"""Advice at a limit."""


class GradeVerdict(Enum):
    """Outcome of playing and judging a submission."""

    GRADED = "graded"
    CUT = "cut"
    UNREADABLE = "unreadable"
    FOREIGN = "foreign"
    NOT_GRADED = "not-graded"


class BrokenLab(WrongFile):
    """Raised if the setup of a lab fails: an error of the lab, not of a submission."""


@dataclass(slots=True)
class Foul:
    """A line that was skipped, and why. line: its number from 1."""

    line: int
    text: str
    why: str


@dataclass(slots=True)
class Played:
    """A finished world. cut: which limit ended the submission, empty if none."""

    lab: LabFile
    session: Session
    start: TimePoint
    fouls: list[Foul] = field(default_factory=list)
    cut: str = ""
    moves: int = 0  # commands that went to another moment
    applied: int = 0  # fixes of `why` that were run


def begun(lab: LabFile) -> Played:
    """The world as the setup leaves it, in which a run ends at the limits; raises BrokenLab."""
    runner = Runner(lab.scenario, open_session)
    runner.run()
    if not runner.ok:
        raise BrokenLab(runner.results[-1].text(lab.source.path))
    session = runner.session
    for _ in replies(session, f"checkpoint {START}", file=True):
        pass
    played = Played(lab, session, session.history.here)
    rulebook = Rulebook(lab.document.rules, session, played.start)
    session.refusal, session.shut = rulebook.refusal, rulebook.shut
    session.bounds = _bounds(lab, played.start)
    return played


def _bounds(lab: LabFile, start: TimePoint) -> RunBounds:
    limit = lab.document.rules.limits
    limits = (f"{limit.events:,} events", f"{fmt.duration(limit.time)} of virtual time")
    events, time = (
        f"stopped at the limit of this lab: {each} after the setup; {WAY_BACK}" for each in limits
    )
    return RunBounds(start.event + limit.events, start.at_ns + limit.time, (events, time))


def play(lab: LabFile, lines: Sequence[str]) -> Played:
    """The world after the setup, these lines, and what settles it; raises BrokenLab."""
    played = begun(lab)
    run_lines(played, lines)
    _settle(played)
    return played


def run_lines(played: Played, lines: Sequence[str], after: int = 0) -> None:
    """Run lines of a submission up to a limit. after: so many lines have run before."""
    rules = Rulebook(played.lab.document.rules, played.session, played.start)
    limit = played.lab.document.rules.limits
    for number, line in enumerate(lines, after + 1):
        if number > limit.lines:
            played.cut = f"more than {limit.lines:,} lines"
        if played.cut:
            return
        for foul in typed(played, rules, line):
            played.fouls.append(Foul(number, line, foul))


def _settle(played: Played) -> None:
    """Let time go on as the lab has it, up to the events that are left of the submission."""
    session, rules = played.session, played.lab.document.rules
    left = rules.limits.events - (session.history.here.event - played.start.event)
    session.bounds, session.max_events = None, max(1, left)
    for reply in replies(session, rules.settle) if left > 0 else ():
        if reply.travel is not None:
            reply.travel.finish()


@contextmanager
def settled(played: Played) -> Iterator[None]:
    """A context in which the world is settled; afterwards it is as it was."""
    session = played.session
    limits = session.bounds, session.max_events
    try:
        with undone_trial(session):
            _settle(played)
            yield
    finally:
        session.bounds, session.max_events = limits


def typed(
    played: Played, rules: Rulebook, line: str, follow: Callable[[Reply], None] | None = None
) -> Iterator[str]:
    """Run a line; what of it is not allowed or not understood. follow: gets each reply."""
    for part in rules.parts(line):
        if part.foul:
            yield part.foul
            continue
        played.moves += part.moves
        for reply in replies(played.session, part.text):
            if foul := _foul(reply):
                yield foul
            if reply.travel is not None:
                reply.travel.finish()
            played.applied += is_applied(reply)
            if follow is not None:
                follow(reply)
            played.cut = _cut(played, reply.travel)
            if played.cut:
                return


def _foul(reply: Reply) -> str:
    """The reason a command was not carried out; empty if it was."""
    if isinstance(reply.error, NotAllowed):
        return reply.error.message
    return f"{NO_LINE}: {reply.error.message}" if reply.error is not None else ""


def is_applied(reply: Reply) -> bool:
    """Whether the reply is that of `apply` with a fix to run."""
    named = reply.invocation is not None and reply.invocation.name == APPLY
    return named and reply.value is not None


def run_steps(played: Played, steps: tuple[PlannedStep, ...]) -> str:
    """Run steps of the lab in this world; what failed, empty if nothing."""
    scenario = replace(played.lab.scenario, steps=steps)
    runner = Runner(scenario, open_session, session=played.session)
    runner.run()
    return "" if runner.ok else runner.results[-1].text(scenario.path)


def _cut(played: Played, travel: RunControl | None) -> str:
    """The limit that the work has reached; empty if none."""
    limit, bounds = played.lab.document.rules.limits, played.session.bounds
    if travel is not None and travel.at_bounds and bounds is not None:
        is_late = travel.over == bounds.sentences[1]
    elif played.session.history.here.event - played.start.event > limit.events:
        is_late = False
    else:
        return ""
    if is_late:
        return "more virtual time than the lab allows"
    return f"more than {limit.events:,} events"
