"""The layout of scenario files: `rdmalab fmt`. Every word and comment stays, only space changes.

The tokens of the file are written again with the usual space between them. ruamel.yaml would do
this too, but it removes the indentation after `- ` that shows the loops of a program: it changed 17
of 458 scenarios, the tokens change 2.
"""

import yaml
from yaml import tokens as kinds

from rdmalab.grammar.syntax import command_texts
from rdmalab.scenario import yaml_tree
from rdmalab.scenario.source import FileError, Source
from rdmalab.spec.row import dataclass

STEP = 2
"""Columns of one level."""

_BEGINS = (kinds.BlockMappingStartToken, kinds.BlockSequenceStartToken)
_OPENS = (kinds.FlowMappingStartToken, kinds.FlowSequenceStartToken)
_CLOSES = (kinds.FlowMappingEndToken, kinds.FlowSequenceEndToken)
_MARKERS = (kinds.DirectiveToken, kinds.DocumentStartToken, kinds.DocumentEndToken)
_TIGHT = (kinds.ValueToken, kinds.FlowEntryToken, *_CLOSES)  # no space before them
_SCHEMA_LINE = "# yaml-language-server: $schema="
_OPENING, _TURNING, _CLOSING = ("loop", "if"), ("else", "end"), ("end",)  # of a program


def formatted(text: str, path: str) -> str:
    """The text in the usual layout. path: the name of the file in messages.

    Raises FileError for a file that is not plain YAML, or if the result would not be the same
    tree with the same comments.
    """
    before = yaml_tree.plain(yaml_tree.compose(Source(path, text)))
    first = _Writer(text)
    written = first.written()
    second = _Writer(written)
    is_stable = second.written() == written and first.comments == second.comments
    if not is_stable or _tree(path, written) != before:
        raise FileError(path, "this layout cannot be formatted", "write one key a line")
    return written


def with_schema(text: str, schema: str) -> str:
    """The text, with a first line that names its JSON Schema to editors.

    schema: a URL, or a path relative to the file. yaml-language-server reads this line.
    """
    lines = text.splitlines(keepends=True)
    rest = [line for line in lines if not line.startswith(_SCHEMA_LINE)]
    return "".join([f"{_SCHEMA_LINE}{schema}\n", *rest])


def _tree(path: str, text: str) -> object:
    try:
        return yaml_tree.plain(yaml_tree.compose(Source(path, text)))
    except FileError:
        return None


@dataclass(slots=True)
class _Level:
    """An open list or mapping. old, new: its column before and after.

    is_open: it has no end token; it ends with the key that follows. depth: open loops of a program.
    """

    old: int
    new: int
    is_list: bool
    is_open: bool = False
    depth: int = 0


