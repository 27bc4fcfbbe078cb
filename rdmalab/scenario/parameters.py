"""Parameters of a scenario, `${name}` in a text of the file; the file with their values.

Each scalar is substituted on its own, so a value cannot add a key or a list. A substituted scalar
keeps what the file has, so line and column of an error are those of the file.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import NamedTuple

from pydantic import TypeAdapter, ValidationError
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from rdmalab.command import NotUnderstood, Span
from rdmalab.grammar.hints import listed, quoted, suggest
from rdmalab.scenario import yaml_tree
from rdmalab.scenario.model import Document, Params, Section
from rdmalab.scenario.shape_errors import misshapen, worst_first
from rdmalab.scenario.source import MAX_OCTETS, FileError, Source, together

PARAMS = "params"
"""The key of the mapping that declares parameters; nothing in it is substituted."""

_MOST_WRONG = 100  # as many errors as a file reports
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


class FilledText(NamedTuple):
    """A text with its values. spans: for each character its place in the text that was given."""

    text: str
    spans: tuple[tuple[int, int], ...]


def fill(text: str, values: Mapping[str, str], sign: str = "$") -> FilledText:
    """The text with `${name}` replaced; `$${` stands for `${`. sign: the character before `{`.

    A value is not substituted again. Raises NotUnderstood at an unknown name.
    """
    pieces: list[str] = []
    spans: list[tuple[int, int]] = []
    at = 0
    while (start := text.find(f"{sign}{{", at)) >= 0:
        escaped = start > at and text[start - 1] == sign
        lead = start - 1 if escaped else start
        pieces.append(text[at:lead])
        spans += ((n, n + 1) for n in range(at, lead))
        at = start + 2 if escaped else _end(text, start, sign)
        value = f"{sign}{{" if escaped else _value(text, start, at, values)
        pieces.append(value)
        spans += [(lead, at)] * len(value)
    pieces.append(text[at:])
    spans += ((n, n + 1) for n in range(at, len(text)))
    return FilledText("".join(pieces), tuple(spans))


def _end(text: str, start: int, sign: str) -> int:
    """The place after the brace that closes a parameter."""
    end = text.find("}", start)
    if end < 0:
        message = f"{sign}{{ without }}"
        raise NotUnderstood(
            message, Span(start, start + 2), f"write {sign}{{name}}, or {sign * 2}{{"
        )
    return end + 1


def _value(text: str, start: int, end: int, values: Mapping[str, str]) -> str:
    name = text[start + 2 : end - 1]
    if name in values:
        return values[name]
    hint = suggest(name, list(values)) if values else f"declare it below {PARAMS}:"
    if not _NAME.fullmatch(name):
        hint = f"parameters: {listed(list(values))}" if values else "write ${name}"
    raise NotUnderstood(f"no parameter {quoted(name)}", Span(start, end), hint)


def substitute(
    source: Source, root: Node, values: Mapping[str, str], *, sign: str = "$", skip: str = PARAMS
) -> Node:
    """The tree with the parameters of every value replaced; the given tree is not changed.

    values: name → text. sign: `$` for parameters; a lab has `%` for names that are found later.
    skip: the key of the root whose value stays as it is. Raises FileError with all unknown
    names and their places, or if the text becomes larger than a file may be.
    """
    if f"{sign}{{" not in source.text:
        return root
    work = _Substitution(source, values, sign)
    found = work.top(root, skip)
    if work.wrong:
        raise together(work.wrong)
    return found


class _Substitution:
    """One pass over a tree. left: how many characters the values may still add."""

    def __init__(self, source: Source, values: Mapping[str, str], sign: str) -> None:
        self.source = source
        self.values = values
        self.sign = sign
        self.left = MAX_OCTETS
        self.wrong: list[FileError] = []

    def top(self, root: Node, skip: str) -> Node:
        if not isinstance(root, MappingNode):
            return self.node(root)
        pairs = [
            (key, value if key.value == skip else self.node(value))
            for key, value in self._keys(root)
        ]
        return MappingNode(root.tag, pairs, root.start_mark, root.end_mark, root.flow_style)

    def node(self, node: Node) -> Node:
        """The node with its values; the same one if there is nothing to replace."""
        if isinstance(node, MappingNode):
            pairs = [(key, self.node(value)) for key, value in self._keys(node)]
            return MappingNode(node.tag, pairs, node.start_mark, node.end_mark, node.flow_style)
        if isinstance(node, SequenceNode):
            items = [self.node(item) for item in node.value]
            return SequenceNode(node.tag, items, node.start_mark, node.end_mark, node.flow_style)
        assert isinstance(node, ScalarNode)
        return self._scalar(node) if f"{self.sign}{{" in node.value else node

    def _keys(self, node: MappingNode) -> Iterator[tuple[Node, Node]]:
        for key, value in node.value:
            if f"{self.sign}{{" in key.value:
                place = yaml_tree.place_of(key)
                self._keep(self.source.error("a key has no parameters", "write the name", place))
            yield key, value

    def _scalar(self, node: ScalarNode) -> Node:
        written = node.written if isinstance(node, yaml_tree.FilledScalar) else node
        try:
            filled = fill(node.value, self.values, self.sign)
        except NotUnderstood as wrong:
            start, stop = wrong.place
            place = yaml_tree.place_in(self.source, node, start, stop)
            self._keep(self.source.error(wrong.message, wrong.hint, place))
            return node
        self.left -= max(0, len(filled.text) - len(node.value))
        if self.left < 0:
            most = f"at most {MAX_OCTETS:,} characters"
            place = yaml_tree.place_of(node)
            raise self.source.error("the parameters make this file too large", most, place)
        spans = filled.spans
        if isinstance(node, yaml_tree.FilledScalar):
            spans = tuple(node.span(start, stop) for start, stop in spans)
        return yaml_tree.FilledScalar(written, filled.text, spans)

    def _keep(self, wrong: FileError) -> None:
        if len(self.wrong) < _MOST_WRONG:
            self.wrong.append(wrong)


NO_VALUES: Mapping[str, str] = MappingProxyType({})
_PARAMS: TypeAdapter[Params] = TypeAdapter(Params)


def declared(source: Source, root: Node) -> dict[str, str]:
    """The parameters of a file with their defaults; raises FileError for a bad declaration."""
    given = yaml_tree.find(root, (PARAMS,))
    if given is root:
        return {}
    with shaped(source, root, PARAMS):
        params = _PARAMS.validate_python(yaml_tree.plain(given))
    return {name: parameter.default for name, parameter in params.items()}


def filled(source: Source, root: Node, values: Mapping[str, str]) -> Node:
    """The tree with values for its parameters; raises FileError for a name that has none.

    values: name → text, in place of the defaults of the file.
    """
    defaults = declared(source, root)
    for name in values:
        if name not in defaults:
            hint = suggest(name, list(defaults)) if defaults else f"declare it below {PARAMS}:"
            place = yaml_tree.place_of(yaml_tree.key_of(root, (PARAMS,)))
            raise source.error(f"no parameter {quoted(name)}", hint, place)
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
