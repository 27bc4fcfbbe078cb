"""Grade many submissions: in worker processes, resumable, no grade lost and none twice."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from itertools import combinations

from rdmalab.classroom import submission
from rdmalab.classroom.attempts import handed_in
from rdmalab.classroom.grade_document import Grade
from rdmalab.classroom.inbox import HandedIn
from rdmalab.classroom.judging import JudgedWork, grade
from rdmalab.classroom.lab_file import LabFile, loads
from rdmalab.classroom.owner import Owner
from rdmalab.classroom.playing import GradeVerdict
from rdmalab.classroom.public import other_lab, other_version
from rdmalab.classroom.work_log import WHOLE, differences
from rdmalab.jobs import result_file
from rdmalab.jobs.limits import Ending, Limits, Outcome, Pool
from rdmalab.jobs.result_file import NotResults
from rdmalab.scenario.source import FileError
from rdmalab.spec.row import dataclass
from rdmalab.version import VERSION

_LABS = 64  # worlds of labs that a worker keeps: one for each student and each value of `vary`


@dataclass(frozen=True, slots=True)
class Item:
    """One submission to be graded. name: of its file. at_s: when it was handed in.

    any_version: a work for another version of the lab is judged by this one. unread: why its file
    was not read; empty: it was.
    """

    lab: str
    lab_path: str
    text: str
    name: str
    owner: Owner
    salt: str = ""
    public: bool = False
    at_s: float = 0.0
    any_version: bool = False
    unread: str = ""

    @property
    def key(self) -> str:
        """SHA-256 of the lab, the engine and the submission: equal for equal work."""
        owner = self.owner
        whose = (owner.id, owner.label, owner.folder, owner.why, *sorted(owner.words))
        parts = (VERSION, self.lab, self.salt, *whose, str(self.public), self.text + self.unread)
        return sha256("\0".join(parts).encode()).hexdigest()


@lru_cache(maxsize=_LABS)
def _lab(
    text: str, path: str, student: str, salt: str, world: tuple[tuple[str, str], ...]
) -> LabFile:
    return loads(text, path, student=student, salt=salt, world=dict(world))


_CUT_OFF = "the file ends in the middle of a line: it is cut off; hand in the whole file"
_CURE = "--any-version judges it by the lab as it is now"


def grade_in_worker(item: Item, _limits: Limits) -> str:
    """The grade of one submission, as JSON; the work of a pool."""
    return grade_submission(item).model_dump_json()


def grade_submission(item: Item) -> Grade:
    """The grade of one submission; what cannot be read is `unreadable`, and never passes."""
    try:
        if item.unread:
            raise FileError(item.name, item.unread)
        given = submission.loads(item.text, item.name)
    except FileError as wrong:
        return _ungraded(item, GradeVerdict.UNREADABLE, str(wrong))
    if reason := item.owner.refusal(given.student):
        return _ungraded(item, GradeVerdict.FOREIGN, reason)
    student = item.owner.drawn_for(given.student)  # as it is written: it drew the parameters
    try:
        lab = _lab(item.lab, item.lab_path, student, item.salt, ())
    except FileError as wrong:
        return _ungraded(item, GradeVerdict.NOT_GRADED, str(wrong))
    if reason := other_lab(lab, given, "" if item.any_version else _CURE):
        return _ungraded(item, GradeVerdict.UNREADABLE, reason)

    def reopen(world: Mapping[str, str]) -> LabFile:
        values = tuple(sorted(world.items()))
        return _lab(item.lab, item.lab_path, student, item.salt, values)

    work_done = JudgedWork(given.lines, given.answers, given.hints, given.log, differences(given))
    is_open = not (item.text.endswith("\n") or submission.is_word(item.text))
    if is_open and work_done.record.state not in WHOLE:
        return _ungraded(item, GradeVerdict.UNREADABLE, _CUT_OFF)
    found = grade(lab, work_done, reopen, public=item.public)
    found.student = item.owner.id or student
    found.record = work_done.record
    found.moves += found.record.moved
    found.version = other_version(lab, given)
    return filed(item, found)


def _ungraded(item: Item, verdict: GradeVerdict, reason: str) -> Grade:
    return filed(item, Grade(student=item.owner.id, verdict=verdict.value, reason=reason))


def filed(item: Item, found: Grade) -> Grade:
    """The grade with the facts of its file, which may have been moved since it was graded."""
    found.file, found.handed_in = item.name, handed_in(item.at_s) if item.at_s else ""
    found.label, found.folder = item.owner.label, item.owner.folder
    found.work = submission.fingerprint(item.text)
    return found


# --------------------------------------------------------------------------- many
def is_known(item: Item, before: Mapping[str, Grade]) -> bool:
    """Whether an item has a grade among those of before that it keeps.

    A work that could not be read is tried again where any version of the lab is right now.
    """
    found = before.get(item.key)
    is_unread = found is not None and found.verdict == GradeVerdict.UNREADABLE.value
    return found is not None and not (item.any_version and is_unread)


def grades(
    items: Sequence[Item], pool: Pool, before: Mapping[str, Grade]
) -> Iterator[tuple[Item, Grade]]:
    """The grade of each item, in the order in which they end; those graded before come first."""
    new: dict[str, list[Item]] = {}
    for item in items:
        if is_known(item, before):
            yield item, filed(item, before[item.key].model_copy())
        else:
            new.setdefault(item.key, []).append(item)
    left = list(new.values())
    for outcome in pool.results(grade_in_worker, [same[0] for same in left]):
        same = left[outcome.number]
        found = _of_outcome(same[0], outcome)
        for item in same:
            yield item, filed(item, found.model_copy())


def _of_outcome(item: Item, outcome: Outcome[str]) -> Grade:
    if outcome.ending is Ending.DONE and outcome.value is not None:
        return Grade.model_validate_json(outcome.value)
    verdict = GradeVerdict.CUT if outcome.ending is Ending.CUT else GradeVerdict.NOT_GRADED
    return _ungraded(item, verdict, outcome.reason)


def known(path: str) -> dict[str, Grade]:
    """The grades in a file of results by key, without those that were not judged.

    Raises NotResults if the file holds something else, and OSError.
    """
    rows = result_file.known(path)
    try:
        found = {key: Grade.model_validate(row[_GRADE]) for key, row in rows.items()}
    except (KeyError, ValueError):
        raise NotResults(f"{path} is no list of grades; choose another name") from None
    return {
        key: each for key, each in found.items() if each.verdict != GradeVerdict.NOT_GRADED.value
    }


def row_of(key: str, found: Grade) -> dict[str, object]:
    """The row of a grade in a file of results."""
    return {result_file.KEY: key, _GRADE: found.model_dump()}


_GRADE = "grade"


def items_of(
    works: Iterable[HandedIn], lab: str, lab_path: str, salt: str = "", *, public: bool = False,
    any_version: bool = False,
) -> list[Item]:  # fmt: skip
    """The items of a pool for what was handed in. lab: its text."""
    return [
        Item(lab, lab_path, w.text, w.name, w.owner, salt, public, w.at_s, any_version, w.unread)
        for w in works
    ]


_SHINGLE = 3  # lines
_NUMBER = re.compile(r"\d+")


def shingles(lines: Sequence[str]) -> frozenset[tuple[str, ...]]:
    """Each run of three lines, without numbers and spaces."""
    plain = [" ".join(_NUMBER.sub("0", line).split()) for line in lines]
    count = max(1, len(plain) - _SHINGLE + 1)
    return frozenset(tuple(plain[n : n + _SHINGLE]) for n in range(count)) if plain else frozenset()


def alike(
    works: Mapping[str, Sequence[str]], solutions: Iterable[Sequence[str]], least: float
) -> list[tuple[float, str, str]]:
    """Pairs of students whose likeness is at least `least` (0 to 1), the greatest first.

    Likeness is the share of common shingles among all of both. What an accepted solution of the
    lab has as well is left out.
    """
    known = frozenset(each for lines in solutions for each in shingles(lines))
    own = {student: shingles(lines) - known for student, lines in works.items()}
    found = []
    for one, other in combinations(own, 2):
        union = own[one] | own[other]
        share = len(own[one] & own[other]) / len(union) if union else 0.0
        if share >= least:
            found.append((share, one, other))
    return sorted(found, reverse=True)


_FEW, _BRIEF_S = 3, 1.0  # entries and seconds of a log that two students can have by chance


def same_logs(grades: Iterable[Grade]) -> list[list[Grade]]:
    """The grades of different students whose works have the same log, in groups.

    A log of an older version names no student: a short one may be the same by chance, and is left
    out.
    """
    of: dict[tuple[str, int, float], list[Grade]] = {}
    for each in grades:
        found = each.record
        if found is None or not found.entries:
            continue
        if found.student or (found.entries >= _FEW and found.seconds >= _BRIEF_S):
            of.setdefault((found.mark, found.entries, found.seconds), []).append(each)
    return [same for same in of.values() if len({each.who for each in same}) > 1]