class _Writer:
    """One pass over the tokens of a text. comments: all of them, in order."""

    def __init__(self, text: str) -> None:
        self.text = text if text.endswith("\n") else f"{text}\n"
        self.comments: list[str] = []
        self._lines: list[str] = []
        self._line = ""
        self._levels: list[_Level] = []
        self._columns: dict[int, int] = {}  # old → new, of the levels at the last token
        self._flow = 0
        self._starts = False  # the next token is a key at the start of a line
        self._last: yaml.Token | None = None
        self._end = 0  # of the last token, in the text

    def written(self) -> str:
        """The text in the usual layout."""
        for token in yaml.scan(self.text):
            if isinstance(token, kinds.StreamStartToken):
                continue
            if isinstance(token, kinds.StreamEndToken):
                self._gap(len(self.text), token)
            else:
                self._take(token)
        self._break()
        while self._lines and not self._lines[-1]:
            self._lines.pop()
        return "".join(f"{line}\n" for line in self._lines)

    def _take(self, token: yaml.Token) -> None:
        if isinstance(token, _BEGINS):
            is_list = isinstance(token, kinds.BlockSequenceStartToken)
            self._levels.append(_Level(token.start_mark.column, self._column(token), is_list))
        elif isinstance(token, kinds.BlockEndToken):
            self._close_open_list()
            self._levels.pop()
        elif token.start_mark.index == token.end_mark.index:  # a key without a question mark
            self._key()
        else:
            if isinstance(token, kinds.KeyToken):
                self._key()
            self._write(token)

    def _key(self) -> None:
        if not self._flow:
            self._close_open_list()
            self._starts = True

    def _close_open_list(self) -> None:
        while self._levels and self._levels[-1].is_open:
            self._levels.pop()

    def _column(self, token: yaml.Token) -> int:
        """The new column of a list or a mapping that begins."""
        if not self._levels:
            return 0
        if "\n" in self.text[self._end : token.start_mark.index] or not self._line:
            return self._levels[-1].new + STEP
        return len(self._line) + 1

    # ------------------------------------------------------------------ one token
    def _write(self, token: yaml.Token) -> None:
        if isinstance(token, kinds.BlockEntryToken):
            self._begin_open_list(token)
            self._starts = True
        self._gap(token.start_mark.index, token)
        self._flow += isinstance(token, _OPENS) - isinstance(token, _CLOSES)
        raw = self.text[token.start_mark.index : token.end_mark.index]
        self._end, self._last, self._starts = token.end_mark.index, token, False
        self._columns = {level.old: level.new for level in self._levels}
        if not isinstance(token, kinds.ScalarToken) or "\n" not in raw:
            self._line += raw
        elif token.style in ("|", ">"):
            self._block(raw)
        else:
            first, *others = raw.split("\n")
            self._line += first.rstrip()
            for line in others:
                self._break(keep=True)
                self._line = f"{' ' * self._inner}{line.strip()}" if line.strip() else ""

    def _begin_open_list(self, token: yaml.Token) -> None:
        """A list in the column of its key has no token of its own."""
        level = self._levels[-1] if self._levels else None
        if level is None or not level.is_list:
            column = 0 if level is None else level.new + STEP
            self._levels.append(_Level(token.start_mark.column, column, True, is_open=True))

    @property
    def _inner(self) -> int:
        """The column of a text that goes on in the next line."""
        base = self._levels[-1].new if self._levels else -STEP
        return base + STEP * (1 + self._flow)

    def _block(self, raw: str) -> None:
        """A text below | or >: its lines keep their indentation among themselves."""
        self._end -= len(raw) - raw.rfind("\n")  # the line after it begins in the gap
        head, *lines = raw[: raw.rfind("\n")].split("\n")
        self._line += head.rstrip()
        digits = [int(sign) for sign in head.partition("#")[0] if sign.isdigit()]
        level = self._levels[-1] if self._levels else _Level(-STEP, -STEP, is_list=False)
        if digits:
            old, new = max(level.old, 0) + digits[0], max(level.new, 0) + digits[0]
        else:
            full = [line for line in lines if line.strip(" ")]
            old = len(full[0]) - len(full[0].lstrip(" ")) if full else 0
            new = level.new + STEP
        while lines and not lines[-1].strip(" ") and "+" not in head:
            self._end -= len(lines.pop()) + 1
        for line in lines:
            self._break(keep=True)
            self._line = f"{' ' * new}{line[old:]}" if line[old:] else ""
        if lines and not self._line:
            self._break(keep=True)

    # ------------------------------------------------------------------ between two tokens
    def _gap(self, stop: int, token: yaml.Token) -> None:
        """Write what stands before a token: space, comments, line ends."""
        first, *rest = self.text[self._end : stop].split("\n")
        if first.strip():
            self._trailing(first)
        if not rest:
            self._line += self._space(token)
            return
        for line in rest[:-1]:
            self._between(line, token)
        self._between(rest[-1] if isinstance(token, kinds.StreamEndToken) else None, token)

    def _trailing(self, gap: str) -> None:
        """A comment at the end of a line: in its column, if there is room."""
        comment = gap.strip()
        self.comments.append(comment)
        start = self.text.rfind("\n", 0, self._end) + 1
        column = self._end - start + len(gap) - len(gap.lstrip())
        room = max(column - len(self._line), 2 if self._line else 0)
        self._line += " " * room + comment

    def _between(self, line: str | None, token: yaml.Token) -> None:
        """Begin a line: a comment, an empty one, or None: that of the token."""
        self._break()
        if line is None:
            self._line = " " * self._target(token)
        elif line.strip():
            self.comments.append(line.strip())
            self._line = " " * self._of_comment(line, token) + line.strip()

    def _target(self, token: yaml.Token) -> int:
        """The column of a token that begins a line."""
        if isinstance(token, _MARKERS):
            return 0
        if self._starts and self._levels and not self._flow:
            return self._levels[-1].new
        return self._inner - STEP * isinstance(token, _CLOSES)

    def _of_comment(self, line: str, token: yaml.Token) -> int:
        """The column of a comment: that of the list or mapping where it stood."""
        if self._flow:
            return self._inner
        column = len(line) - len(line.lstrip())
        known = {**self._columns, **{level.old: level.new for level in self._levels}}
        before = [old for old in known if old <= column]
        return known[max(before)] if before else 0

    def _space(self, token: yaml.Token) -> str:
        """The space between the last token and one on the same line."""
        if self._last is None or isinstance(token, _TIGHT) or isinstance(self._last, _OPENS):
            return ""
        if isinstance(self._last, kinds.BlockEntryToken) and isinstance(token, kinds.ScalarToken):
            return " " * (1 + STEP * self._depth(token.value))
        return " "

    def _depth(self, line: str) -> int:
        """Number of loops of a program that are open at a line of it."""
        level = self._levels[-1]
        words = [part.split(maxsplit=1)[0] for part in command_texts(line)]
        level.depth -= bool(words) and words[0] in _TURNING and level.depth > 0
        depth = level.depth
        level.depth += bool(words) and words[0] == "else"
        for number, word in enumerate(words):
            level.depth += word in _OPENING
            level.depth -= number > 0 and word in _CLOSING and level.depth > 0
        return depth

    def _break(self, *, keep: bool = False) -> None:
        """End the line. There is never more than one empty line, and none at the start.

        keep: in a text, where empty lines are part of the text.
        """
        line = self._line if keep else self._line.rstrip(" ")
        if keep or line or (self._lines and self._lines[-1]):
            self._lines.append(line)
        self._line = ""
