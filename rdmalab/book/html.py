"""HTML text: what is not markup already is escaped, so that a lesson cannot bring its own."""

import html
import re
from collections.abc import Iterable


class Markup(str):
    """Text that is HTML already; only functions of this module make it."""

    # A writer of our own: without this class a text is escaped, so a forgotten call shows a tag and
    # does not run it. A generator is a dependency, and its pages load fonts and scripts.
    __slots__ = ()


def escaped(text: str) -> Markup:
    """The text for the inside of an element or an attribute; Markup as it is.

    Control characters, lone surrogates and marks that turn the direction of writing are replaced.
    """
    if isinstance(text, Markup):
        return text
    return Markup(html.escape(_plain(text)))


# Control characters but line ends, lone surrogates, marks of direction, what no character is.
_HARMFUL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
    "\ufffe\uffff]"
)


def _plain(text: str) -> str:
    return _HARMFUL.sub("\ufffd", text)


_VOID = ("meta", "link", "input", "br", "hr")


def tag(element: str, /, *inside: str, **attributes: str | bool | None) -> Markup:
    """An element. Attributes: `class_` is class, `data_x` is data-x; None and False: left out."""
    given = "".join(_attribute(key, value) for key, value in attributes.items())
    if element in _VOID:
        return Markup(f"<{element}{given}>")
    return Markup(f"<{element}{given}>{''.join(map(escaped, inside))}</{element}>")


def _attribute(key: str, value: str | bool | None) -> str:
    if value is None or value is False:
        return ""
    key = key.rstrip("_").replace("_", "-")
    return f" {key}" if value is True else f' {key}="{escaped(value)}"'


def joined(parts: Iterable[str], between: str = "") -> Markup:
    """All parts, one after the other."""
    return Markup(escaped(between).join(map(escaped, parts)))


def trusted(markup: str) -> Markup:
    """Markup that another module of the program made, such as a drawing."""
    return Markup(_plain(markup))


def folded(summary: str, *inside: str, class_: str = "", is_open: bool = False) -> Markup:
    """A part that opens on a click."""
    head = tag("summary", summary)
    return tag("details", head, *inside, class_=class_ or None, open=is_open)


_SLUG = re.compile(r"[^A-Za-z0-9_.-]+")


def slug(text: str) -> str:
    """The text as an anchor or a part of a file name: letters, digits, `_`, `.`, `-`."""
    return _SLUG.sub("-", text).strip("-.") or "x"
