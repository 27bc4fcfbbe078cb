"""flush-only: all that was seen is a flush; something else failed before it."""

from rdmalab.command import Noun, Thing
from rdmalab.doctor.case import Case
from rdmalab.doctor.facts.receive import Receive
from rdmalab.doctor.facts.send import Ending, Send
from rdmalab.doctor.failed_work import first_failed
from rdmalab.doctor.finding import NA, Check, Finding, Section, fail, ok, said
from rdmalab.doctor.subject import Sort, Subject
from rdmalab.hca.qp import QueuePair
from rdmalab.spec.records import A, B, node_of, object_of
from rdmalab.spec.statuses import WCStatus
from rdmalab.views import fmt


def examine(case: Case) -> Finding:
    """Whether a work request of the same queue pair failed by itself, and this one did not."""
    work, qp = case.send or case.receive, case.qp
    if work is None or work.ending is None or qp is None:
        return NA
    if work.ending.status is not WCStatus.WR_FLUSH_ERR:
        return ok("it is no flush")
    found = first_failed(case.log, Thing(Noun.QP, qp.node, qp.number))
    first = _ending(case, found[0]) if found else None
    if first is None or first.status is WCStatus.WR_FLUSH_ERR:
        return ok("no work request of it failed by itself")
    others = _flushed(case, qp) - 1
    more = f", and {fmt.count(others, 'other')}" if others else ""
    return fail(
        said(f"{_name(case, found[0])} failed first, with {first.status.name}", first.event),
        said(f"this one was flushed behind it{more}", work.ending.event),
        since=work.ending.event,
    )


def _ending(case: Case, subject: Subject) -> Ending | None:
    sort = Send if subject.sort is Sort.SEND else Receive
    return sort(case.session, subject, case.log).ending


def _name(case: Case, subject: Subject) -> str:
    what = "wr" if subject.sort is Sort.SEND else "recv_wr"
    return f"{case.names.of(subject.thing)}.{what}[{subject.wr_id}]"


def _flushed(case: Case, qp: QueuePair) -> int:
    """Of both its queues."""
    where = (qp.node, qp.number)
    sends = [(node_of(r), object_of(r)) for _, r in case.log.failed_sends if r[B] == _FLUSH]
    failed = [r for _, r in case.log.failed_receives if r[A].status == _FLUSH]
    receives = [(node_of(r), r[A].qp_num) for r in failed]
    return (sends + receives).count(where)


_FLUSH = WCStatus.WR_FLUSH_ERR


CHECK = Check(
    77, "flush-only", Section.ERROR,
    question="Is it only a flush, and another work request of the queue pair failed before?",
    rule="a flush says only that the queue pair was in ERR or SQE: what failed first has the cause",
    source="ibv_poll_cq(3)", examine=examine, station=True,
)  # fmt: skip
