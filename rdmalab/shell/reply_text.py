"""A reply as lines: what a verb did and returned, how far time moved, what comes next."""

from collections.abc import Sequence

from rdmalab.doctor.answers import Answer
from rdmalab.session.breakpoints import told
from rdmalab.session.history_query import HistoryQuery
from rdmalab.session.lines import Reply, Script
from rdmalab.session.reverse import Jump
from rdmalab.session.run_control import OPENING, RunControl
from rdmalab.session.session import Session
from rdmalab.shell.described import rows_table
from rdmalab.shell.error_text import ERROR, not_understood, refused
from rdmalab.shell.output_format import OutputFormat
from rdmalab.shell.result_notes import notes
from rdmalab.shell.show import event_line
from rdmalab.shell.styled_text import Line, in_ascii, plain, shown
from rdmalab.shell.tables import DIM, EVENT, GOOD, NUMBER, WARN, header, table
from rdmalab.shell.value_text import value_lines
from rdmalab.views import fmt, planned, programs, record_text, story
from rdmalab.views.warnings import warnings
from rdmalab.workbench.files import Continue, Empty, ListLessons, Load, Next, Open, Shared
from rdmalab.workbench.lab_words import LabRequest
from rdmalab.workbench.screen_words import ScreenRequest
from rdmalab.workbench.show import Leave

_REQUESTS = (
    Script,
    Leave,
    Load,
    ListLessons,
    Next,
    Empty,
    Continue,
    Open,
    LabRequest,
    ScreenRequest,
)  # the face answers them
_STORY = 100  # lines of a long run that are offered at once


def say(voice: OutputFormat, reply: Reply) -> list[Line]:
    """The lines about one reply. closing: it is the last one of a short form."""
    return [*_said_of(voice, reply), *_branch(voice, reply)]


def _branch(voice: OutputFormat, reply: Reply) -> list[Line]:
    """The line about a new branch, after a command in the past."""
    if not reply.left:
        return []
    name = voice.session.history.branch.name
    text = f"new branch {name}; the later events stay on {reply.left}: switch {reply.left}"
    return voice.set([plain(text, DIM)])


def _said_of(voice: OutputFormat, reply: Reply) -> list[Line]:
    if reply.failed:
        return voice.set(_wrong(voice, reply))
    if isinstance(reply.value, Shared):
        return [plain(reply.value.text)]  # not folded: it is there to be copied
    if isinstance(reply.value, Answer):
        return _diagnosed(voice, reply.value)
    if reply.travel is not None:
        return voice.set(_travelled(voice, reply.travel))
    if reply.depth:
        lines = [plain(f"= {reply.text}", DIM)]
    elif isinstance(reply.value, _REQUESTS):
        lines = []
    else:
        lines = _done(voice, reply) if reply.event is not None else []
        is_said = lines and _result(reply.value)
        lines += [] if is_said else value_lines(voice, reply.value)
    lines += [[(WARN, "warning: "), ("", text)] for text in warnings(voice.session, reply)]
    return voice.set(lines)


def _wrong(voice: OutputFormat, reply: Reply) -> list[Line]:
    """The lines about a command that was not understood or was refused."""
    if reply.bug:
        return [plain(shown(reply.bug), ERROR)]
    if reply.error is not None:
        return not_understood(reply.error, voice.page)
    return refused(voice.session, reply, voice.page)


def _diagnosed(voice: OutputFormat, found: Answer) -> list[Line]:
    """The rows of `why`; a fix is not cut, because it is for copying."""
    from rdmalab.doctor.checklist_report import Walk
    from rdmalab.doctor.report import Report
    from rdmalab.shell import show_why

    width = voice.page.width
    if isinstance(found, Report):
        lines = show_why.answer_lines(found, width, plain=voice.plain)
    else:
        assert isinstance(found, Walk)
        lines = show_why.lines_of(found.rows, width, plain=voice.plain)
    return [in_ascii(line) for line in lines] if voice.ascii else lines


