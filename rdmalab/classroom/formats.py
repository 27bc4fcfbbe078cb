"""Grades in the formats of others: CSV, JUnit, Gradescope, Moodle, and a table of causes."""

import csv
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from io import StringIO
from xml.etree import ElementTree

from rdmalab.classroom.grade_document import Grade, Result


def as_csv(grades: Sequence[Grade]) -> str:
    """One line a student: score, verdict, and the score of each task."""
    tasks = list(dict.fromkeys(result.id for grade in grades for result in grade.results))
    out = StringIO()
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(["student", "score", "of", "verdict", "reason", "file", *tasks])
    for grade in grades:
        scores = {result.id: result.score for result in grade.results}
        reason = grade.reason.partition("\n")[0]
        given = [grade.student, grade.score, grade.of, grade.verdict, reason, grade.file]
        rows.writerow([_cell(text) for text in (*given, *(scores.get(task, "") for task in tasks))])
    return out.getvalue()


def _cell(value: object) -> object:
    """A text that a spreadsheet would take for a formula begins with an apostrophe."""
    text = str(value)
    return f"'{text}" if isinstance(value, str) and text[:1] in ("=", "+", "-", "@") else value


def as_moodle(grades: Sequence[Grade]) -> str:
    """What the grade import of Moodle reads: id number, grade, feedback."""
    out = StringIO()
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(["ID number", "Grade", "Feedback"])
    for grade in grades:
        rows.writerow([_cell(grade.student), grade.score, _cell(" ".join(feedback(grade)))])
    return out.getvalue()


def as_junit(grades: Sequence[Grade]) -> str:
    """A test suite a student, a test case a task."""
    root = ElementTree.Element("testsuites", name="rdmalab")
    for grade in grades:
        failures = str(sum(result.passed is False for result in grade.results))
        tests = str(len(grade.results))
        suite = ElementTree.SubElement(
            root, "testsuite", name=grade.student, tests=tests, failures=failures
        )
        for result in grade.results:
            case = ElementTree.SubElement(suite, "testcase", name=result.id, classname=grade.lab)
            if result.passed is False:
                text = "\n".join(result.wrong)
                ElementTree.SubElement(case, "failure", message=_why(result)).text = text
            elif result.passed is None:
                ElementTree.SubElement(case, "skipped", message=result.reason)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def as_gradescope(grade: Grade) -> str:
    """The results.json of one student; what is hidden is visible after the grades are published."""
    tests = [
        {
            "name": result.id, "score": result.score, "max_score": result.points,
            "status": "passed" if result.passed else "failed", "output": _why(result),
            "visibility": "after_published" if result.hidden else "visible",
        }
        for result in grade.results
    ]  # fmt: skip
    public = [r for r in grade.results if not r.hidden]
    hidden = [r for r in grade.results if r.hidden]
    output = (
        f"public {sum(r.score for r in public)} of {sum(r.points for r in public)}, "
        f"hidden {sum(r.points for r in hidden)} points"
    )
    if grade.verdict != "graded":
        output = f"{grade.verdict}: {grade.reason}"
    return json.dumps({"score": grade.score, "output": output, "tests": tests}, indent=2)


def report(grade: Grade) -> str:
    """What a student reads: each task with its score, and why it failed."""
    lines = [f"{grade.lab}  {grade.student or grade.file}  {grade.score} of {grade.of}".strip()]
    if grade.verdict != "graded":
        lines.append(f"{grade.verdict}: {grade.reason}")
    for result in grade.results:
        mark = {True: "+", False: "-", None: "?"}[result.passed]
        lines.append(
            f"{mark} {result.id}  {result.score} of {result.points}  {_why(result)}".rstrip()
        )
    lines += [f"! line {foul.line} was skipped: {foul.why}" for foul in grade.foul]
    return "\n".join(lines) + "\n"


def feedback(grade: Grade) -> list[str]:
    """A sentence for each task that is not passed."""
    return [f"{r.id}: {_why(r)}." for r in grade.results if r.passed is not True and _why(r)]


def _why(result: Result) -> str:
    """What a student may read of a result: authored text only, no hidden goal."""
    if result.passed is None:
        return result.reason
    if result.cause is not None and result.cause.help:
        return result.cause.help
    return "" if result.hidden else "; ".join(result.wrong)


def causes(grades: Iterable[Grade]) -> str:
    """Which cause stopped how many, by task: the table for the instructor."""
    often: Counter[tuple[str, str]] = Counter()
    failed: Counter[str] = Counter()
    order: list[str] = []
    for grade in grades:
        for result in grade.results:
            if result.id not in order:
                order.append(result.id)
            if result.passed is False:
                failed[result.id] += 1
                cause = result.cause.id if result.cause is not None else ""
                often[result.id, cause or next(iter(result.wrong), "no cause named")] += 1
    lines = []
    for task in order:
        lines.append(f"{task}: {failed[task]} failed")
        rows = sorted((row for row in often.items() if row[0][0] == task), key=lambda row: -row[1])
        lines += [f"  {count:>4}  {cause}" for (_, cause), count in rows]
    return "\n".join(lines)
