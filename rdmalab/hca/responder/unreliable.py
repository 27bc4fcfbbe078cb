"""Messages without acknowledgement (UC, transport.md 12): bad ones are dropped unanswered."""

from rdmalab.hca import dma, flush, offloads, srq, steering
from rdmalab.hca.adapter import Adapter
from rdmalab.hca.psn import MASK
from rdmalab.hca.qp import QueuePair
from rdmalab.hca.responder import checks, execute
from rdmalab.spec.limits import PortState
from rdmalab.spec.opcodes import Opcode
from rdmalab.spec.records import Kind
from rdmalab.spec.states import QPState
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import WCFlags, WCOpcode
from rdmalab.wire.frame import Frame
from rdmalab.wire.headers import GRH
from rdmalab.wire.links import before_datagram
from rdmalab.wire.packet import Packet, mac_of
from rdmalab.wire.roce import Malformed, decode, encode


def receive(hca: Adapter, qp: QueuePair, packet: Packet, row: Opcode) -> None:
    """A FIRST or ONLY starts a message, whatever was lost; the rest must follow without gap."""
    resp = qp.resp
    if row.starts:
        # Nothing is ever sent again, so its PSN becomes the expected one (transport.md 12).
        resp.op, resp.psn = None, packet.psn
    elif packet.psn != resp.psn or row.op is not resp.op:
        resp.op = None
        # A receive that is half filled serves the next message, without a completion in between;
        # bytes of a WRITE that were placed stay where they are.
        hca.drop(qp, packet, "rest-of-message")
        return
    for check in checks.LINES[packet.opcode]:
        if (name := check(hca, qp, packet, row)) is not None:
            refuse(hca, qp, packet, name)
            return
    if (name := execute.EXECUTE[row.op](hca, qp, packet, row)) is not None:
        refuse(hca, qp, packet, name)
        return
    resp.psn = (resp.psn + 1) & MASK


def refuse(hca: Adapter, qp: QueuePair, packet: Packet | Frame, name: str) -> None:
    """Drop the message; its receive WQE is used by the next, unless the WQE is the reason."""
    refusal = hca.profile.refusals[name]
    qp.resp.op = None
    qp.resp.solicited = packet.solicited
    if not refusal.breaks:
        hca.drop(qp, packet, name)
        return
    hca.trace.record(Kind.REQUEST_REFUSED, hca.node, qp.number, packet, name)
    if qp.state is not QPState.ERR:  # an overrun CQ may have killed it already
        flush.fail(hca, qp, refusal.status or WCStatus.WR_FLUSH_ERR)


# --------------------------------------------------------------------------- datagrams
_CHECKED = int(WCFlags.IP_CSUM_OK)


def receive_datagram(hca: Adapter, qp: QueuePair, packet: Packet, row: Opcode) -> None:
    """Place a datagram into the oldest receive; without one it is dropped without an error."""
    name = checks.check_receive(hca, qp, packet, row) or _place_datagram(hca, qp, packet)
    if name is not None:
        refuse(hca, qp, packet, name)


def _place_datagram(hca: Adapter, qp: QueuePair, packet: Packet) -> str | None:
    """Place the header into the first 40 bytes, the data after them; both must fit."""
    resp, length = qp.resp, len(packet.payload)
    # The first 40 bytes are the header's, also where the packet brought none.
    # Too short: LOC_LEN_ERR and ERR by the standard, dropped unseen by Soft-RoCE 6.12 (measured).
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


# --------------------------------------------------------------------------- raw frames
def receive_frame(hca: Adapter, frame: Frame) -> None:
    """Deliver a frame by flow rules, to the RDMA engines, or drop it."""
    if hca.port_state is not PortState.ACTIVE:
        hca.drop(None, frame, "port-down")
        return
    if hca.lids:
        hca.drop(None, frame, "wrong-link-layer")
        return
    if frame.is_roce and frame.dst_mac in (hca.mac, *map(mac_of, hca.groups)):
        _receive_as_packet(hca, frame)
        return
    targets = list(dict.fromkeys([*steering.sniffers(hca), *steering.steer(hca, frame)]))
    if not targets:
        hca.drop(None, frame, "no-flow")
    for number in targets:
        _deliver(hca, hca.qps.items[number], frame)


def _receive_as_packet(hca: Adapter, frame: Frame) -> None:
    """Decode an RDMA packet that a program wrote as a frame; a port cannot distinguish it."""
    try:
        packet = decode(frame.octets)
    except Malformed as malformed:
        hca.drop(None, frame, "malformed", f"malformed: {malformed}")
        return
    hca.receive(packet, hca.now_ns)


def sniff(hca: Adapter, packet: Packet) -> None:
    """Give a copy of an RDMA packet to the queue pairs with a SNIFFER rule."""
    for number in steering.sniffers(hca):
        qp = hca.qps.items[number]
        if qp.state_row.receives:
            _place_frame(hca, qp, Frame(encode(packet)))


def _deliver(hca: Adapter, qp: QueuePair, frame: Frame) -> None:
    if not qp.state_row.receives:
        hca.drop(qp, frame, "not-ready")
        return
    hca.trace.record(Kind.PACKET_RECEIVED, hca.node, qp.number, frame)
    if (name := _place_frame(hca, qp, frame)) is not None:
        refuse(hca, qp, frame, name)


def _place_frame(hca: Adapter, qp: QueuePair, frame: Frame) -> str | None:
    """Into the oldest receive, from its first byte on: there is no GRH."""
    if not qp.source.wqes and qp.resp.recv is None:
        return "no-receive"
    execute.take_receive(hca, qp, frame)
    resp, wqe = qp.resp, qp.resp.recv
    assert wqe is not None
    length = len(frame.octets)
    if length > wqe.length:
        return "receive-short"
    if dma.scatter(hca, srq.receiver(hca, qp, wqe), wqe.sg, 0, frame.octets) is not None:
        return "receive-denied"
    resp.received = length
    flags = _CHECKED if offloads.sums_fit(hca, qp, frame.octets) else 0
    return execute.complete_receive(hca, qp, frame, WCOpcode.RECV, flags)
