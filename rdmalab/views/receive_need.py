"""Whether a queue pair needs a receive: a message found none, or the peer has sent for one."""

from typing import Annotated

from rdmalab.command import Thing
from rdmalab.hca.psn import diff
from rdmalab.hca.qp import QueuePair
from rdmalab.session.names import Names
from rdmalab.spec import records as rec
from rdmalab.spec.records import Kind, Record, kind_of, node_of, object_of
from rdmalab.spec.row import dataclass
from rdmalab.views import fmt
from rdmalab.views.columns import Col, Meaning, describe, words
from rdmalab.world.relations import partner_of
from rdmalab.world.world import World

_POSTED = (Kind.RECV_POSTED, Kind.SRQ_POSTED)


@dataclass(slots=True)
class NeedRow:
    """A queue pair without a receive, and the message that needs one."""

    qp: Annotated[str, "its name"]
    missed: Annotated[int | None, "the event in which a message found no receive"]
    due: Annotated[str, "the work request of the peer that will need one; empty if none is known"]

    @property
    def text(self) -> str:
        """`B.qp0 no receive is posted: a message found none ev 17`."""
        return words(self)


describe(
    NeedRow,
    Col("qp", Meaning.NAME),
    Col(
        "need",
        Meaning.ATTENTION,
        "no receive is posted: {}",
        of=lambda row: f"{row.due} will need one" if row.missed is None else "a message found none",
    ),
    Col("event", Meaning.EVENT, "ev {}", of=lambda row: row.missed),
)


def need_row(world: World, names: Names, thing: Thing) -> NeedRow | None:
    """The need of one QP; None if a receive is posted, or none is needed yet.

    A queue that is empty is no mistake: a requester of RDMA WRITEs has no receive all its life.
    """
    qp = world.find(thing, QueuePair)
    is_open = qp.state_row.receives and qp.transport.receives
    if not is_open or qp.transport.names_srq or qp.source.wqes or qp.resp.recv is not None:
        return None
    missed, due = _missed(world, thing, qp), _due(world, names, qp)
    return NeedRow(names.of(thing), missed, due) if due or missed is not None else None


def _missed(world: World, thing: Thing, qp: QueuePair) -> int | None:
    """The newest event in which a message found none, if nothing was posted and reset since."""
    refused = Kind.REQUEST_REFUSED if qp.transport.acknowledged else Kind.PACKET_DROPPED
    for number, record in world.trace.records.of_kind(refused):
        if not _is_of(record, thing) or rec.reason_of(record) != "no-receive":
            continue
        later = world.trace.since(number)
        return None if any(_ends(each, thing, qp) for each in later) else rec.event_of(record)
    return None


def _ends(record: Record, thing: Thing, qp: QueuePair) -> bool:
    """Whether a receive was posted, or the QP was reset: the message before is not the point."""
    if kind_of(record) in _POSTED:
        source = qp.srq or thing.number
        return node_of(record) == thing.node and object_of(record) == source
    return kind_of(record) is Kind.STATE_CHANGED and _is_of(record, thing)


def _is_of(record: Record, thing: Thing) -> bool:
    return object_of(record) == thing.number and node_of(record) == thing.node


def _due(world: World, names: Names, qp: QueuePair) -> str:
    """The oldest work request of its peer that takes a receive and has not been carried out."""
    peer = partner_of(world, qp)
    if peer is None:
        return ""
    for serial, wqe in peer.sq.wqes.items():
        if serial < peer.comp.serial or wqe.work is None or not wqe.work.consumes_receive:
            continue
        if diff(qp.resp.psn, wqe.last_psn) <= 0:  # else only its ACK is under way
            return f"{fmt.send_wqe(wqe)} of {fmt.qp_name(names, peer.node, peer.number)}"
    return ""
