"""Load a scenario file; every error in it is found here, with its place.

Commands, expressions and wire lines are parsed by the grammar of the prompt, with the vocabulary
given. Whether a name exists is known when the scenario runs: `mistakes.py` plays it to find out.
"""

from collections.abc import Iterator, Mapping
from dataclasses import field

from yaml.nodes import MappingNode, Node, SequenceNode

from rdmalab.guide.sentences import MOST_PER_ITEM
from rdmalab.scenario import session_file, yaml_tree
from rdmalab.scenario.files import SUFFIX, contents, found, read, text_of
from rdmalab.scenario.include import Includes, Opener, opener_below
from rdmalab.scenario.model import ACTIONS, Document
from rdmalab.scenario.parameters import NO_VALUES, declared, filled, shaped
from rdmalab.scenario.planned_step import PlannedStep
from rdmalab.scenario.planner import Planner, Vocabulary
from rdmalab.scenario.session_file import Damaged
from rdmalab.scenario.session_steps import document_of, steps_of
from rdmalab.scenario.source import MAX_OCTETS, FileError, Source, SourcePlace, together
from rdmalab.spec.row import dataclass

KEY = "teaches"


@dataclass(frozen=True, slots=True)
class Taught:
    """A statement and its binding. line: of its step; 0 for the whole file."""

    statement: str
    place: SourcePlace
    line: int


def taught(source: Source, root: Node) -> tuple[Taught, ...]:
    """All statements of a file in order; raises FileError at a duplicate or above the limit."""
    found: dict[str, Taught] = {}
    for binding in _all(root):
        if binding.statement in found:
            first = found[binding.statement].place.line
            message = f"{binding.statement} is bound already, in line {first}"
            raise source.error(message, "leave one out", binding.place)
        if len(found) == MOST_PER_ITEM:
            message = f"a scenario teaches {MOST_PER_ITEM} statements at most"
            raise source.error(message, "split it into two scenarios", binding.place)
        found[binding.statement] = binding
    return tuple(found.values())


def _all(root: Node) -> Iterator[Taught]:
    yield from _of(root, 0)
    for key in ("setup", "steps"):
        yield from _in_steps(yaml_tree.find(root, (key,)))


def _in_steps(steps: Node) -> Iterator[Taught]:
    """Those of the steps of a list, and of the blocks in it; other files bind their own."""
    for step in _items(steps):
        yield from _of(step, yaml_tree.place_of(step).line)
        if (
            isinstance(step, MappingNode)
            and (block := yaml_tree.find(step, ("steps",))) is not step
        ):
            yield from _in_steps(block)


def _of(node: Node, line: int) -> Iterator[Taught]:
    if isinstance(node, MappingNode):
        below = yaml_tree.find(node, (KEY,))
        for item in _items(below) if below is not node else ():
            yield Taught(item.value, yaml_tree.place_of(item), line)


def _items(node: Node) -> list[Node]:
    return list(node.value) if isinstance(node, SequenceNode) else []


@dataclass(frozen=True, slots=True)
class Scenario:
    """A loaded scenario. included: the texts of the files that it includes, by name.

    is_session: it was packed, and has nothing to be read between its steps.
    """

    source: Source
    document: Document
    steps: tuple[PlannedStep, ...]
    teaches: tuple[Taught, ...]
    included: Mapping[str, str] = field(default_factory=dict)
    is_session: bool = False

    @property
    def path(self) -> str:
        return self.source.path

    @property
    def title(self) -> str:
        return self.document.title


def load(path: str, vocabulary: Vocabulary, values: Mapping[str, str] = NO_VALUES) -> Scenario:
    """The scenario in a file; raises FileError with the errors and their places.

    Or the session in a session file. values: of parameters; for others the defaults of the file.
    """
    octets = contents(path)
    if octets.startswith(session_file.MAGIC):
        return _session(octets, path, vocabulary, values)
    return loads(text_of(octets, path), path, vocabulary, values, opener=opener_below(path))


def _session(
    octets: bytes, path: str, vocabulary: Vocabulary, values: Mapping[str, str]
) -> Scenario:
    """The session in a session file; raises FileError."""
    if values:
        raise FileError(path, "a session file has no parameters", "leave out --set")
    try:
        source = Source(path, session_file.unpacked(octets))
        return Scenario(
            source, document_of(source), steps_of(source, vocabulary), (), is_session=True
        )
    except Damaged as why:
        raise FileError(path, str(why)) from None


def is_scenario(octets: bytes) -> bool:
    """Whether these bytes are a scenario; its commands are not checked."""
    if len(octets) > MAX_OCTETS:
        return False
    try:
        source = Source("", octets.decode("utf-8-sig"))
        root = filled(source, yaml_tree.compose(source), {})
        Document.model_validate(yaml_tree.plain(root))
    except (FileError, ValueError):  # those of pydantic and of Unicode are ValueErrors
        return False
    return True


def loads(
    text: str, path: str, vocabulary: Vocabulary, values: Mapping[str, str] = NO_VALUES, *,
    opener: Opener | None = None,
) -> Scenario:  # fmt: skip
    """The scenario in a text. path: the name of the file in messages. values: see `load`.

    opener: reads the files that it includes; None: it may not include files.
    """
    source = Source(path, text)
    return built(source, yaml_tree.compose(source), vocabulary, values, opener=opener)


def built(
    source: Source, written: Node, vocabulary: Vocabulary, values: Mapping[str, str] = NO_VALUES,
    *, opener: Opener | None = None,
) -> Scenario:  # fmt: skip
    """The scenario of a tree. written: the file, before parameters get their values.

    The other arguments are those of `loads`. Raises FileError with the errors.
    """
    root = filled(source, written, values)
    with shaped(source, root):
        document = Document.model_validate(yaml_tree.plain(root))
    includes = Includes(opener, {**declared(source, written), **values})
    planner = Planner(source, root, vocabulary, includes)
    teaches: tuple[Taught, ...] = ()
    with planner.kept():
        teaches = taught(source, root)
    steps = planner.steps(document)
    planner.check_questions(steps)
    if planner.wrong:
        raise together(planner.wrong)
    return Scenario(source, document, steps, teaches, includes.texts)


__all__ = [
    "ACTIONS", "SUFFIX", "FileError", "PlannedStep", "Scenario", "built", "found", "is_scenario",
    "load", "loads", "read",
]  # fmt: skip
