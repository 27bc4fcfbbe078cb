"""Datagrams (transport.md 13): one packet, one receive, 40 bytes for the header."""

from typing import TYPE_CHECKING

from rdmalab.hca import dma, offloads, srq
from rdmalab.hca.qp import QueuePair
from rdmalab.hca.responder import checks, execute, unreliable
from rdmalab.spec.opcodes import Opcode
from rdmalab.spec.work import WCFlags, WCOpcode
from rdmalab.wire.headers import GRH
from rdmalab.wire.links import before_datagram
from rdmalab.wire.packet import Packet

if TYPE_CHECKING:
    from rdmalab.hca.device import Hca

_CHECKED = int(WCFlags.IP_CSUM_OK)


def receive(hca: "Hca", qp: QueuePair, packet: Packet, row: Opcode) -> None:
    """Place a datagram into the oldest receive; without one it is dropped without an error."""
    name = checks.check_receive(hca, qp, packet, row) or _place(hca, qp, packet)
    if name is not None:
        unreliable.refuse(hca, qp, packet, name)


def _place(hca: "Hca", qp: QueuePair, packet: Packet) -> str | None:
    """Place the header into the first 40 bytes, the data after them; both must fit."""
    resp, length = qp.resp, len(packet.payload)
    is_short = GRH.LENGTH + length > (resp.recv or qp.source.wqes[0]).length
    if is_short and not hca.profile.short_receive_breaks_ud:
        hca.drop(qp, packet, "receive-short")
        return None
    execute.take_receive(hca, qp, packet)
    if is_short:
        return "receive-short"
    wqe = resp.recv
    assert wqe is not None
    header = before_datagram(packet)
    # IPv4 fills the last half, a packet without GRH nothing; the rest is left as it was.
    unused = GRH.LENGTH - len(header)
    if hca.profile.clears_unused_grh:
        header, unused = bytes(unused) + header, 0
    octets = header + packet.payload
    if dma.scatter(hca, srq.receiver(hca, qp, wqe), wqe.sg, unused, octets) is not None:
        return "receive-denied"
    resp.received = GRH.LENGTH + length
    flags = _CHECKED if offloads.sums_fit(hca, qp, packet.payload) else 0
    return execute.complete_receive(hca, qp, packet, WCOpcode.RECV, flags)
