"""The work request of a packet: the one that it carries, or the one that it answers."""

from collections.abc import Container
from typing import TYPE_CHECKING

from rdmalab.command import Noun
from rdmalab.hca.psn import MASK
from rdmalab.session.interruption import check
from rdmalab.session.names import Names
from rdmalab.spec import records as rec
from rdmalab.spec.opcodes import Op
from rdmalab.spec.records import Kind, Record, kind_of, node_of, object_of
from rdmalab.spec.row import dataclass
from rdmalab.spec.states import QPState
from rdmalab.views import fmt
from rdmalab.wire.frame import Frame
from rdmalab.world.world import World

if TYPE_CHECKING:
    from rdmalab.hca.wr import SendWqe
    from rdmalab.wire.packet import Packet

_QueuePair = tuple[str, int]  # node, QP number


@dataclass(slots=True)
class RequestRow:
    """The work request of one packet, and the place of the packet in its message.

    number: the record that sent the packet. qp: whose request it is. part: which of the message's
    packets, from 1; 0 where the packet is no part of one. parts: how many there are. answers: the
    packet comes from the other end. again: the same packet left before.
    """

    number: int
    qp: str
    wqe: "SendWqe"
    part: int
    parts: int
    answers: bool
    again: bool

    @property
    def text(self) -> str:
        """`A.qp0 wr7 SEND 2000 B (packet 2 of 4), sent again`."""
        place = f" (packet {self.part} of {self.parts})" if self.part and self.parts > 1 else ""
        again = ", sent again" if self.again else ""
        return f"{self.qp} {fmt.send_wqe(self.wqe)}{place}{again}"


def request_rows(world: World, names: Names, numbers: Container[int]) -> dict[int, RequestRow]:
    """The requests of the packets that these records sent, as far as they have one."""
    walk = _Walk(world, names)
    found: dict[int, RequestRow] = {}
    many = len(world.trace.records)
    for number, record in enumerate(world.trace.records):
        check(number, many)
        row = walk.read(number, record)
        if row is not None and number in numbers:
            found[number] = row
    return found


class _Walk:
    """Through the trace from its beginning: PSNs mean nothing without what was started before."""

    def __init__(self, world: World, names: Names) -> None:
        self.world = world
        self.names = names
        self.started: dict[_QueuePair, list[SendWqe]] = {}
        self.sent: set[tuple[int, int]] = set()  # WQE, PSN
        self.frames: dict[int, int] = {}  # WQE → frames sent

    def read(self, number: int, record: Record) -> RequestRow | None:
        kind, who = kind_of(record), (node_of(record), object_of(record))
        if kind is Kind.WQE_STARTED:
            self.started.setdefault(who, []).append(rec.send_wqe_of(record))
        elif _clears_queue(record):
            self.started.pop(who, None)
        elif kind is Kind.PACKET_SENT:
            packet = rec.packet_of(record)
            if isinstance(packet, Frame):
                return self._of_frame(number, who)
            return self._of_packet(number, who, packet)
        return None

    def _of_frame(self, number: int, who: _QueuePair) -> RequestRow | None:
        """A frame has no PSN and is sent once: its request is the next of those started last."""
        if (started := self.started.get(who)) is None:
            return None
        wqe = started[-1]
        part = self.frames[id(wqe)] = self.frames.get(id(wqe), 0) + 1
        return self._row(number, who, wqe, part)

    def _of_packet(self, number: int, who: _QueuePair, packet: "Packet") -> RequestRow | None:
        op, answers = packet.opcode_row.op, not packet.opcode_row.request
        if answers:
            who = (fmt.ends_of(self.world, packet)[1], packet.dest_qp)
        wqe = self._wqe(who, packet.psn)
        if wqe is None:
            return None
        in_message = op not in (Op.RDMA_READ_REQUEST, Op.ACKNOWLEDGE, Op.ATOMIC_ACKNOWLEDGE)
        part = ((packet.psn - wqe.first_psn) & MASK) + 1 if in_message else 0
        row = self._row(number, who, wqe, part)
        row.answers = answers
        if not answers:
            # a READ that is asked for again may ask for its rest only
            key = (id(wqe), wqe.first_psn if op is Op.RDMA_READ_REQUEST else packet.psn)
            row.again = key in self.sent
            self.sent.add(key)
        return row

    def _wqe(self, who: _QueuePair, psn: int) -> "SendWqe | None":
        """The newest with this PSN: the circle may have come round."""
        for wqe in reversed(self.started.get(who, ())):
            if wqe.has_psn(psn):
                return wqe
        return None

    def _row(self, number: int, who: _QueuePair, wqe: "SendWqe", part: int) -> RequestRow:
        name = fmt.qp_name(self.names, *who)
        return RequestRow(number, name, wqe, part, _steps(wqe) + 1, answers=False, again=False)


def _steps(wqe: "SendWqe") -> int:
    """From its first PSN to its last."""
    return (wqe.last_psn - wqe.first_psn) & MASK


def _clears_queue(record: Record) -> bool:
    """True if the record clears what its queue pair has started."""
    kind = kind_of(record)
    if kind is Kind.STATE_CHANGED:
        return bool(rec.new_state_of(record) == QPState.RESET)
    return kind is Kind.CREATED and rec.noun_of(record) == Noun.QP
