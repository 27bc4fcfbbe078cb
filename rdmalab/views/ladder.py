"""The ladder diagram: packets and what became of them, timers, and planned events."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated

from rdmalab.session.interruption import check
from rdmalab.session.names import Names
from rdmalab.spec import records as rec
from rdmalab.spec.opcodes import PacketName
from rdmalab.spec.records import Kind, kind_of
from rdmalab.spec.refusals import Syndrome
from rdmalab.spec.row import dataclass
from rdmalab.views import fmt, record_text
from rdmalab.views.columns import USUAL, Col, Meaning, describe, words
from rdmalab.views.fates import Ending, Fate, completions_of, endings, sent_again
from rdmalab.views.packets import FACTS, matches
from rdmalab.views.transit_effects import PACKETS, Origin, troubles
from rdmalab.world.trace import Records
from rdmalab.world.world import World


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
    troubles: Annotated[list[str], "what the cable did: corrupted, marked, delayed, held back"]
    end_event: Annotated[int | None, "the event in which it arrived or was lost, nothing before"]
    by: Annotated[str, "the QP or node that refused or dropped it, empty for another fate"]
    why: Annotated[str, "the reason as a sentence, with the values that were compared"]
    completed: Annotated[list[str], "the completions with SUCCESS that its arrival added"]
    failed: Annotated[list[str], "the completions with an error that its arrival added"]
    # Known in a list of packets only: a condition such as `wire.last.psn == 3` must not pay for it.
    sent_times: int | None = 1  # this one included; None if the first time is too long ago
    first_event: int | None = None  # in which it was sent first; None for the first time, too

    @property
    def label(self) -> str:
        """The syndrome of an ACK or NAK, else the opcode."""
        return self.opcode.shown

    @property
    def short(self) -> str:
        """`SEND_ONLY psn=3`; of a frame what it is."""
        return self.summary if self.psn is None else f"{self.label} psn={self.psn}"

    @property
    def fate_text(self) -> str:
        """`delayed by 3 us, arrives 9.210 us`, `lost: the link is down`."""
        return ", ".join([*self.troubles, self._end_text])

    @property
    def _end_text(self) -> str:
        if self.fate is Fate.IN_FLIGHT:
            return f"in flight, arrives {fmt.clock(self.arrives_ns or 0)}"
        if self.fate is Fate.RECEIVED:
            return f"arrives {fmt.clock(self.arrives_ns or 0)}"
        return f"{self.fate.name.lower()}: {self.why}"

    @property
    def text(self) -> str:
        """`8.100 us A->B SEND_ONLY psn=3 64 B ack_req`."""
        return words(self)

    @property
    def remark(self) -> str:
        """`Q_Key 0x11111111`: fields that decide where it may go; empty for most packets."""
        return words(self, only=WHERE)


def _hex(value: int | None) -> str | None:
    return None if value is None else f"{value:#x}"


FATES = {
    Fate.IN_FLIGHT: Meaning.UNDER_WAY,
    Fate.RECEIVED: Meaning.OK,
    Fate.REFUSED: Meaning.REFUSED,
    Fate.DROPPED: Meaning.REFUSED,
    Fate.LOST: Meaning.LOST,
}
LABEL = ("origin", "opcode", "psn", "timer", "len", "ack_req", "dlid")
"""The columns that stand on an arrow."""
WHERE = ("group", "SRQ", "Q_Key", "invalidates")
"""Header fields that decide where a packet may go; most packets have none."""

describe(
    PacketRow,
    Col("event", Meaning.EVENT, "ev {}", rank=USUAL),
    Col("time", Meaning.DIM, of=lambda row: fmt.clock(row.at_ns), right=True),
    Col("way", of=lambda row: f"{row.source}->{row.target or '?'}"),
    Col(
        "origin",
        Meaning.ATTENTION,
        of=lambda row: "" if row.origin is Origin.SENT else row.origin.name.lower(),
    ),
    Col("opcode", Meaning.NAME, of=lambda row: row.summary if row.psn is None else row.label),
    Col("psn", label="psn={}"),
    Col("timer", label="timer={}"),
    Col(
        "len",
        Meaning.NUMBER,
        "{} B",
        of=lambda row: row.length or None if row.psn is not None else None,
        right=True,
    ),
    Col("ack_req", of=lambda row: "ack_req" if row.ack_req else None),
    Col("dlid", label="dlid={}", rank=USUAL),
    Col("group", label="to {}", of=lambda row: row.group.removeprefix("::ffff:"), rank=USUAL),
    Col("SRQ", label="SRQ {}", of=lambda row: _hex(row.srqn), rank=USUAL),
    Col("Q_Key", label="Q_Key {}", of=lambda row: _hex(row.qkey), rank=USUAL),
    Col("invalidates", label="invalidates {}", of=lambda row: _hex(row.inv_rkey), rank=USUAL),
    Col("fate", lambda row: FATES[row.fate], of=lambda row: row.fate_text, rank=USUAL),
)


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
    reason: str = ""  # of a timer `rnr` or `ack`; else why it goes back
    psn: int | None = None  # the oldest packet without an answer
    failed: Sequence[str] = ()  # the completions with an error that its event added

    @property
    def text(self) -> str:
        """The row in one line: time, queue pair, sentence."""
        return f"{fmt.clock(self.at_ns)} {self.qp} {self.sentence}"


describe(
    MarkerRow,
    Col("event", Meaning.EVENT, "ev {}"),
    Col("at_ns", Meaning.DIM, form=fmt.clock),
    Col("qp", Meaning.NAME, of=lambda row: row.qp or row.node),
    Col("sentence"),
)


LONG_NS = 20_000
"""A wait that a drawing shortens to a row of its own."""

MARKERS = (Kind.TIMER_ARMED, Kind.TIMER_FIRED, Kind.WENT_BACK)
_ROWS = (*PACKETS, *MARKERS)

# --------------------------------------------------------------------------- one packet


def packet_row(world: World, names: Names, number: int) -> PacketRow:
    """The packet that record `number` put on the cable."""
    return packet_rows(world, names, [number])[0]


def packet_rows(world: World, names: Names, numbers: Iterable[int]) -> list[PacketRow]:
    """The packets that these records sent, in their order."""
    found = endings(world, names, list(numbers))
    rows: list[PacketRow] = []
    for number, ending in found.items():
        check(len(rows), len(found))
        rows.append(_packet_row(world, names, number, ending))
    return rows


def _packet_row(world: World, names: Names, number: int, ending: Ending) -> PacketRow:
    record = world.trace.records[number]
    facts = {name: fact(world, names, record) for name, fact in FACTS.items()}
    return PacketRow(
        number=number, fate=ending.fate, reason=ending.reason, arrives_ns=ending.arrives_ns,
        troubles=troubles(world.trace.records, number), end_event=ending.event, why=ending.why,
        by=ending.by, completed=[*ending.completed], failed=[*ending.failed], **facts,
    )  # fmt: skip


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
    for number, again in sent_again(world, sent).items():
        packets[number].sent_times, packets[number].first_event = again
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
    records = world.trace.records
    record = records[number]
    event, at_ns, _, kind, node, qpn, a, _ = record
    sentence = record_text.sentence(world, names, record)
    fires_ns = a if kind is Kind.TIMER_ARMED else None
    qp = fmt.qp_name(names, node, qpn)
    psn = a if kind is Kind.WENT_BACK else _psn_beside(records, number)
    row = MarkerRow(number, event, at_ns, node, qp, kind, sentence, fires_ns, psn=psn)
    row.reason = str(rec.reason_of(record))
    if kind is Kind.TIMER_FIRED:
        row.failed = completions_of(records, number)[1]
    return row


def _psn_beside(records: Records, number: int) -> int | None:
    """The PSN of an RNR NAK that armed a timer, or from which a timer that fired goes back."""
    armed = kind_of(records[number]) is Kind.TIMER_ARMED
    step, kind = (-1, Kind.PACKET_RECEIVED) if armed else (1, Kind.WENT_BACK)
    place, event = rec.place_of(records[number]), rec.event_of(records[number])
    beside = number + step
    while 0 <= beside < len(records) and rec.event_of(records[beside]) == event:
        record = records[beside]
        if kind_of(record) is kind and rec.place_of(record) == place:
            return rec.packet_of(record).psn if armed else rec.psn_of(record)
        beside += step
    return None
