"""Commands show, changes, node and quit; show prints the same rows as the panes."""

from typing import Annotated

from rdmalab.command import (
    SCRIPTABLE,
    Direction,
    Facts,
    Moment,
    Noun,
    OneOf,
    Recovery,
    Region,
    Thing,
    command,
)
from rdmalab.session.history import read_only_visit
from rdmalab.session.lines import Request
from rdmalab.session.reverse import go_to_moment
from rdmalab.session.session import Session
from rdmalab.spec.row import dataclass
from rdmalab.views import fmt
from rdmalab.views.changes import change_rows, facts, further_rows
from rdmalab.workbench.view_requests import View, ViewRequest, Which
from rdmalab.workbench.view_rows import HELP_ROWS, OF_NOUN, TOPICS, overview


@dataclass(slots=True)
class Leave(Request):
    """The request of `quit`: the face ends the session."""


What = Annotated[str, OneOf(TOPICS)]


@command(Facts(in_scenarios=True, recovery=Recovery.SKIP, help_rows=HELP_ROWS))
def show(
    session: Session,
    what: What | None = None,
    where: Region | None = None,
    number: int | None = None,
    direction: Direction | None = None,
    *,
    which: Which | None = None,
) -> View:
    """Show an object, a queue, the wire, the log …; without argument: a summary.

    A name shows that object, a node all of its objects.
    {rows}

    Example: show wire last=5
    """
    chosen = which or Which()
    if direction is not None:
        chosen.source, chosen.target = direction
    request = ViewRequest(session, where, number, chosen)
    if what is not None:
        return TOPICS[what].view(request)
    return overview(request) if where is None else OF_NOUN[where.thing.noun](request)


@command(Facts(in_scenarios=True, recovery=Recovery.SKIP))
def changes(session: Session, event: Moment | None = None) -> View:
    """Show what an event changed, field by field; without a number the last event.

    First what the event did, then every other field that differs from the moment before it. A time
    or a checkpoint means the last event until then.

    Example: changes
    """
    with read_only_visit(session.history):  # what is now said of an event is what it was then
        if event is not None:
            go_to_moment(session, event, "event")
        world = session.world
        rows = change_rows(world, session.names) if world.event >= 0 else []
        title = f"changes of {fmt.event(world.event)}"
        if world.event > 0:
            after = facts(world, session.names)
            go_to_moment(session, Moment(event=world.event - 1), "event")
            rows += list(further_rows(rows, facts(world, session.names), after))
    return View(title, rows, "" if rows else "this event changed nothing")


@command(SCRIPTABLE)
def node(session: Session, name: Annotated[Thing, Noun.NODE]) -> str:
    """Choose the node of names without a node.

    Example: node B
    """
    session.default_node = name.node
    return f"qp0 now means {name.node}.qp0"


@command(Facts(in_scenarios=True, recovery=Recovery.SKIP, short=(("q", ""),)))
def quit_(session: Session) -> Leave:
    """Exit. `save` writes the session to a file first.

    Example: quit
    """
    del session
    return Leave()


__all__ = ["Leave", "View", "changes", "node", "quit_", "show"]
