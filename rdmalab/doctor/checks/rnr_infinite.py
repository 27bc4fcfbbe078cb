"""rnr-infinite: the peer has no receive, and rnr_retry 7 never gives up."""

from rdmalab.doctor import cures
from rdmalab.doctor.case import Case
from rdmalab.doctor.finding import NA, Check, Cure, Finding, Section, fail, ok, said
from rdmalab.lens import words
from rdmalab.spec.refusals import Syndrome

FOR_EVER = 7


def examine(case: Case) -> Finding:
    """Whether RNR NAKs keep coming, the peer's queue is empty, and nobody counts."""
    send, qp, peer = case.send, case.qp, case.peer
    if send is None or qp is None or not send.on_queue or not qp.transport.acknowledged:
        return NA
    naks = [row for row in send.answers if row.syndrome is Syndrome.RNR_NAK]
    if not naks or qp.attr.rnr_retry != FOR_EVER:
        return ok("no RNR NAK is answered without end")
    if peer is None or peer.source.wqes:
        return ok("a receive waits for it now")
    wqe = send.wqe
    assert wqe is not None
    many = words.count(len(naks), "RNR NAK")
    return fail(
        said(f"{case.qp_name(peer)} had no receive for it", naks[0].event),
        said(f"{many} so far; rnr_retry=7 tries for ever", naks[-1].event),
        cure=Cure([cures.room(case, peer, wqe.length)]),
    )


CHECK = Check(
    36, "rnr-infinite", Section.PROGRESS,
    question="Does the peer answer RNR NAK again and again, with rnr_retry 7?",
    rule="rnr_retry 7 means without end: it waits until the peer posts a receive",
    source="ibv_modify_qp(3)", examine=examine,
)  # fmt: skip
