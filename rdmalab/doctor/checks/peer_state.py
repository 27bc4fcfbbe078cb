"""peer-state: the peer was not ready to take requests."""

from rdmalab.doctor.case import Case
from rdmalab.doctor.facts import partners
from rdmalab.doctor.facts.unanswered_sends import Unheard
from rdmalab.doctor.failed_work import failed_before_flush
from rdmalab.doctor.finding import NA, Check, Finding, Fix, Section, ok, said, warn
from rdmalab.doctor.fixes.reconnecting import once_more, reconnect
from rdmalab.hca.qp import QueuePair
from rdmalab.spec.states import QPState
from rdmalab.views import fmt


def examine(case: Case) -> Finding:
    """Of a send, whether the peer dropped it for its state; of a receive, if the peer can send."""
    if case.receive is not None:
        return _of_receive(case)
    unheard, qp = case.unheard, case.qp
    if unheard is None or qp is None or not qp.transport.acknowledged:
        return NA
    peer = partners.target(case)
    misses = unheard.because("not-ready")
    if not misses or peer is None:
        return ok("the peer did not turn it away for its state")
    state, since = partners.state_at(case, peer, misses[-1].event)
    name = case.qp_name(peer)
    if state is QPState.ERR and failed_before_flush(case.log, partners.thing_of(peer)):
        return ok(f"{name} was in ERR, for a reason of its own", since)
    return unheard.finding(
        said(f"{name} was in {state.name}", since),
        said(f"it dropped {fmt.count(len(misses), 'request')}, the first here", misses[0].event),
        cure=_cure(case, unheard, qp, peer), since=misses[0].event,
    )  # fmt: skip


def _of_receive(case: Case) -> Finding:
    receive, peer = case.receive, case.peer
    if receive is None or not receive.on_queue or peer is None or not case.asked:
        return NA
    if peer.state_row.starts_sends or not case.at_rest:
        return ok(f"{case.qp_name(peer)} is in {peer.state.name}")
    since = partners.entered(case, peer, peer.state)
    return warn(said(f"{case.qp_name(peer)} is in {peer.state.name}: it sends nothing", since))


def _cure(case: Case, unheard: Unheard, qp: QueuePair, peer: QueuePair) -> Fix | None:
    """Both ends anew, the peer told what this end was told."""
    if unheard.send.wqe is None or qp.path is None:
        return None
    lines = reconnect(case, qp, peer)
    return Fix(lines + once_more(case, qp, unheard.send.wqe.wr, peer, revived=True))


CHECK = Check(
    47, "peer-state", Section.PEER,
    question="Was the peer in RESET, INIT or ERR when the request came?",
    rule="a queue pair takes requests from RTR on, and none in ERR: it drops them in silence",
    source="ibv_modify_qp(3)", examine=examine,
)  # fmt: skip
