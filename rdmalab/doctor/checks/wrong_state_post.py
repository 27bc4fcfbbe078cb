"""wrong-state-post: it was posted before the queue pair could send."""

from rdmalab.command import Noun, Thing
from rdmalab.doctor.case import Case
from rdmalab.doctor.facts import attempts
from rdmalab.doctor.finding import NA, Check, Evidence, Finding, Fix, Section, fail, ok, said
from rdmalab.doctor.fixes import reposting, simple_fixes
from rdmalab.doctor.fixes.way_up import way_up
from rdmalab.doctor.log import Call
from rdmalab.hca.qp import QueuePair
from rdmalab.hca.send_checks import supported_work
from rdmalab.hca.wr import SendWR
from rdmalab.spec.records import B, Kind, event_of
from rdmalab.spec.rules import errno_name
from rdmalab.spec.work import WROpcode
from rdmalab.views import fmt

RULE = "send-state"


def examine(case: Case) -> Finding:
    """Of a refused post, whether it was for the state; of a send, whether it lies in the ring."""
    if case.call is not None and case.call.verb in attempts.SENDING and case.qp is not None:
        return _of_call(case, case.call, case.qp)
    if case.send is None or case.qp is None:
        return NA
    waits = case.subject.serial - case.qp.sq.posted
    if not 0 <= waits < len(case.qp.sq.early):
        return ok("it was not posted too early") if case.send.posted is not None else NA
    return _of_early(case, case.qp, case.qp.sq.early[waits])


def _of_call(case: Case, call: Call, qp: QueuePair) -> Finding:
    if call.refusal != RULE:
        return ok("its state was not what it was refused for", call.event)
    if qp.sq.early:
        return _of_early(case, qp, qp.sq.early[-1])
    evidence = _told(case, call, qp)
    lines = way_up(case, qp)
    if not lines and not qp.state_row.starts_sends:
        program = "bring it up to RTS, and post then"
        return fail(*evidence, cure=Fix(program=program), since=call.event)
    again = reposting.once_more(case, qp)
    return fail(*evidence, cure=Fix([*lines, *again]) if again else None, since=call.event)


def _told(case: Case, call: Call, qp: QueuePair) -> list[Evidence]:
    """Where it stood, and the answer."""
    name, thing = case.qp_name(qp), Thing(Noun.QP, qp.node, qp.number)
    moves = [r for _, r in case.log.about(Kind.STATE_CHANGED, thing) if event_of(r) < call.event]
    found = [said(f"{name} went to {fmt.member(r[B], type(qp.state))}", event_of(r))
             for r in moves[-1:]]  # fmt: skip
    if not moves:
        found = [said(f"{name} was made, and is in RESET", event_of(r))
                 for _, r in case.log.about(Kind.CREATED, thing)[-1:]]  # fmt: skip
    answer = f"{call.verb} returned {errno_name(call.errno)}: {call.message}"
    return [*found, said(answer, call.event)]


def _of_early(case: Case, qp: QueuePair, wr: SendWR) -> Finding:
    """Soft-RoCE: refused, yet in the ring, where the doorbell of the next post finds it."""
    refused = [c for c in case.log.refused()
               if c.thing == (qp.node, qp.number) and c.refusal == RULE]  # fmt: skip
    told = _told(case, refused[-1], qp) if refused else []
    kept = said(f"this device left {fmt.wr(wr.wr_id)} in the ring all the same: the next post "
                "that is accepted starts it")  # fmt: skip
    lines = [*way_up(case, qp), *_ring(case, qp)]
    cure = Fix(lines) if lines else Fix(program="post once more, as soon as it is in RTS")
    return fail(*told, kept, cure=cure)


def _ring(case: Case, qp: QueuePair) -> list[str]:
    """A post that does nothing but ring the doorbell: a WRITE of no bytes."""
    if WROpcode.RDMA_WRITE not in supported_work(qp.qp_type, case.profile.lacks):
        return []
    return [simple_fixes.post_send(case, qp, SendWR(WROpcode.RDMA_WRITE), wr_id=None)]


CHECK = Check(
    3, "wrong-state-post", Section.POSTED,
    question="Was it posted before the queue pair was in RTS?",
    rule="sends are posted in RTS; before, receives are all that a queue pair takes",
    source="ibv_post_send(3)", examine=examine,
)  # fmt: skip
