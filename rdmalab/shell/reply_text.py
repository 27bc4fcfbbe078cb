"""A reply as lines: what a verb did and returned, how far time moved, notes, what comes next."""

from collections.abc import Callable, Sequence
from dataclasses import field

from rdmalab.command import Noun, Ref, Thing
from rdmalab.doctor.answers import Answer
from rdmalab.hca import extended
from rdmalab.hca.cq import CompletionQueue
from rdmalab.hca.qp import QueuePair, SharedReceiveQueue
from rdmalab.session.breakpoints import value_text
from rdmalab.session.lines import Reply, Request
from rdmalab.session.reverse import HistoryQuery, Jump
from rdmalab.session.run_control import OPENING, RunControl
from rdmalab.session.session import Session
from rdmalab.shell.error_text import ERROR, not_understood, refused
from rdmalab.shell.output_format import OutputFormat
from rdmalab.shell.show import event_line
from rdmalab.shell.styled_text import Line, in_ascii, plain, shown
from rdmalab.shell.tables import DIM, EVENT, GOOD, NUMBER, WARN, header, rows_table, table
from rdmalab.shell.value_text import value_lines
from rdmalab.spec import records as rec
from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.records import Kind, Record, kind_of, node_of, object_of
from rdmalab.spec.row import dataclass
from rdmalab.spec.states import QPState
from rdmalab.views import fmt, planned, programs, record_text, story
from rdmalab.views.record_text import ARMS, ENDINGS, RecordContext, part_text, sentence, subject
from rdmalab.views.warnings import warnings
from rdmalab.workbench.files import Shared
from rdmalab.world.relations import exists


@dataclass(slots=True)
class Notes:
    """facts: sentences; states: (QP, state it went to); has_work: the device has work now."""

    facts: list[str] = field(default_factory=list)
    states: list[tuple[str, str]] = field(default_factory=list)
    has_work: bool = False


def notes(session: Session, reply: Reply) -> Notes:
    """Notes on the event of this reply."""
    found = Notes()
    if reply.event is None:
        return found
    records = session.world.trace.records
    for number in records.span(reply.event):
        record = records[number]
        if (tell := _SENTENCES.get(kind_of(record))) is not None:
            found.facts.append(tell(session, record))
        elif (take := _TAKES.get(kind_of(record))) is not None:
            take(session, record, found)
    found.facts = list(dict.fromkeys(found.facts))
    return found


def _name(session: Session, record: Record, noun: Noun) -> str:
    return session.names.of(Thing(noun, node_of(record), object_of(record)))


def _created(session: Session, record: Record, found: Notes) -> None:
    noun = Noun(rec.noun_of(record))
    thing = Thing(noun, node_of(record), object_of(record))
    if exists(session.world, thing):
        found.has_work = found.has_work or noun is Noun.PROGRAM
        about = _ABOUT.get(noun, _plain)(session.world.find(thing, object))
        found.facts.append(f"{session.names.of(thing)} {about}.")


def _plain(_item: object) -> str:
    return "created"


_ABOUT: dict[str, Callable[..., str]] = {
    Noun.MR: lambda mr: (
        f"is {mr.length} bytes at {mr.addr:#x}, lkey {mr.lkey:#x} rkey {mr.rkey:#x}"
    ),
    Noun.MW: lambda mw: f"is an unbound {mw.type.name} memory window, rkey {mw.rkey:#x}",
    Noun.CQ: lambda cq: f"holds {cq.capacity} completions",
    Noun.SRQ: lambda srq: f"holds {srq.capacity} receives, its number is {srq.number:#x}",
    Noun.XRCD: lambda xrcd: f"is XRC domain {xrcd.domain}",
    Noun.CHANNEL: lambda _channel: "has no CQ yet",
    Noun.PROGRAM: lambda program: (
        f"runs its {fmt.count(len(program.lines), 'line')} while time does"
    ),
    Noun.QP: lambda qp: f"is QP {qp.number:#x} in {qp.state.name}",
}


def _state(session: Session, record: Record, found: Notes) -> None:
    name = _name(session, record, Noun.QP)
    before, after = (
        fmt.member(part(record), QPState) for part in (rec.old_state_of, rec.new_state_of)
    )
    found.facts.append(f"{name} {before} → {after}.")
    found.states.append((name, after))
    found.has_work = rec.new_state_of(record) in (QPState.RTS, QPState.ERR)


def _closed(session: Session, record: Record, found: Notes) -> None:
    count, ending = rec.count_of(record), ENDINGS[rec.ending_of(record)]
    if rec.ending_of(record) == extended.UNOPENED:  # a warning says it
        return
    found.facts.append(f"{_name(session, record, Noun.QP)}: {count} built, {ending}.")


