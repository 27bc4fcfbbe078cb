"""The ladder diagram: packets and what became of them, timers, and planned events."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum, auto
from typing import Annotated

from rdmalab.session.interruption import check
from rdmalab.session.names import Names
from rdmalab.spec import records as rec
from rdmalab.spec.packet_names import PacketName
from rdmalab.spec.records import Kind, kind_of, object_of
from rdmalab.spec.refusals import Syndrome
from rdmalab.views import fmt, record_text
from rdmalab.views.packet_facts import FACTS, matches
from rdmalab.views.transit_effects import PACKETS, Origin, troubles
from rdmalab.world.event_queue import Door
from rdmalab.world.trace import Records
from rdmalab.world.world import World


class Fate(IntEnum):
    """What became of a packet."""

    IN_FLIGHT = auto()
    RECEIVED = auto()
    REFUSED = auto()  # received, and answered with a NAK
    DROPPED = auto()  # received, and met with silence
    LOST = auto()  # never arrived


@dataclass(slots=True)
class PacketRow:
    """One packet on the cable."""

    number: Annotated[int, "the record it is"]
    event: Annotated[int, "the event it left in"]
    at_ns: Annotated[int, "when it left"]
    source: Annotated[str, "the node it left; also written from="]
    target: Annotated[str, "the node it goes to, empty if no node has the address; also to="]
    qp: Annotated[str, "the QP that sent it"]
    dest_qp: Annotated[str, "the QP it is for"]
    opcode: Annotated[
        PacketName, "its name: SEND_ONLY, ACKNOWLEDGE or ACK, RNR_NAK, NAK; FRAME if it is not RDMA"
    ]
    psn: Annotated[int | None, "its packet sequence number"]
    length: Annotated[int, "bytes of payload, of a FRAME all bytes; also written len="]
    ack_req: Annotated[bool, "whether it asks for an ACK"]
    solicited: Annotated[
        bool, "the SE bit: it raises an event on a CQ armed for solicited completions"
    ]
    syndrome: Annotated[
        Syndrome | None, "the syndrome of its AETH: ACK, RNR_NAK, NAK_SEQUENCE, NAK for any of them"
    ]
    timer: Annotated[int | None, "the code of the wait that an RNR NAK asks for"]
    msn: Annotated[int | None, "the message sequence number of its AETH"]
    va: Annotated[int | None, "the remote address of its RETH or AtomicETH"]
    rkey: Annotated[int | None, "the key of its RETH or AtomicETH"]
    dma_length: Annotated[int | None, "the message length of its RETH"]
    imm_data: Annotated[int | None, "its immediate data, as on the wire"]
    qkey: Annotated[int | None, "the Q_Key of its DETH, as a datagram has it"]
    srqn: Annotated[int | None, "the number of the SRQ that its XRCETH names"]
    inv_rkey: Annotated[int | None, "the key of its IETH, to be invalidated"]
    group: Annotated[str, "the multicast group it goes to"]
    slid: Annotated[int | None, "the LID it comes from, on InfiniBand"]
    dlid: Annotated[int | None, "the LID it goes to, on InfiniBand"]
    mig_req: Annotated[bool, "MigReq of its BTH: the sender's path_mig_state is MIGRATED"]
    ethertype: Annotated[int | None, "of a FRAME: what it carries, 0x800 for IPv4"]
    summary: Annotated[str, "of a FRAME: what it is, in a few words"]
    origin: Annotated[Origin, "its origin: SENT, COPIED by a fault, INJECTED"]
    fate: Annotated[Fate, "what became of it"]
    reason: Annotated[str, "why it was lost, dropped or refused: the name of the reason"]
    arrives_ns: Annotated[int | None, "when it arrived, or will"]
    troubles: Annotated[list[str], "what the cable did to it: harmed, marked, delayed, held back"]

    @property
    def label(self) -> str:
        """The syndrome of an ACK or NAK, else the opcode."""
        return self.opcode.shown

    @property
    def fate_text(self) -> str:
        """`delayed by 3 us, arrives 9.210us`, `lost: the link is down`."""
        return ", ".join([*self.troubles, self._end_text])

    @property
    def _end_text(self) -> str:
        if self.fate is Fate.IN_FLIGHT:
            return f"in flight, arrives {fmt.clock(self.arrives_ns or 0)}"
        if self.fate is Fate.RECEIVED:
            return f"arrives {fmt.clock(self.arrives_ns or 0)}"
        return f"{self.fate.name.lower()}: {fmt.reason(self.reason)}"

    @property
    def remark(self) -> str:
        """`Q_Key 0x11111111`: header fields that decide where it may go, empty for most packets."""
        said = {"SRQ": self.srqn, "Q_Key": self.qkey, "invalidates": self.inv_rkey}
        parts = [f"to {self.group.removeprefix('::ffff:')}"] if self.group else []
        return "  ".join(parts + [f"{k} {v:#x}" for k, v in said.items() if v is not None])

    @property
    def text(self) -> str:
        """`8.100us A->B SEND_ONLY psn=3 64 B ack_req`."""
        ends = f"{fmt.clock(self.at_ns)} {self.source}->{self.target or '?'}"
        if self.origin is not Origin.SENT:
            ends += f" {self.origin.name.lower()}:"
        if self.psn is None:
            return f"{ends} {self.summary}"
        parts = [f"{ends} {self.label}", f"psn={self.psn}"]
        parts += [f"timer={self.timer}"] if self.timer is not None else []
        parts += [f"{self.length} B"] if self.length else []
        parts += ["ack_req"] if self.ack_req else []
        return " ".join(parts)


@dataclass(slots=True)
class MarkerRow:
    """A row between the packets: a timer armed or fired, a retransmission."""

    number: int
    event: int
    at_ns: int
    node: str
    qp: str
    kind: Kind
    sentence: str
    fires_ns: int | None = None

    @property
    def text(self) -> str:
        """The row in one line: time, queue pair, sentence."""
        return f"{fmt.clock(self.at_ns)} {self.qp} {self.sentence}"


MARKERS = (Kind.TIMER_ARMED, Kind.TIMER_FIRED, Kind.WENT_BACK)
_ROWS = (*PACKETS, *MARKERS)

# --------------------------------------------------------------------------- one packet


def packet_row(world: World, names: Names, number: int) -> PacketRow:
    """The packet that record `number` put on the cable."""
    return packet_rows(world, names, [number])[0]


def packet_rows(world: World, names: Names, numbers: Iterable[int]) -> list[PacketRow]:
    """The packets that these records sent, in their order."""
    numbers = list(numbers)
    records = world.trace.records
    ends = _ends(records, numbers)
    flying = _in_flight(world) if any(n not in ends for n in numbers) else {}
    fates = {n: _fate(records, ends.get(n), flying.get(n)) for n in numbers}
    return [_packet_row(world, names, n, fate) for n, fate in fates.items()]


_Ending = tuple[Fate, str, int | None]


def _packet_row(world: World, names: Names, number: int, ending: _Ending) -> PacketRow:
    check()
    record = world.trace.records[number]
    facts = {name: fact(world, names, record) for name, fact in FACTS.items()}
    fate, reason, arrives_ns = ending
    return PacketRow(
        number=number, fate=fate, reason=reason, arrives_ns=arrives_ns,
        troubles=troubles(world.trace.records, number), **facts,
    )  # fmt: skip


def _ends(records: Records, numbers: list[int]) -> dict[int, int]:
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
    for number in range(min(awaited, default=len(records)) + 1, len(records)):
        check()
        cause = rec.cause_of(records[number])
        if cause in awaited and kind_of(records[number]) in _ARRIVALS:
            ends[cause] = number
            awaited.discard(cause)
            if not awaited:
                break
    return ends


_ARRIVALS = (Kind.PACKET_RECEIVED, Kind.PACKET_DROPPED)


def _in_flight(world: World) -> dict[int, int]:
    """When the packets on the cable arrive, by the record that sent them."""
    heap = world.agenda.heap
    return {cause: at_ns for at_ns, _, door, _, _, cause in heap if door == Door.ARRIVAL}


_FATES = {Kind.PACKET_DROPPED: Fate.DROPPED, Kind.REQUEST_REFUSED: Fate.REFUSED}


def _fate(records: Records, end: int | None, arrives_ns: int | None) -> _Ending:
    check()
    if end is None:
        return Fate.IN_FLIGHT, "", arrives_ns
    first = records[end]
    if kind_of(first) is Kind.PACKET_LOST:
        return Fate.LOST, str(rec.reason_of(first)), None
    heard: set[int] = set()  # queue pairs: a group, or a flow rule, may have several
    failed: dict[int, tuple[Fate, str]] = {}
    for number in range(end, len(records)):
        record = records[number]
        if rec.event_of(record) != rec.event_of(first):
            break
        kind, qpn = kind_of(record), object_of(record)
        if kind is Kind.PACKET_RECEIVED:
            heard.add(qpn)
        elif kind in _FATES:
            failed.setdefault(qpn, (_FATES[kind], str(rec.reason_of(record))))
    kept = not failed or heard - failed.keys()
    fate, reason = (Fate.RECEIVED, "") if kept else next(iter(failed.values()))
    return fate, reason, rec.at_ns_of(first)


# --------------------------------------------------------------------------- the window
def rows(
    world: World,
    names: Names,
    *,
    last: int | None = 30,
    since: int = 0,
    wanted: Mapping[str, object] | None = None,
) -> list[PacketRow | MarkerRow]:
    """The past: the newest `last` rows from record `since` on; with `wanted`, packets only."""
    numbers = _window(world, names, last, since, wanted)
    records = world.trace.records
    sent = [n for n in numbers if kind_of(records[n]) in PACKETS]
    packets = {row.number: row for row in packet_rows(world, names, sent)}
    return [packets.get(n) or marker_row(world, names, n) for n in numbers]


def last_packet(world: World, names: Names) -> PacketRow | None:
    """The newest packet."""
    numbers = _window(world, names, 1, 0, {})
    return packet_row(world, names, numbers[0]) if numbers else None


def _window(
    world: World, names: Names, last: int | None, since: int, wanted: Mapping[str, object] | None
) -> list[int]:
    """The numbers of the records to show, found from the end of the trace."""
    found: list[int] = []
    for number, record in world.trace.records.newest():
        if len(found) == last or number < since:
            break
        if kind_of(record) not in _ROWS:
            continue
        if wanted is None or matches(world, names, record, wanted):
            found.append(number)
    found.reverse()
    return found


def marker_row(world: World, names: Names, number: int) -> MarkerRow:
    """A timer armed or fired, or a requester that went back."""
    record = world.trace.records[number]
    event, at_ns, _, kind, node, qpn, a, _ = record
    sentence = record_text.sentence(world, names, record)
    fires_ns = a if kind is Kind.TIMER_ARMED else None
    qp = fmt.qp_name(names, node, qpn)
    return MarkerRow(number, event, at_ns, node, qp, kind, sentence, fires_ns)
