"""Memory: regions, windows, domains, bytes with the marks of an event, bytes the HCA uses."""

from enum import IntEnum, auto
from typing import Annotated

from rdmalab.command import Noun, Thing
from rdmalab.hca.objects import Binding, MemoryRegion, MemoryWindow, ProtectionDomain, ThreadDomain
from rdmalab.hca.qp import QueuePair
from rdmalab.hca.wr import SGE, RecvWqe, SendWqe
from rdmalab.session.names import Names
from rdmalab.spec.access import Access, MWType
from rdmalab.spec.records import Kind, address_of, kind_of, length_of, node_of
from rdmalab.spec.row import dataclass
from rdmalab.spec.work import Local
from rdmalab.views import fmt
from rdmalab.views.columns import ALL, USUAL, Col, Meaning, NamedObject, describe, describe_fields
from rdmalab.world.world import World

WIDTH = 16


@dataclass(slots=True)
class MrRow(NamedObject):
    """A memory region."""

    addr: Annotated[int, "virtual address of its first byte"]
    iova: Annotated[int, "the address of that byte in work requests (iova)"]
    length: Annotated[int, "bytes"]
    lkey: Annotated[int, "the key for local work requests"]
    rkey: Annotated[int, "the key for the peer"]
    access: Annotated[Access, "what it allows"]
    pd: Annotated[str, "its protection domain"]


describe(
    MrRow,
    Col("name", Meaning.NAME),
    Col("length", Meaning.NUMBER, "{} B", right=True),
    Col("addr", label="at {}", form=hex),
    Col("iova", label="iova {}", of=lambda row: None if row.iova == row.addr else f"{row.iova:#x}"),
    Col("lkey", label="lkey {}", form=hex),
    Col("rkey", label="rkey {}", form=hex),
    Col("access", Meaning.DIM, of=lambda row: fmt.flags(row.access, Access), rank=USUAL),
    Col("pd", Meaning.DIM, "in {}", rank=ALL),
)


@dataclass(slots=True)
class PdRow(NamedObject):
    """A protection domain and the number of objects in it."""

    mrs: Annotated[int, "memory regions in it"]
    mws: Annotated[int, "memory windows in it"]
    qps: Annotated[int, "queue pairs in it"]
    base: Annotated[str, "of a parent domain: its protection domain"]
    td: Annotated[str, "of a parent domain: its thread domain"]


describe_fields(PdRow, "mrs", "mws", "qps", "base", "td", form=fmt.value)


@dataclass(slots=True)
class TdRow(NamedObject):
    """A thread domain and the number of objects in it."""

    parents: Annotated[int, "parent domains that hold it"]
    qps: Annotated[int, "queue pairs in those, which take no lock"]


describe_fields(TdRow, "parents", "qps", form=fmt.value)


@dataclass(slots=True)
class HexRow:
    """Up to 16 bytes. read, written: the columns that the event touched."""

    offset: int
    addr: int
    octets: bytes
    read: tuple[int, ...]
    written: tuple[int, ...]

    @property
    def ascii(self) -> str:
        """The bytes as ASCII, dots for others, brackets as in the hex columns."""
        return "".join(chr(o) if 0x20 <= o < 0x7F else "." for o in self.octets)

    @property
    def text(self) -> str:
        """`+010 68 65[6c 6c]6f 00  |hell…|`: brackets around what was touched."""
        touched = {*self.read, *self.written}
        cells = "".join(
            _bracket(column - 1 in touched, column in touched) + f"{octet:02x}"
            for column, octet in enumerate(self.octets)
        )
        end = "]" if len(self.octets) - 1 in touched else " "
        return f"+{self.offset:03x}{(cells + end).ljust(3 * WIDTH + 1)} |{self.ascii}|"


@dataclass(slots=True)
class OwnedRow:
    """Bytes [start, stop) of an MR that belong to the HCA until a work request completes.

    scatters: the HCA writes to them; otherwise it only reads them.
    """

    start: int
    stop: int
    qp: str
    wr_id: int
    queue: str
    scatters: bool

    @property
    def text(self) -> str:
        """The range, until when the HCA uses it, and what the application must not do."""
        what = "do not modify" if self.queue == "sq" else "do not read"
        until = f"{self.qp} {fmt.wr(self.wr_id)} completes"
        return f"[{self.start}:{self.stop}] HCA until {until}: {what}"


describe(OwnedRow, Col("text", Meaning.ATTENTION))


def _bracket(before: bool, now: bool) -> str:
    return " " if before == now else "[" if now else "]"


def mr_row(world: World, names: Names, thing: Thing) -> MrRow:
    """One memory region."""
    mr = world.find(thing, MemoryRegion)
    pd = names.of(Thing(Noun.PD, thing.node, mr.pd))
    access = Access(mr.access)
    return MrRow(
        names.of(thing), thing.node, mr.addr, mr.iova, mr.length, mr.lkey, mr.rkey, access, pd
    )


def with_key(world: World, thing: Thing) -> MemoryRegion | MemoryWindow:
    """The region or the window that a Thing stands for: what has an R_Key. Refused as `find` is."""
    if thing.noun is Noun.MW:
        return world.find(thing, MemoryWindow)
    return world.find(thing, MemoryRegion)


