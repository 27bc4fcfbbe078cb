"""READs, atomics and what waits for them."""

from rdmalab.doctor.evidence.time_spent import TimeSpent
from rdmalab.doctor.facts.line import held, held_text, posted
from rdmalab.doctor.kit import *
from rdmalab.views.transit_effects import ORIGINS, Origin


@check("fence-wait")
def fence_wait(case: Case, send: Send) -> Finding:
    """Check whether the request, or one before it, waits or waited for replies because of FENCE."""
    if not send.on_queue:
        return _held_before(case, fenced=True)
    hold = held(case)
    if hold is None or hold.reason != "fence":
        return ok("it does not wait for a fence")
    first = hold.under_way[0] if hold.under_way else hold.wqe
    return blocking(
        case, fact(f"{held_text(case, hold)} has FENCE", posted(case, hold.wqe)),
        fact(f"before it, and not answered yet: {hold.ahead or 'what was posted earlier'}",
             posted(case, first)),
        since=case.world.event,
    )  # fmt: skip


@check("rd-atomic-zero", send=waiting)
def rd_atomic_zero(case: Case, send: Send, wqe: SendWqe, qp: QueuePair) -> Finding:
    """Check whether a READ or an atomic is the next to start, and max_rd_atomic is 0."""
    hold = held(case)
    if hold is None or hold.reason != "rd-atomic" or qp.attr.max_rd_atomic:
        return ok("max_rd_atomic is not 0")
    since = set_at(case, qp, Attr.MAX_QP_RD_ATOMIC)
    return blocking(
        case, fact(f"{case.qp_name(qp)} was given max_rd_atomic=0", since),
        fact(f"{held_text(case, hold)} can never start", posted(case, hold.wqe)),
        cure=Fix(_lines(case, qp, wqe)), since=since,
    )  # fmt: skip


def _lines(case: Case, qp: QueuePair, wqe: SendWqe) -> list[str]:
    """max_rd_atomic changed in SQD, where that is enough; else both ends reset and connected."""
    name, peer = case.qp_name(qp), case.peer
    asked = int(key_lookup.asked_of_peer(wqe)[0])
    allowed = int(peer.attr.qp_access_flags or 0) if peer is not None else 0
    refuses = peer is None or not peer.attr.max_dest_rd_atomic or asked & ~allowed
    if refuses or qp.comp.serial < qp.req.started:
        theirs = {"max_dest_rd_atomic": "1", "qp_access_flags": fmt.flags(allowed | asked, Access)}
        return recovery.reconnected(case, qp, wqe.wr, {"max_rd_atomic": "1"}, theirs)
    lines = [f"modify_qp {name} state=SQD", f"modify_qp {name} state=SQD max_rd_atomic=1",
             f"modify_qp {name} state=RTS"]  # fmt: skip
    lines += [] if case.profile.resumes_after_sqd else [recovery.ring_doorbell(case, qp, wqe.wr)]
    return lines


@check("rd-atomic-depth")
def rd_atomic_depth(case: Case, send: Send, qp: QueuePair) -> Finding:
    """Check whether a READ or an atomic is next, and waits or waited for those before it."""
    if not send.on_queue:
        return _held_before(case, fenced=False)
    hold = held(case)
    if hold is None or hold.reason != "rd-atomic" or not qp.attr.max_rd_atomic:
        return ok("it does not wait for READs or atomics before it")
    depth = qp.attr.max_rd_atomic
    return blocking(
        case, fact(f"{case.qp_name(qp)} was given max_rd_atomic={depth}",
                   set_at(case, qp, Attr.MAX_QP_RD_ATOMIC)),
        fact(f"{held_text(case, hold)} waits for one of these: {hold.ahead}",
             posted(case, hold.under_way[0]) if hold.under_way else None),
        since=case.world.event,
    )  # fmt: skip


def _held_before(case: Case, *, fenced: bool) -> Finding:
    """Of a send that has ended well: a warning if it took nearly twice as long because of that."""
    send, qp = case.send, case.qp
    if send is None or qp is None or not case.asked or not send.succeeded:
        return NA
    spent = TimeSpent(send)
    held = spent.held if spent.life is not None and spent.is_fenced is fenced else None
    if held is None or 5 * held.ns < 2 * spent.total_ns:
        return NA
    depth = f"{case.qp_name(qp)} was given max_rd_atomic={qp.attr.max_rd_atomic}"
    since = fact(depth, set_at(case, qp, Attr.MAX_QP_RD_ATOMIC))
    first = fact("it was posted with FENCE", send.posted) if fenced else since
    return warn(first, fact(held.text, held.event), cure=Fix(program=held.advice))


