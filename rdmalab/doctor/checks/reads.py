"""READs, atomics and what waits for them."""

from typing import NamedTuple

from rdmalab.command import Thing
from rdmalab.doctor.case import Case
from rdmalab.doctor.facts.bring_up import set_at
from rdmalab.doctor.facts.line import held, posted, said_of
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
    warn,
)
from rdmalab.doctor.fixes import memory_fixes, recovery, simple_fixes
from rdmalab.doctor.work import messages
from rdmalab.doctor.work.messages import meet
from rdmalab.hca.device import Hca
from rdmalab.hca.qp import QueuePair
from rdmalab.hca.wqe import SendWqe
from rdmalab.hca.wr import SendWR
from rdmalab.spec.records import Kind, event_of, kind_of, node_of, object_of, packet_of, send_wqe_of
from rdmalab.spec.states import Attr
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import Local, SendFlags, WROpcode
from rdmalab.views import fmt
from rdmalab.views.ladder import packet_rows
from rdmalab.views.transit_effects import ORIGINS, Origin
from rdmalab.wire.packet import Packet
from rdmalab.world.relations import find_qp


# ------------------------------------------------------------ fence-wait
# fence-wait: FENCE makes it wait for READs and atomics before it.
@check("fence-wait")
def fence_wait(case: Case) -> Finding:
    """Whether it, or one before it in line, waits for answers because of FENCE."""
    send = case.send
    if send is None or not send.on_queue:
        return NA
    hold = held(case)
    if hold is None or hold.reason != "fence":
        return ok("it does not wait for a fence")
    first = hold.under_way[0] if hold.under_way else hold.wqe
    return hinders(
        case, fact(f"{said_of(case, hold)} has FENCE", posted(case, hold.wqe)),
        fact(f"before it, and not answered yet: {hold.ahead or 'what was posted earlier'}",
             posted(case, first)),
        since=case.world.event,
    )  # fmt: skip


# ------------------------------------------------------------ rd-atomic-zero
# rd-atomic-zero: no READ and no atomic may ever begin.
@check("rd-atomic-zero")
def rd_atomic_zero(case: Case) -> Finding:
    """Whether a READ or an atomic is next in line, and max_rd_atomic is 0."""
    send, qp = case.send, case.qp
    if send is None or send.wqe is None or qp is None or not send.on_queue:
        return NA
    hold = held(case)
    if hold is None or hold.reason != "rd-atomic" or qp.attr.max_rd_atomic:
        return ok("max_rd_atomic is not 0")
    since = set_at(case, qp, Attr.MAX_QP_RD_ATOMIC)
    return hinders(
        case, fact(f"{case.qp_name(qp)} was given max_rd_atomic=0", since),
        fact(f"{said_of(case, hold)} can never start", posted(case, hold.wqe)),
        cure=Fix(_lines(case, qp, send.wqe.wr)), since=since,
    )  # fmt: skip


def _lines(case: Case, qp: QueuePair, wr: SendWR) -> list[str]:
    """max_rd_atomic changed in SQD, where that is enough; else both ends reset and connected."""
    name, peer = case.qp_name(qp), case.peer
    refuses = peer is None or not peer.attr.max_dest_rd_atomic
    if refuses or qp.comp.serial < qp.req.started:
        return recovery.reconnected(
            case, qp, wr, {"max_rd_atomic": "1"}, {"max_dest_rd_atomic": "1"}
        )
    lines = [f"modify_qp {name} state=SQD", f"modify_qp {name} state=SQD max_rd_atomic=1",
             f"modify_qp {name} state=RTS"]  # fmt: skip
    return (
        lines if case.profile.resumes_after_sqd else [*lines, recovery.ring_doorbell(case, qp, wr)]
    )


