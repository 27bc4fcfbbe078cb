"""Queue pairs: their queues, their attributes, and one state record per engine.

Short lists that are mostly empty are tuples: all share the one empty tuple, which saves memory with
ten thousand queue pairs.
"""

from collections import deque
from dataclasses import field
from typing import NamedTuple

from rdmalab.command import Noun, Thing
from rdmalab.hca import attributes
from rdmalab.hca.attributes import Capacity as Capacity
from rdmalab.hca.environment import Recorder, Timer
from rdmalab.hca.wr import RecvWqe, SendWqe, SendWR
from rdmalab.spec.opcodes import Op
from rdmalab.spec.records import Kind
from rdmalab.spec.refusals import Refusal
from rdmalab.spec.row import dataclass
from rdmalab.spec.srq import SrqType
from rdmalab.spec.states import STATES, QPState, QPType
from rdmalab.spec.transports import TRANSPORTS
from rdmalab.wire.packet import Flow


class Requesting:
    """The state of the requester.

    serial, psn: the next WQE and packet to send. sent: the first PSN never sent. started: WQEs
    started so far. reads: READs and atomics started so far. unasked: packets since the last one
    that requested an ACK. asked: the PSN after that one. failed: status of the WQE at `serial` if
    it cannot be sent. done: serial after the newest WQE executed without a packet.
    """

    __slots__ = ("asked", "done", "failed", "psn", "reads", "sent", "serial", "started", "unasked")

    def __init__(self, serial: int, psn: int = 0) -> None:
        self.serial = serial
        self.psn = psn
        self.sent = psn
        self.started = serial
        self.done = serial
        self.reads = 0
        self.unasked = 0
        self.asked = psn
        self.failed: int | None = None


@dataclass(slots=True)
class Completing:
    """The completer's notebook.

    serial, psn: the oldest WQE not completed, the oldest PSN not answered. reads: READs and atomics
    completed so far. retried, rnr_retried: in vain, since the last progress. rnr_until_ns: end of
    the RNR wait. implied_psn: where the last implied NAK was taken, one a gap. retrying: sent
    again, and no answer has come since. watching: the ack timer runs; with timeout 0 without end.
    """

    serial: int
    psn: int = 0
    reads: int = 0
    retried: int = 0
    rnr_retried: int = 0
    rnr_until_ns: int | None = None
    implied_psn: int | None = None
    retrying: bool = False
    watching: bool = False


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

    first: none has been sent yet. again: the request was a duplicate. pd: whose memory it is, if
    the QP has no PD.
    """

    psn: int
    va: int
    rkey: int
    length: int
    msn: int
    again: bool
    pd: int = 0
    first: bool = True


@dataclass(slots=True)
class Acknowledgement:
    """One ACK or NAK to be sent; `original` is an atomic's answer, `dying` a fatal refusal."""

    psn: int
    syndrome: int
    msn: int
    original: int | None = None
    dying: Refusal | None = None


@dataclass(slots=True)
class Responding:
    """The state of the responder.

    psn: the expected PSN. msn: messages completed. op: the operation of the message in progress.
    recv: the receive WQE in use. received: bytes of the message so far. va, rkey, remaining: where
    a WRITE continues, as the peer addresses it, and the bytes left. place: where the next byte is
    in memory, by the newest check of the key. nak_sent: this gap was answered; rnr_sent: so was
    this empty queue. dying: a fatal NAK is to be sent. received_any: a packet was received.
    solicited: the refused packet had the SE bit.
    """

    psn: int = 0
    msn: int = 0
    op: Op | None = None
    recv: RecvWqe | None = None
    received: int = 0
    va: int = 0
    place: int = 0
    rkey: int = 0
    remaining: int = 0
    nak_sent: bool = False
    rnr_sent: bool = False
    dying: bool = False
    received_any: bool = False
    solicited: bool = False
    served: tuple[Served, ...] = ()
    answers: tuple[Acknowledgement | ReadAnswer, ...] = ()


