"""The steps of a scenario as they are played: line, outcome, expectations, answer, drawing."""

from collections.abc import Collection

from rdmalab.book import words
from rdmalab.book.html import Markup, escaped, folded, joined, tag, trusted
from rdmalab.book.words import Linker
from rdmalab.doctor.report.brief import BUDGETS, brief
from rdmalab.doctor.report.report import Report
from rdmalab.doctor.report.rows import Row, RowPart
from rdmalab.export.ladder_plan import LadderPlan, plan
from rdmalab.export.ladder_svg import Ladder
from rdmalab.scenario.planned_step import PlannedStep
from rdmalab.scenario.reading import choices
from rdmalab.scenario.result import StepResult
from rdmalab.scenario.runner import Runner
from rdmalab.views import fmt

_QUIET = (RowPart.REST, RowPart.RULED_OUT, RowPart.LOOKED, RowPart.ASK)
_ENOUGH = 14  # rows of an answer; a longer one is shortened, and opens on a click


class StepWriter:
    """Plays a scenario and writes what came of each step. number: of the last step with a line."""

    def __init__(self, runner: Runner, linker: Linker) -> None:
        self.runner = runner
        self.linker = linker
        self.number = 0
        self._in_flight: list[int] = []
        self._branch = ""
        self._event = -1

    def setup(self, programs: Collection[str] = ()) -> Markup:
        """All steps of the setup; empty if there is none. programs: shown elsewhere."""
        parts = []
        while (coming := self.runner.coming) is not None and coming.is_setup:
            step = self._step(is_setup=True)
            verb, _, rest = coming.line.partition(" ")
            if verb != "program" or rest.partition(" ")[0] not in programs or not self.runner.ok:
                parts.append(step)
        if not parts:
            return escaped("")
        return tag("ol", joined(parts), class_="setup")

    def steps(self) -> Markup:
        """The other steps; each note begins a part."""
        parts: list[Markup] = []
        inside: list[Markup] = []
        stop: PlannedStep | None = None
        while (coming := self.runner.coming) is not None:
            if coming.is_stop:
                parts += self._part(stop, inside)
                stop, inside = coming, []
            inside.append(self._step())
        return joined([*parts, *self._part(stop, inside)])

    def _part(self, stop: PlannedStep | None, inside: list[Markup]) -> list[Markup]:
        """Section with the text of a note or question, and the steps after it; answers fold."""
        inside = [each for each in inside if each]
        if stop is None and not inside:
            return []
        below = joined(inside)
        if stop is not None and stop.step.predict is not None:
            below = folded("The answer", below, class_="answer")
        return [tag("section", self._headed(stop) if stop else "", below, class_="part")]

    def _headed(self, stop: PlannedStep) -> Markup:
        head = tag("h2", stop.step.name) if stop.step.name else escaped("")
        text = stop.step.note or stop.step.predict
        if not text:
            return head
        options = [tag("li", self.linker.prose(choice)) for _, choice in choices(stop)]
        listed = tag("ol", joined(options), type="a") if options else escaped("")
        return joined([head, tag("div", self.linker.paragraphs(text), listed, class_="note")])

    # ------------------------------------------------------------------ one step
    def _step(self, *, is_setup: bool = False) -> Markup:
        """Play a step, and what came of it."""
        report, refusal = None, ""
        for reply in self.runner.replies():
            if isinstance(reply.value, Report):
                report = reply.value
            if reply.refusal is not None:
                refusal = reply.refusal.message
        result = self.runner.results[-1]
        if not result.step.line and result.ok:  # a note, or the answer to a question
            revealed = result.step.step.reveal
            if not revealed:
                return escaped("")
            return tag("div", self.linker.paragraphs(revealed), class_="note")
        drawing = self._drawing(result)
        if is_setup:
            parts = [self._line(result), self._failure(result), drawing]
            return tag("li", joined(parts))
        self.number += 1
        parts = [
            tag("div", tag("span", str(self.number), class_="number"), self._line(result),
                class_="do"),
            self._errno(result, refusal),
            drawing,
            self._answer(report) if report is not None else escaped(""),
            self._expectations(result),
            self._failure(result),
        ]  # fmt: skip
        anchor = f"step-{self.number}"
        css = "step" if any(parts[1:]) else "step bare"
        return tag("div", joined(parts), class_=css, id=anchor)

    def _line(self, result: StepResult) -> Markup:
        step = result.step.step
        more = [f" × {step.repeat}"] if step.repeat and step.repeat > 1 else []
        more += [f" within {fmt.duration(step.within)}"] if step.within else []
        extra = tag("span", "".join(more), class_="more") if more else ""
        pieces = [words.line(line, self.linker) for line in result.step.line.splitlines() or [""]]
        return tag("pre", joined(pieces, "\n"), extra)

    def _errno(self, result: StepResult, refusal: str) -> Markup:
        wanted = result.step.step.errno
        if not wanted or not result.ok:
            return escaped("")
        name = self.linker.link(wanted, words.address(wanted))
        mark = tag("span", "✓", class_="mark")
        return tag("p", mark, " returns ", tag("code", name), f": {refusal}", class_="met")

    # ------------------------------------------------------------------ the drawing
    def _drawing(self, result: StepResult) -> Markup:
        """The ladder of this step; empty if no packet has part in it."""
        session = self.runner.session
        jumped = result.branch != self._branch or result.event < self._event
        self._branch, self._event = result.branch, result.event
        flying = [] if jumped else self._in_flight
        planned = plan(session.world, session.names, result.first_record, flying)
        self._in_flight = planned.in_flight
        if not planned.arrows or planned.is_empty:
            return escaped("")
        return figure(planned)

    # ------------------------------------------------------------------ judged
    def _expectations(self, result: StepResult) -> Markup:
        step = result.step
        items = []
        for number, placed in enumerate(step.expect, 1):
            mark = _mark(result, f"expect line {number}")
            items.append(_judged(mark, words.question(placed.text, self.linker)))
        parts = [tag("ul", joined(items), class_="expect")] if items else []
        if step.step.wire is not None:
            parts.append(self._wire(result, step.step.wire))
        return joined(parts)

    def _wire(self, result: StepResult, lines: list[str]) -> Markup:
        mark = _mark(result, "wire line")
        if not lines:
            return tag("ul", _judged(mark, "no packet was sent in this step"), class_="expect")
        head = joined([_sign(mark), f" expected on the wire: {fmt.count(len(lines), 'line')}"])
        return folded(head, tag("pre", "\n".join(lines)), class_="wire-expected")

    def _failure(self, result: StepResult) -> Markup:
        if result.ok:
            return escaped("")
        text = result.text(self.runner.scenario.path)
        return tag("div", tag("p", "This step failed."), tag("pre", text), class_="failed",
                   role="alert")  # fmt: skip

    def _answer(self, report: Report) -> Markup:
        """Answer of `why` as HTML: shortened where it is long, with the whole answer folded."""
        rows = report.rows
        if len(rows) <= _ENOUGH:
            return tag("div", self._rows(rows), class_="why")
        short = brief(report, BUDGETS[0])
        more = folded("All of the answer", self._rows(rows))
        return tag("div", self._rows(short), more, class_="why")

    def _rows(self, rows: list[Row]) -> Markup:
        return tag("ul", joined(map(self._row, rows)))

    def _row(self, row: Row) -> Markup:
        css = "quiet" if row.part in _QUIET else row.part.name.lower().replace("_", "-")
        number = f"{row.number}. " if row.part is RowPart.CAUSE else ""
        where = words.cause_address(row.slug) if row.slug else None
        lead = self.linker.link(row.lead, where) if row.part is RowPart.CAUSE else row.lead
        text = words.line(row.text, self.linker) if row.part is RowPart.LINE else row.text
        event = "" if row.event is None else tag("small", f" [{fmt.ev(row.event)}]")
        strong = tag("strong", lead) if row.lead else ""
        return tag("li", number, strong, text, event, class_=css)


