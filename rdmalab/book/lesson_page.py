"""The page of a lesson: what it shows, its world, its steps as they are played now."""

from collections.abc import Sequence
from dataclasses import field

from rdmalab.book import words
from rdmalab.book.catalogue import Catalogue, Chapter
from rdmalab.book.html import Markup, escaped, folded, joined, tag
from rdmalab.book.page import STATEMENTS, Found, LabSite, Page, neighbours, root_of, trail
from rdmalab.book.steps import StepWriter
from rdmalab.book.words import Linker
from rdmalab.classroom.lab_file import LabFile, loads
from rdmalab.classroom.lab_file import load as load_lab
from rdmalab.classroom.model import LabDocument, Rules, Task
from rdmalab.classroom.parameter_model import SHUT
from rdmalab.classroom.public import published
from rdmalab.classroom.rules import prices
from rdmalab.lab import open_session
from rdmalab.scenario.coverage import Bound, of_runner
from rdmalab.scenario.files import read
from rdmalab.scenario.loader import Scenario, load
from rdmalab.scenario.model import Document, link_line, port_lines
from rdmalab.scenario.runner import Runner
from rdmalab.scenario.source import FileError
from rdmalab.spec.row import dataclass
from rdmalab.views import fmt
from rdmalab.vocabulary import VOCABULARY

MOST_FOUND = 400
"""Letters of a text that the search reads."""


@dataclass(slots=True)
class Rendered:
    """A page, and what others say of it. wrong: why it failed, empty if it did not.

    summary: one paragraph for the index.
    """

    page: Page
    summary: str = ""
    bound: list[Bound] = field(default_factory=list)
    wrong: str = ""


def rendered(chapter: Chapter, catalogue: Catalogue, site: LabSite | None = None) -> Rendered:
    """The page of a lesson; one that cannot be loaded has a page with its errors.

    site: the lab that the page shows in a frame; None: it shows none.
    """
    linker = Linker(root_of(chapter.page), catalogue.pages())
    try:
        scenario = load(chapter.path, VOCABULARY)
    except FileError as error:
        return unreadable(chapter, error)
    runner = Runner(scenario, open_session)
    writer = StepWriter(runner, linker)
    document = scenario.document
    setup, steps = writer.setup(document.programs), writer.steps()
    main = joined(
        [
            trail(chapter, linker.root, "Lessons"),
            tag("h1", scenario.title),
            tag("div", linker.paragraphs(document.about or ""), class_="about"),
            facts(chapter, document.tags, tuple(t.statement for t in scenario.teaches), linker),
            *([site.markup(chapter, linker.root)] if site else []),
            _world(document, setup, linker),
            steps,
            _source(chapter),
            beside(chapter, catalogue, linker.root),
        ]
    )
    about = (document.about or "").strip()
    found = Found(chapter.page, scenario.title, chapter.name, _searched(scenario))
    policy = site.policy if site else ""
    page = Page(chapter.page, scenario.title, main, [found], "lesson", policy)
    wrong = "" if runner.ok else runner.results[-1].text(scenario.path)
    return Rendered(page, about, list(of_runner(runner)), wrong)


def unreadable(chapter: Chapter, error: FileError) -> Rendered:
    """The page of a file that cannot be loaded."""
    return unplayed(chapter.page, chapter.name, "\n".join(map(str, error.all)))


def unplayed(path: str, name: str, reason: str) -> Rendered:
    """A page with the reason why there is no other."""
    failed = tag("div", tag("p", "This file cannot be played."), tag("pre", reason),
                 class_="failed")  # fmt: skip
    found = Found(path, name, "cannot be played", "")
    page = Page(path, name, joined([tag("h1", name), failed]), [found])
    return Rendered(page, wrong=f"{name}: {reason}")


def _searched(scenario: Scenario) -> str:
    document = scenario.document
    taught = " ".join(taught.statement for taught in scenario.teaches)
    return f"{' '.join(document.tags)} {taught} {document.about or ''}"[:MOST_FOUND]


def facts(chapter: Chapter, tags: list[str], statements: tuple[str, ...], linker: Linker) -> Markup:
    """The command that loads it, its tags, and the statements of the documents that it shows."""
    rows = [("Play it", tag("code", f"load {chapter.name}"))]
    if statements:
        shown = [linker.link(each, f"{STATEMENTS}#{each}", "chip") for each in statements]
        rows.append(("Shows statements", joined(shown, " ")))
    if tags:
        rows.append(("Tags", joined((tag("span", each, class_="tag") for each in tags), " ")))
    return tag(
        "dl",
        joined(joined([tag("dt", name), tag("dd", value)]) for name, value in rows),
        class_="facts",
    )


