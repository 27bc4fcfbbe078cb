"""Session logs of ended processes: find, read, offer for `continue`, and prune them."""

import calendar
import contextlib
import json
import os
import time
from collections.abc import Iterator
from dataclasses import field
from pathlib import Path
from typing import Any, BinaryIO

from rdmalab import disk
from rdmalab.command import NotUnderstood, Recovery
from rdmalab.grammar.line import parse
from rdmalab.recovery.user_paths import is_locked_now
from rdmalab.recovery.write_ahead_log import (
    FORMAT,
    MOMENT,
    SUFFIX,
    LoggedArrival,
    LoggedMoment,
    LogHeader,
    LogRecord,
    NullLog,
    fingerprint,
    sessions_path,
)
from rdmalab.session.session import Session
from rdmalab.spec.profiles import PROFILES
from rdmalab.spec.row import dataclass
from rdmalab.views import fmt

KEPT = 20
"""Number of logs that are kept; interrupted sessions that were not offered yet are kept too."""
SAID = 3
"""Number of times that one interrupted session is offered; it can be continued after that too."""


NOT_AGAIN = (Recovery.SKIP, Recovery.NEW_RECORDING)
_MOMENT = len("20261122-180000")
_CLOCKS_S = 3600  # by so much two clocks may differ


@dataclass(slots=True)
class LoggedLine:
    """A line that was typed.

    loads: path and fingerprint of each scenario. end, commands: None if it did not finish.
    again: the process that restored it ended in it, too.
    """

    text: str
    again: bool = False
    arrivals: list[LoggedArrival] = field(default_factory=list)
    loads: list[tuple[str, str]] = field(default_factory=list)
    end: LoggedMoment | None = None
    commands: int | None = None


@dataclass(slots=True)
class Recording:
    """One session log. left: closed by quit or new. offered: how often it was offered."""

    head: LogHeader
    lines: list[LoggedLine] = field(default_factory=list)
    left: bool = False
    offered: int = 0
    draft: bool = False
    octets: int = 0  # of it that are whole records

    @property
    def is_restorable(self) -> bool:
        """Whether `continue` can restore it: it has lines, and is no half of another session."""
        return bool(self.lines) and not self.draft

    @property
    def is_cut_off(self) -> bool:
        return self.is_restorable and not self.left


@dataclass(slots=True)
class LockedRecording:
    """A log file, locked while this object is open."""

    path: Path
    stream: BinaryIO
    book: Recording | None

    @property
    def at_s(self) -> float:
        return _used_s(self.path)

    def note(self, text: bytes) -> None:
        """Append a record after the last complete one; the file keeps its date."""
        if self.book is not None:
            self.stream.truncate(self.book.octets)
            self.stream.seek(0, 2)
            self.stream.write(text)
            self.stream.flush()

    def close(self) -> None:
        """Close the file, which releases its lock."""
        self.stream.close()


# --------------------------------------------------------------------------- reading
def read(octets: bytes) -> Recording | None:
    """The complete records of a log; None if this version cannot read the file."""
    book: Recording | None = None
    at = 0
    for line in octets.splitlines(keepends=True):
        record = _record(line)
        try:
            if record is None:
                break
            if book is None:
                book = _begun(record)
            else:
                _add_record(book, record)
        except (LookupError, TypeError, ValueError, ArithmeticError):
            break
        at += len(line)
        book.octets = at
    return book


def _record(line: bytes) -> LogRecord | None:
    """An incomplete last line is ignored."""
    if not line.endswith(b"\n"):
        return None
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _begun(record: LogRecord) -> Recording:
    nodes = record["nodes"]
    is_known = all(isinstance(n, str) and PROFILES.get(p) for n, p in nodes.items())
    if record["rdmalab"] != FORMAT or len(nodes) < 2 or not is_known:
        raise ValueError("a session log of another version")
    begin = tuple(map(_text, record["begin"]))
    return Recording(
        LogHeader(dict(nodes), int(record["seed"]), begin), draft=record.get("draft", False)
    )


