"""A reply as lines: what a verb did and returned, how far time moved, what comes next."""

import dataclasses
import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from rdmalab.command import Thing
from rdmalab.doctor.checklist_report import Walk
from rdmalab.doctor.report import Report
from rdmalab.guide.article import Article
from rdmalab.hca.attributes import AhAttr, Capacity
from rdmalab.hca.polling import CurrentWc
from rdmalab.hca.wqe import Cqe
from rdmalab.session.breakpoints import told
from rdmalab.session.history_query import HistoryQuery
from rdmalab.session.lines import Reply, Script
from rdmalab.session.reverse import Jump
from rdmalab.session.run_control import OPENING, RunControl
from rdmalab.session.session import Session
from rdmalab.shell import show_parts, show_why
from rdmalab.shell.error_notice import ErrorNotice
from rdmalab.shell.error_text import ERROR, HINT, Page, not_understood, refused
from rdmalab.shell.plain_rows import facts
from rdmalab.shell.result_notes import notes
from rdmalab.shell.show import event_line, hanging_indent, render, render_rows
from rdmalab.shell.styled_text import Line, fold, in_ascii, plain, shown
from rdmalab.shell.tables import DIM, EVENT, GOOD, NUMBER, WARN, header, table
from rdmalab.spec.async_events import EVENTS
from rdmalab.spec.states import MTU
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import WCFlags, WCOpcode
from rdmalab.verbs.events import AsyncReport, CqEvent
from rdmalab.verbs.qp import QpAnswer
from rdmalab.views import completions, fmt, memory, planned, programs, story
from rdmalab.views.warnings import warnings
from rdmalab.wire.packet import gid_text
from rdmalab.workbench.files import Continue, Empty, Load, Next, Open, Shared
from rdmalab.workbench.memory import Window
from rdmalab.workbench.show import Leave
from rdmalab.workbench.view_requests import View

_STORY = 100  # lines of a long run that are offered at once
_PLAIN_WIDTH = 100


@dataclass(slots=True)
class OutputFormat:
    """How replies are printed.

    Plain: no drawings or alignment, one fact a line of ≤100 characters.
    """

    session: Session
    width: int = 80
    plain: bool = False
    ascii: bool = False
    trouble: ErrorNotice = field(default_factory=ErrorNotice)

    @property
    def page(self) -> Page:
        return Page(min(self.width, _PLAIN_WIDTH) if self.plain else self.width, self.plain)

    def set(self, lines: Sequence[Line]) -> list[Line]:
        """The lines in the width and the character set of the reader."""
        width = self.page.width
        found = [row for line in lines for row in fold(line, width, hanging_indent(line))]
        return [in_ascii(row) for row in found] if self.ascii else found


def say(voice: OutputFormat, reply: Reply) -> list[Line]:
    """The lines about one reply. closing: it is the last one of a short form."""
    return [*_said_of(voice, reply), *_branch(voice, reply)]


def _branch(voice: OutputFormat, reply: Reply) -> list[Line]:
    """The line about a new branch, after a command in the past."""
    if not reply.left:
        return []
    name = voice.session.history.branch.name
    return voice.set(
        [
            plain(
                f"new branch {name}; the later events stay on {reply.left}: switch {reply.left}",
                DIM,
            )
        ]
    )


def _said_of(voice: OutputFormat, reply: Reply) -> list[Line]:
    if reply.failed:
        return voice.set(_wrong(voice, reply))
    if isinstance(reply.value, Shared):
        return [plain(reply.value.text)]  # not folded: it is there to be copied
    if isinstance(reply.value, Report | Walk):
        return _diagnosed(voice, reply.value)
    if reply.travel is not None:
        return voice.set(_travelled(voice, reply.travel))
    if reply.depth:
        lines = [plain(f"= {reply.text}", DIM)]
    elif isinstance(reply.value, Script | Leave | Load | Next | Empty | Continue | Open):
        lines = []
    else:
        lines = _done(voice, reply) if reply.event is not None else []
        is_said = lines and _result(reply.value)
        lines += [] if is_said else _value(voice, reply.value)
    lines += [[(WARN, "warning: "), ("", text)] for text in warnings(voice.session, reply)]
    return voice.set(lines)


def _wrong(voice: OutputFormat, reply: Reply) -> list[Line]:
    """The lines about a command that was not understood or was refused."""
    if reply.bug:
        return [plain(shown(reply.bug), ERROR)]
    if reply.error is not None:
        return not_understood(reply.error, voice.page)
    return refused(voice.session, reply, voice.page)


