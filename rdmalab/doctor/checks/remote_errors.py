"""The peer refuses the request: REM_INV_REQ_ERR, REM_ACCESS_ERR, REM_OP_ERR."""

from collections.abc import Callable

from rdmalab.doctor.kit import *
from rdmalab.hca.objects import region_number
from rdmalab.views import key_denials


@check("rem-inv-req")
def rem_inv_req(case: Case, send: Send, wqe: SendWqe, ending: Ending, qp: QueuePair) -> Finding:
    """The test of the responder that it failed, or its receive did."""
    peer = case.peer
    if case.unanswered is not None and (dropped := case.unanswered.because("not-enabled")):
        if peer is None:
            return NA
        fix = Fix(_CURES["not-enabled"](case, wqe, qp, peer))
        words = f"{case.qp_name(peer)} refused it: {_not_enabled(case, wqe, qp, peer)}"
        return _without_nak(qp, ending, fact(words, dropped[-1].event), fix)
    crossed = send.flushed and _is_refused(case, peer, wqe, *_DENIAL_TEXTS)
    if ending.status is not WCStatus.REM_INV_REQ_ERR and not crossed:
        return ok("the peer did not find it invalid")
    refused = next(reversed(_refusals(case, peer)), None)
    naks = [row for row in send.answers if row.label == "NAK_INVALID_REQUEST"]
    evidence = [fact(f"{row.label} came back", row.event) for row in naks[-1:]]
    evidence.append(_end(ending))
    if refused is None or peer is None:
        return fail(*evidence)
    name = reason_of(refused)
    tell = _DENIAL_TEXTS.get(name)
    reason = tell(case, wqe, qp, peer) if tell is not None else fmt.reason(name)
    lines = _CURES[name](case, wqe, qp, peer) if name in _CURES else []
    cure = Fix(lines) if lines else None
    text = fact(f"{case.qp_name(peer)} refused it: {reason}", event_of(refused))
    denial = key_lookup.denial_at(case.world.nodes[peer.node], peer, wqe)
    if denial is not None and _CURES.get(name) is _serve:  # the key is tested after the right
        evidence.insert(0, fact(key_lookup.denial_text(case, denial, peer)))
        cure = _cure(case, wqe, qp, peer, _lacking(wqe, qp, peer)) or cure
    return fail(text, *evidence, cure=cure)


@rem_inv_req.instead
def _not_invalidated(case: Case, receive: Receive, ending: Ending, qp: QueuePair) -> Finding:
    """A receive that a SEND with invalidate took before its key was refused."""
    if ending.status is not WCStatus.REM_INV_REQ_ERR:
        return NA
    found = _refusals(case, qp, "invalidate")[-1:]
    ieth = roce_packet_of(found[-1]).ieth if found else None
    region = case.hca.mrs.items.get(region_number(ieth.rkey)) if ieth is not None else None
    whose = f"the key of {case.name(Noun.MR, case.node, region.number)}" if region else "a key"
    return fail(
        fact(f"{case.qp_name(qp)} refused to invalidate {whose}: that is no bound type 2 window "
             "of it", *map(event_of, found)),
        fact("this receive ended with REM_INV_REQ_ERR", ending.event),
        cure=Fix(program="send with the rkey of a type 2 window that the receiver bound, or "
                         "without invalidate"),
    )  # fmt: skip


def _without_nak(qp: QueuePair, ending: Ending, refusal: Evidence, cure: Fix | None) -> Finding:
    """On UC: the responder drops the request, and its completion at the sender has SUCCESS."""
    return fail(refusal, fact(f"{qp.qp_type.name} sends no NAK for it", ending.event), cure=cure)


def _refusals(case: Case, responder: QueuePair | None, *reasons: str) -> list[Record]:
    """The requests that a queue pair refused for these reasons until the end, oldest first.

    Without a reason those that count as invalid.
    """
    found = case.log.about(Kind.REQUEST_REFUSED, responder.thing) if responder is not None else []
    return [r for r in found if event_of(r) <= case.ended and (
        reason_of(r) in reasons if reasons else reason_of(r) not in ("sequence-gap", "no-receive")
    )]  # fmt: skip


def _is_refused(case: Case, peer: QueuePair | None, wqe: SendWqe, *reasons: str) -> bool:
    """Whether the peer refused a request, flushed before the NAK came, for one of these reasons.

    Two ends with the same mistake send at the same time: each refuses the other, and enters ERR.
    """
    psns = (roce_packet_of(r).psn for r in _refusals(case, peer, *reasons))
    return any(map(wqe.has_psn, psns))


