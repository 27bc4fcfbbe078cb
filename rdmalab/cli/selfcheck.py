"""Checks whether this terminal and this installation are fit for rdmalab.

Ask the terminal what it is and what it does: it answers on standard input. Everything is asked at
once and ends with a question that every terminal answers, so that a terminal that knows only some
of the questions costs no waiting.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from enum import StrEnum
from importlib import metadata
from pathlib import Path
from shutil import get_terminal_size

from rdmalab.cli import program
from rdmalab.recovery.user_paths import settings_file, state_path
from rdmalab.render.meanings import APPEARANCES, is_dark
from rdmalab.scenario.files import lesson_files, lessons_folder
from rdmalab.shell.streams import print_json
from rdmalab.shell.styled_text import ASCII
from rdmalab.spec.row import dataclass
from rdmalab.version import VERSION
from rdmalab.views.columns import Meaning
from rdmalab.workbench import settings

_WAIT_S = 1.0
_LEAST_WAIT_S = 0.01
_BACKGROUND = "\x1b]11;?\x1b\\"  # OSC 11 with a question mark
_WHERE = "\x1b[6n"  # cursor position report: ESC [ row ; column R
_WHO = "\x1b[c"  # primary device attributes: ESC [ ? … c
_CLEAR = "\r\x1b[K"
_PLACE = re.compile(r"\x1b\[\d+;(\d+)R")
_COLOUR = re.compile(r"\x1b\]11;rgba?:([0-9a-f]+)/([0-9a-f]+)/([0-9a-f]+)", re.IGNORECASE)
_ATTRIBUTES = re.compile(r"\x1b\[\?([0-9;]*)c")


@dataclass(frozen=True, slots=True)
class TerminalAnswers:
    """Answers of a terminal.

    widths: columns that each character took; empty: it does not report the cursor. light: whether
    the background is light; None: no answer. attributes: numbers of its device attributes; None:
    no answer at all.
    """

    widths: dict[str, int]
    light: bool | None
    attributes: frozenset[int] | None


def ask(characters: Sequence[str]) -> TerminalAnswers | None:
    """The answers of the terminal; None if there is none that could answer."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()) or os.environ.get("TERM") == "dumb":
        return None
    try:
        with _raw(sys.stdin.fileno()):
            probes = "".join(f"\r{character}{_WHERE}" for character in characters)
            os.write(sys.stdout.fileno(), f"{probes}{_CLEAR}{_BACKGROUND}{_WHO}".encode())
            return answers(_received(sys.stdin.fileno()), characters)
    except (ImportError, OSError, UnicodeEncodeError):  # no termios, no such device
        return None


def answers(received: str, characters: Sequence[str]) -> TerminalAnswers:
    """The answers in what was received; a column is 1 more than the characters before it."""
    places = [int(column) - 1 for column in _PLACE.findall(received)]
    is_whole = len(places) == len(characters)
    colour = _COLOUR.search(received)
    attributes = _ATTRIBUTES.search(received)
    return TerminalAnswers(
        dict(zip(characters, places, strict=True)) if is_whole else {},
        not is_dark(*colour.groups()) if colour is not None else None,
        frozenset(map(int, re.findall(r"\d+", attributes[1]))) if attributes is not None else None,
    )


@contextmanager
def _raw(descriptor: int) -> Iterator[None]:
    """The terminal without echo and line buffering; what is typed ahead is lost."""
    import termios
    import tty

    before = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor)
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSAFLUSH, before)


def _received(descriptor: int) -> str:
    """Characters received until the device attributes, or until `_WAIT_S` seconds have passed."""
    import select

    received, end = "", time.monotonic() + _WAIT_S
    while _ATTRIBUTES.search(received) is None:
        left = max(_LEAST_WAIT_S, end - time.monotonic())
        if not select.select([descriptor], [], [], left)[0] or time.monotonic() > end:
            break
        received += os.read(descriptor, 4096).decode("latin-1")
    return received


_LEAST_COLUMNS, _LEAST_ROWS = 60, 16
_PACKAGE = "rdmalab"
_CLIPBOARD = 52  # the device attribute of terminals that announce OSC 52
_REQUIREMENT = re.compile(r"([\w.-]+)\s*([^;]*?)\s*(?:;.*extra == ['\"](\w+)['\"].*)?")
_BOUND = re.compile(r"(>=|<=|==|!=|<|>)\s*([\d.]+)")


