"""A pane of many lines: only what is seen is drawn."""

from __future__ import annotations

from textual.content import Content

from rdmalab.lab import Lab
from rdmalab.tui.scrolled import Scrolled
from tests.tui.panes.alone import Bench, alone


class Numbers(Scrolled):
    """Lines `line 0` to `line 99999`."""

    def __init__(self, view, *, id: str) -> None:  # type: ignore[no-untyped-def]  # noqa: A002
        super().__init__(view, id=id)
        self.drawn: list[int] = []
        self.note = ""

    def read_rows(self) -> None:
        self.redraw()

    @property
    def lines(self) -> int:
        return 100_000

    def line(self, number: int) -> Content:
        self.drawn.append(number)
        return Content(f"line {number}")

    def heading(self) -> Content | None:
        return Content("heading")

    def status(self) -> Content | None:
        return Content(self.note) if self.note else None

    def is_marked_at(self, number: int) -> bool:
        return number == 7


def numbers(view):  # type: ignore[no-untyped-def]
    return Numbers(view, id="pane")


def rows(bench: Bench) -> list[str]:
    return [line.rstrip() for line in bench.grid]


async def test_only_the_lines_that_are_seen_are_drawn() -> None:
    async with alone(numbers, (40, 10), Lab()) as bench:
        pane = bench.pane
        assert isinstance(pane, Numbers)
        assert rows(bench) == ["heading", *(f"line {n}" for n in range(7)), "line 7", "line 8"][:10]
        assert set(pane.drawn) == set(range(9))
        pane.go_to(50_000)
        await bench.pilot.pause()
        assert rows(bench)[:2] == ["heading", "line 50000"]
        assert max(pane.drawn) < 50_010
        pane.show_lines(50_003, 50_004)
        await bench.pilot.pause()
        assert rows(bench)[1] == "line 50000"  # it is seen already
        pane.show_lines(10, 11)
        await bench.pilot.pause()
        assert "line 10" in rows(bench)


async def test_the_last_line_is_reached_below_heading_and_above_the_status() -> None:
    async with alone(numbers, (40, 10), Lab()) as bench:
        pane = bench.pane
        assert isinstance(pane, Numbers)
        pane.note = "status"
        pane.redraw()
        pane.go_to(1_000_000)
        await bench.pilot.pause()
        assert rows(bench)[-2:] == ["line 99999", "status"]
        assert pane.body == 8
        assert pane.line_at(8) == 99_999