def _queue(session: Session, record: Record, found: Notes) -> None:
    """The used slots of a work queue; a posted send is work that time will do."""
    kind, thing = kind_of(record), Thing(Noun.QP, node_of(record), object_of(record))
    found.has_work = found.has_work or kind is Kind.SEND_POSTED
    which = _QUEUES.get(kind) or rec.queue_of(record)
    if exists(session.world, thing):
        queue = getattr(session.world.find(thing, QueuePair), which)
        found.facts.append(
            f"{session.names.of(thing)} {which.upper()} {queue.used}/{queue.capacity}."
        )


_QUEUES = {Kind.SEND_POSTED: "sq", Kind.RECV_POSTED: "rq"}


def _shared(session: Session, record: Record, found: Notes) -> None:
    thing = Thing(Noun.SRQ, node_of(record), object_of(record))
    if exists(session.world, thing):
        srq = session.world.find(thing, SharedReceiveQueue)
        found.facts.append(f"{session.names.of(thing)} {srq.used}/{srq.capacity}.")


def _raised(session: Session, record: Record, found: Notes) -> None:
    """Note that modify_srq raised SRQ_LIMIT_REACHED at once."""
    if rec.async_event_of(record) is AsyncEvent.SRQ_LIMIT_REACHED:
        found.facts.append(f"{_name(session, record, Noun.SRQ)} raised SRQ_LIMIT_REACHED.")


def _moment(session: Session, record: Record) -> RecordContext:
    return RecordContext(session.world, session.names, record)


def _record_line(session: Session, record: Record) -> str:
    """The sentence of the log."""
    text = sentence(session.world, session.names, record)
    name = subject(session.names, record)
    return f"{name}{':' if text.startswith('its ') else ''} {text}."


def _unacked(session: Session, record: Record) -> str:
    thing = Thing(Noun.CQ, node_of(record), object_of(record))
    return (
        f"{session.names.of(thing)} {session.world.find(thing, CompletionQueue).unacked} unacked."
    )


def _wrote(session: Session, record: Record) -> str:
    where = fmt.thing_at(session.world, session.names, node_of(record), rec.address_of(record))
    return f"{rec.length_of(record)} bytes at {where}."


# The kinds of records that are one sentence.
_SENTENCES: dict[Kind, Callable[[Session, Record], str]] = {
    Kind.DESTROYED: lambda s, r: f"{_name(s, r, Noun(rec.noun_of(r)))} is destroyed.",
    Kind.REGION_OPENED: lambda s, r: (
        f"{_name(s, r, Noun.QP)} builds work requests for thread {rec.thread_of(r)}."
    ),
    Kind.WR_BUILT: lambda _s, r: f"{fmt.send_wr(rec.send_wr_of(r))}, not posted yet.",
    Kind.WR_FILLED: lambda _s, r: f"{fmt.send_wr(rec.send_wr_of(r))}, not posted yet.",
    Kind.SRQ_SET: lambda s, r: (
        f"{_name(s, r, Noun.SRQ)} {rec.srq_field_of(r)} {rec.srq_value_of(r)}."
    ),
    Kind.HOST_WROTE: _wrote,
    Kind.LINK_SET: lambda s, r: (
        f"link {part_text(_moment(s, r), rec.setting_of)} "
        f"{part_text(_moment(s, r), rec.setting_value_of)}."
    ),
    Kind.CQ_ARMED: lambda s, r: f"{_name(s, r, Noun.CQ)} is armed for {ARMS[rec.arm_of(r)]}.",
    Kind.CQ_EVENT_RAISED: lambda s, r: (
        f"{_name(s, r, Noun.CQ)} raised an event for {part_text(_moment(s, r), rec.channel_of)}."
    ),
    Kind.CQ_EVENTS_ACKED: _unacked,
    Kind.EVENTS_DISCARDED: lambda _s, r: (
        f"events that were not fetched and are discarded: {rec.count_of(r):,}."
    ),
    Kind.GROUP_JOINED: _record_line,
    Kind.GROUP_LEFT: _record_line,
    Kind.PORT_CHANGED: _record_line,
    Kind.LINK_LAYER_SET: _record_line,
    Kind.MIGRATION_CHANGED: _record_line,
    Kind.DEVICE_DIED: _record_line,
    Kind.ASYNC_ACKED: _record_line,
}
# The kinds that are no sentence on some conditions, or tell more than a sentence.
_TAKES: dict[Kind, Callable[[Session, Record, Notes], None]] = {
    Kind.CREATED: _created,
    Kind.STATE_CHANGED: _state,
    Kind.REGION_CLOSED: _closed,
    Kind.SEND_POSTED: _queue,
    Kind.RECV_POSTED: _queue,
    Kind.SLOTS_FREED: _queue,
    Kind.SRQ_POSTED: _shared,
    Kind.SRQ_FREED: _shared,
    Kind.ASYNC_RAISED: _raised,
}


