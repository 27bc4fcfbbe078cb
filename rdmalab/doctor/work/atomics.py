"""Atomics on a word of this node: which there were, and what each found."""

from typing import NamedTuple

from rdmalab.doctor.work.content import Content, Touch
from rdmalab.doctor.work.messages import Message
from rdmalab.spec.opcodes import ATOMIC_BYTES, FETCHING_OPS
from rdmalab.spec.records import Kind, event_of, kind_of, packet_of
from rdmalab.wire.packet import Packet

MOST = 64  # that are looked into


class Atomic(NamedTuple):
    """One that was carried out. original: what it found; wrote: whether it changed the word."""

    touch: Touch
    message: Message
    original: int
    wrote: bool


def atomics(content: Content) -> list[Atomic]:
    """The newest on a word among the bytes that are asked about, oldest first."""
    found = []
    for touch in content.touches(Kind.MEMORY_READ)[-MOST:]:
        message = content.message(touch) if touch.piece[1] == ATOMIC_BYTES else None
        if message is not None and message.wqe.op in FETCHING_OPS:
            wrote = any(kind_of(r) is Kind.MEMORY_WRITTEN for r in content.log.within(touch.event))
            found.append(Atomic(touch, message, _original(content, touch, message), wrote))
    return found


def _original(content: Content, touch: Touch, message: Message) -> int:
    """The original value in the atomic response; 0 while none was sent."""
    for _, record in content.log.of(Kind.PACKET_SENT, content.node, touch.qp):
        packet = packet_of(record)
        answer = packet.atomicacketh if isinstance(packet, Packet) else None
        same = answer is not None and packet.psn == message.packet.psn
        if answer is not None and same and event_of(record) >= touch.event:
            return answer.original
    return 0
