"""The view `show c`: a command as a C program makes it."""

from dataclasses import dataclass

from rdmalab.command import NotUnderstood, Noun, Ref, Thing
from rdmalab.grammar.format import render
from rdmalab.session.journal import Entry
from rdmalab.views import fmt
from rdmalab.views.columns import Col, describe
from rdmalab.workbench.view_requests import View, ViewRequest

_NONE = "no call yet: type a verb, as alloc_pd A.pd0"


@dataclass(slots=True)
class CodeRow:
    """A line of C."""

    text: str


describe(CodeRow, Col("text"))


def c_view(request: ViewRequest) -> View:
    """The last verb; of an object, of a work request of a queue, or of an event."""
    from rdmalab.export.c.calls import call_in_c
    from rdmalab.export.replay.calls import NotExportable

    session = request.session
    number = _chosen(request)
    if number is None:
        return View("C", [], _NONE)
    entry = session.journal[number]
    title = (
        f"ev {entry.event}: {render(entry.invocation, session.vocabulary[entry.invocation.name])}"
    )
    try:
        lines = call_in_c(session, number)
    except NotExportable as wrong:
        return View(title, [], f"not in C: {wrong.reason}")
    return View(title, [CodeRow(line) for line in lines])


def _chosen(request: ViewRequest) -> int | None:
    """The entry of the journal; None if there is no verb yet. NotUnderstood for a wrong number."""
    session = request.session
    found = [
        number
        for number, entry in enumerate(session.journal)
        if entry.event <= session.world.event and _is_of(request, entry)
    ]
    if found:
        return found[-1]
    if request.thing is not None:
        wr = "" if request.number is None else f" with wr_id={request.number}"
        name = session.names.of(request.thing)
        raise NotUnderstood(f"no verb of {name}{wr}", hint="show journal", argument="where")
    if request.number is not None:
        message = f"{fmt.event(request.number)} is no verb"
        raise NotUnderstood(message, hint="show journal has their events", argument="number")
    return None


def _is_of(request: ViewRequest, entry: Entry) -> bool:
    command = request.session.vocabulary[entry.invocation.name]
    if not command.facts.is_verb:
        return False
    if request.thing is None:
        return request.number in (None, entry.event)
    if not _names(request, entry, request.thing):
        return False
    return request.number is None or _posts(entry, request.number)


def _names(request: ViewRequest, entry: Entry, thing: Thing) -> bool:
    """Whether the first argument of a command is this object, or one of this node."""
    first = next(iter(entry.invocation.arguments.values()), None)
    if thing.noun is Noun.NODE:
        return getattr(first, "node", None) == thing.node
    named = f"{first.node}.{first.name}" if isinstance(first, Ref) else str(first)
    return request.session.names.thing_of.get(named) == thing


def _posts(entry: Entry, wr_id: int) -> bool:
    listed = entry.invocation.arguments.get("wr")
    requests = listed if isinstance(listed, list) else [entry.invocation.arguments.get("qpx")]
    return any(isinstance(each, dict) and each.get("wr_id", 0) == wr_id for each in requests)
