"""Draw the timeline: commands, checkpoints, branch points, the current time, what is next."""

from rdmalab.shell.styled_text import Line, plain, shown
from rdmalab.shell.tables import CURRENT, DIM, NAME, cut
from rdmalab.views.timeline import Mark, TimelineRow

ASKED, MARKED, FORK, HERE, EVENT, LINE = "●", "◆", "┬", "▲", "┼", "─"
LEGEND = f"{ASKED} command  {MARKED} checkpoint  {FORK} branch point  {HERE} now"
CELLS = 60  # as `show time` draws it
_WIDEST = 4  # columns of one event

Cells = list[tuple[str, str]]


def cells_for(width: int) -> int:
    """How many cells a line of this width has for the timeline; the rest shows what is next."""
    return max(1, width * 3 // 5 - 2)


def lines(row: TimelineRow, width: int) -> list[Line]:
    """The timeline as text, and as a drawing if there is room."""
    said = plain(row.text)
    if width < CELLS + 2:
        return [said]
    return [said, drawn(row, CELLS), plain(LEGEND, DIM)]


def bar(row: TimelineRow, width: int) -> Line:
    """The timeline and what is next, in one line."""
    strip = drawn(row, cells_for(width))
    used = sum(len(text) for _, text in strip) + 1
    room = width - used - len("  ┄▷ next: ") - 3  # an ellipsis in letters is longer
    if room < 12:  # fewer letters say nothing
        return [("", " "), *strip]
    return [("", " "), *strip, (DIM, "  ┄▷ next: "), ("", cut(shown(row.soon), room))]


def drawn(row: TimelineRow, columns: int) -> Line:
    """`├●──●──◆before──┼──▲ now`: what comes after now is dim."""
    step = max(1, min(_WIDEST, columns // len(row.asked)))
    strip = _events(row, step)
    taken = {row.here * step: HERE}
    for mark in row.marks:
        at = row.cell(mark.event) * step
        taken.setdefault(at, MARKED if mark.mark is Mark.CHECKPOINT else FORK)
    for at, letter in taken.items():
        strip[at] = (CURRENT if letter == HERE else NAME, letter)
    _name(row, strip, step, taken)
    line = _joined(strip)
    return [*line, (DIM, " now")] if row.live else line


def _events(row: TimelineRow, step: int) -> Cells:
    strip: Cells = []
    for number, asked in enumerate(row.asked):
        style = DIM if number > row.here else ""
        letter = ASKED if asked else EVENT if step > 1 else LINE
        strip += [(style, letter if number else "├"), *[(style, LINE)] * (step - 1)]
    return strip[: len(strip) - step + 1]


def _name(row: TimelineRow, strip: Cells, step: int, taken: dict[int, str]) -> None:
    """Write the names of checkpoints after them, if no other mark is there."""
    for mark in row.marks:
        at = row.cell(mark.event) * step
        if mark.mark is Mark.CHECKPOINT and taken[at] == MARKED:
            stop = min((other for other in taken if other > at), default=len(strip))
            said = cut(shown(mark.name), stop - at - 1)
            strip[at + 1 : at + 1 + len(said)] = [(NAME, letter) for letter in said]


def _joined(strip: Cells) -> Line:
    """Join neighbours of one style into one fragment."""
    line: Line = []
    for style, letter in strip:
        if line and line[-1][0] == style:
            line[-1] = (style, line[-1][1] + letter)
        else:
            line.append((style, letter))
    return line
