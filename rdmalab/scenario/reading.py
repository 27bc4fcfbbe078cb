"""Text of a scenario for a reader: notes, questions with choices, and their answers."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rdmalab.scenario import yaml_tree
from rdmalab.scenario.files import read
from rdmalab.scenario.planned_step import PlannedStep
from rdmalab.scenario.source import Source
from rdmalab.session.branch import Branch, TimePoint, lineage

if TYPE_CHECKING:
    from rdmalab.scenario.result import StepResult
    from rdmalab.scenario.runner import Runner
    from rdmalab.session.history import History
    from rdmalab.session.lines import Reply

LETTERS = "abcdefghi"
"""Of the answers that a question offers."""
_DRAWN = re.compile(r"\$\{(\w+)\}")
_SENTENCE = re.compile(r"(?<=[.?!])\s+")
_RIGHT = re.compile(r"\s*([a-i])\) ")


class Reading(NamedTuple):
    """Texts to read at a moment.

    about: what the scenario shows, until its first stop runs. revealed: answers to the question of
    the stop before. before: that stop; None if there is none. stop: the note, question or headline;
    None before the first. after: answers to this question that were reached. reached: steps done.
    reply: the last one that a step since the stop that ran last has to read; None if none has.
    """

    about: str
    revealed: tuple[str, ...]
    before: PlannedStep | None
    stop: PlannedStep | None
    after: tuple[str, ...]
    reached: int
    reply: "Reply | None"


def choices(step: PlannedStep) -> Iterator[tuple[str, str]]:
    """The answers to choose from, each with its letter; none if the step does not ask."""
    yield from zip(LETTERS, step.step.choices or (), strict=False)


def right_letter(reveal: str) -> str:
    """The letter of the right choice, with which an answer begins; empty if it names none."""
    found = _RIGHT.match(reveal)
    return found[1] if found else ""


def question(step: PlannedStep) -> tuple[str, str]:
    """Text before the question, and the question: the last sentence; both may be empty."""
    if step.step.predict is None:
        return step.text, ""
    text = step.text.rstrip()
    last = last_sentence(text)
    return text.removesuffix(last).rstrip(), " ".join(last.split())


def last_sentence(text: str) -> str:
    """The last sentence of a text, with its line breaks."""
    return _SENTENCE.split(text.rstrip())[-1]


def open_letters(runner: "Runner") -> str:
    """The letters that answer the question which `next` reveals; empty if none is asked."""
    step = runner.coming
    return "" if step is None else _letters(step)


def _letters(step: PlannedStep) -> str:
    return "".join(letter for letter, _ in choices(step))


def letters_before(runner: "Runner") -> set[str]:
    """The letters that answered the questions before this place."""
    before = runner.scenario.steps[: runner.position]
    return {letter for step in before for letter, _ in choices(step)}


def right_ahead(runner: "Runner") -> str:
    """The right letter of the open question; empty if the scenario names none."""
    ahead = runner.scenario.steps[runner.position :]
    return right_letter(next((step.step.reveal for step in ahead if step.step.reveal), ""))


def note_events(runner: "Runner") -> list[int]:
    """The events at which the notes of the lesson are read that were reached, on its branch.

    -1 is the moment before the first event.
    """
    results, history = runner.results, runner.session.history
    events = [-1, *(result.event for result in results)]
    last = history.branches.get(results[-1].branch, history.branch) if results else history.branch
    until = _events_of(history, last, max(events))
    known = [True, *(result.event <= until.get(result.branch, -1) for result in results)]
    found = zip(runner.scenario.steps[: len(events)], events, known, strict=False)
    return sorted({event for step, event, is_known in found if step.is_stop and is_known})


def place_in_lesson(runner: "Runner") -> tuple[str, int]:
    """The branch of the lesson, empty if the session is on it, and the last event of it up to here.

    The session is on another one after commands of the user in the past.
    """
    history, event = runner.session.history, runner.session.world.event
    name = runner.results[-1].branch if runner.results else ""
    if name not in history.branches or name == history.branch.name:
        return "", event
    return name, _events_of(history, history.branch, event).get(name, event)


def read_in(step: PlannedStep) -> Iterator[str]:
    """The texts of a step for a person: its note, question or answer, and the choices."""
    text = step.step.note or step.step.predict or step.step.reveal
    if text:
        yield text.strip()
    yield from (f"{letter}) {choice.strip()}" for letter, choice in choices(step))


def about(file: str) -> str:
    """Field `about` of a scenario file or a lab, or empty; raises FileError.

    A value that a lab draws for each student is its name in capitals: `SIZE bytes`.
    """
    root = yaml_tree.composed(Source(file, read(file)))
    given = yaml_tree.plain(root)
    text = given.get("about") if isinstance(given, dict) else None
    words = text.strip() if isinstance(text, str) else ""
    return _DRAWN.sub(lambda found: found[1].upper(), words)


def reading(runner: "Runner") -> Reading:
    """Texts to read at the present moment of a runner's session, also in the past."""
    steps, reached = runner.scenario.steps, _reached(runner)
    ahead = reached + (reached < len(steps) and steps[reached].is_stop)  # it is read before it runs
    stop = _stop_before(steps, ahead)
    before = None if stop is None else _stop_before(steps, stop)
    about = ""
    if before is None and not any(step.line for step in steps[stop or reached : reached]):
        about = (runner.scenario.document.about or runner.scenario.title).strip()
    if stop is None:
        return Reading(about, (), None, None, (), reached, _last_answer(runner.results[:reached]))
    earlier = None if before is None else steps[before]
    revealed = () if before is None else _answers(steps[before:stop])
    after = _answers(steps[stop:ahead])
    since = stop if stop < reached else before or 0
    reply = _last_answer(runner.results[since:reached])
    return Reading(about, revealed, earlier, steps[stop], after, reached, reply)


