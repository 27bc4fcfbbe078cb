"""Why: the reply to the last question, for the current world; its rows link to their events."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from rdmalab.doctor.report import Report
from rdmalab.doctor.rows import RowPart
from rdmalab.shell.show_why import row_lines
from rdmalab.shell.styled_text import fold, plain
from rdmalab.shell.tables import DIM, NAME, WARN
from rdmalab.spec.rules import ERRNO_NAMES
from rdmalab.spec.statuses import WCStatus
from rdmalab.tui.pane import Pane, marked
from rdmalab.views import fmt

if TYPE_CHECKING:
    from textual.timer import Timer

    from rdmalab.doctor.rows import Row
    from rdmalab.session.session import Session
    from rdmalab.shell.styled_text import Line
    from rdmalab.tui.pane import Appearance
    from rdmalab.tui.world_view import WorldView

_QUICK_S = 0.03  # an answer that took longer waits until nothing has moved for a while
_QUIET_S = 0.25
_LAST = (RowPart.RULED_OUT, RowPart.UNKNOWN)
_TOLD = re.compile(rf"\b({'|'.join([*WCStatus.__members__, *ERRNO_NAMES.values()])})\b")


class _Moment(NamedTuple):
    """A place in time; the same one has the same answer."""

    session: Session
    branch: str
    event: int
    at_ns: int


class WhyPane(Pane):
    """`answer`: a report, or why there is none, as it was `as_of`; `at`: the marked row.

    After a jump to an event that the answer names, the answer stays.
    """

    OWN_KEYS: ClassVar = {"Enter": "Go there", "a": "Apply", "e": "Explain", "c": "Checklist"}

    def __init__(self, name: str, stage: WorldView, look: Appearance) -> None:
        super().__init__(name, stage, look)
        self.answer: Report | str = ""
        self.as_of: _Moment | None = None
        self.at = 0
        self._given: Report | None = None  # by the prompt, and seen here
        self._visited: int | None = None  # the event that somebody went to from here
        self._spans: list[tuple[Row, int, int]] = []
        self._took_s = 0.0
        self._timer: Timer | None = None

    # ---- the answer -----------------------------------------------------------------------------

    def title(self) -> Line:
        """The question, and the event of the reply if it is not the current one."""
        self.look_into()
        question = self._question
        line: Line = [(NAME, question)] if question else []
        if self.as_of is not None and self.as_of != self._now():
            gap = "  " if line else ""
            line.append((WARN, f"{gap}as of {fmt.ev(self.as_of.event, 'the start')}"))
        return line

    @property
    def _question(self) -> str:
        asked = self.stage.diagnosis
        return asked.question if asked is not None else ""

    def sentences(self) -> list[str]:
        """The `why` command that prints the same reply."""
        return [f"why {self._question}".strip()]

    def _now(self) -> _Moment:
        session = self.stage.session
        return _Moment(
            session, session.history.branch.name, session.world.event, session.world.now_ns
        )

    def look_into(self) -> None:
        """Evaluate again, if the world or the question has changed."""
        given, now = self.stage.diagnosis, self._now()
        if self.stage.busy:
            return
        if given is not self._given:
            self._given, self._visited, self.at, self.top = given, None, 0, None
            self.as_of = None
            if given is not None and given.event == now.event:
                self.answer, self.as_of = given, now
        if self.as_of is None:
            self._ask(now)
        elif now != self.as_of and not self._is_visit(now):
            self._ask_when_quiet(now)

    def _is_visit(self, now: _Moment) -> bool:
        """Whether the user jumped from here to an event and is still there."""
        asked = self.as_of
        return asked is not None and now[:2] == asked[:2] and now.event == self._visited

    def _ask_when_quiet(self, now: _Moment) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        if self._took_s < _QUICK_S or not self.is_running:
            self._ask(now)
        else:
            self._timer = self.set_timer(_QUIET_S, self._ask_now)

    def _ask_now(self) -> None:
        self._took_s = 0.0
        self.redraw()

    def _ask(self, now: _Moment) -> None:
        started = time.perf_counter()
        self.answer, self.as_of, self._visited = self.stage.consult(self._question), now, None
        self._took_s = time.perf_counter() - started

    # ---- keys -----------------------------------------------------------------------------------

    def own_keys(self) -> list[tuple[str, str]]:
        """Only keys that apply."""
        return [pair for pair in self.OWN_KEYS.items() if self._sentence(pair[0].lower())]

    def says(self, key: str) -> str:
        """The command of a key; after Enter the answer stays while the user is at the event."""
        row = self._row
        self._visited = row.event if key == "enter" and row is not None else None
        return self._sentence(key)

    def _sentence(self, key: str) -> str:
        report, row = self.answer, self._row
        if not isinstance(report, Report):
            return ""
        if key == "enter" and row is not None and row.event is not None:
            return "goto start" if row.event < 0 else f"goto {row.event}"
        if key == "a" and _has_lines(report) and self.as_of == self._now():
            return report.apply
        if key == "e" and (word := _word_of(report, row)):
            return f"explain {word}"
        if key == "c":
            return f"checklist {_list_for(report)} {report.question}".strip()
        return ""

    @property
    def rows(self) -> list[Row]:
        """As the prompt has them, but the fix before all that it is not: there is little room."""
        rows = self.answer.rows if isinstance(self.answer, Report) else []
        return sorted(rows, key=lambda row: row.part in _LAST)

    @property
    def _row(self) -> Row | None:
        rows = self.rows
        return rows[min(self.at, len(rows) - 1)] if rows else None

    def action_move(self, rows: int) -> None:
        """Move the mark by `rows` rows and keep it visible; scroll if no row has a mark."""
        count = len(self._spans)
        if not count:
            super().action_move(rows)
            return
        self.at = max(0, min(count - 1, self.at + rows))
        _, start, stop = self._spans[self.at]
        top = self.top or 0
        self.top = max(0, min(max(top, stop - self.body_height), start))
        self.redraw()

    def on_blur(self) -> None:
        """Follow the world again when another pane gets the focus."""
        if self.app.app_focus:
            self.at, self.top = 0, None

    # ---- drawing --------------------------------------------------------------------------------

    def lines(self, width: int, height: int) -> list[Line]:
        """The rows of the report, the marked one in reverse; a text if there is no report."""
        del height
        self.look_into()
        if not isinstance(self.answer, Report):
            return [plain(self.answer or "…", DIM)]
        lines: list[Line] = []
        self._spans = []
        for at, row in enumerate(self.rows):
            drawn = self.filter.lines(_drawn(row, width))
            is_chosen = self.has_focus and at == self.at
            self._spans.append((row, len(lines), len(lines) + len(drawn)))
            lines += [marked(line, width) for line in drawn] if is_chosen else drawn
        return lines


def _drawn(row: Row, width: int) -> list[Line]:
    """A pane is not copied by line: a fix is cut here like all else."""
    return [part for line in row_lines(row, width) for part in fold(line, width, 2)]


def _word_of(report: Report, row: Row | None) -> str:
    """What can be explained about a row: its check, a status or errno it names; else the cause."""
    if row is not None and row.slug:
        return f"cause {row.slug}"
    if row is not None and (told := _TOLD.search(row.text)):
        return told[1]
    return f"cause {report.chain[0].check.slug}" if report.chain else ""


def _has_lines(report: Report) -> bool:
    return report.remedy is not None and bool(report.remedy.cure.lines)


def _list_for(report: Report) -> str:
    return "no-receive" if ".recv_wr[" in report.name else "no-completion"
