"""Remarks and points given by hand: a table that a person edits and the program only adds to.

A row is of a student, a lab, and perhaps a task. `points` replace the score of that task, or of the
whole lab. `answer` is the text to which the points were given; after another answer they no
longer count. A later row counts before an earlier one.
"""

import csv
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from io import StringIO
from pathlib import Path

from rdmalab import disk
from rdmalab.classroom.attempts import Terms, charge
from rdmalab.classroom.formats import cell, number
from rdmalab.classroom.grade_document import Grade, Result
from rdmalab.classroom.model import LabDocument
from rdmalab.command import WrongFile
from rdmalab.grammar.hints import listed, quoted, suggest
from rdmalab.spec.row import dataclass

COLUMNS = ("student", "lab", "task", "points", "remark", "answer")
MOST_POINTS = 1000
_NEEDED = COLUMNS[:3]
_DELIMITERS = ",;\t"


@dataclass(frozen=True, slots=True)
class Remark:
    """A row. task: empty: the whole lab. points: None: the score stays. line: of the file."""

    student: str
    lab: str
    task: str = ""
    points: float | None = None
    text: str = ""
    answer: str = ""
    line: int = 0


class WrongRemarks(WrongFile):
    """Raised for a table with mistakes; each is a line of its text."""


@dataclass(slots=True)
class RemarkTable:
    """The rows of a file. encoding, delimiter, heads: as the file has them."""

    path: Path
    rows: list[Remark] = field(default_factory=list)
    encoding: str = "utf-8"
    delimiter: str = ","
    heads: Sequence[str] = COLUMNS

    def of(self, student: str, lab: str) -> list[Remark]:
        """The rows of a student in a lab, in the order of the file."""
        return [each for each in self.rows if (each.student, each.lab) == (student, lab)]

    def add(self, new: Iterable[Remark]) -> int:
        """Add rows at the end of the file; what stands there stays as it is. Returns how many.

        Raises OSError.
        """
        rows = list(new)
        if not rows:
            return 0
        there = disk.read(self.path) if self.path.exists() else b""
        out = StringIO()
        writer = csv.writer(out, delimiter=self.delimiter, lineterminator="\n")
        if not there.strip():
            writer.writerow(self.heads)
        elif not there.endswith(b"\n"):
            out.write("\n")
        for row in rows:
            writer.writerow([_cells(row).get(head.casefold(), "") for head in self.heads])
        disk.write(self.path, there + out.getvalue().encode(self.encoding, "replace"), bool)
        self.rows += rows
        return len(rows)


def _cells(row: Remark) -> dict[str, object]:
    points = "" if row.points is None else f"{row.points:g}"
    values = (row.student, row.lab, row.task, points, row.text, row.answer)
    return dict(zip(COLUMNS, map(cell, values), strict=True))


# --------------------------------------------------------------------------- read
def read(path: Path, students: Collection[str], labs: Mapping[str, LabDocument]) -> RemarkTable:
    """The table in a file, an empty one if there is none; raises WrongRemarks and OSError."""
    table = RemarkTable(path)
    if not path.exists():
        return table
    octets = disk.read(path)
    text = ""
    for table.encoding in ("utf-8-sig", "cp1252"):
        try:
            text = octets.decode(table.encoding)
            break
        except UnicodeDecodeError:
            continue
    else:
        raise WrongRemarks(f"{path}: it is no text; save it as CSV")
    table.encoding = table.encoding.removesuffix("-sig")
    wrong = list(_read_rows(table, text, students, labs))
    if wrong:
        raise WrongRemarks("\n".join(f"{path}{each}" for each in wrong))
    return table


def _read_rows(
    table: RemarkTable, text: str, students: Collection[str], labs: Mapping[str, LabDocument]
) -> Iterator[str]:
    """Read all rows; yields each mistake."""
    first = text.partition("\n")[0]
    table.delimiter = max(_DELIMITERS, key=first.count)
    reader = csv.reader(StringIO(text), delimiter=table.delimiter)
    heads = [head.strip().casefold() for head in next(reader, [])]
    table.heads = heads
    lacking = [name for name in _NEEDED if name not in heads]
    if lacking:
        yield f":1: no column {lacking[0]}: {listed(list(COLUMNS), 'columns: ')}"
        return
    for row in reader:
        if any(each.strip() for each in row):
            pairs = zip(heads, row, strict=False)
            cells = {head: _plain(value) for head, value in pairs}
            remark, wrong = _remark(cells, reader.line_num, students, labs)
            yield from (f":{reader.line_num}: {each}" for each in wrong)
            if remark is not None:
                table.rows.append(remark)


