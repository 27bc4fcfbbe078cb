"""Queue pairs: their queues, their attributes, and one notebook for each engine."""

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rdmalab.hca import attributes
from rdmalab.spec.opcodes import Op
from rdmalab.spec.records import Kind
from rdmalab.spec.refusals import CLASS_MASK, Syndrome
from rdmalab.spec.states import QPState, QPType
from rdmalab.spec.transports import TRANSPORTS

if TYPE_CHECKING:
    from rdmalab.hca.outside import Recorder
    from rdmalab.hca.wr import RecvWqe, SendWqe, SendWR
    from rdmalab.spec.refusals import Refusal
    from rdmalab.wire.packet import Flow

_ACK = int(Syndrome.ACK)


@dataclass(slots=True)
class Capacity:
    """`ibv_qp_cap`, in WRs, SGEs and bytes."""

    max_send_wr: int = 16
    max_recv_wr: int = 16
    max_send_sge: int = 4
    max_recv_sge: int = 4
    max_inline_data: int = 64


class SendQueue:
    """WQEs by serial, from the oldest that still holds a slot to the newest posted."""

    __slots__ = ("capacity", "early", "freed", "next_psn", "posted", "wqes")

    def __init__(self, capacity: int, serial: int = 0) -> None:
        self.capacity = capacity
        self.early: list[SendWR] = []  # Soft-RoCE: refused before RTS, yet left in the ring
        self.wqes: dict[int, SendWqe] = {}
        self.posted = serial
        self.freed = serial
        self.next_psn = 0

    def push(self, wqe: "SendWqe") -> None:
        self.wqes[wqe.serial] = wqe
        self.posted += 1

    def free_through(self, serial: int) -> int:
        """Give back the slots up to and including this WQE; how many that were."""
        before = self.freed
        while self.freed <= serial:
            del self.wqes[self.freed]
            self.freed += 1
        return self.freed - before


class RecvQueue:
    """WQEs that wait for a message, oldest first; `taken` and `freed` count from the beginning."""

    __slots__ = ("capacity", "freed", "posted", "wqes")

    def __init__(self, capacity: int, serial: int = 0) -> None:
        self.capacity = capacity
        self.wqes: deque[RecvWqe] = deque()
        self.posted = serial
        self.freed = serial

    def push(self, wqe: "RecvWqe") -> None:
        self.wqes.append(wqe)
        self.posted += 1

    def free_through(self, serial: int) -> int:
        """Give back the slots up to and including this WQE; how many that were."""
        count = max(0, serial + 1 - self.freed)
        self.freed += count
        return count


class Requesting:
    """The requester's notebook.

    serial, psn: the WQE and the packet that go out next. sent: the first PSN never sent yet.
    started: WQEs begun so far. reads: READs and atomics begun so far. unasked: packets since the
    last one that asked for an ACK. failed: status of the WQE at `serial` if it cannot be sent.
    done: behind the newest WQE that was carried out without a packet.
    """

    __slots__ = ("done", "failed", "psn", "reads", "sent", "serial", "started", "unasked")

    def __init__(self, serial: int, psn: int = 0) -> None:
        self.serial = serial
        self.psn = psn
        self.sent = psn
        self.started = serial
        self.done = serial
        self.reads = 0
        self.unasked = 0
        self.failed: int | None = None


class Completing:
    """The completer's notebook.

    serial, psn: the oldest WQE not completed, the oldest PSN not answered. reads: READs and atomics
    completed so far. retries, rnr_retries: what is left of the counters. rnr_until_ns: end of the
    RNR wait. implied_psn: where the last implied NAK was taken, one a gap. watching: the ack timer
    runs (with timeout 0 it never ends).
    """

    __slots__ = (
        "implied_psn", "psn", "reads", "retries", "rnr_retries", "rnr_until_ns", "serial",
        "watching",
    )  # fmt: skip

    def __init__(self, serial: int, psn: int = 0) -> None:
        self.serial = serial
        self.psn = psn
        self.reads = 0
        self.retries = 0
        self.rnr_retries = 0
        self.rnr_until_ns: int | None = None
        self.implied_psn: int | None = None
        self.watching = False


