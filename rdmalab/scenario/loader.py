"""Load a scenario file; every error in it is found here, with its place.

Commands, expressions and wire lines are parsed by the grammar of the prompt, with the vocabulary
given. Only whether a name exists is checked when the scenario runs.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType

from pydantic import TypeAdapter, ValidationError
from yaml.nodes import Node

from rdmalab.grammar.hints import quoted, suggest
from rdmalab.scenario import yaml_tree
from rdmalab.scenario.fabric import Section
from rdmalab.scenario.files import SUFFIX, found, read
from rdmalab.scenario.model import ACTIONS, Document, Params
from rdmalab.scenario.parameters import PARAMS, substitute
from rdmalab.scenario.planned_step import PlannedStep
from rdmalab.scenario.planner import Planner, Vocabulary
from rdmalab.scenario.shape_errors import misshapen, worst_first
from rdmalab.scenario.source import FileError, Source, together
from rdmalab.scenario.teaches import Taught, taught

NO_VALUES: Mapping[str, str] = MappingProxyType({})
_PARAMS: TypeAdapter[Params] = TypeAdapter(Params)


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


def load(path: str, vocabulary: Vocabulary, values: Mapping[str, str] = NO_VALUES) -> Scenario:
    """The scenario in a file; raises FileError with the errors and their places.

    values: of parameters; for others the defaults of the file.
    """
    return loads(read(path), path, vocabulary, values)


def is_scenario(octets: bytes) -> bool:
    """Whether these bytes are a scenario; its commands are not checked."""
    if len(octets) > yaml_tree.MAX_OCTETS:
        return False
    try:
        source = Source("", octets.decode("utf-8-sig"))
        root = filled(source, yaml_tree.compose(source), {})
        Document.model_validate(yaml_tree.plain(root))
    except (FileError, ValueError):  # those of pydantic and of Unicode are ValueErrors
        return False
    return True


def loads(
    text: str, path: str, vocabulary: Vocabulary, values: Mapping[str, str] = NO_VALUES
) -> Scenario:
    """The scenario in a text. path: the name of the file in messages. values: see `load`."""
    source = Source(path, text)
    root = filled(source, yaml_tree.compose(source), values)
    with shaped(source, root):
        document = Document.model_validate(yaml_tree.plain(root))
    planner = Planner(source, root, vocabulary)
    teaches: tuple[Taught, ...] = ()
    with planner.kept():
        teaches = taught(source, root)
    steps = planner.steps(document)
    planner.check_questions(steps)
    if planner.wrong:
        raise together(planner.wrong)
    return Scenario(source, document, steps, teaches)


def filled(source: Source, root: Node, values: Mapping[str, str]) -> Node:
    """The tree with values for its parameters; raises FileError for a name that has none.

    values: name → text, in place of the defaults of the file.
    """
    given = yaml_tree.find(root, (PARAMS,))
    declared: Params = {}
    if given is not root:
        with shaped(source, root, PARAMS):
            declared = _PARAMS.validate_python(yaml_tree.plain(given))
    for name in values:
        if name not in declared:
            hint = suggest(name, list(declared)) if declared else f"declare it below {PARAMS}:"
            place = yaml_tree.place_of(yaml_tree.key_of(root, (PARAMS,)))
            raise source.error(f"no parameter {quoted(name)}", hint, place)
    defaults = {name: parameter.default for name, parameter in declared.items()}
    return substitute(source, root, {**defaults, **values})


@contextmanager
def shaped(
    source: Source, root: Node, *path: str, document: type[Section] = Document
) -> Iterator[None]:
    """A context that makes FileErrors of what pydantic reports of the value at a path."""
    try:
        yield
    except ValidationError as wrong:
        shapes = worst_first(wrong.errors(include_url=False))
        for error in shapes:
            error["loc"] = (*path, *error["loc"])
        raise together([misshapen(source, root, error, document) for error in shapes]) from None


__all__ = [
    "ACTIONS", "SUFFIX", "FileError", "PlannedStep", "Scenario", "found", "is_scenario", "load",
    "loads", "read",
]  # fmt: skip