def _add_record(book: Recording, record: LogRecord) -> None:
    """Add one record; those of a later version are ignored."""
    if "typed" in record:
        book.lines.append(LoggedLine(_text(record["typed"]), again=record.get("again", False)))
        book.left = False
    elif "arrived" in record:
        stopped = record.get("stopped", False)
        book.lines[-1].arrivals.append(LoggedArrival(_place(record["arrived"]), stopped))
    elif "loaded" in record:
        book.lines[-1].loads.append((_text(record["loaded"]), _text(record["sha256"])))
    elif "ended" in record:
        book.lines[-1].commands = int(record["commands"])
        book.lines[-1].end = _place(record["ended"])
    elif "moved" in record:  # the line begins another log
        book.lines.pop()
    book.left |= "left" in record
    book.offered += "offered" in record
    book.draft &= "whole" not in record


def _place(value: Any) -> LoggedMoment:
    event, now_ns = value
    return LoggedMoment(int(event), int(now_ns))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("a text is required here")
    return value


# --------------------------------------------------------------------------- finding
def volumes(folder: Path | None = None) -> Iterator[LockedRecording]:
    """The logs that no process has locked, newest first; one is locked at a time."""
    try:
        found = sorted((folder or sessions_path()).glob(f"*{SUFFIX}"), key=_used_s, reverse=True)
    except OSError:
        return
    for path in found:
        with contextlib.suppress(OSError), disk.opened(path, updates=True) as stream:
            if is_locked_now(stream):
                yield LockedRecording(path, stream, read(stream.read()))


def _used_s(path: Path) -> float:
    """The time of the last write, from the file's date if plausible.

    A date before the start of the log, or in the future, comes from a copy or another clock; then
    the time in the file name is used.
    """
    try:
        used = path.stat().st_mtime
    except OSError:
        return 0.0
    begun = _begun_s(path)
    return used if begun is None or begun - _CLOCKS_S <= used <= time.time() + _CLOCKS_S else begun


def _begun_s(path: Path) -> float | None:
    """The time in the name of a log; None if it has none."""
    try:
        return calendar.timegm(time.strptime(path.name[:_MOMENT], MOMENT))
    except (ValueError, OverflowError):
        return None


def waiting(folder: Path | None = None) -> list[Path]:
    """The sessions that `continue` offers, the one that was used last first.

    However it ended: who types `continue` after quit means the session just left, not an older one
    that was interrupted. The message at the start names the number of that one.
    """
    return [
        volume.path
        for volume in volumes(folder)
        if volume.book is not None and volume.book.is_restorable
    ]


def described(folder: Path | None = None) -> list[str]:
    """The sessions for `continue N`, by number: `2026-11-29 22:10, 14 lines, the last: run`."""
    return [
        f"{_when(volume)}, {fmt.count(len(book.lines), 'line')}, the last: {book.lines[-1].text}"
        for volume in volumes(folder)
        if (book := volume.book) is not None and book.is_restorable
    ]


def restoring(left: Path | None, newer: int = 0) -> str:
    """The command that restores a log that was just closed; empty if there is nothing to restore.

    newer: how many logs will have been closed after it by then.
    """
    kept = waiting(left.parent) if left is not None else []
    number = kept.index(left) + 1 + newer if left in kept else 0
    return f"continue {number}" if number > 1 else "continue" * number


def taken(path: Path) -> LockedRecording | None:
    """This log, locked until it is closed; None if another process has it."""
    try:
        stream = disk.opened(path, updates=True)
    except OSError:
        return None
    if not is_locked_now(stream):
        stream.close()
        return None
    return LockedRecording(path, stream, read(stream.read()))


