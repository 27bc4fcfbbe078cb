"""Counters of a node, derived from the trace; named as in hw_counters of Soft-RoCE and mlx5.

Running totals over the whole trace, continued from the last record already read. A breakpoint
evaluates its condition after every event: reading the whole trace each time would be quadratic.
Everything kept here can be computed again. After a jump back in time, the totals of an earlier
moment are continued.
"""

import dataclasses
from collections.abc import Callable, Hashable, Sequence
from copy import deepcopy
from typing import Annotated, Any, NamedTuple, TypeVar

from rdmalab.hca.psn import MASK, diff
from rdmalab.spec import records as rec
from rdmalab.spec.opcodes import OPCODES, Op
from rdmalab.spec.profiles import PROFILES
from rdmalab.spec.records import Kind, Record, kind_of, node_of, object_of
from rdmalab.spec.refusals import Syndrome
from rdmalab.spec.row import dataclass
from rdmalab.spec.states import QPState
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import WCOpcode
from rdmalab.views import fmt
from rdmalab.views.columns import Col, Meaning, describe
from rdmalab.wire.congestion import is_marked
from rdmalab.wire.frame import Frame
from rdmalab.wire.packet import Packet
from rdmalab.world.trace import Trace
from rdmalab.world.world import World

T = TypeVar("T")
_APART = 4_096  # records between two totals that are kept for those who go back


class RunningTotal(NamedTuple):
    """A value over the first `read` records."""

    read: int
    value: Any


class Aggregates:
    """One running value a question."""

    __slots__ = ("cuts", "kept")

    def __init__(self) -> None:
        self.kept: dict[Hashable, list[RunningTotal]] = {}
        self.cuts = 0

    def value(
        self, key: Hashable, trace: Trace, first: Callable[[], T], step: Callable[[T, Record], T]
    ) -> T:
        """Result of `first`, carried on by `step` over all records; `step` may change its value."""
        self._forget(trace)
        totals = self.kept.setdefault(key, [])
        read = totals[-1].read if totals else 0
        value: T = totals.pop().value if totals else first()
        records = trace.records
        for number in range(read, len(records)):
            if number % _APART == 0 and number:
                totals.append(RunningTotal(number, deepcopy(value)))
            value = step(value, records[number])
        totals.append(RunningTotal(len(records), value))
        return value

    def _forget(self, trace: Trace) -> None:
        """Discard totals over records that are no longer in the trace."""
        cuts, self.cuts = trace.cuts[self.cuts :], len(trace.cuts)
        if cuts:
            left = min(cuts)
            for key, totals in self.kept.items():
                self.kept[key] = [total for total in totals if total.read <= left]


