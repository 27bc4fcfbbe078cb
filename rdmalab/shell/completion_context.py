"""The command under the cursor: its object, and the keys that are typed already."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rdmalab.command import New, Noun, Ref, Thing
from rdmalab.grammar.keys import Slot, keys_of_command
from rdmalab.grammar.partial import Expected
from rdmalab.session.session import Session
from rdmalab.spec.access import Access
from rdmalab.wire.packet import gid_text
from rdmalab.world.relations import exists
from rdmalab.world.world import World

# Arguments that name something of the other side.
_PEERS = (
    *("remote", "rkey", "ah", "to", "dest_qp_num", "peer", "b"),
    *("remote_qpn", "remote_srqn", "invalidate_rkey"),
)


@dataclass(frozen=True, slots=True)
class Choice:
    """A candidate and its description. rank: smaller comes first."""

    text: str
    meta: str = ""
    rank: int = 0


@dataclass(slots=True)
class CompletionContext:
    """A session, what is expected at the cursor, and the line up to there."""

    session: Session
    expected: Expected
    before: str

    def given(self, *path: str) -> Any:
        """The value typed for a key (given by its path) elsewhere in the command.

        None if there is none.
        """
        part = self.expected.given.get(".".join(path))
        return None if part is None or part.wrong is not None else part.value

    @property
    def node(self) -> str:
        """The node of the command's object; empty while none is typed."""
        for part in self.expected.given.values():
            if part.argument.key is None and isinstance(part.value, Ref | New):
                return part.value.node
        return ""

    def object(self, key: str) -> object:
        """The existing object that a key names; None if there is none."""
        ref = self.given(key)
        thing = self.session.names.find(f"{ref.node}.{ref.name}") if isinstance(ref, Ref) else None
        world = self.session.world
        return world.find(thing, object) if thing is not None and exists(world, thing) else None

    def things(self, noun: Noun | None, slot: Slot) -> list[Thing]:
        """The names of existing objects that fit here, the most likely first."""
        living = self.session.names.living(self.session.world, noun)
        is_peer = slot.parameter.name in _PEERS and noun is not Noun.AH
        node = self.node
        if noun is None or not node:
            own = self.session.default_node
            return sorted(living, key=lambda thing: thing.node != own)
        return [thing for thing in living if (thing.node != node) is is_peer]

    def is_near(self, slot: Slot) -> bool:
        """Whether the menu shows a key; optional fields of a record appear only once typed."""
        if (
            self.expected.partial
            or self.expected.record is not None
            or self.expected.command is None
        ):
            return True
        outer = [slot.path[:depth] for depth in range(2, len(slot.path))]
        keys = keys_of_command(self.expected.command.parameters)
        return not any(keys.at(path).kind.nullable for path in outer)

    def flags_before(self) -> set[str]:
        """The flags already typed in `A|B|`."""
        start = self.expected.place.start
        text = self.before[:start].replace(" ", "")
        words = text.rpartition("=")[2] if text.endswith("|") else ""
        return {word.upper() for word in words.split("|") if word}


def about(world: World, thing: Thing) -> str:
    """A short description of an object, for a menu."""
    say = _ABOUT.get(thing.noun)
    return "" if say is None else say(world.find(thing, object))


_ABOUT: dict[Noun, Callable[[Any], str]] = {
    Noun.QP: lambda qp: f"{qp.qp_type.name} {qp.number:#x} {qp.state.name}",
    Noun.MR: lambda mr: (
        f"{mr.length} bytes, lkey {mr.lkey:#x}, rkey {mr.rkey:#x}, {rights(mr.access)}"
    ),
    Noun.MW: lambda mw: f"{mw.type.name}, {'free' if mw.binding is None else 'bound'}",
    Noun.CQ: lambda cq: f"{len(cq.cqes)}/{cq.capacity} completions",
    Noun.SRQ: lambda srq: f"{srq.srq_type.name} {srq.number:#x}, {len(srq.wqes)} receives posted",
    Noun.XRCD: lambda xrcd: f"domain {xrcd.domain}",
    Noun.AH: lambda ah: f"to {gid_text(ah.attr.dgid).removeprefix('::ffff:')}",
    Noun.CHANNEL: lambda channel: f"{len(channel.events)} events",
    Noun.PROGRAM: lambda program: f"{program.state.name}: {program.line.text}",
    Noun.NODE: lambda hca: f"profile {hca.profile.name}",
}


def rights(access: int) -> str:
    """`LOCAL_WRITE|REMOTE_WRITE`."""
    return (
        "|".join(flag.name or "" for flag in Access if flag & access) or "read by its own HCA only"
    )
