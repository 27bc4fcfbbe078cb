"""Warnings at a post: work requests for which documents and devices differ."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from rdmalab.command import Noun, Thing
from rdmalab.hca import offloads
from rdmalab.hca.device import Hca
from rdmalab.hca.invalid_pointers import listed
from rdmalab.hca.objects import MemoryRegion
from rdmalab.hca.qp import QueuePair
from rdmalab.hca.wr import SGE, SendWqe
from rdmalab.session.session import Session
from rdmalab.spec.causes import warning
from rdmalab.spec.document_differences import DIFFERENCES
from rdmalab.spec.records import Kind, Record, kind_of, node_of, object_of, recv_wqe_of, send_wqe_of
from rdmalab.spec.states import QPType
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import FLAG_TYPES, WORK, SendFlags, WROpcode
from rdmalab.views import fmt
from rdmalab.world.relations import peer_node

_FENCE = int(SendFlags.FENCE)  # an IntFlag takes ten times as long to test


def fails_later(status: WCStatus, key: str, **values: object) -> str:
    """The warning, and that a real HCA accepts the request now and completes it with `status`."""
    return f"{warning(key, **values)} {warning('later', status=status.name)}"


class WarningContext(NamedTuple):
    """One record of the last event, with the device on which it happened."""

    session: Session
    hca: Hca
    record: Record

    def name(self, noun: Noun, number: int) -> str:
        """The name of an object of this node."""
        return self.session.names.of(Thing(noun, self.hca.node, number))

    @property
    def qp(self) -> QueuePair:
        """The queue pair of the record."""
        found: QueuePair = self.hca.qps.items[object_of(self.record)]
        return found


WarningChecks = dict[Kind, Callable[[WarningContext], Iterator[str]]]


def records_of(session: Session, event: int) -> list[Record]:
    """The records of this event."""
    records = session.world.trace.records
    span = records.span(event)
    return records[span.start : span.stop]


def looked_at(session: Session, records: list[Record], looks: WarningChecks) -> list[str]:
    """Warnings of `looks` about the records of an event, each sentence once."""
    world = session.world
    found: list[str] = []
    for record in records:
        check = looks.get(kind_of(record))
        if check is not None and node_of(record) in world.nodes:
            found += check(WarningContext(session, world.nodes[node_of(record)], record))
    return list(dict.fromkeys(found))


def send_departs(moment: WarningContext) -> Iterator[str]:
    """Differences of documents and devices for a send that was posted."""
    wqe = send_wqe_of(moment.record)
    if wqe.inline is None:
        yield from _zero_length(moment.hca, listed(wqe.wr))
    yield from _long_datagram(moment, wqe)
    yield from _long_message(moment, wqe)
    yield from _without_packet(moment, wqe)
    yield from _invalidates_nothing(moment, wqe)
    yield from _fenced(moment, wqe)


def _invalidates_nothing(moment: WarningContext, wqe: SendWqe) -> Iterator[str]:
    """A SEND_WITH_INV whose key is a region's, or that arrives where no window is bound."""
    qp = moment.qp
    if wqe.work is None or wqe.wr.opcode != WROpcode.SEND_WITH_INV or qp.state_row.flushes_sends:
        return
    found, key = None, wqe.wr.invalidate_rkey
    if qp.transport.names_srq and moment.hca.profile.checks_window_qp:
        found = DIFFERENCES["xrc-send-with-inv"]
    else:
        world = moment.session.world
        peer = world.nodes.get(peer_node(world, qp))
        if peer is not None and isinstance(peer.rkeys.get(key), MemoryRegion):
            found = DIFFERENCES["send-inv-region"]
    if found is not None:
        yield warning("not-invalidated", rkey=key, reason=found.sentence)


def _fenced(moment: WarningContext, wqe: SendWqe) -> Iterator[str]:
    """FENCE after requests that it does not wait for."""
    qp = moment.qp
    if not int(wqe.wr.flags) & _FENCE or qp.qp_type not in FLAG_TYPES[SendFlags.FENCE]:
        return
    others = [
        fmt.wr(each.wr.wr_id)
        for serial, each in qp.sq.wqes.items()
        if serial >= qp.comp.serial and each is not wqe
        if each.op is not None and each.work is not None and not each.work.outstanding
    ]
    if others:
        reason = DIFFERENCES["fence-prior-work"].sentence
        yield warning("ordering", others=", ".join(others), reason=reason)


def recv_departs(moment: WarningContext) -> Iterator[str]:
    """Differences of documents and devices for a receive that was posted."""
    wqe = recv_wqe_of(moment.record)
    yield from _zero_length(moment.hca, listed(wqe.wr))


def _zero_length(hca: Hca, sg: list[SGE]) -> Iterator[str]:
    """Length 0 is 2^31 bytes to the documents; the profile decides what this device takes."""
    if all(sge.length for sge in sg):
        return
    row, octets = DIFFERENCES["zero-length-sge"], hca.profile.zero_sge_bytes
    yield warning("sge-zero", octets=octets, reason=row.sentence)


def _long_datagram(moment: WarningContext, wqe: SendWqe) -> Iterator[str]:
    """C10-93.1.1, and devices that report it."""
    qp, length = moment.qp, offloads.longest(wqe)
    if not qp.transport.addressed or wqe.op is None or qp.state_row.flushes_sends:
        return
    if qp.path is None or length <= (mtu := qp.path.mtu):
        return
    status = moment.hca.profile.long_datagram_status
    yield warning("ud-too-long", length=length, mtu=mtu, status=status.name)
    yield f"{DIFFERENCES['long-datagram'].sentence}."


def _long_message(moment: WarningContext, wqe: SendWqe) -> Iterator[str]:
    """A message longer than max_msg_sz that the driver did not refuse."""
    qp, profile = moment.qp, moment.hca.profile
    most, status = profile.caps.max_msg_sz, profile.long_message_status
    if wqe.length <= most or not qp.transport.connected or wqe.op is None:
        return
    if status is not WCStatus.SUCCESS and not qp.state_row.flushes_sends:
        yield warning("loc-len/message", length=wqe.length, most=most, status=status.name)
        yield f"{DIFFERENCES['long-message'].sentence}."


def _without_packet(moment: WarningContext, wqe: SendWqe) -> Iterator[str]:
    """An opcode that the documents list for a type which has no packet for it."""
    known = WORK.get(wqe.wr.opcode)
    qp = moment.qp
    if wqe.work is None and known is not None and qp.qp_type in known.types:
        names = {"type": qp.qp_type.name, "opcode": wqe.wr.opcode.name}
        yield fails_later(WCStatus.LOC_QP_OP_ERR, "loc-qp-op", **names)
        if (wqe.wr.opcode, qp.qp_type) == (WROpcode.SEND_WITH_INV, QPType.UC):
            yield f"{DIFFERENCES['uc-send-with-inv'].sentence}."


DEVICE_WARNINGS: WarningChecks = {
    Kind.SEND_POSTED: send_departs,
    Kind.RECV_POSTED: recv_departs,
    Kind.SRQ_POSTED: recv_departs,
}
