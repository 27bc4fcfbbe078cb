"""The work of a student that counts, among several; late works, and what they lose."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, time
from math import ceil
from typing import Literal, get_args

from rdmalab.classroom.grade_document import Grade
from rdmalab.spec.row import dataclass

Keep = Literal["newest", "best"]
KEEPS: tuple[str, ...] = get_args(Keep)
_DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of an assignment. due: None: no date.

    penalty: per cent of the score for each day that begins after it. keep: which work counts.
    """

    keep: Keep = "newest"
    due: datetime | None = None
    penalty: int = 0


def due_at(text: str) -> datetime:
    """A date, which means its last second, or date and time; without a zone: of this machine.

    Raises ValueError.
    """
    found = datetime.fromisoformat(text.strip())
    if len(text.strip()) <= len("2026-11-30"):
        found = datetime.combine(found, time(23, 59, 59), found.tzinfo)
    return found if found.tzinfo is not None else found.astimezone()


def handed_in(at_s: float) -> str:
    """A time of a file as a grade has it, in UTC."""
    return datetime.fromtimestamp(int(at_s), UTC).isoformat()


def counted(grades: Iterable[Grade], terms: Terms) -> list[Grade]:
    """One grade of each student, by name; the others are listed in it.

    A work that was judged counts before one that was not: a file under a false name does not
    replace the work of the student who handed it in.
    """
    of: dict[str, list[Grade]] = {}
    for grade in grades:
        found = grade.model_copy()
        charge(found, terms)
        of.setdefault(found.student or f"\0{found.label or found.file}", []).append(found)
    return sorted((_chosen(each, terms.keep) for each in of.values()), key=_place)


def charge(grade: Grade, terms: Terms) -> None:
    """Note how late a work is, and the points that it loses for that."""
    if terms.due is None or not grade.handed_in:
        return
    late_s = (datetime.fromisoformat(grade.handed_in) - terms.due).total_seconds()
    if late_s > 0:
        grade.late_s = int(late_s)
        share = min(100, terms.penalty * ceil(late_s / _DAY_S))
        grade.penalty = round(grade.score * share / 100, 2)


def _chosen(works: Sequence[Grade], keep: Keep) -> Grade:
    """The work that counts, which lists the others."""

    def rank(number: int) -> tuple[bool, float, str, int]:
        grade = works[number]
        score = grade.mark if keep == "best" else 0.0
        return grade.is_judged, score, grade.handed_in, number

    best = works[max(range(len(works)), key=rank)]
    best.others = [_line(each) for each in works if each is not best]
    return best


def _place(grade: Grade) -> tuple[bool, str, str]:
    """Students by their id; works without one come last."""
    return not grade.student, grade.student, grade.file


def _line(grade: Grade) -> str:
    judged = f"{grade.mark:g} of {grade.of}" if grade.is_judged else grade.reason
    return f"{grade.file}: {judged}".partition("\n")[0]


def lateness(late_s: int) -> str:
    """`3 h 5 min`, `2 d 4 h`; empty if it is not late."""
    minutes = ceil(late_s / 60)
    days, hours, rest = minutes // 1440, minutes // 60 % 24, minutes % 60
    parts = [(days, "d"), (hours, "h"), (rest, "min")]
    return " ".join([f"{n} {unit}" for n, unit in parts if n][:2])
