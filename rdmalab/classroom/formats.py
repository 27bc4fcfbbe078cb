"""Grades in the formats of others: CSV, JUnit, Gradescope, Moodle, and a table of causes."""

import csv
import json
import re
import zipfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from io import BytesIO, StringIO
from pathlib import PurePath
from xml.etree import ElementTree

from rdmalab.classroom.attempts import lateness
from rdmalab.classroom.grade_document import Grade, Result
from rdmalab.spec.causes import cause_rows
from rdmalab.views import fmt


def as_csv(grades: Sequence[Grade]) -> str:
    """One line a student: score without what a late work loses, verdict, score of each task."""
    tasks = list(dict.fromkeys(result.id for grade in grades for result in grade.results))
    out = StringIO()
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(
        ["student", "score", "of", "verdict", "reason", "file", "late", "penalty", "log", *tasks]
    )
    for grade in grades:
        scores = {result.id: result.score for result in grade.results}
        reason = grade.reason.partition("\n")[0]
        given = [grade.student, number(grade.mark), grade.of, grade.verdict, reason, grade.file]
        given += [lateness(grade.late_s), number(grade.penalty) if grade.penalty else ""]
        given.append(grade.log)
        rows.writerow([cell(text) for text in (*given, *(scores.get(task, "") for task in tasks))])
    return out.getvalue()


def number(value: float) -> float | int:
    """A whole number without a point."""
    return int(value) if value == int(value) else value


def cell(value: object) -> object:
    """A text that a spreadsheet would take for a formula begins with an apostrophe."""
    text = str(value)
    return f"'{text}" if isinstance(value, str) and text[:1] in ("=", "+", "-", "@") else value


def as_moodle(grades: Sequence[Grade]) -> str:
    """The table for the grade import of Moodle: id number, grade, feedback, state of the log.

    A work that was not judged has no grade, and the reason as its feedback. One with an answer that
    a person has to mark has none yet.
    """
    out = StringIO()
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(["ID number", "Grade", "Feedback", "Log"])
    for grade in grades:
        waits = any(result.is_waiting for result in grade.results) and grade.fixed is None
        score = number(grade.mark) if grade.is_judged and not waits else ""
        text = cell(" ".join(feedback(grade)))
        rows.writerow([cell(grade.student), score, text, grade.log])
    return out.getvalue()