class State(StrEnum):
    """The result of a check."""

    OK = "ok"
    ATTENTION = "attention"  # it works, with a limit
    FAILED = "failed"
    NOTE = "note"  # optional, or not known


MEANINGS = {
    State.OK: Meaning.OK, State.ATTENTION: Meaning.ATTENTION, State.FAILED: Meaning.FAILED,
    State.NOTE: Meaning.PLANNED,
}  # fmt: skip
CHARACTERS = sorted({*ASCII, *(style.sign for style in APPEARANCES.values() if style.sign)})
"""The characters with which the faces draw; each takes one column."""


@dataclass(frozen=True, slots=True)
class Check:
    """remedy: what to do; empty: nothing."""

    name: str
    state: State
    found: str
    remedy: str = ""


def checks(answers: TerminalAnswers | None) -> Iterator[Check]:
    """All checks. answers: of the terminal; None: there is none, or it cannot be asked."""
    environ, chosen = os.environ, settings.read()
    yield terminal(answers, environ, shutil.get_terminal_size())
    yield colours(environ, chosen)
    yield encoding(sys.stdout.encoding or "")
    yield background(answers, chosen)
    yield characters(answers)
    yield clipboard(answers, environ)
    yield python()
    yield from packages()
    yield wireshark()
    yield node()
    yield state_directory()
    yield from setting_rows(chosen)
    yield lessons()


# --------------------------------------------------------------------------- terminal
def terminal(
    answers: TerminalAnswers | None, environ: Mapping[str, str], size: os.terminal_size
) -> Check:
    """Type and size."""
    kind = environ.get("TERM", "")
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        remedy = "the app needs one; rdmalab repl, run and why do not"
        return Check("terminal", State.ATTENTION, "no terminal", remedy)
    found = f"{size.columns}x{size.lines}, TERM={kind or '(not set)'}"
    if kind in ("", "dumb"):
        return Check("terminal", State.ATTENTION, found, "export TERM=xterm-256color")
    if size.columns < _LEAST_COLUMNS or size.lines < _LEAST_ROWS:
        remedy = (
            f"enlarge it to {_LEAST_COLUMNS}x{_LEAST_ROWS} or more; the screen is made for 80x24"
        )
        return Check("terminal", State.ATTENTION, found, remedy)
    if answers is not None and answers.attributes is None:
        remedy = "it answers no question: theme and width of characters are assumed"
        return Check("terminal", State.ATTENTION, found, remedy)
    return Check("terminal", State.OK, found)


def colours(environ: Mapping[str, str], chosen: settings.Settings) -> Check:
    """Number of colours, as the environment says it."""
    kind = environ.get("TERM", "")
    if chosen.colours == "none":
        return Check("colours", State.OK, "none: NO_COLOR is set, or the setting colours is none")
    if chosen.colours != "auto":
        return Check("colours", State.OK, f"{chosen.colours}, by the setting colours")
    if environ.get("COLORTERM") in ("truecolor", "24bit") or kind.endswith("-direct"):
        return Check("colours", State.OK, "truecolor")
    remedy = "if the terminal has 24 bits: export COLORTERM=truecolor"
    if environ.get("TMUX"):
        remedy += "; in tmux also: set -as terminal-features ',*:RGB'"
    found = "256 colours" if "256color" in kind else "16 colours"
    return Check("colours", State.ATTENTION, found, remedy)


def encoding(name: str) -> Check:
    """Check whether standard output can encode the drawings."""
    missing = [c for c in CHARACTERS if not _is_encodable(c, name)]
    if not missing:
        return Check("encoding", State.OK, name)
    found = f"{name or 'unknown'}: {len(missing)} of {len(CHARACTERS)} characters cannot be written"
    return Check("encoding", State.ATTENTION, found, "export LC_ALL=C.UTF-8, or rdmalab --ascii")


