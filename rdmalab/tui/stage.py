"""What the panes look at: the world of the moment, through sentences that a person could type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from rdmalab.command import NotUnderstood, Noun, Refused, Thing
from rdmalab.grammar.line import parse
from rdmalab.lens.words import exists
from rdmalab.workbench.look import View

if TYPE_CHECKING:
    from rdmalab.scenario.runner import Runner
    from rdmalab.session.session import Session


class Scene(Protocol):
    """Whoever holds the world: a loaded scenario brings another one."""

    @property
    def session(self) -> Session:
        """The session of now."""

    @property
    def walk(self) -> Runner | None:
        """The scenario that was loaded, if one was."""


class Stage:
    """The one thing that panes are handed; it keeps nothing but the way to the world."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    @property
    def session(self) -> Session:
        return self._scene.session

    @property
    def walk(self) -> Runner | None:
        return self._scene.walk

    def look(self, sentence: str) -> View:
        """What a sentence of `show` shows now; a sentence that means nothing here shows why."""
        session = self.session
        try:
            (invocation,) = parse(sentence, session.vocabulary, None, file=True)
            view = session.perform(invocation).value
        except NotUnderstood as error:
            return View(sentence, [], str(error))
        except Refused as refusal:
            return View(sentence, [], refusal.message)
        assert isinstance(view, View), sentence
        return view

    def node(self, position: int) -> str:
        """The name of the left (0) or right (1) node; empty if there is none."""
        nodes = list(self.session.world.nodes)
        return nodes[position] if position < len(nodes) else ""

    def things(self, node: str, noun: Noun) -> list[Thing]:
        """What a node has of a noun, oldest first."""
        session = self.session
        found = [session.names.find(name) for name in session.names.all(noun)]
        return [t for t in found if t and t.node == node and exists(session.world, t)]

    def name(self, thing: Thing) -> str:
        return self.session.names.of(thing)

    def meant(self, node: str, noun: Noun) -> Thing | None:
        """The thing that the conversation is about: the last one named, or the peer of that QP."""
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
        """Things named in the newest requests, the newest first."""
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
        path: Any = self.session.world.find(qp).path
        if path is None:
            return None
        node = self.session.world.node_of_gid.get(path.flow.dst, "")
        return Thing(Noun.QP, node, path.dest_qpn)


_LOOK_BACK = 200