@check("ordering")
def ordering(case: Case) -> Finding:
    """Check whether a READ or atomic into the same buffer was still incomplete at the send."""
    if case.content is None and (case.send is None or not case.asked):
        return NA
    brought = [message for _, message in case.content.brought] if case.content is not None else []
    for node in dict.fromkeys([case.node, *(message.thing.node for message in brought)]):
        for each in reversed(ownership.overtakes(case.log, node)):
            came = each.message is not None and any(
                (m.subject, m.sent) == (each.message.subject, each.message.sent) for m in brought
            )
            if came or case.subject == each.send.subject:
                return _overtaken(case, each)
            own = case.content.piece if case.content is not None and node == case.node else (0, 0)
            if meet([own], [each.piece]):  # they are right by now
                return warn(*_overtaken(case, each).evidence)
    return ok("it sends nothing that a READ before it brings")


def _overtaken(case: Case, each: ownership.Overtake) -> Finding:
    """Finding on a send before a READ ended: the cause if other bytes left than those it read."""
    read, name = each.read.subject, name_of(case.names, each.send.subject)
    is_copy = isinstance(each.send.wqe, SendWqe) and each.send.wqe.inline is not None
    same = read.thing == each.send.subject.thing and not is_copy
    how = ", without FENCE," if same else ", INLINE and so as of its post," if is_copy else ""
    facts = [
        fact(f"{name} sends{how} from the buffer of {name_of(case.names, read)}",
             each.send.posted),
        fact(f"{name_of(case.names, read)} was posted before it", each.read.posted),
        fact("nothing of it has left yet") if each.message is None
        else fact("that had not completed then", each.send.posted) if is_copy
        else fact("the message left before that had completed", each.message.sent),
    ]  # fmt: skip
    left = each.message.sent if each.message is not None else None
    at = (each.send.posted if is_copy else left, each.read.ended)
    then = [octets_then(case.session, event, read.thing.node, each.piece)
            for event in at if event is not None]  # fmt: skip
    stale = len(then) == len(at) and then[0] != then[1]
    cure = _fenced(case, each) if same else Fix(program=f"post {name} after the completion of "
                                                f"{name_of(case.names, read)}")  # fmt: skip
    return (fail if stale else warn)(*facts, cure=cure)


def _fenced(case: Case, each: ownership.Overtake) -> Fix | None:
    """Both once more, the send with FENCE."""
    qp, wqe = find_qp(case.world, *each.send.subject.thing[1:]), each.send.wqe
    read = each.read.subject
    posting = case.log.newest_of(Kind.SEND_POSTED, read.thing, read.serial)
    if qp is None or posting is None or not isinstance(wqe, SendWqe):
        return None
    fenced = fmt.flags(int(wqe.wr.flags) | int(SendFlags.FENCE), SendFlags)
    last = (commands.again(case, qp, wqe.wr, flags=fenced) if each.message is None
            else posted_again(case, qp, each.message, flags=fenced))  # fmt: skip
    return Fix([*last[:-1], commands.post_send(case, qp, send_wqe_of(posting).wr), last[-1]])


@check("bad-resp")
def bad_resp(case: Case, send: Send, wqe: SendWqe, ending: Ending, qp: QueuePair) -> Finding:
    """The packet, and what has put it on the cable."""
    if ending.status not in (WCStatus.BAD_RESP_ERR, WCStatus.FATAL_ERR):
        return ok("its response matched the request")
    answer = _answer(case)
    evidence = _response_evidence(case, answer) if answer is not None else []
    wanted = f"it asked for {wqe.length} bytes, from psn={wqe.first_psn} on"
    clear = ["fault clear"] if case.world.network.cable.faults else []
    return fail(
        *evidence,
        fact(wanted, send.posted),
        fact(f"an answer that does not fit ends it with {ending.status.name}", ending.event),
        cure=Fix([*clear, *memory_fixes.sent_when_ready(case, qp, wqe.wr)]),
        since=evidence[0].event if evidence else None,
    )


def _answer(case: Case) -> Packet | None:
    """Evidence: the packet that arrived when it failed."""
    came = (r for r in case.log.within(case.ended) if kind_of(r) is Kind.PACKET_RECEIVED)
    here = (packet_of(r) for r in came if rec.place_of(r) == case.subject.thing[1:])
    return next((packet for packet in here if isinstance(packet, Packet)), None)


def _response_evidence(case: Case, answer: Packet) -> list[Evidence]:
    """The origin of the packet."""
    sent = [each for kind in ORIGINS for each in case.log.of(kind)]
    same = [each for each in sent if packet_of(each) == answer]
    found = [each for each in same if event_of(each) <= case.ended]
    if not found:
        return []
    row = case.log.packets([max(found, key=event_of)])[0]
    how = {
        Origin.SENT: f"{row.qp} sent",
        Origin.COPIED: "a fault copied",
        Origin.INJECTED: "no HCA sent, and an injection put on the cable",
    }[row.origin]
    size = fmt.count(row.length, "byte")
    return [fact(f"{how} {row.label} psn={row.psn} with {size}", row.event)]
