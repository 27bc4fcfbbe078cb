"""The state of each engine of a queue pair: requester, completer, responder."""

from dataclasses import dataclass

from rdmalab.hca.wr import RecvWqe
from rdmalab.spec.opcodes import Op
from rdmalab.spec.refusals import Refusal


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
    the RNR wait. implied_psn: where the last implied NAK was taken, one a gap. watching: the ack
    timer runs (with timeout 0 it never ends).
    """

    serial: int
    psn: int = 0
    reads: int = 0
    retried: int = 0
    rnr_retried: int = 0
    rnr_until_ns: int | None = None
    implied_psn: int | None = None
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
