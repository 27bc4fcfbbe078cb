"""srq-vs-rq: the receive went to another queue than the one that messages are taken from."""

from rdmalab.command import Noun, Thing
from rdmalab.doctor.case import Case
from rdmalab.doctor.facts import attempts
from rdmalab.doctor.finding import NA, Check, Evidence, Finding, Fix, Section, fail, ok, said
from rdmalab.doctor.fixes import simple_fixes
from rdmalab.doctor.log import Call
from rdmalab.hca.qp import QueuePair
from rdmalab.hca.srq import SharedReceiveQueue
from rdmalab.spec.records import Kind, event_of
from rdmalab.spec.refusals import Syndrome
from rdmalab.spec.rules import errno_name

RULE = "recv-shared"


def examine(case: Case) -> Finding:
    """Of a refused post_recv, whether its queue pair has an SRQ; of a send that finds no receive,
    whether receives were posted to an SRQ that the peer does not take them from."""
    if case.call is not None and case.call.verb == "post_recv" and case.qp is not None:
        return _of_call(case, case.call, case.qp)
    send, peer = case.send, case.peer
    if send is None or peer is None or not case.asked or not send.on_queue:
        return NA
    if peer.source.wqes or not any(row.syndrome is Syndrome.RNR_NAK for row in send.answers):
        return NA
    astray = _astray(case, peer)
    if astray is None:
        return ok("no receive for the peer went elsewhere")
    srq, event = astray
    assert send.wqe is not None
    return fail(
        said(f"{case.name(Noun.SRQ, peer.node, srq.number)} got a receive", event),
        said(f"{case.qp_name(peer)} takes its receives from {_source(case, peer)}, which is empty"),
        _no_receive(case, peer),
        cure=Fix([simple_fixes.room(case, peer, send.wqe.length)]),
    )


def _of_call(case: Case, call: Call, qp: QueuePair) -> Finding:
    if call.refusal != RULE:
        return ok("it was posted to the right queue")
    attempt, srq = attempts.of_call(case), case.name(Noun.SRQ, qp.node, qp.srq)
    wrs = attempts.bound(case.session, attempt, attempt.left) if attempt is not None else []
    answer = f"{call.verb} returned {errno_name(call.errno)}: {call.message}"
    made = case.log.about(Kind.CREATED, Thing(Noun.QP, qp.node, qp.number))
    lines = [simple_fixes.post_recv(case, qp, wr) for wr in wrs]
    return fail(
        said(
            f"{case.qp_name(qp)} was made with srq={srq}",
            event_of(made[-1].record) if made else None,
        ),
        said(answer, call.event),
        cure=Fix(lines) if lines else None,
        since=call.event,
    )


def _source(case: Case, qp: QueuePair) -> str:
    return case.name(Noun.SRQ, qp.node, qp.srq) if qp.srq else "its own receive queue"


def _astray(case: Case, peer: QueuePair) -> tuple[SharedReceiveQueue, int] | None:
    """An SRQ of the same domain that was filled while nothing was posted where it was wanted."""
    own = (
        Thing(Noun.SRQ, peer.node, peer.srq) if peer.srq else Thing(Noun.QP, peer.node, peer.number)
    )
    kind = Kind.SRQ_POSTED if peer.srq else Kind.RECV_POSTED
    filled = [event_of(r) for _, r in case.log.about(kind, own)]
    for number, srq in case.world.nodes[peer.node].srqs.items.items():
        posts = case.log.about(Kind.SRQ_POSTED, Thing(Noun.SRQ, peer.node, number))
        first = next((event_of(r) for _, r in posts if event_of(r) > max(filled, default=-1)), None)
        if srq is not peer.source and srq.wqes and srq.pd == peer.pd and first is not None:
            return srq, first
    return None


def _no_receive(case: Case, peer: QueuePair) -> Evidence:
    """The message that found none."""
    found = case.log.about(Kind.REQUEST_REFUSED, Thing(Noun.QP, peer.node, peer.number))
    return said("so a message found no receive", event_of(found[0].record) if found else None)


CHECK = Check(
    10, "srq-vs-rq", Section.POSTED,
    question="Was the receive posted to another queue than the one that is used?",
    rule="a queue pair made with an SRQ takes receives from that SRQ, and from nowhere else",
    source="ibv_post_srq_recv(3)", examine=examine,
)  # fmt: skip
