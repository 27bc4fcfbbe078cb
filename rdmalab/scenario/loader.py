"""Load a scenario file; every error in it is found here, with its place.

Commands, expressions and wire lines are parsed by the grammar of the prompt, with the vocabulary
given. Only whether a name exists is checked when the scenario runs.
"""

import errno
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from rdmalab import disk
from rdmalab.command import Command, Invocation, New, NotUnderstood, Noun, Span, TimeMove
from rdmalab.grammar.expressions import parse_expression
from rdmalab.grammar.format import render
from rdmalab.grammar.hints import quoted, suggest
from rdmalab.grammar.line import mistakes, parse
from rdmalab.grammar.nodes import Node as Question
from rdmalab.grammar.tokens import tokenize
from rdmalab.scenario import yaml_tree
from rdmalab.scenario.expect import Expectation
from rdmalab.scenario.field_types import WRONG
from rdmalab.scenario.model import ACTIONS, Document, Link, ProgramKeys, Step, StepKeys, later
from rdmalab.scenario.source import FileError, Source, SourcePlace
from rdmalab.scenario.teaches import Taught, taught
from rdmalab.scenario.wire import Lines, parse_wire
from rdmalab.session.session import questions_in
from rdmalab.views.query_types import Nouns, check_types, nouns_by_prefix

SUFFIX = ".rdmalab.yaml"
FOLDER = "scenarios"
PACKAGED = "lessons"  # where the wheel has that folder: pyproject.toml puts it there
MOST_MISTAKES = 100  # that are told of one file
T = TypeVar("T")
Vocabulary = Mapping[str, Command]


@dataclass(frozen=True, slots=True)
class Spot:
    """A scalar of the file.

    Lead: number of characters at the start of the line that the file lacks.
    """

    source: Source
    node: Node
    lead: int = 0

    def error(self, wrong: NotUnderstood) -> FileError:
        """The same error, with its place in the file."""
        start, stop = (max(0, column - self.lead) for column in wrong.place)
        if wrong.place == Span(0, 0):
            stop = len(getattr(self.node, "value", ""))
        place = yaml_tree.place_in(self.source, self.node, start, max(stop, start + 1))
        return self.source.error(wrong.message, wrong.hint, place)


@dataclass(frozen=True, slots=True)
class PiecedText:
    """A text of several scalars of the file, one a line. lead: as in Spot."""

    source: Source
    nodes: list[Node]
    lead: int

    @property
    def whole(self) -> str:
        return "\n".join(str(node.value) for node in self.nodes)

    def error(self, wrong: NotUnderstood) -> FileError:
        """The same error, with its place in the scalar where it begins."""
        start = wrong.place.start - self.lead
        node = self.nodes[0]
        for node in self.nodes:
            if start <= len(node.value):
                break
            start -= len(node.value) + 1
        width = wrong.place.stop - wrong.place.start
        place = yaml_tree.place_in(self.source, node, max(0, start), max(0, start) + max(1, width))
        return self.source.error(wrong.message, wrong.hint, place)


@dataclass(frozen=True, slots=True)
class Placed:
    """A line of `expect`, and its place."""

    expectation: Expectation
    spot: Spot

    @property
    def text(self) -> str:
        return self.expectation.text


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """A step, ready to run. line: its command, empty for a note."""

    step: Step
    place: SourcePlace
    is_setup: bool
    line: str
    spot: Spot
    errno: int
    expect: tuple[Placed, ...]
    wire: Lines | None
    wire_spots: tuple[Spot, ...]
    goal: tuple[Placed, ...] = ()

    @property
    def is_stop(self) -> bool:
        """Whether stepping through the scenario stops before it, for reading."""
        return self.step.note is not None or self.step.name is not None


@dataclass(frozen=True, slots=True)
class Scenario:
    """A loaded scenario."""

    source: Source
    document: Document
    steps: tuple[PlannedStep, ...]
    teaches: tuple[Taught, ...]

    @property
    def path(self) -> str:
        return self.source.path

    @property
    def title(self) -> str:
        return self.document.title


def load(path: str, vocabulary: Vocabulary) -> Scenario:
    """The scenario in a file; raises FileError with the errors and their places."""
    return loads(read(path), path, vocabulary)


def lessons_folder() -> Path:
    """The folder of the scenarios: ./scenarios, else that of the installed package.

    An editable install has no copy in the package; then the top level of the checkout.
    """
    package = Path(__file__).parents[1]
    places = (Path(FOLDER), package / PACKAGED, package.parent / FOLDER)
    return next((place for place in places if place.is_dir()), places[0])


