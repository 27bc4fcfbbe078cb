"""The pydantic models of a submission, of a lab's solutions, of the instructor's part of it."""

from collections.abc import Collection
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, Field, WithJsonSchema, model_validator

from rdmalab.scenario import field_types
from rdmalab.scenario.model import Section

MOST_LINES = 10_000
_LONGEST = 100_000  # characters of a line


def _repeated(value: object) -> object:
    """`{do: LINE, repeat: 8}` as that many lines."""
    if not isinstance(value, list):
        return value
    lines: list[object] = []
    for item in value:
        if isinstance(item, dict) and set(item) == {"do", "repeat"}:
            count = item["repeat"]
            if not isinstance(count, str) or not count.isdecimal() or int(count) > MOST_LINES:
                raise field_types.wrong("repeat is a number", f"from 1 to {MOST_LINES}")
            lines += [item["do"]] * int(count)
        else:
            lines.append(item)
    return lines


Line = Annotated[field_types.Sentence, Field(max_length=_LONGEST)]
Lines = Annotated[list[Line], Field(max_length=MOST_LINES)]
SolutionLines = Annotated[
    Lines,
    BeforeValidator(_repeated),
    WithJsonSchema(
        {
            "type": "array",
            "items": {
                "oneOf": [
                    {"type": "string", "minLength": 1},
                    {
                        "type": "object",
                        "required": ["do", "repeat"],
                        "additionalProperties": False,
                        "properties": {
                            "do": {"type": "string"},
                            "repeat": {"type": ["integer", "string"]},
                        },
                    },
                ]
            },
        }
    ),
]
Answers = Annotated[
    dict[field_types.Word, Line],
    WithJsonSchema({"type": "object", "additionalProperties": {"type": ["string", "number"]}}),
]


class Solution(Section, BaseModel):
    """Possible work of a student, with its lines and answers."""

    name: field_types.Word
    """Its name in reports."""
    about: field_types.Sentence | None = None
    """The idea."""
    lines: SolutionLines = []
    """Lines as they are typed at the prompt; `{do: LINE, repeat: 8}` stands for eight."""
    answers: Answers = {}
    """Task → answer; that of a choice is its letter, in the order of the file."""
    answered: list[field_types.Word] = []
    """Tasks that get the right answer, where each student has another one."""


class Rejected(Solution):
    """Possible work of a student that must not pass."""

    task: field_types.Word | None = None
    """The task that fails; default: any."""
    cause: field_types.Word | None = None
    """The cause that `why` names then, by its slug."""


WANTED = 3
"""Solutions of each kind that a finished lab has."""


class Solutions(Section, BaseModel):
    """Submissions by which a lab is tested: three of each kind, or it is a draft."""

    accept: list[Solution] = []
    """These get all points."""
    reject: list[Rejected] = []
    """These do not."""

    @property
    def missing(self) -> str:
        """`needs 3 rejected solutions, has 1`; empty if there are enough of either kind."""
        counts = {"accepted": len(self.accept), "rejected": len(self.reject)}
        return "; ".join(
            f"needs {WANTED} {kind} solutions, has {count}"
            for kind, count in counts.items() if count < WANTED
        )  # fmt: skip

    @model_validator(mode="after")
    def _named_once(self) -> "Solutions":
        names = [solution.name for solution in (*self.accept, *self.reject)]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise field_types.wrong(f"two solutions have the name {twice}", "change one")
        return self


class Submission(Section, BaseModel):
    """Work of a student as it is handed in: typed lines and answers, never a result."""

    rdmalab: field_types.Version
    """Version of the format; the first key."""
    kind: Literal["submission"]
    """`submission`."""
    lab: field_types.Sentence
    """The id of the lab and the digest of its file for students."""
    student: field_types.Word
    """Any id."""
    salt: field_types.Sentence | None = None
    """The salt of the lab with which the parameters were drawn."""
    lines: Lines = []
    """Lines of the branch that is handed in, as they were typed."""
    answers: Answers = {}
    """Task → answer."""
    hints: list[field_types.Word] = []
    """Hints that were taken: `fix.1`."""
    log: list[field_types.Sentence] = []
    """Other actions, for the instructor: nothing is judged by them."""
    check: field_types.Sentence | None = None
    """Check digits of student, log, lines and answers; a work of an older version has none."""


class WrongAnswer(Section):
    """A typical wrong answer."""

    does: field_types.Sentence
    """The student's action or answer."""
    shows: field_types.Sentence
    """Misconception of the device that this shows."""
    solution: field_types.Word | None = None
    """The rejected solution of the lab that does it."""


class Discussion(Section):
    """A question for the class."""

    ask: field_types.Sentence
    """The question."""
    expect: field_types.Sentence
    """Points of a good answer."""


Mistakes = Annotated[list[WrongAnswer], Field(min_length=1)]
Discussions = Annotated[list[Discussion], Field(min_length=1)]


class Instructor(Section, BaseModel):
    """Notes of a lab for the instructor; `publish` leaves them out."""

    aim: field_types.Sentence
    """Aim of the lab: what it teaches."""
    time: field_types.Sentence
    """The parts of the time."""
    mistakes: Mistakes
    """Typical wrong answers."""
    hidden: dict[field_types.Word, field_types.Sentence] = {}
    """Hidden task → what it catches that the public tasks do not."""
    discuss: Discussions
    """Questions for discussion."""
    say: field_types.Sentence
    """Sentence to say in class."""

    def check(self, hidden: Collection[str], rejected: Collection[str]) -> None:
        """Raise an error of the file unless each hidden task, and only these, is explained.

        rejected: names of the rejected solutions, of which `mistakes` may name any.
        """
        for name in self.hidden:
            if name not in hidden:
                hint = f"hidden tasks: {', '.join(hidden)}" if hidden else "there is none"
                raise field_types.wrong(f"no hidden task has the id {name}", hint, "instructor")
        for name in hidden:
            if name not in self.hidden:
                message = f"the hidden task {name} is not explained"
                raise field_types.wrong(message, f"add {name} below hidden", "instructor")
        for each in self.mistakes:
            if each.solution is not None and each.solution not in rejected:
                message = f"no rejected solution has the name {each.solution}"
                hint = f"one of {', '.join(rejected)}"
                raise field_types.wrong(message, hint, "instructor")