def _world(document: Document, setup: Markup, linker: Linker) -> Markup:
    """Nodes, cable, parameters, programs and the steps of the setup, folded away."""
    parts = [_nodes(document), *_cable(document, linker)]
    if document.params:
        head = ("parameter", "value", "meaning")
        rows = [(n, p.default, p.about or "") for n, p in document.params.items()]
        parts.append(table(head, rows))
    if setup:
        parts += [tag("h3", "Setup"), setup]
    for name, program in document.programs.items():
        listed = [line for text in program.lines for line in text.splitlines()]
        lines = [words.program_line(line, linker) for line in listed]
        pace = f", a line takes {program.pace} ns" if program.pace else ""
        parts += [tag("h3", f"Program {name}{pace}"), tag("pre", joined(lines, "\n"))]
    return folded("World and setup", *parts, class_="world", is_open=bool(document.programs))


def _nodes(document: Document) -> Markup:
    rows = []
    for name, node in document.nodes.items():
        limits = " ".join(f"{key}={value}" for key, value in node.caps().items())
        rows.append((name, node.profile or "strict", limits))
    return table(("node", "profile", "limits that differ"), rows)


def _cable(document: Document, linker: Linker) -> list[Markup]:
    lines = [*port_lines(document.nodes), *link_line(document.link)]
    if document.seed:
        lines.append(f"seed {document.seed}")
    if not lines:
        return []
    return [tag("pre", joined((words.line(each, linker) for each in lines), "\n"))]


def table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Markup:
    """A small table; columns without any text are left out."""
    kept = [n for n in range(len(head)) if any(row[n] for row in rows)]
    first = tag("tr", joined(tag("th", head[n], scope="col") for n in kept))
    others = [tag("tr", joined(tag("td", row[n]) for n in kept)) for row in rows]
    return tag("div", tag("table", tag("thead", first), tag("tbody", joined(others))),
               class_="table")  # fmt: skip


def _source(chapter: Chapter) -> Markup:
    try:
        text = read(chapter.path)
    except FileError:
        return escaped("")
    return folded("The file", tag("pre", text), class_="source")


def beside(chapter: Chapter, catalogue: Catalogue, root: str) -> Markup:
    """Links to the lessons before and after this one."""
    found = [
        (f"{root}{each.page}", each.name) if each is not None else None
        for each in catalogue.neighbours(chapter)
    ]
    return neighbours(*found)


EXAMPLE = "example"
"""The student of the page that all can read."""


def rendered_lab(chapter: Chapter, catalogue: Catalogue, site: LabSite | None = None) -> Rendered:
    """The page of a lab, with the values of no real student. site: as for `rendered`."""
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
        *([site.markup(chapter, linker.root)] if site else []),
        _drawn_by_student(document),
        body,
        beside(chapter, catalogue, linker.root),
    ])  # fmt: skip
    about = (document.about or "").strip()
    text = f"lab {' '.join(document.tags)} {' '.join(statements)} {about}"[:MOST_FOUND]
    found = Found(chapter.page, document.title, chapter.name, text)
    page = Page(chapter.page, document.title, main, [found], "lab", site.policy if site else "")
    return Rendered(page, about, wrong=wrong)


def public(chapter: Chapter, student: str) -> LabFile:
    """The part of a lab that students get, in the world of one; raises FileError."""
    text = published(load_lab(chapter.path, student))
    return loads(text, chapter.path, student=student)


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
        items.append(
            f"Locked: {' '.join(rules.lock)}. No command may change or destroy what is locked; a "
            "region still gets the bytes of messages and of WRITEs."
        )
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
        parts.append(tag("ol", joined(choices), class_="choices", type="a"))
    if task.goal is not None:
        parts.append(tag("p", "Checked when you are done:"))
        goals = [tag("li", _goal_lead(g.kind), words.question(g.question, linker))
                 for g in task.goal]  # fmt: skip
        parts.append(tag("ul", joined(goals), class_="goals"))
        parts += [
            tag("p", f"%{{{name}}} stands for ", words.question(text, linker),
                ", in the world as you leave it.", class_="quiet")
            for name, text in task.bind.items()
        ]  # fmt: skip
    if task.needs:
        parts.append(tag("p", f"After: {', '.join(task.needs)}.", class_="quiet"))
    if task.is_asked or (task.hidden and task.ask):
        parts.append(tag("p", tag("code", f"answer {task.id} "), tag("span", "", class_="blank")))
    if task.hints:
        cost = sum(hint.cost for hint in task.hints)
        price = f"{fmt.count(cost, 'point')} in all" if cost else "free"
        text = f"{fmt.count(len(task.hints), 'hint')}, {price}: "
        parts.append(tag("p", text, tag("code", f"hint {task.id}"), class_="quiet"))
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
