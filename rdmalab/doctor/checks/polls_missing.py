"""polls-missing: the completions that would free the queue lie there, and nobody polls them."""

from rdmalab.command import Noun, Thing
from rdmalab.doctor.case import Case
from rdmalab.doctor.facts import attempts, full_queues
from rdmalab.doctor.finding import NA, Check, Evidence, Finding, Fix, Section, fail, ok, said
from rdmalab.doctor.fixes import reposting
from rdmalab.hca.cq import CompletionQueue
from rdmalab.hca.qp import QueuePair
from rdmalab.spec.records import A, Kind, event_of
from rdmalab.spec.rules import errno_name
from rdmalab.views import fmt


def examine(case: Case) -> Finding:
    """Of a post that found no slot, whether its queue's completions wait to be polled."""
    call, qp = case.call, case.qp
    if call is None or qp is None or not case.asked or not full_queues.refused_as_full(case):
        return NA
    is_send = call.verb in attempts.SENDING
    cq, many, last = full_queues.unpolled(case, qp, is_send=is_send)
    if cq is None or not many:
        return ok("none of its completions waits to be polled")
    answer = f"{call.verb} returned {errno_name(call.errno)}: {call.message}"
    evidence = _lying(case, qp, cq, is_send=is_send)
    lines = [f"poll_cq {case.name(Noun.CQ, qp.node, cq.number)} num_entries={last}"]
    return fail(
        *evidence, said(answer, call.event), cure=Fix(lines + reposting.once_more(case, qp))
    )


def _lying(case: Case, qp: QueuePair, cq: CompletionQueue, *, is_send: bool) -> list[Evidence]:
    """How many lie there, since when, and when somebody looked last."""
    name = case.name(Noun.CQ, qp.node, cq.number)
    _, many, _ = full_queues.unpolled(case, qp, is_send=is_send)
    oldest = next(c for c in cq.cqes if c.qp_num == qp.number and c.is_send is is_send)
    entries = case.log.about(Kind.CQE_ADDED, Thing(Noun.CQ, qp.node, cq.number))
    added = [event_of(r) for _, r in entries if r[A] is oldest]
    what = f"{fmt.count(many, 'completion')} of {case.qp_name(qp)} on {name}"
    polls = [c for c in case.log.calls("poll_cq", qp.node) if c.thing[1] == cq.number]
    if polls:
        looked = said(f"{polls[-1].program or 'a call'} polled {name} last", polls[-1].event)
    else:
        begins = f" since event {case.log.begins}" if case.log.begins else ""
        looked = said(f"nobody has polled {name}{begins}")
    return [said(f"{what}, the oldest of them from here", added[0] if added else None), looked]


CHECK = Check(
    6, "polls-missing", Section.POSTED,
    question="Is the queue full, and do its completions wait to be polled?",
    rule="a slot comes back when its completion is polled, not when the request is done",
    source="ibv_poll_cq(3)", examine=examine,
)  # fmt: skip