def _end(ending: Ending) -> Evidence:
    """The status of a request, in words."""
    if ending.status is WCStatus.WR_FLUSH_ERR:
        return fact("it was flushed before the NAK came", ending.event)
    return fact(f"it ended with {ending.status.name}", ending.event)


# --------------------------------------------------------------------------- in words
Tell = Callable[[Case, SendWqe, QueuePair, QueuePair], str]


def _lacks_depth(wqe: SendWqe, peer: QueuePair) -> bool:
    is_read = wqe.work is not None and wqe.work.outstanding
    return bool(is_read and not peer.attr.max_dest_rd_atomic)


def _not_enabled(_case: Case, wqe: SendWqe, _qp: QueuePair, peer: QueuePair) -> str:
    has = int(peer.attr.qp_access_flags or 0)
    lacks = key_lookup.asked_of_peer(wqe)[0] & ~has
    more = ", and its max_dest_rd_atomic is 0" if _lacks_depth(wqe, peer) else ""
    flags = f"{fmt.flags(has, Access)}, without {fmt.flags(lacks, Access)}"
    return f"its qp_access_flags are {flags}{more}"


def _no_depth(_case: Case, _wqe: SendWqe, _qp: QueuePair, _peer: QueuePair) -> str:
    return "its max_dest_rd_atomic is 0: no READ and no atomic is served"


def _too_deep(case: Case, _wqe: SendWqe, qp: QueuePair, peer: QueuePair) -> str:
    ours, theirs = qp.attr.max_rd_atomic, peer.attr.max_dest_rd_atomic
    return (f"max_dest_rd_atomic={theirs} of {case.qp_name(peer)} is less than "
            f"max_rd_atomic={ours} of {case.qp_name(qp)}")  # fmt: skip


def _unaligned(_case: Case, wqe: SendWqe, _qp: QueuePair, _peer: QueuePair) -> str:
    return f"remote_addr {wqe.wr.remote_addr:#x} is no multiple of {ATOMIC_BYTES}"


_DENIAL_TEXTS: dict[str, Tell] = {"not-enabled": _not_enabled, "no-depth": _no_depth,
                                  "too-deep": _too_deep, "unaligned": _unaligned}  # fmt: skip


# --------------------------------------------------------------------------- what would do
Lines = Callable[[Case, SendWqe, QueuePair, QueuePair], list[str]]


def _lacking(wqe: SendWqe, qp: QueuePair, peer: QueuePair) -> commands.Attributes:
    """The right and the depth that the peer lacks: it names the right alone."""
    has, asked = int(peer.attr.qp_access_flags or 0), key_lookup.asked_of_peer(wqe)[0]
    theirs = {"qp_access_flags": fmt.flags(has | asked, Access)} if asked & ~has else {}
    if _lacks_depth(wqe, peer):
        theirs["max_dest_rd_atomic"] = str(max(1, qp.attr.max_rd_atomic or 0))
    return theirs


def _serve(case: Case, wqe: SendWqe, qp: QueuePair, peer: QueuePair) -> list[str]:
    return memory_fixes.sent_when_ready(case, qp, wqe.wr, theirs=_lacking(wqe, qp, peer))


def _ask_less(case: Case, wqe: SendWqe, qp: QueuePair, peer: QueuePair) -> list[str]:
    ours = {"max_rd_atomic": str(peer.attr.max_dest_rd_atomic or 1)}
    return memory_fixes.sent_when_ready(case, qp, wqe.wr, ours)


