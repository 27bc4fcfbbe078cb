"""Steps of another file: `- include: pair.yaml` in a setup is its setup, in steps its steps.

A file is named relative to the file that includes it, and stands in its folder or below.
"""

import posixpath
from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path
from typing import NamedTuple

from yaml.nodes import Node

from rdmalab.scenario import yaml_tree
from rdmalab.scenario.files import read
from rdmalab.scenario.model import Part
from rdmalab.scenario.parameters import declared, filled, shaped
from rdmalab.scenario.source import FileError, Source
from rdmalab.spec.row import dataclass

MOST_FILES = 100
Opener = Callable[[str], str]
"""The text of a file by its name, relative to the folder of the scenario; raises FileError."""


class Included(NamedTuple):
    """An included file. name: relative to the folder of the scenario."""

    name: str
    source: Source
    root: Node
    part: Part


@dataclass(slots=True)
class Includes:
    """The included files of one scenario. texts: of those that were opened, by name.

    opener: None if the scenario is not a file. values: of the parameters of the scenario.
    """

    opener: Opener | None
    values: Mapping[str, str]
    texts: dict[str, str] = field(default_factory=dict)
    count: int = 0

    def opened(self, given: str, source: Source, node: Node, chain: tuple[str, ...]) -> Included:
        """The file that `include` names. chain: the files that include each other, up to here.

        Raises FileError at the include for a file that cannot be read or includes itself, and in
        the file for its own mistakes.
        """
        name = posixpath.join(posixpath.dirname(chain[-1]), given) if chain else given
        place = yaml_tree.place_of(node)
        if self.opener is None:
            hint = "save the scenario as a file"
            raise source.error("include works only in a scenario that is a file", hint, place)
        if name in chain:
            circle = " → ".join((*chain[chain.index(name) :], name))
            raise source.error(f"{name} includes itself: {circle}", "leave one out", place)
        self.count += 1
        if self.count > MOST_FILES:
            message = f"more than {MOST_FILES} files are included"
            raise source.error(message, "write the steps out", place)
        try:
            text = self.texts[name] = self.texts.get(name) or self.opener(name)
        except FileError as wrong:
            raise source.error(f"{given} {wrong.message}", wrong.hint, place) from None
        above = Path(source.path).parent
        return self._read(name, Source(str(above / given), text))

    def _read(self, name: str, source: Source) -> Included:
        written = yaml_tree.compose(source)
        mine = declared(source, written)
        given = {name: value for name, value in self.values.items() if name in mine}
        root = filled(source, written, given)
        with shaped(source, root):
            part = Part.model_validate(yaml_tree.plain(root))
        return Included(name, source, root, part)


def opener_below(path: str) -> Opener:
    """Opens files in the folder of a scenario, and below; a link out of it is refused."""
    folder = Path(path).parent

    def text(name: str) -> str:
        file = folder / name
        try:
            inside = file.resolve().is_relative_to(folder.resolve())
        except (OSError, ValueError):
            inside = False
        if not inside:
            raise FileError(name, "is a link to a file elsewhere", "copy the file")
        return read(str(file))

    return text