def _plain(value: str) -> str:
    """The text of a cell, without the apostrophe of `cell`."""
    text = value.strip()
    return text[1:] if text[:1] == "'" and text[1:2] in ("=", "+", "-", "@") else text


def _remark(
    cells: Mapping[str, str], line: int, students: Collection[str],
    labs: Mapping[str, LabDocument],
) -> tuple[Remark | None, list[str]]:  # fmt: skip
    student, lab, task = (cells.get(name, "") for name in _NEEDED)
    given = cells.get("points", "")
    points = points_of(given) if given else None
    wrong = mistakes(student, lab, task, students, labs, points)
    if given and points is None:
        wrong.append(f"points {quoted(given)}: write a number from 0 to {MOST_POINTS}")
    made = Remark(
        student, lab, task, points, cells.get("remark", ""), cells.get("answer", ""), line
    )
    return (None, wrong) if wrong else (made, [])


def mistakes(
    student: str, lab: str, task: str, students: Collection[str],
    labs: Mapping[str, LabDocument], points: float | None = None,
) -> list[str]:  # fmt: skip
    """The names of a row that nothing has, and points above what the task is worth.

    task: empty: the whole lab. points: None: the row has none.
    """
    wrong = []
    if student not in students:
        wrong.append(f"no student {quoted(student)}: {suggest(student, students)}")
    if lab not in labs:
        wrong.append(f"no lab {quoted(lab)}: {suggest(lab, labs)}")
    elif task and task not in (ids := [each.id for each in labs[lab].tasks]):
        wrong.append(f"no task {quoted(task)} in {lab}: {suggest(task, ids)}")
    elif points is not None and points > (worth := _worth(labs[lab], task)):
        wrong.append(f"{points:g} points: {task or lab} is worth {worth}")
    return wrong


def _worth(lab: LabDocument, task: str) -> int:
    return lab.points if not task else next(each.points for each in lab.tasks if each.id == task)


def points_of(text: str) -> float | None:
    """The points that a text names, with a point or a comma; None: it is no such number."""
    try:
        points = float(text.replace(",", "."))
    except ValueError:
        return None
    return points if 0 <= points <= MOST_POINTS else None  # also false of nan


# --------------------------------------------------------------------------- apply
def to_be_marked(grade: Grade, rows: Sequence[Remark]) -> list[Remark]:
    """The rows that the table lacks: answers that a person has to mark, without points."""
    return [
        Remark(grade.student, grade.lab, result.id, answer=result.given)
        for result in grade.results
        if result.by_hand and result.given
        and not any(_is_of(row, result) for row in rows)
    ]  # fmt: skip


def applied(grade: Grade, rows: Sequence[Remark], lab: LabDocument, terms: Terms) -> Grade:
    """The grade with what was given by hand; what a late work loses is counted again."""
    found = grade.model_copy(deep=True)
    for row in rows:
        if not row.task:
            found.fixed = row.points if row.points is not None else found.fixed
            found.remark = row.text or found.remark
            continue
        result = _result(found, row.task, lab)
        if not _is_of(row, result):
            continue
        result.remark = row.text or result.remark
        if row.points is not None:
            result.score, result.reason = number(row.points), ""
            result.fixed = True
    found.of = found.of or lab.points
    found.score = max(0, sum(result.score for result in found.results) - found.doctor)
    charge(found, terms)
    return found


def _is_of(row: Remark, result: Result) -> bool:
    """Whether a row is about this task, and not about an answer that was replaced since."""
    return row.task == result.id and row.answer in ("", _plain(str(cell(result.given))))


def _result(grade: Grade, task: str, lab: LabDocument) -> Result:
    """The result of a task; of a work that was not judged it is made here."""
    found = next((each for each in grade.results if each.id == task), None)
    if found is None:
        found = Result(id=task, points=_worth(lab, task))
        grade.results.append(found)
    return found
