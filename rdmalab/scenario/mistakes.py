"""All mistakes of a scenario file at once, of every kind: what `rdmalab check` prints.

A file is checked in rounds. A round leaves out what the one before found wrong, so that mistakes
of shape, of words and of names are reported together. At last the rest is played.
"""

from collections.abc import Mapping
from difflib import get_close_matches

from yaml.nodes import MappingNode, Node

from rdmalab.grammar.hints import quoted
from rdmalab.scenario import yaml_tree
from rdmalab.scenario.document import NO_VALUES
from rdmalab.scenario.include import Opener
from rdmalab.scenario.loader import Scenario, built
from rdmalab.scenario.model import Document
from rdmalab.scenario.parameters import PARAMS
from rdmalab.scenario.planner import Vocabulary
from rdmalab.scenario.rehearsal import rehearsed
from rdmalab.scenario.repair import Repair
from rdmalab.scenario.runner import OpenSession
from rdmalab.scenario.shape_errors import MOST_MISTAKES
from rdmalab.scenario.source import FileError, Source, together

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

    def mistakes(self, text: str, path: str, opener: Opener | None = None) -> list[FileError]:
        """The errors of a text in the order of the file, at most MOST_MISTAKES; [] if none.

        path, opener: as for `loads`.
        """
        source = Source(path, text)
        try:
            root = yaml_tree.composed(source)
        except FileError as wrong:
            return wrong.all
        if (misspelled := _misspelled_params(source, root)) is not None:
            return [misspelled]
        repair = Repair(source, root)
        found = yaml_tree.duplicates(source, root)
        if found and (not repair.leave_out(found) or yaml_tree.duplicates(source, repair.root)):
            return together(found).all[:MOST_MISTAKES]
        repair.touched.clear()  # without its second key a step is as good as before
        scenario = self._rounds(repair, opener, found)
        if scenario is not None and len(found) < MOST_MISTAKES:
            found += rehearsed(
                scenario, repair.root, self.open_session, repair.lost, self.profile
            )  # fmt: skip
        return together(found).all[:MOST_MISTAKES] if found else []

    def _rounds(
        self, repair: Repair, opener: Opener | None, found: list[FileError]
    ) -> Scenario | None:
        """The scenario without its mistakes, which are added to `found`; None if none is left."""
        for number in range(_ROUNDS):
            try:
                return built(
                    repair.source, repair.root, self.vocabulary, self.values, opener=opener
                )
            except FileError as wrong:
                new = wrong.all
            found += [e for e in new if not repair.is_consequence(e, is_first=number == 0)]
            if not repair.leave_out(new):
                return None
        return None


def _misspelled_params(source: Source, root: Node) -> FileError | None:
    """The error of a key that is nearly `params`: without that key no value can be judged."""
    keys = {str(key.value): key for key, _ in root.value} if isinstance(root, MappingNode) else {}
    unknown = [] if PARAMS in keys else [name for name in keys if name not in Document.model_fields]
    for name in get_close_matches(PARAMS, unknown, 1, 0.8):
        message = f"no key {quoted(name)} here"
        return source.error(message, f"did you mean {PARAMS}?", yaml_tree.place_of(keys[name]))
    return None
