"""Answers of a task: which are right, in the file of the instructor and in that for students.

In the file for students they are sealed: a salted hash of each right value, and the verdict on each
choice mixed with a key. A seal keeps a reader from reading them. It keeps no program
from trying every answer; where that matters the grader alone judges: `judged: grader`.
"""

import re
from collections.abc import Mapping, Sequence
from enum import IntEnum
from hashlib import sha256, shake_256
from itertools import zip_longest
from typing import NamedTuple

from rdmalab.classroom.goals import parsed
from rdmalab.classroom.lab_file import LabFile
from rdmalab.classroom.model import Choice, Task
from rdmalab.classroom.playing import BrokenLab, begun, run_steps
from rdmalab.classroom.work_log import WHOLE, LogState, tries_of, was_noted
from rdmalab.command import NotUnderstood, UserError
from rdmalab.grammar.quantities import whole
from rdmalab.grammar.values import without_prefix
from rdmalab.scenario.expect import value_text
from rdmalab.scenario.parameters import fill
from rdmalab.scenario.reading import LETTERS
from rdmalab.spec.rules import ERRNO_NAMES
from rdmalab.views import fmt

NOTED = "noted, your instructor judges it"
"""The reason an answer has no verdict where the grader alone judges it."""
_ERRNOS = {name: number for number, name in ERRNO_NAMES.items()}
_RIGHT, _WRONG = "+", "-"  # begin the text below a seal
_DIGITS = 16  # of the hash of a value
_NONCE = 6  # octets; each choice of a file has other ones


def letters(task: Task) -> str:
    """The letters of the answers that a task offers; empty if it offers none."""
    return LETTERS[: len(task.choice or ())]


class WrongTask(UserError):  # noqa: N818  (it says what is wrong with the name of a task)
    """Raised for a task that does not exist, or that asks for no answer."""


def chosen(task: Task, text: str) -> str:
    """The number of the choice that an answer names: by letter, number or words of its text.

    An answer to a task without choices as it is. Raises WrongTask if it names none, or several.
    """
    if task.choice is None:
        return text
    word = text.strip().casefold().rstrip(").")
    texts = [each.text.casefold().rstrip(".") for each in task.choice]
    exact = [str(number) for number, known in enumerate(zip(LETTERS, texts, strict=False), 1)
             if word in (str(number), *known)]  # fmt: skip
    whole = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)")
    found = exact or [str(number) for number, each in enumerate(texts, 1) if whole.search(each)]
    if len(found) != 1 or not word:
        are = "names more than one" if found else "is none"
        raise WrongTask(f"{text} {are} of the answers of {task.id}: {fmt.either(letters(task))}")
    return found[0]


class Judgement(NamedTuple):
    """The verdict on an answer.

    right: None where the grader alone judges it. help: the feedback of the lab.
    """

    right: bool | None
    help: str = ""


def verdict(lab: LabFile, index: int, given: str) -> Judgement:
    """The verdict on an answer to the task of this index."""
    task = lab.document.tasks[index]
    if task.choice is not None:
        return _choice(lab, task, task.choice, given)
    if task.answer is not None:
        return Judgement(any(same_answer(given, each) for each in right_answers(lab, index)))
    if task.sealed is not None:
        drawn = {name: lab.params[name] for name in task.depends}
        return Judgement(_hash(lab.document.seal or "", task.id, drawn, given) in task.sealed)
    return Judgement(None)


def listed(number: str) -> int:
    """The place in a list, from 1, that one or two ASCII digits name; 0: the text is none."""
    return int(number) if number.isascii() and number.isdecimal() and len(number) < 3 else 0


def in_words(task: Task, given: str) -> str:
    """`b) An RNR NAK.`: the choice that a number names, with the letter that students see.

    Any other answer as it is.
    """
    number = listed(given)
    offered = dict(enumerate(zip_longest(LETTERS, task.choice or ()), 1))
    letter, choice = offered.get(number, ("", None))
    return f"{letter or number}) {choice.text}" if choice is not None else given


def _choice(lab: LabFile, task: Task, choices: Sequence[Choice], given: str) -> Judgement:
    number = listed(given)
    chosen = choices[number - 1] if 0 < number <= len(choices) else None
    if any(each.right for each in choices):
        right = chosen is not None and chosen.right
        return Judgement(right, (chosen.when_wrong if chosen is not None else None) or "")
    if not all(each.sealed for each in choices):
        return Judgement(None)
    if chosen is None:
        return Judgement(right=False)
    text = _opened(lab, task.id, chosen.sealed or "")
    return Judgement(text.startswith(_RIGHT), text[1:])


