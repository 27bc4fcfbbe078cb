"""The value of a reply as lines, by its type; articles in styles, rows as plain sentences."""

import dataclasses
import enum
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from rdmalab.command import Thing
from rdmalab.guide.article import Article, ArticleSection
from rdmalab.hca.attributes import AhAttr, Capacity
from rdmalab.hca.polling import CurrentWc
from rdmalab.hca.wr import Cqe
from rdmalab.shell.output_format import OutputFormat
from rdmalab.shell.show import render, render_rows
from rdmalab.shell.show_qp import queue_parts, region_words, settings
from rdmalab.shell.styled_text import Fragment, Line, laid, plain, text_of
from rdmalab.shell.tables import DIM, NUMBER, header, table
from rdmalab.spec.async_events import EVENTS
from rdmalab.spec.states import MTU
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.transports import TRANSPORTS
from rdmalab.spec.work import WCFlags, WCOpcode
from rdmalab.verbs.events import AsyncReport, CqEvent
from rdmalab.verbs.qp import QpAnswer
from rdmalab.views import completions, fmt, memory, record_text
from rdmalab.views.columns import COLUMNS, fact
from rdmalab.views.counters import CountersRow, names_of
from rdmalab.views.memory import HexRow
from rdmalab.views.packets import DecodedRow
from rdmalab.views.ports import LinkRow
from rdmalab.views.queues import QpRow, QueueRow
from rdmalab.views.states import DiagramRow
from rdmalab.wire.packet import gid_text
from rdmalab.workbench.memory import Window
from rdmalab.workbench.view_requests import View
from rdmalab.world.faults import Match

HEADING, CODE, REMARK = "class:name", "class:pygments.name.function", "class:pygments.comment"
_WIDEST = 100
_REMARK = re.compile(r"(?:^|\s)#(?:\s|$)")


def article_lines(page: Article, width: int) -> list[Line]:
    """The rows of an article, no wider than 100 columns; its first row is the title."""
    title, sections = page.laid(min(width, _WIDEST))
    rows = [plain(row, "class:title") for row in title]
    for section, texts in sections:
        rows += _section(section, texts)
    return rows


def _section(section: ArticleSection, rows: list[str]) -> Iterator[Line]:
    """The rows of a section; a heading at the margin is a row of its own, after an empty one."""
    if section.is_apart and section.heading:
        yield from (plain(rows[0]), plain(rows[1], HEADING))
        rows = rows[2:]
    yield from (map(_typed, rows) if section.is_code else _prose(rows))


def _typed(row: str) -> Line:
    """A line to type, and the remark after it."""
    found = _REMARK.search(row)
    stop = found.start() if found else len(row)
    return [*plain(row[:stop], CODE), *plain(row[stop:], REMARK)]


def _prose(rows: Iterable[str]) -> Iterator[Line]:
    """Sentences; what stands between backquotes is code, also over the end of a row."""
    texts = list(rows)
    if sum(text.count("`") for text in texts) % 2:
        yield from map(plain, texts)  # a backquote that is meant
        return
    is_code = False
    for text in texts:
        line: list[Fragment] = []
        for number, piece in enumerate(text.split("`")):
            is_code ^= number > 0
            line += plain(piece, CODE if is_code else "")
        yield [fragment for fragment in line if fragment[1]] or plain("")


_HEX = 16


def facts(row: object) -> list[str]:
    """The sentences for a row of any view."""
    if (say := _SAY.get(type(row))) is not None:
        return say(row)
    return [fact(row) if type(row) in COLUMNS else str(getattr(row, "text", row))]


def _qp(row: QpRow) -> list[str]:
    peer = f", its peer is {row.peer} ({row.dest_qp_num:#x})" if row.peer else ""
    parts = ("pd", "send_cq", "recv_cq", "srq", "xrcd")
    where = ", ".join(f"{part} {getattr(row, part)}" for part in parts if getattr(row, part))
    found = [
        f"{row.name} is {row.qp_type.name} {row.qp_num:#x} in {row.state.name}{peer}",
        f"{row.name} uses {where}",
    ]
    transport = TRANSPORTS[row.qp_type]
    if transport.sends:
        found.append(_queue(row.sq))
    if transport.receives:
        found.append(_receives(row))
    if row.region.open:
        found.append(f"{row.name} critical region: {region_words(row.region)}")
    return found + [f"{row.name} {text_of(line).strip()}" for line in settings(row)]


