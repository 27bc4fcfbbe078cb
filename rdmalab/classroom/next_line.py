"""The line that a student can take next, from what the open task and its hints show."""

import re

from rdmalab.classroom.lab_session import LabSession
from rdmalab.classroom.model import Task

_MOVE = re.compile(r"modify_qp (\S+) state=(\w+)")
_OWN_ID = "ID"  # in `student=ID`, where the student types an id
_TO_TYPE = re.compile(r"(?: {2}|Type: )\s*(\S.*)")


def next_line(lab: LabSession) -> str:
    """The next line that the open task shows; empty if there is none.

    The lines are those of a taken hint, in a guided lab of its first hint, else of the task. When
    all tasks are done: `submit`, in a guided lab the line that its last text shows, up to an ID.
    """
    task = lab.open_task
    if task is None:
        document = lab.lab.document
        shown = next(iter(_lines_in(document.after or "")), "") if document.guided else "submit"
        return shown.removesuffix(_OWN_ID)
    texts = [task.ask or "", *(hint.text for hint in task.hints)]
    known = sum(name.startswith(f"{task.id}.") for name in lab.hints) or lab.lab.document.guided
    lines = next(filter(None, map(_lines_in, reversed(texts[: known + 1]))), [])
    lines = [line for line in lines if not _is_reached(lab, task, line)]
    begun = [at for at, line in enumerate(lab.typed) if lines[:1] == [line]]
    for line in lab.typed[begun[-1] :] if begun else ():
        if lines[:1] == [line]:
            del lines[0]
    return next(iter(lines), "")


def _is_reached(lab: LabSession, task: Task, line: str) -> bool:
    """Whether a line moves a queue pair to a state that is a goal, and is met: `to_rts` did it."""
    move = _MOVE.match(line)
    if move is None or task.goal is None:
        return False
    result = next(each for each in lab.latest.results if each.id == task.id)
    state = f"{move[1]}.state == {move[2]}"
    return any(goal.question == state and not result.lacks(goal.question) for goal in task.goal)


def _lines_in(text: str) -> list[str]:
    """The lines to type in a text: those that are indented or begin with `Type: `."""
    return [found[1] for line in text.splitlines() if (found := _TO_TYPE.match(line))]