def out_of_tries(task: Task, log: Sequence[str], state: LogState, given: str) -> str:
    """The reason an answer does not count in a task with a limit of tries; empty if it does.

    The log of the submission holds the tries. state: of the log; where it is edited or missing,
    none of them counts.
    An answer that was only noted, since the grader alone judges it, is no try.
    """
    if state not in WHOLE:
        return f"the log that holds the tries is {state}"
    tries = tries_of(log, task.id)
    if was_noted(log, task.id):
        return ""
    if given not in tries:
        return "the log has no such try"
    if given not in tries[: task.tries]:
        return f"it came after {task.tries} wrong tries"
    return ""


# --------------------------------------------------------------------------- what is right
def right_choice(task: Task) -> int:
    """The number of the right choice, from 1; 0: the file for students does not say."""
    return next((n for n, each in enumerate(task.choice or (), 1) if each.right), 0)


def number_of_choice(task: Task, answer: str) -> int | None:
    """The index of the choice that an answer names by letter or number; None if it names none."""
    names = [{LETTERS[index], str(index + 1)} for index in range(len(task.choice or ()))]
    word = answer.strip().casefold()
    return next((index for index, each in enumerate(names) if word in each), None)


def right_answers(lab: LabFile, index: int) -> list[str]:
    """Answers that are right for a task: the number of a choice, or a value.

    The question is asked in the world as the setup left it, after the steps `at`. Of an enum its
    word and its number are right.
    """
    task = lab.document.tasks[index]
    if task.answer is None:
        return [str(right_choice(task))]
    world = begun(lab)
    if failure := run_steps(world, lab.steps[index].at):
        raise BrokenLab(f"{lab.source.path}: {task.id}: at: {failure}")
    try:
        value = world.session.ask(parsed(task.answer, lab.world).expression.node)
    except NotUnderstood as wrong:
        raise lab.spot("tasks", index, "answer").error(wrong) from None
    return [value_text(value), *([str(int(value))] if isinstance(value, IntEnum) else [])]


def same_answer(given: str, right: str) -> bool:
    """Whether an answer is right: numbers by value, words without regard to case and prefix."""
    return bool(given.strip()) and _normal(given) == _normal(right)


def _normal(text: str) -> str | int:
    text = text.strip().strip("\"'").strip()
    try:
        return whole(text)
    except NotUnderstood:
        pass
    upper = text.upper()
    if (number := _ERRNOS.get(upper)) is not None:
        return number
    return without_prefix(upper)


# --------------------------------------------------------------------------- seals
def sealed_choices(seal: str, task: str, choices: Sequence[tuple[bool, str]]) -> list[str]:
    """The verdict on each choice under its seal; all are equally long.

    seal: the salt of the file. task: its id. choices: whether each is right, and its feedback, in
    which parameters have their names still.
    """
    octets = [(_RIGHT if right else f"{_WRONG}{text}").encode() for right, text in choices]
    longest = max(map(len, octets))
    found = []
    for number, text in enumerate(octets):
        nonce = sha256(f"{seal}\0{task}\0{number}".encode()).digest()[:_NONCE]
        found.append((nonce + _mixed(seal, task, nonce, text.ljust(longest))).hex())
    return found


def sealed_values(
    seal: str, labs: Sequence[LabFile], index: int, names: Sequence[str]
) -> list[str]:  # fmt: skip
    """The hash of each right value of a task. labs: the lab for every draw of these parameters."""
    found: set[str] = set()
    for lab in labs:
        drawn = {name: lab.params[name] for name in names}
        task = lab.document.tasks[index].id
        found.update(_hash(seal, task, drawn, right) for right in right_answers(lab, index))
    return sorted(found)


def _opened(lab: LabFile, task: str, sealed: str) -> str:
    octets = bytes.fromhex(sealed)
    nonce, text = octets[:_NONCE], octets[_NONCE:]
    mixed = _mixed(lab.document.seal or "", task, nonce, text)
    return fill(mixed.decode(errors="replace").rstrip(), lab.params).text


def _mixed(seal: str, task: str, nonce: bytes, octets: bytes) -> bytes:
    key = shake_256(f"{seal}\0{task}\0".encode() + nonce).digest(len(octets))
    return bytes(a ^ b for a, b in zip(octets, key, strict=True))


def _hash(seal: str, task: str, drawn: Mapping[str, str], value: str) -> str:
    params = [f"{name}={drawn[name]}" for name in sorted(drawn)]
    text = "\0".join((seal, task, *params, str(_normal(value))))
    return sha256(text.encode()).hexdigest()[:_DIGITS]