def _receives(row: QpRow) -> str:
    source = row.srq or (row.xrcd and f"the SRQs of {row.xrcd}")
    if source:
        return f"{row.name} uses the receives of {source}"
    return _queue(row.rq)


def _queue(row: QueueRow) -> str:
    return ", ".join([f"{row.name}: {row.used} of {row.capacity} slots used", *queue_parts(row)])


def _diagram(row: DiagramRow) -> list[str]:
    nexts = ", ".join(move.to.name for move in row.nexts)
    never = ", ".join(box.state.name for box in row.states if not box.possible)
    taken = [f"last move {row.taken.text}"] if row.taken is not None else []
    cannot = [f"states that the type {row.qp_type.name} never has: {never}"] if never else []
    return [f"state {row.current.name}", *taken, f"legal next: {nexts}", *cannot]


def _link(row: LinkRow) -> list[str]:
    up = "up" if row.up else "down"
    latency, rate = fmt.duration(row.latency_ns), fmt.rate(row.rate_bps)
    found = [f"the link is {up}, latency {latency}, rate {rate}, mtu {row.mtu}"]
    return found + [f"fault {fault}" for fault in row.faults]


def _decoded(row: DecodedRow) -> list[str]:
    starts = range(0, len(row.raw), _HEX)
    octets = [f"{start:03x} {row.raw[start : start + _HEX].hex(' ')}" for start in starts]
    return [row.text, *(layer.text for layer in row.layers), *octets]


def _octets_in_words(row: HexRow) -> list[str]:
    text = row.ascii.strip(".")
    parts = [f"+{row.offset:03x} " + (row.octets.hex(" ") if any(row.octets) else "zeros")]
    parts += [f"text {text}"] if text else []
    touched = (("read", row.read), ("written", row.written))
    parts += [f"{what} +{_ranges(row.offset, at)}" for what, at in touched if at]
    return [", ".join(parts)]


def _ranges(offset: int, columns: Sequence[int]) -> str:
    first, last = offset + min(columns), offset + max(columns)
    return f"{first:03x}" if first == last else f"{first:03x} to +{last:03x}"


_SAY: dict[type, Callable[[Any], list[str]]] = {
    QpRow: _qp,
    QueueRow: lambda row: [_queue(row)],
    DiagramRow: _diagram,
    CountersRow: lambda row: [
        f"{row.node} {name} {getattr(row, name)}" for name in names_of([row])
    ],
    HexRow: _octets_in_words,
    LinkRow: _link,
    DecodedRow: _decoded,
}


def value_lines(output: OutputFormat, value: object, node: str = "") -> list[Line]:
    """The lines of a command's result; node: where it was carried out."""
    if value is None or isinstance(value, Thing):
        return []
    how = _VALUES.get(type(value))
    if how is not None:
        return how(output, value)
    if isinstance(value, list):
        return _list(output, value, node)
    return [plain(line) for line in str(getattr(value, "text", value)).splitlines()]


def _list(output: OutputFormat, values: list[object], node: str) -> list[Line]:
    if not values:
        return [plain("none", DIM)]
    if isinstance(values[0], Cqe):
        hca, names = output.session.world.nodes[node], output.session.names
        polled = [cqe for cqe in values if isinstance(cqe, Cqe)]
        return [plain(completions.wc_row(hca, names, cqe).text) for cqe in polled]
    numbered = [getattr(value, "number", index) for index, value in enumerate(values, 1)]
    parts = [record_text.fault_words(output.session.names, value) + _met(value) for value in values]
    width = len(str(max(numbered)))
    return [plain(f"{n:>{width}}  {text}") for n, text in zip(numbered, parts, strict=True)]


def _met(value: object) -> str:
    """Number of times that a fault of the cable has acted."""
    match = getattr(value, "match", None)
    return f": acted on {fmt.count(match.met, 'packet')}" if isinstance(match, Match) else ""


def _attributes(output: OutputFormat, answer: QpAnswer) -> list[Line]:
    """query_qp in two columns, with sq_draining; init_attr.cap equals cap and is not repeated."""
    values: dict[str, object] = {}
    given = answer.given()
    last_state = "cur_qp_state" if "cur_qp_state" in given else "qp_state"
    for name, value in given.items():
        values[name] = value
        if name == last_state and answer.sq_draining is not None:
            values["sq_draining"] = answer.sq_draining
    made = answer.init_attr
    for f in dataclasses.fields(made) if made else ():
        if f.name not in values:
            values[f"init_attr.{f.name}"] = getattr(made, f.name)
    rows = [[("", name), (NUMBER, _value_text(output, value))] for name, value in values.items()]
    return table([header("attribute", "value"), *rows])


