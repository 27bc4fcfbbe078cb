"""srq-error: the shared receive queue broke, and gives no receive any more."""

from rdmalab.command import Noun, Thing
from rdmalab.doctor.case import Case
from rdmalab.doctor.facts.shared import Refused, refused
from rdmalab.doctor.finding import NA, Check, Evidence, Finding, Fix, Section, fail, ok, said
from rdmalab.doctor.fixes import simple_fixes
from rdmalab.doctor.fixes.reconnecting import create_like, join, room
from rdmalab.hca.srq import SharedReceiveQueue
from rdmalab.hca.wqe import RecvWqe
from rdmalab.spec.records import Kind, event_of
from rdmalab.views import fmt

_MOST = 4


def examine(case: Case) -> Finding:
    """Of a send that found no receive, a receive that waits, or a call that was refused."""
    if case.send is not None:
        return _of_send(case)
    srq = _asked_about(case)
    if srq is None:
        return NA
    if not srq.dead:
        return ok("the shared receive queue works")
    broke = _broke(case, srq)
    return fail(*broke, said(f"it keeps what it has: {fmt.count(len(srq.lost), 'receive')}"),
                cure=Fix(program=_PROGRAM))  # fmt: skip


_PROGRAM = "make a new SRQ and queue pairs on it when IBV_EVENT_SRQ_ERR comes; this one is lost"


def _asked_about(case: Case) -> SharedReceiveQueue | None:
    receive, call = case.receive, case.call
    if receive is not None and receive.shared and case.asked and receive.ending is None:
        found = receive.queue
        return found if isinstance(found, SharedReceiveQueue) else None
    if call is not None and call.refusal == "srq-error":
        return case.world.nodes[call.thing[0]].srqs.items.get(call.thing[1])
    return None


def _of_send(case: Case) -> Finding:
    found = refused(case)
    if found is None:
        return NA
    if not found.srq.dead:
        return ok("the shared receive queue works")
    kept = fmt.count(len(found.srq.lost), "receive")
    return fail(
        *_broke(case, found.srq),
        said(f"it keeps {kept}, and {case.qp_name(found.target)} finds none", found.events[0]),
        cure=_cure(case, found),
    )


def _broke(case: Case, srq: SharedReceiveQueue) -> list[Evidence]:
    thing = Thing(Noun.SRQ, srq.node, srq.number)
    return [
        said(f"{case.names.of(thing)} broke", event_of(r))
        for _, r in case.log.about(Kind.SRQ_FAILED, thing)[:1]
    ]


def _cure(case: Case, found: Refused) -> Fix | None:
    """A new SRQ, a new queue pair on it, the receives that are stuck, and the message again."""
    send, qp, target = case.send, case.qp, found.target
    if send is None or qp is None or send.wqe is None or not target.srq:
        return Fix(program=_PROGRAM)
    queue, name = (simple_fixes.free_name(case, noun, target.node) for noun in (Noun.SRQ, Noun.QP))
    pd = case.name(Noun.PD, target.node, found.srq.pd)
    sizes = {"pd": pd, "max_wr": found.srq.capacity, "max_sge": found.srq.max_sge}
    stuck = list(found.srq.lost)[:_MOST]
    return Fix([
        simple_fixes.line("create_srq", queue, sizes),
        create_like(case, target, name, srq=queue),
        *join(case, qp, name),
        _restocked(case, queue, target.node, stuck) if stuck
        else room(case, target, send.wqe.wr, send.wqe.length),
        simple_fixes.post_send(case, qp, send.wqe.wr),
    ])  # fmt: skip


def _restocked(case: Case, name: str, node: str, stuck: list[RecvWqe]) -> str:
    """What the broken queue keeps, posted to the new one."""
    said_ = [
        f"wr={{wr_id={wqe.wr.wr_id} "
        f"sg={','.join(simple_fixes.sge_words(case, node, sge) for sge in wqe.wr.sg)}}}"
        for wqe in stuck
    ]
    return " ".join(["post_srq_recv", name, *said_])


CHECK = Check(
    62, "srq-error", Section.RECEIVE,
    question="Is the shared receive queue in its error state?",
    rule="a broken SRQ gives no receive any more: whoever sends finds it empty for ever",
    source="IBV_EVENT_SRQ_ERR", examine=examine,
)  # fmt: skip
