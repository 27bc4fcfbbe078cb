"""The data of the panes: results of `show` commands on the current world."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple, TypeVar, cast

from rdmalab.command import Invocation, NotUnderstood, Noun, Refused, Thing
from rdmalab.grammar.expressions import parse_expression
from rdmalab.grammar.line import parse
from rdmalab.hca.qp import QueuePair
from rdmalab.session.interruption import stoppable
from rdmalab.views import ladder
from rdmalab.views.fates import Fate
from rdmalab.views.ladder import PacketRow
from rdmalab.workbench.show import View
from rdmalab.world.relations import exists, peer_thing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rdmalab.doctor.checklist_report import ChecklistReport
    from rdmalab.doctor.report.report import Report
    from rdmalab.session.session import Session
    from rdmalab.tui.app_model import AppModel
    from rdmalab.views.ladder import MarkerRow


T = TypeVar("T")
REACH = 2_000  # records: one or two stretches of the past


class Moment(NamedTuple):
    """A place in time; as long as it is the same, nothing has happened."""

    session: Session
    branch: str
    event: int
    at_ns: int
    waits: int  # without end, of programs of the host: known later than the last event


class WorldView:
    """The access of the panes to the world.

    model: the owner of the current world, which `load` replaces. packet: the record of the packet
    that was marked last; None: the newest one. Results are cached over frames as long as nothing
    happens and no call is made: at the start each pane looks four times at the same world.
    """

    def __init__(self, model: AppModel) -> None:
        self.model = model
        self.packet: int | None = None
        self._understood: dict[str, Invocation] = {}
        self._seen: dict[object, object] | None = None  # None: outside a frame
        self._results: tuple[object, dict[object, object]] = (None, {})  # and of which state
        self._choice: tuple[Thing, Session, int] | None = None
        self._held: tuple[dict[str, Thing], Session | None] = ({}, None)
        self._wire = WireRows(REACH)
        self._whole_wire = WireRows(REACH)

    @property
    def session(self) -> Session:
        return self.model.session

    @property
    def moment(self) -> Moment:
        session = self.session
        branch, waits = session.history.branch.name, len(session.unanswered)
        return Moment(session, branch, session.world.event, session.world.now_ns, waits)

    def consult(self, question: str) -> Report | str:
        """The reply of `why` now; the error if its subject does not exist any more."""
        from rdmalab.doctor.consultation import consult  # with the first answer, not at the start

        try:
            node = parse_expression(question).node if question else None
            return consult(self.session, node)
        except NotUnderstood as error:
            return error.message

    def checklist(self, question: str) -> ChecklistReport:
        """The checklist about what was asked; empty: about what is wrong."""
        from rdmalab.doctor.checklist_report import walk

        node = parse_expression(question).node if question else None
        return walk(self.session, "", node)

    @contextmanager
    def frame(self) -> Iterator[None]:
        """A context for one frame: equal requests are evaluated once."""
        outer = self._seen
        if outer is None:
            state = (self.moment, len(self.session.journal))
            if state != self._results[0]:
                self._results = (state, {})
            self._seen = self._results[1]
        try:
            with stoppable():  # ^C is for what the user has asked for
                yield
        finally:
            self._seen = outer

    def view_of(self, sentence: str) -> View:
        """The view of a `show` command now; an error as its text."""
        return self._once(sentence, lambda: self._evaluate(sentence))

    def rows(self, sentence: str, kind: type[T]) -> list[T]:
        """The rows of one kind that a `show` command has now."""
        return [row for row in self.view_of(sentence).rows if isinstance(row, kind)]

    def ask(self, question: Callable[..., T], *arguments: object) -> T:
        """Answer of a function of `views/` now. question: takes a world, names, and more."""
        world, names = self.session.world, self.session.names
        return self._once((question, *arguments), lambda: question(world, names, *arguments))

    @property
    def is_asked(self) -> bool:
        """Whether a lesson waits for an answer: then nothing is shown that would give it away."""
        walk = self.model.walk
        if walk is None or self.model.is_in_past:
            return False
        from rdmalab.scenario.reading import open_letters  # with pydantic, half of the start

        return bool(open_letters(walk))

    def wire(self, last: int) -> list[PacketRow | MarkerRow]:
        """The newest `last` packets and timers that happened, oldest first; 0: all in memory."""
        rows = self._wire if last else self._whole_wire
        return self._once(
            ("wire", last), lambda: rows.newest(self.session, last or sys.maxsize), reach=0
        )

    @property
    def has_all_packets(self) -> bool:
        """Whether `wire(0)` begins with the first packet of the session."""
        return self._whole_wire.first == 0

    def _once(self, key: object, evaluate: Callable[[], T], *, reach: int = REACH) -> T:
        """Evaluated once a state, and with recent records only, to avoid replays of the past.

        reach: records that are looked back; 0 for what knows itself how far to look.
        """
        if self._seen is not None and key in self._seen:
            return cast("T", self._seen[key])
        trace = self.session.world.trace
        trace.reach = reach
        try:
            found = evaluate()
        finally:
            trace.reach = 0
        if self._seen is not None:
            self._seen[key] = found
        return found

    def _evaluate(self, sentence: str) -> View:
        try:
            view = self.session.perform(self._invocation(sentence)).value
        except NotUnderstood as error:
            return View(sentence, [], str(error))
        except Refused as refusal:
            return View(sentence, [], refusal.message)
        assert isinstance(view, View), sentence
        return view

    def _invocation(self, sentence: str) -> Invocation:
        """Parse a command of a pane once (cached)."""
        if sentence not in self._understood:
            if len(self._understood) >= _SENTENCES:
                self._understood.clear()
            vocabulary = self.session.vocabulary
            (self._understood[sentence],) = parse(sentence, vocabulary, None, file=True)
        return self._understood[sentence]

    def node(self, position: int) -> str:
        """The name of the left (0) or right (1) node; empty if there is none."""
        nodes = list(self.session.world.nodes)
        return nodes[position] if position < len(nodes) else ""

    def things(self, node: str, noun: Noun) -> list[Thing]:
        """The objects of a node of one noun, oldest first."""
        return self.session.names.living(self.session.world, noun, node)

    def name(self, thing: Thing) -> str:
        """The name of an object, as commands take it."""
        return self.session.names.of(thing)

    def meant(self, node: str, noun: Noun) -> Thing | None:
        """The current object: the last one named in a command, or the peer of that QP."""
        things = self.things(node, noun)
        if len(things) < 2:
            return things[0] if things else None
        if noun is Noun.QP and node in self.held:
            return self.held[node]
        for named in self._named():
            if named.noun is noun and named.node == node:
                return named
            if noun is Noun.QP and named.noun is noun and (peer := self._peer(named)) in things:
                return peer
        return things[0]

    def choose(self, name: str) -> None:
        """Make an object the current one of all panes, until a later command names another."""
        thing = self.session.names.find(name)
        self._choice = (thing, self.session, len(self.session.journal)) if thing else None

    @property
    def held(self) -> dict[str, Thing]:
        """The queue pairs that stay shown, whatever commands name, by their nodes."""
        held, owner = self._held
        world = self.session.world
        is_here = owner is self.session
        return {n: qp for n, qp in held.items() if is_here and exists(world, qp)}

    def hold(self, thing: Thing, *, alone: bool = False) -> None:
        """Hold a queue pair and its peer; release all if it is held.

        alone: what is held of another node stays, so that any two are side by side.
        """
        peer = None if alone else self._peer(thing)
        held = self.held if alone else {peer.node: peer} if peer is not None else {}
        is_held = self.held.get(thing.node) == thing and not alone
        self._held = ({} if is_held else {**held, thing.node: thing}, self.session)

    def _named(self) -> Iterator[Thing]:
        """The object that is held; objects named in the latest commands or chosen, newest first."""
        session, many = self.session, len(self.session.journal)
        yield from self.held.values()
        chosen, owner, at = self._choice or (None, None, 0)
        yield from self._named_in(max(at, many - _LOOK_BACK), many)
        if chosen is not None and owner is session and exists(session.world, chosen):
            yield chosen
        yield from self._named_in(max(0, many - _LOOK_BACK), min(at, many))

    def _named_in(self, start: int, stop: int) -> Iterator[Thing]:
        """Objects named in these entries of the journal, newest first."""
        session = self.session
        for entry in reversed(session.journal[start:stop]):
            for value in entry.invocation.arguments.values():
                name = f"{getattr(value, 'node', '')}.{getattr(value, 'name', '')}"
                thing = session.names.find(name)
                if thing is not None and exists(session.world, thing):
                    yield thing

    def _peer(self, qp: Thing) -> Thing | None:
        world = self.session.world
        return peer_thing(world, world.find(qp, QueuePair))


_LOOK_BACK = 200
_SENTENCES = 500


class WireRows:
    """The newest packets and timers of a session, however many other records came after them.

    A program that polls adds thousands of records a second, so that among a fixed number of the
    newest records there is no packet soon. Rows that were read once are kept, and only later
    records are read. reach: records that are looked back where nothing is known, to avoid replays
    of the past.
    """

    def __init__(self, reach: int) -> None:
        self._reach = reach
        self._session: Session | None = None
        self._rows: list[PacketRow | MarkerRow] = []
        self._read = 0  # records up to this one are read
        self._cuts = 0
        self._asked = 0
        self.first = 0  # record from which on they are known

    def newest(self, session: Session, last: int) -> list[PacketRow | MarkerRow]:
        """The newest `last` packets and timers that happened, the newest last."""
        trace = session.world.trace
        records = len(trace.records)
        self._discard(session, last)
        if self._read < trace.first:  # the session has jumped: what lies between is not known
            self._restart(self._begin(session))
        begin = self._reopened(session)
        known = [row for row in self._rows if row.number < begin]
        found = ladder.rows(session.world, session.names, last=last, since=begin)
        self._rows, self._read = [*known, *found][-self._asked :], records
        return self._rows[-last:]

    def _discard(self, session: Session, last: int) -> None:
        """Discard rows of another session, and those after a moment to which the session went back.

        Where more rows are asked for than before, all are read again.
        """
        trace = session.world.trace
        if session is not self._session or last > self._asked:
            self._session, self._asked, self._cuts = session, last, len(trace.cuts)
            self._restart(self._begin(session))
        cuts, self._cuts = trace.cuts[self._cuts :], len(trace.cuts)
        if cuts:
            self._rows = [row for row in self._rows if row.number < min(cuts)]
            self._read = min(self._read, *cuts)
            if len(self._rows) < last:
                self._restart(min(self._read, self._begin(session)))

    def _restart(self, at: int) -> None:
        """Nothing is known yet; rows are read from this record on."""
        self._rows, self._read, self.first = [], at, at

    def _begin(self, session: Session) -> int:
        """The record from which rows are read first: the oldest in memory, or within the reach."""
        trace = session.world.trace
        return max(0, min(trace.first, len(trace.records) - self._reach))

    def _reopened(self, session: Session) -> int:
        """The record from which rows are read again: of the oldest packet without an end then."""
        event = session.world.event
        open_ = (
            row.number
            for row in self._rows
            if isinstance(row, PacketRow)
            and (row.fate is Fate.IN_FLIGHT or (row.end_event or 0) > event)
        )
        return min(open_, default=self._read)
