"""The page of a lesson: what it shows, its world, its steps as they are played now."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from rdmalab.book import code
from rdmalab.book.catalogue import Catalogue, Chapter
from rdmalab.book.html import Markup, escaped, folded, joined, tag
from rdmalab.book.page import STATEMENTS, Found, Page, neighbours, root_of, trail
from rdmalab.book.steps import StepWriter
from rdmalab.book.words import Linker
from rdmalab.lab import open_session
from rdmalab.scenario.coverage import Bound, of_runner
from rdmalab.scenario.fabric import link_line, port_lines
from rdmalab.scenario.files import read
from rdmalab.scenario.loader import Scenario, load
from rdmalab.scenario.model import Document
from rdmalab.scenario.runner import Runner
from rdmalab.scenario.source import FileError
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


def rendered(chapter: Chapter, catalogue: Catalogue) -> Rendered:
    """The page of a lesson; one that cannot be loaded has a page with its errors."""
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
            _world(document, setup, linker),
            steps,
            _source(chapter),
            beside(chapter, catalogue, linker.root),
        ]
    )
    about = (document.about or "").strip()
    found = Found(chapter.page, scenario.title, chapter.name, _searched(scenario))
    page = Page(chapter.page, scenario.title, main, [found], "lesson")
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
    """How to load it, its tags, and the statements of the documents that it shows."""
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
        lines = [code.program_line(line, linker) for line in listed]
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
    return [tag("pre", joined((code.line(each, linker) for each in lines), "\n"))]


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