def _last_answer(results: Sequence["StepResult"]) -> "Reply | None":
    return next((each.answer for each in reversed(results) if each.answer is not None), None)


def _stop_before(steps: Sequence[PlannedStep], number: int) -> int | None:
    """The last stop among the steps before a number; None if there is none."""
    return next((each for each in reversed(range(number)) if steps[each].is_stop), None)


def _answers(steps: Iterable[PlannedStep]) -> tuple[str, ...]:
    return tuple(step.step.reveal.strip() for step in steps if step.step.reveal is not None)


def _reached(runner: "Runner") -> int:
    """The number of steps that were done at the moment where the session stands."""
    results, history = runner.results, runner.session.history
    branch, event = history.branch, runner.session.world.event
    if not results or (branch.name == results[-1].branch and event >= results[-1].event):
        return len(results)
    until = _events_of(history, branch, event)
    if results[-1].branch not in until:
        return len(results)
    reached = max((r.number for r in results if r.event <= until.get(r.branch, -1)), default=0)
    stop = _stop_before(runner.scenario.steps, reached)
    began = results[stop - 1].event if stop else -1
    is_before = event == began and all(each.event == began for each in results[stop:reached])
    return stop if stop is not None and is_before else reached  # it is read before it runs


def _events_of(history: "History", branch: Branch, event: int) -> dict[str, int]:
    """The last event up to this one on each branch that is the past of it, and on itself."""
    past = lineage(history.branches, branch, TimePoint(event, 0))
    return {each.name: last.event for each, last in past}


def unanswered(steps: Iterable[PlannedStep]) -> Iterator[tuple[PlannedStep, str, str]]:
    """Each question without an answer and each answer without a question: step, message, hint."""
    no_answer = "this question has no answer before the next note"
    write = "write reveal: after the steps that show it"
    asked: PlannedStep | None = None
    for step in steps:
        if step.is_stop:
            if asked is not None:
                yield asked, no_answer, write
            asked = step if step.step.predict is not None else None
        elif step.step.reveal is not None:
            if asked is None:
                yield step, "this reveal answers no question", "write predict: above it"
            elif (right := right_letter(step.step.reveal)) not in (legal := _letters(asked)):
                yield (
                    step,
                    f"its question has no choice {right}",
                    f"legal: {', '.join(legal) or 'none'}",
                )
            asked = None
    if asked is not None:
        yield asked, no_answer, write