def pd_row(world: World, names: Names, thing: Thing) -> PdRow:
    """One protection domain."""
    hca, pd = world.at(thing, ProtectionDomain)
    mrs = sum(mr.pd == thing.number for mr in hca.mrs.items.values())
    qps = sum(qp.domain == thing.number for qp in hca.qps.items.values())
    base = names.of(Thing(Noun.PD, thing.node, pd.base)) if pd.base != pd.number else ""
    td = names.of(Thing(Noun.TD, thing.node, pd.td)) if pd.td is not None else ""
    mws = sum(mw.pd == thing.number for mw in hca.mws.items.values())
    return PdRow(names.of(thing), thing.node, mrs, mws, qps, base, td)


def td_row(world: World, names: Names, thing: Thing) -> TdRow:
    """One thread domain."""
    world.find(thing, ThreadDomain)
    hca = world.nodes[thing.node]
    inside = [pd for pd in hca.pds.items.values() if pd.td == thing.number]
    domains = {pd.number for pd in inside}
    qps = sum(qp.domain in domains for qp in hca.qps.items.values())
    return TdRow(names.of(thing), thing.node, len(inside), qps)


def octets(world: World, thing: Thing, start: int, stop: int) -> bytes:
    """Bytes [start, stop) of an MR, cut at its end."""
    mr = world.find(thing, MemoryRegion)
    stop = min(stop, mr.length)
    return world.nodes[thing.node].memory.read(mr.addr + start, max(0, stop - start))


def hex_rows(
    world: World, thing: Thing, start: int, stop: int, event: int | None = None
) -> list[HexRow]:
    """The rows that hold bytes [start, stop), marked with what an event (the last one) touched."""
    mr = world.find(thing, MemoryRegion)
    first = start - start % WIDTH
    read = touched(world, thing, READS, event)
    written = touched(world, thing, WRITES, event)
    return [
        _hex_row(world, mr, thing, offset, (read, written))
        for offset in range(first, min(stop, mr.length), WIDTH)
    ]


Ranges = list[tuple[int, int]]
READS = (Kind.MEMORY_READ,)
WRITES = (Kind.MEMORY_WRITTEN, Kind.HOST_WROTE)


def touched(
    world: World, thing: Thing, kinds: tuple[Kind, ...], event: int | None = None
) -> Ranges:
    """Parts [start, stop) of an MR that an event (the last one) read or wrote."""
    mr = world.find(thing, MemoryRegion)
    records = world.trace.records
    found: Ranges = []
    for number in records.span(world.event if event is None else event):
        record = records[number]
        if kind_of(record) in kinds and node_of(record) == thing.node:
            start = max(0, address_of(record) - mr.addr)
            stop = min(mr.length, address_of(record) + length_of(record) - mr.addr)
            if start < stop:
                found.append((start, stop))
    return found


def _hex_row(
    world: World, mr: MemoryRegion, thing: Thing, offset: int, marks: tuple[Ranges, Ranges]
) -> HexRow:
    cells = octets(world, thing, offset, offset + WIDTH)
    read, written = (_columns(ranges, offset, len(cells)) for ranges in marks)
    return HexRow(offset, mr.addr + offset, cells, read, written)


def _columns(ranges: Ranges, offset: int, count: int) -> tuple[int, ...]:
    return tuple(
        column
        for column in range(count)
        if any(start <= offset + column < stop for start, stop in ranges)
    )


# --------------------------------------------------------------------------- whose is it?
def owned_rows(world: World, names: Names, thing: Thing) -> list[OwnedRow]:
    """Ranges of an MR that the application must not touch, oldest work request first."""
    mr = world.find(thing, MemoryRegion)
    rows = []
    for qp in world.nodes[thing.node].qps.items.values():
        name = names.of(Thing(Noun.QP, thing.node, qp.number))
        for queue, wqe in _in_progress(qp):
            for start, stop in _inside(mr, wqe.sg):
                rows.append(OwnedRow(start, stop, name, wqe.wr.wr_id, queue, scatters(wqe)))
    for srq in world.nodes[thing.node].srqs.items.values():
        name = names.of(Thing(Noun.SRQ, thing.node, srq.number))
        for wqe in (*srq.wqes, *srq.lost):
            for start, stop in _inside(mr, wqe.sg):
                rows.append(OwnedRow(start, stop, name, wqe.wr.wr_id, "srq", scatters=True))
    return rows


def scatters(wqe: SendWqe | RecvWqe) -> bool:
    """Whether the HCA writes to the buffers: of a receive, a READ, an atomic."""
    if isinstance(wqe, RecvWqe):
        return True
    return wqe.work is not None and wqe.work.local is Local.SCATTER


def _in_progress(qp: QueuePair) -> list[tuple[str, SendWqe | RecvWqe]]:
    """Work requests whose buffers the HCA will touch; INLINE data was copied when posted."""
    sends: list[tuple[str, SendWqe | RecvWqe]] = [
        ("sq", wqe)
        for serial, wqe in qp.sq.wqes.items()
        if serial >= qp.comp.serial and wqe.inline is None
    ]
    in_use = [qp.resp.recv] if qp.resp.recv is not None else []
    return sends + [("rq", wqe) for wqe in (*in_use, *qp.rq.wqes)]


def _inside(mr: MemoryRegion, sg: list[SGE]) -> Ranges:
    parts = [
        (max(0, sge.addr - mr.iova), min(mr.length, sge.addr + sge.length - mr.iova)) for sge in sg
    ]
    return [(start, stop) for start, stop in parts if start < stop]


class WindowState(IntEnum):
    """Whether a window is bound."""

    FREE = auto()
    BOUND = auto()


@dataclass(slots=True)
class MwRow(NamedObject):
    """A memory window."""

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
