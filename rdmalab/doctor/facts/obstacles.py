"""Lasting faults on the path: an address without a route, a link with a smaller MTU.

The faults of the cable stand for the network. A random or counted drop is a loss like any other; a
drop of every packet of a kind is a property of the network.
"""

from collections.abc import Callable
from typing import NamedTuple

from rdmalab.doctor.case import Case, Send
from rdmalab.doctor.finding import Evidence, Finding, Fix, Verdict
from rdmalab.spec.records import roce_packet_of
from rdmalab.spec.statuses import WCStatus
from rdmalab.views.fates import Fate
from rdmalab.views.ladder import PacketRow
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
    """The fault that drops each frame longer than a limit."""
    return _obstacle(case, lambda match: match.longer is not None)


def unrouted_address(case: Case) -> Obstacle | None:
    """The fault that drops each packet to or from one address."""
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
    """How many bytes of payload a packet like those lost may have to get through."""
    packet = found.packet(case)
    return (found.match.longer or 0) - (wire_length(packet) - len(packet.payload))
