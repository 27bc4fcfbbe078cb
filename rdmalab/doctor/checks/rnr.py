"""Receiver not ready: the peer has no receive for a message."""

from rdmalab.doctor.case import Case
from rdmalab.doctor.facts import partners
from rdmalab.doctor.facts.bring_up import set_at
from rdmalab.doctor.finding import (
    NA,
    Evidence,
    Finding,
    Fix,
    check,
    fact,
    fail,
    hinders,
    ok,
)
from rdmalab.doctor.fixes import simple_fixes
from rdmalab.doctor.fixes.reconnecting import once_more, reconnect
from rdmalab.doctor.work.send import MOST_PACKETS
from rdmalab.hca.qp import QueuePair
from rdmalab.spec.records import Kind, event_of
from rdmalab.spec.refusals import Syndrome
from rdmalab.spec.states import Attr, QPState
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.timers import INFINITE_RETRIES, RNR_NS
from rdmalab.views import fmt
from rdmalab.views.ladder import PacketRow


# ------------------------------------------------------------ rnr-infinite
# rnr-infinite: the peer has no receive, and rnr_retry=7 retries without limit.
@check("rnr-infinite")
def rnr_infinite(case: Case) -> Finding:
    """Whether RNR NAKs keep coming, the peer's queue is empty, and no retry counts."""
    qp = case.qp
    if qp is None or qp.attr.rnr_retry != INFINITE_RETRIES:
        return NA if qp is None else ok("no RNR NAK is answered without end")
    since = set_at(case, qp, Attr.RNR_RETRY)
    return _unready(
        case, fact(f"{case.qp_name(qp)} was given rnr_retry=7: it retries without limit", since)
    )


@check("rnr-wait")
def rnr_wait(case: Case) -> Finding:
    """Whether it waits for a receive of the peer, with a limited number of retries."""
    qp = case.qp
    if qp is None or qp.attr.rnr_retry == INFINITE_RETRIES:
        return NA if qp is None else ok("RNR NAKs are answered without end")
    used, most = qp.comp.rnr_retried, qp.attr.rnr_retry
    return _unready(case, fact(f"no receive is posted for it: RNR retry {used} of {most}"))


def _unready(case: Case, first: Evidence) -> Finding:
    """What stops a send that RNR NAKs answer, while the peer has no receive."""
    send, qp, peer = case.send, case.qp, case.peer
    if send is None or send.wqe is None or qp is None or not send.on_queue:
        return NA
    if not qp.transport.acknowledged:
        return NA
    naks = [row for row in send.answers if row.syndrome is Syndrome.RNR_NAK]
    if not naks:
        return ok("no RNR NAK has come for it")
    if peer is None or peer.source.wqes:
        return ok("a receive waits for it now")
    return hinders(
        case, first, fact(f"{case.qp_name(peer)} had no receive for it", naks[0].event),
        fact(f"{fmt.count(len(naks), 'RNR NAK')} {_many(naks)}, the last one here",
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
    return [] if until_ns is None else [fact(f"the next try is at {fmt.clock(until_ns)}")]


# ------------------------------------------------------------ rnr-slow
# rnr-slow: the peer asked for a very long wait before the next try.
LONG_NS = 100_000_000
"""A single wait that a person notices."""

_USUAL = 12


@check("rnr-slow")
def rnr_slow(case: Case) -> Finding:
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
    rows = set_at(case, peer, Attr.MIN_RNR_TIMER)
    return hinders(
        case, fact(f"{case.qp_name(peer)} was given min_rnr_timer={code}: "
                   f"{fmt.duration(wait_ns)}{', not none' if code == 0 else ''}", rows),
        fact(f"{case.qp_name(peer)} had no receive, and asked for that wait", naks[-1].event),
        fact(f"a receive is there; the next try is at {fmt.clock(until_ns)}"),
        cure=_rnr_slow_cure(case, peer), since=rows,
    )  # fmt: skip


def _rnr_slow_cure(case: Case, peer: QueuePair) -> Fix | None:
    """For the next time; the wait that runs goes on."""
    if peer.state is not QPState.RTS:
        return None
    return Fix([f"modify_qp {case.qp_name(peer)} state=RTS min_rnr_timer={_USUAL}"])


# ------------------------------------------------------------ rnr-retry-exc
# rnr-retry-exc: the peer had no receive, as often as rnr_retry allows.
@check("rnr-retry-exc")
def rnr_retry_exc(case: Case) -> Finding:
    """How many RNR NAKs came, and how many the requester puts up with."""
    send, qp = case.send, case.qp
    if send is None or send.ending is None or qp is None:
        return NA
    if send.ending.status is not WCStatus.RNR_RETRY_EXC_ERR:
        return ok("it did not fail for want of a receive")
    naks = [row for row in send.answers if row.syndrome is Syndrome.RNR_NAK]
    many = f"{fmt.count(len(naks), 'RNR NAK')} came"
    evidence = [fact(f"{many}, this was the last", row.event) for row in naks[-1:]]
    count = f"rnr_retry={qp.attr.rnr_retry} is used up: RNR_RETRY_EXC_ERR"
    return fail(*evidence, fact(count, send.ending.event), since=send.ending.event)


# ------------------------------------------------------------ no-rr
# no-rr: a message came, and no receive was posted for it.
@check("no-rr")
def no_rr(case: Case) -> Finding:
    """Whether it found the receive queue of its target empty, and is lost or was given up."""
    send, qp = case.send, case.qp
    if send is None or send.wqe is None or qp is None:
        return NA
    target = partners.target(case)
    if target is None or target.shares_receives:
        return NA
    found = (
        _rnr_retries_exhausted(case, target)
        if qp.transport.acknowledged
        else _dropped(case, target)
    )
    if not found:
        return ok("it found a receive, or needed none")
    return fail(*found, cure=_no_rr_cure(case, qp, target), since=found[0].event)


def _rnr_retries_exhausted(case: Case, target: QueuePair) -> list[Evidence]:
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
        fact(f"it came, and {case.qp_name(target)} had no receive", naks[0].event),
        fact(f"{many}, the last one here, and none was posted meanwhile", naks[-1].event),
    ]


def _dropped(case: Case, target: QueuePair) -> list[Evidence]:
    """UC and UD: the message was dropped, without a NAK."""
    misses = case.unanswered.because("no-receive") if case.unanswered is not None else []
    if not misses:
        return []
    posts = case.log.about(Kind.RECV_POSTED, partners.thing_of(target))
    later = [r for _, r in posts if event_of(r) > misses[0].event]
    name = case.qp_name(target)
    return [
        *_last_taken(case, target, misses[0].event),
        fact(f"it came to {name}, which had no receive, and was dropped", misses[0].event),
        *([fact(f"{name} got its next receive only then", event_of(later[0]))] if later else []),
    ]


def _last_taken(case: Case, target: QueuePair, event: int) -> list[Evidence]:
    """When its receive queue became empty."""
    taken = case.log.about(Kind.RECV_TAKEN, partners.thing_of(target))
    earlier = [event_of(r) for _, r in taken if event_of(r) < event]
    name = case.qp_name(target)
    return [fact(f"{name} consumed its last receive", earlier[-1])] if earlier else []


def _no_rr_cure(case: Case, qp: QueuePair, target: QueuePair) -> Fix | None:
    wqe = case.send.wqe if case.send is not None else None
    if wqe is None:
        return None
    if not qp.transport.acknowledged:
        return Fix(once_more(case, qp, wqe.wr, target))
    lines = reconnect(case, qp, target)
    return Fix(lines + once_more(case, qp, wqe.wr, target, after_reset=True))
