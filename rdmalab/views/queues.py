"""Queue pairs: both work queues in numbers, attributes, and the progress of the engines."""

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from rdmalab.command import Noun, Thing
from rdmalab.hca.groups import groups_of
from rdmalab.hca.qp import Path, QueuePair
from rdmalab.session.names import Names
from rdmalab.spec import records as rec
from rdmalab.spec.access import Access
from rdmalab.spec.records import Kind, Record, kind_of, node_of, object_of
from rdmalab.spec.row import dataclass
from rdmalab.spec.states import MTU, MigState, QPState, QPType
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.timers import RNR_NS, answer_ns
from rdmalab.views import fmt
from rdmalab.views.columns import NamedObject, same_fields
from rdmalab.views.wqes import RegionRow, ends, region_row
from rdmalab.wire.packet import LidFlow, gid_text
from rdmalab.world.relations import exists, peer_node, peer_thing
from rdmalab.world.world import World

if TYPE_CHECKING:
    from rdmalab.hca.device import Hca


# --------------------------------------------------------------------------- work queues
@dataclass(slots=True)
class QueueRow:
    """A work queue: used = waiting + on_wire + acked, and used + free = capacity."""

    capacity: Annotated[int, "slots in all: max_send_wr or max_recv_wr as granted"]
    used: Annotated[int, "slots taken: posted and not given back yet"]
    free: Annotated[int, "slots that a post may still take"]
    posted: Annotated[int, "work requests posted so far, since the QP was made"]
    waiting: Annotated[int, "posted, nothing done for them yet"]
    on_wire: Annotated[int, "begun and not completed; receives: in use by a message"]
    acked: Annotated[int, "completed; the slot is freed when a completion is polled"]
    failed: Annotated[int, "how many of them ended with an error that is not polled yet"]
    name: Annotated[str, "its queue pair, and which of the two it is"]


@dataclass(slots=True)
class TimerRow:
    """One of the two waits of a QP."""

    armed: Annotated[bool, "whether it runs"]
    at_ns: Annotated[int | None, "when it fires"]
    left_ns: Annotated[int | None, "how long until then"]


@dataclass(slots=True)
class CapRow:
    """The sizes that create_qp handed back; Soft-RoCE repeats the numbers asked."""

    max_send_wr: Annotated[int, "send work requests; sq.capacity is the real size"]
    max_recv_wr: Annotated[int, "receive work requests; rq.capacity is the real size"]
    max_send_sge: Annotated[int, "SGEs of a send"]
    max_recv_sge: Annotated[int, "SGEs of a receive"]
    max_inline_data: Annotated[int, "bytes of inline data that a send may have"]


@dataclass(slots=True)
class QpRow(NamedObject):
    """A queue pair: its parts, its attributes, the progress of its three engines."""

    qp_num: Annotated[int, "its number on the wire"]
    qp_type: Annotated[QPType, "the service"]
    state: Annotated[QPState, "its state"]
    pd: Annotated[str, "its protection domain"]
    send_cq: Annotated[str, "where sends complete"]
    recv_cq: Annotated[str, "where receives complete"]
    srq: Annotated[str, "the SRQ it takes receives from, empty for its own queue"]
    xrcd: Annotated[str, "the XRC domain whose SRQs it may feed"]
    rq_empty: Annotated[bool, "in RTR or RTS with no receive posted: the next SEND gets an RNR NAK"]
    sq_sig_all: Annotated[bool, "whether every send gives a completion"]
    cap: Annotated[CapRow, "the sizes that create_qp handed back"]
    peer: Annotated[str, "the peer QP, empty before RTR"]
    dest_node: Annotated[str, "the node of the peer QP, empty before RTR"]
    dest_qp_num: Annotated[int, "the number of the peer QP"]
    sq: Annotated[QueueRow, "the send queue"]
    rq: Annotated[QueueRow, "the receive queue"]
    sq_psn: Annotated[int, "the PSN that the next work request will begin with"]
    next_psn: Annotated[int, "the PSN that is sent next: below sq_psn while sends wait"]
    unacked_psn: Annotated[int, "the oldest PSN without an answer"]
    rq_psn: Annotated[int, "the PSN expected from the peer"]
    msn: Annotated[int, "messages of the peer completed: the MSN of its ACKs"]
    retries_left: Annotated[int, "retries left of retry_cnt; progress restores all"]
    rnr_retries_left: Annotated[int, "RNR retries left of rnr_retry; unlimited with 7"]
    rnr_timer: Annotated[TimerRow, "the wait that an RNR NAK asked for"]
    ack_timer: Annotated[TimerRow, "the wait for an answer"]
    path_mtu: Annotated[int, "bytes of a full packet"]
    timeout: Annotated[int, "the code of the ack timeout; 0 disables the timer"]
    timeout_ns: Annotated[int | None, "the ack timeout on this device; nothing if disabled"]
    retry_cnt: Annotated[int, "as set"]
    rnr_retry: Annotated[int, "as set; 7 retries without limit"]
    min_rnr_timer: Annotated[int, "the code of the wait in its RNR NAKs"]
    min_rnr_timer_ns: Annotated[int, "that wait"]
    max_rd_atomic: Annotated[int, "how many READs and atomics it may have outstanding"]
    max_dest_rd_atomic: Annotated[int, "how many of the peer are served at once"]
    qp_access_flags: Annotated[Access, "what the peer may do through this QP"]
    qkey: Annotated[int, "the Q_Key that an incoming datagram must carry"]
    groups: Annotated[str, "the multicast groups it is attached to"]
    slid: Annotated[int | None, "the LID its packets come from, on InfiniBand"]
    dlid: Annotated[int | None, "the LID they go to, on InfiniBand"]
    hop_limit: Annotated[int, "routers that its packets may pass, as stored"]
    alt_slid: Annotated[int | None, "the same of its alternate path"]
    alt_dlid: Annotated[int | None, "the same of its alternate path"]
    path_mig_state: Annotated[MigState, "whether the alternate path is ready: ARMED"]
    reads_outstanding: Annotated[int, "outstanding READs and atomics"]
    region: Annotated[RegionRow, "where wr_* functions build"]
    sq_draining: Annotated[bool, "in SQD, with sends begun and not yet completed"]


