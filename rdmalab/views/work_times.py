"""Times at which work requests were posted and completed, also after their slots are free."""

from typing import NamedTuple

from rdmalab.command import Noun, Thing
from rdmalab.spec.records import (
    Kind,
    Record,
    at_ns_of,
    cqe_of,
    kind_of,
    node_of,
    object_of,
    recv_wqe_of,
    send_wqe_of,
)

FIELDS = {
    "posted_ns": "when it was posted; known also after its slot is free",
    "completed_ns": "when the device completed it, polled or not; nothing before that",
}


class WorkTime(NamedTuple):
    """The newest work request with its wr_id on a queue. completed_ns: None before its end."""

    serial: int
    posted_ns: int
    completed_ns: int | None = None


_Key = tuple[str, str, int, str, int]  # node, noun and number of the queue's owner, queue, wr_id


class WorkTimes:
    """The times of all work requests, carried on record by record."""

    __slots__ = ("_times",)

    def __init__(self) -> None:
        self._times: dict[_Key, WorkTime] = {}

    def __deepcopy__(self, memo: dict[int, object]) -> "WorkTimes":
        """A copy shares the times, which never change: a deep one would take seconds."""
        del memo
        twin = WorkTimes()
        twin._times = dict(self._times)
        return twin

    def with_record(self, record: Record) -> "WorkTimes":
        """This object, after one more record."""
        kind = kind_of(record)
        if kind is Kind.SEND_POSTED or kind is Kind.WQE_COMPLETED:
            wqe = send_wqe_of(record)
            key = _key(record, Noun.QP, object_of(record), "wr", wqe.wr.wr_id)
            self._note(key, wqe.serial, at_ns_of(record), is_post=kind is Kind.SEND_POSTED)
        elif kind is Kind.RECV_POSTED or kind is Kind.SRQ_POSTED:
            recv, noun = recv_wqe_of(record), Noun.QP if kind is Kind.RECV_POSTED else Noun.SRQ
            key = _key(record, noun, object_of(record), "recv_wr", recv.wr.wr_id)
            self._note(key, recv.serial, at_ns_of(record), is_post=True)
        elif kind is Kind.CQE_ADDED and not cqe_of(record).is_send:
            cqe = cqe_of(record)
            noun, number = (Noun.SRQ, cqe.srq) if cqe.srq else (Noun.QP, cqe.qp_num)
            key = _key(record, noun, number, "recv_wr", cqe.wr_id)
            self._note(key, cqe.serial, at_ns_of(record), is_post=False)
        return self

    def _note(self, key: _Key, serial: int, at_ns: int, *, is_post: bool) -> None:
        if is_post:
            self._times[key] = WorkTime(serial, at_ns)
        elif (time := self._times.get(key)) is not None and time.serial == serial:
            self._times[key] = time._replace(completed_ns=at_ns)

    def of(self, thing: Thing, queue: str, wr_id: int) -> WorkTime | None:
        """The newest work request with this wr_id. queue: `wr` or `recv_wr`."""
        return self._times.get((thing.node, thing.noun, thing.number, queue, wr_id))


def _key(record: Record, noun: Noun, number: int, queue: str, wr_id: int) -> _Key:
    return node_of(record), noun, number, queue, wr_id
