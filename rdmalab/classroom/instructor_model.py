"""The pydantic model of the instructor's part of a lab, which no student sees."""

from collections.abc import Collection
from typing import Annotated

from pydantic import BaseModel, Field

from rdmalab.scenario import field_types
from rdmalab.scenario.fabric import Section


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
