"""The page of a lab, and the sheet of a student: tasks and world, nothing that gives them away.

What a page may show is decided by `classroom/public.py`: the lab is read again from the text that
students get, so answers, feedback and hidden goals are not here to be shown.
"""

from collections.abc import Sequence

from rdmalab.book import code
from rdmalab.book.catalogue import Catalogue, Chapter
from rdmalab.book.html import Markup, escaped, folded, joined, tag
from rdmalab.book.lesson_page import MOST_FOUND, Rendered, beside, facts, table, unreadable
from rdmalab.book.page import Found, Page, root_of, trail
from rdmalab.book.steps import StepWriter
from rdmalab.book.words import Linker
from rdmalab.classroom.lab_file import LabFile, load, loads
from rdmalab.classroom.model import LabDocument, Rules, Task
from rdmalab.classroom.parameter_model import SHUT
from rdmalab.classroom.public import published
from rdmalab.classroom.rules import prices
from rdmalab.lab import open_session
from rdmalab.scenario.runner import Runner
from rdmalab.scenario.source import FileError
from rdmalab.views import fmt
from rdmalab.vocabulary import VOCABULARY

EXAMPLE = "example"
"""The student of the page that all can read."""


def rendered(chapter: Chapter, catalogue: Catalogue) -> Rendered:
    """The page of a lab, with the values of no real student."""
    linker = Linker(root_of(chapter.page), catalogue.pages())
    try:
        lab = public(chapter, EXAMPLE)
    except FileError as error:
        return unreadable(chapter, error)
    document = lab.document
    body, wrong = lab_body(lab, linker)
    statements = tuple(document.teaches or ())
    main = joined([
        trail(chapter, linker.root, "Lessons"),
        tag("h1", document.title),
        facts(chapter, [*document.tags, f"level {document.level or 1}"], statements, linker),
        _drawn_by_student(document),
        body,
        beside(chapter, catalogue, linker.root),
    ])  # fmt: skip
    about = (document.about or "").strip()
    text = f"lab {' '.join(document.tags)} {' '.join(statements)} {about}"[:MOST_FOUND]
    found = Found(chapter.page, document.title, chapter.name, text)
    return Rendered(Page(chapter.page, document.title, main, [found], "lab"), about, wrong=wrong)


def public(chapter: Chapter, student: str) -> LabFile:
    """The part of a lab that students get, in the world of one; raises FileError."""
    text = published(load(chapter.path, VOCABULARY, student))
    return loads(text, chapter.path, VOCABULARY, student=student)


def lab_body(lab: LabFile, linker: Linker) -> tuple[Markup, str]:
    """About, rules, tasks and world of a lab for one student; and why its setup failed, if so."""
    document = lab.document
    runner = Runner(lab.scenario, open_session)
    setup = StepWriter(runner, linker).setup()
    wrong = "" if runner.ok else runner.results[-1].text(lab.source.path)
    failed = tag("div", tag("pre", wrong), class_="failed") if wrong else escaped("")
    return joined([
        tag("div", linker.paragraphs(document.about or ""), class_="about"),
        failed,
        _rules(document.rules, linker),
        folded("World: these commands have run", setup, class_="world", is_open=True),
        tag("h2", "Tasks ", tag("small", fmt.count(document.points, "point"))),
        *(_task(number, task, linker) for number, task in enumerate(document.tasks, 1)),
    ]), wrong  # fmt: skip


def _drawn_by_student(document: LabDocument) -> Markup:
    if not document.params:
        return escaped("")
    rows = [(f"${{{name}}}", " ".join(p.values), p.about or "")
            for name, p in document.params.items()]  # fmt: skip
    text = tag("p", "Each student has other values; this page shows one of them.")
    return folded("Parameters", text, table(("parameter", "one of", "meaning"), rows))


def _rules(rules: Rules, linker: Linker) -> Markup:
    items: list[str] = []
    if rules.allow:
        items.append(f"Also allowed: {' '.join(rules.allow)}.")
    if rules.forbid:
        items.append(f"Not allowed: {', '.join(rules.forbid)}.")
    if rules.lock:
        items.append(f"Not to be changed: {' '.join(rules.lock)}.")
    if rules.past != "free":
        items.append({"counted": "Going back in time is counted.",
                      "never": "Going back in time is not allowed."}[rules.past])  # fmt: skip
    if rules.apply == SHUT:
        shut = "why, checklist and apply are" if rules.doctor == SHUT else "apply is"
        items.append(f"{shut} not available.")
    items += [f"{price.capitalize()}." for price in prices(rules)]
    if not items:
        return escaped("")
    return tag("ul", joined(tag("li", linker.prose(each)) for each in items), class_="rules")


def _task(number: int, task: Task, linker: Linker) -> Markup:
    points = fmt.count(task.points, "point")
    head = tag("h3", f"{number}. {task.title or task.id} ", tag("small", points))
    parts = [head, linker.paragraphs(task.ask or "")]
    if task.hidden:
        announced = f"{task.announce or ''} Your instructor judges this task."
        parts.append(tag("div", linker.paragraphs(announced), class_="note"))
    if task.choice is not None:
        choices = [tag("li", linker.prose(choice.text)) for choice in task.choice]
        parts.append(tag("ol", joined(choices), class_="choices"))
    if task.goal is not None:
        parts.append(tag("p", "Checked when you are done:"))
        goals = [tag("li", _goal_lead(g.kind), code.question(g.question, linker))
                 for g in task.goal]  # fmt: skip
        parts.append(tag("ul", joined(goals), class_="goals"))
    if task.needs:
        parts.append(tag("p", f"After: {', '.join(task.needs)}.", class_="quiet"))
    if task.is_asked or (task.hidden and task.ask):
        parts.append(tag("p", tag("code", f"answer {task.id} "), tag("span", "", class_="blank")))
    if task.hints:
        cost = sum(hint.cost for hint in task.hints)
        price = f"{fmt.count(cost, 'point')} in all" if cost else "free"
        said = f"{fmt.count(len(task.hints), 'hint')}, {price}: "
        parts.append(tag("p", said, tag("code", f"hint {task.id}"), class_="quiet"))
    return tag("section", joined(parts), class_="task", id=f"task-{number}")


def _goal_lead(kind: str) -> str:
    return "" if kind == "now" else f"{kind}: "


# --------------------------------------------------------------------------- sheets
def sheet(student: str, labs: Sequence[Chapter], catalogue: Catalogue, path: str) -> Rendered:
    """The exercise sheet of a student: each lab with the values drawn for this id."""
    linker = Linker(root_of(path), catalogue.pages())
    parts = [tag("h1", f"Exercises for {student}")]
    wrong = []
    for chapter in labs:
        try:
            lab = public(chapter, student)
        except FileError as error:
            wrong.append("\n".join(map(str, error.all)))
            continue
        body, failed = lab_body(lab, linker)
        wrong += [failed] if failed else []
        how = f"load {chapter.name} student={student}"
        drawn = table(("parameter", "value"), list(lab.params.items()))
        parts.append(tag("article", tag("h2", lab.document.title), tag("p", tag("code", how)),
                         drawn if lab.params else "", body, class_="lab-sheet"))  # fmt: skip
    title = f"Exercises for {student}"
    return Rendered(Page(path, title, joined(parts), css="lab sheet"), wrong="\n".join(wrong))