def closing(voice: OutputFormat, replies: Sequence[Reply]) -> list[Line]:
    """The summary of the lines of a short form."""
    events = [reply.event for reply in replies if reply.event is not None]
    if not events or replies[-1].failed:
        return []
    where = f"ev {events[0]}" if len(events) == 1 else f"ev {events[0]}..{events[-1]}"
    said = ", ".join(_states(voice, replies))
    line: Line = [(GOOD, "ok "), (EVENT, f"[{where}]"), ("", f"  {said}" if said else "")]
    return voice.set([line])


def _states(voice: OutputFormat, replies: Sequence[Reply]) -> list[str]:
    """The state of each QP after them."""
    found: dict[str, str] = {}
    for reply in replies:
        for row in notes(voice.session, reply).states:
            found[row[0]] = row[1]
    return [f"{name} is in {state}" for name, state in found.items()]


# --------------------------------------------------------------------------- verbs
def _done(voice: OutputFormat, reply: Reply) -> list[Line]:
    """`ok [ev 28]  A.qp0 SQ 3/8.  Next: A.qp0 sends … at 8.100 us`."""
    noted = notes(voice.session, reply)
    line: Line = [(GOOD, "ok "), (EVENT, f"[ev {reply.event}]")]
    facts = [record_text.fault_words(voice.session.names, said) for said in _result(reply.value)]
    facts = noted.facts + facts
    line += [("", f"  {shown(' '.join(facts))}")] if facts else []
    if noted.has_work and (soon := next_thing(voice.session)):
        line += [(DIM, f"  Next: {soon}")]
    return [line]


def _result(value: object) -> list[str]:
    """What a verb returned, if that is one sentence."""
    if isinstance(value, str):
        return [value]
    return ["Nothing found."] if value == [] else []


def next_thing(session: Session) -> str:
    """`A.qp0 sends a packet of wr7 SEND 64 B at 8.100 us`; empty if nothing is planned."""
    rows = planned.planned_rows(session.world, session.names)
    if not rows:
        return ""
    row = rows[0]
    return f"{row.qp or row.node} {row.sentence} at {fmt.clock(row.at_ns)}"


# --------------------------------------------------------------------------- time
def _travelled(voice: OutputFormat, travel: RunControl) -> list[Line]:
    """A sentence for each event, the first of many; then the time and why the run ended."""
    session = voice.session
    if isinstance(travel, Jump):
        return _jumped(voice, travel)
    world = session.world
    last = world.event
    first = last - travel.events + 1
    shown_last = min(last, first + OPENING - 1)
    rows = story.event_rows(world, session.names, first, shown_last)
    lines = [event_line(row) for row in rows]
    if more := last - shown_last:
        lines.append(plain(f"… {more:,} more events: show story last={min(more, _STORY)}", DIM))
    width = voice.page.width
    for row in voice.trouble.rows(session, first, width):
        from rdmalab.shell import show_why

        lines += show_why.row_lines(row, width, plain=voice.plain)
    return [*lines, _stand(session, travel), *_stuck(session)]


def _jumped(voice: OutputFormat, travel: Jump) -> list[Line]:
    """The answers along the past, the current event, the time, and why the survey ended."""
    session, event = voice.session, voice.session.world.event
    lines = _readings(voice, travel) if isinstance(travel, HistoryQuery) else []
    if travel.events and event >= 0:
        lines += map(event_line, story.event_rows(session.world, session.names, event, event))
    return lines if isinstance(travel, HistoryQuery) else [*lines, _stand(session, travel)]


def _readings(voice: OutputFormat, survey: HistoryQuery) -> list[Line]:
    rows = [
        [
            (EVENT, fmt.ev(event, "start")),
            (NUMBER, fmt.clock(at_ns)),
            ("", told(value)),
        ]
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
        line.append((DIM, "  run goes on"))
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
