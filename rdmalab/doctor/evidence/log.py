"""The log and the calls in it, sorted by kind once for all checks that look into it.

Of rare kinds and of failed work it has all there ever were, but of many that say the same only the
first and the last ones; of the other kinds those that are kept, without a replay of the past. Of
polls that found nothing some in a long row are left out.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from functools import cached_property, wraps
from typing import NamedTuple, TypeVar, cast

from rdmalab.command import Invocation, Noun, Thing
from rdmalab.doctor.evidence.components import Component, at_rest, component_of
from rdmalab.doctor.evidence.subject import Sort, Subject
from rdmalab.hca.wr import Cqe
from rdmalab.repair.by_rule import named
from rdmalab.session.session import Session
from rdmalab.spec import records as rec
from rdmalab.spec.records import Kind, Record
from rdmalab.spec.rules import errno_name
from rdmalab.spec.states import QPState
from rdmalab.views.ladder import PacketRow, packet_rows
from rdmalab.world.trace import Trace

_T = TypeVar("_T")
ENOUGH = 16_384
"""Number of newest records that are read, at least."""
MOST = 1 << 20
"""Number of older records that are read where they are kept."""


class WorkKey(NamedTuple):
    """Whose completion it is: of a queue pair's own queue, or of an SRQ (then qpn is 0)."""

    node: str
    is_send: bool
    srq: int
    qpn: int
    serial: int


def work_of(node: str, cqe: Cqe) -> WorkKey:
    """Whose completion this is."""
    return WorkKey(node, cqe.is_send, cqe.srq, 0 if cqe.srq else cqe.qp_num, cqe.serial)


def _read(trace: Trace, since: int | None) -> tuple[int, list[Record]]:
    """Records from a number on; without one those of the tail, in the past some before it, too.

    A session that has gone back has a short tail: the answer must not depend on that.
    """
    first, records = trace.first, trace.tail
    if since is not None:
        start = max(since, first)
        return start, records[start - first :]
    while first > 0 and trace.latest + 1 - first < ENOUGH:
        earlier = trace.older.of_record(first - 1)
        records, first = earlier.records[: first - earlier.first] + records, earlier.first
    return first, records


def once_a_log(find: "Callable[[Log, str], Iterable[_T]]") -> "Callable[[Log, str], list[_T]]":
    """A function of a log and a node that is worked out once; its list must not be changed."""

    @wraps(find)
    def known(log: "Log", node: str) -> list[_T]:
        key = find.__qualname__, node
        if key not in log.known:
            log.known[key] = list(find(log, node))
        return cast("list[_T]", log.known[key])

    return known


class Call:
    """A call of a verb. refusal: the rule that refused it, empty if it was accepted.

    invocation: the typed call, None if the log no longer has it; program: the program that made
    the call, empty for the prompt.
    """

    __slots__ = ("_asked", "_log", "at_ns", "errno", "event", "message", "refusal", "thing", "verb")

    def __init__(self, log: "Log", found: Record, refused: Record | None) -> None:
        self._log = log
        self._asked: tuple[Invocation | None, str] | None = None
        self.event: int = rec.event_of(found)
        self.at_ns: int = rec.at_ns_of(found)
        self.verb = str(rec.verb_of(found))
        self.errno = int(rec.errno_of(found))
        self.refusal = str(rec.rule_of(refused)) if refused else ""
        self.message = str(rec.complaint_of(refused)) if refused else ""
        self.thing = rec.place_of(found)

    @property
    def invocation(self) -> Invocation | None:
        return self._parsed()[0]

    @property
    def program(self) -> str:
        return self._parsed()[1]

    @property
    def subject(self) -> Subject:
        """The call as the subject of a question."""
        return Subject(Sort.CALL, Thing(Noun.NODE, *self.thing), event=self.event)

    def call_text(self, session: Session) -> str:
        """The reason it was refused, with the names of objects."""
        made = self.invocation
        return named(session, made, self.message) if made is not None else self.message

    @property
    def answer(self) -> str:
        """`post_send returned ENOMEM: the send queue is full`."""
        return f"{self.verb} returned {errno_name(self.errno)}: {self.message}"

    @property
    def tolerated(self) -> bool:
        """Whether a program made the call in a line `try`, and went on after the refusal."""
        records = self._log.within(self.event) if self.program else []
        ran = [record for record in records if rec.kind_of(record) is Kind.PROGRAM_RAN]
        failed = any(rec.kind_of(record) is Kind.PROGRAM_FAILED for record in records)
        return not failed and any(rec.line_of(record).startswith("try ") for record in ran)

    def _parsed(self) -> tuple[Invocation | None, str]:
        """Read from the journal on first use: old parts of it are packed."""
        if self._asked is None:
            self._asked = self._log.asked(self.event)
        return self._asked