def found(path: str) -> str:
    """The path for a short name: `err/rnr-retry-exceeded` or `err`."""
    named = Path(path)
    try:
        if named.suffix or named.is_absolute() or named.exists():
            return path
        there = (folder / f"{path}{SUFFIX}" for folder in (Path(), lessons_folder()))
        folder = lessons_folder() / path
        whole = str(folder) if path and folder.is_dir() else path
        return next((str(file) for file in there if file.is_file()), whole)
    except (OSError, ValueError):  # no such path can be: whoever opens it says so
        return path


def short_name(path: str) -> str:
    """The short name for `load`: `err/rnr-retry-exceeded`; the path of other files."""
    try:
        below = Path(path).relative_to(lessons_folder())
    except ValueError:
        return path
    return below.as_posix().removesuffix(SUFFIX)


def read(path: str) -> str:
    """The text of a file, if it is not too large and is UTF-8."""
    try:
        octets = disk.beginning(path, yaml_tree.MAX_OCTETS + 1)
    except OSError as wrong:
        raise FileError(path, f"cannot be read: {wrong.strerror or wrong}") from None
    except ValueError:
        raise FileError(path, "cannot be read: no such path") from None
    if len(octets) > yaml_tree.MAX_OCTETS:
        raise FileError(path, "the file is too large", f"at most {yaml_tree.MAX_OCTETS} bytes")
    try:
        return octets.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as wrong:
        line = octets.count(b"\n", 0, wrong.start) + 1
        raise FileError(path, f"line {line} is not UTF-8", "save it as UTF-8") from None


def is_scenario(octets: bytes) -> bool:
    """Whether these bytes are a scenario; its commands are not checked."""
    if len(octets) > yaml_tree.MAX_OCTETS:
        return False
    try:
        root = yaml_tree.compose(Source("", octets.decode("utf-8-sig")))
        Document.model_validate(yaml_tree.plain(root))
    except (FileError, ValueError):  # those of pydantic and of Unicode are ValueErrors
        return False
    return True


def loads(text: str, path: str, vocabulary: Vocabulary) -> Scenario:
    """The scenario in a text. path: the name of the file in messages."""
    source = Source(path, text)
    root = yaml_tree.compose(source)
    try:
        document = Document.model_validate(yaml_tree.plain(root))
    except ValidationError as wrong:
        shapes = _worst_first(wrong.errors(include_url=False))
        raise _together([_misshapen(source, root, error) for error in shapes]) from None
    planner = _Planner(source, root, vocabulary)
    teaches: tuple[Taught, ...] = ()
    with planner.kept():
        teaches = taught(source, root)
    steps = planner.steps(document)
    planner.check_questions(steps)
    if planner.wrong:
        raise _together(planner.wrong)
    return Scenario(source, document, steps, teaches)


def _together(wrong: list[FileError]) -> FileError:
    """The first error with all others of the file, without duplicates."""
    first, *others = {(str(error)): error for error in wrong}.values()
    first.others = tuple(others)
    return first


# --------------------------------------------------------------------------- shape
_SHAPES = {
    "list_type": ("a list is required here", "begin each item with -"),
    "dict_type": ("a mapping is required here", "write key: value"),
    "model_type": ("a mapping is required here", "write key: value"),
    "model_attributes_type": ("a mapping is required here", "write key: value"),
    "string_type": ("a text is required here", "write it after the key"),
    "too_short": ("this list is empty", "add one"),
    "too_long": ("this list has too many items", "split it into two"),
}


def _worst_first(wrong: list[ErrorDetails]) -> list[ErrorDetails]:
    """Misspelled keys first, then other errors that do not follow from those."""
    unknown = [error for error in wrong if error["type"] == "extra_forbidden"]
    holders = [error["loc"][:-1] for error in unknown]
    rest = [error for error in wrong if error not in unknown and error["loc"] not in holders
            and not (error["type"] == "missing" and error["loc"][:-1] in holders)]  # fmt: skip
    return [*unknown, *rest][:MOST_MISTAKES]


def _misshapen(source: Source, root: Node, wrong: ErrorDetails) -> FileError:
    path = tuple(step for step in wrong["loc"] if step != "[key]")
    kind = wrong["type"]
    if kind == "extra_forbidden":
        key = str(path[-1])
        hint = suggest(key, _keys_at(path))
        message = f"no key {quoted(key)} here"
        if later(key):
            message, hint = f"{quoted(key)} belongs to labs, which are not supported yet", ""
        return source.error(message, hint, yaml_tree.place_of(yaml_tree.key_of(root, path)))
    if kind == "missing":
        message = f"{path[-1]} is missing"
        return source.error(
            message, f"write {path[-1]}: …", yaml_tree.place_of(yaml_tree.find(root, path))
        )
    node = yaml_tree.key_of(root, path) if "[key]" in wrong["loc"] else yaml_tree.find(root, path)
    context: Mapping[str, str] = wrong.get("ctx", {})
    if kind == WRONG:
        if context["key"]:
            node = yaml_tree.key_of(root, (*path, context["key"]))
        return source.error(context["message"], context["hint"], yaml_tree.place_of(node))
    message, hint = _SHAPES.get(kind, (wrong["msg"].lower(), "look at the examples"))
    if kind in ("list_type", "too_short") and path:
        message = f"{path[-1]}: {message}"
    return source.error(message, hint, yaml_tree.place_of(node))


