"""Load a lab file: the world of one student, its tasks, and all errors with their places."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from functools import lru_cache
from itertools import product
from types import MappingProxyType

from pydantic import TypeAdapter
from yaml.nodes import Node

from rdmalab.classroom.model import KIND, LabDocument, Task
from rdmalab.classroom.parameter_model import MOST_WORLDS, LabParameter, VaryValues, drawn, shuffled
from rdmalab.command import NotUnderstood, Span
from rdmalab.grammar.expressions import parse_expression
from rdmalab.scenario import yaml_tree
from rdmalab.scenario.files import read
from rdmalab.scenario.include import Includes
from rdmalab.scenario.loader import Scenario
from rdmalab.scenario.parameters import PARAMS, FilledText, fill, shaped, substitute
from rdmalab.scenario.planned_step import PlannedStep, Spot
from rdmalab.scenario.planner import Planner
from rdmalab.scenario.source import FileError, Source, together
from rdmalab.spec.row import dataclass
from rdmalab.vocabulary import VOCABULARY

NAMED = "%"  # begins %{NAME}: a value of `vary` or of `bind`
SALT = "salt"
"""The key of a lab with the text by which a class and year gets other parameters."""
SEED = "seed"  # a key of `vary` that needs no %{seed}
_STAND_IN = re.compile(r"\bA\.(\w+)_(?=[ .\[])")
NO_WORLD: Mapping[str, str] = MappingProxyType({})
_PARAMS: TypeAdapter[dict[str, LabParameter]] = TypeAdapter(dict[str, LabParameter])
_VALUES: TypeAdapter[list[str]] = TypeAdapter(VaryValues)


@dataclass(frozen=True, slots=True)
class TaskSteps:
    """The steps of one task, ready to run."""

    at: tuple[PlannedStep, ...]
    tried: tuple[PlannedStep, ...]


@dataclass(frozen=True, slots=True)
class LabFile:
    """A lab in the world of one student.

    params: the values that were drawn. world: values of `vary`. scenario: the setup. orders: of a
    task that is shuffled the numbers of its choices in the file, from 0, as the student sees them.
    salt: with which they were drawn, empty: none.
    """

    source: Source
    root: Node
    document: LabDocument
    params: Mapping[str, str]
    world: Mapping[str, str]
    scenario: Scenario
    steps: tuple[TaskSteps, ...]
    orders: Mapping[str, list[int]] = field(default_factory=dict)
    student: str = ""
    salt: str = ""

    def spot(self, *path: int | str) -> Spot:
        """The place of a text of the file, for errors in it."""
        return Spot(self.source, yaml_tree.find(self.root, path))


def is_lab(text: str) -> bool:
    """Whether a text is that of a lab, which need not be correct."""
    return f"kind: {KIND}" in text.replace("'", "").replace('"', "")


def load(path: str, student: str, salt: str = "") -> LabFile:
    """The lab in a file, with the parameters of a student; raises FileError."""
    return loads(read(path), path, student=student, salt=salt)


def loads(
    text: str, path: str, *, student: str = "", salt: str = "",
    params: Mapping[str, str] | None = None, world: Mapping[str, str] = NO_WORLD,
) -> LabFile:  # fmt: skip
    """The lab in a text. path: for messages. params: in place of those drawn for the student.

    world: values of `vary`; for others the first of the file. salt: empty: that of the file.
    Raises FileError with all errors.
    """
    source = Source(path, text)
    return built(source, _composed(source), student=student, salt=salt, params=params, world=world)


def built(
    source: Source, root: Node, *, student: str = "", salt: str = "",
    params: Mapping[str, str] | None = None, world: Mapping[str, str] = NO_WORLD,
) -> LabFile:  # fmt: skip
    """The lab of a tree, as `loads` makes it of a text."""
    salt = salt or _given(root, SALT)
    if params is None:
        params = drawn(_given(root, "id"), salt, student, _parameters(source, root))
    root = substitute(source, root, params)
    chosen = {**{name: values[0] for name, values in _varied(root).items()}, **world}
    root = substitute(source, root, chosen, sign=NAMED, skip="tasks")
    with shaped(source, root, document=LabDocument):
        document = LabDocument.model_validate(yaml_tree.plain(root))
    rules = document.rules.model_copy(update={"apply": document.price_of_apply})
    document = document.model_copy(update={"rules": rules})
    orders = {
        task.id: shuffled(document.id, salt, student, task.id, [c.text for c in task.choice or ()])
        for task in document.tasks if task.shuffle and student
    }  # fmt: skip
    tasks = [_in_order(task, orders.get(task.id)) for task in document.tasks]
    document = document.model_copy(update={"tasks": tasks})
    if SEED in chosen:
        document = document.model_copy(update={"seed": int(chosen[SEED])})
    lab = _planned(source, root, document, params, chosen)
    return replace(lab, orders=orders, student=student, salt=salt)


def _in_order(task: Task, order: list[int] | None) -> Task:
    if task.choice is None or order is None:
        return task
    return task.model_copy(update={"choice": [task.choice[number] for number in order]})


@lru_cache(maxsize=4)
def _composed(source: Source) -> Node:
    """The tree of a file, which nothing changes: one grade reads it once for each world."""
    return yaml_tree.compose(source)


def _planned(
    source: Source, root: Node, document: LabDocument, params: Mapping[str, str],
    world: Mapping[str, str],
) -> LabFile:  # fmt: skip
    planner = Planner(source, root, VOCABULARY, Includes(None, params))  # a lab is one file
    setup = planner.steps(document)
    steps = []
    for index, task in enumerate(document.tasks):
        at = planner.listed(task.at, "tasks", index, "at")
        tried = planner.listed(task.steps_tried, "tasks", index, "try")
        steps.append(TaskSteps(at, tried))
    everything = (*setup, *(step for each in steps for step in (*each.at, *each.tried)))
    planner.check_questions(everything)
    lab = LabFile(
        source, root, document, params, world, Scenario(source, document, setup, ()), tuple(steps)
    )
    _check_texts(planner, lab)
    if planner.wrong:
        raise together(planner.wrong)
    return lab


# --------------------------------------------------------------------------- questions
def questions(task: Task) -> Iterator[tuple[tuple[int | str, ...], str]]:
    """The questions of a task, each with its path below the task."""
    for number, goal in enumerate(task.goal or ()):
        path: tuple[int | str, ...] = ("goal", number)
        yield (path if goal.kind == "now" else (*path, goal.kind)), goal.question
        if goal.before is not None:
            yield (*path, "before"), goal.before
    yield from ((("bind", name), text) for name, text in task.bind.items())
    if task.answer is not None:
        yield ("answer",), task.answer
    if task.once is not None:
        yield ("once",), task.once
    if task.why is not None:
        yield ("why",), task.why


def _check_texts(planner: Planner, lab: LabFile) -> None:
    """Store errors in questions, as far as they do not name what is found later."""
    for index, task in enumerate(lab.document.tasks):
        names = {**dict.fromkeys(task.vary, "0"), **lab.world, **{b: f"A.{b}_" for b in task.bind}}
        for path, text in questions(task):
            spot = lab.spot("tasks", index, *path)
            try:
                filled = fill(text, names, NAMED)
                # A bound name with a field is an object; without one it may be any value.
                is_whole = all(f"%{{{b}}}" not in text.replace(f"%{{{b}}}.", "") for b in task.bind)
                question = parse_expression(filled.text).node if is_whole else None
                if question is not None and path != ("why",):  # that names a subject, no value
                    planner.check_question(_Filled(lab.source, spot, filled), question)
            except NotUnderstood as wrong:
                planner.wrong.append(spot.error(wrong))


@dataclass(frozen=True, slots=True)
class _Filled:
    """A question whose names of `vary` and `bind` have stand-ins."""

    source: Source
    spot: Spot
    filled: FilledText

    def error(self, wrong: NotUnderstood) -> FileError:
        """Error with its place in the file, of the text that stands there."""
        spans = self.filled.spans[wrong.place.start : wrong.place.stop]
        place = Span(spans[0][0], spans[-1][1]) if spans else wrong.place
        message = _STAND_IN.sub(r"%{\1}", wrong.message)
        return self.spot.error(NotUnderstood(message, place, wrong.hint))


# --------------------------------------------------------------------------- parameters, worlds
def _given(root: Node, key: str) -> str:
    node = yaml_tree.find(root, (key,))
    return str(node.value) if node is not root and isinstance(node.value, str) else ""


def _parameters(source: Source, root: Node) -> dict[str, LabParameter]:
    node = yaml_tree.find(root, (PARAMS,))
    if node is root:
        return {}
    with shaped(source, root, PARAMS, document=LabDocument):
        return _PARAMS.validate_python(yaml_tree.plain(node))


def _varied(root: Node) -> dict[str, list[str]]:
    """Name → its values in the first task that varies it; a wrong form is reported later."""
    tasks = yaml_tree.plain(yaml_tree.find(root, ("tasks",)))
    found: dict[str, list[str]] = {}
    for task in tasks if isinstance(tasks, list) else ():
        vary = task.get("vary") if isinstance(task, dict) else None
        for name, given in vary.items() if isinstance(vary, dict) else ():
            values = values_of(given)
            if values:
                found.setdefault(name, values)
    return found


def values_of(given: object) -> list[str]:
    """The values of a key of `vary`: a list, or `0..9`; empty if it is neither."""
    try:
        return _VALUES.validate_python(given)
    except ValueError:
        return []


def worlds(task: Task) -> list[dict[str, str]]:
    """All combinations of the values that a task varies; one empty one if it varies nothing."""
    names, values = list(task.vary), list(task.vary.values())
    found = (dict(zip(names, each, strict=True)) for each in product(*values))
    return list(found)[:MOST_WORLDS]