def _is_encodable(character: str, name: str) -> bool:
    try:
        character.encode(name or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def background(answers: TerminalAnswers | None, chosen: settings.Settings) -> Check:
    """Check whether the terminal is light or dark, which theme auto follows."""
    if answers is None or answers.light is None:
        is_auto = chosen.theme == "auto"
        remedy = "theme auto is dark: rdmalab settings theme light" if is_auto else ""
        found = "no terminal to ask" if answers is None else "no answer (OSC 11)"
        return Check("background", State.NOTE, found, remedy)
    return Check("background", State.OK, "light" if answers.light else "dark")


def characters(answers: TerminalAnswers | None) -> Check:
    """Check whether each character takes one column."""
    if answers is None or not answers.widths:
        return Check(
            "characters", State.NOTE, "widths not measured: the terminal reports no cursor"
        )
    wide = [character for character, width in answers.widths.items() if width != 1]
    if not wide:
        count = len(answers.widths)
        return Check("characters", State.OK, f"all {count} take one column")
    remedy = "rdmalab settings ascii on, or set ambiguous characters to narrow in the terminal"
    found = f"these do not take one column: {' '.join(wide)}"
    return Check("characters", State.FAILED, found, remedy)


def clipboard(answers: TerminalAnswers | None, environ: Mapping[str, str]) -> Check:
    """Check whether text that is copied (OSC 52) arrives; a file of it is written in any case."""
    attributes = answers.attributes if answers is not None else None
    if environ.get("TMUX"):
        value = _tmux_option("set-clipboard")
        state = State.OK if value == "on" else State.ATTENTION
        remedy = "" if value == "on" else "tmux set -g set-clipboard on"
        return Check("clipboard", state, f"tmux set-clipboard {value or 'unknown'}", remedy)
    if environ.get("STY"):
        return Check(
            "clipboard", State.ATTENTION, "GNU screen keeps OSC 52", "use the file instead"
        )
    if environ.get("VTE_VERSION") or environ.get("TERM_PROGRAM") == "Apple_Terminal":
        remedy = "use the file instead, or settings mouse off and select with the mouse"
        return Check("clipboard", State.ATTENTION, "this terminal ignores OSC 52", remedy)
    if attributes is not None and _CLIPBOARD in attributes:
        return Check("clipboard", State.OK, "OSC 52")
    remedy = "copy something and paste it elsewhere; if nothing arrives, permit OSC 52 there"
    return Check("clipboard", State.NOTE, "the terminal does not say if it permits OSC 52", remedy)


def _tmux_option(name: str) -> str:
    command = ["tmux", "show-options", "-gv", name]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=2, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip()


# --------------------------------------------------------------------------- versions
def python() -> Check:
    """The interpreter, and whether it keeps the help texts."""
    found = f"{sys.version.split()[0]}, {sys.executable}"
    if sys.flags.optimize > 1:
        return Check("python", State.ATTENTION, found, "without -OO, which removes the help texts")
    return Check("python", State.OK, found)


def packages() -> Iterator[Check]:
    """A row for each package that is required, and for each extra."""
    try:
        required = metadata.requires(_PACKAGE) or []
    except metadata.PackageNotFoundError:
        yield Check(
            _PACKAGE, State.NOTE, "not installed: versions are not checked", "pip install ."
        )
        return
    extras: dict[str, list[str]] = {}
    for text in required:
        found = _REQUIREMENT.fullmatch(text)
        if found is not None and found[3]:
            extras.setdefault(found[3], []).append(found[1])
        elif found is not None:
            yield package(found[1], found[2])
    for extra, names in extras.items():
        if missing := [name for name in names if not _version(name)]:
            absent, remedy = ", ".join(missing), f"pip install '{_PACKAGE}[{extra}]'"
            yield Check(f"extra {extra}", State.NOTE, f"not installed: {absent}", remedy)
        else:
            yield Check(f"extra {extra}", State.OK, "installed")


def package(name: str, bounds: str) -> Check:
    """A package that is required, within its bounds."""
    version = _version(name)
    if not version:
        return Check(name, State.FAILED, "not installed", f"pip install '{name}{bounds}'")
    if is_within(version, bounds):
        return Check(name, State.OK, version)
    return Check(name, State.FAILED, f"{version} is not {bounds}", f"pip install '{name}{bounds}'")


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def is_within(version: str, bounds: str) -> bool:
    """Whether a version is within bounds such as `>=8.2.5,<9`; its letters do not count."""
    have = _numbers(version)
    tests = {
        ">=": lambda a, b: a >= b, "<=": lambda a, b: a <= b, "<": lambda a, b: a < b,
        ">": lambda a, b: a > b, "==": lambda a, b: a == b, "!=": lambda a, b: a != b,
    }  # fmt: skip
    return all(tests[sign](have, _numbers(bound)) for sign, bound in _BOUND.findall(bounds))


def _numbers(version: str) -> tuple[int, ...]:
    numbers = [int(part) for part in re.findall(r"\d+", version)[:3]]
    return tuple(numbers + [0] * (3 - len(numbers)))


def wireshark() -> Check:
    """The program that reads exported captures."""
    path = shutil.which("tshark") or shutil.which("wireshark")
    if path:
        return Check("wireshark", State.OK, path)
    return Check("wireshark", State.NOTE, "not found", "it reads what rdmalab export pcapng writes")


def node() -> Check:
    """The programs that make the page of `rdmalab site`."""
    missing = [name for name in ("node", "npm") if shutil.which(name) is None]
    if missing:
        found = f"not found: {' and '.join(missing)}"
        return Check("node", State.NOTE, found, "rdmalab site needs node 20 and its npm")
    return Check("node", State.OK, shutil.which("node") or "")


# --------------------------------------------------------------------------- files
def state_directory() -> Check:
    """Check whether sessions, history and bug reports can be kept."""
    try:
        folder = state_path()
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"x")
    except OSError as wrong:
        found = f"{wrong.filename or ''} cannot be written: {wrong.strerror or wrong}".strip()
        remedy = "export RDMALAB_STATE=DIR, a directory that you may write"
        return Check("state directory", State.FAILED, found, remedy)
    return Check("state directory", State.OK, str(folder))


