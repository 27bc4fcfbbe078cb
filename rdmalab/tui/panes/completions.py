"""All completion queues as a table: those with completions first, the newest completion on top."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.content import Content
from textual.widgets import DataTable

from rdmalab.tui.content import dim, piece
from rdmalab.tui.node_card import ended
from rdmalab.tui.pane import Pane
from rdmalab.views import fmt
from rdmalab.views.columns import Meaning, cells
from rdmalab.views.completions import CqRow, WcRow

if TYPE_CHECKING:
    from textual import events

    from rdmalab.tui.world_view import WorldView

_TITLES = ("CQ", "wr_id", "status", "opcode", "bytes", "QP", "added", "more")
_ALWAYS, _GAP = 3, 2  # columns that stay in the smallest pane; blanks around a cell
Row = tuple[str, list[Content]]
"""Argument of `why` about the row, and its cells."""


class CompletionsPane(DataTable[Content], Pane):
    """A row a completion; Enter or a click asks `why` about its work request."""

    ALLOW_MAXIMIZE: ClassVar[bool] = True
    twin = "show cq"
    sought = "find a completion: wr7, WR_FLUSH_ERR, A.qp0, a text"

    def __init__(self, view: WorldView, *, id: str) -> None:  # noqa: A002 (Textual's word)
        super().__init__(id=id, cursor_type="row")
        self.view = view
        self._rows: list[Row] = []
        self._drawn: object = None

    def read_rows(self) -> None:
        """Fill the table again if a row differs; the cursor stays in its place."""
        self._rows = table(self.view.view_of("show cq").rows)
        cells = [row for _, row in self._rows]
        drawn = [[cell.markup for cell in row] for row in cells], self.size.width
        if drawn != self._drawn:
            self._drawn, place, used = drawn, self.cursor_row, 0
            self.clear(columns=True)
            for column, title in zip(zip(*cells, strict=True), _TITLES, strict=False):
                width = max(len(title), *(cell.cell_length for cell in column), 1)
                used += width + _GAP
                if used <= self.size.width or len(self.columns) < _ALWAYS:
                    self.add_column(title, width=width)
            for row in cells:
                self.add_row(*row[: len(self.columns)])
            self.move_cursor(row=place, animate=False)

    @property
    def sought_in(self) -> list[str]:
        """The rows of the table."""
        return ["  ".join(cell.plain for cell in cells) for _, cells in self._rows]

    @property
    def found(self) -> int:
        """The row under the cursor."""
        return self.cursor_row

    def show_found(self, number: int) -> None:
        """Move the cursor to the row."""
        self.move_cursor(row=number, animate=False)

    def action_select_cursor(self) -> None:
        """Ask `why` about the work request of the row under the cursor."""
        self._ask(self.cursor_row)

    def on_click(self, event: events.Click) -> None:
        """Ask `why` about the work request of the row that is clicked."""
        self._ask(event.style.meta.get("row", -1))

    def _ask(self, row: int) -> None:
        if 0 <= row < len(self._rows) and (name := self._rows[row][0]):
            self.act("ask", name)


def table(rows: list[object]) -> list[Row]:
    """The rows of the table from those of `show cq`: each CQ, then its completions."""
    queues: list[tuple[CqRow, list[WcRow]]] = []
    for row in rows:
        if isinstance(row, CqRow):
            queues.append((row, []))
        elif isinstance(row, WcRow):
            queues[-1][1].append(row)
    found: list[Row] = []
    for cq, completions in sorted(queues, key=lambda queue: not queue[1]):
        head = f"{cq.name}  {cq.count} of {cq.capacity}"
        for age, each in enumerate(reversed(completions)):
            work = fmt.work_name(each.qp, each.wr_id, is_send=each.is_send)
            last = age == len(completions) - 1
            found.append((work, _cells(each, "" if age else head, is_next=last)))
        if not completions:
            last_one = f"{cq.last.text}, polled" if cq.last is not None else "empty"
            state = piece("overrun", Meaning.FAILED) if cq.dead else dim(last_one)
            found.append((cq.name, [dim(head), Content(), state, *[Content()] * len(_TITLES[3:])]))
    return found


def _cells(row: WcRow, head: str, *, is_next: bool) -> list[Content]:
    by_title = {cell.col.title: cell for cell in cells(row)}
    more = [
        by_title[title].text() for title in ("vendor_err", "imm_data", "inv") if title in by_title
    ]
    more += ["poll_cq returns this one next"] if is_next else []
    status, work = piece(row.status.name, ended(row)), Content(by_title["wr_id"].text())
    texts = [Content(str(by_title[title].value) if title in by_title else "")
             for title in ("opcode", "len", "qp")]  # fmt: skip
    at = dim(fmt.duration(row.at_ns))
    return [Content.styled(head, "bold"), work, status, *texts, at, dim(", ".join(more))]
