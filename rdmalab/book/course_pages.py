"""Pages of a course, each one file that needs no other: a student's report, and the gradebook."""

from collections.abc import Mapping, Sequence

from rdmalab.book.html import Markup, escaped, folded, joined, tag, trusted
from rdmalab.book.lesson_page import table
from rdmalab.book.page import head_of, sheet_of_style
from rdmalab.classroom.formats import number, points, terms, why
from rdmalab.classroom.grade_document import Grade, Result
from rdmalab.classroom.gradebook import Gradebook, LabColumn, StudentRow, note
from rdmalab.classroom.picture import Drawing
from rdmalab.version import VERSION
from rdmalab.views import fmt

_POLICY = "; ".join((
    "default-src 'none'", "img-src data:", "style-src 'unsafe-inline'", "base-uri 'none'",
    "form-action 'none'",
))  # fmt: skip
_SIGNS = {True: "✓", False: "✗", None: "·"}
_CLASSES = {True: "passed", False: "unmet", None: "open"}
_WORDS = {True: "passed", False: "not passed", None: "not judged"}


def _whole(title: str, *main: str) -> bytes:
    head = head_of(title, _POLICY, tag("style", trusted(sheet_of_style())))
    foot = tag("footer", tag("p", f"Made by rdmalab {VERSION}. All times of packets are virtual."))
    body = tag("body", tag("main", tag("h1", title), *main), foot)
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n".encode()


# --------------------------------------------------------------------------- a student
def report_page(
    student: StudentRow, labs: Sequence[LabColumn], drawings: Mapping[str, Drawing]
) -> bytes:
    """The report of a student for some labs. drawings: by lab, of what went wrong."""
    who = f"{student.name} ({student.id})" if student.name else student.id
    title = f"{labs[0].title}: {who}" if len(labs) == 1 else who
    parts = []
    if len(labs) > 1 and student.total is not None:
        parts.append(tag("p", "Total: ", tag("strong", f"{number(student.total)} %")))
    for lab in labs:
        head = tag("h2", lab.title) if len(labs) > 1 else escaped("")
        section = _lab(student.grades[lab.id], drawings.get(lab.id))
        parts.append(tag("section", head, section))
    return _whole(title, *parts)


def _lab(grade: Grade, drawing: Drawing | None) -> Markup:
    """Score, tasks, skipped lines and the drawing of one lab."""
    parts = [tag("p", tag("strong", f"{number(grade.mark)} of {grade.of} points"), _terms(grade))]
    if grade.verdict != "graded":
        parts.append(tag("div", tag("p", f"{grade.verdict}: {grade.reason}"), class_="failed"))
    if grade.remark:
        parts.append(tag("div", tag("p", grade.remark), class_="note"))
    if grade.results:
        parts.append(tag("div", joined(map(_task, grade.results)), class_="tasks"))
    fouls = [tag("li", f"Line {foul.line}: {foul.why}") for foul in grade.foul]
    if fouls:
        parts.append(folded(f"{fmt.count(len(fouls), 'line')} skipped", tag("ul", *fouls)))
    if drawing is not None and drawing.svg:
        parts.append(_figure(drawing))
    return joined(parts)


def _terms(grade: Grade) -> str:
    parts = [*terms(grade), *(["given by hand"] if grade.fixed is not None else [])]
    return f" ({'; '.join(parts)})" if parts else ""


def _task(result: Result) -> Markup:
    """A task with its feedback; of a hidden one no goal is shown."""
    sign = tag("span", _SIGNS[result.passed], class_="mark", aria_hidden="true")
    state = tag("span", "marked by hand: " if result.fixed else f"{_WORDS[result.passed]}: ",
                class_="read")  # fmt: skip
    parts = [tag("h3", sign, " ", state, result.id, tag("small", f" {points(result)}"))]
    if result.ask:
        parts.append(tag("p", result.ask, class_="quiet"))
    if result.given:
        parts.append(tag("pre", result.given))
    if text := why(result):
        parts.append(tag("p", text))
    if result.passed is False and not result.hidden:
        parts.append(tag("ul", *(tag("li", tag("code", goal)) for goal in result.wrong)))
    if result.remark:
        parts.append(tag("div", tag("p", result.remark), class_="note"))
    return tag("section", *parts, class_=_CLASSES[result.passed])


def _figure(drawing: Drawing) -> Markup:
    scroll = tag("div", trusted(drawing.svg), class_="drawing", tabindex="0", role="group",
                 aria_label="Ladder of your packets")  # fmt: skip
    twin = folded("The drawing as text", tag("pre", drawing.text), class_="twin")
    caption = tag("figcaption", "Your packets: the last ones of the work that was graded.")
    return tag("figure", scroll, caption, twin)


# --------------------------------------------------------------------------- all students
def gradebook_page(book: Gradebook, reports: Mapping[str, str]) -> bytes:
    """The gradebook. reports: id of a student → address of the report."""
    heads = ["student", "name", *(f"{lab.id} ({lab.of})" for lab in book.labs), "total %", ""]
    rows = [_student(each, book, reports.get(each.id)) for each in book.students]
    labs = table(
        ("lab", "points", "weight", "due"),
        [(lab.title, str(lab.of), str(lab.weight), lab.due or "") for lab in book.labs],
    )
    parts = [tag("div", table(tuple(heads), rows), class_="wide"), tag("h2", "Labs"), labs]
    if book.unknown:
        unknown = [(each.file, f"{each.verdict}: {each.reason}") for each in book.unknown]
        parts += [tag("h2", "Works of unknown students"), table(("file", "why"), unknown)]
    return _whole(book.title, *parts)


def _student(each: StudentRow, book: Gradebook, address: str | None) -> tuple[str, ...]:
    name = tag("a", each.id, href=address) if address else each.id
    cells = [_cell(each.grades[lab.id]) for lab in book.labs]
    total = "" if each.total is None else f"{each.total:g}"
    waiting = f"to be marked: {', '.join(each.to_be_marked)}" if each.to_be_marked else ""
    return (name, each.name, *cells, total, waiting)


def _cell(grade: Grade) -> Markup:
    score = f"{number(grade.mark)} " if grade.is_judged else ""
    return joined([score, tag("small", note(grade)) if note(grade) else ""])
