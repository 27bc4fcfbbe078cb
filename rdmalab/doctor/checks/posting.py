"""Work that was never posted, or whose post was refused."""

from dataclasses import replace
from typing import Any

from rdmalab.doctor.evidence.work_requests import post_kind
from rdmalab.doctor.kit import *
from rdmalab.hca.send_checks import supported_work
from rdmalab.repair.bring_up import lines_to_rts
from rdmalab.repair.corrected_requests import corrected
from rdmalab.spec.work import WORK


@check("not-posted")
def not_posted(case: Case) -> Finding:
    """Check whether no call, accepted or refused, ever posted the work request."""
    subject = case.subject
    if subject.sort not in (Sort.SEND, Sort.RECV) or subject.serial >= 0:
        return NA
    if (refused := posting_calls.latest_attempt(case.log, subject)) is not None:
        return ok("a call tried to post it and was refused", refused.call.event)
    if (built := posting_calls.latest_batch(case.log, subject)) is not None:
        return ok("it was built, and not posted", built.opened)
    if case.log.begins:
        return unknown("the log does not keep posts of that time")
    kind = post_kind(subject.thing, is_send=subject.sort is Sort.SEND)
    posts = case.log.about(kind, subject.thing)
    return fail(*_evidence(case, posts), cure=_not_posted_cure(case, posts))


def _evidence(case: Case, posts: list[Record]) -> list[Evidence]:
    """Evidence: the wr_ids that were posted."""
    name, asked = case.names.of(case.subject.thing), fmt.wr(case.subject.wr_id)
    if not posts:
        event = case.log.created(case.subject.thing)
        what = "send" if case.subject.sort is Sort.SEND else "receive"
        return [fact(f"no {what} was ever posted on {name}, which was made here", event)]
    last = event_of(posts[-1])
    together = " ".join(fmt.wr(rec.wqe_of(r).wr.wr_id) for r in posts if event_of(r) == last)
    many = fmt.count(len(posts), "work request")
    if case.subject.wr_id in posting_calls.unlinked(case.log, last):
        text = f"{asked} follows {together}, whose next is NULL"
        return [fact(f"the last call that posted on {name} had {together}: {text}", last)]
    return [fact(f"the last call that posted on {name} had {together}", last),
            fact(f"{many} in all, and {asked} is none of them")]  # fmt: skip


def _not_posted_cure(case: Case, posts: list[Record]) -> Fix:
    """Post it: how it looks, those before it tell, if they follow a rule."""
    asked = fmt.wr(case.subject.wr_id)
    wrs = [rec.wqe_of(record).wr for record in posts[-2:]]
    wr = continued(wrs[0], wrs[1], case.subject.wr_id) if len(wrs) == 2 else None
    noun, node, number = case.subject.thing
    qp = find_qp(case.world, node, number) if noun is Noun.QP else None
    if wr is None or (qp is None and noun is Noun.QP):
        return Fix(program=f"post {asked}")
    if qp is None:
        return Fix([commands.post_srq_recv(case, node, number, wr)])
    is_send = isinstance(wr, SendWR)
    return Fix(commands.again(case, qp, wr) if is_send else [commands.post_recv(case, qp, wr)])


def continued(one: Any, other: Any, wr_id: int) -> Any:
    """The request that follows two others as the second follows the first; None: they do not."""
    step, ahead = other.wr_id - one.wr_id, wr_id - other.wr_id
    if step <= 0 or ahead <= 0 or ahead % step or len(one.sg) != len(other.sg):
        return None
    times = ahead // step
    sg = [replace(b, addr=max(0, b.addr + times * (b.addr - a.addr)))
          for a, b in zip(one.sg, other.sg, strict=True)
          if (a.length, a.lkey) == (b.length, b.lkey)]  # fmt: skip
    fields: CallArguments = {"wr_id": wr_id, "sg": sg}
    if isinstance(other, SendWR):
        shift = other.remote_addr - one.remote_addr
        fields["remote_addr"] = max(0, other.remote_addr + times * shift)
        fields["flush_length"] = other.flush_length  # it goes with remote=, whatever the opcode
    made: SendWR | RecvWR = replace(other, **fields)
    return made if replace(one, **fields) == made and len(sg) == len(other.sg) else None