def _lids(path: Path | None) -> tuple[int | None, int | None]:
    if path is None or not isinstance(path.flow, LidFlow):
        return None, None
    return path.flow.src, path.flow.dst


def _timeout_ns(hca: "Hca", qp: QueuePair) -> int | None:
    device = hca.profile
    return answer_ns(qp.attr.timeout or 0, device.timer_tick_ns, device.ack_timeout_factor)


def _path(qp: QueuePair) -> Path | None:
    return qp.path if qp.transport.connected else None


class _Seen(NamedTuple):
    """A queue pair, and what its facts are read from."""

    world: World
    names: Names
    hca: "Hca"
    qp: QueuePair

    @property
    def name(self) -> str:
        """The name of the queue pair."""
        return self.names.of(Thing(Noun.QP, self.hca.node, self.qp.number))

    def part(self, noun: Noun, number: int) -> str:
        """The name of an object that the queue pair was created with."""
        return fmt.part_name(self.names, noun, self.hca.node, number)

    def timer(self, at_ns: int | None) -> TimerRow:
        """A wait that ends at this time; None: it does not run."""
        return TimerRow(
            at_ns is not None, at_ns, None if at_ns is None else at_ns - self.world.now_ns
        )


# By the name of the field of a QpRow. A field that is not here is that of the queue pair, or one of
# its attributes as set, 0 if it never was.
_FACTS: dict[str, Callable[[_Seen], Any]] = {
    "name": lambda it: it.name,
    "qp_num": lambda it: it.qp.number,
    "pd": lambda it: it.part(Noun.PD, it.qp.pd),
    "send_cq": lambda it: it.part(Noun.CQ, it.qp.send_cq),
    "recv_cq": lambda it: it.part(Noun.CQ, it.qp.recv_cq),
    "srq": lambda it: it.part(Noun.SRQ, it.qp.srq),
    "xrcd": lambda it: it.part(Noun.XRCD, it.qp.xrcd),
    "rq_empty": lambda it: _is_rq_empty(it.qp),
    "cap": lambda it: CapRow(**dataclasses.asdict(it.qp.reported_cap)),
    "peer": lambda it: _peer(it.world, it.names, it.qp),
    "dest_node": lambda it: peer_node(it.world, it.qp) if _path(it.qp) else "",
    "dest_qp_num": lambda it: path.dest_qpn if (path := _path(it.qp)) else 0,
    "sq": lambda it: sq_row(it.world, it.qp, it.name),
    "rq": lambda it: rq_row(it.world, it.qp, it.name),
    "sq_psn": lambda it: it.qp.sq.next_psn,
    "next_psn": lambda it: it.qp.req.psn,
    "unacked_psn": lambda it: it.qp.comp.psn,
    "rq_psn": lambda it: it.qp.resp.psn,
    "msn": lambda it: it.qp.resp.msn,
    "retries_left": lambda it: (it.qp.attr.retry_cnt or 0) - it.qp.comp.retried,
    "rnr_retries_left": lambda it: (it.qp.attr.rnr_retry or 0) - it.qp.comp.rnr_retried,
    "rnr_timer": lambda it: it.timer(it.qp.comp.rnr_until_ns),
    "ack_timer": lambda it: it.timer(_ack_due(it.qp)),
    "path_mtu": lambda it: MTU.in_bytes(it.qp.attr.path_mtu or 0),
    "timeout_ns": lambda it: _timeout_ns(it.hca, it.qp),
    "min_rnr_timer_ns": lambda it: RNR_NS[(it.qp.attr.min_rnr_timer or 0) & 0x1F],
    "qp_access_flags": lambda it: Access(it.qp.attr.qp_access_flags or 0),
    "groups": lambda it: " ".join(map(gid_text, groups_of(it.hca, it.qp))),
    "slid": lambda it: _lids(_path(it.qp))[0],
    "dlid": lambda it: _lids(_path(it.qp))[1],
    "hop_limit": lambda it: path.flow.hop_limit if (path := _path(it.qp)) else 0,
    "alt_slid": lambda it: _lids(it.qp.alternate)[0],
    "alt_dlid": lambda it: _lids(it.qp.alternate)[1],
    "path_mig_state": lambda it: MigState(it.qp.attr.path_mig_state or 0),
    "reads_outstanding": lambda it: it.qp.req.reads - it.qp.comp.reads,
    "region": lambda it: region_row(it.qp),
    "sq_draining": lambda it: it.qp.is_draining,
}


