"""The page of a lab for its instructor, in Markdown: its aim, its tasks, its wrong answers."""

from collections.abc import Iterator

from rdmalab.classroom.answers import in_words, right_answers, right_choice
from rdmalab.classroom.instructor_model import Instructor, WrongAnswer
from rdmalab.classroom.lab_file import LabFile
from rdmalab.classroom.model import LabDocument, Task
from rdmalab.guide.sentences import statements
from rdmalab.views import fmt


def notes_page(lab: LabFile) -> str:
    """The page, with the parameters with which the lab was loaded.

    Sections of the key `instructor` are missing where the lab has none. Raises BrokenLab or
    FileError if an answer has no value.
    """
    document = lab.document
    notes = document.instructor
    sections = [
        ("What it teaches", _aim(document)),
        ("Time", [notes.time.strip()] if notes is not None else []),
        (
            "Parameters",
            [
                f"- {name}: {_values(document, name)}; here {here}"
                for name, here in lab.params.items()
            ],
        ),
        ("Tasks", [line for index in range(len(document.tasks)) for line in _task(lab, index)]),
        ("Typical wrong answers", _mistakes(document)),
        ("Hidden tasks", list(_hidden(document))),
        ("Solutions that pass", _accepted(document)),
        ("Questions for discussion", list(_discussions(notes))),
        ("In class", [notes.say.strip()] if notes is not None else []),
    ]
    head = [f"# {document.title}", "", _facts(document)]
    body = [line for title, lines in sections if lines for line in ("", f"## {title}", "", *lines)]
    return "\n".join([*head, *body])


def _facts(document: LabDocument) -> str:
    hidden = sum(task.points for task in document.tasks if task.hidden)
    minutes = f", {document.minutes} minutes" if document.minutes is not None else ""
    points = fmt.count(document.points, "point")
    return f"{document.id}: level {document.level or 1}{minutes}, {points} of which {hidden} hidden"


def _aim(document: LabDocument) -> list[str]:
    lines = [document.instructor.aim.strip()] if document.instructor is not None else []
    known = statements()
    taught = [f"- {number}: {known.get(number, '')}" for number in document.teaches or ()]
    return [*lines, *([""] if lines and taught else []), *taught]


def _values(document: LabDocument, name: str) -> str:
    parameter = document.params[name]
    values = ", ".join(parameter.choose or [f"{parameter.low} to {parameter.high}"])
    return f"{parameter.about}: {values}" if parameter.about else values


def _task(lab: LabFile, index: int) -> Iterator[str]:
    """Task and goals in Markdown, with the right answer in the world of the loaded lab."""
    task = lab.document.tasks[index]
    hidden = ", hidden" if task.hidden else ""
    needs = f", after {', '.join(task.needs)}" if task.needs else ""
    yield f"- {task.id} ({fmt.count(task.points, 'point')}{hidden}{needs})"
    if task.choice is not None:
        right = right_choice(task)
        sealed = "only the instructor's file says"
        yield f"  - right: {_choice(task, right) if right else sealed}"
        wrong = ((n, each) for n, each in enumerate(task.choice, 1) if each.when_wrong)
        yield from (f"  - feedback to {_choice(task, n)} {each.when_wrong}" for n, each in wrong)
        if task.tries:
            yield f"  - counted: {fmt.count(task.tries, 'answer')}"
    if task.answer is not None:
        yield f"  - right: {task.answer}, here {right_answers(lab, index)[0]}"
    for goal in task.goal or ():
        yield f"  - {'' if goal.kind == 'now' else goal.kind + ' '}{goal.question}"
    for name, values in task.vary.items():
        yield f"  - played with {name}: {', '.join(values)}"
    for number, hint in enumerate(task.hints, 1):
        yield f"  - hint {number}, {fmt.count(hint.cost, 'point')}: {hint.text}"


def _choice(task: Task, number: int) -> str:
    """`b) An RNR NAK.`; without a letter if each student has another order."""
    text = in_words(task, str(number))
    return text.partition(") ")[2] if task.shuffle else text


def _mistakes(document: LabDocument) -> list[str]:
    if document.instructor is None:
        return []
    return [line for each in document.instructor.mistakes for line in _mistake(document, each)]


def _mistake(document: LabDocument, mistake: WrongAnswer) -> Iterator[str]:
    yield f"- {mistake.does.strip()}"
    yield f"  - shows: {mistake.shows.strip()}"
    rejected = document.solutions.reject if document.solutions is not None else ()
    for each in rejected:
        if each.name == mistake.solution:
            fails = f", fails {each.task}" if each.task is not None else ""
            cause = f", why names {each.cause}" if each.cause is not None else ""
            yield f"  - solution {each.name}{fails}{cause}"


def _hidden(document: LabDocument) -> Iterator[str]:
    """Each hidden task: what students read of it, and what it catches."""
    catches = document.instructor.hidden if document.instructor is not None else {}
    for task in document.tasks:
        if task.hidden:
            yield f"- {task.id}: students read: {(task.announce or '').strip()}"
            if task.id in catches:
                yield f"  - catches: {catches[task.id].strip()}"


def _accepted(document: LabDocument) -> list[str]:
    accepted = document.solutions.accept if document.solutions is not None else ()
    return [f"- {each.name}{f': {each.about}' if each.about else ''}" for each in accepted]


def _discussions(notes: Instructor | None) -> Iterator[str]:
    for each in notes.discuss if notes is not None else ():
        yield f"- {each.ask.strip()}"
        yield f"  - expect: {each.expect.strip()}"
