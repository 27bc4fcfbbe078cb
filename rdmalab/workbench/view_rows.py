"""The views of `show`: for each topic its rows, now and at an earlier event."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from rdmalab.command import NotUnderstood, Noun, Ref, Thing
from rdmalab.grammar.format import render
from rdmalab.hca.device import Hca
from rdmalab.hca.qp import QueuePair
from rdmalab.session.journal import Entry
from rdmalab.session.session import Session
from rdmalab.spec.async_events import EVENTS, AsyncEvent
from rdmalab.spec.row import dataclass
from rdmalab.views import (
    completions,
    counters,
    fmt,
    ladder,
    memory,
    packets,
    planned,
    ports,
    programs,
    query_fields,
    queues,
    record_text,
    srq,
    states,
    story,
    timeline,
    wqes,
)
from rdmalab.views.columns import Col, describe
from rdmalab.views.receive_need import NeedRow, need_row
from rdmalab.workbench.view_requests import (
    PANE_LINES,
    AsyncRow,
    JournalRow,
    SetFault,
    View,
    ViewRequest,
    if_empty,
)

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


def log_view(request: ViewRequest) -> View:
    """The newest records, or those of one event."""
    world, names = request.session.world, request.session.names
    if request.number is not None:
        found = story.record_rows(world, names, request.number)
        title = f"records of event {request.number}"
        return View(title, found, if_empty(found, "there is no such event"))
    rows = story.last_rows(world, names, request.which.last or PANE_LINES)
    return View("log", rows, if_empty(rows, "no events yet"))


def story_view(request: ViewRequest) -> View:
    """One sentence for each of the newest events."""
    world, names = request.session.world, request.session.names
    first = max(0, world.event + 1 - (request.which.last or PANE_LINES))
    rows = story.event_rows(world, names, first, world.event)
    for row in rows:
        if caller := request.session.caller_of(row.event):
            row.text += f", called by {caller}"
    return View("story", rows, if_empty(rows, "no events yet"))


def time_view(request: ViewRequest) -> View:
    """The place on this branch of time, and its marks."""
    session = request.session
    row = timeline.tape_row(session.history, session.names, session.checkpoints)
    return View("time", [row, *row.marks], "checkpoint NAME marks a moment; goto leads to any")


def events_view(request: ViewRequest) -> View:
    """Asynchronous events that are pending, or were read and not acknowledged."""
    session = request.session
    rows = [
        AsyncRow(
            name, event, _subject(session, name, event, number), EVENTS[event].text, taken=taken
        )
        for name in _nodes(request)
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


def journal_view(request: ViewRequest) -> View:
    """The newest commands, as they were typed."""
    session = request.session
    entries = session.journal[-(request.which.last or len(session.journal) or 1) :]
    rows = [
        JournalRow(e.event, e.at_ns, render(e.invocation, session.vocabulary[e.invocation.name]))
        for e in entries
    ]
    return View("journal", rows, if_empty(rows, "the journal is empty"))


_HEX_BYTES = 128


# --------------------------------------------------------------------------- everything in brief
def overview(request: ViewRequest) -> View:
    """The view of `show` without a topic: objects, the link, and three planned events."""
    world, names = request.session.world, request.session.names
    first = [row for noun in (Noun.QP, Noun.CQ, Noun.MR) for row in _rows_of(request, noun)]
    others = [row for noun in _PLAIN if noun is not Noun.PD for row in _rows_of(request, noun)]
    title = f"event {world.event} at {fmt.clock(world.now_ns)}"
    soon = planned.planned_rows(world, names)[:3]
    rows = [*first, *others, ports.link_row(world, names), *soon]
    return View(title, rows, if_empty(first, f"no objects yet; {names.way_to()}"))


def _node(request: ViewRequest) -> View:
    view = overview(request)
    name = request.thing.node if request.thing else ""
    port = ports.port_row(request.session.world, name)
    return View(f"node {name}", [port, *view.rows], view.hint)


# --------------------------------------------------------------------------- one kind of thing
def _qp(request: ViewRequest) -> View:
    session = request.session
    if request.thing is None or request.thing.noun is not Noun.QP:
        rows = _rows_of(request, Noun.QP)
        needs = _needs(request, request.things(Noun.QP))
        return View("queue pairs", [*rows, *needs], _none(request, rows, Noun.QP, "queue pair"))
    thing = request.thing
    row = queues.qp_row(session.world, session.names, thing)
    diagram = states.diagram_row(session.world, thing)
    work = [*wqes.wqe_rows(session.world, thing), *wqes.recv_rows(session.world, thing)]
    return View(row.name, [diagram, row, *work, *_needs(request, [thing])])


def _needs(request: ViewRequest, found: Sequence[Thing]) -> list[NeedRow]:
    """The queue pairs that a message has met, or will meet, without a receive."""
    needs = (need_row(request.session.world, request.session.names, thing) for thing in found)
    return [need for need in needs if need is not None]


def _sq(request: ViewRequest) -> View:
    thing = request.one(Noun.QP)
    row = queues.qp_row(request.session.world, request.session.names, thing)
    title = f"{row.name} send queue {row.sq.used}/{row.sq.capacity}"
    rows = wqes.wqe_rows(request.session.world, thing)
    return View(
        title, [row.sq, *rows], if_empty(rows, f"post_send {row.name} opcode=SEND sg=… fills it")
    )


def _rq(request: ViewRequest) -> View:
    thing = request.one(Noun.QP)
    row = queues.qp_row(request.session.world, request.session.names, thing)
    title = f"{row.name} receive queue {row.rq.used}/{row.rq.capacity}"
    rows = wqes.recv_rows(request.session.world, thing)
    if row.srq:  # post_recv on this queue pair is refused
        hint = f"it takes its receives from {row.srq}: show srq, post_srq_recv {row.srq} sg=…"
    else:
        hint = f"empty, so a SEND gets an RNR NAK: post_recv {row.name} sg=…"
    return View(title, [row.rq, *rows], if_empty(rows, hint))


def _cq(request: ViewRequest) -> View:
    world, names = request.session.world, request.session.names
    rows: list[object] = []
    for thing in request.things(Noun.CQ):
        rows += [completions.cq_row(world, names, thing), *completions.wc_rows(world, names, thing)]
    return View("completion queues", rows, _none(request, rows, Noun.CQ, "completion queue"))


def _mr(request: ViewRequest) -> View:
    world, names = request.session.world, request.session.names
    if request.thing is None or request.thing.noun is not Noun.MR:
        rows = _rows_of(request, Noun.MR)
        return View("memory regions", rows, _none(request, rows, Noun.MR, "memory region"))
    thing = request.thing
    row = memory.mr_row(world, names, thing)
    start, stop = _window(request, row.length)
    octets = memory.hex_rows(world, thing, start, stop)
    owners = memory.owned_rows(world, names, thing)
    windows_on = memory.open_rows(world, names, thing)
    return View(f"{row.name}[{start}:{stop}]", [row, *octets, *owners, *windows_on])


def _window(request: ViewRequest, length: int) -> tuple[int, int]:
    where = request.where
    start = where.start or 0 if where else 0
    stop = where.stop if where and where.stop is not None else min(start + _HEX_BYTES, length)
    if not start <= stop <= length:
        message = f"[{start}:{stop}] is outside the buffer"
        raise NotUnderstood(message, hint=f"it has bytes 0:{length}", argument="where")
    return start, stop


# Objects that are shown as their row is, in the order of the overview.
_PLAIN: dict[Noun, str] = {
    Noun.PD: "protection domains",
    Noun.CHANNEL: "completion channels",
    Noun.TD: "thread domains",
    Noun.FLOW: "flow rules",
    Noun.AH: "address handles",
    Noun.SRQ: "shared receive queues",
    Noun.XRCD: "XRC domains",
    Noun.MW: "memory windows",
    Noun.PROGRAM: "programs",
}


def _rows_of(request: ViewRequest, noun: Noun) -> list[object]:
    world, names = request.session.world, request.session.names
    row_of = query_fields.OBJECTS[noun].row_of
    return [row_of(world, names, thing) for thing in request.things(noun)]


def _none(request: ViewRequest, rows: list[object], noun: Noun, what: str) -> str:
    return if_empty(rows, f"no {what}; {request.session.names.way_to(noun)}")


def _plain(noun: Noun) -> Callable[[ViewRequest], View]:
    plural = _PLAIN[noun]

    def view(request: ViewRequest) -> View:
        rows = _rows_of(request, noun)
        return View(plural, rows, _none(request, rows, noun, plural))

    return view


def _srq(request: ViewRequest) -> View:
    """SRQs; for one SRQ also its receives, and the QP that uses each."""
    thing = request.thing
    if thing is None or thing.noun is not Noun.SRQ:
        return _plain(Noun.SRQ)(request)
    world, names = request.session.world, request.session.names
    row = srq.srq_row(world, names, thing)
    rows = srq.recv_rows(world, names, thing, request.which.last or PANE_LINES)
    hint = f"nothing was posted yet: post_srq_recv {row.name} sg=…"
    users = [
        qp
        for qp in request.things(Noun.QP)
        if world.find(qp, QueuePair).srq == thing.number and qp.node == thing.node
    ]
    return View(row.name, [row, *rows, *_needs(request, users)], if_empty(rows, hint))


def program_view(request: ViewRequest) -> View:
    """Programs; for one program also its lines."""
    thing = request.thing
    if thing is None or thing.noun is not Noun.PROGRAM:
        return _plain(Noun.PROGRAM)(request)
    world, names = request.session.world, request.session.names
    row = programs.program_row(world, names, thing)
    return View(row.name, [row, *programs.line_rows(world, thing)])


# --------------------------------------------------------------------------- the wire
def _wire(request: ViewRequest) -> View:
    which = request.which
    wanted = {
        name: value
        for name in ("opcode", "source", "target", "psn")
        if (value := getattr(which, name)) not in ("", None)
    }
    world, names = request.session.world, request.session.names
    last = which.last or PANE_LINES
    rows: list[object] = [*ladder.rows(world, names, last=last, wanted=wanted or None)]
    if not wanted:
        rows += planned.planned_rows(world, names)
    reach = world.trace.reach
    hint = "no packet yet: post_send, then step packet"
    if 0 < reach < len(world.trace.records):
        hint = f"no packet in the last {reach:,} records: show wire looks further back"
    return View("wire", rows, if_empty(rows, hint), world.event)


def _packet(request: ViewRequest) -> View:
    world = request.session.world
    number = request.number
    if number is None:
        newest = ladder.last_packet(world, request.session.names)
        row = packets.decoded_row(world, newest.number) if newest else None
    else:
        row = packets.of_event(world, number)
    if row is None:
        what = "no packet yet" if number is None else f"event {number} has no packet"
        raise NotUnderstood(what, hint="show wire lists them")
    return View(f"packet of event {row.event}", [row])


def _counters(request: ViewRequest) -> View:
    world = request.session.world
    nodes = _nodes(request)
    rows: list[object] = [counters.counters_row(world, name) for name in nodes]
    return View("counters", rows + [row for n in nodes for row in counters.drop_rows(world, n)])


def _link(request: ViewRequest) -> View:
    world = request.session.world
    rows = [ports.port_row(world, name) for name in world.nodes]
    return View("link", [ports.link_row(world, request.session.names), *rows])


def _faults(request: ViewRequest) -> View:
    names = request.session.names
    found = [
        SetFault(each.number, record_text.fault_words(names, each), each.match.met)
        for each in request.session.world.network.cable.faults
    ]
    return View("faults", found, if_empty(found, "no faults: fault drop A->B nth=1 sets one"))


def _nodes(request: ViewRequest) -> list[str]:
    return [request.thing.node] if request.thing else list(request.session.world.nodes)


def _port(request: ViewRequest) -> View:
    world, nodes = request.session.world, _nodes(request)
    rows: list[object] = [ports.port_row(world, name) for name in nodes]
    return View("ports", rows + [row for name in nodes for row in ports.table_rows(world, name)])


def _device(request: ViewRequest) -> View:
    world, nodes = request.session.world, _nodes(request)
    rows: list[object] = []
    for name in nodes:
        rows += [ports.device_row(world, name), *ports.use_rows(world, name)]
    return View("devices", rows, f"all its limits: query_device {nodes[0]}")


def _agenda(request: ViewRequest) -> View:
    rows = planned.planned_rows(request.session.world, request.session.names)
    return View("planned", rows, if_empty(rows, "idle: no packet, timer or program is pending"))


# --------------------------------------------------------------------------- past and words


def _expr(request: ViewRequest) -> View:
    del request
    return View("what can be asked", list(query_fields.fields()))


class Topic(NamedTuple):
    """A word after `show`. help: the sentence of `help show`; empty: its noun says it."""

    view: Callable[[ViewRequest], View]
    help: str = ""


TOPICS: dict[str, Topic] = {
    "qp": Topic(_qp),
    "cq": Topic(_cq),
    "mr": Topic(_mr),
    **{noun.value: Topic(_plain(noun)) for noun in _PLAIN},
    "sq": Topic(_sq, "one send queue, slot by slot."),
    "rq": Topic(_rq, "one receive queue."),
    "srq": Topic(_srq, "the shared receive queues; with a name the receives of one."),
    "wire": Topic(_wire, "the packets and what is planned, `last` of them, filtered by opcode, "
                  "from, to, psn."),
    "packet": Topic(_packet, "`packet N`: the packet of event N byte by byte."),
    "agenda": Topic(_agenda, "what is planned: packets on the cable, timers, programs that sleep."),
    "program": Topic(program_view, "the threads: the line each is at, and what it waits for."),
    "events": Topic(events_view, "asynchronous events that are pending, or read and not "
                    "acknowledged."),
    "counters": Topic(_counters, "the counters of each port, and why packets were dropped."),
    "port": Topic(_port, "state, MTU, GIDs and P_Keys of each port."),
    "device": Topic(_device, "profile and limits, and how much of them is used."),
    "link": Topic(_link, "the cable: latency, rate, MTU."),
    "faults": Topic(_faults, "the faults that are set."),
    "log": Topic(log_view, "every record."),
    "story": Topic(story_view, "one sentence an event."),
    "journal": Topic(journal_view, "the calls so far, as they can be typed again."),
    "c": Topic(c_view, "the last verb as a call of C; `c 7`: that of event 7; `c A.qp0 7`: the "
               "post of its wr7."),
    "time": Topic(time_view, "the place on this branch of time."),
    "expr": Topic(_expr, "the expressions of `until` and `expect`."),
}  # fmt: skip
"""By the word of `show`."""

_KINDS = ", ".join(word for word, topic in TOPICS.items() if not topic.help)
HELP_ROWS = {word: topic.help for word, topic in TOPICS.items() if topic.help}
HELP_ROWS["a kind"] = f"all its objects: {_KINDS}."
"""The sentences of all topics."""

OF_NOUN: dict[Noun, Callable[[ViewRequest], View]] = {
    Noun.NODE: _node,
    **{noun: TOPICS[noun].view for noun in (Noun.QP, Noun.CQ, Noun.MR, *_PLAIN)},
}