_OWN_ITEM = (*posting_calls.OF_THE_QUEUE, "inline-opcode", "setter-missing")


def _attempt(case: Case) -> posting_calls.Attempt | None:
    return posting_calls.latest_attempt(case.log, case.subject)


@check("post-failed-ignored", attempt=_attempt)
def post_failed_ignored(case: Case, attempt: posting_calls.Attempt) -> Finding:
    """Check whether the request was the bad_wr of a refused call, or came after it in the list."""
    call, rule = attempt.call, attempt.call.refusal
    own = attempt.is_bad(case.subject.wr_id) and (rule in _OWN_ITEM or rule.startswith("crash-"))
    if own or rule in posting_calls.OF_THE_QUEUE:
        return ok("its call was refused for another reason", call.event)
    return fail(
        fact(call.answer, call.event),
        fact(f"bad_wr was {fmt.wr(posting_calls.id_of(attempt.left[0]))}: "
             f"{posting_calls.posted_text(attempt)}", call.event),
        cure=_post_failed_ignored_cure(case, attempt), since=call.event,
    )  # fmt: skip


def _post_failed_ignored_cure(case: Case, attempt: posting_calls.Attempt) -> Fix:
    """Correct the bad_wr, and post it and all that follow it once more."""
    bad, *rest = attempt.left
    better = corrected(bad, attempt.call.refusal)
    if better is None or case.qp is None:
        wr = fmt.wr(posting_calls.id_of(bad))
        return Fix(program=f"correct {wr}, check what {attempt.call.verb} returns, and post it and "
                           "those after it again")  # fmt: skip
    return Fix(reposting.repost(case, case.qp, attempt, [better, *rest]))


RULE = "send-state"


@check("wrong-state-post")
def wrong_state_post(case: Case, send: Send, qp: QueuePair) -> Finding:
    """Of a refused post, whether it was for the state; of a send, whether it lies in the ring."""
    waits = case.subject.serial - qp.sq.posted
    if not 0 <= waits < len(qp.sq.early):
        return ok("it was not posted too early") if send.posted is not None else NA
    return _of_early(case, qp, qp.sq.early[waits])


@wrong_state_post.instead
def _of_call(case: Case, call: Call, qp: QueuePair) -> Finding:
    if call.verb not in posting_calls.SENDING:
        return NA
    if call.refusal != RULE:
        return ok("its state was not what it was refused for", call.event)
    if qp.sq.early:
        return _of_early(case, qp, qp.sq.early[-1])
    lines, again = lines_to_rts(case, qp), reposting.repost_refused(case, qp)
    cure = Fix([*lines, *again]) if again else None
    if not lines and not qp.state_row.starts_sends:
        cure = Fix(program="bring it up to RTS, and post then")
    return fail(*_refusal_evidence(case, call, qp), cure=cure, since=call.event)


def _refusal_evidence(case: Case, call: Call, qp: QueuePair) -> list[Evidence]:
    """The list that it stood in, and the answer."""
    name, thing = case.qp_name(qp), qp.thing
    moves = [r for r in case.log.about(Kind.STATE_CHANGED, thing) if event_of(r) < call.event]
    found = [fact(f"{name} went to {fmt.member(rec.new_state_of(r), type(qp.state))}", event_of(r))
             for r in moves[-1:]]  # fmt: skip
    if not moves:
        found = [fact(f"{name} was made, and is in RESET", case.log.created(thing))]
    return [*found, fact(call.answer, call.event)]


