"""What was never posted, or was refused when it was."""

from dataclasses import replace
from typing import Any

from rdmalab.command import CallArguments, Noun, Thing
from rdmalab.doctor.call import Call
from rdmalab.doctor.case import Case
from rdmalab.doctor.finding import (
    NA,
    Evidence,
    Finding,
    Fix,
    check,
    fact,
    fail,
    ok,
    unknown,
)
from rdmalab.doctor.fixes import reposting, simple_fixes
from rdmalab.doctor.fixes.changed_calls import corrected
from rdmalab.doctor.fixes.way_up import way_up
from rdmalab.doctor.subject import Sort
from rdmalab.doctor.work import attempts, batches
from rdmalab.doctor.work.attempts import Attempt
from rdmalab.hca.qp import QueuePair
from rdmalab.hca.send_checks import supported_work
from rdmalab.hca.wr import RecvWR, SendWR
from rdmalab.spec.records import Kind, Record, event_of, new_state_of, wqe_of
from rdmalab.spec.rules import errno_name
from rdmalab.spec.work import WROpcode
from rdmalab.views import fmt
from rdmalab.world.relations import find_qp

# ------------------------------------------------------------ not-posted
# not-posted: no call has posted it.
_KINDS = {
    (Sort.SEND, Noun.QP): Kind.SEND_POSTED,
    (Sort.RECV, Noun.QP): Kind.RECV_POSTED,
    (Sort.RECV, Noun.SRQ): Kind.SRQ_POSTED,
}


@check("not-posted")
def not_posted(case: Case) -> Finding:
    """Whether no call, good or bad, ever had it."""
    subject = case.subject
    kind = _KINDS.get((subject.sort, subject.thing.noun))
    if kind is None or subject.serial >= 0:
        return NA
    if (refused := attempts.latest(case.log, subject)) is not None:
        return ok("a call tried to post it and was refused", refused.call.event)
    if (built := batches.latest(case.log, subject)) is not None:
        return ok("it was built, and not posted", built.opened)
    if case.log.begins:
        return unknown("the log does not keep posts of that time")
    posts = [record for _, record in case.log.about(kind, subject.thing)]
    return fail(*_evidence(case, posts), cure=_not_posted_cure(case, posts))


def _evidence(case: Case, posts: list[Record]) -> list[Evidence]:
    """What was posted instead."""
    name, asked = case.names.of(case.subject.thing), fmt.wr(case.subject.wr_id)
    if not posts:
        event = case.log.created(case.subject.thing)
        return [fact(f"nothing was ever posted on {name}, which was made here", event)]
    last = event_of(posts[-1])
    together = " ".join(fmt.wr(wqe_of(r).wr.wr_id) for r in posts if event_of(r) == last)
    many = fmt.count(len(posts), "work request")
    return [
        fact(f"the last call that posted on {name} had {together}", last),
        fact(f"{many} in all, and {asked} is none of them"),
    ]


def _not_posted_cure(case: Case, posts: list[Record]) -> Fix:
    """Post it: how it looks, those before it tell, if they follow a rule."""
    asked = fmt.wr(case.subject.wr_id)
    wrs = [wqe_of(record).wr for record in posts[-2:]]
    wr = continued(wrs[0], wrs[1], case.subject.wr_id) if len(wrs) == 2 else None
    node, number = case.subject.thing[1:]
    qp = find_qp(case.world, node, number)
    if wr is None or (qp is None and case.subject.thing.noun is Noun.QP):
        return Fix(program=f"post {asked}")
    if isinstance(wr, SendWR) and qp is not None:
        return Fix(simple_fixes.again(case, qp, wr))
    if qp is not None and case.subject.thing.noun is Noun.QP:
        return Fix([simple_fixes.post_recv(case, qp, wr)])
    return Fix([simple_fixes.post_srq_recv(case, node, number, wr)])


def continued(one: Any, other: Any, wr_id: int) -> Any:
    """The request that follows two others as the second follows the first; None: they do not."""
    step, ahead = other.wr_id - one.wr_id, wr_id - other.wr_id
    if step <= 0 or ahead <= 0 or ahead % step or len(one.sg) != len(other.sg):
        return None
    times = ahead // step
    sg = [
        replace(b, addr=max(0, b.addr + times * (b.addr - a.addr)))
        for a, b in zip(one.sg, other.sg, strict=True)
        if (a.length, a.lkey) == (b.length, b.lkey)
    ]
    fields: CallArguments = {"wr_id": wr_id, "sg": sg}
    if isinstance(other, SendWR):
        shift = other.remote_addr - one.remote_addr
        fields["remote_addr"] = max(0, other.remote_addr + times * shift)
        fields["flush_length"] = other.flush_length  # it goes with remote=, whatever the opcode
    alike = replace(one, **fields) == replace(other, **fields)
    same_pieces = len(sg) == len(other.sg)
    made: SendWR | RecvWR = replace(other, **fields)
    return made if alike and same_pieces else None


