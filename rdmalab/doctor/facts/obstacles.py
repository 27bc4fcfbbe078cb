"""What lies on the way for good: an address that nobody routes, a link that is too narrow.

The cable's faults play the network here. One that strikes by chance or by count is a loss like any
other; one that takes every packet of a kind is how that network is made.
"""

from collections.abc import Callable
from typing import NamedTuple

from rdmalab.doctor.case import Case
from rdmalab.doctor.finding import Evidence, Finding, Fix, Verdict
from rdmalab.doctor.work.send import Send
from rdmalab.spec.records import roce_packet_of
from rdmalab.spec.statuses import WCStatus
from rdmalab.views.ladder import Fate, PacketRow
from rdmalab.wire.packet import Packet, wire_length
from rdmalab.world.faults import Drop, Match


class Obstacle(NamedTuple):
    """What took packets of a send, or their answers, and which of them, oldest first."""

    match: Match
    lost: list[PacketRow]

    def packet(self, case: Case, index: int = -1) -> Packet:
        """One of the packets that were lost."""
        return roce_packet_of(case.world.trace.records[self.lost[index].number])


def narrow_link(case: Case) -> Obstacle | None:
    """It lets no frame by that is longer than some."""
    return _obstacle(case, lambda match: match.longer is not None)


def dead_address(case: Case) -> Obstacle | None:
    """Whatever goes to some address, or comes from it, is lost."""
    return _obstacle(case, lambda match: match.gid is not None)


def _obstacle(case: Case, wanted: Callable[[Match], bool]) -> Obstacle | None:
    """What took the newest packet of the send that is asked about, or the newest answer."""
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
    """An acknowledged success is one; any other only where nobody asks."""
    good = send.ending is not None and send.ending.status is WCStatus.SUCCESS
    return good and (not asked or send.qp is None or send.qp.transport.acknowledged)


def finding(
    case: Case, *evidence: Evidence, cure: Fix | None = None, since: int | None = None
) -> Finding:
    """A cause; a suspicion only, while it is still tried and nobody asks."""
    tried = case.send is not None and case.send.ending is None
    verdict = Verdict.WARN if tried and not case.asked else Verdict.FAIL
    return Finding(verdict, list(evidence), cure, since)


def _is_lasting(match: Match) -> bool:
    """It takes every such packet on its way; what takes some of them is a loss like any other."""
    some = (match.nth, match.every, match.chance, match.count, match.psn, match.qp)
    return some == (None,) * len(some) and not match.opcode


def longest_payload(case: Case, found: Obstacle) -> int:
    """How many bytes of payload a packet like those lost may have to get through."""
    packet = found.packet(case)
    return (found.match.longer or 0) - (wire_length(packet) - len(packet.payload))
