"""rnr-slow: the peer asked for a very long wait before the next try."""

from rdmalab.doctor.case import Case
from rdmalab.doctor.facts.bring_up import told
from rdmalab.doctor.finding import NA, Check, Finding, Fix, Section, hinders, ok, said
from rdmalab.hca.qp import QueuePair
from rdmalab.spec.refusals import Syndrome
from rdmalab.spec.states import Attr, QPState
from rdmalab.spec.timers import RNR_NS
from rdmalab.views import fmt

LONG_NS = 100_000_000
"""A single wait that a person notices."""

_USUAL = 12


def examine(case: Case) -> Finding:
    """Whether it waits out a long min_rnr_timer, and a receive is there by now."""
    send, qp, peer = case.send, case.qp, case.peer
    if send is None or qp is None or peer is None or not send.on_queue or not send.begun:
        return NA
    naks = [row for row in send.answers if row.syndrome is Syndrome.RNR_NAK]
    until_ns = qp.comp.rnr_until_ns
    if until_ns is None or not naks or naks[-1].timer is None:
        return ok("it does not wait for the receiver")
    code, wait_ns = naks[-1].timer, RNR_NS[naks[-1].timer]
    if wait_ns < LONG_NS or not peer.source.wqes:
        return ok(f"the receiver asked for {fmt.duration(wait_ns)} only")
    rows = told(case, peer, Attr.MIN_RNR_TIMER)
    return hinders(
        case, said(f"{case.qp_name(peer)} was told min_rnr_timer={code}: "
                   f"{fmt.duration(wait_ns)}{', not none' if code == 0 else ''}", rows),
        said(f"{case.qp_name(peer)} had no receive, and asked for that wait", naks[-1].event),
        said(f"a receive is there; the next try is at {fmt.clock(until_ns)}"),
        cure=_cure(case, peer), since=rows,
    )  # fmt: skip


def _cure(case: Case, peer: QueuePair) -> Fix | None:
    """For the next time; the wait that runs goes on."""
    if peer.state is not QPState.RTS:
        return None
    return Fix([f"modify_qp {case.qp_name(peer)} state=RTS min_rnr_timer={_USUAL}"])


CHECK = Check(
    37, "rnr-slow", Section.PROGRESS,
    question="Does min_rnr_timer of the peer make it wait very long?",
    rule="min_rnr_timer is a code, not a time: 0 is the longest wait, 655.36 ms; 12 is 0.64 ms",
    source="ibv_modify_qp(3)", examine=examine,
)  # fmt: skip
