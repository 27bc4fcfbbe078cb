"""Text for Textual's widgets: meanings, lines of the shell, clicks, and lines that fit.

Whole parts are left out where there is no room; no value is cut.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from textual.content import Content

from rdmalab.render.meanings import APPEARANCES, Tone

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rdmalab.shell.styled_text import Line
    from rdmalab.views.columns import Meaning
    from rdmalab.views.memory import HexRow

# The styles of the lines of the shell, in the tones of the theme.
STYLES = {
    **{tone.value: f"${tone.value}" for tone in Tone},
    "title": "bold $event", "note": "", "error": "bold $bad", "caret": "bold $bad",
    "warn": "bold $odd", "number": "", "name": "bold", "string": "$good", "hint": "italic $dim",
    "state.current": "bold $busy", "touched": "reverse", "marked": "reverse",
    "pygments.keyword": "bold $event", "pygments.name.function": "bold $event",
    "pygments.name.constant": "$odd", "pygments.name.attribute": "$good",
    "pygments.name.variable": "bold", "pygments.literal.number": "$key",
    "pygments.literal.string": "$good", "pygments.comment": "italic $dim",
    "pygments.error": "underline $bad",
}  # fmt: skip


def style(meaning: Meaning) -> str:
    """The markup style of a meaning: `bold $bad`. The themes have a variable for each tone."""
    appearance = APPEARANCES[meaning]
    return f"bold ${appearance.tone}" if appearance.bold else f"${appearance.tone}"


def piece(text: str, meaning: Meaning, click: str = "") -> Content:
    """A text with the sign and the colour of its meaning. click: as made by `click`."""
    sign = APPEARANCES[meaning].sign
    return Content.styled(f"{sign} {text}" if sign else text, f"{style(meaning)} {click}".strip())


def click(action: str, *arguments: object) -> str:
    """The style of a text that a click does something with: an action of the App."""
    return f"@click=app.{action}({', '.join(map(repr, arguments))})"


_NAMED = re.compile(
    r"\bev (?P<event>\d+)|\b(?P<thing>[A-Z]\w*\.[a-z]+\d\w*)"
    r"|\b(?P<word>[A-Z]{2,}(?:_[A-Z]+)+|RESET|INIT|RTR|RTS|SQD|SQE|ERR|PSN|MSN|psn|[lr]key"
    r"|path_mtu|max_(?:dest_)?rd_atomic|retries|ack timeout|RNR)\b"
)
_MEANT = {"retries": "retry_cnt", "ack timeout": "timeout"}  # what explain calls it


def linked(line: Content) -> Content:
    """The text, in which events, objects and words of RDMA react to a click, as all others do."""
    for found in _NAMED.finditer(line.plain):
        start, stop = found.span()
        if any("@click" in str(span.style) for span in line.spans
               if span.start < stop and start < span.end):  # fmt: skip
            continue
        if event := found["event"]:
            about = click("event", int(event))
        elif thing := found["thing"]:
            about = click("open", f"show {thing}")
        else:
            about = click("explain", _MEANT.get(found[0], found[0]))
        line = line.stylize(about, start, stop)
    return line


def content(line: Line) -> Content:
    """A line of the shell."""
    return Content.assemble(*((text, _markup(words)) for words, text in line))


def contents(lines: Iterable[Line]) -> Content:
    """Lines of the shell, one below the other."""
    return Content("\n").join(map(content, lines))


def _markup(words: str) -> str:
    lines = (STYLES.get(word.removeprefix("class:"), "") if ":" in word else word
            for word in words.split())  # fmt: skip
    return " ".join(filter(None, lines))


Ranked = list[tuple[int, Content]]
"""Lines from top to bottom, each with its rank: those of high rank go first."""

WRITTEN, READ = "bold reverse $busy", "bold underline $busy"


def first_fit(width: int, *forms: Content) -> Content:
    """The first form that fits; the last one, the shortest, where none does."""
    return next((form for form in forms if form.cell_length <= width), forms[-1])


def filled(width: int, parts: Iterable[Content], gap: str = "  ") -> Content:
    """The parts that fit in one line, in their order; an empty part takes no room."""
    line = Content()
    for part in filter(None, parts):
        longer = Content.assemble(line, gap, part) if line else part
        line = longer if longer.cell_length <= width else line
    return line


def at_right(line: Content, part: Content, width: int, gap: int = 2) -> Content:
    """A line with a part at the right edge, or without the part if it does not fit."""
    space = width - line.cell_length - part.cell_length
    return Content.assemble(line, " " * space, part) if space >= gap else line


def dim(text: str) -> Content:
    """A text that can be left unread."""
    return Content.styled(text, "$dim")


def event_link(number: int, before: str = "") -> Content:
    """`ev 28`; a click opens what happened in the event."""
    return Content.styled(f"{before}ev {number}", f"$event {click('event', number)}")


def sign_of(meaning: Meaning, about: str = "") -> Content:
    """The sign of a meaning alone."""
    return piece("", meaning, about).rstrip()


def hex_line(row: HexRow, start: int, count: int, name: str = "") -> Content:
    """Bytes start … start + count of a row: offset, hexadecimal, text.

    name: stands before the offset. The dots at the end of the text are left out then.
    """
    octets = range(start, min(start + count, len(row.octets)))
    styles = [WRITTEN if at in row.written else READ if at in row.read else
              "" if row.octets[at] else "$dim" for at in octets]  # fmt: skip
    chars = [chr(row.octets[at]) if 0x20 <= row.octets[at] < 0x7F else "·" for at in octets]
    cells = [(f"{row.octets[at]:02x}", style) for at, style in zip(octets, styles, strict=True)]
    spaced = [part for cell in cells for part in (" ", cell)]
    text = Content.assemble(*zip(chars, styles, strict=True))
    blank = " " * 3 * (count - len(octets))
    offset = (f"+{row.offset + start:03x}", "$dim")
    head = Content.assemble((name, "bold"), offset, *spaced, blank)
    return Content.assemble(head, " ", text.rstrip("·") if name else text)
