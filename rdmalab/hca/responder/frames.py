"""Ethernet frames that have arrived: flow rules say which RAW_PACKET queue pairs get them."""

from typing import TYPE_CHECKING

from rdmalab.hca import dma, offloads, srq, steering
from rdmalab.hca.responder import execute, unreliable
from rdmalab.spec.limits import PortState
from rdmalab.spec.records import Kind
from rdmalab.spec.work import WCFlags, WCOpcode
from rdmalab.wire.frame import Frame
from rdmalab.wire.packet import mac_of
from rdmalab.wire.roce import Malformed, decode, encode

if TYPE_CHECKING:
    from rdmalab.hca.device import Hca
    from rdmalab.hca.qp import QueuePair
    from rdmalab.wire.packet import Packet

_CHECKED = int(WCFlags.IP_CSUM_OK)


def receive(hca: "Hca", frame: Frame) -> None:
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


def _receive_as_packet(hca: "Hca", frame: Frame) -> None:
    """Decode an RDMA packet that a program wrote as a frame; a port cannot distinguish it."""
    try:
        packet = decode(frame.octets)
    except Malformed as malformed:
        hca.drop(None, frame, "malformed", f"malformed: {malformed}")
        return
    hca.receive(packet, hca.now_ns)


def sniff(hca: "Hca", packet: "Packet") -> None:
    """Give a copy of an RDMA packet to the queue pairs with a SNIFFER rule."""
    for number in steering.sniffers(hca):
        qp = hca.qps.items[number]
        if qp.state_row.receives:
            _place(hca, qp, Frame(encode(packet)))


def _deliver(hca: "Hca", qp: "QueuePair", frame: Frame) -> None:
    if not qp.state_row.receives:
        hca.drop(qp, frame, "not-ready")
        return
    hca.trace.record(Kind.PACKET_RECEIVED, hca.node, qp.number, frame)
    if (name := _place(hca, qp, frame)) is not None:
        unreliable.refuse(hca, qp, frame, name)


def _place(hca: "Hca", qp: "QueuePair", frame: Frame) -> str | None:
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