# ------------------------------------------------------------ rd-atomic-depth
# rd-atomic-depth: as many READs and atomics are under way as may be.
@check("rd-atomic-depth")
def rd_atomic_depth(case: Case) -> Finding:
    """Whether a READ or an atomic is next in line, and waits for those before it."""
    send, qp = case.send, case.qp
    if send is None or qp is None or not send.on_queue:
        return NA
    hold = held(case)
    if hold is None or hold.reason != "rd-atomic" or not qp.attr.max_rd_atomic:
        return ok("it does not wait for READs or atomics before it")
    depth = qp.attr.max_rd_atomic
    return hinders(
        case, fact(f"{case.qp_name(qp)} was given max_rd_atomic={depth}",
                   set_at(case, qp, Attr.MAX_QP_RD_ATOMIC)),
        fact(f"{said_of(case, hold)} waits for one of these: {hold.ahead}",
             posted(case, hold.under_way[0]) if hold.under_way else None),
        since=case.world.event,
    )  # fmt: skip


# ------------------------------------------------------------ ordering
# ordering: a request sends what a READ before it was still to bring.
_FENCE = int(SendFlags.FENCE)


class Sent(NamedTuple):
    """A request that sends from a buffer. left: the event in which it did, None: not yet."""

    thing: Thing
    wqe: SendWqe
    posted: int
    left: int | None


@check("ordering")
def ordering(case: Case) -> Finding:
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
                   if send_wqe_of(r).serial == case.subject.serial]  # fmt: skip
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
    ends = case.log.about(Kind.WQE_COMPLETED, sent.thing)
    done = {send_wqe_of(record).serial: event_of(record) for _, record in ends}
    for _, record in reversed(case.log.about(Kind.SEND_POSTED, sent.thing)):
        wqe: SendWqe = send_wqe_of(record)
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
        fact(f"{name}.wr[{sent.wqe.wr.wr_id}] sends, without FENCE, from the buffer of {read} "
             f"wr_id={wqe.wr.wr_id}", sent.posted),
        fact(f"{read} was posted before it", posted),
        fact("it left before that had completed", sent.left),
        cure=Fix([*last[:-1], simple_fixes.post_send(case, qp, wqe.wr), last[-1]]),
    )  # fmt: skip


# ------------------------------------------------------------ bad-resp
# bad-resp: an answer came that fits no request.
@check("bad-resp")
def bad_resp(case: Case) -> Finding:
    """Which packet it was, and who has put it on the cable."""
    send, qp = case.send, case.qp
    if send is None or send.wqe is None or send.ending is None or qp is None:
        return NA
    if send.ending.status is not WCStatus.BAD_RESP_ERR:
        return ok("its response matched the request")
    answer = _answer(case)
    evidence = _response_evidence(case, answer) if answer is not None else []
    wanted = f"it asked for {send.wqe.length} bytes, from psn={send.wqe.first_psn} on"
    again = simple_fixes.again(case, qp, send.wqe.wr, after_reset=True)
    clear = ["fault clear"] if case.world.network.cable.faults else []
    return fail(
        *evidence,
        fact(wanted, send.posted),
        fact("an answer that does not fit ends it with BAD_RESP_ERR", send.ending.event),
        cure=Fix([*clear, *memory_fixes.ready_to_send(case, qp), *again]),
        since=evidence[0].event if evidence else None,
    )


def _answer(case: Case) -> Packet | None:
    """What arrived when it failed."""
    thing = case.subject.thing
    for record in case.log.within(case.ended):
        here = (node_of(record), object_of(record)) == (thing.node, thing.number)
        packet = packet_of(record)
        if kind_of(record) is Kind.PACKET_RECEIVED and here and isinstance(packet, Packet):
            return packet
    return None


def _response_evidence(case: Case, answer: Packet) -> list[Evidence]:
    """How it came onto the cable."""
    sent = [each for kind in ORIGINS for each in case.log.of(kind)]
    same = [each for each in sent if packet_of(each.record) == answer]
    found = [each for each in same if event_of(each.record) <= case.ended]
    if not found:
        return []
    row = packet_rows(case.world, case.names, [max(found).number])[0]
    how = {
        Origin.SENT: f"{row.qp} sent",
        Origin.COPIED: "a fault copied",
        Origin.INJECTED: "no HCA sent, and an injection put on the cable",
    }[row.origin]
    size = fmt.count(row.length, "byte")
    return [fact(f"{how} {row.label} psn={row.psn} with {size}", row.event)]
