"""Work requests on their queues: the progress of each, and what it waits for."""

from collections.abc import Callable, Iterator
from enum import IntEnum, auto
from itertools import islice
from typing import Annotated, TypeVar

from rdmalab.command import Thing
from rdmalab.hca import requester
from rdmalab.hca.cq import CompletionQueue
from rdmalab.hca.psn import diff
from rdmalab.hca.qp import Extended, QueuePair
from rdmalab.hca.wr import Cqe, RecvWqe, SendWqe, SendWR
from rdmalab.spec.records import Kind, Record, cqe_of, place_of, recv_wqe_of, send_wqe_of
from rdmalab.spec.row import dataclass
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import SendFlags, SendOps, WROpcode, is_local
from rdmalab.views import fmt, record_text
from rdmalab.views.columns import USUAL, Col, Meaning, describe, words
from rdmalab.world.world import World


@dataclass(slots=True)
class RegionRow:
    """The extended API of a queue pair: what wr_* functions have built and not posted yet."""

    extended: Annotated[bool, "whether wr_* functions work on it: made by create_qp_ex for them"]
    send_ops_flags: Annotated[SendOps, "the builders that create_qp_ex was asked for"]
    locked: Annotated[bool, "whether posting takes a lock; not in a thread domain"]
    open: Annotated[bool, "between wr_start and wr_complete"]
    thread: Annotated[int | None, "the thread that called wr_start"]
    built: Annotated[int, "work requests built since wr_start"]
    error: Annotated[str, "the rule that wr_complete will answer with, empty if none yet"]
    wr_id: Annotated[int, "what the next builder takes"]
    wr_flags: Annotated[SendFlags, "what the next builder takes"]


def region_row(qp: QueuePair) -> RegionRow:
    """The work requests built and not posted yet; for a plain queue pair always none."""
    ex = qp.ex or Extended(0)
    region = ex.region
    complaint = region.complaint if region else None
    return RegionRow(
        extended=qp.ex is not None,
        send_ops_flags=SendOps(ex.ops),
        locked=qp.locked,
        open=region is not None,
        thread=region.thread if region else None,
        built=len(region.built) if region else 0,
        error=complaint.rule if complaint else "",
        wr_id=ex.wr_id,
        wr_flags=SendFlags(ex.wr_flags),
    )


class Progress(IntEnum):
    """The progress of a WQE."""

    EARLY = auto()  # Soft-RoCE: refused before RTS, yet left in the ring
    POSTED = auto()
    WAITING = auto()  # its turn, but something holds it: see `reason`
    ON_WIRE = auto()
    RNR_WAIT = auto()
    ACKED = auto()  # done; the slot comes back when a completion at or after it is polled
    FAILED = auto()
    GONE = auto()  # its slot came back, or the queue was emptied


@dataclass(slots=True)
class WqeRow:
    """A send work request on its queue."""

    serial: Annotated[int, "which of the queue's work requests, counted from 0"]
    wr_id: Annotated[int, "as posted"]
    opcode: Annotated[WROpcode | int, "as posted"]
    length: Annotated[int, "bytes of the message"]
    flags: Annotated[SendFlags, "send_flags as posted"]
    signaled: Annotated[bool, "whether success gives a completion: SIGNALED or sq_sig_all"]
    status: Annotated[Progress, "its progress"]
    reason: Annotated[str, "what it waits for: state, fence, rd-atomic, window, rnr"]
    wc_status: Annotated[WCStatus | None, "how it ended, while its completion is not polled"]
    first_psn: Annotated[int | None, "the first PSN it uses; nothing if it was never sent"]
    last_psn: Annotated[int | None, "the last PSN it uses; nothing if it was never sent"]
    answered: Annotated[bool, "whether the peer acknowledges it; else it is done when sent"]

    @property
    def word(self) -> str:
        """The status as people say it: `RNR WAIT`, `WAITING fence`, `ACKED unsignaled`."""
        done = self.status is Progress.ACKED and not self.answered
        parts = [_unanswered(self.opcode) if done else self.status.name.replace("_", " ")]
        if self.status is Progress.WAITING:
            parts.append(self.reason)
        elif self.status is Progress.FAILED and self.wc_status is not None:
            parts.append(self.wc_status.name)
        elif self.status is Progress.ACKED and not self.signaled:
            parts.append("unsignaled")
        return " ".join(parts)

    @property
    def text(self) -> str:
        """`wr7 SEND 64 B RNR WAIT psn 3..5`."""
        return words(self)

    @property
    def psns(self) -> str:
        """`3..5`; empty without any."""
        if self.first_psn is None:
            return ""
        return str(self.first_psn) + (
            "" if self.last_psn == self.first_psn else f"..{self.last_psn}"
        )