class SendQueue:
    """WQEs by serial, from the oldest that still holds a slot to the newest posted.

    promised: slots that a batch will take, while it is judged.
    """

    noun = "sq"
    __slots__ = ("capacity", "early", "freed", "next_psn", "posted", "promised", "wqes")

    def __init__(self, capacity: int, serial: int = 0) -> None:
        self.capacity = capacity
        self.early: tuple[SendWR, ...] = ()  # Soft-RoCE: refused before RTS, yet left in the ring
        self.wqes: dict[int, SendWqe] = {}
        self.posted = serial
        self.freed = serial
        self.next_psn = 0
        self.promised = 0

    @property
    def used(self) -> int:
        """Slots that hold a WQE."""
        return self.posted - self.freed

    def is_full(self) -> bool:
        """True if no slot is free, or all are promised; asked of every request, so no property."""
        return self.posted - self.freed + self.promised >= self.capacity

    @property
    def is_unsignaled(self) -> bool:
        """True if no request in it is signaled, so that no completion will free a slot."""
        return bool(self.wqes) and not any(wqe.signaled for wqe in self.wqes.values())

    @property
    def occupied(self) -> int:
        """Slots in use, with those of work requests that were refused before RTS and stay."""
        return self.used + len(self.early)

    def push(self, wqe: SendWqe) -> None:
        """Add a WQE."""
        self.wqes[wqe.serial] = wqe
        self.posted += 1

    def free_through(self, serial: int) -> int:
        """Free the slots up to and including this WQE; returns how many."""
        before = self.freed
        while self.freed <= serial:
            del self.wqes[self.freed]
            self.freed += 1
        return self.freed - before


class RecvQueue:
    """WQEs that wait for a message, oldest first; `posted` and `freed` count since creation."""

    noun = "rq"
    __slots__ = ("capacity", "freed", "posted", "wqes")

    def __init__(self, capacity: int, serial: int = 0) -> None:
        self.capacity = capacity
        self.wqes: deque[RecvWqe] = deque()
        self.posted = serial
        self.freed = serial

    @property
    def used(self) -> int:
        """Slots of receives that wait, are in use, or are completed and not given back."""
        return self.posted - self.freed

    def is_full(self) -> bool:
        """True if no slot is free."""
        return self.posted - self.freed >= self.capacity

    def push(self, wqe: RecvWqe) -> None:
        """Add a WQE."""
        self.wqes.append(wqe)
        self.posted += 1

    def free_through(self, serial: int) -> int:
        """Free the slots up to and including this WQE; returns how many."""
        count = serial + 1 - self.freed
        if count <= 0:
            return 0
        self.freed += count
        return count


class Parts(NamedTuple):
    """The objects that an SRQ refers to, by number; xrcd and cq belong to XRC SRQs, 0 is none."""

    pd: int
    srq_type: SrqType = SrqType.BASIC
    xrcd: int = 0
    cq: int = 0


class SharedReceiveQueue:
    """`ibv_srq`: posted WQEs, oldest first, for each QP that is tied to it or names it.

    freed: slots freed so far, in any order. limit: armed while it is not 0. lost: WQEs in it when
    it entered its error state, which are never used.
    """

    __slots__ = (
        "capacity", "cq", "dead", "freed", "limit", "lost", "max_sge", "node", "number", "pd",
        "posted", "srq_type", "wqes", "xrcd",
    )  # fmt: skip

    def __init__(self, node: str, number: int, capacity: int, max_sge: int, parts: Parts) -> None:
        self.node = node
        self.number = number
        self.capacity = capacity
        self.max_sge = max_sge
        self.pd, self.srq_type, self.xrcd, self.cq = parts
        self.limit = 0
        self.dead = False
        self.wqes: deque[RecvWqe] = deque()
        self.lost: deque[RecvWqe] = deque()
        self.posted = 0
        self.freed = 0

    @property
    def thing(self) -> Thing:
        """The shared receive queue as names and log have it."""
        return Thing(Noun.SRQ, self.node, self.number)

    @property
    def used(self) -> int:
        """Slots of receives that wait, are in use, or are completed and not given back."""
        return self.posted - self.freed

    def push(self, wqe: RecvWqe) -> None:
        """Add a WQE at the tail; in the error state it is never used."""
        (self.lost if self.dead else self.wqes).append(wqe)
        self.posted += 1


# --------------------------------------------------------------------------- ibv_qp_ex
@dataclass(slots=True)
class Built:
    """A work request that is being built.

    inline: the bytes its setter copied, or None. filled, addressed: a DATA or QP setter was called.
    """

    wr: SendWR
    inline: bytes | None = None
    filled: bool = False
    addressed: bool = False


@dataclass(slots=True)
class Complaint:
    """The error of a function that returns nothing; `wr_complete` returns it. index: of the WR."""

    rule: str
    details: tuple[object, ...]
    index: int


@dataclass(slots=True)
class Region:
    """The state between `wr_start` and `wr_complete`. complaint: the first error."""

    thread: int
    built: list[Built] = field(default_factory=list)
    complaint: Complaint | None = None


