"""Completions that a program takes for others: by their wr_id, their order, or their queue pair."""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from rdmalab.command import Noun, Thing
from rdmalab.doctor.failed_work import work_of
from rdmalab.doctor.log import Log, once_a_log
from rdmalab.doctor.subject import Sort, Subject
from rdmalab.doctor.work.ownership import MOST_POSTS, Request, requests
from rdmalab.hca.wr import SendWqe
from rdmalab.spec import records as rec
from rdmalab.spec.records import Kind


class Pair(NamedTuple):
    """Two requests of a node, in the order of their posts."""

    first: Request
    second: Request

    @property
    def subject(self) -> Subject:
        return self.first.subject

    def concerns(self, asked: Subject) -> bool:
        """Whether one of them, or the queue of their completions, is asked about."""
        cq = Thing(Noun.CQ, self.first.subject.thing.node, self.first.cq)
        return asked in (self.first.subject, self.second.subject) or asked.thing == cq


class Orphan(NamedTuple):
    """A completion that was polled after its queue pair was destroyed."""

    subject: Subject
    cq: Thing
    qp: Thing
    destroyed: int
    polled: int

    def concerns(self, asked: Subject) -> bool:
        """Whether it, its queue or its queue pair is asked about."""
        return asked == self.subject or asked.thing in (self.cq, self.qp)


@once_a_log
def alike(log: Log, node: str) -> list[Pair]:
    """Requests of one queue with one wr_id; the first was not polled when the second was posted.

    A request that is posted again after its error differs from it in the status.
    """
    same: dict[tuple[Sort, Thing, int], list[Request]] = {}
    for each in requests(log, node):
        silent = isinstance(each.wqe, SendWqe) and not each.wqe.signaled
        if not silent or (each.ended is not None and not each.filled):
            subject = each.subject
            same.setdefault((subject.sort, subject.thing, subject.wr_id), []).append(each)
    pairs = (Pair(*two) for group in same.values() for two in pairwise(group))
    return [p for p in pairs
            if (p.first.polled is None or p.first.polled > p.second.posted)
            and not (_has_failed(p.first) and (p.first.ended or 0) < p.second.posted)]  # fmt: skip


def _has_failed(request: Request) -> bool:
    return request.ended is not None and not request.filled


@once_a_log
def crossed(log: Log, node: str) -> Iterator[Pair]:
    """Sends of two queue pairs that completed on one queue against the order of their posts."""
    sends = (r for r in requests(log, node) if r.subject.sort is Sort.SEND and r.cq and r.filled)
    last: dict[int, Request] = {}  # of each queue the send that completed last of those before
    for each in sorted(sends, key=lambda request: request.posted):
        other = last.setdefault(each.cq, each)
        if (other.ended or 0) > (each.ended or 0) and other.subject.thing != each.subject.thing:
            yield Pair(other, each)
        else:
            last[each.cq] = each


@once_a_log
def orphans(log: Log, node: str) -> Iterator[Orphan]:
    """Completions of a node that were polled after the destroy of their queue pairs."""
    gone = {rec.object_of(r): rec.event_of(r) for r in log.of(Kind.DESTROYED, node)
            if rec.noun_of(r) == Noun.QP}  # fmt: skip
    for record in log.of(Kind.CQE_POLLED, node)[-MOST_POSTS:] if gone else []:
        cqe, polled = rec.cqe_of(record), rec.event_of(record)
        if (destroyed := gone.get(cqe.qp_num, polled)) < polled:
            cq = Thing(Noun.CQ, node, rec.object_of(record))
            qp = Thing(Noun.QP, node, cqe.qp_num)
            yield Orphan(work_of(node, cqe), cq, qp, destroyed, polled)
