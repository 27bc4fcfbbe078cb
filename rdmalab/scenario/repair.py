"""A tree without its mistakes: what is wrong is left out, so that the rest can be checked too.

The smallest part is left out that makes the file right again: one expectation, one key, one line of
a program, or the step if its action is wrong. A key that is misspelled gets the name that it stands
for, so that what is below it is checked. The tree that was given is not changed.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from difflib import get_close_matches

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from rdmalab.scenario.field_types import FORMAT
from rdmalab.scenario.model import ACTIONS, NOT_FIRST, Step
from rdmalab.scenario.shape_errors import unknown_key
from rdmalab.scenario.source import FileError, Source, SourcePlace
from rdmalab.spec.row import dataclass

Path = tuple[int | str, ...]

_LISTS_OF_STEPS = ("setup", "steps")
_ASKED = ("predict", "reveal")
_CONDITIONS = ("expect", "wire")
_LISTS_OF_TEXTS = ("expect", "wire", "goal", "teaches")
# Without them the same names exist.
_HARMLESS = ("title", "about", "tags", "teaches", "seed", "link", "outside", "awaited")
_FIRST = "rdmalab"
_MEANT = re.compile(r"did you mean ([\w-]+)\?")  # the hint of an unknown key
_BLOCKS = ("loop", "if", "else", "end")  # lines of programs that others belong to
_HARMLESS_LINE = "sleep 1us"  # in the place of a line of a program; a loop must take time
_ANYTHING = "include"  # no command, so it may have created any object
_REQUIRED_TEXT = "title"
_STOPS = ("rdmalab", "params")  # without these nothing below can be judged
_WORD = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_NAME = re.compile(r"[A-Z]\.[A-Za-z_]\w*", re.ASCII)


@dataclass(slots=True)
class Repair:
    """The tree of a file, and what was left out of it.

    lost: the lines of steps that were left out. touched: where steps begin of which a part was
    left out, as (line, column).
    """

    source: Source
    root: Node
    lost: list[str] = field(default_factory=list)
    touched: set[tuple[int, int]] = field(default_factory=set)

    def is_consequence(self, wrong: FileError, *, is_first: bool) -> bool:
        """Whether an error follows from what was left out before. is_first: in the first round."""
        path = self._path_of(wrong)
        step, rest = _split(path)
        if not step and path and wrong.message == unknown_key(str(path[-1])):
            return False
        if not step:
            return not is_first and self._may_follow(path)
        return self._start_of(step) in self.touched and not _is_text(rest)

    def _may_follow(self, path: Path) -> bool:
        """Whether an error outside of all steps may follow: a list of the file becomes empty."""
        return len(path) < 2

    def leave_out(self, wrong: list[FileError]) -> bool:
        """Leave out what these errors stand in; returns whether the rest can be judged."""
        has_title, before = not self._give_title(), frozenset(self.touched)
        gone: dict[Path, Node | None] = {}
        wrong = [each for each in wrong if not self._begin(each)]
        names = {path: name for each in wrong for path, name in self._meant(each)}
        for each in wrong:
            path = self._path_of(each)
            if path in names:  # what is below it is judged in the next round
                continue
            if not path or path[0] in _STOPS:
                if has_title or path != ("rdmalab",):
                    return False
            elif each.path != self.source.path:
                gone |= dict.fromkeys(self._includes((), self.root))
            else:
                step, rest = _split(path)
                unit, instead = self._unit(step, rest, path, before)
                if unit is None:
                    return False
                gone[unit] = instead
        self.root = self._without(self.root, (), gone)
        self.root = _renamed(self.root, (), names)
        return not _has_empty_list(self.root)

    # ------------------------------------------------------------------ keys that are misspelled
    def _begin(self, wrong: FileError) -> bool:
        """Whether an error is that of the first key, which then is `rdmalab`."""
        root = self.root
        if wrong.message != NOT_FIRST or not isinstance(root, MappingNode) or not root.value:
            return False
        names = [str(key.value) for key, _ in root.value]
        near = get_close_matches(_FIRST, names, 1, 0.8)
        place = root.value[0][0]
        pair = (scalar(_FIRST, place), scalar(str(FORMAT), place))
        rest = list(root.value)
        if near:
            key, value = rest.pop(names.index(near[0]))
            pair = (scalar(_FIRST, key), value)
        self.root = _mapping(root, [pair, *rest])
        return True

    def _meant(self, wrong: FileError) -> Iterator[tuple[Path, str]]:
        """The path of a misspelled key, and its right name, unless that stands beside it."""
        meant = _MEANT.fullmatch(wrong.hint)
        path = self._path_of(wrong)
        if meant is None or not path or wrong.message != unknown_key(str(path[-1])):
            return
        beside = self._node(path[:-1])
        assert isinstance(beside, MappingNode)  # a key is in it
        if wrong.path == self.source.path and meant[1] not in [k.value for k, _ in beside.value]:
            yield path, meant[1]

    def _give_title(self) -> bool:
        """Give a title to a file without one, as the first key; returns whether that was needed."""
        root = self.root
        if not isinstance(root, MappingNode) or not root.value:
            return False
        if any(key.value == _REQUIRED_TEXT for key, _ in root.value):
            return False
        first, *others = root.value
        made = (scalar(_REQUIRED_TEXT, first[0]), scalar("-", first[0]))
        self.root = _mapping(root, [first, made, *others])
        return True

    # ------------------------------------------------------------------ where an error stands
    def _path_of(self, wrong: FileError) -> Path:
        """The path to the innermost node that begins at the place of an error, or before it."""
        place = wrong.place or SourcePlace(1, 1)
        at, node = (place.line, place.column), self.root
        path: list[int | str] = []
        while True:
            steps = [(step, below) for step, start, below in _children(node) if start <= at]
            if not steps:
                return tuple(path)
            step, node = steps[-1]
            path.append(step)

    def _node(self, path: Path) -> Node:
        node = self.root
        for step in path:
            node = next(below for name, _, below in _children(node) if name == step)
        return node

    def _start_of(self, path: Path) -> tuple[int, int]:
        return _start(self._node(path))

    def _unit(
        self, step: Path, rest: Path, path: Path, before: frozenset[tuple[int, int]]
    ) -> tuple[Path | None, Node | None]:
        """Path to leave out for an error at a path, and the node to put there instead.

        before: the steps of which an earlier round has left out a part; None: nothing helps.
        """
        if step:
            unit = self._unit_of_step(step, rest, before)
            return unit, self._conditions(step) if unit == step else None
        instead: Node | None = None
        match path:
            case ("title", *_):
                unit, instead = path[:1], scalar("-", self.root)
            case ("nodes", _, *more):
                self.lost.append("")  # another device model: calls may end otherwise
                unit = path[: 3 if more else 2]
                instead = None if more else MappingNode("", [], self.root.start_mark, None)
            case ("programs", name, *_) if (line := self._program_line(path)) is not None:
                unit, instead = line, scalar(_HARMLESS_LINE, self._node(line))
                self.lost.append(self._written(self._node(line)))
            case ("programs", name, *_):
                self.lost.append(f"program {name} {self._written(self._node(path[:2]))}")
                unit = path[:2]
            case ("nodes" | "setup" | "steps" | "programs",):
                return None, None
            case _:
                unit = path[:1]
                is_harmless = get_close_matches(str(path[0]), _HARMLESS, 1, 0.8)
                self.lost += [] if is_harmless else [_ANYTHING]
        return unit, instead

    def _program_line(self, path: Path) -> Path | None:
        """The path of one line of a program; None if others of its lines depend on it."""
        numbers = [n for n, each in enumerate(path) if isinstance(each, int)]
        if not numbers:
            return None
        line = path[: numbers[0] + 1]
        word = self._written(self._node(line)).split(maxsplit=1)[:1]
        return None if word and get_close_matches(word[0], _BLOCKS, 1) else line

    def _unit_of_step(self, step: Path, rest: Path, before: frozenset[tuple[int, int]]) -> Path:
        begins = self._start_of(step)
        is_shape = begins in before and not _is_text(rest)
        if not rest or rest[0] in ACTIONS or is_shape:
            self.lost.append(self._text(step))
            return step
        if not any(name in ACTIONS for name, _, _ in _children(self._node(step))):
            self.lost.append("" if rest[0] in Step.model_fields else _ANYTHING)  # doo: create_qp …
        self.touched.add(begins)
        return (*step, *rest[: 2 if rest[0] in _LISTS_OF_TEXTS else 1])

    def _conditions(self, step: Path) -> Node | None:
        """A note in place of a step, with its conditions: their names can be checked too.

        In place of a question, or of the answer to one, there is one: else the other is alone.
        """
        node = self._node(step)
        pairs = node.value if isinstance(node, MappingNode) else []
        kept = [(key, value) for key, value in pairs if key.value in _CONDITIONS]
        asked = [key for key, _ in pairs if key.value in _ASKED]
        if not (kept or asked) or not isinstance(node, MappingNode):
            return None
        action = asked[0] if asked else scalar("note", node)
        return _mapping(node, [(action, scalar("-", node)), *kept])

    def _text(self, path: Path) -> str:
        """The line of a step; empty if it is no command that may create an object."""
        node = self._node(path)
        if isinstance(node, ScalarNode):
            return self._written(node)
        below = {name: value for name, _, value in _children(node)}
        if "include" in below or "steps" in below:
            return _ANYTHING
        return self._written(below["do"]) if "do" in below else ""

    def _written(self, node: Node) -> str:
        return self.source.text[node.start_mark.index : node.end_mark.index]

    def _includes(self, path: Path, node: Node) -> Iterator[Path]:
        """The steps that include a file."""
        for step, _, below in _children(node):
            if step == "include":
                self.lost.append(_ANYTHING)
                yield path
            yield from self._includes((*path, step), below)

    # ------------------------------------------------------------------ the smaller tree
    def _without(self, node: Node, path: Path, gone: Mapping[Path, Node | None]) -> Node:
        if isinstance(node, SequenceNode):
            items = [
                left
                for number, item in enumerate(node.value)
                if (left := self._left(item, (*path, number), gone)) is not None
            ]
            return SequenceNode(node.tag, items, node.start_mark, node.end_mark, node.flow_style)
        if not isinstance(node, MappingNode):
            return node
        pairs = [
            (key, left)
            for name, _, key, value in _pairs(node)
            if (left := self._left(value, (*path, name), gone)) is not None
        ]
        return _mapping(node, [pair for pair in pairs if not _is_empty_text_list(*pair)])

    def _left(self, node: Node, path: Path, gone: Mapping[Path, Node | None]) -> Node | None:
        """Node at a path after the repair; None if nothing of it stays."""
        return gone[path] if path in gone else self._without(node, path, gone)


def mentioned(lines: list[str]) -> set[str]:
    """The names in some lines, `A.qp0`."""
    return {name for line in lines for name in _NAME.findall(line)}


def name_at(wrong: FileError) -> str:
    """The name at the place of an error; empty if there is another word."""
    return name_in(_text_at(wrong))


def word_at(wrong: FileError) -> str:
    """The word at the place of an error, without what follows a dot; empty if there is none."""
    found = _WORD.match(_text_at(wrong))
    return found[0] if found else ""


def _text_at(wrong: FileError) -> str:
    """The rest of the line, from the place of an error."""
    lines = wrong.text.split("\n")
    if wrong.place is None or wrong.place.line > len(lines):
        return ""
    return lines[wrong.place.line - 1][wrong.place.column - 1 :]


def name_in(text: str) -> str:
    """The name with which a text begins: `A.qp0` of `A.qp0.state`; empty if there is none."""
    found = _NAME.match(text)
    return found[0] if found else ""


def _split(path: Path) -> tuple[Path, Path]:
    """The path of the innermost step on a path, empty if there is none, and the rest below it."""
    step = 0
    while (
        len(path) > step + 1 and path[step] in _LISTS_OF_STEPS and isinstance(path[step + 1], int)
    ):
        step += 2
    return path[:step], path[step:]


def _is_text(rest: Path) -> bool:
    """Whether a path below a step leads into a line that the grammar of the prompt reads."""
    return bool(rest) and (rest[0] in ACTIONS or (rest[0] in _LISTS_OF_TEXTS and len(rest) > 1))


def _start(node: Node) -> tuple[int, int]:
    return node.start_mark.line + 1, node.start_mark.column + 1


def _pairs(node: MappingNode) -> Iterator[tuple[str, tuple[int, int], Node, Node]]:
    """Name, start, key and value; the second of two equal keys has a name of its own."""
    seen: set[str] = set()
    for number, (key, value) in enumerate(node.value):
        name = str(key.value)
        if not isinstance(key, ScalarNode) or name in seen:
            name = f"{name} {number}"
        seen.add(name)
        yield name, _start(key), key, value


def _children(node: Node) -> Iterator[tuple[int | str, tuple[int, int], Node]]:
    """Children of a node: the step of a path, where it starts, and the node."""
    if isinstance(node, MappingNode):
        yield from ((name, start, value) for name, start, _, value in _pairs(node))
    elif isinstance(node, SequenceNode):
        yield from ((n, _start(item), item) for n, item in enumerate(node.value))


def _mapping(like: MappingNode, pairs: list[tuple[Node, Node]]) -> MappingNode:
    return MappingNode(like.tag, pairs, like.start_mark, like.end_mark, like.flow_style)


def _renamed(node: Node, path: Path, names: Mapping[Path, str]) -> Node:
    """The tree with other names for some keys. names: by the paths of the keys."""
    if isinstance(node, SequenceNode):
        items = [_renamed(item, (*path, number), names) for number, item in enumerate(node.value)]
        return SequenceNode(node.tag, items, node.start_mark, node.end_mark, node.flow_style)
    if not isinstance(node, MappingNode):
        return node
    pairs = []
    for name, _, key, value in _pairs(node):
        below = (*path, name)
        new = scalar(names[below], key) if below in names else key
        pairs.append((new, _renamed(value, below, names)))
    return _mapping(node, pairs)


def scalar(text: str, place: Node) -> ScalarNode:
    """A text in the tree, at the place of a node."""
    return ScalarNode("tag:yaml.org,2002:str", text, place.start_mark, place.start_mark)


def _is_empty_text_list(key: Node, value: Node) -> bool:
    texts = key.value in _LISTS_OF_TEXTS and key.value != "wire"
    return texts and isinstance(value, SequenceNode) and not value.value


def _has_empty_list(root: Node) -> bool:
    """Whether no step is left."""
    return any(step == "steps" and not below.value for step, _, below in _children(root))