def _of_early(case: Case, qp: QueuePair, wr: SendWR) -> Finding:
    """Soft-RoCE: refused, yet in the ring, where the doorbell of the next post finds it."""
    refused = [c for c in case.log.refused()
               if c.thing == (qp.node, qp.number) and c.refusal == RULE]  # fmt: skip
    refusal = _refusal_evidence(case, refused[-1], qp) if refused else []
    kept = fact(f"this device left {fmt.wr(wr.wr_id)} in the ring all the same: the next post "
                "that is accepted starts it")  # fmt: skip
    up = lines_to_rts(case, qp)
    emptied = any(line.endswith(" state=RESET") for line in up)  # the ring, too
    again = [commands.post_send(case, qp, each) for each in qp.sq.early]
    lines = [*up, *(again if emptied else _ring(case, qp))]
    cure = Fix(lines) if lines else Fix(program="post once more, as soon as it is in RTS")
    return fail(*refusal, kept, cure=cure)


def _ring(case: Case, qp: QueuePair) -> list[str]:
    """A post that does nothing but ring the doorbell: a WRITE of no bytes."""
    if WROpcode.RDMA_WRITE not in supported_work(qp.qp_type, case.profile.lacks):
        return []
    return [commands.post_send(case, qp, SendWR(WROpcode.RDMA_WRITE), wr_id=None)]


_LIMITS = {"send-sges": ("max_send_sge", "create_qp"), "recv-sges": ("max_recv_sge", "create_qp"),
           "srq-sges": ("max_sge", "create_srq"), "read-sges": ("max_sge_rd", "")}  # fmt: skip


@check("too-many-sges", verbs=(*posting_calls.SENDING, *posting_calls.RECEIVING))
def too_many_sges(case: Case, call: Call) -> Finding:
    """Of a refused post, whether it had more SGEs than its queue was made for."""
    if call.refusal not in _LIMITS:
        return ok("its SGEs were not too many")
    limit, maker = _LIMITS[call.refusal]
    attempt = posting_calls.of_call(case.log, case.call)
    bad = attempt.left[:1] if attempt is not None else []
    name = "".join(f" for {fmt.wr(posting_calls.id_of(wr))}" for wr in bad)
    whose = f"{maker} fixed {limit}" if maker else f"{limit} is a number of the device"
    return fail(fact(f"{call.verb} was refused{name}: {call.message}", call.event), fact(whose),
                cure=_too_many_sges_cure(case, attempt, limit))  # fmt: skip


def _too_many_sges_cure(case: Case, attempt: posting_calls.Attempt | None, limit: str) -> Fix:
    """Pieces that touch are one; who has none of these must ask for more, or copy."""
    rule = case.call.refusal if case.call is not None else ""
    better = corrected(attempt.left[0], rule) if attempt is not None and attempt.left else None
    if attempt is not None and better is not None and len(better["sg"]) <= _most(case, limit):
        wrs = [better, *attempt.left[1:]]
        return Fix([posting_calls.corrected_call(case.session, attempt, wrs)])
    return Fix(program=f"ask for a larger {limit} when the queue is made, or copy the pieces "
                        "together")  # fmt: skip


def _most(case: Case, limit: str) -> int:
    """Number of pieces that are taken."""
    queue = posting_calls.queue_of(case.world, case.call)
    holders = (getattr(queue, "cap", None), queue, case.profile.caps)
    return next((int(getattr(each, limit)) for each in holders if hasattr(each, limit)), 0)


@check("inline-too-long", verbs=posting_calls.SENDING)
def inline_too_long(case: Case, call: Call, qp: QueuePair) -> Finding:
    """Of a refused post, whether its INLINE bytes were what was too much."""
    if call.refusal != "inline-length":
        return ok("its inline bytes were within the limit")
    made = case.log.created(qp.thing)
    room, used = qp.cap.max_inline_data, len(qp.sq.wqes)
    return fail(
        fact(f"{call.verb} returned {errno_name(call.errno)} for {_asked(case)}", call.event),
        fact(f"{case.qp_name(qp)} was made with max_inline_data={room}", made),
        fact(f"{used} of {fmt.count(qp.sq.capacity, 'slot')} of its send queue are in use: "
             "it was not full"),
        cure=_inline_too_long_cure(case, qp), since=call.event,
    )  # fmt: skip


