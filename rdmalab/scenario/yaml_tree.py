"""YAML as a tree of texts with places: no tags, anchors, aliases, duplicates or second documents.

Scalars stay text; the grammar of the prompt parses them, not YAML.
"""

import re
from typing import TYPE_CHECKING, Any

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from rdmalab.scenario.source import FileError, Source, SourcePlace, together

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_ITEMS = 20_000  # of one list: a scenario has at most so many steps
_MAX_DEPTH = 12
_ITEM = "- "
_FLOW_PARAMETER = re.compile(r"[\[{][^\"']*\$\{")  # `{a: ${b}}`: YAML ends the text at the {
_BLOCK_SCALAR = re.compile(r"(?:^|[-:] )[|>][-+0-9]*\s*$")  # the lines below it are text

# What PyYAML says → what it means for somebody who writes a lesson. The first that fits is taken.
_SENTENCES = (
    ("mapping values are not allowed here", "this line has a second “: ”",
     "put the text in quotes"),
    ("cannot start any token", "YAML cannot begin a value with this character",
     "put it in quotes"),
    ("expected <block end>", "the indentation does not fit the lines above",
     "items of one list begin in one column"),
    ("could not find expected ':'", "a key without “: ”", "write key: value"),
    ("unknown escape character", "no such escape", "write \\n, \\t or \\x41"),
    ("while scanning a quoted scalar", "this quote is never closed", "end it with the same quote"),
    ("expected ',' or", "a bracket is not closed, or a text is in brackets",
     "write the text in separate lines"),
    ("expected the node content", "a value is missing here", "write key: value"),
    ("did not find expected", "the structure is incomplete here", "look at the line above"),
)  # fmt: skip


class _Loader(yaml.SafeLoader):
    """`compose` with a limit of depth, without aliases, anchors and tags."""

    def __init__(self, source: Source) -> None:
        super().__init__(source.text)
        self.source = source
        self.depth = 0

    def compose_node(self, parent: Node | None, index: int) -> Node | None:
        event: yaml.NodeEvent = self.peek_event()  # type: ignore[no-untyped-call]
        place = _place(event.start_mark)
        if isinstance(event, yaml.AliasEvent):
            raise self.source.error("aliases are not allowed", "write it out again", place)
        if event.anchor is not None:
            raise self.source.error("anchors are not allowed", "leave it out", place)
        if getattr(event, "tag", None) is not None:
            raise self.source.error("tags are not allowed", "leave it out", place)
        if self.depth == _MAX_DEPTH:
            raise self.source.error("nested too deep", f"at most {_MAX_DEPTH} levels", place)
        if isinstance(index, int) and index >= MAX_ITEMS:
            raise _too_long(self.source, place)
        self.depth += 1
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node


def compose(source: Source) -> Node:
    """The file as a tree; raises FileError if it is not plain YAML."""
    node = composed(source)
    if wrong := duplicates(source, node):
        raise together(wrong)
    return node


def composed(source: Source) -> Node:
    """The file as a tree, in which a key may be given twice; raises FileError."""
    loader: _Loader | None = None
    _refuse_long_lists(source)
    try:
        loader = _Loader(source)
        node = loader.get_single_node()
    except yaml.composer.ComposerError as wrong:
        mark = wrong.problem_mark or wrong.context_mark
        hint = "one scenario a file; leave out everything from ---"
        raise source.error("a second document begins here", hint, _place(mark)) from None
    except yaml.MarkedYAMLError as wrong:
        raise _in_words(source, wrong) from None
    except yaml.reader.ReaderError as wrong:
        raise source.error(
            "a character that YAML does not allow", "leave it out", _at(source.text, wrong.position)
        ) from None
    except (ValueError, OverflowError):  # \U escapes beyond Unicode, version numbers without end
        place = _place(loader.get_mark()) if loader else None
        raise source.error("no such escape", "write \\n, \\t or \\x41", place) from None
    finally:
        if loader is not None:
            loader.dispose()
    if node is None:
        raise source.error("the file is empty", "it begins with rdmalab: 1")
    if joined := list(_too_deep(source, node, source.text.split("\n"))):
        raise together(joined)
    return node