@dataclass(slots=True)
class Served:
    """A READ or atomic that was executed, kept for duplicates. original: an atomic's answer."""

    psn: int
    packets: int
    op: Op
    va: int
    length: int
    original: int = 0


@dataclass(slots=True)
class ReadAnswer:
    """A READ whose responses are still to be sent, from `psn` on; `length` bytes are left.

    first: none has been sent yet. again: the request was a duplicate.
    """

    psn: int
    va: int
    rkey: int
    length: int
    msn: int
    again: bool
    first: bool = True


@dataclass(slots=True)
class Acknowledgement:
    """One ACK or NAK to be sent; `original` is an atomic's answer, `dying` a fatal refusal."""

    psn: int
    syndrome: int
    msn: int
    original: int | None = None
    dying: "Refusal | None" = None

    @property
    def is_plain(self) -> bool:
        """Nothing but an ACK: a newer one says it too."""
        return self.original is None and self.syndrome & CLASS_MASK == _ACK


class Responding:
    """The responder's notebook.

    psn: the PSN expected next. msn: messages completed. op: the operation of the message in
    progress. recv: the receive WQE in use. received: bytes of the message so far.
    va, rkey, remaining: where a WRITE goes on and how much is left. nak_sent: this gap is answered;
    rnr_sent: so was this empty queue. dying: a fatal NAK waits to be sent. heard: a packet came.
    """

    __slots__ = (
        "answers", "dying", "heard", "msn", "nak_sent", "op", "psn", "received", "recv",
        "remaining", "rkey", "rnr_sent", "served", "va",
    )  # fmt: skip

    def __init__(self) -> None:
        self.psn = 0
        self.msn = 0
        self.op: Op | None = None
        self.recv: RecvWqe | None = None
        self.received = 0
        self.va = 0
        self.rkey = 0
        self.remaining = 0
        self.nak_sent = False
        self.rnr_sent = False
        self.dying = False
        self.heard = False
        self.served: deque[Served] = deque()
        self.answers: deque[Acknowledgement | ReadAnswer] = deque()


@dataclass(slots=True)
class Path:
    """Where a QP sends: flow, QP number, payload bytes of a full packet, P_Key.

    Without a peer, flow and QP number are those of nobody.
    """

    flow: "Flow"
    dest_qpn: int
    mtu: int
    pkey: int


class QueuePair:
    """`ibv_qp`. queued: it stands in line for the port. known_state: what libibverbs caches."""

    __slots__ = (
        "attr", "cap", "comp", "known_state", "max_tso_header", "node", "number", "path", "pd",
        "qp_type", "queued", "recv_cq", "req", "resp", "rq", "send_cq", "service", "sq",
        "sq_sig_all", "state", "transport",
    )  # fmt: skip

    def __init__(self, node: str, number: int, qp_type: QPType, cap: Capacity) -> None:
        self.node = node
        self.number = number
        self.qp_type = qp_type
        self.transport = TRANSPORTS[qp_type]
        self.service = self.transport.service
        self.cap = cap
        self.pd = 0
        self.send_cq = 0
        self.recv_cq = 0
        self.sq_sig_all = False
        self.max_tso_header = 0
        self.queued = False
        self.known_state = QPState.RESET
        self.state = QPState.RESET
        self.sq = SendQueue(cap.max_send_wr)
        self.rq = RecvQueue(cap.max_recv_wr)
        self.clear()

    def clear(self) -> None:
        """Everything as after creation, but for state and identity.

        Serials go on, so that a CQE of the past that is polled later frees no slot of today.
        """
        self.attr = attributes.initial()
        self.path: Path | None = None
        self.sq = SendQueue(self.cap.max_send_wr, self.sq.posted)
        self.rq = RecvQueue(self.cap.max_recv_wr, self.rq.posted)
        self.req = Requesting(self.sq.posted)
        self.comp = Completing(self.sq.posted)
        self.resp = Responding()

    def enter(self, trace: "Recorder", state: QPState) -> None:
        """The only way from one state to another."""
        before, self.state = self.state, state
        trace.record(Kind.STATE_CHANGED, self.node, self.number, before, state)
