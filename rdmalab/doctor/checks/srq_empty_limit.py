"""srq-empty-limit: a shared receive queue ran dry, and nobody refilled it."""

from typing import NamedTuple

from rdmalab.command import Noun
from rdmalab.doctor.case import Case
from rdmalab.doctor.facts.shared import Refused, refused
from rdmalab.doctor.finding import NA, Check, Evidence, Finding, Fix, Section, fail, ok, said
from rdmalab.doctor.fixes import simple_fixes
from rdmalab.doctor.fixes.reconnecting import piece, reconnect
from rdmalab.hca.wr import SGE
from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.records import A, B, Kind, event_of, node_of, object_of


class Limit(NamedTuple):
    """The event that asked for more receives. value: as it was armed; taken: by somebody."""

    event: int
    value: int
    taken: bool


def examine(case: Case) -> Finding:
    """Of a send that found no receive on an SRQ: since when, and whether its event was heeded."""
    found = refused(case)
    if found is None:
        return NA
    if found.srq.dead:
        return ok("the SRQ was broken, not empty")
    limit = _limit(case, found)
    name = case.name(Noun.SRQ, found.srq.node, found.srq.number)
    return fail(
        *_warned(name, limit),
        *_last(case, found, name),
        said(f"a message came to {case.qp_name(found.target)}, and {name} was empty",
             found.events[0]),
        cure=_cure(case, found, name, limit),
    )  # fmt: skip


def _limit(case: Case, found: Refused) -> Limit | None:
    """The last time that SRQ_LIMIT_REACHED was raised."""
    raised = [
        event_of(r)
        for _, r in case.log.about(Kind.ASYNC_RAISED, found.thing)
        if r[A] is AsyncEvent.SRQ_LIMIT_REACHED
    ]
    if not raised or raised[-1] > found.events[-1]:
        return None
    armed = [r for _, r in case.log.about(Kind.SRQ_SET, found.thing) if r[A] == "srq_limit"]
    pending = (AsyncEvent.SRQ_LIMIT_REACHED, found.srq.number)
    waits = pending in case.world.nodes[found.srq.node].async_events
    return Limit(raised[-1], armed[-1][B] if armed else 0, taken=not waits)


def _warned(name: str, limit: Limit | None) -> list[Evidence]:
    if limit is None:
        return []
    end = "somebody took it, and posted nothing" if limit.taken else "nobody took it"
    return [said(f"SRQ_LIMIT_REACHED was raised for {name}: {end}", limit.event)]


def _last(case: Case, found: Refused, name: str) -> list[Evidence]:
    """Who took the last receive."""
    taken = [
        r
        for _, r in case.log.of(Kind.RECV_TAKEN, found.srq.node)
        if r[A].srq == found.srq.number and event_of(r) < found.events[0]
    ]
    if not taken:
        return []
    taker = case.name(Noun.QP, node_of(taken[-1]), object_of(taken[-1]))
    return [said(f"{taker} took the last receive of {name}", event_of(taken[-1]))]


def _cure(case: Case, found: Refused, name: str, limit: Limit | None) -> Fix | None:
    """Receives, the limit armed again, and the message once more."""
    send, qp = case.send, case.qp
    if send is None or send.wqe is None or qp is None:
        return None
    value = limit.value if limit is not None else 0
    lines = [_refill(case, found, name, send.wqe.length, 2 * value or 2)]
    if value:
        lines.append(f"modify_srq {name} srq_limit={value}")
    if qp.transport.acknowledged:
        lines += reconnect(case, qp, found.target)
    return Fix([*lines, simple_fixes.post_send(case, qp, send.wqe.wr)])


def _refill(case: Case, found: Refused, name: str, length: int, many: int) -> str:
    """So many receives of the size of the message, one behind the other where there is room."""
    pd, node = found.srq.pd, found.srq.node
    long = piece(case, node, pd, many * length)
    pieces = [SGE(long[0].addr + n * length, length, long[0].lkey) for n in range(many)] if long \
        else piece(case, node, pd, length) * many  # fmt: skip
    said_ = [f"wr={{wr_id={n} sg={simple_fixes.sge_words(case, node, sge)}}}"
             for n, sge in enumerate(pieces, found.srq.posted + 1)]  # fmt: skip
    return " ".join(["post_srq_recv", name, *said_])


CHECK = Check(
    61, "srq-empty-limit", Section.RECEIVE,
    question="Was the shared receive queue empty, or its limit event not heeded?",
    rule="SRQ_LIMIT_REACHED comes once: refill then, and arm the limit again with modify_srq",
    source="ibv_post_srq_recv(3)", examine=examine,
)  # fmt: skip
