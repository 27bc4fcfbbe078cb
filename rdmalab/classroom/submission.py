"""Submissions: read from a file or a word, and written; which lines of a work they have.

What was undone by `back` or `goto` is on another branch, and is not handed in. A run in which the
branch was left is handed in up to that moment.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from hashlib import sha256
from itertools import groupby, islice, takewhile
from pathlib import Path
from typing import NamedTuple

import yaml

from rdmalab import disk
from rdmalab.classroom.instructor_model import Submission
from rdmalab.classroom.owner import ANYONE, own_files
from rdmalab.classroom.rules import Rulebook
from rdmalab.command import Invocation, NotUnderstood, TimeMove, Unit
from rdmalab.grammar.format import render
from rdmalab.grammar.line import parse
from rdmalab.grammar.quantities import spelled
from rdmalab.scenario import yaml_tree
from rdmalab.scenario.field_types import FORMAT
from rdmalab.scenario.parameters import shaped
from rdmalab.scenario.share_text import WORK, Damaged, packed, unpacked
from rdmalab.scenario.source import FileError, Source
from rdmalab.session.branch import TimePoint
from rdmalab.session.history import read_only_visit
from rdmalab.session.lines import Reply
from rdmalab.session.run_control import STOPPED
from rdmalab.session.session import Session

_STEPS = re.compile(r"step(?: (\d+))?")
_SETTINGS = ("node", "break", "watch", "delete")  # they hold on all branches


class Typed(NamedTuple):
    """A command that was carried out. line: the number of its line. branch: where it ended.

    undoes: it went to another moment, or again over time that is in the work already. shows: time
    ran, or the call was refused: so that a cause can be seen.
    """

    line: int
    text: str
    name: str
    branch: str
    start: TimePoint
    end: TimePoint
    undoes: bool
    shows: bool
    refused: bool


class WorkLines:
    """Follows the commands of a session from this moment on."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.commands: list[Typed] = []
        self._at = self.session.history.here
        self._line = 0
        self._follows = False  # the newest command is in the work, and its short form may go on

    def follow(self, reply: Reply, rules: Rulebook) -> None:
        """Take in a command whose run is over; one that only looks is left out."""
        invocation = reply.invocation
        if reply.depth:
            self._extend()
        elif invocation is not None and reply.error is None:
            self._follows = rules.counts(invocation)
            text = _as_it_ended(reply, invocation, self._at, self.session) if self._follows else ""
            if text:
                moves = rules.moves(invocation)
                undoes = moves or (reply.travel is not None and reply.travel.replays)
                here, branch = self.session.history.here, self.session.history.branch.name
                refused = reply.refusal is not None
                shows = refused or (reply.travel is not None and not moves)
                place = self._line, text, invocation.name, branch, self._at, here
                self.commands.append(Typed(*place, undoes, shows, refused))
            self._follows = self._follows and bool(text)
        self._at = self.session.history.here

    def end_line(self) -> None:
        """The typed line is over."""
        self._extend()
        self._follows = False
        self._line += 1

    @property
    def newest(self) -> list[Typed]:
        """The commands of the line that has ended last; empty if it only looked."""
        found = takewhile(lambda each: each.line == self._line - 1, reversed(self.commands))
        return list(found)[::-1]

    def _extend(self) -> None:
        """The newest command has gone on to here."""
        history = self.session.history
        if self._follows and self.commands:
            last = self.commands[-1]._replace(branch=history.branch.name, end=history.here)
            self.commands[-1] = last
        self._at = history.here

    @property
    def all(self) -> list[str]:
        """Every line, also those that were undone: the session can be made again from them."""
        return _joined((each.line, each.text) for each in self.commands)

    @property
    def surviving(self) -> list[str]:
        """The lines that lead to this moment."""
        return _joined(self._surviving())

    def is_step(self, text: str) -> bool:
        """Whether a line adds to the newest one: both are steps."""
        newest = (self.surviving or [""])[-1]
        return _STEPS.fullmatch(text) is not None and _STEPS.fullmatch(newest) is not None

    def _surviving(self) -> Iterator[tuple[int, str]]:
        limits = _way_here(self.session)
        forward = {name: command.facts.moves_time is TimeMove.FORWARD
                   for name, command in self.session.vocabulary.items()}  # fmt: skip
        for each in self.commands:
            limit = limits.get(each.branch)
            if each.name in _SETTINGS:
                yield each.line, each.text
            elif each.undoes or limit is None:
                continue
            elif each.end <= limit:
                yield each.line, each.text
            elif each.start < limit and forward[each.name]:
                yield each.line, self._up_to(limit, each.start)
            elif each.start < limit:
                yield each.line, f"{each.text}; back {each.end.event - limit.event}"

    def _up_to(self, limit: TimePoint, start: TimePoint) -> str:
        """The commands that run from a moment to a later one."""
        history = self.session.history
        with read_only_visit(history):
            history.seek(TimePoint(limit.event, 0))
            event_ns = max(history.here.at_ns, start.at_ns)
        events, wait_ns = limit.event - start.event, limit.at_ns - event_ns
        wait = f"run {spelled(wait_ns, Unit.NS)}" if wait_ns > 0 else ""
        return "; ".join(filter(None, (f"step {events}" if events else "", wait)))


def added(before: Sequence[str], now: Sequence[str]) -> list[str] | None:
    """The lines that lead on from the end of some to the end of others; None if none do."""
    if list(now[: len(before)]) == list(before):
        return list(now[len(before) :])
    *same, last = before
    rest = added(same, now)
    old, new = _STEPS.fullmatch(last), _STEPS.fullmatch(rest[0] if rest else "")
    more = int(new[1] or 1) - int(old[1] or 1) if old and new else 0
    return [f"step {more}", *rest[1:]] if rest and more > 0 else None


