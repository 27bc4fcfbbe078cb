"""Draw the timeline: commands, checkpoints, branch points, the current time, what is next."""

from collections.abc import Mapping

from rdmalab.render.meanings import APPEARANCES
from rdmalab.shell.styled_text import Line, plain, shown
from rdmalab.shell.tables import CURRENT, DIM, NAME, cut
from rdmalab.views.columns import Meaning
from rdmalab.views.timeline import Mark, TimelineRow

ASKED, MARKED, FORK, HERE, LINE = "●", "◆", "┬", "▲", "─"
LEGEND = f"{ASKED} command  {MARKED} checkpoint  {FORK} branch point  {HERE} now"
CELLS = 60  # as `show time` draws it
_WIDEST = 4  # columns of one event

_NONE: Mapping[int, Meaning] = {}
Cells = list[tuple[str, str]]


def lines(row: TimelineRow, width: int) -> list[Line]:
    """The timeline as text, and as a drawing if there is room."""
    text = plain(row.text)
    if width < CELLS + 2:
        return [text]
    return [text, drawn(row, CELLS), plain(LEGEND, DIM)]


def drawn(row: TimelineRow, columns: int, troubles: Mapping[int, Meaning] = _NONE) -> Line:
    """`├●──●──◆before──✗──▲ now`: what comes after now is dim. troubles: by event."""
    step = _step(row, columns)
    strip = _events(row, step)
    for event, meaning in troubles.items():
        strip[row.cell(event) * step] = (
            f"class:{APPEARANCES[meaning].tone}",
            APPEARANCES[meaning].sign,
        )
    taken = {row.here * step: HERE}
    for mark in row.marks:
        at = row.cell(mark.event) * step
        taken.setdefault(at, MARKED if mark.mark is Mark.CHECKPOINT else FORK)
    for at, letter in taken.items():
        strip[at] = (CURRENT if letter == HERE else NAME, letter)
    _name(row, strip, step, taken)
    line = _joined(strip)
    return [*line, (DIM, " now")] if row.live else line


def _step(row: TimelineRow, columns: int) -> int:
    """Columns of one cell."""
    return max(1, min(_WIDEST, columns // len(row.asked)))


def event_at(row: TimelineRow, columns: int, at: int) -> int:
    """The event that `drawn` has in a column; -1 for the start."""
    last = len(row.asked) - 1
    cell = max(0, min(last, at // _step(row, columns)))
    return -(-cell * (row.end + 1) // last) - 1 if cell else -1


def _events(row: TimelineRow, step: int) -> Cells:
    strip: Cells = []
    for number, asked in enumerate(row.asked):
        style = DIM if number > row.here else ""
        letter = ASKED if asked else LINE
        strip += [(style, letter if number else "├"), *[(style, LINE)] * (step - 1)]
    return strip[: len(strip) - step + 1]


def _name(row: TimelineRow, strip: Cells, step: int, taken: dict[int, str]) -> None:
    """Write the names of checkpoints after them, if no other mark is there."""
    for mark in row.marks:
        at = row.cell(mark.event) * step
        if mark.mark is Mark.CHECKPOINT and taken[at] == MARKED:
            stop = min((other for other in taken if other > at), default=len(strip))
            text = cut(shown(mark.name), stop - at - 1)
            strip[at + 1 : at + 1 + len(text)] = [(NAME, letter) for letter in text]


def _joined(strip: Cells) -> Line:
    """Join neighbours of one style into one fragment."""
    line: Line = []
    for style, letter in strip:
        if line and line[-1][0] == style:
            line[-1] = (style, line[-1][1] + letter)
        else:
            line.append((style, letter))
    return line
