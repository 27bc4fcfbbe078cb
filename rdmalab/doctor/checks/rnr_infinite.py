"""rnr-infinite: the peer has no receive, and rnr_retry 7 never gives up."""

from rdmalab.doctor.case import Case
from rdmalab.doctor.facts.bring_up import told
from rdmalab.doctor.facts.send import MOST_PACKETS
from rdmalab.doctor.finding import NA, Check, Evidence, Finding, Fix, Section, hinders, ok, said
from rdmalab.doctor.fixes import simple_fixes
from rdmalab.spec.refusals import Syndrome
from rdmalab.spec.states import Attr
from rdmalab.spec.timers import INFINITE_RETRIES
from rdmalab.views import fmt
from rdmalab.views.ladder import PacketRow


def examine(case: Case) -> Finding:
    """Whether RNR NAKs keep coming, the peer's queue is empty, and nobody counts."""
    send, qp, peer = case.send, case.qp, case.peer
    if send is None or send.wqe is None or qp is None or not send.on_queue:
        return NA
    if not qp.transport.acknowledged:
        return NA
    naks = [row for row in send.answers if row.syndrome is Syndrome.RNR_NAK]
    if not naks or qp.attr.rnr_retry != INFINITE_RETRIES:
        return ok("no RNR NAK is answered without end")
    if peer is None or peer.source.wqes:
        return ok("a receive waits for it now")
    since = told(case, qp, Attr.RNR_RETRY)
    return hinders(
        case, said(f"{case.qp_name(qp)} was told rnr_retry=7: it tries for ever", since),
        said(f"{case.qp_name(peer)} had no receive for it", naks[0].event),
        said(f"{fmt.count(len(naks), 'RNR NAK')} {_many(naks)}, the last one here",
             naks[-1].event),
        *_next(case), cure=Fix([simple_fixes.room(case, peer, send.wqe.length)]),
        since=naks[0].event,
    )  # fmt: skip


def _many(naks: list[PacketRow]) -> str:
    """Of very many only the newest are counted."""
    return "so far" if len(naks) < MOST_PACKETS else "and more"


def _next(case: Case) -> list[Evidence]:
    """When it will be sent again."""
    assert case.qp is not None
    until_ns = case.qp.comp.rnr_until_ns
    return [] if until_ns is None else [said(f"the next try is at {fmt.clock(until_ns)}")]


CHECK = Check(
    36, "rnr-infinite", Section.PROGRESS,
    question="Does the peer answer RNR NAK again and again, with rnr_retry 7?",
    rule="rnr_retry 7 means without end: it waits until the peer posts a receive",
    source="ibv_modify_qp(3)", examine=examine,
)  # fmt: skip
