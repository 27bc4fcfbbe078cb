"""The shelf: the diaries of processes that are gone, to be read, offered, and in the end pruned."""

import calendar
import contextlib
import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from rdmalab import disk
from rdmalab.spec.profiles import PROFILES
from rdmalab.views import fmt
from rdmalab.workbench.user_paths import is_locked_now
from rdmalab.workbench.write_ahead_log import (
    FORMAT,
    MOMENT,
    SUFFIX,
    LoggedArrival,
    LoggedMoment,
    LogHeader,
    sessions_path,
)

KEPT = 20
"""So many diaries stay, the newest; and any that was cut off and that nobody was told of yet."""
SAID = 3
"""So often the same cut off session is spoken of; it can be continued all the same."""


_MOMENT = len("20261122-180000")
_CLOCKS_S = 3600  # by so much two clocks may differ


@dataclass(slots=True)
class LoggedLine:
    """A line that was typed.

    loads: path and fingerprint of each scenario. end, commands: None if it was never ended.
    again: the process that brought it back ended in it, too.
    """

    text: str
    again: bool = False
    arrivals: list[LoggedArrival] = field(default_factory=list)
    loads: list[tuple[str, str]] = field(default_factory=list)
    end: LoggedMoment | None = None
    commands: int | None = None


@dataclass(slots=True)
class Recording:
    """One diary. left: it ended as somebody wished; offered: so often it was spoken of."""

    head: LogHeader
    lines: list[LoggedLine] = field(default_factory=list)
    left: bool = False
    offered: int = 0
    draft: bool = False
    octets: int = 0  # of it that are whole records

    @property
    def is_cut_off(self) -> bool:
        return bool(self.lines) and not self.left and not self.draft


@dataclass(slots=True)
class LockedRecording:
    """A book in its file, locked while this is open."""

    path: Path
    stream: BinaryIO
    book: Recording | None

    @property
    def at_s(self) -> float:
        return _used_s(self.path)

    def note(self, text: bytes) -> None:
        """Add a record behind the last whole one; its age stays."""
        if self.book is not None:
            self.stream.truncate(self.book.octets)
            self.stream.seek(0, 2)
            self.stream.write(text)
            self.stream.flush()

    def close(self) -> None:
        self.stream.close()


# --------------------------------------------------------------------------- reading
def read(octets: bytes) -> Recording | None:
    """What a diary says, as far as it is whole; None if it is none that this rdmalab can read."""
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
                _told(book, record)
        except (LookupError, TypeError, ValueError, ArithmeticError):
            break
        at += len(line)
        book.octets = at
    return book


def _record(line: bytes) -> dict[str, Any] | None:
    """A line that is torn off is none."""
    if not line.endswith(b"\n"):
        return None
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _begun(record: dict[str, Any]) -> Recording:
    nodes = record["nodes"]
    is_known = all(isinstance(n, str) and PROFILES.get(p) for n, p in nodes.items())
    if record["rdmalab"] != FORMAT or len(nodes) < 2 or not is_known:
        raise ValueError("a diary of another rdmalab")
    begin = tuple(map(_text, record["begin"]))
    return Recording(
        LogHeader(dict(nodes), int(record["seed"]), begin), draft=record.get("draft", False)
    )


def _told(book: Recording, record: dict[str, Any]) -> None:
    """One more record. Those of a later version are passed over."""
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
    book.left |= "left" in record
    book.offered += "offered" in record
    book.draft &= "whole" not in record


def _place(value: Any) -> LoggedMoment:
    event, now_ns = value
    return LoggedMoment(int(event), int(now_ns))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("a text is wanted here")
    return value


# --------------------------------------------------------------------------- finding
def volumes(folder: Path | None = None) -> Iterator[LockedRecording]:
    """The diaries that no process holds, newest first; each is let go before the next is taken."""
    try:
        found = sorted((folder or sessions_path()).glob(f"*{SUFFIX}"), key=_used_s, reverse=True)
    except OSError:
        return
    for path in found:
        with contextlib.suppress(OSError), disk.opened(path, updates=True) as stream:
            if is_locked_now(stream):
                yield LockedRecording(path, stream, read(stream.read()))


def _used_s(path: Path) -> float:
    """When a diary was written last: by its file, where that date is possible.

    A date before the diary began, or in the future, was set by a copy or by another clock; then
    the moment in the name counts.
    """
    try:
        used = path.stat().st_mtime
    except OSError:
        return 0.0
    begun = _begun_s(path)
    return used if begun is None or begun - _CLOCKS_S <= used <= time.time() + _CLOCKS_S else begun


def _begun_s(path: Path) -> float | None:
    """The moment that a diary has in its name; None if it has none."""
    try:
        return calendar.timegm(time.strptime(path.name[:_MOMENT], MOMENT))
    except (ValueError, OverflowError):
        return None


def waiting(folder: Path | None = None) -> list[Path]:
    """What `continue` brings back: those that were cut off, then those that were left."""
    found = [
        (not volume.book.is_cut_off, volume.path)
        for volume in volumes(folder)
        if volume.book is not None and volume.book.lines and not volume.book.draft
    ]
    return [path for _, path in sorted(found, key=lambda each: each[0])]


def taken(path: Path) -> LockedRecording | None:
    """This diary, locked until it is closed; None if somebody else has it by now."""
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
    """What to say about sessions that were cut off, empty if there is nothing; old ones go."""
    said, cut_off = "", 0
    chosen = _to_offer(folder)
    for number, volume in enumerate(volumes(folder)):
        book = volume.book
        is_cut_off = book is not None and book.is_cut_off
        is_chosen = volume.path == chosen
        with contextlib.suppress(OSError):
            if (
                number >= KEPT
                and not is_chosen
                and (not is_cut_off or book is None or book.offered)
            ):
                volume.path.unlink()
                continue
            cut_off += is_cut_off
            if book is not None and is_chosen:
                said = _sentence(volume, book, cut_off)
                _mark(volume)
    more = f" There are {cut_off}: continue 1 to {cut_off}." if said and cut_off > 1 else ""
    return said + more


def _to_offer(folder: Path | None) -> Path | None:
    """The session to speak of: the newest never spoken of, else the newest of the others."""
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
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(volume.at_s))
    count = fmt.count(len(book.lines), "line")
    word = "continue" if number == 1 else f"continue {number}"
    return f"A session of {count} was cut off: {word} brings it back. ({when})"
