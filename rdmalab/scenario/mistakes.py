"""All mistakes of a scenario file at once, of every kind: what `rdmalab check` prints.

A file is checked in rounds. A round leaves out what the one before found wrong, so that mistakes
of shape, of words and of names are reported together. At last the rest is played.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import TypeVar

from yaml.nodes import MappingNode, Node

from rdmalab.scenario import yaml_tree
from rdmalab.scenario.include import Opener
from rdmalab.scenario.loader import Scenario, built, load
from rdmalab.scenario.model import Document
from rdmalab.scenario.parameters import NO_VALUES, PARAMS
from rdmalab.scenario.planner import Vocabulary
from rdmalab.scenario.rehearsal import rehearsed
from rdmalab.scenario.repair import Repair
from rdmalab.scenario.runner import OpenSession, Runner
from rdmalab.scenario.shape_errors import MOST_MISTAKES, unknown_key
from rdmalab.scenario.source import FileError, Source, together

Built = TypeVar("Built")
Repairing = TypeVar("Repairing", bound=Repair)
_ROUNDS = 8  # shapes, then words, then what pydantic checks after the keys; each at most twice


class Checker:
    """Checks files against a vocabulary.

    open_session: makes the world in which a file is played. profile: of all nodes, None: that of
    the file. values: of parameters; for others the defaults of the file.
    """

    def __init__(
        self, vocabulary: Vocabulary, open_session: OpenSession, *, profile: str | None = None,
        values: Mapping[str, str] = NO_VALUES,
    ) -> None:  # fmt: skip
        self.vocabulary = vocabulary
        self.open_session = open_session
        self.profile = profile
        self.values = values

    def mistakes_of_session(self, path: str) -> list[FileError]:
        """The first error of a session file, in a list; [] if none."""
        try:
            runner = Runner(load(path, self.vocabulary), self.open_session, profile=self.profile)
        except FileError as wrong:
            return wrong.all[:MOST_MISTAKES]
        found = [result.error for result in runner.run() if result.error is not None]
        runner.session.dispose()
        return found

    def mistakes(self, text: str, path: str, opener: Opener | None = None) -> list[FileError]:
        """The errors of a text in the order of the file, at most MOST_MISTAKES; [] if none.

        path, opener: as for `loads`.
        """
        source = Source(path, text)

        def build(root: Node) -> Scenario:
            return built(source, root, self.vocabulary, self.values, opener=opener)

        def play(scenario: Scenario, repair: Repair, found: list[FileError]) -> None:
            found += rehearsed(
                scenario, repair.root, self.open_session, repair.lost, self.profile
            )  # fmt: skip

        return all_mistakes(source, Repair, _misspelled_params, build, play)


def all_mistakes(
    source: Source, repair_of: Callable[[Source, Node], Repairing],
    misspelled: Callable[[Source, Node], Iterable[FileError]], build: Callable[[Node], Built],
    play: Callable[[Built, Repairing, list[FileError]], None],
) -> list[FileError]:  # fmt: skip
    """The errors of a file in its order, at most MOST_MISTAKES; [] if none.

    misspelled: keys without which nothing can be judged. build: reads a tree, FileError for what it
    finds wrong. play: adds the errors that show when it is played, unless there are enough.
    """
    try:
        root = yaml_tree.composed(source)
    except FileError as wrong:
        return wrong.all
    repair = repair_of(source, root)
    found = [*yaml_tree.duplicates(source, root), *misspelled(source, root)]
    if found and (not repair.leave_out(found) or yaml_tree.duplicates(source, repair.root)):
        return together(found).all[:MOST_MISTAKES]
    repair.touched.clear()  # without its second key a step is as good as before
    read = _without_mistakes(repair, found, build)
    if read is not None and len(found) < MOST_MISTAKES:
        play(read, repair, found)
    return together(found).all[:MOST_MISTAKES] if found else []


def _without_mistakes(
    repair: Repair, found: list[FileError], build: Callable[[Node], Built]
) -> Built | None:
    """The file without its mistakes, which are added to `found`; None if nothing is left."""
    for number in range(_ROUNDS):
        try:
            return build(repair.root)
        except FileError as wrong:
            new = wrong.all
        found += [e for e in new if not repair.is_consequence(e, is_first=number == 0)]
        if not repair.leave_out(new):
            return None
    return None


def _misspelled_params(source: Source, root: Node) -> Iterator[FileError]:
    """The error of a key that is nearly `params`: without that key no value can be judged."""
    keys = {str(key.value): key for key, _ in root.value} if isinstance(root, MappingNode) else {}
    unknown = [] if PARAMS in keys else [name for name in keys if name not in Document.model_fields]
    for name in get_close_matches(PARAMS, unknown, 1, 0.8):
        place = yaml_tree.place_of(keys[name])
        yield source.error(unknown_key(name), f"did you mean {PARAMS}?", place)
