"""Steps of a scenario from its document: commands, expressions and wire lines are parsed here."""

import errno
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import takewhile
from typing import TypeVar

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from rdmalab.command import Command, Invocation, New, NotUnderstood, Noun, Span, TimeMove
from rdmalab.grammar.expressions import parse_expression
from rdmalab.grammar.format import render
from rdmalab.grammar.line import mistakes, parse
from rdmalab.grammar.nodes import Node as Question
from rdmalab.grammar.tokens import tokenize
from rdmalab.scenario import yaml_tree
from rdmalab.scenario.expect import Expectation
from rdmalab.scenario.include import Includes
from rdmalab.scenario.model import MAX_STEPS, Document, Step
from rdmalab.scenario.planned_step import PiecedText, Placed, Placing, PlannedStep, Spot
from rdmalab.scenario.reading import unanswered
from rdmalab.scenario.shape_errors import MOST_MISTAKES
from rdmalab.scenario.source import FileError, Source
from rdmalab.scenario.wire import parse_wire
from rdmalab.session.session import questions_in
from rdmalab.views.query_types import Nouns, check_types, nouns_by_prefix

T = TypeVar("T")


Vocabulary = Mapping[str, Command]
_READ = ("note", "predict", "reveal")  # by a person


class Planner:
    """Parses the texts of a document; keeps the errors and goes on."""

    def __init__(
        self, source: Source, root: Node, vocabulary: Vocabulary, includes: Includes,
        chain: tuple[str, ...] = (),
    ) -> None:  # fmt: skip
        """chain: the names of the files that include each other, down to this one."""
        self.source = source
        self.root = root
        self.vocabulary = vocabulary
        self.includes = includes
        self.chain = chain
        self.read: list[tuple[Placing, Invocation]] = []
        self.wrong: list[FileError] = []  # in the order in which they are found

    @contextmanager
    def kept(self) -> Iterator[None]:
        """A context that stores an error and continues after it."""
        try:
            yield
        except FileError as wrong:
            self.wrong.append(wrong)

    def _wanted(self, things: Iterable[T]) -> Iterator[T]:
        """The items, while there are few errors: to place an error reads the file again."""
        return takewhile(lambda _: len(self.wrong) < MOST_MISTAKES, things)

    def check_questions(self, steps: tuple[PlannedStep, ...]) -> None:
        """Store an error for each expression that cannot have a value."""
        nouns = self._nouns()
        for spot, invocation in self._wanted(self.read):
            for question in questions_in(self.vocabulary[invocation.name], invocation):
                self._sensible(spot, question, nouns)
        for step in self._wanted(steps):
            for placed in (*step.expect, *step.goal):
                self._sensible(placed.spot, placed.expectation.expression.node, nouns)

    def _nouns(self) -> Nouns:
        """The noun of a name, by the command that creates it or by its prefix."""
        made: dict[str, set[Noun]] = {}
        values = (v for _, invocation in self.read for v in invocation.arguments.values())
        for new in values:
            if isinstance(new, New):
                made.setdefault(str(new), set()).add(new.noun)
        return lambda name: {*made.get(name, ()), *nouns_by_prefix(name)}

    def check_question(self, spot: Placing, question: Question) -> None:
        """Store an error if a question cannot have a value."""
        self._sensible(spot, question, self._nouns())

    def _sensible(self, spot: Placing, question: Question, nouns: Nouns) -> None:
        try:
            check_types(question, nouns)
        except NotUnderstood as wrong:
            self.wrong.append(spot.error(wrong))

    def steps(self, document: Document) -> tuple[PlannedStep, ...]:
        """All steps, the setup first; their mistakes are in `wrong`."""
        found: list[PlannedStep] = []
        setup = yaml_tree.find(self.root, ("setup",))
        with self.kept():
            found += self._list(document.setup, setup, is_setup=True, room=MAX_STEPS)
        for name in self._wanted(document.programs):
            with self.kept():
                found.append(self._start(name, document))
        steps = yaml_tree.find(self.root, ("steps",))
        with self.kept():
            room = MAX_STEPS - len(found)
            found += self._list(document.steps, steps, is_setup=False, room=room)
        for step, message, hint in unanswered(found):
            self.wrong.append(self._complaint(step.spot, message, hint))
        return tuple(found)

    def listed(self, steps: list[Step], *path: int | str) -> tuple[PlannedStep, ...]:
        """The steps below a path of the file; their mistakes are in `wrong`."""
        found: list[PlannedStep] = []
        with self.kept():
            node = yaml_tree.find(self.root, path)
            found += self._list(steps, node, is_setup=False, room=MAX_STEPS)
        return tuple(found)

    def _list(
        self, steps: list[Step], node: Node, *, is_setup: bool, room: int
    ) -> list[PlannedStep]:
        """The steps of a list, those of blocks and of other files among them.

        room: how many there may be; raises FileError above it, after `wrong` has the other errors.
        """
        found: list[PlannedStep] = []
        for index, step in self._wanted(enumerate(steps)):
            item, left = yaml_tree.find(node, (index,)), room - len(found)
            if step.steps is not None:
                block = yaml_tree.find(item, ("steps",))
                inner = self._list(step.steps, block, is_setup=is_setup, room=left)
                if len(inner) * (step.repeat or 1) > left:
                    raise self._too_many(yaml_tree.key_of(item, ("repeat",)))
                found += inner * (step.repeat or 1)
            elif step.include is not None:
                with self.kept():
                    found += self._included(step.include, item, is_setup=is_setup, room=left)
            else:
                found.append(self.planned(step, item, is_setup=is_setup))
            if len(found) > room:
                raise self._too_many(item)
        return found

    def _included(self, name: str, item: Node, *, is_setup: bool, room: int) -> list[PlannedStep]:
        """The setup or the steps of another file."""
        node = yaml_tree.find(item, ("include",))
        file = self.includes.opened(name, self.source, node, self.chain)
        key = "setup" if is_setup else "steps"
        steps = file.part.setup if is_setup else file.part.steps
        if not steps:
            place = yaml_tree.place_of(node)
            raise self.source.error(f"{name} has no {key}", f"add {key}: to that file", place)
        chain = (*self.chain, file.name)
        inner = Planner(file.source, file.root, self.vocabulary, self.includes, chain)
        inner.read, inner.wrong = self.read, self.wrong
        below = yaml_tree.find(file.root, (key,))
        return inner._list(steps, below, is_setup=is_setup, room=room)

    def _too_many(self, node: Node) -> FileError:
        message = f"more than {MAX_STEPS:,} steps, with those repeated and included"
        return self.source.error(message, "fewer repeats", yaml_tree.place_of(node))

    def _start(self, name: str, document: Document) -> PlannedStep:
        """The step that starts a program, as one command line."""
        key = yaml_tree.key_of(self.root, ("programs", name))
        if name[0] not in document.nodes:
            offer = f"nodes: {' '.join(document.nodes)}"
            raise self.source.error(f"there is no node {name[0]}", offer, yaml_tree.place_of(key))
        program = document.programs[name]
        pace = "" if program.pace is None else f" pace={program.pace}ns"
        lead = f"program {name}{pace} lines={{"
        text = PiecedText(self.source, self._texts_of(name), len(lead))
        for node in text.nodes:  # no brace of one may be closed by another
            self._at(Spot(self.source, node), lambda node=node: tokenize(node.value))  # type: ignore[misc]
        try:
            (started,) = parse(f"{lead}{text.whole}}}", self.vocabulary, None, file=True)
        except NotUnderstood as wrong:
            raise text.error(wrong) from None
        self.read.append((text, started))
        line = render(started, self.vocabulary[started.name])
        spot = Spot(self.source, key, lead.index(name))
        return PlannedStep(
            Step(do=line), yaml_tree.place_of(key), True, line, spot, 0, (), None, (),
            invocations=(started,),
        )  # fmt: skip

    def _texts_of(self, name: str) -> list[Node]:
        """The scalars that hold the lines of a program."""
        node = yaml_tree.find(self.root, ("programs", name))
        if isinstance(node, MappingNode):
            node = yaml_tree.find(node, ("lines",))
        return list(node.value) if isinstance(node, SequenceNode) else [node]

    def planned(self, step: Step, node: Node, *, is_setup: bool = False) -> PlannedStep:
        """One step; its mistakes are in `wrong`."""
        action = yaml_tree.find(node, (step.action,)) if isinstance(node, MappingNode) else node
        line, spot = self.line_of(step), Spot(self.source, action, len(self._verb_of(step)))
        invocations: tuple[Invocation, ...] = ()
        if line:
            with self.kept():
                invocations = self.commands_of(step, line, spot)
        expect, goal = self._questions(step, node, "expect"), self._questions(step, node, "goal")
        wire_spots = tuple(Spot(self.source, item) for item in _items(node, "wire"))
        wire = None
        if step.wire is not None:
            wire = []
            for text, spot_of_line in zip(step.wire, wire_spots, strict=True):
                with self.kept():
                    wire.append(self._at(spot_of_line, lambda text=text: parse_wire(text)))  # type: ignore[misc]
        code = getattr(errno, step.errno) if step.errno else 0
        place = yaml_tree.place_of(node)
        return PlannedStep(
            step, place, is_setup, line, spot, code, expect, wire, wire_spots, goal, invocations
        )

    def _questions(self, step: Step, node: Node, key: str) -> tuple[Placed, ...]:
        """The lines of `expect`, or of `goal`, each with its place."""
        questions = zip(getattr(step, key) or (), _items(node, key), strict=True)
        found: list[Placed] = []
        for text, item in questions:
            with self.kept():
                found.append(Placed(self._expectation(text, item), Spot(self.source, item)))
        return tuple(found)

    def line_of(self, step: Step) -> str:
        """The command that the action of a step stands for; empty for what is only read."""
        return "" if step.action in _READ else self._verb_of(step) + getattr(step, step.action)

    def _verb_of(self, step: Step) -> str:
        """Verb, and a space, that the file leaves out before the text of an action; or empty."""
        if step.action == "run":
            return self._verb_of_run(step.run or "", bounded=step.within is not None)
        return f"{step.action} " if step.action in ("fault", "checkpoint", "why") else ""

    def _verb_of_run(self, text: str, *, bounded: bool) -> str:
        words = text.split()
        if words and self._moves_time(words[0]):
            return ""
        if not words:
            return "until idle" if bounded else "run"
        return "run "

    def commands_of(self, step: Step, line: str, spot: Placing) -> tuple[Invocation, ...]:
        """The commands of a step; raises FileError if they or its keys do not fit its action."""
        if "\n" in line.strip() and step.action != "do":
            raise self._complaint(spot, f"{step.action} is one line", "leave the others out")
        invocations = self._understood(line, spot)
        self.read += ((spot, invocation) for invocation in invocations)
        for invocation in invocations:
            if not self.vocabulary[invocation.name].facts.in_scenarios:
                place = invocation.places.get("", Span(0, 1))
                wrong = f"{invocation.name} works at the prompt only, not in a scenario"
                raise spot.error(NotUnderstood(wrong, place, "leave it out"))
        verbs = [invocation.name for invocation in invocations]
        if not verbs:
            raise self._complaint(spot, "this line has no command", "write a command")
        if step.action == "run" and (len(verbs) > 1 or not self._moves_time(verbs[0])):
            raise self._complaint(spot, "run takes one command", "write another step")
        moves = self.vocabulary[verbs[0]].facts.moves_time
        if step.within is not None and moves is not TimeMove.FORWARD:
            message = f"within limits a run forward, and {verbs[0]} is not one"
            raise self._complaint(spot, message, "leave it out")
        if step.errno and len(verbs) > 1:
            message = "errno needs exactly one command in the step"
            raise self._complaint(spot, message, "write another step")
        return tuple(invocations)

    def _moves_time(self, name: str) -> bool:
        command = self.vocabulary.get(name)
        return command is not None and command.facts.moves_time is not None

    def _understood(self, line: str, spot: Placing) -> list[Invocation]:
        """The commands of a line; raises FileError for the last wrong one and stores the others."""
        try:
            return parse(line, self.vocabulary, None, file=True)
        except NotUnderstood:
            found = mistakes(line, self.vocabulary)[:MOST_MISTAKES]
            *others, last = [spot.error(wrong) for wrong in found]
            self.wrong += others
            raise last from None

    def _complaint(self, spot: Placing, message: str, hint: str) -> FileError:
        return spot.error(NotUnderstood(message, Span(0, 0), hint))

    def _expectation(self, text: str, node: Node) -> Expectation:
        expression = self._at(Spot(self.source, node), lambda: parse_expression(text))
        return Expectation(text.strip(), expression)

    def _at(self, spot: Spot, reading: Callable[[], T]) -> T:
        try:
            return reading()
        except NotUnderstood as wrong:
            raise spot.error(wrong) from None


def _items(node: Node, key: str) -> list[Node]:
    below = yaml_tree.find(node, (key,)) if isinstance(node, MappingNode) else node
    if isinstance(below, SequenceNode):
        return list(below.value)
    assert isinstance(below, MappingNode | ScalarNode)
    return []