_STORY = 100  # lines of a long run that are offered at once
_HIDDEN = "not shown before the open question is answered"
_LOOKED_AT = 10_000  # its first events, among which polls without a result are left out


def say(output: OutputFormat, reply: Reply) -> list[Line]:
    """The lines about one reply."""
    return [*_lines_of(output, reply), *_branch(output, reply)]


def _branch(output: OutputFormat, reply: Reply) -> list[Line]:
    """The line about a new branch, after a command in the past."""
    if not reply.left:
        return []
    name = output.session.history.branch.name
    text = f"new branch {name}; the later events stay on {reply.left}: switch {reply.left}"
    return output.set([plain(text, DIM)])


def _lines_of(output: OutputFormat, reply: Reply) -> list[Line]:
    if reply.failed:
        return output.set(_wrong(output, reply))
    if isinstance(reply.value, Shared):
        return [plain(reply.value.text)]  # not folded: it is there to be copied
    if isinstance(reply.value, Answer):
        return _diagnosed(output, reply.value)
    if reply.travel is not None:
        return output.set(_travelled(output, reply.travel))
    if reply.depth:
        lines = [plain(f"= {reply.text}", DIM)]
    elif isinstance(reply.value, Request):
        lines = []
    else:
        lines = _done(output, reply) if reply.event is not None else []
        is_shown = lines and _result(reply.value)
        lines += [] if is_shown else value_lines(output, reply.value, _node(reply))
    lines += [[(WARN, "warning: "), ("", text)] for text in warnings(output.session, reply)]
    return output.set(lines)


def _node(reply: Reply) -> str:
    """The node of the first object that the command names; empty if it names none."""
    given = reply.invocation.arguments.values() if reply.invocation else ()
    return next((each.node for each in given if isinstance(each, Ref)), "")


def _wrong(output: OutputFormat, reply: Reply) -> list[Line]:
    """The lines about a command that was not understood or was refused."""
    if reply.bug:
        return [plain(shown(reply.bug), ERROR)]
    if reply.error is not None:
        return not_understood(reply.error, output.page)
    return refused(output.session, reply, output.page)


def _diagnosed(output: OutputFormat, found: Answer) -> list[Line]:
    """The rows of `why`; a fix is not cut, because it is for copying."""
    from rdmalab.doctor.checklist_report import ChecklistReport
    from rdmalab.doctor.report.report import Report
    from rdmalab.shell import show_why

    width = output.page.width
    if isinstance(found, Report):
        lines = show_why.answer_lines(found, width, plain=output.plain)
    else:
        assert isinstance(found, ChecklistReport)
        lines = show_why.lines_of(found.rows, width, plain=output.plain)
    return [in_ascii(line) for line in lines] if output.ascii else lines


def closing(output: OutputFormat, replies: Sequence[Reply]) -> list[Line]:
    """The summary of the lines of a short form."""
    events = [reply.event for reply in replies if reply.event is not None]
    if not events or replies[-1].failed:
        return []
    where = f"ev {events[0]}" if len(events) == 1 else f"ev {events[0]}..{events[-1]}"
    text = ", ".join(_states(output, replies))
    line: Line = [(GOOD, "ok "), (EVENT, f"[{where}]"), ("", f"  {text}" if text else "")]
    return output.set([line])


def _states(output: OutputFormat, replies: Sequence[Reply]) -> list[str]:
    """The state of each QP after them."""
    found: dict[str, str] = {}
    for reply in replies:
        for row in notes(output.session, reply).states:
            found[row[0]] = row[1]
    return [f"{name} is in {state}" for name, state in found.items()]


# --------------------------------------------------------------------------- verbs
def _done(output: OutputFormat, reply: Reply) -> list[Line]:
    """`ok [ev 28]  A.qp0 SQ 3/8.  Next: A.qp0 sends … at 8.100 us`."""
    noted = notes(output.session, reply)
    line: Line = [(GOOD, "ok "), (EVENT, f"[ev {reply.event}]")]
    taken = reply.invocation.arguments.get("num_entries", 1) if reply.invocation else 1
    found = _result(reply.value) if taken > 0 else [f"Nothing is taken: num_entries={taken}."]
    facts = [record_text.fault_words(output.session.names, each) for each in found]
    facts = noted.facts + facts
    line += [("", f"  {shown(' '.join(facts))}")] if facts else []
    waits = noted.has_work or reply.value == []
    if waits and (soon := next_thing(output.session)):
        line += [(DIM, f"  Next: {soon}")]
    return [line]


