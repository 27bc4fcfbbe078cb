"""Run lines from a pipe, a file or the command line, up to the first error or to the end.

Results go to standard output, errors with the place of the line to standard error.
"""

import asyncio
import dataclasses
import enum
import errno
import json
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, TextIO

from rdmalab import disk
from rdmalab.command import Thing
from rdmalab.doctor.answers import Answer
from rdmalab.grammar.line import commands_in, commands_of
from rdmalab.lab import Lab
from rdmalab.session.lines import Reply, Script
from rdmalab.session.run_control import RunControl
from rdmalab.session.session import Session
from rdmalab.shell.conversation import Conversation
from rdmalab.shell.error_text import place_of
from rdmalab.shell.evaluation import Evaluation, LineEnd
from rdmalab.shell.interrupt import interrupts
from rdmalab.shell.lab_requests import in_lab
from rdmalab.shell.output_format import OutputFormat
from rdmalab.shell.streams import print_json
from rdmalab.shell.styled_text import Line, harmless_line, text_of
from rdmalab.spec.row import dataclass
from rdmalab.spec.rules import errno_name
from rdmalab.workbench import settings
from rdmalab.workbench.show import Leave
from rdmalab.workbench.view_requests import View

if TYPE_CHECKING:
    from rdmalab.doctor.report.report import Report

SCHEMA_VERSION = 1
_DEEPEST = 12


@dataclass(slots=True)
class LineReport:
    """A reply with its context, as the document shows it.

    session: the one that replied. at_ns: virtual time afterwards. line_number: from 1. warnings:
    deviations between devices and documents. lines: printed while a scenario or a kept session
    was opened or continued; the reason, if it is_refused.
    """

    reply: Reply
    session: Session
    at_ns: int
    line_number: int
    warnings: list[str]
    lines: list[str] = dataclasses.field(default_factory=list)
    is_refused: bool = False


def document(reports: list[LineReport]) -> dict[str, object]:
    """The whole document."""
    return {"version": SCHEMA_VERSION, "replies": [_reply(item) for item in reports]}


def _reply(report: LineReport) -> dict[str, object]:
    reply, error = report.reply, _error(report.reply)
    refused = report.is_refused and error is None
    if refused:
        error = _fault("not understood", "\n".join(report.lines), 1, "", None)
    return {
        "line": reply.text,
        "line_number": report.line_number,
        "depth": reply.depth,
        "event": reply.event,
        "at_ns": report.at_ns,
        "value": plain_value(report.session, reply.value),
        "said": [] if refused else report.lines,
        "errno": None if reply.refusal is None else errno_name(reply.refusal.errno),
        "error": error,
        "warnings": report.warnings,
    }


def _error(reply: Reply) -> dict[str, object] | None:
    """column: place of the fault in `line`, from 1. rule: name of the violated rule."""
    if reply.bug:
        return _fault("bug", reply.bug, 1, "", None)
    if reply.error is not None:
        column = reply.error.place.start + 1
        return _fault("not understood", reply.error.message, column, reply.error.hint, None)
    if reply.refusal is None or reply.invocation is None:
        return None
    refusal = reply.refusal
    column = place_of(reply.invocation, refusal).start + 1
    return _fault("refused", refusal.message, column, refusal.legal, refusal.rule)


def _fault(kind: str, message: str, column: int, hint: str, rule: str | None) -> dict[str, object]:
    return {"kind": kind, "message": message, "column": column, "hint": hint, "rule": rule}


# --------------------------------------------------------------------------- values
def plain_value(session: Session, value: object, depth: int = 0) -> object:
    """A value as JSON: enums by name, bytes in hexadecimal, rows as objects."""
    if value is None or isinstance(value, bool | float) or depth > _DEEPEST:
        return value if depth <= _DEEPEST else None
    if isinstance(value, enum.Enum):
        return value.name if value.name is not None else value.value
    if isinstance(value, int | str):
        return value
    if isinstance(value, bytes | bytearray):
        return value.hex()
    if isinstance(value, Answer):
        return value.as_json()
    special = _special(session, value)
    return special if special is not None else _composed(session, value, depth + 1)


