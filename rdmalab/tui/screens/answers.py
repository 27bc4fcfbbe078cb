"""The pages of the app: answers of commands, help, events, and what their keys do."""

from __future__ import annotations

from itertools import starmap
from typing import TYPE_CHECKING

from textual.binding import Binding

from rdmalab.doctor.report.brief import MOST_LINES
from rdmalab.shell.evaluation import Evaluation
from rdmalab.shell.show_why import answer_lines
from rdmalab.shell.styled_text import Line
from rdmalab.shell.styled_text import shown as harmless
from rdmalab.tui.keys import AT_PROMPT, EVERYWHERE, IN_PANES, Key, shown
from rdmalab.tui.pane_table import ROWS
from rdmalab.tui.screens.page import Page, PageKey
from rdmalab.views import fmt, story
from rdmalab.views.caption import caption

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rdmalab.doctor.report.report import Report
    from rdmalab.tui.app import Rdmalab
    from rdmalab.tui.pane import Pane

_NARROWEST, _WIDEST = 40, 110  # columns of a page
_FRAME = 8
_AROUND, _USUAL = 4, 80  # rows of a screen beside those of a page; columns before they are folded
_TITLE, _DIM, _KEY = "class:title", "class:dim", "class:pygments.keyword"
_PROMPT: list[Line] = [
    [("bold", "Type a command; the upper border explains the argument at the cursor.")],
    [("", "Enter repeats the last step or run. Help on one command: "), (_KEY, "help post_send")],
    [],
]
_MOUSE = (
    ("click", "a state, request, event, field or word: an explanation, or why"),
    ("drag", "select text; ^C copies it. settings mouse off gives the mouse to the terminal"),
)


async def read(app: Rdmalab, line: str) -> list[Line]:
    """Output of a line that only reads; nothing is printed, and no line is repeated later."""
    conversation = app.main.model.conversation
    output, repeated = conversation.output, conversation.repeated
    width, found = output.width, list[Line]()
    output.width = max(_NARROWEST, min(_WIDEST, app.size.width - _FRAME))
    try:
        await Evaluation(conversation, found.append).carry_out(line)
    finally:
        output.width, conversation.repeated = width, repeated
    return found


async def line_page(app: Rdmalab, line: str) -> Page:
    """The answer of a line that only reads."""
    return Page(line, await read(app, line))


def why_keys(report: Report, event: int | None, word: str) -> Iterator[PageKey]:
    """The keys of an answer of `why`, or of a row of it. word: what `explain` is asked."""
    if event is not None:
        to = "start" if event < 0 else event
        yield PageKey(f"Go to event {to}", f"goto {to}", letter="g", digit=1)
    if report.can_apply:
        yield PageKey("Apply the fix", report.apply, letter="a", digit=2)
    yield PageKey("Checklist", report.checklist, letter="c", digit=3)
    if word:
        yield PageKey("Explain", f"explain {word}", opens=True, letter="e", digit=4)


def answer_page(line: str, lines: Iterable[Line], report: Report | None, rows: int) -> Page:
    """The answer of a line that was typed. report: of `why`; its keys go to its first evidence.

    rows: of the screen; a page has more of them than the prompt, and shows more of a fix.
    """
    keys: Iterable[PageKey] = ()
    if report is not None:
        if line.split()[0] == "why" and ";" not in line:
            most = max(MOST_LINES, rows - _AROUND)
            lines = answer_lines(report, _USUAL, most=most)
        found = [row.event for row in report.rows if row.event is not None]
        event = next(iter(found[1:] or found), None)
        word = report.chain[0].check.article if report.chain else ""
        keys = why_keys(report, event, word)
    first, *more = line.strip().splitlines() or ["answer"]
    title = " ".join(first.split())
    return Page(f"{title} … {fmt.count(len(more) + 1, 'line')}" if more else title, lines, keys)


async def event_page(app: Rdmalab, number: int) -> Page:
    """Page about an event: its sentence, its records, and what they changed."""
    session = app.main.model.session
    sentence = caption(session.world, session.names, number)
    lines: list[Line] = [[("bold", harmless(sentence.text))], []]
    lines += [
        [(_DIM, f"{row.event}.{row.position}  "), ("", harmless(row.text))]
        for row in story.record_rows(session.world, session.names, number)
    ]
    lines += [[], [(_TITLE, "Changes")], *await read(app, f"changes {number}")]
    return Page(f"event {number}", lines, [PageKey("Go there", f"goto {number}")])


async def help_page(app: Rdmalab, pane: Pane | None) -> Page:
    """Help on a pane, or on the line in the prompt; then all keys and commands."""
    typed = app.prompt.text.split()
    if pane is None and typed and typed[0] in app.main.model.session.vocabulary:
        return await line_page(app, f"help {typed[0]}")
    if pane is not None:
        lines = [*_of_pane(pane), *_table("In each pane", IN_PANES)]
    else:
        lines = [*_PROMPT, *_table("At the prompt", AT_PROMPT)]
    lines += _table("Everywhere", EVERYWHERE)
    lines += [[(_TITLE, "Mouse")], *starmap(_row, _MOUSE), []]
    lines += [[(_TITLE, "Commands")], *await read(app, "help")]
    return Page("Help", lines)


def _of_pane(pane: Pane) -> Iterator[Line]:
    """Lines about a pane: its contents, the command that prints the same, and its own keys."""
    yield [("bold", ROWS[pane.id or ""].help)]
    if pane.twin:
        yield [("", "The same as text: "), (_KEY, pane.twin)]
    yield []
    if own := list(Binding.make_bindings(type(pane).BINDINGS)):
        yield [(_TITLE, "Its keys")]
        yield from (_row(shown(each.key), each.description) for each in own)
        yield []


def _table(title: str, keys: tuple[Key, ...]) -> list[Line]:
    rows = [_row(shown(key.keys.partition(",")[0]), key.meaning, key.word) for key in keys]
    return [[(_TITLE, title)], *rows, []]


def _row(key: str, meaning: str, word: str = "") -> Line:
    line: Line = [("bold", f"  {key:<12}"), ("", meaning)]
    return [*line, (_DIM, f"  ({word})")] if word else line