class Log:
    """Records of a kind, oldest first; who asked for what.

    before: another one of the same past, which has read all but what has happened since.
    newest: so many records are enough. whole: a log of the present, of which this one is the part
    up to the visited moment.
    """

    def __init__(
        self, session: Session, before: "Log | None" = None, newest: int = 0,
        whole: "Log | None" = None,
    ) -> None:  # fmt: skip
        self.session = session
        self.whole = whole
        self.trace = session.world.trace
        self.before = before
        self.brief = newest > 0
        self.most = newest or MOST
        self.count = self.trace.latest + 1
        self.event = session.world.event
        since = before.count if before is not None else None
        since = max(0, self.count - newest) if newest else since
        since = self.count if whole is not None else since
        self.first, self._records = _read(self.trace, since)
        self._of_kind: dict[Kind, list[Record]] = {}
        self._of_node: dict[tuple[Kind, str], list[Record]] = {}
        self._of_thing: dict[Kind, dict[tuple[str, int], list[Record]]] = {}
        self._of_work: dict[Kind, dict[WorkKey, Record]] = {}
        self._component_of: dict[Thing, Component] = {}
        self._rests: dict[Component, bool] = {}
        self.known: dict[tuple[str, str], list[object]] = {}

    def component_of(self, thing: Thing) -> Component:
        """A thing and all that it can have to do with, at the moment of the log."""
        if thing not in self._component_of:
            component = component_of(self.session, thing)
            self._component_of.update(dict.fromkeys(component, component))
        return self._component_of[thing]

    def rests(self, thing: Thing) -> bool:
        """Whether nothing changes for a thing without another call, at the moment of the log."""
        component = self.component_of(thing)
        if component not in self._rests:
            self._rests[component] = at_rest(self.session, component)
        return self._rests[component]

    def until_now(self) -> "Log":
        """The part of this log up to the moment visited; read again if it is too little."""
        far = self.session.world.trace.latest - self.first >= ENOUGH // 2
        return Log(self.session, whole=self) if far or not self.first else Log(self.session)

    def until(self, event: int) -> "Log":
        """The part of this log up to an event, which can be later than the moment visited."""
        known = Log(self.session, whole=self)
        known.event = event
        return known

    def _cut(self, found: list[Record]) -> list[Record]:
        """Those of a longer log that were there already."""
        return found[: bisect_right(found, self.event, key=rec.event_of)]

    @cached_property
    def _kept(self) -> dict[Kind, list[Record]]:
        """The records that are read, by kind."""
        kept: dict[Kind, list[Record]] = {kind: [] for kind in Kind}
        for kind, record in zip(map(rec.kind_of, self._records), self._records, strict=True):
            kept[kind].append(record)
        return kept

    @cached_property
    def _telling(self) -> tuple[int, list[Record]]:
        """Records before those read, all but idle repeats, and the event where they begin."""
        begins = rec.event_of(self._records[0]) if self.first and self._records else 0
        return self.trace.older.telling(begins, self.most) if begins else (0, [])

    @cached_property
    def _older(self) -> dict[Kind, list[Record]]:
        """Records that are older than those read: of rare kinds, and telling ones."""
        found: dict[Kind, list[Record]] = {}
        begins, telling = self._telling
        rare = self.trace.older.rare(self.first) if begins and not self.brief else ()
        older = [each.record for each in rare if rec.event_of(each.record) < begins]
        for record in (*reversed(older), *telling):
            found.setdefault(rec.kind_of(record), []).append(record)
        return found

    @property
    def begins(self) -> int:
        """The event from which on all records are kept, but for idle repeats."""
        if (longer := self.whole or self.before) is not None:
            return longer.begins
        return self._telling[0]

    def of(self, kind: Kind, node: str = "", number: int | None = None) -> list[Record]:
        """Records of a kind, of one node, of one object."""
        if node and number is not None:
            if self.whole is not None:
                return self._cut(self.whole.of(kind, node, number))
            earlier = self.before.of(kind, node, number) if self.before is not None else []
            return earlier + self._things(kind).get((node, number), [])
        found = self._of_a_node(kind, node) if node else self._kind(kind)
        if number is not None:
            found = [each for each in found if rec.object_of(each) == number]
        return found

    def _of_a_node(self, kind: Kind, node: str) -> list[Record]:
        if (kind, node) not in self._of_node:
            whole = self.whole
            self._of_node[kind, node] = self._cut(whole.of(kind, node)) if whole is not None else [
                each for each in self._kind(kind) if rec.node_of(each) == node
            ]  # fmt: skip
        return self._of_node[kind, node]

    def since(self, event: int, kind: Kind) -> list[Record]:
        """Records of a kind from an event on."""
        found = self._kind(kind)
        return found[bisect_left(found, event, key=rec.event_of) :]

    def about(self, kind: Kind, thing: Thing) -> list[Record]:
        """Records of a kind about a thing that the kind's noun names."""
        return self.of(kind, thing.node, thing.number)

    def newest_of(self, kind: Kind, thing: Thing, serial: int) -> Record | None:
        """The newest record of a kind about one work request of a queue; None if none is kept."""
        found = reversed(self.about(kind, thing))
        return next((record for record in found if rec.wqe_of(record).serial == serial), None)

    def event_of(self, kind: Kind, thing: Thing, serial: int) -> int | None:
        """The event of that record."""
        record = self.newest_of(kind, thing, serial)
        return rec.event_of(record) if record is not None else None

    def last(self, kind: Kind, thing: Thing) -> int | None:
        """The event of the newest record of a kind about a thing; None if none is kept."""
        return next((rec.event_of(r) for r in self.about(kind, thing)[-1:]), None)

    def in_order(self, kinds: Iterable[Kind], *things: Thing) -> list[Record]:
        """Records of kinds about things, oldest first; of one event in the order of the kinds."""
        found = (each for kind in kinds for thing in things for each in self.about(kind, thing))
        return sorted(found, key=rec.event_of)

    def created(self, thing: Thing) -> int | None:
        """The event in which a thing was created; None if the log no longer has it."""
        return self._event_of_life(Kind.CREATED, thing)

    def destroyed(self, thing: Thing) -> int | None:
        """The event in which a thing was destroyed; None if it exists or is not in the log."""
        return self._event_of_life(Kind.DESTROYED, thing)

    def entered(self, thing: Thing, *states: QPState, after: int = -1) -> list[int]:
        """The events, later than one, in which a queue pair went into one of these states."""
        found = (r for r in self.about(Kind.STATE_CHANGED, thing) if rec.new_state_of(r) in states)
        return [event for record in found if (event := rec.event_of(record)) > after]

    def last_entered(self, thing: Thing, *states: QPState) -> int | None:
        """The event in which a queue pair went last into one of these states; None if never."""
        return max(self.entered(thing, *states), default=None)

    def born(self, thing: Thing) -> int:
        """The event since which a queue pair lives: its last RESET; -1 where none is kept."""
        return max(self.entered(thing, QPState.RESET), default=-1)

    def _event_of_life(self, kind: Kind, thing: Thing) -> int | None:
        found = (r for r in reversed(self.about(kind, thing)) if rec.noun_of(r) == thing.noun)
        return next(map(rec.event_of, found), None)

    def completion(self, kind: Kind, work: WorkKey) -> Record | None:
        """The newest record of this kind about the completion of a work request."""
        if self.whole is not None:
            found = self.whole.completion(kind, work)
            return found if found is None or rec.event_of(found) <= self.event else None
        if kind not in self._of_work:
            self._of_work[kind] = {work_of(rec.node_of(record), rec.cqe_of(record)): record
                                   for record in self._own(kind)}  # fmt: skip
        older = self.before.completion(kind, work) if self.before is not None else None
        return self._of_work[kind].get(work, older)

    def _kind(self, kind: Kind) -> list[Record]:
        if self.before is None:
            return self._own(kind)
        return self.before._kind(kind) + self._own(kind)  # noqa: SLF001

    def _own(self, kind: Kind) -> list[Record]:
        """All that the log before this one has not."""
        if self.whole is not None and kind not in self._of_kind:
            self._of_kind[kind] = self._cut(self.whole.of(kind))
        if kind not in self._of_kind:
            older = self._older.get(kind, []) if self.before is None else []
            self._of_kind[kind] = older + self._kept[kind]
        return self._of_kind[kind]

    def _things(self, kind: Kind) -> dict[tuple[str, int], list[Record]]:
        """Of its own records, those about each thing."""
        if kind not in self._of_thing:
            found: dict[tuple[str, int], list[Record]] = {}
            own = self._own(kind)
            for place, each in zip(map(rec.place_of, own), own, strict=True):
                found.setdefault(place, []).append(each)
            self._of_thing[kind] = found
        return self._of_thing[kind]

    def packets(self, records: Iterable[Record]) -> list[PacketRow]:
        """Rows about packets that were put on the cable."""
        events = ((rec.event_of(each), each) for each in records)
        numbers = [self.trace.records.span(event).start + self.within(event).index(each)
                   for event, each in events]  # fmt: skip
        return packet_rows(self.session.world, self.session.names, numbers)

    def within(self, event: int) -> list[Record]:
        """The records of one event."""
        if self.whole is not None and event > self.session.world.event:  # of a later moment
            records = self.whole._records  # noqa: SLF001
            first = bisect_left(records, event, key=rec.event_of)
            return records[first : bisect_right(records, event, key=rec.event_of)]
        span = self.trace.records.span(event)
        return self.trace.records[span.start : span.stop]

    # ------------------------------------------------------------------ work that failed
    @cached_property
    def failed_sends(self) -> list[Record]:
        """Completed otherwise than with success."""
        return [each for each in self.of(Kind.WQE_COMPLETED) if rec.status_of(each)]

    @cached_property
    def failed_receives(self) -> list[Record]:
        """Their completions, where they are not lost."""
        found = self.of(Kind.CQE_ADDED)
        cqes = ((each, rec.cqe_of(each)) for each in found)
        return [each for each, cqe in cqes if cqe.status and not cqe.is_send]

    @property
    def missed(self) -> list[Record]:
        """Packets that were dropped by a node or lost on the way."""
        return sorted(self.of(Kind.PACKET_DROPPED) + self.of(Kind.PACKET_LOST), key=rec.event_of)

    # ------------------------------------------------------------------ calls
    def calls(self, verb: str = "", node: str = "") -> list[Call]:
        """The calls that are kept, oldest first."""
        found = self.of(Kind.CALLED, node)
        return [self._call(each) for each in found if verb in ("", rec.verb_of(each))]

    def called(self, thing: Thing, verb: str, *, after: int = -1) -> list[int]:
        """The events, later than one, of the calls of a verb on an object that succeeded."""
        found = (r for r in self.about(Kind.CALLED, thing) if rec.verb_of(r) == verb)
        done = (rec.event_of(r) for r in found if not rec.errno_of(r))
        return [event for event in done if event > after]

    def refused(self) -> list[Call]:
        """The refused calls, oldest first, as long ago as they may be."""
        return self._refused

    @cached_property
    def _refused(self) -> list[Call]:
        return [Call(self, self._beside(each, 1), each) for each in self.of(Kind.REFUSED)]

    def _call(self, called: Record) -> Call:
        return Call(self, called, self._beside(called, -1) if rec.errno_of(called) else None)

    def _beside(self, record: Record, step: int) -> Record:
        """The next record of the same event: that of a refusal stands right before its call's."""
        records = self.within(rec.event_of(record))
        return records[records.index(record) + step]

    def asked(self, event: int | None) -> tuple[Invocation | None, str]:
        """The call of an event and the program that made it; None and empty if not in the log."""
        if event is None:
            return None, ""
        journal = self.session.journal
        index = journal.before(event)
        if index < len(journal) and journal[index].event == event:
            return journal[index].invocation, ""
        for record in self.within(event):
            if rec.kind_of(record) is Kind.PROGRAM_RAN:
                return self._line(record)
        return None, ""

    def who(self, event: int | None) -> str:
        """The program that made the call of an event; `a call` if it was typed."""
        return self.asked(event)[1] or "a call"

    def line_of(self, event: int | None) -> str:
        """`in line 3 of A.tx`, of the call of an event; empty if no program made it."""
        ran = (r for r in self.within(-1 if event is None else event)
               if rec.kind_of(r) is Kind.PROGRAM_RAN)  # fmt: skip
        numbers = [rec.line_number_of(record) for record in ran]
        return f"in line {numbers[0]} of {self.who(event)}" if numbers else ""

    def _line(self, record: Record) -> tuple[Invocation | None, str]:
        thing = Thing(Noun.PROGRAM, *rec.place_of(record))
        program = self.session.world.nodes[thing.node].tables[Noun.PROGRAM].items.get(thing.number)
        lines = (line for line in (program.lines if program is not None else ())
                 if line.number == rec.line_number_of(record))  # fmt: skip
        return next((line.invocation for line in lines), None), self.session.names.of(thing)