def _keys_at(path: tuple[int | str, ...]) -> list[str]:
    """The valid keys at the place of an unknown one."""
    if len(path) == 1:
        return list(Document.model_fields)
    if path[0] == "nodes":
        return list(Document.node_keys())
    if path[0] == "programs":
        return list(ProgramKeys)
    return list(Link.model_fields if path[0] == "link" else StepKeys)


# --------------------------------------------------------------------------- meaning
class _Planner:
    def __init__(self, source: Source, root: Node, vocabulary: Vocabulary) -> None:
        self.source = source
        self.root = root
        self.vocabulary = vocabulary
        self.read: list[tuple[Spot | PiecedText, Invocation]] = []
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

    def _sensible(self, spot: Spot | PiecedText, question: Question, nouns: Nouns) -> None:
        try:
            check_types(question, nouns)
        except NotUnderstood as wrong:
            self.wrong.append(spot.error(wrong))

    def steps(self, document: Document) -> tuple[PlannedStep, ...]:
        """All steps, the setup first; their mistakes are in `wrong`."""
        found: list[PlannedStep] = []
        for index, step in self._wanted(enumerate(document.setup)):
            node = yaml_tree.find(self.root, ("setup", index))
            found.append(self._planned(step, node, is_setup=True))
        for name in self._wanted(document.programs):
            with self.kept():
                found.append(self._start(name, document))
        for index, step in self._wanted(enumerate(document.steps)):
            node = yaml_tree.find(self.root, ("steps", index))
            found.append(self._planned(step, node, is_setup=False))
        return tuple(found)

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
            Step(do=line), yaml_tree.place_of(key), True, line, spot, 0, (), None, ()
        )

    def _texts_of(self, name: str) -> list[Node]:
        """The scalars that hold the lines of a program."""
        node = yaml_tree.find(self.root, ("programs", name))
        if isinstance(node, MappingNode):
            node = yaml_tree.find(node, ("lines",))
        return list(node.value) if isinstance(node, SequenceNode) else [node]

    def _planned(self, step: Step, node: Node, *, is_setup: bool) -> PlannedStep:
        action = yaml_tree.find(node, (step.action,)) if isinstance(node, MappingNode) else node
        line, spot = self._line(step, action)
        if line:
            with self.kept():
                self._check(step, line, spot)
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
        return PlannedStep(step, place, is_setup, line, spot, code, expect, wire, wire_spots, goal)

    def _questions(self, step: Step, node: Node, key: str) -> tuple[Placed, ...]:
        """The lines of `expect`, or of `goal`, each with its place."""
        said = zip(getattr(step, key) or (), _items(node, key), strict=True)
        found: list[Placed] = []
        for text, item in said:
            with self.kept():
                found.append(Placed(self._expectation(text, item), Spot(self.source, item)))
        return tuple(found)

    def _line(self, step: Step, action: Node) -> tuple[str, Spot]:
        """The command that an action stands for."""
        said = getattr(step, step.action)
        verb = ""
        if step.action == "run":
            verb = self._verb_of_run(said, bounded=step.within is not None)
        elif step.action in ("fault", "checkpoint", "why"):
            verb = f"{step.action} "
        elif step.action == "note":
            return "", Spot(self.source, action)
        return verb + said, Spot(self.source, action, len(verb))

    def _verb_of_run(self, said: str, *, bounded: bool) -> str:
        words = said.split()
        if words and self._moves_time(words[0]):
            return ""
        if not words:
            return "until idle" if bounded else "run"
        return "run "

    def _check(self, step: Step, line: str, spot: Spot) -> None:
        """Check a step: it parses, it touches no file, and its keys fit its action."""
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

    def _moves_time(self, name: str) -> bool:
        command = self.vocabulary.get(name)
        return command is not None and command.facts.moves_time is not None

    def _understood(self, line: str, spot: Spot) -> list[Invocation]:
        """The commands of a line; raises FileError for the last wrong one and stores the others."""
        try:
            return parse(line, self.vocabulary, None, file=True)
        except NotUnderstood:
            found = mistakes(line, self.vocabulary)[:MOST_MISTAKES]
            *others, last = [spot.error(wrong) for wrong in found]
            self.wrong += others
            raise last from None

    def _complaint(self, spot: Spot, message: str, hint: str) -> FileError:
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


__all__ = [
    "ACTIONS", "SUFFIX", "FileError", "PlannedStep", "Scenario", "found", "is_scenario", "load",
    "loads", "read",
]  # fmt: skip
