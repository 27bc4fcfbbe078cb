"""Play a scenario to find the mistakes that only its world shows: names, indexes, moments.

Which names exist is decided by the commands that succeed, and nothing else may decide that. So a
check plays the file in a world of its own, past whatever fails.
"""

from collections.abc import Iterator
from difflib import get_close_matches
from functools import partial
from itertools import pairwise

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from rdmalab.command import NewKind, NotUnderstood, Refused, Span, ThingKind
from rdmalab.grammar.hints import quoted, suggest
from rdmalab.grammar.tokens import Lexeme, Token, scan
from rdmalab.scenario import yaml_tree
from rdmalab.scenario.expect import unmet
from rdmalab.scenario.loader import Scenario
from rdmalab.scenario.planned_step import Placed, PlannedStep, Spot
from rdmalab.scenario.planner import Vocabulary
from rdmalab.scenario.repair import mentioned, name_at, name_in, word_at
from rdmalab.scenario.result import StepOutcome, StepResult, Stop
from rdmalab.scenario.runner import OpenSession, Runner, Since
from rdmalab.scenario.shape_errors import MOST_MISTAKES
from rdmalab.scenario.source import FileError, together
from rdmalab.scenario.wire import resolve
from rdmalab.session.lines import Reply, Script
from rdmalab.views.memory import with_key


def rehearsed(
    scenario: Scenario, root: Node, open_session: OpenSession, lost: list[str],
    profile: str | None = None, *, existed: set[str] | None = None,
) -> list[FileError]:  # fmt: skip
    """The errors that a run of the scenario shows, of all its steps and programs.

    root: the tree of the file.
    lost: lines that were left out because they are wrong. After the first of them, or a step that
    fails, other errors may follow from it: then only names are reported that no line mentions.
    existed: gets the names of all objects that were there.
    """
    rehearsal = _Rehearsal(scenario, open_session, lost, profile)
    try:
        found = rehearsal.errors()
        in_programs = list(rehearsal.in_programs(root))
        if existed is not None:
            existed |= rehearsal.existed
        return [*rehearsal.independent(found, in_programs), *in_programs]
    finally:
        rehearsal.session.dispose()


