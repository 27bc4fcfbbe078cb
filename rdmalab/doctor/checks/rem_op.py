"""rem-op: the peer could not finish what it had accepted."""

from rdmalab.doctor.case import Case
from rdmalab.doctor.finding import NA, Check, Evidence, Finding, Section, fail, ok, said
from rdmalab.hca.qp import QueuePair
from rdmalab.spec.records import A, B, Kind, event_of, node_of
from rdmalab.spec.statuses import WCStatus
from rdmalab.views import fmt


def examine(case: Case) -> Finding:
    """What went wrong at the peer, which only its own completions tell."""
    send, peer = case.send, case.peer
    if send is None or send.ending is None:
        return NA
    if send.ending.status is not WCStatus.REM_OP_ERR:
        return ok("the peer could do what it had accepted")
    evidence = _at_peer(case, peer) if peer is not None else []
    return fail(*evidence, said("here it ended with REM_OP_ERR", send.ending.event))


def _at_peer(case: Case, peer: QueuePair) -> list[Evidence]:
    """Its refusal, and the completion that it has for its own receive."""
    name = case.qp_name(peer)
    refusals = case.log.of(Kind.REQUEST_REFUSED, peer.node, peer.number)
    found = [said(f"{name} gave up: {fmt.reason(r[B])}", event_of(r))
             for _, r in refusals if event_of(r) <= case.ended][-1:]  # fmt: skip
    for _, record in case.log.failed_receives:
        cqe = record[A]
        at_peer = (node_of(record), cqe.qp_num) == (peer.node, peer.number)
        if at_peer and cqe.status is not WCStatus.WR_FLUSH_ERR:
            text = f"its receive wr_id={cqe.wr_id} ended with {cqe.status.name}"
            found.append(said(text, event_of(record)))
            break
    return found


CHECK = Check(
    72, "rem-op", Section.ERROR,
    question="Could the peer not finish it, although the request was good?",
    rule="REM_OP_ERR says nothing of the request: the cause stands in the completions of the peer",
    source="ibv_poll_cq(3)", examine=examine, station=True,
)  # fmt: skip
