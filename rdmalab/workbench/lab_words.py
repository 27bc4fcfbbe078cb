"""Commands of labs: task, hint, answer, submit, and the tour."""

from typing import Annotated, Literal

from rdmalab.command import PROSE, Facts, Recovery, command
from rdmalab.session.lines import Request
from rdmalab.session.session import Session
from rdmalab.spec.row import dataclass


@dataclass(slots=True)
class Tour(Request):
    """Request: open the tour, where it was left or at its beginning."""

    again: bool = False


@dataclass(slots=True)
class ReturnToLab(Request):
    """Request: open the newest lab that is kept. name, student: of these; empty: of any."""

    name: str = ""
    student: str = ""


@dataclass(slots=True)
class TaskList(Request):
    """Request: show the tasks, and what is judged of them now; of a lesson its notes.

    name: one of the tasks, in full.
    """

    name: str = ""


@dataclass(slots=True)
class TakeHint(Request):
    """Request: show the next hint of a task. sure: also one that costs points.

    task: empty: the first that is open.
    """

    task: str
    sure: bool = False


@dataclass(slots=True)
class GiveAnswer(Request):
    """Request: answer a task. text: empty: `task` is the answer to the open question."""

    task: str
    text: str


@dataclass(slots=True)
class Submit(Request):
    """Request: the submission. file: where it is written; empty: it is printed as one word."""

    file: str = ""


@dataclass(slots=True)
class MakeLab(Request):
    """Request: write a lab that is made of a session. session: as a scenario."""

    file: str
    session: str


@command(Facts())
def task(session: Session, name: str = "") -> TaskList:
    """Show the tasks of the lab, and which are done; or one task, or the notes of a lesson.

    Your lines are replayed and judged as `rdmalab grade` does it: as if 100 ms more had passed, or
    the time that the lab sets with `settle`. A task can thus be done before you let time move on.
    Hidden tasks are judged by the instructor only. A lab is opened with load, for example
    load labs/sq-full student=s4711

    Example: task
    Example: task explain
    """
    del session
    return TaskList(name)


@command(Facts(touches_files=True, recovery=Recovery.REPEAT_IF_LOADED))
def tour(session: Session, start: Literal["", "again"] = "") -> Tour:
    """Begin the tour: nine tasks from queue pairs in RESET to a message, an error and its cause.

    It is a lab without points, and takes ten minutes. What you have done is kept, so that `tour`
    continues there another day; `tour again` starts over. The session starts with a new world.

    Example: tour
    """
    del session
    return Tour(start == "again")


@command(Facts(touches_files=True, recovery=Recovery.REPEAT_IF_LOADED))
def lab(session: Session, name: str = "", student: str = "") -> ReturnToLab:
    """Return to the lab in which you worked last; or to another that is kept, by its name.

    The work of each student in each lab is kept after each line.

    Example: lab
    Example: lab sq-full s4711
    """
    del session
    return ReturnToLab(name, student)


@command(Facts())
def hint(session: Session, task_id: str = "", sure: Literal["", "yes"] = "") -> TakeHint:
    """Show the next hint of a task, or of the first that is open.

    A hint may cost points; then `hint TASK yes` takes it.

    Example: hint deliver
    """
    del session
    return TakeHint(task_id, sure == "yes")


@command(Facts())
def answer(session: Session, choice_or_task: str, text: Annotated[str, PROSE] = "") -> GiveAnswer:
    """Answer the open question of a lesson or a lab; of a task by its name, the last answer counts.

    A choice is named by its letter, its number or words of its text; a letter alone is enough while
    the question is open. Without the name of a task the first question that is open is answered.

    Example: answer b
    Example: answer 2
    Example: answer see EAGAIN
    """
    del session
    return GiveAnswer(choice_or_task, text)


@command(Facts(touches_files=True, recovery=Recovery.SKIP))
def submit(session: Session, file: str = "") -> Submit:
    """Write what you have done in this lab to a file, or print it as one word to be pasted.

    It holds your lines, answers and hints. Nothing is sent anywhere. Without a roster the grader
    takes the name of the file for the student: submit s4711.yaml for student=s4711.

    Example: submit s4711.yaml
    """
    del session
    return Submit(file)