# --------------------------------------------------------------------------- at the start
def offer(folder: Path | None = None) -> str:
    """The message about interrupted sessions, empty if there is none; old logs are removed."""
    text, number = "", 0  # as `waiting` counts
    cut_off: list[int] = []
    chosen = _to_offer(folder)
    for at, volume in enumerate(volumes(folder)):
        book = volume.book
        is_cut_off = book is not None and book.is_cut_off
        is_chosen = volume.path == chosen
        with contextlib.suppress(OSError):
            if at >= KEPT and not is_chosen and (not is_cut_off or book is None or book.offered):
                volume.path.unlink()
                continue
            number += book is not None and book.is_restorable
            cut_off += [number] * is_cut_off
            if book is not None and is_chosen:
                text = _sentence(volume, book, number)
                _mark(volume)
    many = len(cut_off)
    more = f" There are {many}: continue {_spans(cut_off)}." if text and many > 1 else ""
    return text + more


def _spans(numbers: list[int]) -> str:
    """`1 to 3, 5` of 1, 2, 3, 5."""
    spans: list[tuple[int, int]] = []
    for number in numbers:
        first, last = spans.pop() if spans and spans[-1][1] == number - 1 else (number, number - 1)
        spans.append((first, last + 1))
    return ", ".join(str(first) if first == last else f"{first} to {last}" for first, last in spans)


def _to_offer(folder: Path | None) -> Path | None:
    """The session to offer: the newest never offered, else the newest."""
    found = [
        (bool(volume.book.offered), number, volume.path)
        for number, volume in enumerate(volumes(folder))
        if volume.book is not None and volume.book.is_cut_off and volume.book.offered < SAID
    ]
    return min(found)[2] if found else None


def _mark(volume: LockedRecording) -> None:
    stat = volume.path.stat()
    volume.note(b'{"offered":true}\n')
    os.utime(volume.path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def _sentence(volume: LockedRecording, book: Recording, number: int) -> str:
    count = fmt.count(len(book.lines), "line")
    word = "continue" if number == 1 else f"continue {number}"
    return f"A session of {count} was interrupted: {word} restores it. ({_when(volume)})"


def _when(volume: LockedRecording) -> str:
    """The local time of its last line."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(volume.at_s))


# --------------------------------------------------------------------------- run again
class Reread(NullLog):
    """The log while a logged line runs again: it supplies where the line stopped before."""

    is_kept = True

    def __init__(self, line: LoggedLine, log: NullLog, *, may_go_on: bool) -> None:
        self.log = log
        self.arrivals = list(line.arrivals)
        self.loads = list(line.loads)
        self.may_go_on = may_go_on  # journeys whose end is not known
        self.halted = False

    def known(self) -> LoggedArrival | None:
        """The next logged end of a run; without one a stop, or None if the run may go on."""
        if self.arrivals:
            return self.arrivals.pop(0)
        self.halted = not self.may_go_on
        return LoggedArrival(LoggedMoment(-1, 0), True) if self.halted else None

    def arrived(self, arrival: LoggedArrival) -> None:
        """Write the end of a run to the new log."""
        self.log.arrived(arrival)

    def path(self, typed: str, number: int = 0) -> str:
        """The logged path of the next file, or one after it; `typed` if none is logged."""
        return self.loads[number][0] if number < len(self.loads) else typed

    def loaded(self, path: str, text: str) -> str:
        """Log the scenario; returns an error text if it differs from the logged one."""
        if self.loads and self.loads.pop(0)[1] != fingerprint(text):
            return f"{path} has changed since the session was recorded"
        return self.log.loaded(path, text)


def lines_again(session: Session, line: LoggedLine) -> tuple[str, bool]:
    """The commands of a line that must run again, and whether it steps through a scenario."""
    try:
        parsed = parse(line.text, session.vocabulary, session.default_node, aliases=session.aliases)
    except NotUnderstood:
        return "", False
    recovery = {each.name: session.vocabulary[each.name].facts.recovery for each in parsed}
    left_out = NOT_AGAIN if line.loads else (*NOT_AGAIN, Recovery.REPEAT_IF_LOADED)
    again = [each for each in parsed[: line.commands] if recovery[each.name] not in left_out]
    walks = any(recovery[each.name] is Recovery.REPEAT_WALK for each in again)
    return "\n".join(each.line for each in again), walks
