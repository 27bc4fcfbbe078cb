"""A grid of characters to draw on, and slanted lines within a few rows of it."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from rdmalab.render.meanings import Tone

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class Ink(NamedTuple):
    """The look of a character. click: an action and its argument, for what can be clicked."""

    tone: Tone = Tone.PLAIN
    bold: bool = False
    click: tuple[str, str | int] | None = None


class Piece(NamedTuple):
    """A text of one ink."""

    text: str
    ink: Ink


class Glyphs(NamedTuple):
    """levels: a line at the top, in the middle and at the bottom of its cell.

    fall, rise: where a line enters the next row, going to the right or to the left; empty: no sign.
    """

    levels: str
    fall: str
    rise: str
    flat: str
    dash: str
    heads: str
    open_heads: str
    life: str
    idle: str
    dot: str
    cross: str
    bracket: str
    corners: str
    ellipsis: str


UNICODE = Glyphs("‾─_", "", "", "─", "┄", "◀▶", "◁▷", "│", "┊", "●", "╳", "╭│╰", "╭╮╰╯", "…")
ASCII = Glyphs("--_", "\\", "/", "-", ".", "<>", "<>", "|", ":", "o", "X", ".|'", "..''", ".")


SIGNS = str.maketrans(dict(zip("✓✗╳◷↺→…·●▶┄", "+xX@^>.-#>-", strict=True)))
"""ASCII characters for a sign, of the same width."""


class Canvas:
    """Rows of cells, numbered from `top` on; what is put later covers what is there."""

    def __init__(
        self, width: int, height: int, top: int = 0, signs: Mapping[int, str] | None = None
    ) -> None:
        self.width = width
        self.signs = signs  # by which others are replaced, for `str.translate`
        self.top = top
        self.rows: list[dict[int, tuple[str, Ink]]] = [{} for _ in range(height)]

    def seen(self, y: int = 0) -> range:
        """The rows that it has, counted from row `y` on."""
        return range(self.top - y, self.top - y + len(self.rows))

    def put(self, x: int, y: int, text: str, ink: Ink) -> None:
        """Write a text from column `x` of row `y` on; what lies outside is left out."""
        if y in self.seen():
            cells = ((x + n, (letter, ink)) for n, letter in enumerate(text))
            self.rows[y - self.top].update(cell for cell in cells if 0 <= cell[0] < self.width)

    def clear(self, x: int, y: int) -> None:
        """Take away what stands in a row from column `x` on."""
        if y in self.seen():
            row = self.rows[y - self.top]
            self.rows[y - self.top] = {at: cell for at, cell in row.items() if at < x}

    def line(self, y: int) -> list[Piece]:
        """A row as pieces, up to its last sign."""
        row = self.rows[y - self.top]
        cells = [row.get(x, (" ", Ink())) for x in range(max(row, default=-1) + 1)]
        grouped = groupby(cells, key=lambda cell: cell[1])
        pieces = [("".join(letter for letter, _ in part), ink) for ink, part in grouped]
        if not self.signs:
            return [Piece(*piece) for piece in pieces]
        spelled = ((text.translate(self.signs), ink) for text, ink in pieces)
        return [Piece(text.encode("ascii", "replace").decode(), ink) for text, ink in spelled]

    def fade(self, y: int, start: int, stop: int, tip: int, *, to_right: bool) -> None:
        """Dim the cells of a row that a line from one side has not reached."""
        row = self.rows[y - self.top] if y in self.seen() else {}
        for x in range(start, stop):
            if x in row and (x > tip if to_right else x < tip):
                row[x] = row[x][0], Ink(Tone.DIM)


class Slant(NamedTuple):
    """The cells of a line from one lifeline to another, counted from where it begins.

    bends: in how many cells the line passes each row.
    """

    bends: tuple[int, ...]

    @property
    def length(self) -> int:
        return sum(self.bends)

    def cells(self, rows: range) -> Iterator[tuple[int, int, float]]:
        """The cells in some rows: number, row, and how far down the line is in it, from 0 to 1."""
        passed = 0
        for row, bend in enumerate(self.bends):
            if row in rows:
                for cell in range(bend):
                    yield passed + cell, row, cell / bend if bend > 1 else 0.5
            passed += bend


class Stroke(NamedTuple):
    """The look of a line. head: its last character."""

    glyphs: Glyphs
    ink: Ink
    head: str
    to_right: bool


def draw(canvas: Canvas, start: tuple[int, int], slant: Slant, cells: int, style: Stroke) -> None:
    """Draw the first `cells` cells of a line that begins beside column `start`, with its head."""
    (x, y), glyphs, step = start, style.glyphs, 1 if style.to_right else -1
    turn = glyphs.fall if style.to_right else glyphs.rise
    flat = len(slant.bends) == 1
    above = 0
    for cell, row, depth in slant.cells(canvas.seen(y)):
        if cell >= cells:
            break
        enters, above = row > above, row
        sign = glyphs.flat if flat else (enters and turn) or glyphs.levels[min(2, int(depth * 3))]
        sign = style.head if cell == cells - 1 else sign
        canvas.put(x + step * (cell + 1), y + row, sign, style.ink)
