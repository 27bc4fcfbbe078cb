"""Grade many submissions: in worker processes, resumable, no grade lost and none twice."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256

from rdmalab.classroom import submission
from rdmalab.classroom.grade_document import Grade
from rdmalab.classroom.judging import Work, grade
from rdmalab.classroom.lab_file import LabFile, loads
from rdmalab.classroom.playing import Verdict
from rdmalab.classroom.public import other_lab
from rdmalab.classroom.work_log import record
from rdmalab.jobs import result_file
from rdmalab.jobs.limits import Limits
from rdmalab.jobs.outcome import Ending, Outcome, Pool
from rdmalab.jobs.result_file import NotResults
from rdmalab.scenario.source import FileError
from rdmalab.version import VERSION
from rdmalab.vocabulary import VOCABULARY

_LABS = 64  # worlds of labs that a worker keeps: one for each student and each value of `vary`


@dataclass(frozen=True, slots=True)
class Item:
    """One submission to be graded. name: of its file. student: by the roster, empty: its own."""

    lab: str
    lab_path: str
    text: str
    name: str
    salt: str = ""
    student: str = ""
    public: bool = False

    @property
    def key(self) -> str:
        """The same for the same work: the lab, the engine and what was handed in."""
        parts = (VERSION, self.lab, self.salt, self.student, str(self.public), self.text)
        return sha256("\0".join(parts).encode()).hexdigest()


@lru_cache(maxsize=_LABS)
def _lab(
    text: str, path: str, student: str, salt: str, world: tuple[tuple[str, str], ...]
) -> LabFile:
    return loads(text, path, VOCABULARY, student=student, salt=salt, world=dict(world))


def graded(item: Item, _limits: Limits) -> str:
    """The grade of one submission, as JSON; the work of a pool."""
    return grade_of(item).model_dump_json()


def grade_of(item: Item) -> Grade:
    """The grade of one submission; what cannot be read is `unreadable`, and never passes."""
    work = submission.fingerprint(item.text)
    try:
        given = submission.loads(item.text, item.name)
    except FileError as wrong:
        return _ungraded(item, Verdict.UNREADABLE, str(wrong))
    student = item.student or given.student
    try:
        lab = _lab(item.lab, item.lab_path, student, item.salt, ())
    except FileError as wrong:
        return _ungraded(item, Verdict.NOT_GRADED, str(wrong))
    if reason := other_lab(lab, given.lab):
        return _ungraded(item, Verdict.UNREADABLE, reason)

    def reopen(world: Mapping[str, str]) -> LabFile:
        values = tuple(sorted(world.items()))
        return _lab(item.lab, item.lab_path, student, item.salt, values)

    found = grade(lab, Work(given.lines, given.answers, given.hints), reopen, public=item.public)
    found.student, found.work, found.file = student, work, item.name
    found.record = record(given.log)
    return found


def _ungraded(item: Item, verdict: Verdict, reason: str) -> Grade:
    return Grade(
        student=item.student, file=item.name, verdict=verdict.value, reason=reason,
        work=submission.fingerprint(item.text),
    )  # fmt: skip


# --------------------------------------------------------------------------- many
def grades(
    items: Sequence[Item], pool: Pool, before: Mapping[str, Grade]
) -> Iterator[tuple[Item, Grade]]:
    """The grade of each item, in the order in which they end; those graded before come first."""
    new: dict[str, Item] = {}
    for item in items:
        if item.key in before:
            yield item, before[item.key]
        else:
            new[item.key] = item
    left = list(new.values())
    for outcome in pool.results(graded, left):
        item = left[outcome.number]
        yield item, _of_outcome(item, outcome)


def _of_outcome(item: Item, outcome: Outcome[str]) -> Grade:
    if outcome.ending is Ending.DONE and outcome.value is not None:
        return Grade.model_validate_json(outcome.value)
    verdict = Verdict.CUT if outcome.ending is Ending.CUT else Verdict.NOT_GRADED
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
    return {key: each for key, each in found.items() if each.verdict != Verdict.NOT_GRADED.value}


def row_of(key: str, found: Grade) -> dict[str, object]:
    """The row of a grade in a file of results."""
    return {result_file.KEY: key, _GRADE: found.model_dump()}


_GRADE = "grade"
