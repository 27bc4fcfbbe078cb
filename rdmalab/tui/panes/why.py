"""The pane Why: the answer to the last question, for the current world, with its events."""

from __future__ import annotations

import time
from itertools import groupby, zip_longest
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from textual.binding import Binding, BindingType

from rdmalab.doctor.report.report import Report
from rdmalab.doctor.report.rows import Row, RowPart, meaning
from rdmalab.render.meanings import APPEARANCES
from rdmalab.shell.show_why import tagged
from rdmalab.shell.styled_text import Line, plain, shown
from rdmalab.tui.content import contents, style
from rdmalab.tui.list_pane import ListPane
from rdmalab.tui.pacing import after
from rdmalab.tui.screens.answers import why_keys
from rdmalab.tui.screens.checklist import Checklist
from rdmalab.views import fmt
from rdmalab.views.columns import Meaning

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterator

    from textual.content import Content

    from rdmalab.tui.screens.page import PageKey
    from rdmalab.tui.world_view import Moment, WorldView

_QUICK_S = 0.03  # an answer that took longer waits until nothing has moved for a while
_QUIET_S = 0.25
_ROOMY = 60  # columns from which the labels have a column of their own
_COLUMN = 12
_LAST = (RowPart.RULED_OUT, RowPart.UNKNOWN)
_LABELS = {
    RowPart.EVIDENCE: "evidence", RowPart.SYMPTOM: "effect", RowPart.WAIT: "waits",
    RowPart.UNKNOWN: "unknown", RowPart.ASK: "ask", RowPart.LINE: "",
}  # fmt: skip


class Entry(NamedTuple):
    """A row of the answer.

    label: the word at its left, empty where that above holds. event: the one at its right.
    """

    label: str
    text: str
    row: Row
    meaning: Meaning = Meaning.PLAIN
    event: int | None = None


def entries(report: Report) -> Iterator[Entry]:
    """Verdict, cause, evidence, rule, effect, warnings, fix; then what was ruled out."""
    for part, group in groupby(_causes_apart(report), key=lambda row: row.part):
        rows = list(group)
        if part is RowPart.CAUSE:
            yield from _cause(rows, max(1, len(report.causes)))
            continue
        for at, row in enumerate(rows):
            label = _LABELS.get(part, row.lead.strip(" :"))
            text = f"{row.lead}{row.text}" if part is RowPart.WAIT else row.text
            is_first = at == 0 or part not in (RowPart.EVIDENCE, RowPart.LINE)
            yield Entry(label if is_first else "", text, row, meaning(row), row.event)


def _order(entry: Entry) -> int:
    """Verdict, cause, fix, then what speaks for the cause."""
    if entry.row.part in (RowPart.STANDING, RowPart.WARNING):
        return 0
    if entry.label == "cause":
        return 1
    return 2 if entry.row.part in (RowPart.FIX, RowPart.LINE) else 3


def _causes_apart(report: Report) -> Iterator[Row]:
    """The rows of an answer; the evidence of a cause counts as a part of the cause."""
    is_cause = False
    for row in sorted(report.rows, key=lambda row: row.part in _LAST):
        is_cause = row.part is RowPart.CAUSE or (is_cause and row.part is RowPart.EVIDENCE)
        yield row._replace(part=RowPart.CAUSE) if is_cause else row


def _cause(rows: list[Row], roots: int) -> Iterator[Entry]:
    """Each cause: the first fact that shows it, more facts, the rule; after the roots, effects."""
    for row, *facts in _split(rows):
        about, _, rule = row.text.partition(": ")
        first = facts[0] if facts else row._replace(text=rule)
        is_root = row.number <= roots
        label, meant = ("cause", Meaning.NAME) if is_root else ("effect", Meaning.PLAIN)
        yield Entry(label, f"{first.text}  ({row.lead}{about})", row, meant, first.event)
        for at, fact in enumerate(facts[1:]):
            yield Entry("" if at else "evidence", fact.text, fact, event=fact.event)
        if facts:
            yield Entry("rule", rule, row, Meaning.DIM)


def _split(rows: list[Row]) -> Iterator[list[Row]]:
    """The rows of each cause: those of its evidence have no number."""
    starts = [at for at, row in enumerate(rows) if row.number]
    yield from (rows[start:stop] for start, stop in zip_longest(starts, starts[1:]))


def drawn(entry: Entry, width: int) -> Content:
    """An entry in its lines; later lines are indented."""
    appearance = APPEARANCES[entry.meaning]
    label = f"{appearance.sign} {entry.label}" if appearance.sign else entry.label
    label_style = style(entry.meaning if appearance.sign else Meaning.EVENT)
    text_style = style(entry.meaning) if entry.meaning in (Meaning.DIM, Meaning.NAME) else ""
    narrow = min(_COLUMN, len(label) + (2 if label else 3))
    gap = max(_COLUMN if width >= _ROOMY else narrow, len(label) + 1)
    line: Line = [(label_style, label.ljust(gap)), (text_style, shown(entry.text))]
    hang = (_COLUMN if width >= _ROOMY else 3) if label else 2
    return contents(tagged(line, entry.event, width, hang))


