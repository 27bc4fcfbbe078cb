"""The data of the panes: results of `show` commands on the current world."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from rdmalab.command import NotUnderstood, Noun, Refused, Thing
from rdmalab.doctor.consultation import consult
from rdmalab.grammar.expressions import parse_expression
from rdmalab.grammar.line import parse
from rdmalab.hca.qp import QueuePair
from rdmalab.session.interruption import stoppable
from rdmalab.workbench.show import View
from rdmalab.world.relations import exists, peer_thing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rdmalab.classroom.lab_session import LabSession
    from rdmalab.command import Invocation
    from rdmalab.doctor.report import Report
    from rdmalab.scenario.runner import Runner
    from rdmalab.session.session import Session


REACH = 2_000  # records: one or two stretches of the past


class SceneLike(Protocol):
    """The owner of the current world, which `load` replaces."""

    @property
    def session(self) -> Session:
        """The current session."""

    @property
    def walk(self) -> Runner | None:
        """The scenario that was loaded, if one was."""

    @property
    def exercise(self) -> LabSession | None:
        """The lab that is open, if one is."""

    @property
    def diagnosis(self) -> Report | None:
        """The last reply of `why`; None if there is none."""

    @property
    def busy(self) -> bool:
        """Whether a command is running; then no trial in this world is allowed."""


class WorldView:
    """The access of the panes to the world.

    Results are cached for one frame, in which the world does not change.
    """

    def __init__(self, scene: SceneLike) -> None:
        self._scene = scene
        self._understood: dict[str, Invocation] = {}
        self._seen: dict[str, View] | None = None

    @property
    def session(self) -> Session:
        return self._scene.session

    @property
    def walk(self) -> Runner | None:
        return self._scene.walk

    @property
    def exercise(self) -> LabSession | None:
        return self._scene.exercise

    @property
    def diagnosis(self) -> Report | None:
        return self._scene.diagnosis

    @property
    def busy(self) -> bool:
        return self._scene.busy

    def consult(self, question: str) -> Report | str:
        """The reply of `why` now; the error if its subject does not exist any more."""
        try:
            node = parse_expression(question).node if question else None
            return consult(self.session, node)
        except NotUnderstood as error:
            return error.message

    @contextmanager
    def frame(self) -> Iterator[None]:
        """A context for one frame: equal requests are evaluated once."""
        outer, self._seen = self._seen, {} if self._seen is None else self._seen
        try:
            with stoppable():  # ^C is for what the user has asked for
                yield
        finally:
            self._seen = outer

    def look(self, sentence: str) -> View:
        """The view of a `show` command now; an error as its text."""
        if self._seen is None:
            return self._look(sentence)
        if sentence not in self._seen:
            self._seen[sentence] = self._look(sentence)
        return self._seen[sentence]

    def _look(self, sentence: str) -> View:
        """Limited to recent records, to avoid replays of the past."""
        trace = self.session.world.trace
        trace.reach = REACH
        try:
            view = self.session.perform(self._invocation(sentence)).value
        except NotUnderstood as error:
            return View(sentence, [], str(error))
        except Refused as refusal:
            return View(sentence, [], refusal.message)
        finally:
            trace.reach = 0
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
        for named in self._named():
            if named.noun is noun and named.node == node:
                return named
            if noun is Noun.QP and named.noun is noun and (peer := self._peer(named)) in things:
                return peer
        return things[0]

    def _named(self) -> list[Thing]:
        """Objects named in the latest commands, newest first."""
        session = self.session
        found = []
        for entry in reversed(session.journal[-_LOOK_BACK:]):
            for value in entry.invocation.arguments.values():
                name = f"{getattr(value, 'node', '')}.{getattr(value, 'name', '')}"
                thing = session.names.find(name)
                if thing is not None and exists(session.world, thing):
                    found.append(thing)
        return found

    def _peer(self, qp: Thing) -> Thing | None:
        world = self.session.world
        return peer_thing(world, world.find(qp, QueuePair))


_LOOK_BACK = 200
_SENTENCES = 500