# ------------------------------------------------------------ post-failed-ignored
# post-failed-ignored: the call that posted it returned an errno, which the program ignored.
# What the bad one was refused for has an item of its own.
_OWN_ITEM = (*attempts.OF_THE_QUEUE, "inline-opcode", "setter-missing")


@check("post-failed-ignored")
def post_failed_ignored(case: Case) -> Finding:
    """Whether it was the bad_wr of a refused call, or came after it in the list."""
    attempt = attempts.latest(case.log, case.subject)
    if attempt is None:
        return NA
    rule, bad = attempt.call.refusal, attempt.is_bad(case.subject.wr_id)
    if rule in attempts.OF_THE_QUEUE or (bad and (rule in _OWN_ITEM or rule.startswith("crash-"))):
        return ok("its call was refused for another reason", attempt.call.event)
    call = attempt.call
    evidence = [
        fact(f"{call.verb} returned {errno_name(call.errno)}: {call.message}", call.event),
        fact(f"bad_wr was {fmt.wr(attempts.id_of(attempt.left[0]))}: "
             f"{attempts.posted_text(attempt)}",
             call.event),
    ]  # fmt: skip
    return fail(*evidence, cure=_post_failed_ignored_cure(case, attempt), since=call.event)


def _post_failed_ignored_cure(case: Case, attempt: Attempt) -> Fix:
    """Correct the bad_wr, and post it and all that follow it once more."""
    bad, *rest = attempt.left
    better = corrected(bad, attempt.call.refusal)
    if better is None or case.qp is None:
        correction = (
            f"correct {fmt.wr(attempts.id_of(bad))}, check what {attempt.call.verb} returns"
        )
        return Fix(program=f"{correction}, and post it and those after it again")
    return Fix(reposting.repost(case, case.qp, attempt, [better, *rest]))


# ------------------------------------------------------------ wrong-state-post
# wrong-state-post: it was posted before the queue pair could send.
RULE = "send-state"


@check("wrong-state-post")
def wrong_state_post(case: Case) -> Finding:
    """Of a refused post, whether it was for the state; of a send, whether it lies in the ring."""
    if case.call is not None and case.call.verb in attempts.SENDING and case.qp is not None:
        return _of_call(case, case.call, case.qp)
    if case.send is None or case.qp is None:
        return NA
    waits = case.subject.serial - case.qp.sq.posted
    if not 0 <= waits < len(case.qp.sq.early):
        return ok("it was not posted too early") if case.send.posted is not None else NA
    return _of_early(case, case.qp, case.qp.sq.early[waits])


def _of_call(case: Case, call: Call, qp: QueuePair) -> Finding:
    if call.refusal != RULE:
        return ok("its state was not what it was refused for", call.event)
    if qp.sq.early:
        return _of_early(case, qp, qp.sq.early[-1])
    evidence = _refusal_evidence(case, call, qp)
    lines = way_up(case, qp)
    if not lines and not qp.state_row.starts_sends:
        program = "bring it up to RTS, and post then"
        return fail(*evidence, cure=Fix(program=program), since=call.event)
    again = reposting.once_more(case, qp)
    return fail(*evidence, cure=Fix([*lines, *again]) if again else None, since=call.event)


def _refusal_evidence(case: Case, call: Call, qp: QueuePair) -> list[Evidence]:
    """Where it stood, and the answer."""
    name, thing = case.qp_name(qp), Thing(Noun.QP, qp.node, qp.number)
    moves = [r for _, r in case.log.about(Kind.STATE_CHANGED, thing) if event_of(r) < call.event]
    found = [fact(f"{name} went to {fmt.member(new_state_of(r), type(qp.state))}", event_of(r))
             for r in moves[-1:]]  # fmt: skip
    if not moves:
        found = [fact(f"{name} was made, and is in RESET", case.log.created(thing))]
    answer = f"{call.verb} returned {errno_name(call.errno)}: {call.message}"
    return [*found, fact(answer, call.event)]


def _of_early(case: Case, qp: QueuePair, wr: SendWR) -> Finding:
    """Soft-RoCE: refused, yet in the ring, where the doorbell of the next post finds it."""
    refused = [c for c in case.log.refused()
               if c.thing == (qp.node, qp.number) and c.refusal == RULE]  # fmt: skip
    refusal = _refusal_evidence(case, refused[-1], qp) if refused else []
    kept = fact(f"this device left {fmt.wr(wr.wr_id)} in the ring all the same: the next post "
                "that is accepted starts it")  # fmt: skip
    lines = [*way_up(case, qp), *_ring(case, qp)]
    cure = Fix(lines) if lines else Fix(program="post once more, as soon as it is in RTS")
    return fail(*refusal, kept, cure=cure)


def _ring(case: Case, qp: QueuePair) -> list[str]:
    """A post that does nothing but ring the doorbell: a WRITE of no bytes."""
    if WROpcode.RDMA_WRITE not in supported_work(qp.qp_type, case.profile.lacks):
        return []
    return [simple_fixes.post_send(case, qp, SendWR(WROpcode.RDMA_WRITE), wr_id=None)]
