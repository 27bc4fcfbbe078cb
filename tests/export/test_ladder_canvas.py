"""Cells, pieces and slanted lines."""

from itertools import pairwise

from rdmalab.export.ladder_canvas import ASCII, SIGNS, UNICODE, Canvas, Ink, Slant, Stroke, draw
from rdmalab.render.meanings import Tone

INK = Ink(Tone.GOOD)


def text_of(canvas: Canvas) -> list[str]:
    rows = range(canvas.top, canvas.top + len(canvas.rows))
    return ["".join(piece.text for piece in canvas.line(y)) for y in rows]


def test_what_is_put_later_covers_and_what_is_outside_is_left_out() -> None:
    canvas = Canvas(6, 2, top=10)
    canvas.put(0, 10, "abcdef", INK)
    canvas.put(2, 10, "XY", Ink(Tone.BAD))
    canvas.put(4, 11, "long", INK)
    canvas.put(0, 12, "nowhere", INK)
    assert text_of(canvas) == ["abXYef", "    lo"]
    assert [piece.ink.tone for piece in canvas.line(10)] == [Tone.GOOD, Tone.BAD, Tone.GOOD]
    canvas.clear(3, 10)
    assert text_of(canvas)[0] == "abX"


def test_signs_become_ascii_of_the_same_width() -> None:
    canvas = Canvas(12, 1, 0, SIGNS)
    canvas.put(0, 0, "✓✗╳◷↺→…é", INK)
    assert text_of(canvas) == ["+xX@^>.?"]


def test_a_slant_falls_by_one_row_after_another() -> None:
    slant = Slant((4, 6, 5))
    cells = [*slant.cells(range(3))]
    assert [number for number, *_ in cells] == [*range(15)]
    assert [*slant.cells(range(1, 2))] == cells[4:10]
    places = [cell[1:] for cell in cells]
    assert [row for row, _ in places] == [0] * 4 + [1] * 6 + [2] * 5
    heights = [row + depth for row, depth in places]
    assert all(low < high for low, high in pairwise(heights))


def test_lines_go_to_both_sides_and_may_stop_on_the_way() -> None:
    canvas = Canvas(12, 2)
    draw(canvas, (0, 0), Slant((5, 5)), 10, Stroke(UNICODE, INK, "▶", to_right=True))
    assert text_of(canvas) == [" ‾‾──_", "      ‾‾──▶"]
    canvas = Canvas(12, 2)
    draw(canvas, (11, 0), Slant((5, 5)), 7, Stroke(UNICODE, INK, "◀", to_right=False))
    assert text_of(canvas) == ["      _──‾‾", "    ◀‾"]


def test_ascii_shows_where_a_line_enters_the_next_row() -> None:
    canvas = Canvas(12, 2)
    draw(canvas, (0, 0), Slant((5, 5)), 10, Stroke(ASCII, INK, ">", to_right=True))
    assert text_of(canvas) == [" ----_", "      \\--->"]
    canvas = Canvas(12, 2)
    draw(canvas, (11, 0), Slant((5, 5)), 10, Stroke(ASCII, INK, "<", to_right=False))
    assert text_of(canvas) == ["      _----", " <---/"]


def test_a_flat_line_has_one_level() -> None:
    canvas = Canvas(8, 1)
    draw(canvas, (0, 0), Slant((6,)), 6, Stroke(UNICODE, INK, "▶", to_right=True))
    assert text_of(canvas) == [" ─────▶"]


def test_what_a_line_has_not_reached_is_dim() -> None:
    canvas = Canvas(8, 1)
    canvas.put(0, 0, "label", INK)
    canvas.fade(0, 0, 5, 2, to_right=True)
    assert [(piece.text, piece.ink.tone) for piece in canvas.line(0)] == [
        ("lab", Tone.GOOD), ("el", Tone.DIM),
    ]  # fmt: skip


def test_a_row_outside_the_canvas_changes_nothing() -> None:
    canvas = Canvas(10, 2, top=4)
    canvas.put(0, 4, "first", Ink())
    canvas.put(0, 5, "second", Ink())
    for y in (2, 3, 6):
        canvas.clear(0, y)
        canvas.fade(y, 0, 10, 0, to_right=True)
    assert ["".join(text for text, _ in canvas.line(y)) for y in (4, 5)] == ["first", "second"]
    assert {ink for y in (4, 5) for _, ink in canvas.line(y)} == {Ink()}