def _result(value: object) -> list[str]:
    """Result of a verb as lines, if it is one sentence or an empty list; else nothing."""
    if isinstance(value, str):
        return [value]
    return ["The completion queue is empty."] if value == [] else []


def next_thing(session: Session) -> str:
    """`A.qp0 sends a packet of wr7 SEND 64 B at 8.100 us`; empty if nothing is planned."""
    rows = planned.planned_rows(session.world, session.names)
    if not rows:
        return ""
    row = rows[0]
    return f"{row.qp or row.node} {row.sentence} at {fmt.clock(row.at_ns)}"


# --------------------------------------------------------------------------- time
def _travelled(output: OutputFormat, travel: RunControl) -> list[Line]:
    """A sentence for each event, the first of many; then the time and why the run ended.

    Polls that found nothing share one row, which leaves the others to what came between them.
    """
    session = output.session
    if isinstance(travel, Jump):
        return _jumped(output, travel)
    world = session.world
    last = world.event
    first = last - travel.events + 1
    looked_at = range(first, min(last + 1, first + _LOOKED_AT))
    rows = story.opening_rows(world, session.names, looked_at, OPENING)
    lines = [event_line(row) for row in rows]
    if more := last - rows[-1].last if rows else 0:
        lines.append(plain(f"… {more:,} more events: show story last={min(more, _STORY)}", DIM))
    width = output.page.width
    for row in output.trouble.rows(session, first, width):
        from rdmalab.shell import error_notice, show_why

        is_hidden = output.hides_cause and row.lead == error_notice.CAUSE
        shown_row = row._replace(text=_HIDDEN, event=None) if is_hidden else row
        lines += show_why.row_lines(shown_row, width, plain=output.plain)
    return [*lines, _stand(session, travel), *_stuck(session)]


def _jumped(output: OutputFormat, travel: Jump) -> list[Line]:
    """The answers along the past, the current event, the time, and why the survey ended."""
    session, event = output.session, output.session.world.event
    lines = _readings(output, travel) if isinstance(travel, HistoryQuery) else []
    if travel.events and event >= 0:
        lines += map(event_line, story.event_rows(session.world, session.names, event, event))
    return lines if isinstance(travel, HistoryQuery) else [*lines, _stand(session, travel)]


def _readings(output: OutputFormat, survey: HistoryQuery) -> list[Line]:
    rows = [
        [(EVENT, fmt.ev(event, "start")), (NUMBER, fmt.clock(at_ns)), ("", value_text(value))]
        for event, at_ns, value in survey.readings
    ]
    title = plain(f"{survey.question.text} after each change", "class:title")
    more = [plain(f"stopped at event {survey.readings[-1].event}", WARN)]
    return [title, *table([header("event", "time", "value"), *rows])] + ([] if survey.met else more)


def _stuck(session: Session) -> list[Line]:
    """Blocked programs that only another program can unblock."""
    rows = programs.stuck_rows(session.world, session.names)
    return rows_table(rows)


def _stand(session: Session, travel: RunControl) -> Line:
    """`now 10.230 us after 3 events.  Next: …`."""
    line: Line = [(NUMBER, fmt.clock(session.world.now_ns)), (DIM, _way(session, travel))]
    if travel.over not in ("there", "") or not travel.met:
        line.append(("" if travel.met else WARN, f"; {shown(_reason(travel))}"))
    line.append(("", "."))
    soon = next_thing(session)
    if soon and travel.over != "stopped":
        line.append((DIM, f"  Next: {soon}"))
    elif soon and not isinstance(travel, Jump):  # who looked back is where he was
        line.append((DIM, "  Type run to continue."))
    return line


def _way(session: Session, travel: RunControl) -> str:
    """` after 3 events`, ` at ev 28, 3 events back`."""
    count = fmt.count(travel.events, "event")
    if not isinstance(travel, Jump):
        return f" after {count}"
    event = session.world.event
    where = f" at {fmt.ev(event)}"
    if not travel.events:
        return where
    return f"{where}, {count} {'back' if event < travel.from_event else 'on'}"


def _reason(travel: RunControl) -> str:
    text = getattr(travel.goal, "text", "")
    if text and not travel.met and travel.over != "stopped":
        return f"{travel.over}; condition not reached: {text} is false"
    return travel.over


# --------------------------------------------------------------------------- values