@dataclass(slots=True)
class CountersRow:
    """Packets and errors counted on one node."""

    node: Annotated[str, "whose they are"]
    sent_pkts: Annotated[int, "packets sent"] = 0
    rcvd_pkts: Annotated[int, "packets received and not dropped by the port"] = 0
    lost_pkts: Annotated[int, "packets sent that the cable lost (not in hw_counters)"] = 0
    dropped_pkts: Annotated[int, "packets dropped here without an answer (not in hw_counters)"] = 0
    retransmitted_pkts: Annotated[int, "requests retransmitted (not in hw_counters)"] = 0
    duplicate_request: Annotated[int, "duplicates: requests that were already executed"] = 0
    out_of_seq_request: Annotated[int, "gaps answered with a NAK"] = 0
    rcvd_rnr_err: Annotated[int, "RNR NAKs received"] = 0
    send_rnr_err: Annotated[int, "RNR NAKs sent because no receive was posted"] = 0
    rcvd_seq_err: Annotated[int, "sequence NAKs received"] = 0
    completer_retry_err: Annotated[
        int, "retransmissions by the requester, without those after RNR waits"
    ] = 0
    retry_exceeded_err: Annotated[int, "work requests that ended with RETRY_EXC_ERR"] = 0
    retry_rnr_exceeded_err: Annotated[int, "work requests that ended with RNR_RETRY_EXC_ERR"] = 0
    rdma_sends: Annotated[int, "SENDs completed"] = 0
    rdma_recvs: Annotated[int, "receives completed"] = 0
    rx_write_requests: Annotated[int, "RDMA WRITE requests received (mlx5)"] = 0
    rx_read_requests: Annotated[int, "RDMA READ requests received (mlx5)"] = 0
    rx_atomic_requests: Annotated[int, "atomic requests received (mlx5)"] = 0
    out_of_buffer: Annotated[int, "packets that found no receive posted (mlx5)"] = 0
    out_of_sequence: Annotated[int, "packets after a gap (mlx5)"] = 0
    rnr_nak_retry_err: Annotated[int, "RNR NAKs received (mlx5)"] = 0
    packet_seq_err: Annotated[int, "NAKs for a sequence error received (mlx5)"] = 0
    implied_nak_seq_err: Annotated[int, "gaps in answers found by a later answer (mlx5)"] = 0
    local_ack_timeout_err: Annotated[int, "ack timeouts (mlx5)"] = 0
    resp_local_length_error: Annotated[int, "messages longer than their receive (mlx5)"] = 0
    resp_remote_access_errors: Annotated[int, "requests refused for their R_Key (mlx5)"] = 0
    resp_cqe_error: Annotated[int, "error completions of receives (mlx5)"] = 0
    resp_cqe_flush_error: Annotated[int, "those of them with WR_FLUSH_ERR (mlx5)"] = 0
    req_cqe_error: Annotated[int, "error completions of sends (mlx5)"] = 0
    req_cqe_flush_error: Annotated[int, "those of them with WR_FLUSH_ERR (mlx5)"] = 0
    req_remote_invalid_request: Annotated[int, "sends that ended with REM_INV_REQ_ERR (mlx5)"] = 0
    req_remote_access_errors: Annotated[int, "sends that ended with REM_ACCESS_ERR (mlx5)"] = 0
    req_transport_retries_exceeded: Annotated[int, "sends that ended with RETRY_EXC_ERR (mlx5)"] = 0
    req_rnr_retries_exceeded: Annotated[int, "sends that ended with RNR_RETRY_EXC_ERR (mlx5)"] = 0
    rx_icrc_encapsulated: Annotated[int, "RoCE packets dropped for a wrong ICRC (mlx5)"] = 0
    np_ecn_marked_roce_packets: Annotated[
        int, "packets received with a congestion mark (as on mlx5; no CNP is sent)"
    ] = 0
    link_downed: Annotated[int, "times the port left ACTIVE"] = 0
    cq_overruns: Annotated[int, "completions lost on a full CQ (not in hw_counters)"] = 0
    profile: Annotated[str, "the device model; tables show the counters that it has"] = "strict"


@dataclass(slots=True)
class DropRow:
    """Packets that one reason dropped at a node."""

    node: str
    reason: str
    sentence: str
    count: int


describe(
    DropRow,
    Col("node", Meaning.NAME),
    Col("count", Meaning.REFUSED, "{} dropped"),
    Col("sentence"),
    Col("reason", Meaning.DIM, "({})"),
)


NAMES = tuple(f.name for f in dataclasses.fields(CountersRow))[1:-1]


def names_of(rows: Sequence[CountersRow]) -> list[str]:
    """The counters that the devices of these rows have, and those of the lab's own."""
    lacking = [PROFILES[row.profile].lacks_counters for row in rows]
    return [name for name in NAMES if not all(name in names for names in lacking)]


def drop_rows(world: World, node: str) -> list[DropRow]:
    """Packets dropped by a node, by reason; the reason that was met first comes first."""
    drops = world.nodes[node].drops
    return [DropRow(node, name, fmt.reason(name), count) for name, count in drops.items()]


def counters_row(world: World, node: str) -> CountersRow:
    """The counters of one node."""
    tally = Tally(world, node)
    for record in world.trace.records:
        tally.with_record(record)
    return tally.row


