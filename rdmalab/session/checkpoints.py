"""Checkpoints as moments of the branch on which a question is asked."""

from rdmalab.command import NotUnderstood
from rdmalab.session.session import Session

BEGINNING = "start"


def event_of_mark(session: Session, mark: str) -> int:
    """The last event before a checkpoint such as `@ready`; @start without one: of the beginning.

    NotUnderstood if there is no such checkpoint, or if it is a moment of another branch only.
    """
    name = mark.removeprefix("@")
    if name not in session.checkpoints:
        if name == BEGINNING:
            return session.history.start.event
        known = " ".join(f"@{other}" for other in session.checkpoints)
        hint = f"there is: {known}" if known else "checkpoint NAME makes one"
        raise NotUnderstood(f"no checkpoint is called {name or mark}", hint=hint)
    branch, place = session.checkpoints[name]
    if place.event > _common_event(session, branch):
        hint = f"checkpoint {name} names this moment"
        raise NotUnderstood(f"{mark} is a moment of branch {branch}", hint=hint)
    return place.event


def _common_event(session: Session, branch: str) -> float:
    """The last event that the current branch shares with this one."""
    branches, here = session.history.branches, session.history.branch
    line: dict[str, float] = {}
    event = float("inf")
    while here.name not in line:
        line[here.name] = event
        if not here.parent:
            break
        event, here = min(event, here.forked.event), branches[here.parent]
    other, event = branches[branch], float("inf")
    while other.name not in line:
        event, other = min(event, other.forked.event), branches[other.parent]
    return min(event, line[other.name])
