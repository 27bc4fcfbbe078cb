"""Fate of a packet: where it ended, why, and which completions its arrival added."""

from collections.abc import Sequence
from dataclasses import field
from enum import IntEnum, auto
from typing import NamedTuple

from rdmalab.command import Noun, Thing
from rdmalab.hca import dma
from rdmalab.hca.objects import KeyTarget, MemoryRegion
from rdmalab.hca.psn import MASK
from rdmalab.hca.responder.checks import rights_for
from rdmalab.session.interruption import check
from rdmalab.session.names import Names
from rdmalab.spec import records as rec
from rdmalab.spec.opcodes import ATOMIC_BYTES, OPCODES
from rdmalab.spec.records import Kind, Record, kind_of, node_of, object_of
from rdmalab.spec.row import dataclass
from rdmalab.spec.states import QPState
from rdmalab.views import fmt
from rdmalab.views.key_denials import Denial, denial_text
from rdmalab.views.record_text import thing_of
from rdmalab.wire.frame import Frame
from rdmalab.wire.packet import Packet
from rdmalab.world.event_queue import Door
from rdmalab.world.trace import Records
from rdmalab.world.world import World


class Fate(IntEnum):
    """Fate of a packet."""

    IN_FLIGHT = auto()
    RECEIVED = auto()
    REFUSED = auto()  # received, and answered with a NAK
    DROPPED = auto()  # received, and met with silence
    LOST = auto()  # never arrived


class Ending(NamedTuple):
    """reason: its name. why: the reason with its values. by: who refused or dropped the packet.

    arrives_ns: when it arrived, or will; None if it was lost. event: None while it is in flight.
    completed, failed: the completions that its arrival added, with success and with an error.
    """

    fate: Fate
    arrives_ns: int | None = None
    event: int | None = None
    reason: str = ""
    why: str = ""
    by: str = ""
    completed: Sequence[str] = ()
    failed: Sequence[str] = ()


def endings(world: World, names: Names, numbers: Sequence[int]) -> dict[int, Ending]:
    """The ending of each packet, by the record that sent it."""
    records = world.trace.records
    ends = _ends(records, numbers)
    flying = _in_flight(world) if any(n not in ends for n in numbers) else {}
    return {
        n: _ending(world, names, ends[n]) if n in ends else Ending(Fate.IN_FLIGHT, flying.get(n))
        for n in numbers
    }


_ARRIVALS = (Kind.PACKET_RECEIVED, Kind.PACKET_DROPPED)


def _ends(records: Records, numbers: Sequence[int]) -> dict[int, int]:
    """The record of each packet's end: lost at once, or what its arrival caused."""
    ends: dict[int, int] = {}
    awaited = set()
    for number in numbers:
        check()
        follower = records[number + 1] if number + 1 < len(records) else None
        is_sent = kind_of(records[number]) is not Kind.PACKET_COPIED
        if is_sent and follower is not None and kind_of(follower) is Kind.PACKET_LOST:
            ends[number] = number + 1
        else:
            awaited.add(number)
    many = len(records)
    for number in range(min(awaited, default=many) + 1, many):
        check(number, many)
        cause = rec.cause_of(records[number])
        if cause in awaited and kind_of(records[number]) in _ARRIVALS:
            ends[cause] = number
            awaited.discard(cause)
            if not awaited:
                break
    return ends


def _in_flight(world: World) -> dict[int, int]:
    """Times in ns at which the packets on the cable arrive, by the record that sent them."""
    heap = world.agenda.heap
    return {cause: at_ns for at_ns, _, door, _, _, cause in heap if door == Door.ARRIVAL}


_FATES = {Kind.PACKET_DROPPED: Fate.DROPPED, Kind.REQUEST_REFUSED: Fate.REFUSED}


def _ending(world: World, names: Names, end: int) -> Ending:
    check()
    records = world.trace.records
    first = records[end]
    event, at_ns = rec.event_of(first), rec.at_ns_of(first)
    if kind_of(first) is Kind.PACKET_LOST:
        reason = str(rec.reason_of(first))
        return Ending(Fate.LOST, None, event, reason, fmt.reason(reason))
    heard: set[int] = set()  # queue pairs: a group, or a flow rule, may have several
    failed: dict[int, int] = {}  # the record of each refusal
    for number in range(end, len(records)):
        record = records[number]
        if rec.event_of(record) != event:
            break
        kind, qpn = kind_of(record), object_of(record)
        if kind is Kind.PACKET_RECEIVED:
            heard.add(qpn)
        elif kind in _FATES:
            failed.setdefault(qpn, number)
    done, bad = completions_of(records, end)
    if not failed or heard - failed.keys():
        return Ending(Fate.RECEIVED, at_ns, event, completed=done, failed=bad)
    turned_down = next(iter(failed.values()))
    record = records[turned_down]
    reason, node = str(rec.reason_of(record)), node_of(record)
    by = fmt.part_name(names, Noun.QP, node, object_of(record)) or node
    why = key_refusal(world, names, turned_down) if reason == "rkey" else ""
    fate = _FATES[kind_of(record)]
    return Ending(fate, at_ns, event, reason, why or fmt.reason(reason), by, done, bad)