def _refuse_long_lists(source: Source) -> None:
    """Raise FileError for a list (one item a line) above the limit of items.

    YAML is composed at some 20,000 nodes a second; counting lines is fast.
    """
    counts: dict[int, int] = {}  # items so far, by the column of their list
    text_below: int | None = None  # the column of the key of a block scalar
    for number, line in enumerate(source.text.split("\n"), 1):
        text = line.lstrip(" ")
        column = len(line) - len(text)
        if not text or (text_below is not None and column > text_below):
            continue
        text_below = column if _BLOCK_SCALAR.search(text) else None
        is_item = text.startswith(_ITEM)
        for ended in [c for c in counts if c > column or (c == column and not is_item)]:
            del counts[ended]
        if is_item:
            counts[column] = counts.get(column, 0) + 1
            if counts[column] > MAX_ITEMS:
                raise _too_long(source, SourcePlace(number, column + 1))


def _line_at(source: Source, place: SourcePlace | None) -> str:
    lines = source.text.split("\n")
    return lines[place.line - 1] if place is not None and place.line <= len(lines) else ""


def _too_long(source: Source, place: SourcePlace | None) -> FileError:
    return source.error(
        f"more than {MAX_ITEMS:,} items in one list", "split it into two files", place
    )


def _in_words(source: Source, wrong: yaml.MarkedYAMLError) -> FileError:
    text = f"{wrong.context or ''} {wrong.problem or ''}"
    mark = wrong.problem_mark or wrong.context_mark
    if wrong.context_mark is not None and ("quoted scalar" in text or "simple key" in text):
        mark = wrong.context_mark
    place = _place(mark)
    if "\\t" in text:
        return source.error("a tab is not allowed here", "indent with spaces", place)
    if "expected ',' or" in text and _FLOW_PARAMETER.search(_line_at(source, place)):
        return source.error("a parameter in brackets without quotes", 'write "${name}"', place)
    opened = _place(wrong.context_mark)
    if place and opened and opened.line != place.line and "expected ',' or" in text:
        return source.error("this bracket is not closed", "put the text in quotes", opened)
    for sign, message, hint in _SENTENCES:
        if sign in text:
            return source.error(message, hint, place)
    return source.error(f"not valid YAML: {wrong.problem}", "look at the line above", place)


