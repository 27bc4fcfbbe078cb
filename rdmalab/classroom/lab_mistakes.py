"""All mistakes of a lab file at once, of every kind: what `rdmalab check` prints of a lab.

As in `scenario/mistakes.py`: rounds, each without what was wrong before; then the setup is played.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field
from difflib import get_close_matches

from pydantic import BaseModel
from yaml.nodes import MappingNode, Node, SequenceNode

from rdmalab.classroom import lab_file
from rdmalab.classroom.answers import number_of_choice
from rdmalab.classroom.lab_file import LabFile, questions
from rdmalab.classroom.model import LabDocument, Task
from rdmalab.classroom.rules import EXPERIMENT
from rdmalab.command import NewKind, NotUnderstood, Noun, Span
from rdmalab.grammar.hints import quoted, suggest
from rdmalab.lab import open_session
from rdmalab.scenario import yaml_tree
from rdmalab.scenario.mistakes import all_mistakes
from rdmalab.scenario.planned_step import Placing
from rdmalab.scenario.reading import LETTERS
from rdmalab.scenario.rehearsal import rehearsed
from rdmalab.scenario.repair import Path, Repair, mentioned, scalar
from rdmalab.scenario.runner import Runner
from rdmalab.scenario.shape_errors import unknown_key
from rdmalab.scenario.source import FileError, Source
from rdmalab.spec.causes import cause_rows
from rdmalab.spec.row import dataclass
from rdmalab.views.query_fields import PARTS
from rdmalab.vocabulary import VOCABULARY

_TASKS = "tasks"
_STEPS = ("at", "try")
_ANYTHING = "include"  # as in `scenario/repair.py`
_NOUNS = frozenset(noun.value for noun in Noun)
_HARMLESS = {"goal": "now >= 0", "answer": "now"}
"""Replacements for a question that is wrong."""


@dataclass  # no slots: super() would mean another class
class _LabRepair(Repair):
    """A tree of a lab without its mistakes. changed: the first keys below which something is."""

    changed: set[str] = field(default_factory=set)

    def _may_follow(self, path: Path) -> bool:
        """Whether an error at this path may follow from something that was left out before."""
        if not path:
            return True
        is_question = len(path) > 2 and path[2] in (*_STEPS, *_HARMLESS, "bind", "why")
        return bool(self.changed) and path[0] in self.changed and not is_question

    def _unit(
        self, step: Path, rest: Path, path: Path, before: frozenset[tuple[int, int]]
    ) -> tuple[Path | None, Node | None]:
        if step or path[0] in ("title", "nodes", "setup"):
            return super()._unit(step, rest, path, before)
        self.changed.add(str(path[0]))
        if path[0] == "id":
            return path, scalar("x", self.root)
        if path[0] == _TASKS:
            return self._in_task(path, before) if len(path) > 2 else (None, None)
        return path[: 2 if path[0] == "rules" else 1], None

    def _in_task(
        self, path: Path, before: frozenset[tuple[int, int]]
    ) -> tuple[Path | None, Node | None]:
        """Path to leave out of a task, and the node to put there instead."""
        key, rest = path[2], path[3:]
        if key in _STEPS and rest:
            unit = self._unit_of_step(path[:4], path[4:], before)
            is_whole = len(unit) == len(path[:4])
            return unit, (self._conditions(unit) or _note(self._node(unit))) if is_whole else None
        if key == "id" or (key == "goal" and not rest):
            return None, None
        unit = path[:4] if key == "goal" else path[:3]
        node = self._node(unit)
        if key == "choice":
            return unit, _choice(node)
        return unit, scalar(_HARMLESS[str(key)], node) if key in _HARMLESS else None


def mistakes(text: str, path: str) -> list[FileError]:
    """The errors of a lab in the order of the file, at most MOST_MISTAKES; [] if none."""
    source = Source(path, text)

    def build(root: Node) -> LabFile:
        return lab_file.built(source, root, student="1")

    return all_mistakes(source, _LabRepair, _misspelled, build, _play)


def _play(lab: LabFile, repair: _LabRepair, found: list[FileError]) -> None:
    existed: set[str] = set()
    lost = list(repair.lost)
    found += rehearsed(lab.scenario, lab.root, open_session, lost, existed=existed)
    found += _unknown(lab, repair.lost, existed)
    found += [] if found else _refused(lab)


def _refused(lab: LabFile) -> list[FileError]:
    """The step of the setup that does not end as it must: no student can begin."""
    runner = Runner(lab.scenario, open_session)
    runner.run()
    runner.session.dispose()
    failed = [each for each in runner.results if each.failure is not None]
    return [
        lab.source.error(f"the setup fails here: {', '.join(each.failure.actual)}", "",
                         each.step.place)
        for each in failed if each.failure is not None
    ]  # fmt: skip


def _misspelled(source: Source, root: Node) -> Iterator[FileError]:
    """The keys of the lab and of its tasks that are misspelled.

    They are looked for first: without `params` and `vary` no value can be judged.
    """
    yield from _misspelled_in(source, root, LabDocument)
    tasks = yaml_tree.find(root, (_TASKS,))
    for node in tasks.value if isinstance(tasks, SequenceNode) else ():
        yield from _misspelled_in(source, node, Task)


def _misspelled_in(source: Source, node: Node, model: type[BaseModel]) -> Iterator[FileError]:
    legal = [field.alias or name for name, field in model.model_fields.items()]
    keys = [key for key, _ in node.value] if isinstance(node, MappingNode) else []
    names = [str(key.value) for key in keys]
    for key, name in zip(keys, names, strict=True):
        near = get_close_matches(name, legal, 1) if name not in legal else []
        if near and near[0] not in (*names, "rdmalab"):  # that must be the first key
            hint, place = f"did you mean {near[0]}?", yaml_tree.place_of(key)
            yield source.error(unknown_key(name), hint, place)


def _note(node: Node) -> MappingNode:
    """A step that does nothing, in the place of a node."""
    return _mapped(node, [("note", "-")])


def _choice(node: Node) -> SequenceNode:
    """Two answers, of which the first is right, in the place of a node."""
    texts = ((("text", "x"), ("right", "true")), (("text", "y"),))
    return SequenceNode("tag:yaml.org,2002:seq", [_mapped(node, each) for each in texts],
                        node.start_mark, node.end_mark)  # fmt: skip


def _mapped(node: Node, pairs: Sequence[tuple[str, str]]) -> MappingNode:
    made = [(scalar(key, node), scalar(value, node)) for key, value in pairs]
    return MappingNode("tag:yaml.org,2002:map", made, node.start_mark, node.end_mark)


# --------------------------------------------------------------------------- names that nothing has
def _unknown(lab: LabFile, lost: list[str], existed: set[str]) -> Iterator[FileError]:
    """Tasks, causes and objects that a lab names and that nothing has.

    lost: lines of the setup that were left out; what they name may exist in the lab that is meant.
    existed: objects that the setup has made.
    """
    yield from _in_rules(lab)
    yield from _in_solutions(lab)
    for index, task in enumerate(lab.document.tasks):
        texts = [each.text for each in task.choice or ()]
        if twice := next((text for text in texts if texts.count(text) > 1), ""):
            message = f"two choices have the text {quoted(twice)}"
            yield _at_key(lab, message, "change one", _TASKS, index, "choice")
        for slug in task.when_wrong:
            yield from _slug(lab, slug, _TASKS, index, "when_wrong", slug)
    yield from _in_questions(lab, lost, existed)


def _in_rules(lab: LabFile) -> Iterator[FileError]:
    """The words of `forbid` and `allow` that are no command: no line would be refused for them."""
    rules = lab.document.rules
    for key, words in (("forbid", rules.forbid), ("allow", rules.allow)):
        first = EXPERIMENT if key == "allow" else ()
        for number, word in enumerate(words):
            if word not in VOCABULARY:
                place = yaml_tree.place_of(yaml_tree.find(lab.root, ("rules", key, number)))
                hint = suggest(word, [*first, *VOCABULARY])
                yield lab.source.error(f"rules: {key}: no command is called {word}", hint, place)


def _in_answers(lab: LabFile, answers: Mapping[str, str], *path: str | int) -> Iterator[FileError]:
    tasks = {task.id: task for task in lab.document.tasks}
    for name, text in answers.items():
        if (task := tasks.get(name)) is None:
            message, hint = f"no task has the id {name}", suggest(name, list(tasks))
            yield _at_key(lab, message, hint, *path, name)
        elif task.choice is not None and number_of_choice(task, text) is None:
            legal = f"legal: {', '.join(LETTERS[: len(task.choice)])}"
            yield _at_key(lab, f"{name} has no choice {quoted(text)}", legal, *path, name)


def _in_solutions(lab: LabFile) -> Iterator[FileError]:
    solutions = lab.document.solutions
    if solutions is None:
        return
    for name, of in (("accept", solutions.accept), ("reject", solutions.reject)):
        for number, each in enumerate(of):
            yield from _in_answers(lab, each.answers, "solutions", name, number, "answers")
    for number, each in enumerate(solutions.reject):
        if each.cause is not None:
            yield from _slug(lab, each.cause, "solutions", "reject", number, "cause")


def _slug(lab: LabFile, slug: str, *path: int | str) -> Iterator[FileError]:
    """The error of a slug that `why` never names."""
    if slug not in cause_rows():
        hint = suggest(slug, cause_rows())
        if path[-1] == slug:
            yield _at_key(lab, f"no cause is called {slug}", hint, *path)
        else:
            place = yaml_tree.place_of(yaml_tree.find(lab.root, path))
            yield lab.source.error(f"no cause is called {slug}", hint, place)


def _at_key(lab: LabFile, message: str, hint: str, *path: int | str) -> FileError:
    return lab.source.error(message, hint, yaml_tree.place_of(yaml_tree.key_of(lab.root, path)))


def _in_questions(lab: LabFile, lost: list[str], existed: set[str]) -> Iterator[FileError]:
    """Objects in goals, answers and steps of tasks that neither setup nor a solution makes.

    A lab for students has no solutions, and nothing is known of what they will make.
    """
    solutions = lab.document.solutions
    if solutions is None or not solutions.accept or any(map(_makes_anything, lost)):
        return
    lines = [*lost, *(line for each in solutions.accept for line in each.lines)]
    lines += [step.line for step in lab.scenario.steps]  # one that fails may make an object
    known = {*existed, *lab.document.programs, *mentioned(lines)}
    for index, task in enumerate(lab.document.tasks):
        texts: list[tuple[Placing, str]] = [
            (lab.spot(_TASKS, index, *path), text) for path, text in questions(task)
        ]
        steps = [*lab.steps[index].at, *lab.steps[index].tried]
        made = {name for step in steps for name in mentioned(_first_of(step.line))}
        texts += [(step.spot, step.line) for step in steps if step.spot.source is lab.source]
        for spot, text in texts:
            for name in sorted(mentioned([text]) - known - made):
                if _is_object(lab, name):
                    yield _nothing(spot, text, name, known)


def _first_of(line: str) -> list[str]:
    """The object that a line makes, as a list; empty if it makes none."""
    verb, *words = line.split() or [""]
    command = VOCABULARY.get(verb)
    makes = command is not None and any(isinstance(p.kind, NewKind) for p in command.parameters)
    return words[:1] if makes else []


def _makes_anything(line: str) -> bool:
    """Whether a line that was left out makes objects that it does not name."""
    return line.partition(" ")[0] in ("", "use", _ANYTHING)


def _is_object(lab: LabFile, name: str) -> bool:
    """Whether a name can only be that of an object: `A.qp9`, not `A.qp` or `A.port`."""
    node, _, own = name.partition(".")
    return node in lab.document.nodes and own not in PARTS and own not in _NOUNS


def _nothing(spot: Placing, text: str, name: str, known: Collection[str]) -> FileError:
    start = text.index(name)
    place = Span(start, start + len(name))
    return spot.error(NotUnderstood(f"nothing is called {name}", place, suggest(name, known)))
