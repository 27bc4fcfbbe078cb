"""Checkpoints as moments of the branch on which a question is asked."""

from rdmalab.command import NotUnderstood
from rdmalab.session.branch import lineage
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
        raise no_checkpoint(session, name or mark)
    branch, place = session.checkpoints[name]
    if place.event > _common_event(session, branch):
        hint = f"checkpoint {name} names this moment"
        raise NotUnderstood(f"{mark} is a moment of branch {branch}", hint=hint)
    return place.event


def no_checkpoint(session: Session, name: str, argument: str = "") -> NotUnderstood:
    """The error for a name that no checkpoint has. argument: the key that it was given for."""
    known = " ".join(f"@{other}" for other in session.checkpoints)
    hint = f"there is: {known}" if known else "checkpoint NAME makes one"
    return NotUnderstood(f"no checkpoint is called {name}", hint=hint, argument=argument)


def _common_event(session: Session, branch: str) -> int:
    """The last event that the current branch shares with this one."""
    branches = session.history.branches
    ours = {each.name: last for each, last in lineage(branches, session.history.branch)}
    theirs = lineage(branches, branches[branch])
    return next(min(last, ours[each.name]).event for each, last in theirs if each.name in ours)
