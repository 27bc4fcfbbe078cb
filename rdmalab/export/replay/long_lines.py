"""Lines of a program that are too long, folded after a comma or an operator in parentheses."""

import textwrap
from collections.abc import Iterator

_COMMENTS = ("#", "/*", "* ")
_OPENING, _CLOSING = "([{", ")]}"


WIDTH = 92  # of comments


def wrapped(text: str) -> list[str]:
    """The lines of a text, none longer than WIDTH; empty lines stay."""
    return [line for part in text.splitlines() for line in textwrap.wrap(part, WIDTH) or [""]]


def folded(line: str, width: int, tab: str, tab_width: int) -> list[str]:
    """The line in as many as it needs; one that can be folded nowhere stays as it is.

    tab: what indents the rest, twice, below the line's own indentation. tab_width: its columns.
    """
    indent = line[: len(line) - len(line.lstrip())]
    found: list[str] = []
    if line.lstrip().startswith(_COMMENTS):
        return [line]
    while _columns(line, tab_width) > width:
        most = width - (_columns(line, tab_width) - len(line))
        least = len(indent) + 2 * len(tab) + 1
        at = max((at for at in _breaks(line) if least < at <= most), default=0)
        if not at:
            break
        found.append(line[:at].rstrip())
        line = f"{indent}{tab}{tab}{line[at:].lstrip()}"
    return [*found, line]


def _columns(line: str, tab_width: int) -> int:
    return len(line) + (tab_width - 1) * line.count("\t")


def _breaks(line: str) -> Iterator[int]:
    """Places after a comma or a bar; none in a string, none outside of parentheses."""
    depth, quote, before = 0, "", ""
    for at, sign in enumerate(line):
        if quote:
            quote = "" if sign == quote and before != "\\" else quote
        elif sign in "\"'":
            quote = sign
        elif sign in _OPENING:
            depth += 1
        elif sign in _CLOSING:
            depth -= 1
        elif sign in ",|" and line[at + 1 : at + 2] == " " and (depth > 0 or _goes_on(line)):
            yield at + 2
        before = "" if before == "\\" and sign == "\\" else sign


def _goes_on(line: str) -> bool:
    """Whether the line is a part of something that a parenthesis opened before: it ends so."""
    return line.rstrip().endswith((",", ");", "),", ")"))
