"""`rdmalab repl`: the prompt in a plain terminal, or commands from a pipe or a file."""

import asyncio
import os
import shutil
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rdmalab.lab import Lab
from rdmalab.recovery.recovered_sessions import offer
from rdmalab.recovery.write_ahead_log import WriteAheadLog, head_of
from rdmalab.shell import kept_labs
from rdmalab.shell.conversation import Conversation
from rdmalab.shell.interrupt import awake, interrupts, leaving, until_left
from rdmalab.shell.output_format import OutputFormat
from rdmalab.shell.script import draws_in_ascii, pause, play, play_json, script_lines
from rdmalab.shell.streams import Lost
from rdmalab.shell.styled_text import Line, harmless_line, indented, text_of
from rdmalab.version import VERSION
from rdmalab.workbench import settings

if TYPE_CHECKING:
    from prompt_toolkit.formatted_text import StyleAndTextTuples

GREETING = (
    f"rdmalab {VERSION}: nodes A and B, one cable. Time moves only by step, run, until.",
    "tour is a guided start, use rc_pair makes a pair. Tab completes, help, ^D exits.",
)
_PLAIN = "help plain lists the command for each pane. changes: what the last event changed."
_NARROWEST = 40  # columns
INDENT = "   "  # as wide as the prompt: answers stand under what was typed


def main(  # noqa: PLR0913, PLR0917  (one for each option of `repl`)
    lines: Sequence[str] = (),
    file: str | None = None,
    plain: bool = False,
    json: bool = False,
    profile: str = "strict",
    seed: int = 0,
    keep_going: bool = False,
) -> int:
    """Run commands in a new lab; returns the exit code.

    At a terminal without lines and file: a prompt. Else run the lines, up to the first that fails,
    or all with keep_going.
    """
    lab = Lab(profile=profile, seed=seed)
    at_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    if at_terminal and not lines and file is None and not json:
        is_dumb = os.environ.get("TERM") == "dumb"
        if not plain and not is_dumb:
            return asyncio.run(until_left(_prompting(lab)))
        with leaving():
            return _plainly(lab)
    try:
        script = script_lines(lines, file)
        if json:
            return play_json(lab, script, keep_going=keep_going)
        return play(lab, script, plain=plain, keep_going=keep_going)
    except (OSError, UnicodeDecodeError) as wrong:
        if isinstance(wrong, BrokenPipeError | Lost):
            raise
        print(f"{file or 'stdin'}: {_reason(wrong)}", file=sys.stderr)  # noqa: T201
        return 2


def _reason(wrong: OSError | UnicodeDecodeError) -> str:
    return (
        "this is not UTF-8 text" if isinstance(wrong, UnicodeDecodeError) else str(wrong.strerror)
    )


def _width(columns: int) -> int:
    """The columns of answers: those there are, or fewer by the setting `width`."""
    return max(_NARROWEST, min(columns, settings.read().width or columns))


# --------------------------------------------------------------------------- the prompt
async def _prompting(lab: Lab) -> int:
    """The prompt of prompt_toolkit, with replies under it."""
    from prompt_toolkit import print_formatted_text
    from prompt_toolkit.formatted_text import FormattedText

    from rdmalab.shell.prompt import converse
    from rdmalab.shell.prompt_setup import ask_session, kept_history
    from rdmalab.shell.styles import prompt_style

    style = prompt_style()
    chosen = settings.read()
    output = OutputFormat(lab.session, ascii=draws_in_ascii(chosen, sys.stdout))
    log = WriteAheadLog(head_of(lab.session))
    conversation = Conversation(lab, output, log)
    session = ask_session(lab, history=kept_history(log.report))

    def emit(line: "StyleAndTextTuples | Line") -> None:
        row = indented(harmless_line((part[0], part[1]) for part in line), INDENT)
        print_formatted_text(FormattedText(row), style=style, output=session.output)

    async def evaluate(text: str) -> bool:
        output.width = _width(session.output.get_size().columns - len(INDENT))
        with interrupts(conversation.stop):
            return await conversation.evaluate(text, emit, pause)

    for line in filter(None, (*chosen.wrong, *GREETING, offer(), kept_labs.offer())):
        print_formatted_text(FormattedText([("class:dim", line)]), style=style)
    await converse(session, evaluate, emit)
    log.leave()
    return 0


# --------------------------------------------------------------------------- for those who listen
def _plainly(lab: Lab) -> int:
    """A prompt without redrawing and colours, for screen readers and dumb terminals."""
    _edit_lines()
    chosen = settings.read()
    is_ascii = draws_in_ascii(chosen, sys.stdout)
    output = OutputFormat(lab.session, plain=True, ascii=is_ascii)
    log = WriteAheadLog(head_of(lab.session))
    conversation = Conversation(lab, output, log)
    for line in filter(None, (*chosen.wrong, GREETING[0], _PLAIN, offer(), kept_labs.offer())):
        _print(line)
    _ask_on(conversation)
    log.leave()
    return 0


def _ask_on(conversation: Conversation) -> None:
    """Read and evaluate lines until `quit` or ^D."""
    while True:
        try:
            with awake():
                text = input(f"{conversation.lab.session.default_node}> ")
        except KeyboardInterrupt:
            _print("^C clears the line; ^D on an empty line exits.")
            continue
        except EOFError:
            _print("")
            return
        conversation.output.width = _width(shutil.get_terminal_size().columns)
        with interrupts(conversation.stop):
            if not asyncio.run(conversation.evaluate(text, _print_line, pause)):
                return


def _edit_lines() -> None:
    """Let a line be edited by `input`, where readline exists."""
    try:
        import readline
    except ImportError:
        return
    readline.parse_and_bind("set enable-bracketed-paste off")


def _print_line(line: Line) -> None:
    _print(text_of(line).rstrip())


def _print(text: str) -> None:
    print(text)  # noqa: T201