def _answers(output: OutputFormat, found: dict[str, object]) -> list[Line]:
    """The attributes of a device or port in two columns, flags one a line."""
    rows = [
        [("", name), (NUMBER, text)]
        for name, value in found.items()
        for text in _texts(output, value)
    ]
    for earlier, row in zip(rows[-2::-1], rows[:0:-1], strict=True):
        row[0] = ("", "") if row[0] == earlier[0] else row[0]
    return table([header("attribute", "value"), *rows])


def _texts(output: OutputFormat, value: object) -> list[str]:
    if isinstance(value, enum.IntFlag):
        return [flag.name or "" for flag in type(value) if flag & value] or ["0"]
    text = getattr(value, "text", "")
    return [f"{_value_text(output, value)} ({text})" if text else _value_text(output, value)]


def _value_text(output: OutputFormat, value: object) -> str:
    """One value of a result; objects by name."""
    for kind, say in _SAID:
        if isinstance(value, kind):
            return say(output, value)
    return str(getattr(value, "name", None) or value)


def _address(_output: OutputFormat, av: AhAttr) -> str:
    given = {f.name: getattr(av, f.name) for f in dataclasses.fields(av)}
    texts = {name: number for name, number in given.items() if number}
    if av.dgid:
        texts["dgid"] = gid_text(av.dgid)
    return " ".join(f"{name}={text}" for name, text in texts.items()) or "unset"


_SAID: tuple[tuple[type, Callable[[OutputFormat, Any], str]], ...] = (
    (type(None), lambda _output, _nothing: "NULL"),
    (Thing, lambda output, thing: output.session.names.of(thing)),
    (
        Capacity,
        lambda _output, cap: " ".join(f"{n}={size}" for n, size in dataclasses.asdict(cap).items()),
    ),
    (AhAttr, _address),
    (MTU, lambda _output, mtu: str(mtu.octets)),
    (bool, lambda _output, yes: str(int(yes))),
    (enum.IntFlag, lambda _output, bits: fmt.flags(bits, type(bits))),
)


def _view(output: OutputFormat, view: View) -> list[Line]:
    if output.plain:
        texts = [fact for row in view.rows for fact in facts(row)]
        return [plain(text) for text in [*texts, *([view.hint] if view.hint else [])]]
    lines = render(view, output.width)
    return [plain(view.title, "class:title"), *lines]


def _window(output: OutputFormat, window: Window) -> list[Line]:
    where = window.region.thing
    rows = memory.hex_rows(output.session.world, where, window.start, window.stop)
    return render_rows(rows, output.page.width)


def _octets(_output: OutputFormat, octets: bytes) -> list[Line]:
    """The bytes as text; bytes that are not ASCII letters as \\x00."""
    text = octets.rstrip(b"\0").decode("latin-1")
    zeros = len(octets) - len(text)
    more = f" and {zeros} zero bytes" if zeros else ""
    quoted = "".join(c if 0x20 <= ord(c) < 0x7F else f"\\x{ord(c):02x}" for c in text)
    return [[("class:string", f'"{quoted}"'), (DIM, more)]]


def _article(output: OutputFormat, page: Article) -> list[Line]:
    """An article of help or explain; its first line is the title."""
    if output.plain:
        return [plain(line) for line in page.lines(min(output.page.width, 100))]
    return laid(partial(article_lines, page), output.page.width)


def _cq_event(output: OutputFormat, value: CqEvent) -> list[Line]:
    name = output.session.names.of(value.cq)
    return [plain(f"{name} has an event, cq_context {fmt.number(value.cq_context)}")]


def _async_event(output: OutputFormat, value: AsyncReport) -> list[Line]:
    names = output.session.names
    about = f" of {names.of(value.thing)}" if value.thing else ""
    about = about or (f" of port {value.port_num}" if value.port_num else "")
    return [plain(f"{value.event.name}{about}: {EVENTS[value.event].when}")]


def _current(_output: OutputFormat, value: CurrentWc) -> list[Line]:
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