def _seen(world: World, names: Names, thing: Thing) -> _Seen:
    hca, qp = world.at(thing, QueuePair)
    return _Seen(world, names, hca, qp)


def qp_row(world: World, names: Names, thing: Thing) -> QpRow:
    """One QP; its work requests are rows of `wqes`."""
    seen = _seen(world, names, thing)
    as_set = same_fields(QpRow, seen.qp.attr, 0) | same_fields(QpRow, seen.qp)
    return QpRow(**as_set | {name: fact(seen) for name, fact in _FACTS.items()})


def qp_field(world: World, names: Names, thing: Thing, name: str) -> object:
    """One field of the row; a condition that is asked after each event needs no other."""
    seen = _seen(world, names, thing)
    if name in _FACTS:
        return _FACTS[name](seen)
    return getattr(seen.qp, name) if hasattr(seen.qp, name) else getattr(seen.qp.attr, name) or 0


def _is_rq_empty(qp: QueuePair) -> bool:
    """True if a message would find no receive; for XRC the SRQ is only known from the message."""
    hears = qp.state_row.receives and qp.transport.receives and not qp.transport.names_srq
    return hears and not qp.source.wqes and qp.resp.recv is None


def _peer(world: World, names: Names, qp: QueuePair) -> str:
    thing = peer_thing(world, qp)
    if thing is None:
        return ""
    return names.of(thing) if exists(world, thing) else f"{thing.node or '?'}:{thing.number:#x}"


def _ack_due(qp: QueuePair) -> int | None:
    return qp.timer.at_ns if qp.comp.rnr_until_ns is None else None


def sq_row(world: World, qp: QueuePair, name: str) -> QueueRow:
    """The send queue in numbers. name: of the queue pair."""
    sq, done = qp.sq, qp.comp.serial
    begun = max(done, qp.req.started)  # a flush completes what was never begun
    used = sq.occupied
    return QueueRow(
        name=f"{name} send queue",
        capacity=sq.capacity,
        used=used,
        free=sq.capacity - used,
        posted=sq.posted,
        waiting=sq.posted - begun + len(sq.early),
        on_wire=begun - done,
        acked=done - sq.freed,
        failed=_failed(ends(world, qp, qp.send_cq, is_send=True), sq.freed),
    )


def _failed(ended: dict[int, WCStatus], oldest: int) -> int:
    """Number of requests in the slots of a queue that ended with an error which no poll returned.

    oldest: the serial of the first slot; an older CQE is of the time before a reset.
    """
    return sum(status != WCStatus.SUCCESS for serial, status in ended.items() if serial >= oldest)


def rq_row(world: World, qp: QueuePair, name: str) -> QueueRow:
    """The receive queue in numbers. name: of the queue pair."""
    rq = qp.rq
    used, waiting, in_use = rq.used, len(rq.wqes), int(qp.resp.recv is not None)
    in_use = min(in_use, used - waiting)  # Soft-RoCE has given this slot back already
    return QueueRow(
        name=f"{name} receive queue",
        capacity=rq.capacity,
        used=used,
        free=rq.capacity - used,
        posted=rq.posted,
        waiting=waiting,
        on_wire=in_use,
        acked=used - waiting - in_use,
        failed=_failed(ends(world, qp, qp.recv_cq, is_send=False), rq.freed),
    )


Peak = tuple[int, int]


def peak(thing: Thing, queue: str, so_far: Peak, record: Record) -> Peak:
    """(used now, most ever used) of a work queue, carried on by one record."""
    if object_of(record) != thing.number or node_of(record) != thing.node:
        return so_far
    used, most = so_far
    if kind_of(record) is (Kind.SEND_POSTED if queue == "sq" else Kind.RECV_POSTED):
        return used + 1, max(most, used + 1)
    if kind_of(record) is Kind.SLOTS_FREED and rec.queue_of(record) == queue:
        return used - rec.slots_of(record), most
    emptied = kind_of(record) is Kind.STATE_CHANGED and rec.new_state_of(record) is QPState.RESET
    return (0, most) if emptied else so_far