def _diagnosed(voice: OutputFormat, found: Report | Walk) -> list[Line]:
    """The rows of `why`; a fix is not cut, because it is for copying."""
    lines = show_why.lines_of(found.rows, voice.page.width, plain=voice.plain)
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
    """`ok [ev 28]  A.qp0 SQ 3/8.  Next: A.qp0 sends … at 8.100us`."""
    noted = notes(voice.session, reply)
    line: Line = [(GOOD, "ok "), (EVENT, f"[ev {reply.event}]")]
    facts = [fmt.fault_words(voice.session.names, said) for said in _result(reply.value)]
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
    """`A.qp0 sends a packet of wr7 SEND 64 B at 8.100us`; empty if nothing is planned."""
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
    hint: Line = [(HINT, "  Try: why")] if voice.trouble.is_new(session) else []
    return [*lines, [*_stand(session, travel), *hint], *_stuck(session)]


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
    return [line for row in rows for line in show_parts.program_table([row])]


def _stand(session: Session, travel: RunControl) -> Line:
    """`now 10.230us after 3 events.  Next: …`."""
    line: Line = [(NUMBER, fmt.clock(session.world.now_ns)), (DIM, _way(session, travel))]
    if travel.over not in ("there", "") or not travel.met:
        line.append(("" if travel.met else WARN, f"; {shown(_reason(travel))}"))
    line.append(("", "."))
    soon = next_thing(session)
    if soon and travel.over != "stopped":
        line.append((DIM, f"  Next: {soon}"))
    elif soon and not isinstance(travel, Jump):  # who looked back is where he was
        line.append((DIM, "  run continues"))
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
def _value(voice: OutputFormat, value: object) -> list[Line]:
    """The lines of a command's result."""
    if value is None or isinstance(value, Thing):
        return []
    how = _VALUES.get(type(value))
    if how is not None:
        return how(voice, value)
    if isinstance(value, list):
        return _list(voice, value)
    return [plain(line) for line in str(getattr(value, "text", value)).splitlines()]


def _list(voice: OutputFormat, values: list[object]) -> list[Line]:
    if not values:
        return [plain("none", DIM)]
    if isinstance(values[0], Cqe):
        return [plain(_polled(voice, cqe)) for cqe in values if isinstance(cqe, Cqe)]
    numbered = [getattr(value, "number", index) for index, value in enumerate(values, 1)]
    said = [fmt.fault_words(voice.session.names, value) for value in values]
    width = len(str(max(numbered)))
    return [plain(f"{n:>{width}}  {text}") for n, text in zip(numbered, said, strict=True)]


def _polled(voice: OutputFormat, cqe: Cqe) -> str:
    for hca in voice.session.world.nodes.values():
        if cqe.qp_num in hca.qps.items:
            return completions.wc_row(hca, voice.session.names, cqe).text
    return fmt.cqe(cqe)


def _attributes(voice: OutputFormat, answer: QpAnswer) -> list[Line]:
    """query_qp in two columns, with sq_draining; init_attr.cap equals cap and is not repeated."""
    said: dict[str, object] = {}
    given = answer.given()
    last_state = "cur_qp_state" if "cur_qp_state" in given else "qp_state"
    for name, value in given.items():
        said[name] = value
        if name == last_state and answer.sq_draining is not None:
            said["sq_draining"] = answer.sq_draining
    made = answer.init_attr
    for f in dataclasses.fields(made) if made else ():
        if f.name not in said:
            said[f"init_attr.{f.name}"] = getattr(made, f.name)
    rows = [[("", name), (NUMBER, _said(voice, value))] for name, value in said.items()]
    return table([header("attribute", "value"), *rows])


def _answers(voice: OutputFormat, found: dict[str, object]) -> list[Line]:
    """The attributes of a device or port in two columns, flags one a line."""
    rows = [
        [("", name), (NUMBER, text)]
        for name, value in found.items()
        for text in _texts(voice, value)
    ]
    for earlier, row in zip(rows[-2::-1], rows[:0:-1], strict=True):
        row[0] = ("", "") if row[0] == earlier[0] else row[0]
    return table([header("attribute", "value"), *rows])


