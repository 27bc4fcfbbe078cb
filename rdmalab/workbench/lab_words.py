"""Commands of labs: task, hint, answer, submit, and the tour."""

from dataclasses import dataclass
from typing import Annotated, Literal

from rdmalab.command import PROSE, Facts, Recovery, command
from rdmalab.session.session import Session


class LabRequest:
    """Base of the requests about the lab that is open."""

    __slots__ = ()


@dataclass(slots=True)
class Tour(LabRequest):
    """Request: open the tour, where it was left or at its beginning."""

    again: bool = False


@dataclass(slots=True)
class TaskList(LabRequest):
    """Request: show the tasks, and what is judged of them now."""


@dataclass(slots=True)
class TakeHint(LabRequest):
    """Request: show the next hint of a task. sure: also one that costs points.

    task: empty: the first that is open.
    """

    task: str
    sure: bool = False


@dataclass(slots=True)
class GiveAnswer(LabRequest):
    """Request: answer a task."""

    task: str
    text: str


@dataclass(slots=True)
class Submit(LabRequest):
    """Request: the submission. file: where it is written; empty: it is printed as one word."""

    file: str = ""


@command(Facts())
def task(session: Session) -> TaskList:
    """Show the tasks of the lab, and which are done.

    Your lines are replayed and judged as `rdmalab grade` does it; hidden tasks are judged by the
    instructor only. A lab is opened with load: load labs/sq-full student=s4711

    Example: task
    """
    del session
    return TaskList()


@command(Facts(touches_files=True))
def tour(session: Session, start: Literal["", "again"] = "") -> Tour:
    """Begin the tour: eight tasks from queue pairs in RESET to a message, an error and its cause.

    It is a lab without points, and takes ten minutes. What you have done is kept, so that `tour`
    continues there another day; `tour again` starts over. The session starts with a new world.

    Example: tour
    """
    del session
    return Tour(start == "again")


@command(Facts())
def hint(session: Session, task_id: str = "", sure: Literal["", "yes"] = "") -> TakeHint:
    """Show the next hint of a task, or of the first that is open.

    A hint may cost points; then `hint TASK yes` takes it.

    Example: hint deliver
    """
    del session
    return TakeHint(task_id, sure == "yes")


@command(Facts())
def answer(session: Session, task_id: str, text: Annotated[str, PROSE]) -> GiveAnswer:
    """Answer a task that asks for a value or for the number of a choice; the last answer counts.

    Example: answer see ENOMEM
    """
    del session
    return GiveAnswer(task_id, text)


@command(Facts(touches_files=True, recovery=Recovery.SKIP))
def submit(session: Session, file: str = "") -> Submit:
    """Write what you have done in this lab to a file, or print it as one word to be pasted.

    It holds your lines, answers and hints. Nothing is sent anywhere.

    Example: submit work.yaml
    """
    del session
    return Submit(file)