def _unanswered(opcode: int) -> str:
    """State of a request without an answer: DONE if it is local, else SENT."""
    return "DONE" if is_local(opcode) else "SENT"


@dataclass(slots=True)
class RecvRow:
    """A receive work request that waits, or is in use by a message."""

    serial: Annotated[int, "which of the queue's work requests, counted from 0"]
    wr_id: Annotated[int, "as posted"]
    length: Annotated[int, "bytes of its buffers"]
    received: Annotated[int, "bytes of the message that came so far"]
    status: Annotated[Progress, "POSTED, ON_WIRE while a message is using it, GONE"]

    @property
    def text(self) -> str:
        """`wr2 4096 B POSTED`."""
        return words(self)


def _stands(row: WqeRow) -> Meaning:
    if row.wc_status not in (None, WCStatus.SUCCESS):
        flushed = row.wc_status is WCStatus.WR_FLUSH_ERR
        return Meaning.FLUSHED if flushed else Meaning.FAILED
    return _MEANINGS.get(row.status, Meaning.PLAIN)


def _unsaid(row: WqeRow) -> str | None:
    """`unsignaled`, unless the status says it."""
    return None if "unsignaled" in row.word else "unsignaled"


_MEANINGS = {
    Progress.EARLY: Meaning.REFUSED,
    Progress.POSTED: Meaning.WAITING,
    Progress.WAITING: Meaning.WAITING,
    Progress.ON_WIRE: Meaning.UNDER_WAY,
    Progress.RNR_WAIT: Meaning.WAITING,
    Progress.ACKED: Meaning.OK,
    Progress.FAILED: Meaning.FAILED,
    Progress.GONE: Meaning.DIM,
}

describe(
    WqeRow,
    Col("wr_id", Meaning.NAME, "wr{}", form=fmt.number),
    Col("opcode", of=lambda row: fmt.member(row.opcode, WROpcode)),
    Col("len", Meaning.NUMBER, "{} B", of=lambda row: row.length, right=True),
    Col("status", _stands, of=lambda row: row.word),
    Col("psn", label="psn {}", of=lambda row: row.psns),
    Col(
        "signaled",
        Meaning.DIM,
        of=lambda row: "signaled" if row.signaled else _unsaid(row),
        rank=USUAL,
    ),
)
describe(
    RecvRow,
    Col("wr_id", Meaning.NAME, "wr{}", form=fmt.number),
    Col("opcode", of=lambda _row: "RECV", rank=USUAL),
    Col("len", Meaning.NUMBER, "{} B", of=lambda row: row.length, right=True),
    Col(
        "status",
        lambda row: _MEANINGS.get(row.status, Meaning.PLAIN),
        of=lambda row: row.status.name.replace("_", " "),
    ),
    Col("received", Meaning.DIM, "{} B received", of=lambda row: row.received or None, rank=USUAL),
)


def wqe_rows(world: World, thing: Thing) -> list[WqeRow]:
    """Requests that hold a slot of the send queue, oldest first."""
    qp = world.find(thing, QueuePair)
    ended = ends(world, qp, qp.send_cq, is_send=True)
    rows = [_wqe_row(qp, wqe, ended.get(wqe.serial)) for wqe in qp.sq.wqes.values()]
    return rows + [_early_row(qp, index, wr) for index, wr in enumerate(qp.sq.early)]


def ends(world: World, qp: QueuePair, cqn: int, *, is_send: bool) -> dict[int, WCStatus]:
    """Statuses of requests whose CQEs no poll has returned, by serial: of sends, or of receives.

    cqn: the CQ on which they complete. A CQE that an overrun has lost is no longer there, and its
    request has ended with its status all the same.
    """
    cq = world.nodes[qp.node].cqs.items.get(cqn)
    if cq is None:
        return {}
    may_look = not world.trace.shut  # a program of the lab cannot look into the log
    cqes = [*_lost(world, cq), *cq.cqes] if cq.lost and may_look else cq.cqes
    return {
        cqe.serial: WCStatus(cqe.status)
        for cqe in cqes
        if cqe.is_send is is_send and cqe.qp_num == qp.number
    }


def _lost(world: World, cq: CompletionQueue) -> Iterator[Cqe]:
    """The CQEs for which a CQ had no room."""
    overruns = world.trace.records.of_kind(Kind.CQ_OVERRUN)
    here = (cqe_of(each.record) for each in overruns if place_of(each.record) == cq.thing[1:])
    return islice(here, cq.lost)  # no record is read in vain


