"""Run lines from a pipe, a file or the command line, up to the first error or to the end.

Results go to standard output, errors with the place of the line to standard error.
"""

import asyncio
import errno
import json
import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TextIO

from rdmalab import disk
from rdmalab.grammar.line import commands_in, commands_of
from rdmalab.lab import Lab
from rdmalab.session.lines import Reply
from rdmalab.shell.conversation import Conversation
from rdmalab.shell.interrupt import interrupts
from rdmalab.shell.json_document import LineReport, document
from rdmalab.shell.lab_requests import in_lab
from rdmalab.shell.line_end import LineEnd
from rdmalab.shell.output_format import OutputFormat
from rdmalab.shell.streams import print_json
from rdmalab.shell.styled_text import Line, harmless_line, text_of

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


def said_lines(lines: Sequence[str], file: str | None) -> Iterator[ScriptLine]:
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

        from rdmalab.shell.styles import look

        print_formatted_text(FormattedText(harmless_line(line)), file=stream, style=look())


async def pause() -> None:
    """Let other tasks of the event loop run between two slices."""
    await asyncio.sleep(0)


def play(lab: Lab, said: Iterator[ScriptLine], *, plain: bool, keep_going: bool = False) -> int:
    """Run the lines and print the replies; returns the exit code, that of the first error.

    keep_going: run the lines after a line that was refused or not understood.
    """
    code = 0
    voice = OutputFormat(lab.session, _WIDTH, plain=plain, ascii=not speaks_unicode(sys.stdout))
    talk = Conversation(lab, voice)
    printer = Printer(plain=plain)
    for place, _, text in said:
        is_first = True

        def emit(line: Line, place: str = place) -> None:
            nonlocal is_first
            if talk.end not in _WRONG:
                printer(line, sys.stdout)
                return
            sys.stdout.flush()
            printer([("", f"{place}: "), *line] if is_first else line, sys.stderr)
            is_first = False

        with interrupts(talk.stop):
            asyncio.run(talk.evaluate(text, emit, pause))
        code = code or EXIT[talk.end]
        if not _goes_on(talk.end, keep_going=keep_going):
            break
    return code


def _goes_on(end: LineEnd, *, keep_going: bool) -> bool:
    """Whether the line after one that ended like this is run."""
    return end in _GOES_ON if keep_going else end is LineEnd.FINE


def play_json(lab: Lab, said: Iterator[ScriptLine], *, keep_going: bool = False) -> int:
    """Run the lines and print one JSON document about all of them; returns as `play` does."""
    code = 0
    talk = Conversation(lab, OutputFormat(lab.session, _UNFOLDED))
    told: list[LineReport] = []

    for line in said:
        with interrupts(talk.stop):
            told.extend(asyncio.run(_told(talk, line)))
        code = code or EXIT[talk.end]
        if not _goes_on(talk.end, keep_going=keep_going):
            break
    print_json(json.dumps(document(told), indent=2, ensure_ascii=False))
    return code


async def _told(talk: Conversation, line: ScriptLine) -> list[LineReport]:
    """The replies to a line; the last of them has what an open lab says to it."""
    told: list[LineReport] = []
    by_lab: list[str] = []

    async def carry_out(text: str) -> int:
        async for reply in talk.replies(text, pause):
            told.append(await told_of(talk, reply, line.number))
            if talk.follow is not None:
                talk.follow(told[-1].reply)
        return len(told)

    await in_lab(talk, line.text, lambda row: by_lab.append(text_of(row)), carry_out)
    if not told:
        told.append(await told_of(talk, Reply(line.text), line.number))
    told[-1].lines += by_lab
    return told


async def told_of(talk: Conversation, reply: Reply, number: int) -> LineReport:
    """A reply after its request to the face, such as load, was carried out."""
    session, warned = talk.lab.session, talk.lab.warnings(reply)
    said: list[str] = []
    bug = await talk.granted(reply, lambda line: said.append(text_of(line)), pause)
    now_ns = talk.lab.session.world.now_ns
    return LineReport(
        bug or reply, session, now_ns, number, warned, said, talk.end is LineEnd.NOT_UNDERSTOOD
    )


def speaks_unicode(stream: TextIO) -> bool:
    """Whether the stream can encode the drawings."""
    try:
        "┄▶■→…".encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
