"""Play a submission: the setup of the lab, the typed lines, and the time that follows them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

from rdmalab.classroom.lab_file import LabFile
from rdmalab.classroom.rules import START, Rulebook
from rdmalab.lab import open_session
from rdmalab.scenario.planned_step import PlannedStep
from rdmalab.scenario.runner import Runner
from rdmalab.session.branch import Place
from rdmalab.session.lines import replies
from rdmalab.session.session import Session


class Verdict(Enum):
    """What came of a submission."""

    GRADED = "graded"
    CUT = "cut"
    UNREADABLE = "unreadable"
    NOT_GRADED = "not-graded"


class BrokenLab(Exception):  # noqa: N818  (it says what the lab is)
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
    start: Place
    fouls: list[Foul] = field(default_factory=list)
    cut: str = ""
    moves: int = 0  # commands that went to another moment


def begun(lab: LabFile) -> Played:
    """The world as the setup leaves it; raises BrokenLab."""
    runner = Runner(lab.scenario, open_session)
    runner.run()
    if not runner.ok:
        raise BrokenLab(runner.results[-1].text(lab.source.path))
    session = runner.session
    for _ in replies(session, f"checkpoint {START}", file=True):
        pass
    return Played(lab, session, session.history.here)


def play(lab: LabFile, lines: Sequence[str]) -> Played:
    """The world after the setup, these lines, and what settles it; raises BrokenLab."""
    played = begun(lab)
    rules = Rulebook(lab.document.rules, played.session, played.start)
    limit = lab.document.rules.limits
    for number, line in enumerate(lines, 1):
        if number > limit.lines:
            played.cut = f"more than {limit.lines:,} lines"
            return played
        for foul in typed(played, rules, line):
            played.fouls.append(Foul(number, line, foul))
        if played.cut:
            return played
    for reply in replies(played.session, lab.document.rules.settle):
        if reply.travel is not None:
            reply.travel.finish()
    return played


def typed(played: Played, rules: Rulebook, line: str) -> Iterator[str]:
    """Run a line; what of it is not allowed or not understood."""
    for part in rules.parts(line):
        if part.foul:
            yield part.foul
            continue
        played.moves += part.moves
        _arm(played)
        for reply in replies(played.session, part.text):
            if reply.error is not None:
                yield f"not understood: {reply.error.message}"
            if reply.travel is not None:
                reply.travel.finish()
            _cut(played)
            if played.cut:
                return


def run_steps(played: Played, steps: tuple[PlannedStep, ...]) -> str:
    """Run steps of the lab in this world; what failed, empty if nothing."""
    scenario = replace(played.lab.scenario, steps=steps)
    runner = Runner(scenario, open_session, session=played.session)
    runner.run()
    return "" if runner.ok else runner.results[-1].text(scenario.path)


def _arm(played: Played) -> None:
    """A run may take as many events as are left; one more ends it."""
    left = played.lab.document.rules.limits.events - (
        played.session.world.event - played.start.event
    )
    played.session.max_events = max(1, left + 1)


def _cut(played: Played) -> None:
    limit, here = played.lab.document.rules.limits, played.session.history.here
    if here.event - played.start.event > limit.events:
        played.cut = f"more than {limit.events:,} events"
    elif here.at_ns - played.start.at_ns > limit.time:
        played.cut = "more virtual time than the lab allows"
