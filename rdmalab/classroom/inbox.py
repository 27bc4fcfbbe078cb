"""Submissions found in files and folders, and the files that are no submission.

A submission is a YAML file, or the word that `submit` prints, in any text or page: Moodle keeps
what was pasted as `onlinetext.html`. A file that is not read is a work without a text, if a student
of the roster has handed it in; any other is listed. Both have the reason. An archive is read as its
files: that of a platform, or one of a student. Nothing is unpacked to the disk.
"""

import html
import os
import stat
import time
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import field
from io import BytesIO
from pathlib import Path, PurePath
from typing import BinaryIO

from rdmalab import disk
from rdmalab.classroom import submission
from rdmalab.classroom.owner import Owner, Roster, is_of_moodle, owner_of
from rdmalab.spec.row import dataclass

MOST_OCTETS = 4 << 20
"""Of a file that is read at all."""
NOTHING = "no submission in it"
_YAML, _PAGES, _TEXTS = (".yaml", ".yml"), (".html", ".htm"), (".txt", "")
_OF_SYSTEMS = ("__MACOSX", "Thumbs.db", "desktop.ini")
_OF_GRADESCOPE = ("submission_metadata.yml", "metadata.yml")
_ZIP = b"PK\x03\x04"
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, OverflowError,
            RuntimeError, NotImplementedError)  # fmt: skip