def figure(planned: LadderPlan) -> Markup:
    """A drawing, with its text for those who do not see it."""
    drawing = Ladder(planned)
    scroll = tag("div", trusted(drawing.part), class_="drawing", tabindex="0", role="group",
                 aria_label=f"Ladder: {planned.title}")  # fmt: skip
    twin = folded("The drawing as text", tag("pre", drawing.text), class_="twin")
    return tag("figure", scroll, twin)


# --------------------------------------------------------------------------- marks
_SIGNS = {"met": "✓", "unmet": "✗", "open": "·"}
_READ = {"met": "met: ", "unmet": "not met: ", "open": "not judged: "}


def _mark(result: StepResult, what: str) -> str:
    """`met`, `unmet` or `open`: an expectation of this name holds, fails, or was not judged."""
    if result.ok:
        return "met"
    if result.failure is None:
        return "open"
    failed = result.failure.what
    if failed.startswith(what) and failed.removeprefix(what)[:1] in ("", " "):
        return "unmet"
    first, second = _place(failed), _place(what)
    return "met" if first is not None and second is not None and second < first else "open"


def _place(what: str) -> tuple[int, int] | None:
    """The order in which expectations are judged: the wire first."""
    kind, _, number = what.partition(" line")
    order = ("wire", "expect")
    if kind not in order:
        return None
    return order.index(kind), int(number) if number.strip().isdecimal() else 0


def _sign(mark: str) -> Markup:
    return tag("span", _SIGNS[mark], tag("span", _READ[mark], class_="read"), class_="mark")


def _judged(mark: str, what: str) -> Markup:
    return tag("li", _sign(mark), " ", what, class_=mark)