def as_junit(grades: Sequence[Grade]) -> str:
    """A test suite a student, a test case a task; a work that was not judged is an error."""
    root = ElementTree.Element("testsuites", name="rdmalab")
    for grade in grades:
        failures = str(sum(result.passed is False for result in grade.results))
        is_error = grade.verdict != "graded"
        tests, errors = str(len(grade.results) + is_error), str(int(is_error))
        suite = ElementTree.SubElement(
            root, "testsuite", name=grade.who, tests=tests, failures=failures, errors=errors
        )
        if grade.log:
            properties = ElementTree.SubElement(suite, "properties")
            ElementTree.SubElement(properties, "property", name="log", value=grade.log)
        if is_error:
            case = ElementTree.SubElement(suite, "testcase", name="work", classname=grade.lab)
            message = f"{grade.verdict}: {grade.reason}".partition("\n")[0]
            ElementTree.SubElement(case, "error", message=message).text = grade.reason
        for result in grade.results:
            case = ElementTree.SubElement(suite, "testcase", name=result.id, classname=grade.lab)
            if result.passed is False:
                text = "\n".join(result.wrong)
                ElementTree.SubElement(case, "failure", message=why(result)).text = text
            elif result.passed is None:
                ElementTree.SubElement(case, "skipped", message=result.reason)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def as_gradescope(grade: Grade) -> str:
    """The results.json of one student; what is hidden is visible after the grades are published.

    Gradescope shows `output` above the tests.
    """
    tests = [
        {
            "name": result.id, **_score(result), "max_score": result.points,
            "output": why(result),
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
    output = "\n".join([output, *_terms(grade)])
    return json.dumps({"score": number(grade.mark), "output": output, "tests": tests}, indent=2)


def _score(result: Result) -> dict[str, object]:
    """Score and status for Gradescope; neither before a person has marked the answer."""
    if result.is_waiting:
        return {}
    return {"score": result.score, "status": "passed" if result.passed else "failed"}


def points(result: Result) -> str:
    """`2 of 4 points`, `to be marked, 4 points`."""
    most = fmt.count(result.points, "point")
    return f"to be marked, {most}" if result.is_waiting else f"{number(result.score)} of {most}"


def report(grade: Grade) -> str:
    """The report for a student: each task with its score, and why it failed."""
    lines = [f"{grade.lab}  {grade.who}  {grade.mark:g} of {grade.of}".strip()]
    if grade.verdict != "graded":
        lines.append(f"{grade.verdict}: {grade.reason}")
    lines += _terms(grade)
    for result in grade.results:
        mark = {True: "+", False: "-", None: "?"}[result.passed]
        lines.append(f"{mark} {result.id}  {points(result)}  {why(result)}".rstrip())
    lines += [f"! line {foul.line} was skipped: {foul.why}" for foul in grade.foul]
    return "\n".join(lines) + "\n"


def feedback(grade: Grade) -> list[str]:
    """A sentence for each task that lacks points, and why a work was not judged or lost points."""
    judged = [f"{grade.verdict}: {grade.reason}"] if grade.verdict != "graded" else []
    tasks = [f"{r.id}: {why(r)}" for r in grade.results if why(r)]
    return [_sentence(text) for text in (*judged, *_terms(grade), *tasks)]


def _sentence(text: str) -> str:
    """The first line of a text, with one full stop."""
    line = text.strip().partition("\n")[0].rstrip()
    return line if line.endswith((".", "!", "?")) else f"{line}."


def _terms(grade: Grade) -> list[str]:
    """The `terms` of a grade, and the works that do not count, as sentences."""
    return [*terms(grade), *(f"not counted: {other}" for other in grade.others)]


def terms(grade: Grade) -> list[str]:
    """Lateness, what `why` and `apply` have cost, another version, a log that is not whole."""
    late = f"late by {lateness(grade.late_s)}" if grade.late_s else ""
    lost = f", {_less(grade.penalty)}" if late and grade.penalty else ""
    asked = f"{_less(grade.doctor)} for why, checklist and apply" if grade.doctor else ""
    edits = f": {grade.edits}" if grade.edits else ""
    log = f"the log of the work is {grade.log}{edits}" if grade.log_remark else ""
    version = f"the work is {grade.version_remark}" if grade.version else ""
    return [*filter(None, (f"{late}{lost}", asked, version, log))]


def _less(points: float) -> str:
    return f"{fmt.count(number(points), 'point')} less"


def why(result: Result) -> str:
    """The part of a result that a student may read: authored text only, no hidden goal."""
    if result.passed is not False:
        return result.reason
    if result.cause is not None and result.cause.help:
        return result.cause.help
    return "" if result.hidden else "; ".join(result.wrong)


def causes(grades: Iterable[Grade]) -> str:
    """Mean of the scores, and by task how many failed, by which cause: the instructor's table."""
    often: Counter[tuple[str, str]] = Counter()
    counts: dict[str, Counter[bool | None]] = {}
    works = [grade for grade in grades if grade.is_judged]
    for grade in works:
        for result in grade.results:
            if result.passed is not None or not result.fixed:
                counts.setdefault(result.id, Counter())[result.passed] += 1
            if result.passed is False:
                often[result.id, _in_words(result, grade.params)] += 1
    mean = sum(grade.mark for grade in works) / max(1, len(works))
    total = f", on average {mean:.3g} of {fmt.count(works[0].of, 'point')}" if works else ""
    lines = [f"{fmt.count(len(works), 'work')}{total}"]
    for task, found in counts.items():
        rest = f", {found[None]} not judged" if found[None] else ""
        lines.append(f"{task}: {found[False]} of {found.total()} failed{rest}")
        rows = sorted((row for row in often.items() if row[0][0] == task), key=lambda row: -row[1])
        lines += [f"  {count:>4}  {cause}" for (_, cause), count in rows]
    return "\n".join(lines)


def _in_words(result: Result, params: Mapping[str, str]) -> str:
    """The reason of a failure: the cause in words, or the first goal that is not met.

    params: of the student, whose values have their names in a goal, so that equal goals are one.
    """
    slug = result.cause.id if result.cause is not None else ""
    if (row := cause_rows().get(slug)) is not None:
        return f"{slug}: {row.says or row.rule}"
    wrong = next(iter(result.wrong), "no cause is named")
    if not slug:
        return wrong
    goal = wrong.partition(": ")[0]  # a standing of `why` such as `well` is no cause
    for name, value in params.items():
        goal = re.sub(rf"\b{re.escape(value)}\b", f"${{{name}}}", goal)
    return f"no error is found, and this is not met: {goal}"


_NO_NAME = re.compile(r"[^\w.-]+")


def file_names(grades: Iterable[Grade]) -> dict[str, Grade]:
    """Grades by names for their files: the student, or what is known instead, without a path."""
    found: dict[str, Grade] = {}
    for grade in grades:
        stem = grade.student or grade.label or PurePath(grade.file).stem
        name = wanted = _NO_NAME.sub("-", stem).strip(".-") or "work"
        count = 1
        while name.casefold() in map(str.casefold, found):
            name, count = f"{wanted}-{count + 1}", count + 1
        found[name] = grade
    return found


_DATE = (1980, 1, 1, 0, 0, 0)  # the same bytes each time


def moodle_zip(pages: Mapping[str, bytes], name: str) -> bytes:
    """The file for Upload multiple feedback files in a zip.

    pages: by the folder of the student in the download, as Moodle made it; there Moodle finds the
    student by the number in the name of the folder. name: of each page.
    """
    out = BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for folder, octets in sorted(pages.items()):
            entry = zipfile.ZipInfo(f"{folder}/{name}", _DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, octets)
    return out.getvalue()