"""Errors of zipfile for an archive that is damaged, encrypted or of another method."""
_KINDS = (
    (b"%PDF", "a PDF; ask for the file that submit writes, or for its word"),
    (_ZIP, "an archive or an office document, damaged or without a submission"),
    (b"\x1f\x8b", "an archive; unpack it"),
    (b"\x89PNG", "a picture"), (b"\xff\xd8\xff", "a picture"), (b"GIF8", "a picture"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class HandedIn:
    """A submission that was handed in. name: of its file. at_s: when, in seconds of the system.

    unread: why its file was not read; empty: it was.
    """

    name: str
    text: str
    owner: Owner
    at_s: float
    unread: str = ""


@dataclass(slots=True)
class Inbox:
    """Submissions, and the files that were not read, each with the reason."""

    works: list[HandedIn] = field(default_factory=list)
    not_read: list[tuple[str, str]] = field(default_factory=list)


def collected(paths: Sequence[str], roster: Roster | None, owner: Owner | None = None) -> Inbox:
    """The submissions among files and below folders. owner: of all of them; None: by their paths.

    Raises OSError for a file that was named and cannot be read.
    """
    found = Inbox()
    for path in map(Path, paths):
        if path.is_dir():
            for file in sorted(each for each in path.rglob("*") if not each.is_dir()):
                whose = owner or owner_of(str(file.relative_to(path)), roster)
                try:
                    _add(found, file, whose, roster, is_named=False)
                except OSError as wrong:
                    found.not_read.append((str(file), wrong.strerror or str(wrong)))
        else:
            above = path.parent.name
            is_asked = roster is not None or is_of_moodle(above)
            whose = owner_of(str(Path(above, path.name) if is_asked else path.name), roster)
            if path.suffix.lower() == ".zip" and not is_of_moodle(above):  # of all students
                whose = Owner()
            _add(found, path, owner or whose, roster, is_named=True)
    return found


def _add(found: Inbox, file: Path, owner: Owner, roster: Roster | None, *, is_named: bool) -> None:
    """Add the submissions of a file, or why it was not read."""
    if reason := _unread(file, is_named=is_named):
        found.not_read.append((str(file), reason))
        return
    octets, at_s = disk.beginning(file, MOST_OCTETS + 1), file.stat().st_mtime
    if octets.startswith(_ZIP):
        with disk.opened(file) as stream:
            if _add_archive(found, str(file), stream, owner, roster, at_s):
                return
    _take(found, str(file), octets, owner, at_s, is_named=is_named)


def _take(
    found: Inbox, file: str, octets: bytes, owner: Owner, at_s: float, *, is_named: bool = False
) -> None:
    """Add the submissions in these bytes of a file, or why it was not read."""
    reason = next((kind for head, kind in _KINDS if octets.startswith(head)), "")
    if len(octets) > MOST_OCTETS:
        reason = f"larger than {MOST_OCTETS >> 20} MiB"
    ending = PurePath(file).suffix.lower()
    texts = [] if reason else list(_submissions(ending, _decoded(octets), is_named=is_named))
    for number, text in enumerate(texts, 1):
        name = file if len(texts) == 1 else f"{file} (word {number})"
        found.works.append(HandedIn(name, text, owner, at_s))
    if not texts and owner.id:
        found.works.append(HandedIn(file, "", owner, at_s, reason or NOTHING))
    elif not texts:
        found.not_read.append((file, reason or NOTHING))


def _add_archive(
    found: Inbox, file: str, stream: BinaryIO, owner: Owner, roster: Roster | None, at_s: float
) -> bool:
    """Add the submissions in an archive; False if it has none, or is damaged.

    That of a student is as old as its file. In any other each file has its own student and time,
    and may be the archive of a student.
    """
    inner, is_of_student, left = Inbox(), bool(owner.id or owner.folder), MOST_OCTETS
    try:
        with zipfile.ZipFile(stream) as archive:
            for part in archive.infolist():
                if part.is_dir() or _of_others(PurePath(part.filename)):
                    continue
                with archive.open(part) as member:
                    octets = member.read(MOST_OCTETS + 1)
                name, left = f"{file}/{part.filename}", left - len(octets)
                if not is_of_student:
                    whose = owner_of(part.filename, roster)
                    when = time.mktime((*part.date_time, 0, 0, -1))
                    _add_part(inner, name, octets, whose, when)
                elif left >= 0:
                    _take(inner, name, octets, owner, at_s)
    except _DAMAGED:
        return False
    if is_of_student:
        inner = Inbox([each for each in inner.works if submission.is_in(each.text)])
    if inner.works:
        found.works += inner.works
        found.not_read += inner.not_read
    return bool(inner.works)


def _add_part(found: Inbox, file: str, octets: bytes, owner: Owner, at_s: float) -> None:
    """Add a file of the archive of a platform, which may be the archive of a student."""
    is_archive = octets.startswith(_ZIP) and (owner.id or owner.folder)
    if not (is_archive and _add_archive(found, file, BytesIO(octets), owner, None, at_s)):
        _take(found, file, octets, owner, at_s)


def _unread(file: Path, *, is_named: bool) -> str:
    """The reason a file is not opened; empty if it is."""
    mode = os.lstat(file).st_mode
    if stat.S_ISLNK(mode) and not is_named:
        return "a link, not a file"
    if is_named:
        return ""
    return _of_others(file)


def _of_others(file: PurePath) -> str:
    """The reason a file is not that of a student; empty if it can be."""
    if any(part in _OF_SYSTEMS or part.startswith(".") for part in file.parts[-2:]):
        return "a file of the operating system"
    return "metadata of Gradescope" if file.name in _OF_GRADESCOPE else ""


def _decoded(octets: bytes) -> str:
    is_wide = octets[:2] in (b"\xff\xfe", b"\xfe\xff")
    return octets.decode("utf-16" if is_wide else "utf-8-sig", "replace")


def _submissions(ending: str, text: str, *, is_named: bool) -> Iterator[str]:
    """The submissions in a text; a text from which one was expected is an unreadable one."""
    if ending in _PAGES or text.lstrip()[:1] == "<":
        text = _text_of_page(text)
    words = submission.words_in(text)
    if words:
        yield from words
        return
    is_expected = is_named or ending in (*_YAML, *_PAGES, *_TEXTS) or submission.is_in(text)
    if is_expected and (text.strip() or ending in _YAML):
        yield text


# --------------------------------------------------------------------------- pages
_APART = frozenset(("p", "br", "div", "li", "tr", "td", "pre", "h1", "h2", "h3", "blockquote"))
_COMMENT, _HIDING = "!--", ("script", "style")
_UNSEEN = str.maketrans("", "", "\u200b\u200c\u200d\u2060\ufeff\u00ad")


def _text_of_page(text: str) -> str:
    """The text of a page, without the parts that no reader sees.

    Not by html.parser: its time grows with the square of some broken pages, which a student can
    hand in. Here it is one pass; a `>` inside of an attribute ends the tag.
    """
    first, *pieces = text.split("<")
    parts, hidden_by = [first], ""
    for piece in pieces:
        if hidden_by == _COMMENT or piece.startswith(_COMMENT):
            hidden_by, rest = ("", piece.partition("-->")[2]) if "-->" in piece else (_COMMENT, "")
        else:
            tag, ends, rest = piece.partition(">")
            name = (tag.split(None, 1) or [""])[0].strip("/").lower()
            parts += ["\n"] if name in _APART else []
            if hidden_by:
                hidden_by = "" if tag.startswith("/") and name == hidden_by else hidden_by
            elif name in _HIDING:
                hidden_by = name
            if not ends:
                rest = "" if name else f"<{piece}"
        parts += [] if hidden_by else [rest]
    return html.unescape("".join(parts)).translate(_UNSEEN)