@dataclass(slots=True)
class Extended:
    """ops: the requested builders. wr_id, wr_flags: values for the next builder, until changed."""

    ops: int
    wr_id: int = 0
    wr_flags: int = 0
    region: Region | None = None


# --------------------------------------------------------------------------- queue pairs
@dataclass(slots=True)
class Path:
    """Path of the packets of a QP: flow, QP number, payload bytes of a full packet, P_Key.

    Without a peer, flow and QP number are empty. answer_ns: the ack timeout; None: disabled.
    migrated: the MigReq bit of its packets.
    """

    flow: Flow
    dest_qpn: int
    mtu: int
    pkey: int
    answer_ns: int | None = None
    migrated: bool = False


class QueuePair:
    """`ibv_qp`. queued: it is in line for the port. answered: its last packet ended an answer.

    known_state: the state that libibverbs caches. pd, send_cq, recv_cq, srq, xrcd: by number, 0 is
    none. source: where it takes receives from, its own rq or an SRQ. opened: how many processes
    have it open. reported_cap: the sizes that create_qp returned, `cap`: the real ones. domain: the
    protection domain it was created in; pd: the effective one, `base` of a parent domain. locked:
    posting takes a lock. ex: `ibv_qp_ex` if created by create_qp_ex. alternate: the path that
    automatic path migration changes to; InfiniBand only.
    """

    __slots__ = (
        "alternate", "answered", "attr", "cap", "comp", "domain", "ex", "known_state", "locked",
        "max_tso_header", "node", "number", "opened", "path", "pd", "qp_type", "queued", "recv_cq",
        "reported_cap", "req", "resp", "rq", "send_cq", "service", "source", "sq", "sq_sig_all",
        "srq", "state", "state_row", "timer", "transport", "xrcd",
    )  # fmt: skip

    def __init__(self, node: str, number: int, qp_type: QPType, cap: Capacity) -> None:
        self.node = node
        self.number = number
        self.qp_type = qp_type
        self.transport = TRANSPORTS[qp_type]
        self.service = self.transport.service
        self.cap = self.reported_cap = cap
        self.pd = 0
        self.domain = 0
        self.locked = True
        self.ex: Extended | None = None
        self.send_cq = 0
        self.recv_cq = 0
        self.srq = 0
        self.xrcd = 0
        self.opened = 1
        self.sq_sig_all = False
        self.max_tso_header = 0
        self.queued = False
        self.answered = False
        self.timer = Timer(node, number)
        self.known_state = QPState.RESET
        self.state = QPState.RESET
        self.state_row = STATES[QPState.RESET]
        self.sq = SendQueue(cap.max_send_wr)
        self.rq = RecvQueue(cap.max_recv_wr)
        self.source: RecvQueue | SharedReceiveQueue = self.rq
        self.clear()

    def clear(self) -> None:
        """Reset everything but state and identity.

        Serials continue: a CQE from before, polled later, frees no slot of new work.
        """
        self.attr = attributes.initial()
        self.path: Path | None = None
        self.alternate: Path | None = None
        self.sq = SendQueue(self.cap.max_send_wr, self.sq.posted)
        self.rq = RecvQueue(self.cap.max_recv_wr, self.rq.posted)
        if not self.srq:
            self.source = self.rq
        self.req = Requesting(self.sq.posted)
        self.comp = Completing(self.sq.posted)
        self.resp = Responding()

    @property
    def thing(self) -> Thing:
        """The queue pair as names and log have it."""
        return Thing(Noun.QP, self.node, self.number)

    @property
    def shares_receives(self) -> bool:
        """True if its receives come from a queue that other QPs use."""
        return bool(self.srq or self.xrcd)

    def share_receives(self, srq: SharedReceiveQueue) -> None:
        """At creation: its receives come from this SRQ from now on."""
        self.srq, self.source = srq.number, srq

    def share(self, trace: Recorder, change: int) -> None:
        """Count one process more or less that has this QP open."""
        self.opened += change
        trace.record(Kind.QP_SHARED, self.node, self.number, self.opened)

    @property
    def has_begun_sends(self) -> bool:
        """True if some sends are begun and not yet completed."""
        return self.comp.serial < self.req.started

    @property
    def is_draining(self) -> bool:
        """True if the attribute `sq_draining` is set."""
        return self.state is QPState.SQD and self.has_begun_sends

    def enter(self, trace: Recorder, state: QPState) -> None:
        """Change the state, as the only function."""
        before, self.state, self.state_row = self.state, state, STATES[state]
        trace.record(Kind.STATE_CHANGED, self.node, self.number, before, state)