def duplicates(source: Source, node: Node) -> list[FileError]:
    """An error for each key that a mapping has twice, and each that is not a word."""
    found: list[FileError] = []
    if isinstance(node, MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            if not isinstance(key, ScalarNode):
                place = _place(key.start_mark)
                found.append(source.error("a key is a word", "write key: value", place))
            elif key.value in seen:
                message = f'"{key.value}" is given twice'
                found.append(source.error(message, "leave one out", place_of(key)))
            else:
                seen.add(key.value)
            found += duplicates(source, value)
    elif isinstance(node, SequenceNode):
        for item in node.value:
            found += duplicates(source, item)
    return found


def _too_deep(source: Source, node: Node, lines: list[str]) -> "Iterator[FileError]":
    """An error for each item that YAML joins to the text of the item above."""
    if isinstance(node, MappingNode):
        for _, value in node.value:
            yield from _too_deep(source, value, lines)
    elif isinstance(node, SequenceNode):
        column = node.start_mark.column + 1
        for item in node.value:
            yield from _too_deep(source, item, lines)
            if isinstance(item, ScalarNode) and not (item.style or node.flow_style):
                yield from _swallowed(source, item, column, lines)


def _swallowed(
    source: Source, item: ScalarNode, column: int, lines: list[str]
) -> "Iterator[FileError]":
    """An error for the first line of a text below its first that looks like an item."""
    first, last = item.start_mark.line + 1, item.end_mark.line + 1
    for number, line in enumerate(lines[first:last], first + 1):
        text = line.lstrip(" ")
        if text.startswith(_ITEM):
            place = SourcePlace(number, len(line) - len(text) + 1)
            message = "this line is indented deeper than the list above"
            yield source.error(message, f"begin it in column {column}", place)
            return


class FilledScalar(ScalarNode):
    """A scalar with the values of its parameters.

    written: the scalar of the file. spans: for each character of `value` its start and stop
    in the value of `written`.
    """

    def __init__(self, written: ScalarNode, value: str, spans: tuple[tuple[int, int], ...]) -> None:
        super().__init__(written.tag, value, written.start_mark, written.end_mark, written.style)
        self.written = written
        self.spans = spans

    def span(self, start: int, stop: int) -> tuple[int, int]:
        """Start and stop in the value of `written` for characters [start, stop) of `value`."""
        end = len(self.written.value)
        if start >= len(self.spans):
            return end, end + stop - start
        last = max(start, min(stop, len(self.spans)) - 1)
        return self.spans[start][0], self.spans[last][1]


def plain(node: Node) -> object:
    """Dicts, lists and texts."""
    if isinstance(node, MappingNode):
        return {key.value: plain(value) for key, value in node.value}
    if isinstance(node, SequenceNode):
        return [plain(item) for item in node.value]
    return node.value


def find(node: Node, path: "tuple[int | str, ...]") -> Node:
    """The node at the end of a path, or the last one on it that exists; a key for a bad key."""
    for step in path:
        below = _below(node, step)
        if below is None:
            break
        node = below
    return node


def _below(node: Node, step: int | str) -> Node | None:
    if isinstance(node, MappingNode):
        for _, value in _pairs(node, step):
            return value
    if isinstance(node, SequenceNode) and isinstance(step, int) and step < len(node.value):
        return node.value[step]  # type: ignore[no-any-return]
    return None


def key_of(node: Node, path: "tuple[int | str, ...]") -> Node:
    """The key at the end of a path; the value where there is none."""
    parent = find(node, path[:-1])
    if isinstance(parent, MappingNode) and path:
        for key, _ in _pairs(parent, path[-1]):
            return key
    return find(node, path)


def _pairs(node: MappingNode, name: int | str) -> "Iterator[tuple[Node, Node]]":
    return ((key, value) for key, value in node.value if key.value == name)


# --------------------------------------------------------------------------- places
def _place(mark: Any) -> SourcePlace | None:
    return None if mark is None else SourcePlace(mark.line + 1, mark.column + 1)


def _at(text: str, index: int) -> SourcePlace:
    before = text[:index]
    return SourcePlace(before.count("\n") + 1, index - (before.rfind("\n") + 1) + 1)


def place_of(node: Node) -> SourcePlace:
    """The place of a node; the whole scalar if it is on one line."""
    start, end = node.start_mark, node.end_mark
    one_line = isinstance(node, ScalarNode) and start.line == end.line
    length = end.column - start.column if one_line else 1
    return SourcePlace(start.line + 1, start.column + 1, max(1, length))


def place_in(source: Source, node: Node, start: int, stop: int) -> SourcePlace:
    """The place of characters [start, stop) of a scalar's value in the file."""
    if isinstance(node, FilledScalar):
        start, stop = node.span(start, stop)
        node = node.written
    if not isinstance(node, ScalarNode) or not node.value:
        return place_of(node)
    columns = _indexes(source.text, node)
    first = columns[min(start, len(columns) - 1)] + max(0, start - len(columns) + 1)
    place = _at(source.text, first)
    last = columns[min(max(stop - 1, start), len(columns) - 1)] + 1
    same_line = "\n" not in source.text[first:last]
    return SourcePlace(place.line, place.column, max(1, last - first) if same_line else 1)


def _indexes(text: str, node: ScalarNode) -> list[int]:
    """The position in the file of each character of the value.

    Quotes, escapes, indentation and folded lines are skipped.
    """
    at, end = node.start_mark.index, node.end_mark.index
    if node.style in ("|", ">"):
        at = text.find("\n", at, end) + 1
    elif node.style is not None:
        at += 1
    found: list[int] = []
    for character in node.value:
        wanted = "\n" if character == " " and text[at : at + 1] in ("\n", "\r") else character
        there = text.find(wanted, at, end)
        if there < 0 or (wanted != "\n" and text[at:there].strip(" \t\r\n\\'")):
            there = min(at, end)
        found.append(there)
        at = min(there + 1, end)
    return found