class _Rehearsal(Runner):
    """A run that goes on to the last step.

    existed: names of all objects so far, also those that a jump into the past has undone.
    doubtful: lines whose effect did not come about. unknown: names that were reported. sound:
    nothing has failed so far.
    """

    def __init__(
        self, scenario: Scenario, open_session: OpenSession, lost: list[str], profile: str | None
    ) -> None:
        super().__init__(scenario, open_session, profile=profile)
        self.doubtful = list(lost)
        self.sound = not lost
        self.existed: set[str] = set()
        self.unknown: set[str] = set()
        self._acted = False

    @property
    def over(self) -> bool:
        """Whether all steps are done."""
        return self.position == len(self.scenario.steps)

    def errors(self) -> list[FileError]:
        """Run all steps; returns the errors that do not follow from others."""
        found: list[FileError] = []
        while len(found) < MOST_MISTAKES and (result := self.next_step()) is not None:
            self.existed |= set(self.session.names.all())
            found += self._kept(result)
        return found

    def independent(
        self, found: list[FileError], in_programs: list[FileError]
    ) -> list[FileError]:  # fmt: skip
        """Those errors of steps that do not follow from a program that fails at a name."""
        return [each for each in found if not in_programs or self._is_new(each)]

    def in_programs(self, root: Node) -> Iterator[FileError]:
        """Names in the lines of programs that nothing has made; a program fails at such a line."""
        programs = yaml_tree.find(root, ("programs",))
        lines = list(_scalars(programs)) if programs is not root else []
        words = [(node, token) for node in lines for token in scan(node.value)]
        made = set(self._made_by(words))
        for node, token in words:
            name = name_in(token.text) if token.lexeme is Lexeme.WORD else ""
            if name and name not in made and name[0] in self.session.world.nodes:
                spot = Spot(self.scenario.source, node)
                place = Span(token.place.start, token.place.start + len(name))
                there = suggest(name, self.session.names.all())
                wrong = spot.error(NotUnderstood(f"nothing is called {name}", place, there))
                if self._is_new(wrong):
                    yield wrong

    def _made_by(self, words: list[tuple[ScalarNode, Token]]) -> Iterator[str]:
        """The names that lines of programs give to new objects."""
        for (_, verb), (_, name) in pairwise(words):
            command = self.session.vocabulary.get(verb.text)
            if command is not None and any(isinstance(p.kind, NewKind) for p in command.parameters):
                yield name_in(name.text)

    def _kept(self, result: StepResult) -> list[FileError]:
        wrong = result.error.all if result.error is not None else []
        kept = [each for each in wrong if self.sound or self._is_new(each)]
        self.sound = self.sound and self._acted and result.outcome is not StepOutcome.FAILED
        if not self._acted:
            self.doubtful.append(result.step.line)
            kept += self._in_lines(result)
        if result.outcome is not StepOutcome.PASSED:
            kept += self._in_goals(result.step)
        self.unknown |= set(map(name_at, kept))
        return kept

    def _in_lines(self, result: StepResult) -> list[FileError]:
        """The unknown names in the conditions of a step whose command failed."""
        try:
            self._judge(result.step, result.first_record)
        except FileError as wrong:
            return [each for each in wrong.all if self._is_new(each)]
        except Stop:
            pass
        return []

    def _in_goals(self, step: PlannedStep) -> Iterator[FileError]:
        """The unknown names in the goals of an answer that is not the expected one."""
        for placed in step.goal:
            try:
                self._known(placed)
            except FileError as wrong:
                yield from (each for each in wrong.all if self._is_new(each))

    def _is_new(self, wrong: FileError) -> bool:
        """Whether an error is a mistake although something before it failed."""
        name = name_at(wrong)
        if wrong.message == f"nothing is called {quoted(word_at(wrong))}" and not name:
            return True  # nwo == 0: no object has such a name
        if not name or name in self.existed:
            return False
        makers = (self._makes_many(line) for line in self.doubtful)
        return name in self.unknown or not (any(makers) or name in mentioned(self.doubtful))

    def _makes_many(self, line: str) -> bool:
        """Whether a line may create objects that it does not name."""
        word = line.split(maxsplit=1)[0] if line.strip() else ""
        vocabulary = self.session.vocabulary
        command = vocabulary.get(word) or vocabulary.get(next(iter(_close(word, vocabulary)), ""))
        if command is None:
            return bool(word)
        is_script = command.function.__annotations__.get("return") is Script
        return is_script and not any(isinstance(p.kind, ThingKind) for p in command.parameters)

    def _act(self, step: PlannedStep, since: Since) -> Iterator[Reply]:
        self._acted = False
        yield from super()._act(step, since)
        self._acted = True

    def _judge(self, step: PlannedStep, first_record: int) -> None:
        """Evaluate all lines; raises FileError with those that have no value, else Stop."""
        wrong = list(self._wrong_names(step))
        failure: Stop | None = None
        if not wrong:
            try:
                self._judge_wire(step, first_record)
            except Stop as stop:
                failure = stop
        for placed in step.expect:
            try:
                self._known(placed)
                self._judge_line(placed)
            except Stop as stop:
                failure = failure or stop
            except FileError as error:
                wrong += [error] if failure is None or self._is_new(error) else []
        if wrong:
            raise together(wrong)
        if failure is not None:
            raise failure

    def _judge_line(self, placed: Placed) -> None:
        try:
            failure = unmet(placed.expectation, self.session.ask, "")
        except NotUnderstood as wrong:
            raise placed.spot.error(wrong) from None
        if failure is not None:
            raise Stop(failure)

    def _wrong_names(self, step: PlannedStep) -> Iterator[FileError]:
        """The errors of names in wire lines."""
        for line, spot in zip(step.wire or (), step.wire_spots, strict=True):
            try:
                resolve([line], self._locate, partial(with_key, self.session.world))
            except NotUnderstood as error:
                yield spot.error(error)
            except Refused as gone:
                yield spot.error(NotUnderstood(gone.message))


def _close(word: str, vocabulary: Vocabulary) -> list[str]:
    """The verb that a misspelled one stands for, if one is near."""
    return get_close_matches(word, vocabulary, 1)


def _scalars(node: Node) -> Iterator[ScalarNode]:
    """The texts below a node, without the keys."""
    if isinstance(node, ScalarNode):
        yield node
    elif isinstance(node, SequenceNode):
        for item in node.value:
            yield from _scalars(item)
    elif isinstance(node, MappingNode):
        for _, value in node.value:
            yield from _scalars(value)
