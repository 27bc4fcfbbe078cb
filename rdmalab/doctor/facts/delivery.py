"""The packets of a send: its last try, the losses, lasting faults on the path.

The faults of the cable stand for the network. A random or counted drop is a loss like any other; a
drop of every packet of a kind is a property of the network.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from rdmalab.doctor.case import Case, QueuePair, Send
from rdmalab.doctor.evidence.finding import Evidence, Finding, Fix, Verdict
from rdmalab.hca.psn import diff
from rdmalab.spec import records as rec
from rdmalab.spec.opcodes import OPCODES
from rdmalab.spec.records import Kind
from rdmalab.spec.statuses import WCStatus
from rdmalab.views.fates import Fate
from rdmalab.views.ladder import PacketRow
from rdmalab.wire.packet import Packet, wire_length
from rdmalab.world.faults import Corrupt, Drop, Match
from rdmalab.world.network import NEVER_LEFT


class Obstacle(NamedTuple):
    """A lasting fault, and the packets or answers of a send that it took, oldest first."""

    match: Match
    lost: list[PacketRow]

    def packet(self, case: Case, index: int = -1) -> Packet:
        """One of the packets that were lost."""
        return rec.roce_packet_of(case.world.trace.records[self.lost[index].number])


def narrow_link(case: Case) -> Obstacle | None:
    """The fault that drops each frame longer than a limit."""
    return _obstacle(case, lambda match: match.longer is not None)


def unrouted_address(case: Case) -> Obstacle | None:
    """The fault that drops each packet to or from one address."""
    return _obstacle(case, lambda match: match.gid is not None)


def _obstacle(case: Case, wanted: Callable[[Match], bool]) -> Obstacle | None:
    """The fault that took the newest packet or answer of the send; None if none did."""
    send = case.send
    if send is None or _arrived(send, asked=case.asked):
        return None
    lost = sorted(_lost(send), key=lambda row: row.number)
    if not lost:
        return None
    for fault in case.world.network.cable.faults:
        match = fault.match
        if isinstance(fault, Drop) and wanted(match) and _is_lasting(match):
            taken = [row for row in lost if row.reason == f"fault {fault.number}: {fault}"]
            if taken and taken[-1] is lost[-1]:
                return Obstacle(match, taken)
    return None


def _lost(send: Send) -> list[PacketRow]:
    return [row for row in (*send.transmissions, *send.answers) if row.fate is Fate.LOST]


def _arrived(send: Send, *, asked: bool) -> bool:
    """Whether it succeeded: acknowledged, or on UC and UD if the user did not ask about it."""
    good = send.ending is not None and send.ending.status is WCStatus.SUCCESS
    return good and (not asked or send.qp is None or send.qp.transport.acknowledged)


def finding(
    case: Case, *evidence: Evidence, cure: Fix | None = None, since: int | None = None
) -> Finding:
    """A cause; only a warning while it is still retried and the user did not ask about it."""
    tried = case.send is not None and case.send.ending is None
    verdict = Verdict.WARN if tried and not case.asked else Verdict.FAIL
    return Finding(verdict, list(evidence), cure, since)


def _is_lasting(match: Match) -> bool:
    """Whether it drops every such packet, not only some of them."""
    some = (match.nth, match.every, match.chance, match.count, match.psn, match.qp)
    return some == (None,) * len(some) and not match.opcode


def longest_payload(case: Case, found: Obstacle) -> int:
    """Most bytes of payload with which a packet like those lost would get through."""
    packet = found.packet(case)
    return (found.match.longer or 0) - (wire_length(packet) - len(packet.payload))


_DONE = (Kind.MEMORY_WRITTEN, Kind.RECV_TAKEN, Kind.MEMORY_FLUSHED)
_PORTS = (*NEVER_LEFT, "the link is down")
_FAULT = "fault "
_HARMED = "malformed"


def by_port(row: PacketRow) -> bool:
    """Whether a port or the link dropped the packet."""
    return (row.fate is Fate.LOST and row.reason in _PORTS) or row.reason == "port-down"


def by_fault(row: PacketRow) -> bool:
    """Whether a fault dropped the packet, or corrupted it so that the receiver dropped it."""
    lost = row.fate is Fate.LOST and row.reason.startswith(_FAULT)
    return lost or (row.fate is Fate.DROPPED and row.reason.startswith(_HARMED))


def fate_of(row: PacketRow) -> str:
    """`SEND_ONLY psn=0 from A is lost: fault 1: drop`."""
    return f"{row.label} psn={row.psn} from {row.source} is {row.fate_text}"


def faults_of(case: Case, rows: Iterable[PacketRow]) -> list[int]:
    """The numbers of the faults that took them: `fault 3: drop A->B`; harm is not signed."""
    found: list[int] = []
    for row in rows:
        digits = row.reason.removeprefix(_FAULT).partition(":")[0]
        if digits.isdecimal():
            found.append(int(digits))
        else:
            found += [f.number for f in case.world.network.cable.faults if isinstance(f, Corrupt)]
    return list(dict.fromkeys(found))


def last_try(case: Case) -> list[PacketRow]:
    """The packets of a send that left since its queue pair last went back, or of all it left."""
    send = case.send
    if send is None or not send.transmissions:
        return []
    rows, back = send.transmissions, case.log.last(Kind.WENT_BACK, case.subject.thing)
    return [row for row in rows if back is None or row.event >= back] or rows[-1:]


def answers(case: Case) -> list[PacketRow]:
    """Packets sent to the queue pair since the last try that would have answered it."""
    send, wqe = case.send, case.wqe
    if send is None or wqe is None or not (tried := last_try(case)):
        return []
    gids = {gid for gid in case.hca.gids if gid}
    found = [
        record for record in case.log.since(tried[0].event, Kind.PACKET_SENT)
        if isinstance(packet := rec.packet_of(record), Packet) and packet.dest_qp == send.number
        and packet.flow.dst in gids and _answers(packet, wqe.first_psn)
    ]  # fmt: skip
    return case.log.packets(found[-8:])


def _answers(packet: Packet, psn: int) -> bool:
    row = OPCODES.get(packet.opcode)
    return row is not None and not row.request and diff(packet.psn, psn) >= 0


def carried_out(case: Case) -> int | None:
    """The event in which the peer did what the last packet of a send asks, if it did."""
    send, peer = case.send, case.peer
    wqe = send.wqe if send is not None else None
    if send is None or wqe is None or peer is None or send.since is None:
        return None
    for record in case.log.about(Kind.PACKET_RECEIVED, peer.thing):
        packet, event = rec.packet_of(record), int(rec.event_of(record))
        own = event > send.since and packet.psn == wqe.last_psn and _is_from(packet, case)
        if own and (wqe.length == 0 or _does(case, peer, event)):
            return event
    return None


def _is_from(packet: Packet, case: Case) -> bool:
    row = OPCODES.get(packet.opcode)
    return row is not None and row.request and packet.flow.src in case.hca.gids


def _does(case: Case, peer: QueuePair, event: int) -> bool:
    """Whether something was done in this event, not only received."""
    return any(
        rec.kind_of(r) in _DONE and rec.place_of(r) == (peer.node, peer.number)
        for r in case.log.within(event)
    )