class WhyPane(ListPane):
    """`answer`: a report, or why there is none, as it was `as_of`.

    After a visit to an event that the answer names, the answer stays.
    """

    COMMANDS = "gace"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("g", "use('g')", "Go to event"),
        Binding("a", "use('a')", "Apply the fix"),
        Binding("c", "use('c')", "Checklist"),
        Binding("e", "use('e')", "Explain"),
    ]

    def __init__(self, view: WorldView, *, id: str) -> None:  # noqa: A002 (Textual's word)
        super().__init__(view, id=id)
        self.answer: Report | str = ""
        self.as_of: Moment | None = None
        self.entries: list[Entry] = []
        self._given: Report | None = None  # by the prompt, and seen here
        # The failure that `why` alone found first.
        self._reported: tuple[str, int | None] | None = None
        self._visited: int | None = None  # the event that somebody went to from here
        self._took_s = 0.0
        self._awaited: Moment | None = None  # asked about when the timer ends
        self._timer: asyncio.TimerHandle | None = None

    # ---- the answer -----------------------------------------------------------------------------

    @property
    def question(self) -> str:
        """Text of the last question; empty: `why` without an argument."""
        asked = self.view.model.diagnosis
        return asked.question if asked is not None else ""

    def text(self) -> str:
        """The whole answer, for the present world."""
        found = self.view.consult(self.question)
        return found if isinstance(found, str) else found.text

    @property
    def twin(self) -> str:
        """The `why` command that prints the same reply."""
        return f"why {self.question}".strip()

    def read_rows(self) -> None:
        """Ask again if the world or the question has changed, and draw the answer."""
        if not self.view.model.busy:
            self._ask_if_changed()
        if isinstance(self.answer, Report):
            self.entries = sorted(entries(self.answer), key=_order)
            if self.as_of is not None and self.as_of != self.view.moment:
                at = fmt.ev(self.as_of.event, "the start")
                here = fmt.ev(self.view.moment.event, "the start")
                text = f"an earlier answer: it is about {at}, and the world is at {here}"
                row = Row(RowPart.WARNING, text)
                self.entries.insert(0, Entry(f"as of {at}", row.text, row, Meaning.ATTENTION))
            self.fill([drawn(entry, self.row_width) for entry in self.entries])
            if self.has_focus and self.highlighted is None:
                self.highlighted = 0
        else:
            self.entries = []
            self.fill([contents([plain(self.answer or "…", "$dim")])])
        self.border_title = f"Why  {self.question}".rstrip().replace("[", r"\[")
        self.refresh_bindings()  # only the keys that apply

    def on_option_list_option_highlighted(self) -> None:
        """Another row may have other keys."""
        self.refresh_bindings()

    def _ask_if_changed(self) -> None:
        given, now = self.view.model.diagnosis, self.view.moment
        if given is not self._given:
            self._given, self._visited, self.as_of, self.highlighted = given, None, None, None
            self._reported = None
            if given is not None and given.event == now.event:
                self.answer, self.as_of, self._reported = given, now, _failure(given)
        if self.as_of is None:
            self._ask(now)
        elif now != self.as_of and not self._is_visit(now):
            self._ask_when_quiet(now)

    def _is_visit(self, now: Moment) -> bool:
        """Whether the user went from here to an event and is still there."""
        asked = self.as_of
        return asked is not None and now[:2] == asked[:2] and now.event == self._visited

    def _ask_when_quiet(self, now: Moment) -> None:
        if self._took_s < _QUICK_S:
            self._ask(now)
        elif now != self._awaited:  # the world has changed again: wait once more
            if self._timer is not None:
                self._timer.cancel()
            self._awaited, self._timer = now, after(self, _QUIET_S, self._ask_now)

    def _ask_now(self) -> None:
        self._took_s, self._awaited = 0.0, None
        self.read_if_seen()

    def _ask(self, now: Moment) -> None:
        started = time.perf_counter()
        self.answer, self.as_of, self._visited = self.view.consult(self.question), now, None
        failure = _failure(self.answer)
        # A fix posts the request again, as wr7 too.
        if failure is not None and failure == self._reported:
            newer = self.view.consult(failure[0])
            self.answer = newer if isinstance(newer, Report) else self.answer
        self._reported = self._reported or failure
        self._took_s = time.perf_counter() - started

    # ---- keys -----------------------------------------------------------------------------------

    @property
    def entry(self) -> Entry | None:
        """The marked entry; without a mark the verdict."""
        at = self.highlighted or 0
        return self.entries[at] if at < len(self.entries) else None

    @property
    def keys(self) -> dict[str, PageKey]:
        """The keys that apply to the marked entry; a fix only while the answer is that of now."""
        report, entry = self.answer, self.entry
        if not isinstance(report, Report) or entry is None:
            return {}
        found = {key.letter: key for key in why_keys(report, entry.event, report.word(entry.row))}
        return {key: found[key] for key in found if key != "a" or self.as_of == self.view.moment}

    def open_row(self, index: int) -> None:
        """Open the event of the row; of a row without one, the explanation of its word."""
        event = self.entries[index].event if index < len(self.entries) else None
        if event is not None and event >= 0:
            self.act("event", event)
        elif index < len(self.entries) and self.entries[index].row.part is RowPart.ASK:
            self.act("say", self.entries[index].text.strip().partition("   ")[0])
        elif "e" in self.keys:
            self.action_use("e")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Only the keys that apply are offered."""
        has_key = action != "use" or parameters[0] in self.keys
        return has_key and super().check_action(action, parameters)

    def action_use(self, key: str) -> None:
        """Carry out what a key stands for; at the event of a row the answer stays."""
        report, line = self.answer, self.keys[key].line
        if key == "c" and isinstance(report, Report):
            walk = self.view.checklist(report.question or report.name)
            self.app.push_screen(Checklist(walk))
        elif key == "e":
            self.act("open", line)
        else:
            self._visited = self.entry.event if key == "g" and self.entry is not None else None
            self.act("say", line)


def _failure(answer: Report | str) -> tuple[str, int | None] | None:
    """Cause that `why` alone has found, and its event; None for another question or no cause."""
    if not isinstance(answer, Report) or answer.question:
        return None
    if not (answer.name and answer.is_trouble):
        return None
    return answer.name, answer.outcome.event
