"""Goals of a task: questions to a finished world, or over the time since the setup."""

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from rdmalab.classroom.lab_file import NAMED
from rdmalab.classroom.model import Goal
from rdmalab.command import NotUnderstood
from rdmalab.grammar.expressions import parse_expression
from rdmalab.scenario.expect import Expectation, Failure, unmet, value_text
from rdmalab.scenario.parameters import fill
from rdmalab.session.branch import TimePoint
from rdmalab.session.history import History, read_only_visit
from rdmalab.session.session import Session
from rdmalab.spec.row import dataclass
from rdmalab.views import fmt

_NAME = re.compile(r"(?<!%)%\{(\w+)\}")


@dataclass(slots=True)
class Judged:
    """A goal and whether it is met. wrong: what is the case instead, empty if it is met."""

    text: str
    met: bool
    wrong: str = ""


@dataclass(slots=True)
class _Watch:
    """A temporal goal during a replay. first, before: the first event in which it is true."""

    goal: Goal
    question: Expectation
    limit: Expectation | None
    first: TimePoint | None = None
    before: TimePoint | None = None
    failed: TimePoint | None = None  # `never`: the first event with it; `always`: without it
    holds: bool | None = None  # after the newest event; None: it was not asked yet

    @property
    def is_decided(self) -> bool:
        """Whether no later event can change the verdict."""
        if self.goal.kind != "ever":
            return self.failed is not None
        return self.first is not None


def judge(
    session: Session, goals: Sequence[Goal], start: TimePoint, names: Mapping[str, str]
) -> list[Judged]:
    """Each goal in the world of the session. start: after the setup. names: of `%{NAME}`."""
    return Watches(session, start).judged(goals, names)


class Watches:
    """Goals over time of one branch, each asked once after each event, and judged at any moment.

    start: after the setup. Events that were looked at before are not replayed: more time on the
    same branch costs its own events only.
    """

    def __init__(self, session: Session, start: TimePoint) -> None:
        self.session = session
        self.start = self.at = start
        self.known: dict[str, _Watch] = {}

    def further(self) -> "Watches":
        """Copy with everything observed so far; observing more does not change this one."""
        made = Watches(self.session, self.start)
        made.at = self.at
        made.known = {text: replace(watch) for text, watch in self.known.items()}
        return made

    def judged(self, goals: Sequence[Goal], names: Mapping[str, str]) -> list[Judged]:
        """Each goal in the world as it is; one that a name is lacking for is not met."""
        self.look([(goal, names) for goal in goals])
        return [self._judged(goal, names) for goal in goals]

    def _judged(self, goal: Goal, names: Mapping[str, str]) -> Judged:
        if goal.kind == "now":
            return _now(self.session, goal, names)
        try:
            return _verdict(self.known[_text(_watch(goal, names))], self.start)
        except NotUnderstood as wrong:
            return Judged(goal.question, met=False, wrong=wrong.message)

    def look(
        self, goals: Iterable[tuple[Goal, Mapping[str, str]]], end: TimePoint | None = None
    ) -> None:
        """Follow these goals, each with its names of `%{NAME}`, up to a moment; None: now.

        A goal of the present, or one that a name is lacking for, is left out.
        """
        end = end or self.session.history.here
        new: dict[str, _Watch] = {}
        for goal, names in goals:
            with suppress(NotUnderstood):
                watch = _watch(goal, names)
                if goal.kind != "now" and _text(watch) not in self.known:
                    new[_text(watch)] = watch
        _replay(self.session, self.start, self.at, list(new.values()))
        self.known |= new
        _replay(self.session, self.at, end, list(self.known.values()))
        self.at = end


def parsed(text: str, names: Mapping[str, str]) -> Expectation:
    """A question with its names; raises NotUnderstood."""
    lacking = next((name for name in _NAME.findall(text) if name not in names), None)
    if lacking is not None:
        raise NotUnderstood(f"there is no {NAMED}{{{lacking}}} yet")
    whole = fill(text, names, NAMED).text
    return Expectation(whole, parse_expression(whole))


def readable(text: str, questions: Mapping[str, str]) -> str:
    """The text with the question of each name of `bind` in place of a `%{NAME}` without a value."""
    return _NAME.sub(lambda found: questions.get(found[1], found[0]), text)