def setting_rows(chosen: settings.Settings) -> Iterator[Check]:
    """The file of the settings, and each of its lines that has no effect."""
    for text in chosen.wrong:
        yield Check("settings", State.ATTENTION, text, "correct or remove this line")
    if not chosen.wrong:
        file = settings_file()
        yield Check("settings", State.OK, f"{file}{'' if file.exists() else ' (not written yet)'}")


def lessons() -> Check:
    """Check whether the lessons are installed."""
    folder, count = lessons_folder(), sum(1 for _ in lesson_files())
    if not count:
        remedy = "install rdmalab again, or go to the folder above scenarios"
        return Check("lessons", State.FAILED, f"none in {Path(folder).absolute()}", remedy)
    return Check("lessons", State.OK, f"{count} in {Path(folder).absolute()}")


_NAME = 16  # columns
_STYLES = {"good": "class:good", "odd": "class:warn", "bad": "class:error", "dim": "class:dim"}


def report(*, as_json: bool) -> int:
    """Print the checks as rows or as JSON; the exit code: FAILED if something does not work."""
    from rdmalab.cli.selfcheck import ask

    found = list(checks(ask(CHARACTERS)))
    if as_json:
        rows = [asdict(check) for check in found]
        document = {"rdmalab": 1, "version": VERSION, "checks": rows}
        print_json(json.dumps(document, indent=2, ensure_ascii=False))
    else:
        _print(found)
    failed = any(check.state is State.FAILED for check in found)
    return program.Exit.FAILED if failed else program.Exit.WELL


def _print(found: "list[Check]") -> None:
    """A row for each check, and the remedy below it; words in place of signs where ASCII is."""
    from rdmalab.render.meanings import APPEARANCES
    from rdmalab.shell.script import Printer, draws_in_ascii
    from rdmalab.shell.styled_text import fold, in_ascii
    from rdmalab.workbench.settings import read

    chosen = read()
    ascii_only = draws_in_ascii(chosen, sys.stdout)
    printer = Printer(plain=chosen.colours == "none")
    width = get_terminal_size((100, 24)).columns
    for check in found:
        appearance = APPEARANCES[MEANINGS[check.state]]
        sign = f"{check.state:<9}" if ascii_only else appearance.sign
        head = f"{sign} {check.name:<{_NAME}} "
        rows = fold([(_STYLES[appearance.tone], head), ("", check.found)], width, len(head))
        if check.remedy:
            rows += fold([(_STYLES["dim"], " " * len(head) + check.remedy)], width, 0)
        for row in rows:
            printer(in_ascii(row) if ascii_only else row, sys.stdout)