def _asked(case: Case) -> str:
    """`24 INLINE bytes of wr24`."""
    attempt = posting_calls.of_call(case.log, case.call)
    if attempt is None or not attempt.left:
        return "too many INLINE bytes"
    return f"{_length(case, attempt) or 'the'} INLINE bytes of {fmt.wr(attempt.left_ids[0])}"


def _length(case: Case, attempt: posting_calls.Attempt) -> int:
    found = posting_calls.bound(case.session, attempt, attempt.left[:1])
    return sum(sge.length for wr in found for sge in wr.sg)


def _inline_too_long_cure(case: Case, qp: QueuePair) -> Fix:
    """Without INLINE, where the adapter may read the bytes by DMA."""
    attempt = posting_calls.of_call(case.log, case.call)
    if attempt is not None and attempt.left and _registered(case, attempt):
        plain = corrected(attempt.left[0], "inline-length") or attempt.left[0]
        return Fix(reposting.repost(case, qp, attempt, [plain, *attempt.left[1:]]))
    many = _length(case, attempt) if attempt is not None else 0
    enough = f"max_inline_data={many}" if many else "a larger max_inline_data"
    return Fix(program=f"make the queue pair with {enough}, or register the memory and leave "
                        "INLINE out")  # fmt: skip


def _registered(case: Case, attempt: posting_calls.Attempt) -> bool:
    """Whether every SGE has the key of a region."""
    found = posting_calls.bound(case.session, attempt, attempt.left[:1])
    return bool(found) and all(sge.lkey in case.hca.lkeys for wr in found for sge in wr.sg)


_RULE = "inline-opcode"


@check("inline-opcode")
def inline_opcode(case: Case, send: Send, wqe: SendWqe, ending: Ending, qp: QueuePair) -> Finding:
    """Check whether a READ or an atomic was posted INLINE; some devices find that out late."""
    wr = wqe.wr
    if wqe.inline is None or not _cannot(wr.opcode):
        return NA
    if ending.status in (WCStatus.SUCCESS, WCStatus.WR_FLUSH_ERR):
        return ok("the device accepts INLINE")
    name = fmt.member(wr.opcode, WROpcode)
    flags = fmt.flags(int(wr.flags) & ~SendFlags.INLINE, SendFlags)
    again = memory_fixes.sent_when_ready(case, qp, wr, flags=flags)
    return fail(
        fact(f"{name} was posted INLINE, and this device accepted it", send.posted),
        fact("where its answer goes lies the copied data instead of keys: it ended with "
             f"{ending.status.name}", ending.event),
        cure=Fix(again), since=send.posted,
    )  # fmt: skip


def _cannot(opcode: int) -> bool:
    return opcode in tuple(WROpcode) and not WORK[WROpcode(opcode)].inline


@inline_opcode.instead
def _refused(case: Case, call: Call) -> Finding:
    if call.refusal != _RULE:
        return NA
    lists = call.invocation.arguments.get("wr", []) if call.invocation is not None else []
    bad = [wr for wr in lists if isinstance(wr, dict) and _is_bad(wr)]
    names = " ".join(fmt.member(wr.get("opcode", 0), WROpcode) for wr in bad)
    text = f"{names} was posted with INLINE" if names else call.message
    return fail(fact(text, call.event), cure=_inline_opcode_cure(case, lists))


def _is_bad(wr: CallArguments) -> bool:
    inline = int(wr.get("flags", 0)) & SendFlags.INLINE
    return bool(inline) and _cannot(wr.get("opcode", 0))


def _inline_opcode_cure(case: Case, lists: list[CallArguments]) -> Fix:
    """The bad_wr and those after it, which were not posted, without INLINE."""
    call = case.call
    first = next((n for n, wr in enumerate(lists) if _is_bad(wr)), None)
    if call is None or call.invocation is None or first is None:
        return Fix(program="do not set INLINE on requests that write to the local buffer")
    posted = [{**wr, "flags": int(wr["flags"]) & ~int(SendFlags.INLINE)} if _is_bad(wr) else wr
              for wr in lists[first:]]  # fmt: skip
    return Fix([memory_fixes.rephrased(case, call.invocation, wr=posted)])