class Tally:
    """The counters of one node while the trace is being read."""

    __slots__ = ("row", "seen")

    def __init__(self, world: World, node: str) -> None:
        self.row = CountersRow(node, profile=world.nodes[node].profile.name)
        self.seen = _Sequences(world, node)

    def __deepcopy__(self, _memo: dict[int, object]) -> "Tally":
        """Of the same world."""
        twin = Tally(self.seen.world, self.row.node)
        twin.row, seen = dataclasses.replace(self.row), twin.seen
        seen.sent, seen.expected = dict(self.seen.sent), dict(self.seen.expected)
        seen.judged = self.seen.judged
        return twin

    def with_record(self, record: Record) -> "Tally":
        """Carried on by one record."""
        row = self.row
        if node_of(record) == row.node:
            again = self.seen.repeated(record)
            for name in (*_counted(record), *((again,) if again else ())):
                setattr(row, name, getattr(row, name) + 1)
        return self


# --------------------------------------------------------------------------- one record
def _counted(record: Record) -> tuple[str, ...]:
    count = _COUNTS.get(kind_of(record))
    return count(record) if count else ()


def _received(record: Record) -> tuple[str, ...]:
    packet: Packet | Frame = rec.packet_of(record)
    names = ("rcvd_pkts", *_NAKS.get(fmt.syndrome(packet) or Syndrome.ACK, ()))
    if isinstance(packet, Frame):
        return names
    row = OPCODES[packet.opcode]
    marked = ("np_ecn_marked_roce_packets",) if is_marked(packet.flow.traffic_class) else ()
    return (*names, *(_REQUESTS.get(row.op, ()) if row.starts else ()), *marked)


_Names = tuple[str, ...]
_WRONG_ICRC = "malformed: icrc"
_NAKS: dict[Syndrome, _Names] = {
    Syndrome.RNR_NAK: ("rcvd_rnr_err", "rnr_nak_retry_err"),
    Syndrome.NAK_SEQUENCE: ("rcvd_seq_err", "packet_seq_err"),
}
_REQUESTS: dict[Op, _Names] = {
    Op.RDMA_WRITE: ("rx_write_requests",),
    Op.RDMA_READ_REQUEST: ("rx_read_requests",),
    Op.COMPARE_SWAP: ("rx_atomic_requests",),
    Op.FETCH_ADD: ("rx_atomic_requests",),
}
_REFUSED: dict[str, _Names] = {
    "no-receive": ("send_rnr_err", "out_of_buffer"),
    "sequence-gap": ("out_of_seq_request", "out_of_sequence"),
    "receive-short": ("resp_local_length_error",),
    "rkey": ("resp_remote_access_errors",),
}
_DROPPED: dict[str, _Names] = {
    _WRONG_ICRC: ("rx_icrc_encapsulated",),
    "no-receive": ("out_of_buffer",),
    "sequence-gap": ("out_of_sequence",),
}
_ENDED: dict[WCStatus, _Names] = {
    WCStatus.RETRY_EXC_ERR: ("retry_exceeded_err", "req_transport_retries_exceeded"),
    WCStatus.RNR_RETRY_EXC_ERR: ("retry_rnr_exceeded_err", "req_rnr_retries_exceeded"),
    WCStatus.REM_INV_REQ_ERR: ("req_remote_invalid_request",),
    WCStatus.REM_ACCESS_ERR: ("req_remote_access_errors",),
}


def _completed(record: Record) -> tuple[str, ...]:
    if rec.status_of(record) == WCStatus.SUCCESS:
        return ("rdma_sends",) if rec.send_wqe_of(record).op is Op.SEND else ()
    return _ENDED.get(rec.status_of(record), ())


def _dropped(record: Record) -> tuple[str, ...]:
    return ("dropped_pkts", *_DROPPED.get(rec.reason_of(record), ()))


def _went_back(record: Record) -> tuple[str, ...]:
    if "RNR" in rec.reason_of(record):
        return ()
    implied = ("implied_nak_seq_err",) if rec.reason_of(record) == "implied NAK" else ()
    return ("completer_retry_err", *implied)


def _added(record: Record) -> tuple[str, ...]:
    cqe = rec.cqe_of(record)
    side = "req" if cqe.is_send else "resp"
    if cqe.status == WCStatus.WR_FLUSH_ERR:
        return f"{side}_cqe_error", f"{side}_cqe_flush_error"
    if cqe.status != WCStatus.SUCCESS:
        return (f"{side}_cqe_error",)
    return ("rdma_recvs",) if cqe.opcode == WCOpcode.RECV else ()


