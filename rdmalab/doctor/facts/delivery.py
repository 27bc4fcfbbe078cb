"""What became of the packets of a send: its last try, the losses, whether it was carried out."""

from collections.abc import Iterable

from rdmalab.doctor.case import Case, QueuePair
from rdmalab.hca.psn import diff
from rdmalab.spec.opcodes import OPCODES
from rdmalab.spec.records import Kind, event_of, kind_of, node_of, object_of, packet_of
from rdmalab.views.fates import Fate
from rdmalab.views.ladder import PacketRow
from rdmalab.wire.packet import Packet
from rdmalab.world.faults import Corrupt
from rdmalab.world.network import NEVER_LEFT

_DONE = (Kind.MEMORY_WRITTEN, Kind.RECV_TAKEN, Kind.MEMORY_FLUSHED)
_PORTS = (*NEVER_LEFT, "the link is down")
_FAULT = "fault "
_HARMED = "malformed"


def by_port(row: PacketRow) -> bool:
    """A port or the link took it."""
    return (row.fate is Fate.LOST and row.reason in _PORTS) or row.reason == "port-down"


def by_fault(row: PacketRow) -> bool:
    """Whether a fault dropped the packet, or corrupted it so that the receiver dropped it."""
    lost = row.fate is Fate.LOST and row.reason.startswith(_FAULT)
    return lost or (row.fate is Fate.DROPPED and row.reason.startswith(_HARMED))


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
    rows, back = send.transmissions, _last_back(case)
    return [row for row in rows if row.event >= back] or rows[-1:]


def _last_back(case: Case) -> int:
    found = case.log.about(Kind.WENT_BACK, case.subject.thing)
    return event_of(found[-1]) if found else -1


def answers(case: Case) -> list[PacketRow]:
    """What was sent to the queue pair since the last try, and would have answered it."""
    send, wqe = case.send, case.wqe
    if send is None or wqe is None or not (tried := last_try(case)):
        return []
    gids = {gid for gid in case.hca.gids if gid}
    found = [
        record for record in case.log.since(tried[0].event, Kind.PACKET_SENT)
        if isinstance(packet := packet_of(record), Packet) and packet.dest_qp == send.number
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
        packet, event = packet_of(record), int(event_of(record))
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
        kind_of(r) in _DONE and (node_of(r), object_of(r)) == (peer.node, peer.number)
        for r in case.log.within(event)
    )
