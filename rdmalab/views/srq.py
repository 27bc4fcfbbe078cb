"""Shared receive queues and XRC domains: receives in the queue, and which QP took which."""

from typing import Annotated

from rdmalab.command import Noun, Thing
from rdmalab.hca.objects import XrcDomain
from rdmalab.hca.qp import SharedReceiveQueue
from rdmalab.hca.wr import RecvWqe
from rdmalab.session.names import Names
from rdmalab.spec.records import Kind, Record, event_of, kind_of, node_of, object_of, recv_wqe_of
from rdmalab.spec.row import dataclass
from rdmalab.spec.srq import SrqType
from rdmalab.views import columns, fmt
from rdmalab.views.columns import USUAL, Col, Gauge, Meaning, describe, describe_fields, words
from rdmalab.world.world import World


@dataclass(slots=True)
class SrqRow(columns.NamedObject):
    """A shared receive queue; used = count + what was taken and not given back yet."""

    srq_num: Annotated[int, "the number by which XRC messages name it"]
    srq_type: Annotated[SrqType, "BASIC or XRC"]
    count: Annotated[int, "receives that wait for a message"]
    used: Annotated[int, "slots taken: posted and not given back yet"]
    capacity: Annotated[int, "slots in all: max_wr as granted"]
    free: Annotated[int, "slots that a post may still take"]
    total: Annotated[int, "receives posted so far"]
    max_sge: Annotated[int, "SGEs that a receive may have"]
    limit: Annotated[int, "fewer receives than this raise SRQ_LIMIT_REACHED; 0 is disarmed"]
    armed: Annotated[bool, "whether the limit will raise its event"]
    error: Annotated[
        bool, "whether it entered its error state: no receive is taken from it any more"
    ]
    users: Annotated[int, "queue pairs tied to it"]
    pd: Annotated[str, "its protection domain"]
    cq: Annotated[str, "where an XRC SRQ completes; otherwise each QP on its own CQ"]
    xrcd: Annotated[str, "the XRC domain of an XRC SRQ"]

    @property
    def text(self) -> str:
        """`B.srq0 SRQ 2 of 8 1 waits, 1 taken`."""
        return words(self)


_DEAD = "ERROR STATE: no receive is taken any more"

describe(
    SrqRow,
    Col("name", Meaning.NAME),
    Col(
        "slots",
        label="SRQ {}",
        of=lambda row: Gauge(row.capacity, row.used - row.count, 0, row.count),
    ),
    Col("type", of=lambda row: None if row.srq_type is SrqType.BASIC else row.srq_type.name),
    Col("trouble", Meaning.FAILED, of=lambda row: _DEAD if row.error else None),
    Col("empty", Meaning.DIM, of=lambda row: None if row.count or row.error else "empty"),
    Col("taken", label="{} taken", of=lambda row: row.used - row.count or None),
    Col("posted", label="{} posted", of=lambda row: row.count or None),
    Col("limit", Meaning.NAME, "limit {} armed", of=lambda row: row.limit if row.armed else None),
    Col("number", Meaning.DIM, of=lambda row: f"{row.srq_num:#x}", rank=USUAL),
    Col(
        "users",
        Meaning.DIM,
        of=lambda row: f"in {row.xrcd}" if row.xrcd else f"{fmt.count(row.users, 'QP')} on it",
        rank=USUAL,
    ),
)


@dataclass(slots=True)
class SharedRecvRow:
    """A receive of a shared queue: it waits, or a queue pair took it."""

    serial: Annotated[int, "which of the queue's receives, counted from 0"]
    wr_id: Annotated[int, "as posted"]
    length: Annotated[int, "bytes of its buffers"]
    qp: Annotated[str, "the queue pair that took it; empty while it is in the queue"]
    event: Annotated[int | None, "the event in which it was taken"]

    @property
    def text(self) -> str:
        """`wr2 64 B waits`, `wr1 64 B taken by B.qp1 ev 26`."""
        return words(self)


describe(
    SharedRecvRow,
    Col("wr_id", Meaning.NAME, "wr{}", form=fmt.number),
    Col("opcode", of=lambda _row: "RECV", rank=USUAL),
    Col("len", Meaning.NUMBER, "{} B", of=lambda row: row.length, right=True),
    Col(
        "state",
        lambda row: Meaning.NAME if row.qp else Meaning.WAITING,
        of=lambda row: f"taken by {row.qp}" if row.qp else "waits",
    ),
    Col("event", Meaning.EVENT, "ev {}"),
)


