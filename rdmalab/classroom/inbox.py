"""Submissions found in files and folders, and the files that are no submission.

A submission is a YAML file, or the word that `submit` prints, in any text or page: Moodle keeps
what was pasted as `onlinetext.html`. A file that is not read is a work without a text, if a student
of the roster has handed it in; any other is listed. Both have the reason.
"""

import html
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import field
from pathlib import Path

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
_KINDS = (
    (b"%PDF", "a PDF; ask for the file that submit writes, or for its word"),
    (b"PK\x03\x04", "an archive or an office document; unpack it, or ask for the word"),
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
                    _add(found, file, whose, is_named=False)
                except OSError as wrong:
                    found.not_read.append((str(file), wrong.strerror or str(wrong)))
        else:
            above = path.parent.name
            asked = Path(above, path.name) if roster is not None or is_of_moodle(above) else path
            own = asked if asked is not path else Path(path.name)
            _add(found, path, owner or owner_of(str(own), roster), is_named=True)
    return found


def _add(found: Inbox, file: Path, owner: Owner, *, is_named: bool) -> None:
    """Add the submissions of a file, or why it was not read."""
    if reason := _unread(file, is_named=is_named):
        found.not_read.append((str(file), reason))
        return
    octets = disk.beginning(file, MOST_OCTETS + 1)
    reason = next((kind for head, kind in _KINDS if octets.startswith(head)), "")
    if len(octets) > MOST_OCTETS:
        reason = f"larger than {MOST_OCTETS >> 20} MiB"
    texts = [] if reason else list(_submissions(file, _decoded(octets), is_named=is_named))
    at_s = file.stat().st_mtime
    for number, text in enumerate(texts, 1):
        name = str(file) if len(texts) == 1 else f"{file} (word {number})"
        found.works.append(HandedIn(name, text, owner, at_s))
    if not texts and owner.id:
        found.works.append(HandedIn(str(file), "", owner, at_s, reason or NOTHING))
    elif not texts:
        found.not_read.append((str(file), reason or NOTHING))


def _unread(file: Path, *, is_named: bool) -> str:
    """The reason a file is not opened; empty if it is."""
    mode = os.lstat(file).st_mode
    if stat.S_ISLNK(mode) and not is_named:
        return "a link, not a file"
    if is_named:
        return ""
    if any(part in _OF_SYSTEMS or part.startswith(".") for part in file.parts[-2:]):
        return "a file of the operating system"
    return "metadata of Gradescope" if file.name in _OF_GRADESCOPE else ""


def _decoded(octets: bytes) -> str:
    is_wide = octets[:2] in (b"\xff\xfe", b"\xfe\xff")
    return octets.decode("utf-16" if is_wide else "utf-8-sig", "replace")


def _submissions(file: Path, text: str, *, is_named: bool) -> Iterator[str]:
    """The submissions in a text; a text from which one was expected is an unreadable one."""
    ending = file.suffix.lower()
    if ending in _PAGES or text.lstrip()[:1] == "<":
        text = _text_of_page(text)
    words = submission.words_in(text)
    if words:
        yield from words
        return
    is_expected = is_named or ending in (*_YAML, *_PAGES, *_TEXTS) or "kind: submission" in text
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
