"""Extended polling: completions one by one, field by field; they leave the CQ at the end."""

from collections.abc import Sequence
from dataclasses import field

from rdmalab.command import Refused
from rdmalab.hca import slots
from rdmalab.hca.adapter import Adapter
from rdmalab.hca.cq import CompletionQueue
from rdmalab.hca.errors import refused
from rdmalab.hca.wr import Cqe
from rdmalab.spec.completions import READS, WcEx
from rdmalab.spec.profiles import SlotsFreed
from rdmalab.spec.records import Kind
from rdmalab.spec.row import dataclass
from rdmalab.spec.statuses import WCStatus


@dataclass(slots=True)
class CurrentWc:
    """`ibv_cq_ex` during a poll: wr_id, status, and the fields chosen at its creation."""

    wr_id: int
    status: WCStatus
    fields: dict[str, int] = field(default_factory=dict)


def check_closed(hca: Adapter, cq: CompletionQueue) -> None:
    """Between start_poll and end_poll the CQ is locked."""
    if cq.reading:
        raise refused(hca.profile, "poll-open", argument="cq", legal="end_poll first")


def poll(hca: Adapter, cq: CompletionQueue, entries: int) -> list[Cqe]:
    """The plain poll; refused during an extended poll."""
    check_closed(hca, cq)
    return _take(hca, cq, entries)


def _take(hca: Adapter, cq: CompletionQueue, entries: int) -> list[Cqe]:
    """Return the oldest CQEs; their slots, and all before them, are freed."""
    cqes = cq.take(hca.trace, entries)
    _free_slots(hca, cqes)
    return cqes


def _free_slots(hca: Adapter, cqes: Sequence[Cqe]) -> None:
    """Give back the slots of these CQEs and of all WQEs before them."""
    if hca.profile.slots_freed is not SlotsFreed.POLLED:
        return
    # Unsignaled requests have no CQE: their slots come back with the next one of their queue.
    newest: dict[tuple[int, bool], int] = {}
    shared: list[Cqe] = []
    for cqe in cqes:
        if cqe.srq:
            shared.append(cqe)
        else:
            newest[cqe.qp_num, cqe.is_send] = cqe.serial
    for (qpn, is_send), serial in newest.items():
        if (qp := hca.qps.items.get(qpn)) is not None:
            slots.free(hca, qpn, qp.sq if is_send else qp.rq, serial)
    if shared:
        slots.free_shared(hca, shared)


def start(hca: Adapter, cq: CompletionQueue) -> Cqe:
    """Look at the oldest completion."""
    if cq.fields is None:
        legal = "make it with create_cq_ex"
        raise refused(hca.profile, "cq-not-extended", argument="cq", legal=legal)
    check_closed(hca, cq)
    if not cq.cqes:
        raise _empty(hca, "end_poll is not to be called now")
    return _see(hca, cq, Kind.POLL_STARTED)


def advance(hca: Adapter, cq: CompletionQueue) -> Cqe:
    """Look at the one after it."""
    check_open(hca, cq)
    if cq.reading >= len(cq.cqes):
        raise _empty(hca, "end_poll removes the completions that were read")
    return _see(hca, cq, Kind.POLL_ADVANCED)


def _empty(hca: Adapter, legal: str) -> Refused:
    return refused(hca.profile, "poll-empty", argument="cq", legal=legal)


def _see(hca: Adapter, cq: CompletionQueue, kind: Kind) -> Cqe:
    cqe = cq.cqes[cq.reading]
    cq.reading += 1
    hca.trace.record(kind, hca.node, cq.number, cqe)
    _free_slots(hca, [cqe])
    return cqe


def check_open(hca: Adapter, cq: CompletionQueue) -> None:
    """Refuse where no extended poll is open."""
    if not cq.reading:
        raise refused(hca.profile, "poll-not-open", argument="cq", legal="start_poll")


def end(hca: Adapter, cq: CompletionQueue) -> int:
    """End the poll: remove all completions that were read; returns how many.

    Their slots came back when each became the current one: mlx5 moves the tail of the work queue
    while it parses the CQE (mlx5_parse_cqe), and rings the doorbell of the CQ at the end.
    """
    check_open(hca, cq)
    seen, cq.reading = cq.reading, 0
    cq.take(hca.trace, seen)
    return seen


def read(hca: Adapter, cq: CompletionQueue, name: str) -> int:
    """One `ibv_wc_read_*` of the current completion."""
    check_open(hca, cq)
    flag = READS[name].flag
    if flag is not None and not (cq.fields or 0) & flag:
        raise refused(hca.profile, "crash-wc-read", WcEx(flag).name, argument="field")
    return _value(cq.cqes[cq.reading - 1], name)


def current(cq: CompletionQueue, cqe: Cqe) -> CurrentWc:
    """Everything that may be read of this completion and means something."""
    succeeded = cqe.status == WCStatus.SUCCESS
    found = {
        name: _value(cqe, name)
        for name, row in READS.items()
        if (row.flag is None or (cq.fields or 0) & row.flag) and (succeeded or row.on_error)
    }
    return CurrentWc(cqe.wr_id, cqe.status, found)


def is_undefined(cq: CompletionQueue, name: str) -> bool:
    """True if the current completion does not define the field."""
    cqe = cq.cqes[cq.reading - 1]
    return cqe.status != WCStatus.SUCCESS and not READS[name].on_error


def _value(cqe: Cqe, name: str) -> int:
    source = READS[name].source
    return int(getattr(cqe, source)) if source else 0
