"""Rules of a lab: which commands, on which objects, and whether the past may change."""

from collections.abc import Iterator
from typing import NamedTuple

from rdmalab.classroom.model import Rules
from rdmalab.classroom.parameter_model import SHUT
from rdmalab.command import Invocation, Lines, New, NotUnderstood, Ref, TimeMove
from rdmalab.grammar.line import parse
from rdmalab.session.branch import TimePoint
from rdmalab.session.session import Session
from rdmalab.views import fmt

EXPERIMENT = ("fault", "inject", "port", "link", "gid", "pkey", "device_fatal")
"""Commands of the experimenter: a lab must allow them."""
DOCTOR = ("why", "checklist")
"""Commands that `doctor: shut` refuses."""
APPLY = "apply"
NO_LINE = "not understood"
"""Beginning of the reason a line that has a mistake does not count."""
START = "start"
"""The checkpoint after the setup: `@start`."""
_ADVICE = {APPLY: ": type the lines of the fix yourself"}
_ALWAYS = ("step", "run", "until")
_SHORT_FORMS = ("use", "connect", "to_rts", "reset")
_LOOKS = frozenset({
    "why", "checklist", "help", "explain", "show", "changes", "trace", "diff", "branches", "breaks",
    "programs", "read", "hexdump", "faults", "quit",
})  # fmt: skip


def prices(rules: Rules) -> list[str]:
    """`each why costs 1 point`, of the commands that have a price in this lab."""
    costs = {**dict.fromkeys(DOCTOR, rules.doctor), APPLY: rules.apply or 0}
    return [
        f"each {name} costs {fmt.count(cost, 'point')}" for name, cost in costs.items() if cost > 0
    ]


class RuledCommand(NamedTuple):
    """A command of a line. foul: why it is skipped, empty if it is run. moves: to the past."""

    text: str
    foul: str = ""
    moves: bool = False


class Rulebook:
    """The rules of a lab, asked about each line of a session. start: after the setup.

    Before that moment nothing may be changed: else one could make a world without its difficulty.
    """

    def __init__(self, rules: Rules, session: Session, start: TimePoint) -> None:
        self.rules = rules
        self.session = session
        self.start = start
        shut = {word for word in EXPERIMENT if word not in rules.allow}
        shut |= set(DOCTOR) if rules.doctor == SHUT else set()
        shut |= {APPLY} if rules.apply == SHUT else set()
        self.shut = (shut | set(rules.forbid)) - set(_ALWAYS)

    def parts(self, line: str, *, ahead: bool = False) -> Iterator[RuledCommand]:
        """The commands of a line, each judged; what changes nothing is left out.

        ahead: before any of them has run. Else each has run when the next one is asked for.
        """
        session = self.session
        try:
            found = parse(line, session.vocabulary, session.default_node, aliases=session.aliases)
        except NotUnderstood as wrong:
            yield RuledCommand(line, f"{NO_LINE}: {wrong.message}")
            return
        moved = False
        for invocation in found:
            if foul := self.foul(invocation, moved=moved):
                yield RuledCommand(invocation.line, foul)
            elif self.counts(invocation):
                yield RuledCommand(invocation.line, moves=self.moves(invocation))
            moved = moved or (ahead and self.moves(invocation))

    def counts(self, invocation: Invocation) -> bool:
        """Whether a command is a part of the work: one that only looks is none."""
        in_scenarios = self.session.vocabulary[invocation.name].facts.in_scenarios
        return in_scenarios and invocation.name not in _LOOKS

    def moves(self, invocation: Invocation) -> bool:
        """Whether a command goes to another moment than a later one of this branch."""
        facts = self.session.vocabulary[invocation.name].facts
        return facts.moves_time is TimeMove.ANY or invocation.name == "switch"

    def refusal(self, line: str) -> str:
        """The reason a line is not allowed; empty if it is, or if it is not understood."""
        fouls = (part.foul for part in self.parts(line, ahead=True))
        return next((foul for foul in fouls if foul and not foul.startswith(NO_LINE)), "")

    def foul(self, invocation: Invocation, *, moved: bool = False) -> str:
        """The reason this command is refused; empty if it is not. moved: it will run elsewhere."""
        name = invocation.name
        if name in self.shut:
            return f"{name} is not allowed in this lab{_ADVICE.get(name, '')}"
        if self.moves(invocation) and self.rules.past == "never":
            return f"{name}: the past of this lab cannot be changed"
        is_before = not moved and self.session.history.here.event < self.start.event
        if is_before and self._changes(invocation):
            return f"{name}: the setup of this lab cannot be changed; goto @{START} is its end"
        locked = next((each for each in self._changed(invocation) if self._locks(each)), "")
        if locked:
            return f"{locked} is locked in this lab"
        return next((foul for each in _inner(invocation) if (foul := self.foul(each))), "")

    def _changes(self, invocation: Invocation) -> bool:
        command = self.session.vocabulary[invocation.name]
        return command.changes_world or invocation.name in _SHORT_FORMS

    def _changed(self, invocation: Invocation) -> Iterator[str]:
        """The objects that a command is about: what a value only names is not changed."""
        command = self.session.vocabulary[invocation.name]
        if not self._changes(invocation):
            return
        if invocation.name == "use":
            yield from self.rules.lock  # it makes objects on every node
        subjects = command.parameters[:1] if invocation.name == "to_rts" else command.parameters
        for parameter in subjects:
            value = invocation.arguments.get(parameter.name)
            if parameter.positional and isinstance(value, Ref | New):
                yield f"{value.node}.{value.name}" if value.name else value.node

    def _locks(self, name: str) -> bool:
        return any(name == lock or name.startswith(f"{lock}.") for lock in self.rules.lock)


def _inner(invocation: Invocation) -> Iterator[Invocation]:
    """The verbs in the lines of a program that a command starts; none of any other command."""
    for value in invocation.arguments.values():
        if isinstance(value, Lines):
            yield from (line.invocation for line in value.parsed if line.invocation is not None)
