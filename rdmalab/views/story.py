"""A sentence for every record, and one for every event."""

from collections import Counter
from dataclasses import field, replace
from itertools import groupby

from rdmalab.session.names import Names
from rdmalab.spec import records as rec
from rdmalab.spec.records import KINDS, Kind
from rdmalab.spec.row import dataclass
from rdmalab.views import fmt, record_text
from rdmalab.views.columns import Col, Meaning, describe
from rdmalab.world.world import World


@dataclass(slots=True)
class StoryRow:
    """One record as text. number: of the record; position: in its event, from 1."""

    number: int
    event: int
    position: int
    at_ns: int
    cause: int
    kind: Kind
    node: str
    subject: str
    sentence: str

    @property
    def text(self) -> str:
        """`A.qp0  sent SEND_ONLY psn=0 64 B to B`."""
        return f"{self.subject}  {self.sentence}" if self.subject else self.sentence


@dataclass(slots=True)
class EventRow:
    """One event in one sentence; `rows` are all its records."""

    event: int
    at_ns: int | None
    text: str
    rows: list[StoryRow] = field(default_factory=list)

    @property
    def last(self) -> int:
        """The last event that the row shows, which is its only one."""
        return self.event


@dataclass(slots=True)
class RepeatRow:
    """Events in a row in which programs ran lines, such as polls, that changed nothing.

    event, last: the first and the last of them. runs: how often each line ran, by program and line.
    """

    event: int
    last: int
    at_ns: int
    runs: Counter[tuple[str, int, str]] = field(default_factory=Counter)

    @property
    def text(self) -> str:
        """`A.tx line 3: poll A.cq0 ×45,000, to ev 45019`."""
        lines = [f"{name} line {number}: {line}{f' ×{many:,}' if many > 1 else ''}"
                 for (name, number, line), many in self.runs.items()]  # fmt: skip
        return "; ".join(lines) + (f", to ev {self.last}" if self.last > self.event else "")

    def takes(self, ran: tuple[str, int, str]) -> bool:
        """Whether a line that ran next belongs to the row: it did before, or its program is new."""
        return ran in self.runs or ran[0] not in {name for name, _, _ in self.runs}


describe(
    StoryRow,
    Col("event", Meaning.EVENT, "ev {}", of=lambda row: f"{row.event}.{row.position}"),
    Col("at_ns", Meaning.DIM, form=fmt.clock),
    Col("subject", Meaning.NAME),
    Col("sentence"),
)
describe(
    EventRow,
    Col("event", Meaning.EVENT, "ev {}"),
    Col("at_ns", Meaning.DIM, form=fmt.clock),
    Col("text"),
)


# What goes without saying in the sentence of an event: other records of it tell the same, or more.
QUIET = (
    Kind.ATTRIBUTES_SET, Kind.WQE_STARTED, Kind.WQE_COMPLETED, Kind.RECV_TAKEN, Kind.REFUSED,
    Kind.MEMORY_READ, Kind.TIMER_FIRED,
)  # fmt: skip


def record_row(world: World, names: Names, number: int, position: int = 1) -> StoryRow:
    """Record `number` in words."""
    record = world.trace.records[number]
    event, at_ns, cause, kind, node, *_ = record
    subject = record_text.subject(names, record)
    sentence = record_text.sentence(world, names, record)
    return StoryRow(number, event, position, at_ns, cause, kind, node, subject, sentence)


def record_rows(world: World, names: Names, event: int) -> list[StoryRow]:
    """The records of one event: N.1, N.2, …"""
    span = world.trace.records.span(event)
    return [record_row(world, names, number, n) for n, number in enumerate(span, 1)]


def last_rows(world: World, names: Names, last: int) -> list[StoryRow]:
    """The newest records, oldest first."""
    records = world.trace.records
    first = max(0, len(records) - last)
    rows: list[StoryRow] = []
    for number in range(first, len(records)):
        start = records.span(rec.event_of(records[number])).start
        rows.append(record_row(world, names, number, number - start + 1))
    return rows


def event_row(world: World, names: Names, event: int) -> EventRow:
    """One event in one sentence; consecutive records of one object are joined."""
    rows = record_rows(world, names, event)
    telling = [_shortened(world, rows, row) for row in rows if not _is_quiet(world, row)] or rows
    at_ns = rows[0].at_ns if rows else None
    return EventRow(event, at_ns, _count_text(telling) or "nothing changed", rows)


def _is_quiet(world: World, row: StoryRow) -> bool:
    """True for records that need no sentence; a successful call is shown by its effects."""
    if row.kind is Kind.CALLED:
        return not rec.errno_of(world.trace.records[row.number])
    return row.kind in QUIET


def _shortened(world: World, rows: list[StoryRow], row: StoryRow) -> StoryRow:
    """Row with the fate of a packet just received: `refused it: …`, `a duplicate: …`."""
    met = rows[0].kind is Kind.PACKET_RECEIVED
    if met and row is rows[0]:
        records = [world.trace.records[each.number] for each in rows]
        return replace(row, sentence=row.sentence + record_text.duplicate(records))
    if not met or row.kind not in (Kind.PACKET_DROPPED, Kind.REQUEST_REFUSED):
        return row
    reason = fmt.reason(rec.reason_of(world.trace.records[row.number]))
    return replace(row, sentence=KINDS[row.kind].sentence.format(a="it", b=reason))


def event_rows(world: World, names: Names, first: int, last: int) -> list[EventRow]:
    """Events first..last, the quiet ones included."""
    return [event_row(world, names, event) for event in range(first, last + 1)]


def opening_rows(
    world: World, names: Names, events: range, most: int
) -> list[EventRow | RepeatRow]:
    """The first `most` rows of these events: polls in vain that follow each other have one row."""
    found: list[EventRow | RepeatRow] = []
    for event in events:
        before = found[-1] if found else None
        ran = _ran_in_vain(world, names, event)
        if ran is not None and isinstance(before, RepeatRow) and before.takes(ran):
            before.last = event
            before.runs[ran] += 1
        elif len(found) == most:
            break
        elif ran is not None:
            at_ns = rec.at_ns_of(world.trace.records[world.trace.records.span(event).start])
            found.append(RepeatRow(event, event, at_ns, Counter([ran])))
        else:
            found.append(event_row(world, names, event))
    return found


def _ran_in_vain(world: World, names: Names, event: int) -> tuple[str, int, str] | None:
    """Program, line number and line of an event that is no more than its run; else None."""
    records = world.trace.records
    span = records.span(event)
    here = records[span.start : span.stop]
    ran = [record for record in here if rec.kind_of(record) is Kind.PROGRAM_RAN]
    others = [record for record in here if rec.kind_of(record) is not Kind.PROGRAM_RAN]
    if len(ran) != 1 or any(rec.kind_of(r) is not Kind.CALLED or rec.errno_of(r) for r in others):
        return None
    return record_text.subject(names, ran[0]), rec.line_number_of(ran[0]), rec.line_of(ran[0])


def _count_text(rows: list[StoryRow]) -> str:
    breaths = []
    for subject, group in groupby(rows, key=lambda row: row.subject):
        sentences = [_several(list(same)) for _, same in groupby(group, key=lambda row: row.kind)]
        breaths.append(f"{subject} {', '.join(sentences)}" if subject else ", ".join(sentences))
    return "; ".join(breaths)


def _several(rows: list[StoryRow]) -> str:
    more = f" (and {len(rows) - 1} more)" if len(rows) > 1 else ""
    return rows[0].sentence + more