def truth(session: Session, question: Expectation) -> bool:
    """Whether it is true; a name that does not exist makes it false."""
    try:
        return bool(session.ask(question.expression.node))
    except NotUnderstood:
        return False


def bound(
    session: Session, questions: Mapping[str, str], world: Mapping[str, str]
) -> dict[str, str]:
    """The values of `bind` in the finished world; a question without one leaves its name out."""
    names = dict(world)
    for name, text in questions.items():
        try:
            value = session.ask(parsed(text, names).expression.node)
        except NotUnderstood:
            continue
        if value is not None:
            names[name] = value_text(value).strip('"')
    return names


# --------------------------------------------------------------------------- the present
def _now(session: Session, goal: Goal, names: Mapping[str, str]) -> Judged:
    try:
        question = parsed(goal.question, names)
        failure = unmet(question, session.ask, "goal")
    except NotUnderstood as wrong:
        return Judged(goal.question, met=False, wrong=wrong.message)
    return Judged(question.text, failure is None, _actual(failure))


def _actual(failure: Failure | None) -> str:
    return "" if failure is None else ", ".join(failure.actual) or "it is false"


# --------------------------------------------------------------------------- over time
def _watch(goal: Goal, names: Mapping[str, str]) -> _Watch:
    limit = parsed(goal.before, names) if goal.before is not None else None
    return _Watch(goal, parsed(goal.question, names), limit)


def _replay(session: Session, start: TimePoint, end: TimePoint, watches: Sequence[_Watch]) -> None:
    """Go through the branch again between two moments, and ask after each event.

    It ends where all is decided: most goals are reached early, and a branch may be long.
    """
    history = session.history
    left = [watch for watch in watches if not watch.is_decided]
    if not left or start.event >= end.event:
        return
    with read_only_visit(history):
        history.seek(start)
        while left and session.world.event < end.event and _next_event(history, end):
            changed = [_observe(session, watch) for watch in left]
            if any(changed):
                left = [watch for watch in left if not watch.is_decided]


def _next_event(history: History, end: TimePoint) -> int:
    """Replay one event; 0 if none is left.

    With the last event a replay reaches the time of the end. The event itself was earlier if it is
    due before: then time stays where the event was, and `by` and `now` mean the event.
    """
    return history.run(1, end.at_ns - 1) or history.run(1, end.at_ns)


def _observe(session: Session, watch: _Watch) -> bool:
    """Look at a goal after an event; whether its answer has changed, or is the first."""
    if watch.limit is not None and watch.before is None and truth(session, watch.limit):
        watch.before = session.history.here
    if watch.holds is not None and not session.touches(watch.question.expression.node):
        return False
    holds, before = truth(session, watch.question), watch.holds
    if holds is before:
        return False
    watch.holds, here = holds, session.history.here
    if holds and watch.first is None:
        watch.first = here
    if watch.failed is None and holds is (watch.goal.kind == "never"):
        watch.failed = here
    return True


def _verdict(watch: _Watch, start: TimePoint) -> Judged:
    text = _text(watch)
    kind, by_ns = watch.goal.kind, watch.goal.by
    if kind != "ever":
        if watch.failed is None:
            return Judged(text, met=True)
        holds = "true" if kind == "never" else "false"
        return Judged(text, met=False, wrong=f"{holds} at {_at(watch.failed, start)}")
    if watch.first is None:
        return Judged(text, met=False, wrong="it was never true")
    if by_ns is not None and watch.first.at_ns - start.at_ns > by_ns:
        return Judged(text, met=False, wrong=f"first true at {_at(watch.first, start)}")
    if watch.before is not None and watch.before.event <= watch.first.event:
        wrong = f"first true at {_at(watch.first, start)}, the other at {_at(watch.before, start)}"
        return Judged(text, met=False, wrong=wrong)
    return Judged(text, met=True)


def _at(place: TimePoint, start: TimePoint) -> str:
    return f"{fmt.event(place.event)}, {fmt.duration(place.at_ns - start.at_ns)} after the setup"


def _text(watch: _Watch) -> str:
    by = f", by {fmt.duration(watch.goal.by)}" if watch.goal.by is not None else ""
    before = f", before {watch.limit.text}" if watch.limit is not None else ""
    return f"{watch.goal.kind} {watch.question.text}{by}{before}"