_COUNTS: dict[Kind, Callable[[Record], tuple[str, ...]]] = {
    Kind.PACKET_SENT: lambda _r: ("sent_pkts",),
    Kind.PACKET_LOST: lambda _r: ("lost_pkts",),
    Kind.PACKET_DROPPED: _dropped,
    Kind.TIMER_FIRED: lambda r: ("local_ack_timeout_err",) if rec.reason_of(r) == "ack" else (),
    Kind.PACKET_RECEIVED: _received,
    Kind.REQUEST_REFUSED: lambda r: _REFUSED.get(rec.reason_of(r), ()),
    Kind.WENT_BACK: _went_back,
    Kind.WQE_COMPLETED: _completed,
    Kind.CQE_ADDED: _added,
    Kind.CQ_OVERRUN: lambda _r: ("cq_overruns",),
    Kind.PORT_CHANGED: lambda r: () if rec.port_state_of(r).name == "ACTIVE" else ("link_downed",),
}


# --------------------------------------------------------------------------- sent or met before?
class _Sequences:
    """The next PSNs per QP of a node: lower ones were already sent or executed."""

    def __init__(self, world: World, node: str) -> None:
        self.world = world
        self.node = node
        self.sent: dict[int, int] = {}
        self.expected: dict[int, int] = {}
        self.judged: tuple[int, int, int | None] = (-1, 0, None)  # event, QP, expected before

    def repeated(self, record: Record) -> str | None:
        """The counter of what this record repeats."""
        step = _STEPS.get(kind_of(record))
        return step(self, record) if step else None

    def on_state(self, record: Record) -> None:
        """New PSNs come with RTR (to expect) and with the RTS after it (to send)."""
        if rec.new_state_of(record) is QPState.RTR:
            self.expected.pop(object_of(record), None)
        elif rec.new_state_of(record) is QPState.RTS and rec.old_state_of(record) is QPState.RTR:
            self.sent.pop(object_of(record), None)

    def on_sent(self, record: Record) -> str | None:
        behind = self._is_behind(self.sent, object_of(record), rec.packet_of(record))
        return "retransmitted_pkts" if behind else None

    def on_received(self, record: Record) -> str | None:
        qpn = object_of(record)
        self.judged = (rec.event_of(record), qpn, self.expected.get(qpn))
        behind = self._is_behind(self.expected, qpn, rec.packet_of(record))
        return "duplicate_request" if behind else None

    def on_refused(self, record: Record) -> None:
        """Undo the effect of a refused request: the expected PSN of the QP stays as it was."""
        event, qpn, before = self.judged
        if (rec.event_of(record), object_of(record)) == (event, qpn):
            self.expected.pop(qpn, None)
            if before is not None:
                self.expected[qpn] = before

    def _is_behind(self, line: dict[int, int], qpn: int, packet: Packet | Frame) -> bool:
        if isinstance(packet, Frame):
            return False
        row = OPCODES.get(packet.opcode)
        if row is None or not row.request:
            return False
        if qpn in line and diff(packet.psn, line[qpn]) < 0:
            return True
        line[qpn] = (packet.psn + self._packets(qpn, packet, row.op)) & MASK
        return False

    def _packets(self, qpn: int, packet: Packet, op: Op) -> int:
        """PSNs that a request takes: a READ as many as its answer has packets."""
        qp = self.world.nodes[self.node].qps.items.get(qpn)
        mtu = qp.path.mtu if qp is not None and qp.path is not None else 0
        if op is not Op.RDMA_READ_REQUEST or packet.reth is None or not mtu:
            return 1
        return max(1, -(-packet.reth.dma_length // mtu))


_STEPS: dict[Kind, Callable[[_Sequences, Record], str | None]] = {
    Kind.STATE_CHANGED: _Sequences.on_state,
    Kind.PACKET_SENT: _Sequences.on_sent,
    Kind.PACKET_RECEIVED: _Sequences.on_received,
    Kind.REQUEST_REFUSED: _Sequences.on_refused,
    Kind.PACKET_DROPPED: _Sequences.on_refused,
}
