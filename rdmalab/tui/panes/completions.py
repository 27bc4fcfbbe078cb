"""All completion queues: fill level and completions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdmalab.shell.show import render_rows
from rdmalab.shell.show_objects import wc_table
from rdmalab.shell.tables import DIM
from rdmalab.tui.pane import Pane
from rdmalab.views.completions import CqRow, WcRow

if TYPE_CHECKING:
    from rdmalab.shell.styled_text import Line

_SPARE = 8  # with fewer rows the headings go


class CompletionsPane(Pane):
    """All CQs of both nodes, one below the other."""

    def sentences(self) -> list[str]:
        """The command that prints all CQs."""
        return ["show cq"]

    def lines(self, width: int, height: int) -> list[Line]:
        """Each CQ with a table of its completions; a hint if there is no CQ."""
        view = self.stage.look("show cq")
        if not view.rows:
            return [[(DIM, view.hint)]]
        lines: list[Line] = []
        for cq, wcs in _by_queue(view.rows):
            if lines and height >= _SPARE:
                lines.append([])
            lines += render_rows([cq], width)
            lines += wc_table(wcs)[0 if height >= _SPARE else 1 :] if wcs else []
        return self.filter.lines(lines)


def _by_queue(rows: list[object]) -> list[tuple[CqRow, list[WcRow]]]:
    found: list[tuple[CqRow, list[WcRow]]] = []
    for row in rows:
        if isinstance(row, CqRow):
            found.append((row, []))
        elif isinstance(row, WcRow):
            found[-1][1].append(row)
    return found
