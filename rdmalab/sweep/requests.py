"""The requests of a replay that completed with SUCCESS: their payload, direction and latency."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from rdmalab.command import NotUnderstood, Noun, Thing
from rdmalab.session.session import Session
from rdmalab.spec import records as rec
from rdmalab.spec.records import Kind
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import Local
from rdmalab.world.relations import find_qp, peer_node


@dataclass(frozen=True, slots=True)
class Request:
    """One completed request of the queue pair `number` of `node`.

    octets: of its payload. local: whether its node read or wrote them. latency_ns: from its post
    to its completion; None if it was posted before.
    """

    node: str
    number: int
    octets: int
    local: Local
    latency_ns: int | None


def requests(session: Session, first_record: int) -> Iterator[Request]:
    """Those that completed since a record, in order."""
    posted: dict[tuple[str, int, int], int] = {}
    for record in islice(session.world.trace.records, first_record, None):
        kind = rec.kind_of(record)
        if kind is Kind.SEND_POSTED:
            posted[(*rec.place_of(record), rec.send_wqe_of(record).serial)] = rec.at_ns_of(record)
        elif kind is Kind.WQE_COMPLETED:
            wqe, (node, number) = rec.send_wqe_of(record), rec.place_of(record)
            at_ns = posted.pop((node, number, wqe.serial), None)
            if rec.status_of(record) is WCStatus.SUCCESS:
                latency_ns = None if at_ns is None else rec.at_ns_of(record) - at_ns
                local = Local.NONE if wqe.work is None else wqe.work.local
                yield Request(node, number, wqe.length, local, latency_ns)


def peer(session: Session, node: str, number: int) -> str:
    """The node that the payload of a queue pair goes to or comes from.

    Raises NotUnderstood if the queue pair does not exist any more, and if SUCCESS does not mean
    that the peer has the payload.
    """
    name = session.names.of(Thing(Noun.QP, node, number))
    qp = find_qp(session.world, node, number)
    if qp is None:
        raise NotUnderstood(f"{name} was destroyed: the direction of its requests is not known")
    if not qp.transport.acknowledged:
        wrong = f"{name} is {qp.qp_type.name}: SUCCESS does not mean that its peer has the bytes"
        raise NotUnderstood(wrong, hint="measure the completions of the receiver")
    return peer_node(session.world, qp)