def _special(session: Session, value: object) -> object:
    if isinstance(value, Thing):
        return session.names.of(value)
    if isinstance(value, RunControl):
        return {"over": value.over, "met": value.met, "events": value.events}
    if isinstance(value, Script):
        return list(value.lines)
    if isinstance(value, Leave):
        return {}
    if isinstance(value, View):
        return {"title": value.title, "rows": [_row(session, row) for row in value.rows]}
    return None


def _row(session: Session, row: object) -> object:
    """A row of a view: the name of its class and its fields."""
    found = plain_value(session, row, 1)
    return {"row": type(row).__name__, **found} if isinstance(found, dict) else found


def _composed(session: Session, value: object, depth: int) -> object:
    if isinstance(value, dict):
        return {str(key): plain_value(session, item, depth) for key, item in value.items()}
    if dataclasses.is_dataclass(value):
        unknown = getattr(value, "undefined", ())
        names = [field.name for field in dataclasses.fields(value)]
        known = {name: None if name in unknown else getattr(value, name) for name in names}
        return {name: plain_value(session, item, depth) for name, item in known.items()}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return plain_value(session, value._asdict(), depth)
    if isinstance(value, list | tuple | set | frozenset):
        return [plain_value(session, item, depth) for item in value]
    return str(value)


EXIT = {
    LineEnd.FINE: 0, LineEnd.LEFT: 0, LineEnd.FAILED: 1, LineEnd.NOT_UNDERSTOOD: 2, LineEnd.BUG: 3,
    LineEnd.STOPPED: 130,
}  # fmt: skip
_WRONG = (LineEnd.FAILED, LineEnd.NOT_UNDERSTOOD, LineEnd.BUG)
_GOES_ON = (LineEnd.FINE, LineEnd.FAILED, LineEnd.NOT_UNDERSTOOD)  # with --keep-going
_WIDTH = 100
_UNFOLDED = 1_000  # columns, for programs, which fold no line


class ScriptLine(NamedTuple):
    """A line to run, and its place: `stdin:3`."""

    place: str
    number: int
    text: str


def script_lines(lines: Sequence[str], file: str | None) -> Iterator[ScriptLine]:
    """All lines, those of -c first; those of standard input if neither is given."""
    for number, line in enumerate(lines, 1):
        yield from (ScriptLine(f"-c {number}", number, text) for _, text in commands_of(line))
    if file is not None:
        text = disk.read(file).decode("utf-8-sig")
        yield from (
            ScriptLine(f"{file}:{number}", number, line) for number, line in commands_of(text)
        )
    if not lines and file is None:
        for number, line in _streamed(sys.stdin):
            yield ScriptLine(f"stdin:{number}", number, line)


def _streamed(stream: TextIO) -> Iterator[tuple[int, str]]:
    """Commands as they arrive, so that an open pipe is answered line by line."""
    lines = enumerate(_lines(stream), 1)
    return commands_in((number, part) for number, line in lines for part in line.splitlines())


def _lines(stream: TextIO) -> Iterator[str]:
    """Each line; OSError at one larger than the limit."""
    while line := stream.readline(disk.MOST + 1):
        if len(line) > disk.MOST:
            raise OSError(errno.EFBIG, f"a line is larger than {disk.MOST:,} characters")
        yield line


class Printer:
    """Writes lines, in colour only to a terminal."""

    def __init__(self, *, plain: bool) -> None:
        self.plain = plain

    def __call__(self, line: Line, stream: TextIO) -> None:
        if self.plain or not stream.isatty():
            print(text_of(line).rstrip(), file=stream)
            return
        from prompt_toolkit import print_formatted_text
        from prompt_toolkit.formatted_text import FormattedText

        from rdmalab.shell.styles import prompt_style

        print_formatted_text(FormattedText(harmless_line(line)), file=stream, style=prompt_style())


async def pause() -> None:
    """Let other tasks of the event loop run between two slices."""
    await asyncio.sleep(0)