def _align(case: Case, wqe: SendWqe, qp: QueuePair, peer: QueuePair) -> list[str]:
    place = -(-wqe.wr.remote_addr // ATOMIC_BYTES) * ATOMIC_BYTES
    mr = case.world.nodes[peer.node].rkeys.get(wqe.wr.rkey)
    if mr is None:
        return []
    name = f"{key_denials.name_of(case.names, peer.node, mr)}[{place - mr.iova}]"
    again = commands.again(case, qp, wqe.wr, after_reset=True, **memory_fixes.at(name))
    return [*commands.bring_up_again(case, qp), *again]


_CURES: dict[str, Lines] = {"not-enabled": _serve, "no-depth": _serve, "too-deep": _ask_less,
                            "unaligned": _align}  # fmt: skip


@check("rem-access")
def rem_access(case: Case, send: Send, wqe: SendWqe, ending: Ending, qp: QueuePair) -> Finding:
    """The test of its key that the responder's memory failed."""
    peer = case.peer
    if case.unanswered is not None and (dropped := case.unanswered.because("rkey")):
        if peer is None:
            return NA
        refusal = _rem_access_refusal(case, wqe, peer)[0]
        cure = _cure(case, wqe, qp, peer)
        return _without_nak(qp, ending, fact(refusal.text, dropped[-1].event), cure)
    crossed = send.flushed and _is_refused(case, peer, wqe, "rkey")
    if ending.status is not WCStatus.REM_ACCESS_ERR and not crossed:
        return ok("the peer did not deny its memory")
    naks = [row for row in send.answers if row.syndrome is not None and row.syndrome.name != "ACK"]
    evidence = _rem_access_refusal(case, wqe, peer) if peer is not None else []
    since = next((each.event for each in evidence if each.event is not None), ending.event)
    evidence += [fact(f"{row.label} came back", row.event) for row in naks[-1:]]
    evidence.append(_end(ending))
    return fail(*evidence, cure=_cure(case, wqe, qp, peer), since=since)


@rem_access.instead
def _taken(case: Case, receive: Receive, ending: Ending, qp: QueuePair) -> Finding:
    """A receive that a WRITE with immediate took before its key was refused."""
    if ending.status is not WCStatus.LOC_ACCESS_ERR:
        return NA
    return fail(
        fact(f"{case.qp_name(qp)} refused a WRITE with immediate: its R_Key does not allow it",
             *map(event_of, _refusals(case, qp, "rkey")[-1:])),
        fact("this receive ended with LOC_ACCESS_ERR", ending.event),
    )  # fmt: skip


def _rem_access_refusal(case: Case, wqe: SendWqe, peer: QueuePair) -> list[Evidence]:
    denial = key_lookup.denial_at(case.world.nodes[peer.node], peer, wqe)
    test = f"rkey {wqe.wr.rkey:#x} did not allow it then; now it does"
    if denial is not None:
        test = key_lookup.denial_text(case, denial, peer)
    taken = key_lookup.changed(case, denial) if denial is not None else []
    return [fact(test, *map(event_of, _refusals(case, peer, "rkey")[-1:])), *taken]


def _cure(
    case: Case, wqe: SendWqe, qp: QueuePair, peer: QueuePair | None,
    theirs: commands.Attributes | None = None,
) -> Fix | None:  # fmt: skip
    """Bring both ends up again, and name memory of the peer that allows it."""
    if peer is None or key_lookup.former(case, peer.node, wqe.wr.rkey) is not None:
        return None
    denial = key_lookup.denial_at(case.world.nodes[peer.node], peer, wqe)
    if denial is None:
        return None
    made = memory_fixes.as_refused(case, denial)
    if (correction := made or memory_fixes.target(case, peer, wqe.wr, denial)) is None:
        return None
    changed = memory_fixes.at(correction.sg)
    if correction.length < denial.length:
        changed["sg"] = memory_fixes.first_bytes(case, wqe.wr, correction.length)
    silent = not qp.transport.acknowledged  # then both ends are as they were
    again = commands.again(case, qp, wqe.wr, after_reset=not silent, **changed)
    ready = [] if silent else memory_fixes.ready_to_send(case, qp, theirs=theirs)
    return Fix([*correction.lines, *ready, *again], note=correction.note)


@check("rem-op")
def rem_op(case: Case, send: Send, ending: Ending) -> Finding:
    """Check whether the request ended with REM_OP_ERR; the peer's completions have its cause."""
    peer = case.peer
    if ending.status is not WCStatus.REM_OP_ERR:
        return ok("the peer carried out what it had accepted")
    evidence = _at_peer(case, peer) if peer is not None else []
    return fail(*evidence, fact("here it ended with REM_OP_ERR", ending.event))


def _at_peer(case: Case, peer: QueuePair) -> list[Evidence]:
    """Its refusal, and the completion that it has for its own receive."""
    name, refusals = case.qp_name(peer), case.log.about(Kind.REQUEST_REFUSED, peer.thing)
    found = [fact(f"{name} failed it: {fmt.reason(reason_of(r))}", event_of(r))
             for r in refusals if event_of(r) <= case.ended][-1:]  # fmt: skip
    failed = ((r, cqe_of(r)) for r in case.log.failed_receives if node_of(r) == peer.node)
    own = [fact(f"its receive wr_id={cqe.wr_id} ended with {cqe.status.name}", event_of(r))
           for r, cqe in failed
           if cqe.qp_num == peer.number and cqe.status is not WCStatus.WR_FLUSH_ERR]  # fmt: skip
    return found + own[:1]
