"""sq-full-of-unsignaled: nobody will ever poll what holds the slots of the send queue."""

from rdmalab.doctor.case import Case
from rdmalab.doctor.facts import attempts, full_queues
from rdmalab.doctor.finding import NA, Check, Finding, Fix, Section, fail, ok, said
from rdmalab.doctor.fixes import reposting, simple_fixes
from rdmalab.hca.qp import QueuePair
from rdmalab.spec.rules import errno_name
from rdmalab.views import fmt


def examine(case: Case) -> Finding:
    """Of a post that found no slot, whether all are held by unsignaled requests that are done."""
    call, qp = case.call, case.qp
    if call is None or qp is None or not full_queues.refused_as_full(case):
        return NA
    if call.verb not in attempts.SENDING:
        return ok("it is the receive queue that was full")
    held = full_queues.slots(qp)
    if len(held.wqes) < qp.sq.capacity or not held.wasted:
        return ok("a completion will give slots back, or has")
    names = " ".join(dict.fromkeys(fmt.wr(wqe.wr.wr_id) for wqe in held.wqes[:4]))
    more = " …" if len(held.wqes) > 4 else ""
    many = fmt.count(len(held.wqes), "slot")
    return fail(
        said(f"{many} of {case.qp_name(qp)}: {names}{more}, none of them signaled",
             full_queues.posted(case, qp, held.wqes[0])),
        said(f"all of them are carried out, and {held.done} completions will never come"),
        said(f"{call.verb} returned {errno_name(call.errno)}: {call.message}", call.event),
        cure=_cure(case, qp),
    )  # fmt: skip


def _cure(case: Case, qp: QueuePair) -> Fix | None:
    """Only a reset empties it now; and what is posted then asks for a completion."""
    again = reposting.once_more(case, qp, signaled=True, revived=True)
    return Fix([*simple_fixes.revive(case, qp), *again]) if again else None


CHECK = Check(
    5, "sq-full-of-unsignaled", Section.POSTED,
    question="Is the send queue full of requests that are done and were not signaled?",
    rule="slots come back when a completion at or behind them is polled: signal one now and then",
    source="ibv_post_send(3)", examine=examine,
)  # fmt: skip