def play(lab: Lab, lines: Iterator[ScriptLine], *, plain: bool, keep_going: bool = False) -> int:
    """Run the lines and print the replies; returns the exit code, that of the first error.

    Without one it is 1 if the last command was `why`, and that found an error. keep_going: run the
    lines after a line that was refused or not understood.
    """
    code = 0
    is_ascii = draws_in_ascii(settings.read(), sys.stdout)
    output = OutputFormat(lab.session, _WIDTH, plain=plain, ascii=is_ascii)
    conversation = Conversation(lab, output)
    printer = Printer(plain=plain)
    for place, _, text in lines:
        is_first = True

        def emit(line: Line, place: str = place) -> None:
            nonlocal is_first
            if conversation.end not in _WRONG:
                printer(line, sys.stdout)
                return
            sys.stdout.flush()
            printer([("", f"{place}: "), *line] if is_first else line, sys.stderr)
            is_first = False

        with interrupts(conversation.stop):
            asyncio.run(conversation.evaluate(text, emit, pause))
        code = code or EXIT[conversation.end]
        if not _goes_on(conversation.end, keep_going=keep_going):
            break
    return code or _exit_of(conversation.last_report)


def _exit_of(answer: "Report | None") -> int:
    """The exit code of an answer of `why` that nothing was asked after; None: there is none."""
    is_bad = answer is not None and answer.is_trouble
    return EXIT[LineEnd.FAILED if is_bad else LineEnd.FINE]


def _goes_on(end: LineEnd, *, keep_going: bool) -> bool:
    """Whether the line after one that ended like this is run."""
    return end in _GOES_ON if keep_going else end is LineEnd.FINE


def play_json(lab: Lab, lines: Iterator[ScriptLine], *, keep_going: bool = False) -> int:
    """Run the lines and print one JSON document about all of them; returns as `play` does."""
    code = 0
    conversation = Conversation(lab, OutputFormat(lab.session, _UNFOLDED))
    reports: list[LineReport] = []
    for line in lines:
        evaluation = conversation.evaluation = Evaluation(conversation, pause=pause)
        with interrupts(conversation.stop):
            reports += asyncio.run(reports_of(evaluation, line.text, line.number))
        code = code or EXIT[evaluation.end]
        if not _goes_on(evaluation.end, keep_going=keep_going):
            break
    print_json(json.dumps(document(reports), indent=2, ensure_ascii=False))
    return code or _exit_of(conversation.last_report)


async def reports_of(evaluation: Evaluation, line: str, number: int) -> list[LineReport]:
    """Run a line; returns its replies, each after its request to the face was carried out.

    The last of them has what an open lab says to the line, also if its rules do not allow it.
    """
    reports: list[LineReport] = []
    by_lab: list[str] = []

    def emit(row: Line) -> None:
        by_lab.append(text_of(row))

    async def carry_out(text: str) -> None:
        async for reply in evaluation.replies(text):
            reports.append(await _report(evaluation, reply, number))
            evaluation.emit = emit
            if evaluation.follow is not None:
                evaluation.follow(reports[-1].reply)

    evaluation.emit = emit
    await in_lab(evaluation, line, carry_out)
    if not reports:
        reports.append(await _report(evaluation, Reply(line), number))
    reports[-1].lines += by_lab
    return reports


async def _report(evaluation: Evaluation, reply: Reply, number: int) -> LineReport:
    session, warned = evaluation.lab.session, evaluation.lab.warnings(reply)
    printed: list[str] = []
    evaluation.emit = lambda line: printed.append(text_of(line))
    bug = await evaluation.handle(reply)
    now_ns = evaluation.lab.session.world.now_ns
    return LineReport(bug or reply, session, now_ns, number, warned, printed, evaluation.is_misread)


def draws_in_ascii(chosen: settings.Settings, stream: TextIO) -> bool:
    """Whether answers are drawn with ASCII only: as it is set, else as the stream can show them."""
    return not speaks_unicode(stream) if chosen.ascii is None else chosen.ascii


def speaks_unicode(stream: TextIO) -> bool:
    """Whether the stream can encode the drawings."""
    try:
        "┄▶■→…".encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