def _as_it_ended(reply: Reply, invocation: Invocation, start: TimePoint, session: Session) -> str:
    """The text of a command; of a run that ^C or a limit ended, one that ends there, too."""
    travel = reply.travel
    if travel is None or not (travel.over == STOPPED or travel.at_limit):
        return _with_full_names(reply.text, invocation, session)
    here, bounds = session.history.here, session.bounds
    if travel.at_bounds and bounds is not None and here.at_ns == bounds.at_ns:
        return f"run {spelled(here.at_ns - start.at_ns, Unit.NS)}"
    return f"step {travel.events}" if travel.events else ""


def _with_full_names(text: str, invocation: Invocation, session: Session) -> str:
    """The text as it was typed, unless it names objects of the prompt's node by a short name.

    A grade replays the text where no node is chosen: `mr0` would name nothing there.
    """
    try:
        if parse(text, session.vocabulary, None, file=True) == [invocation]:
            return text
    except NotUnderstood:
        pass
    return render(invocation, session.vocabulary[invocation.name])


def _way_here(session: Session) -> dict[str, TimePoint]:
    """The branches that lead to this moment, and up to which moment each of them does."""
    history = session.history
    branch, limit = history.branch, history.here
    limits = {branch.name: limit}
    while branch.parent:
        limit = min(limit, branch.forked)
        branch = history.branches[branch.parent]
        limits[branch.name] = limit
    return limits


def _joined(commands: Iterable[tuple[int, str]]) -> list[str]:
    """The commands of each line in one; successive steps are one line of so many."""
    lines: list[str] = []
    for _, group in groupby(commands, lambda each: each[0]):
        line = "; ".join(text for _, text in group if text)
        steps, before = _STEPS.fullmatch(line), _STEPS.fullmatch(lines[-1] if lines else "")
        if steps and before:
            lines[-1] = f"step {int(before[1] or 1) + int(steps[1] or 1)}"
        elif line:
            lines.append(line)
    return lines


_KNOWN = frozenset(Submission.model_fields)
_HEAD = re.compile(rf"(?<![\w-]){WORK.head}:[0-9]+:")
_PIECE = re.compile(r"\s*([\w-]+)([^\w\s-]?)", re.ASCII)  # letters of a word, and what ends it
_MOST_PIECES, _MOST_WORDS = 100, 10


def is_word(text: str) -> bool:
    """Whether a text is a submission as one word."""
    return text.lstrip().startswith(f"{WORK.head}:")


def is_in(text: str) -> bool:
    """Whether a text is a submission, perhaps with mistakes."""
    return is_word(text) or "kind: submission" in text


def words_in(text: str) -> list[str]:
    """The submissions that a text has as words, each whole where blanks were put into it."""
    return [_word_at(text, match) for match in islice(_HEAD.finditer(text), _MOST_WORDS)]


def _word_at(text: str, match: re.Match[str]) -> str:
    """The shortest whole word that begins here; if none is whole, the letters up to a blank."""
    word = first = match[0]
    for number, piece in enumerate(islice(_PIECE.finditer(text, match.end()), _MOST_PIECES)):
        word += piece[1]
        first = first if number else word
        if _is_whole(word):
            return word
        if piece[2]:  # a sign that no word has
            break
    return first


def _is_whole(word: str) -> bool:
    try:
        unpacked(word, WORK)
    except Damaged:
        return False
    return True


def is_one(octets: bytes) -> bool:
    """Whether a file is a submission, which may be replaced by a newer one."""
    return b"kind: submission" in octets


def replaceable(work: Submission) -> tuple[str, Callable[[bytes], bool]]:
    """The kind of file that this work may replace, and what recognises it.

    That is a work of the same student in the same lab, or one without a student, which may be
    taken over.
    """
    lab = _lab_of(work)

    def is_own(octets: bytes) -> bool:
        try:
            there = loads(octets.decode(), "")
        except (UnicodeDecodeError, FileError):
            return False
        return there.student in (work.student, ANYONE) and _lab_of(there) == lab

    return f"submission of {work.student} in {lab}", is_own


def _lab_of(work: Submission) -> str:
    return work.lab.partition(" ")[0]


def free_file(work: Submission, beside: str = "") -> str:
    """The name of a file for a work that no other work has: that of its student, or with its lab.

    beside: a file in whose folder it will be. Empty: all are taken.
    """
    _, is_own = replaceable(work)
    for name in own_files(work.student, _lab_of(work)):
        with suppress(OSError, ValueError):
            path = Path(beside).with_name(name) if beside else Path(name)
            if not path.exists() or is_own(disk.beginning(path, disk.MOST)):
                return name
    return ""


def loads(text: str, path: str) -> Submission:
    """The submission in a text, YAML or a word; raises FileError. path: for messages.

    Keys that a submission does not have, such as a score, are ignored.
    """
    if is_word(text):
        try:
            text = unpacked(text, WORK)
        except Damaged as wrong:
            raise FileError(path, str(wrong)) from None
    source = Source(path, text)
    root = yaml_tree.compose(source)
    plain = yaml_tree.plain(root)
    if isinstance(plain, dict):
        plain = {key: value for key, value in plain.items() if key in _KNOWN}
    with shaped(source, root, document=Submission):
        return Submission.model_validate(plain)


def written(work: Submission) -> str:
    """The submission as YAML."""
    plain = work.model_dump(exclude_defaults=True)
    plain = {"rdmalab": FORMAT, "kind": "submission", **plain}
    return yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, width=100)


def word_of(work: Submission) -> str:
    """The submission as one word, to be pasted into a form."""
    return packed(written(work), WORK)


def fingerprint(text: str) -> str:
    """SHA-256 of a submission as it was handed in."""
    return sha256(text.encode()).hexdigest()
