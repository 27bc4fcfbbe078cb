"""no-rr: a message came, and no receive was posted for it."""

from rdmalab.doctor.case import Case
from rdmalab.doctor.facts import partners
from rdmalab.doctor.finding import NA, Check, Evidence, Finding, Fix, Section, fail, ok, said
from rdmalab.doctor.fixes.reconnecting import once_more, reconnect
from rdmalab.hca.qp import QueuePair
from rdmalab.spec.records import Kind, event_of
from rdmalab.spec.refusals import Syndrome
from rdmalab.spec.statuses import WCStatus
from rdmalab.views import fmt


def examine(case: Case) -> Finding:
    """Whether it found the receive queue of its target empty, and is lost or was given up."""
    send, qp = case.send, case.qp
    if send is None or send.wqe is None or qp is None:
        return NA
    target = partners.target(case)
    if target is None or target.shares_receives:
        return NA
    found = _gave_up(case, target) if qp.transport.acknowledged else _dropped(case, target)
    if not found:
        return ok("it found a receive, or needed none")
    return fail(*found, cure=_cure(case, qp, target), since=found[0].event)


def _gave_up(case: Case, target: QueuePair) -> list[Evidence]:
    """RC: the RNR NAKs up to the end."""
    send = case.send
    if send is None or send.ending is None:
        return []
    naks = [row for row in send.answers if row.syndrome is Syndrome.RNR_NAK]
    if send.ending.status is not WCStatus.RNR_RETRY_EXC_ERR or not naks:
        return []
    many = fmt.count(len(naks), "RNR NAK")
    return [
        *_last_taken(case, target, naks[0].event),
        said(f"it came, and {case.qp_name(target)} had no receive", naks[0].event),
        said(f"{many}, the last one here, and none was posted meanwhile", naks[-1].event),
    ]


def _dropped(case: Case, target: QueuePair) -> list[Evidence]:
    """UC and UD: it is gone, and nobody is told."""
    misses = case.unheard.because("no-receive") if case.unheard is not None else []
    if not misses:
        return []
    posts = case.log.about(Kind.RECV_POSTED, partners.thing_of(target))
    later = [r for _, r in posts if event_of(r) > misses[0].event]
    name = case.qp_name(target)
    return [
        *_last_taken(case, target, misses[0].event),
        said(f"it came to {name}, which had no receive, and was dropped", misses[0].event),
        *([said(f"{name} got its next receive only then", event_of(later[0]))] if later else []),
    ]


def _last_taken(case: Case, target: QueuePair, event: int) -> list[Evidence]:
    """When its receive queue became empty."""
    taken = case.log.about(Kind.RECV_TAKEN, partners.thing_of(target))
    earlier = [event_of(r) for _, r in taken if event_of(r) < event]
    name = case.qp_name(target)
    return [said(f"{name} used up its last receive", earlier[-1])] if earlier else []


def _cure(case: Case, qp: QueuePair, target: QueuePair) -> Fix | None:
    wqe = case.send.wqe if case.send is not None else None
    if wqe is None:
        return None
    if not qp.transport.acknowledged:
        return Fix(once_more(case, qp, wqe.wr, target))
    lines = reconnect(case, qp, target)
    return Fix(lines + once_more(case, qp, wqe.wr, target, revived=True))


CHECK = Check(
    54, "no-rr", Section.RECEIVE,
    question="Did it find no receive posted?",
    rule="a SEND needs a receive when it comes: RC is told to wait, UC and UD lose it in silence",
    source="ibv_post_recv(3)", examine=examine,
)  # fmt: skip
