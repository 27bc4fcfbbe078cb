"""wr-id-ambiguous: several requests go by the same number, and so will their completions."""

from rdmalab.doctor.case import Case
from rdmalab.doctor.facts.receive import Receive
from rdmalab.doctor.facts.send import Send
from rdmalab.doctor.finding import NA, Check, Evidence, Finding, Fix, Section, ok, said, warn
from rdmalab.hca.wqe import Cqe
from rdmalab.spec.records import A, Kind, Record, event_of
from rdmalab.views import fmt


def examine(case: Case) -> Finding:
    """Whether other requests of its queue that nobody has polled yet have its wr_id."""
    work = case.send or case.receive
    if work is None or work.wqe is None or work.polled is not None or not case.asked:
        return NA
    serials = _outstanding(case, work)
    if len(serials) < 2:
        return ok("no other that is outstanding has its wr_id")
    return warn(*_evidence(case, work, serials), cure=_cure(case))


def _outstanding(case: Case, work: Send | Receive) -> list[int]:
    """Serials of those with its wr_id that will have a completion, or whose completion waits."""
    wr_id = case.subject.wr_id
    waiting = {cqe.serial for cq in case.hca.cqs.items.values() for cqe in cq.cqes
               if cqe.wr_id == wr_id and _is_of(case, cqe)}  # fmt: skip
    return sorted(waiting | {serial for serial, named in _queued(work) if named == wr_id})


def _queued(work: Send | Receive) -> list[tuple[int, int]]:
    """Serial and wr_id of what is on its queue and will have a completion."""
    if isinstance(work, Receive):
        return [(w.serial, w.wr.wr_id) for w in (work.queue.wqes if work.queue is not None else ())]
    if work.qp is None:
        return []
    done, wqes = work.qp.comp.serial, work.qp.sq.wqes.values()
    return [(w.serial, w.wr.wr_id) for w in wqes if w.signaled and w.serial >= done]


def _is_of(case: Case, cqe: Cqe) -> bool:
    """It is of the same queue."""
    if cqe.is_send is not (case.send is not None):
        return False
    shared = case.receive is not None and case.receive.shared
    return (cqe.srq if shared else cqe.qp_num) == case.subject.thing.number


def _evidence(case: Case, work: Send | Receive, serials: list[int]) -> list[Evidence]:
    kind = Kind.SEND_POSTED if isinstance(work, Send) else Kind.RECV_POSTED
    kind = Kind.SRQ_POSTED if isinstance(work, Receive) and work.shared else kind
    posts: list[Record] = [r for _, r in case.log.about(kind, case.subject.thing)
                           if r[A].serial in serials]  # fmt: skip
    asked = fmt.wr(case.subject.wr_id)
    many = f"{len(serials)} requests that nobody has polled go by {asked}"
    first = event_of(posts[0]) if posts else None
    last = [said("the newest of them was posted here", event_of(posts[-1]))] if posts else []
    return [said(f"{many}: a completion does not tell which", first), *last]


def _cure(case: Case) -> Fix:
    """Wait for all of them: then it does not matter which is which."""
    if case.at_rest:
        return Fix(program="give each work request a wr_id of its own")
    return Fix(["run"])


CHECK = Check(
    13, "wr-id-ambiguous", Section.QUEUE,
    question="Do several outstanding requests have its wr_id?",
    rule="wr_id is all that tells one completion from another; nobody checks that it is unique",
    source="ibv_poll_cq(3)", examine=examine,
)  # fmt: skip
