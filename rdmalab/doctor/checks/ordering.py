"""ordering: a request sends what a READ before it was still to bring."""

from typing import NamedTuple

from rdmalab.command import Thing
from rdmalab.doctor.case import Case
from rdmalab.doctor.facts import messages
from rdmalab.doctor.facts.messages import meet
from rdmalab.doctor.finding import NA, Check, Finding, Fix, Section, ok, said, warn
from rdmalab.doctor.fixes import simple_fixes
from rdmalab.hca.device import Hca
from rdmalab.hca.qp import QueuePair
from rdmalab.hca.wqe import SendWqe
from rdmalab.spec.records import A, Kind, event_of
from rdmalab.spec.work import Local, SendFlags, WROpcode
from rdmalab.views import fmt
from rdmalab.world.relations import find_qp

_FENCE = int(SendFlags.FENCE)


class Sent(NamedTuple):
    """A request that sends from a buffer. left: the event in which it did, None: not yet."""

    thing: Thing
    wqe: SendWqe
    posted: int
    left: int | None


def examine(case: Case) -> Finding:
    """Whether a READ or atomic into its buffers, posted before it, had not completed then."""
    for sent in _requests(case):
        hca = case.world.nodes[sent.thing.node]
        qp = find_qp(case.world, *sent.thing[1:])
        before = _overtaken(case, sent, hca)
        if before is not None and qp is not None:
            return _warn(case, sent, before, qp)
    return ok("it sends nothing that a READ before it brings") if _requests(case) else NA


def _requests(case: Case) -> list[Sent]:
    """What is asked about, or what brought these bytes."""
    if case.content is not None:
        found = [Sent(m.thing, m.wqe, m.posted, m.sent) for _, m in case.content.brought]
    elif case.send is not None and case.send.wqe is not None and case.asked:
        started = [event_of(r) for _, r in case.log.about(Kind.WQE_STARTED, case.subject.thing)
                   if r[A].serial == case.subject.serial]  # fmt: skip
        left = started[-1] if started else None
        found = [Sent(case.subject.thing, case.send.wqe, case.send.posted or 0, left)]
    else:
        found = []
    return [sent for sent in found if _gathers(sent.wqe)]


def _gathers(wqe: SendWqe) -> bool:
    gathers = wqe.work is not None and wqe.work.local is Local.GATHER
    return gathers and wqe.inline is None and not wqe.flags & _FENCE


def _overtaken(case: Case, sent: Sent, hca: Hca) -> tuple[SendWqe, int] | None:
    """The READ or atomic that it does not wait for, and when that was posted."""
    own = messages.pieces(hca, sent.wqe.sg)
    done = {r[A].serial: event_of(r) for _, r in case.log.about(Kind.WQE_COMPLETED, sent.thing)}
    for _, record in reversed(case.log.about(Kind.SEND_POSTED, sent.thing)):
        wqe: SendWqe = record[A]
        if wqe.serial >= sent.wqe.serial or wqe.work is None:
            continue
        end = done.get(wqe.serial)
        early = end is None or sent.left is None or end > sent.left
        late_post = end is not None and end < sent.posted
        if not early or late_post or wqe.work.local is not Local.SCATTER:
            continue
        if meet(own, messages.pieces(hca, wqe.sg)):
            return wqe, event_of(record)
    return None


def _warn(case: Case, sent: Sent, before: tuple[SendWqe, int], qp: QueuePair) -> Finding:
    wqe, posted = before
    read, name = fmt.member(wqe.wr.opcode, WROpcode), case.qp_name(qp)
    fenced = fmt.flags(int(sent.wqe.wr.flags) | _FENCE, SendFlags)
    last = simple_fixes.again(case, qp, sent.wqe.wr, flags=fenced)
    return warn(
        said(f"{name}.wr[{sent.wqe.wr.wr_id}] sends, without FENCE, from the buffer of {read} "
             f"wr_id={wqe.wr.wr_id}", sent.posted),
        said(f"{read} was posted before it", posted),
        said("it left before that had completed", sent.left),
        cure=Fix([*last[:-1], simple_fixes.post_send(case, qp, wqe.wr), last[-1]]),
    )  # fmt: skip


CHECK = Check(
    89, "ordering", Section.WRONG,
    question="Does it send what a READ or an atomic before it is still to bring?",
    rule="requests begin in order; only FENCE makes one wait for the READs and atomics before it",
    source="ibv_post_send(3)", examine=examine,
)  # fmt: skip