def completions_of(records: Records, first: int) -> tuple[list[str], list[str]]:
    """The completions that an event added from record `first` on: with success, with an error."""
    done: list[str] = []
    failed: list[str] = []
    for number in range(first, len(records)):
        record = records[number]
        if rec.event_of(record) != rec.event_of(records[first]):
            break
        if kind_of(record) is Kind.CQE_ADDED:
            cqe = rec.cqe_of(record)
            (failed if cqe.status else done).append(fmt.cqe(cqe))
    return done, failed


# --------------------------------------------------------------------------- keys
_GONE = (Kind.DESTROYED, Kind.REREGISTERED, Kind.WINDOW_INVALIDATED)


def key_refusal(world: World, names: Names, number: int) -> str:
    """The test that the rkey of a refused request failed; empty if keys of its node changed since.

    number: of the record of the refusal.
    """
    records = world.trace.records
    record = records[number]
    hca, packet = world.nodes[node_of(record)], rec.packet_of(record)
    qp = hca.qps.items.get(object_of(record))
    header = packet.reth or packet.atomiceth
    if qp is None or header is None or isinstance(packet, Frame):
        return ""
    length = getattr(header, "dma_length", ATOMIC_BYTES)
    rights = rights_for(packet, OPCODES[packet.opcode].op)
    why = dma.locate(hca.rkeys, header.rkey, qp, rights, header.va, length)
    if isinstance(why, int):
        return ""
    denial = Denial(hca.node, why, header.rkey, header.va, length, rights)
    later = (records[n] for n in range(number + 1, len(records)))
    if any(_is_change(each, hca.node, denial.opened(hca)) for each in later):
        return ""
    return denial_text(hca, names, denial, qp)


def _is_change(record: Record, node: str, opened: KeyTarget | None) -> bool:
    """Whether a record may have changed what a key of the node opens: now `opened`, or nothing."""
    check()
    kind = kind_of(record)
    if node_of(record) != node:
        return False
    if kind is Kind.CREATED:
        number = opened.number if isinstance(opened, MemoryRegion) else None
        return number is not None and thing_of(record) == Thing(Noun.MR, node, number)
    return kind in _GONE or (kind is Kind.WINDOW_BOUND and opened is not None)


# --------------------------------------------------------------------------- sent again
class Again(NamedTuple):
    """times: how often the packet was sent by then. first: the event of the first time.

    Both are None if the first time is further back than is looked.
    """

    times: int | None
    first: int | None


@dataclass(slots=True)
class _Sent:
    """Packets sent by one queue pair. started: the PSNs of its newest request, first to last.

    events: by PSN. whole: the PSNs that were sent first within what is looked at.
    """

    events: dict[int, list[int]] = field(default_factory=dict)
    whole: set[int] = field(default_factory=set)
    started: tuple[int, int] | None = None
    went_back: bool = False

    def send(self, psn: int, event: int) -> Again | None:
        """Note a packet; returns what is known if it was sent before."""
        events = self.events.setdefault(psn, [])
        events.append(event)
        if len(events) == 1 and self.started is not None:
            first, last = self.started
            if (psn - first) & MASK <= (last - first) & MASK:
                self.whole.add(psn)
        if not self.went_back or len(events) == 1:
            return None
        return Again(len(events), events[0]) if psn in self.whole else Again(None, None)


_REACH = 2_000  # records before a packet that are looked through
_MATTERS = (Kind.PACKET_SENT, Kind.WQE_STARTED, Kind.WENT_BACK, Kind.STATE_CHANGED)


def sent_again(world: World, numbers: Sequence[int]) -> dict[int, Again]:
    """Retransmissions among these packets, by the record that sent them.

    A queue pair that went back sends what it has sent before: a request with the same PSN. Its
    first time is that which follows the start of the work request.
    """
    records, kept = world.trace.records, world.trace.first
    first, last = min(numbers, default=0), max(numbers, default=-1)
    start = max(first - _REACH, kept if first >= kept else 0)  # what is replayed takes long
    sent: dict[tuple[str, int], _Sent] = {}
    found: dict[int, Again | None] = {}
    for number in range(start, last + 1):
        record = records[number]
        if (kind := kind_of(record)) not in _MATTERS:
            continue
        by = sent.setdefault(rec.place_of(record), _Sent())
        if kind is Kind.WENT_BACK:
            by.went_back = True
        elif kind is Kind.WQE_STARTED:
            wqe = rec.send_wqe_of(record)
            by.started = wqe.first_psn, wqe.last_psn
        elif kind is Kind.STATE_CHANGED:
            if rec.new_state_of(record) is QPState.RESET:  # the PSNs begin at another number
                sent[rec.place_of(record)] = _Sent()
        elif _is_request(packet := rec.packet_of(record)) and packet.psn is not None:
            found[number] = by.send(packet.psn, rec.event_of(record))
    return {number: again for number in numbers if (again := found.get(number)) is not None}


def _is_request(packet: Packet | Frame) -> bool:
    row = None if isinstance(packet, Frame) else OPCODES.get(packet.opcode)
    return row is not None and row.request