@dataclass(slots=True)
class XrcdRow(columns.NamedObject):
    """An XRC domain, one opening of it."""

    domain: Annotated[int, "openings of one file have the same"]
    fd: Annotated[int, "the file descriptor of the domain; -1 for none"]
    srqs: Annotated[int, "SRQs made through it"]
    qps: Annotated[int, "XRC_RECV queue pairs made through it"]


describe_fields(XrcdRow, "domain", "fd", "srqs", "qps", form=fmt.value)


def srq_row(world: World, names: Names, thing: Thing) -> SrqRow:
    """One shared receive queue; its receives are `recv_rows`."""
    srq = world.find(thing, SharedReceiveQueue)
    used = srq.used
    return SrqRow(
        name=names.of(thing),
        node=thing.node,
        srq_num=srq.number,
        srq_type=srq.srq_type,
        count=len(srq.wqes) + len(srq.lost),
        used=used,
        capacity=srq.capacity,
        free=srq.capacity - used,
        total=srq.posted,
        max_sge=srq.max_sge,
        limit=srq.limit,
        armed=srq.limit > 0,
        error=srq.dead,
        users=sum(qp.srq == srq.number for qp in world.nodes[thing.node].qps.items.values()),
        pd=fmt.part_name(names, Noun.PD, thing.node, srq.pd),
        cq=fmt.part_name(names, Noun.CQ, thing.node, srq.cq),
        xrcd=fmt.part_name(names, Noun.XRCD, thing.node, srq.xrcd),
    )


def recv_rows(world: World, names: Names, thing: Thing, last: int) -> list[SharedRecvRow]:
    """The `last` receives that were taken, oldest first, and all that wait."""
    srq = world.find(thing, SharedReceiveQueue)
    waiting = [*srq.wqes, *srq.lost]
    count = min(last, srq.posted - len(waiting))  # who looks for more reads the trace to its end
    taken: list[SharedRecvRow] = []
    for _, record in world.trace.records.newest():
        if len(taken) == count:
            break
        if _is_taken(record, thing):
            taken.insert(0, _taken_row(names, record))
    return taken + [_waiting_row(wqe) for wqe in waiting]


def recv_by_id(world: World, names: Names, thing: Thing, wr_id: int) -> SharedRecvRow | None:
    """The newest receive with this wr_id, waiting or taken; None if there never was one."""
    srq = world.find(thing, SharedReceiveQueue)
    waiting = [wqe for wqe in (*srq.wqes, *srq.lost) if wqe.wr.wr_id == wr_id]
    if waiting:
        return _waiting_row(waiting[-1])
    for record in reversed(world.trace.records):
        if _is_taken(record, thing) and recv_wqe_of(record).wr.wr_id == wr_id:
            return _taken_row(names, record)
    return None


def _is_taken(record: Record, thing: Thing) -> bool:
    if kind_of(record) is not Kind.RECV_TAKEN or node_of(record) != thing.node:
        return False
    return recv_wqe_of(record).srq == thing.number


def _waiting_row(wqe: RecvWqe) -> SharedRecvRow:
    return SharedRecvRow(wqe.serial, wqe.wr.wr_id, wqe.length, "", None)


def _taken_row(names: Names, record: Record) -> SharedRecvRow:
    wqe = recv_wqe_of(record)
    qp = fmt.qp_name(names, node_of(record), object_of(record))
    return SharedRecvRow(wqe.serial, wqe.wr.wr_id, wqe.length, qp, event_of(record))


def xrcd_row(world: World, names: Names, thing: Thing) -> XrcdRow:
    """One opening of an XRC domain."""
    xrcd = world.find(thing, XrcDomain)
    hca = world.nodes[thing.node]
    return XrcdRow(
        name=names.of(thing),
        node=thing.node,
        domain=xrcd.domain,
        fd=xrcd.fd,
        srqs=sum(srq.xrcd == xrcd.number for srq in hca.srqs.items.values()),
        qps=sum(qp.xrcd == xrcd.number for qp in hca.qps.items.values()),
    )