def _texts(voice: OutputFormat, value: object) -> list[str]:
    if isinstance(value, enum.IntFlag):
        return [flag.name or "" for flag in type(value) if flag & value] or ["0"]
    said = getattr(value, "text", "")
    return [f"{_said(voice, value)} ({said})" if said else _said(voice, value)]


def _said(voice: OutputFormat, value: object) -> str:
    """One value of a result; objects by name."""
    for kind, say in _SAID:
        if isinstance(value, kind):
            return say(voice, value)
    return str(getattr(value, "name", None) or value)


def _address(_voice: OutputFormat, av: AhAttr) -> str:
    given = {f.name: getattr(av, f.name) for f in dataclasses.fields(av)}
    texts = {name: number for name, number in given.items() if number}
    if av.dgid:
        texts["dgid"] = gid_text(av.dgid)
    return " ".join(f"{name}={text}" for name, text in texts.items()) or "unset"


_SAID: tuple[tuple[type, Callable[[OutputFormat, Any], str]], ...] = (
    (type(None), lambda _voice, _nothing: "NULL"),
    (Thing, lambda voice, thing: voice.session.names.of(thing)),
    (
        Capacity,
        lambda _voice, cap: " ".join(f"{n}={size}" for n, size in dataclasses.asdict(cap).items()),
    ),
    (AhAttr, _address),
    (MTU, lambda _voice, mtu: str(mtu.octets)),
    (bool, lambda _voice, yes: str(int(yes))),
    (enum.IntFlag, lambda _voice, bits: fmt.flags(bits, type(bits))),
)


def _view(voice: OutputFormat, view: View) -> list[Line]:
    if voice.plain:
        texts = [fact for row in view.rows for fact in facts(row)]
        return [plain(text) for text in [*texts, *([view.hint] if view.hint else [])]]
    lines = render(view, voice.width)
    return [plain(view.title, "class:title"), *lines]


def _window(voice: OutputFormat, window: Window) -> list[Line]:
    where = window.region.thing
    rows = memory.hex_rows(voice.session.world, where, window.start, window.stop)
    return render_rows(rows, voice.page.width)


def _octets(_voice: OutputFormat, octets: bytes) -> list[Line]:
    """The bytes as text; bytes that are not ASCII letters as \\x00."""
    text = octets.rstrip(b"\0").decode("latin-1")
    zeros = len(octets) - len(text)
    more = f" and {zeros} zero bytes" if zeros else ""
    quoted = "".join(c if 0x20 <= ord(c) < 0x7F else f"\\x{ord(c):02x}" for c in text)
    return [[("class:string", f'"{quoted}"'), (DIM, more)]]


def _article(voice: OutputFormat, page: Article) -> list[Line]:
    """An article of help or explain; its first line is the title."""
    title, *rest = page.lines(min(voice.page.width, 100))
    return [plain(title, "class:title"), *map(plain, rest)]


def _cq_event(voice: OutputFormat, value: CqEvent) -> list[Line]:
    name = voice.session.names.of(value.cq)
    return [plain(f"{name} has an event, cq_context {fmt.number(value.cq_context)}")]


def _async_event(voice: OutputFormat, value: AsyncReport) -> list[Line]:
    names = voice.session.names
    about = f" of {names.of(value.thing)}" if value.thing else ""
    about = about or (f" of port {value.port_num}" if value.port_num else "")
    return [plain(f"{value.event.name}{about}: {EVENTS[value.event].when}")]


def _current(_voice: OutputFormat, value: CurrentWc) -> list[Line]:
    """`wr7 SUCCESS opcode=SEND byte_len=64`."""
    found = [fmt.wr(value.wr_id), fmt.member(value.status, WCStatus)]
    for name, number in value.fields.items():
        how = _ENUMS.get(name)
        found.append(f"{name}={how(number) if how else fmt.number(number)}")
    return [plain(" ".join(found))]


_ENUMS: dict[str, Callable[[int], str]] = {
    "opcode": lambda value: fmt.member(value, WCOpcode),
    "wc_flags": lambda value: fmt.flags(value, WCFlags),
    "completion_ts": lambda value: f"{value}ns",
    "completion_wallclock_ns": str,
}

_VALUES: dict[type, Callable[[OutputFormat, Any], list[Line]]] = {
    View: _view,
    Article: _article,
    Window: _window,
    QpAnswer: _attributes,
    dict: _answers,
    bytes: _octets,
    CqEvent: _cq_event,
    AsyncReport: _async_event,
    CurrentWc: _current,
}