def _wqe_row(qp: QueuePair, wqe: SendWqe, ended: WCStatus | None) -> WqeRow:
    status, reason = _progress(qp, wqe.serial, ended)
    if status is Progress.FAILED and ended is None:
        ended = WCStatus(qp.req.failed or 0)
    has_psn = qp.transport.service is not None and not is_local(wqe.wr.opcode)
    if status is Progress.FAILED and qp.req.serial <= wqe.serial:  # not all of it has left
        has_psn = has_psn and diff(wqe.first_psn, qp.req.sent) < 0
    return WqeRow(
        serial=wqe.serial,
        wr_id=wqe.wr.wr_id,
        opcode=wqe.wr.opcode,
        length=wqe.length,
        flags=SendFlags(wqe.flags),
        signaled=wqe.signaled,
        status=status,
        reason=reason,
        wc_status=ended,
        first_psn=wqe.first_psn if has_psn else None,
        last_psn=wqe.last_psn if has_psn else None,
        answered=qp.transport.acknowledged and not is_local(wqe.wr.opcode),
    )


def _early_row(qp: QueuePair, index: int, wr: SendWR) -> WqeRow:
    length = sum(sge.length for sge in wr.sg)
    flags = SendFlags(wr.flags)
    signaled = qp.sq_sig_all or SendFlags.SIGNALED in flags
    return WqeRow(
        serial=qp.sq.posted + index,
        wr_id=wr.wr_id,
        opcode=wr.opcode,
        length=length,
        flags=flags,
        signaled=signaled,
        status=Progress.EARLY,
        reason="state",
        wc_status=None,
        first_psn=None,
        last_psn=None,
        answered=qp.transport.acknowledged,
    )


def _progress(qp: QueuePair, serial: int, ended: WCStatus | None) -> tuple[Progress, str]:
    waits_rnr = qp.comp.rnr_until_ns is not None
    if serial < qp.comp.serial:
        good = ended in (None, WCStatus.SUCCESS)
        return (Progress.ACKED if good else Progress.FAILED), ""
    if serial == qp.req.serial and qp.req.failed is not None:
        return Progress.FAILED, ""
    if serial < qp.req.started:
        return (Progress.RNR_WAIT, "rnr") if waits_rnr else (Progress.ON_WIRE, "")
    reason = requester.reason_to_wait(qp) if serial == qp.req.serial or waits_rnr else ""
    return (Progress.WAITING if reason else Progress.POSTED), reason


def recv_rows(world: World, thing: Thing) -> list[RecvRow]:
    """The receive that a message is using, then the receives in the queue."""
    qp = world.find(thing, QueuePair)
    rows = [RecvRow(w.serial, w.wr.wr_id, w.length, 0, Progress.POSTED) for w in qp.rq.wqes]
    if (used := qp.resp.recv) is not None:
        received = qp.resp.received
        rows.insert(0, RecvRow(used.serial, used.wr.wr_id, used.length, received, Progress.ON_WIRE))
    return rows


def wqe_by_id(world: World, thing: Thing, wr_id: int) -> WqeRow | None:
    """The newest send with this wr_id, on the queue or gone; None if there never was one."""
    found = [row for row in wqe_rows(world, thing) if row.wr_id == wr_id]
    if found:
        return found[-1]
    wqe = _posted(world, thing, Kind.SEND_POSTED, send_wqe_of, wr_id)
    if wqe is None:
        return None
    row = _wqe_row(world.find(thing, QueuePair), wqe, None)
    row.status, row.reason, row.wc_status = Progress.GONE, "", None
    return row


W = TypeVar("W", SendWqe, RecvWqe)


def _posted(
    world: World, thing: Thing, kind: Kind, wqe_of: Callable[[Record], W], wr_id: int
) -> W | None:
    """The newest request with this wr_id that was posted to a queue pair, by its records."""
    here = (r for r in reversed(world.trace.records) if record_text.is_about(r, kind, thing))
    return next((wqe for wqe in map(wqe_of, here) if wqe.wr.wr_id == wr_id), None)


def recv_by_id(world: World, thing: Thing, wr_id: int) -> RecvRow | None:
    """The newest receive with this wr_id; None if there never was one."""
    found = [row for row in recv_rows(world, thing) if row.wr_id == wr_id]
    if found:
        return found[-1]
    wqe = _posted(world, thing, Kind.RECV_POSTED, recv_wqe_of, wr_id)
    return None if wqe is None else RecvRow(wqe.serial, wr_id, wqe.length, 0, Progress.GONE)
