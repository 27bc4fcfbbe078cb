"""Load a scenario file; every error in it is found here, with its place.

Commands, expressions and wire lines are parsed by the grammar of the prompt, with the vocabulary
given. Only whether a name exists is checked when the scenario runs.
"""

from dataclasses import dataclass

from pydantic import ValidationError

from rdmalab.scenario import yaml_tree
from rdmalab.scenario.files import SUFFIX, found, read
from rdmalab.scenario.model import ACTIONS, Document
from rdmalab.scenario.planned_step import PlannedStep
from rdmalab.scenario.planner import Planner, Vocabulary
from rdmalab.scenario.shape_errors import misshapen, worst_first
from rdmalab.scenario.source import FileError, Source, together
from rdmalab.scenario.teaches import Taught, taught


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
        shapes = worst_first(wrong.errors(include_url=False))
        raise together([misshapen(source, root, error) for error in shapes]) from None
    planner = Planner(source, root, vocabulary)
    teaches: tuple[Taught, ...] = ()
    with planner.kept():
        teaches = taught(source, root)
    steps = planner.steps(document)
    planner.check_questions(steps)
    if planner.wrong:
        raise together(planner.wrong)
    return Scenario(source, document, steps, teaches)


# --------------------------------------------------------------------------- shape


# --------------------------------------------------------------------------- meaning


__all__ = [
    "ACTIONS", "SUFFIX", "FileError", "PlannedStep", "Scenario", "found", "is_scenario", "load",
    "loads", "read",
]  # fmt: skip
