"""Memory windows: which bytes of a region peers can access, and by which key."""

from dataclasses import dataclass
from enum import IntEnum, auto
from typing import Annotated

from rdmalab.command import Noun, Thing
from rdmalab.hca.objects import Binding, MemoryWindow
from rdmalab.session.names import Names
from rdmalab.spec.access import Access, MWType
from rdmalab.views import fmt
from rdmalab.views.columns import ALL, USUAL, Col, Meaning, describe
from rdmalab.world.world import World


class WindowState(IntEnum):
    """Whether a window is bound."""

    FREE = auto()
    BOUND = auto()


@dataclass(slots=True)
class MwRow:
    """A memory window."""

    name: Annotated[str, "its name"]
    node: Annotated[str, "whose it is"]
    type: Annotated[MWType, "its type: 1 (the library chooses the rkey) or 2 (the program does)"]
    state: Annotated[WindowState, "BOUND or FREE"]
    rkey: Annotated[int, "the current key; of an unbound window the last one"]
    mr: Annotated[str | None, "the region it is bound to"]
    start: Annotated[int | None, "its first byte in that region"]
    length: Annotated[int, "bytes it opens"]
    access: Annotated[Access, "what the peer may do"]
    qp: Annotated[str | None, "the only queue pair that may use it, of a type 2 window"]
    pd: Annotated[str, "its protection domain"]


def _opened(row: MwRow) -> str:
    start = row.start or 0
    return f"{row.mr}[{start}:{start + row.length}]" if row.mr else ""


def _state(row: MwRow) -> Meaning:
    return Meaning.NAME if row.state is WindowState.BOUND else Meaning.DIM


describe(
    MwRow,
    Col("name", Meaning.NAME),
    Col("type", form=fmt.value, rank=USUAL),
    Col("state", _state, form=fmt.value),
    Col("rkey", label="rkey {}", form=hex),
    Col("opens", of=_opened),
    Col("access", Meaning.DIM, of=lambda row: fmt.flags(row.access, Access) if row.mr else None),
    Col("qp", label="for {}"),
    Col("pd", Meaning.DIM, "in {}", rank=ALL),
)


def mw_row(world: World, names: Names, thing: Thing) -> MwRow:
    """One memory window."""
    mw = world.find(thing, MemoryWindow)
    binding = mw.binding
    bound = binding is not None
    return MwRow(
        name=names.of(thing),
        node=thing.node,
        type=mw.type,
        state=WindowState.BOUND if bound else WindowState.FREE,
        rkey=mw.rkey if binding is None else binding.key,
        mr=_named(names, thing.node, Noun.MR, binding.mr if binding else None),
        start=None if binding is None else _start(world, thing.node, binding),
        length=binding.count if binding else 0,
        access=Access(binding.access if binding else 0),
        qp=_named(names, thing.node, Noun.QP, binding.qp if binding else None),
        pd=names.of(Thing(Noun.PD, thing.node, mw.pd)),
    )


def _named(names: Names, node: str, noun: Noun, number: int | None) -> str | None:
    return None if number is None else names.of(Thing(noun, node, number))


def _start(world: World, node: str, binding: Binding) -> int:
    return binding.start - world.nodes[node].mrs.items[binding.mr].addr


@dataclass(slots=True)
class OpenRow:
    """Bytes [start, stop) of a region that a window opens to peers."""

    start: int
    stop: int
    mw: str
    access: Access
    rkey: int

    @property
    def text(self) -> str:
        """`[0:64] open by rkey 0x8000151 of B.mw0: REMOTE_WRITE`."""
        rights = fmt.flags(self.access, Access) if self.access else "nothing"
        return f"[{self.start}:{self.stop}] open by rkey {self.rkey:#x} of {self.mw}: {rights}"


def open_rows(world: World, names: Names, thing: Thing) -> list[OpenRow]:
    """The windows on a region, oldest first."""
    hca = world.nodes[thing.node]
    rows = [
        mw_row(world, names, Thing(Noun.MW, thing.node, mw.number))
        for mw in hca.mws.items.values()
        if mw.binding is not None and mw.binding.mr == thing.number
    ]
    return [
        OpenRow(row.start or 0, (row.start or 0) + row.length, row.name, row.access, row.rkey)
        for row in rows
    ]
