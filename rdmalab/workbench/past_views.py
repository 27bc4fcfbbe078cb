"""Views of the past: the log, the story, the marks of time, events, the journal."""

from collections.abc import Sequence

from rdmalab.command import Noun, Thing
from rdmalab.grammar.format import render
from rdmalab.hca.device import Hca
from rdmalab.session.session import Session
from rdmalab.spec.async_events import EVENTS, AsyncEvent
from rdmalab.views import story, timeline
from rdmalab.workbench.view_requests import (
    PANE_LINES,
    AsyncRow,
    JournalRow,
    Request,
    View,
    if_empty,
)


def log_view(request: Request) -> View:
    """The newest records, or those of one event."""
    world, names = request.session.world, request.session.names
    if request.number is not None:
        found = story.record_rows(world, names, request.number)
        title = f"records of event {request.number}"
        return View(title, found, if_empty(found, "there is no such event"))
    rows = story.last_rows(world, names, request.which.last or PANE_LINES)
    return View("log", rows, if_empty(rows, "no events yet"))


def story_view(request: Request) -> View:
    """One sentence for each of the newest events."""
    world, names = request.session.world, request.session.names
    first = max(0, world.event + 1 - (request.which.last or PANE_LINES))
    rows = story.event_rows(world, names, first, world.event)
    return View("story", rows, if_empty(rows, "no events yet"))


def time_view(request: Request) -> View:
    """The place on this branch of time, and its marks."""
    session = request.session
    row = timeline.tape_row(session.history, session.names, session.checkpoints)
    return View("time", [row, *row.marks], "checkpoint NAME marks a moment; goto leads to any")


def events_view(request: Request) -> View:
    """Asynchronous events that are pending, or were read and not acknowledged."""
    session = request.session
    nodes = [request.thing.node] if request.thing else list(session.world.nodes)
    rows = [
        AsyncRow(
            name, event, _subject(session, name, event, number), EVENTS[event].text, taken=taken
        )
        for name in nodes
        for taken, found in _reported(session.world.nodes[name])
        for event, number in found
    ]
    return View("asynchronous events", rows, if_empty(rows, "no event is pending"))


def _reported(hca: Hca) -> list[tuple[bool, Sequence[tuple[AsyncEvent, int]]]]:
    """Events read and not acknowledged, then pending ones."""
    return [(True, hca.async_unacked), (False, list(hca.async_events))]


def _subject(session: Session, name: str, event: AsyncEvent, number: int) -> str:
    noun = EVENTS[event].noun
    return session.names.of(Thing(Noun(noun), name, number)) if noun in tuple(Noun) else name


def journal_view(request: Request) -> View:
    """The newest commands, as they were typed."""
    session = request.session
    entries = session.journal[-(request.which.last or len(session.journal) or 1) :]
    rows = [
        JournalRow(e.event, e.at_ns, render(e.invocation, session.vocabulary[e.invocation.name]))
        for e in entries
    ]
    return View("journal", rows, if_empty(rows, "the journal is empty"))
