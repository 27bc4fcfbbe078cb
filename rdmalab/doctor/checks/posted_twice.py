"""posted-twice: a list that was posted in part was posted again from its head."""

from typing import NamedTuple

from rdmalab.command import Noun, Thing
from rdmalab.doctor.case import Case
from rdmalab.doctor.facts import attempts
from rdmalab.doctor.facts.attempts import Attempt
from rdmalab.doctor.finding import NA, Check, Finding, Fix, Section, fail, ok, said, warn
from rdmalab.doctor.log import Call
from rdmalab.hca.qp import QueuePair
from rdmalab.spec.rules import errno_name
from rdmalab.views import fmt
from rdmalab.world.relations import peer_of


class _Again(NamedTuple):
    """A call that was refused behind some of its list, and one that began with the same again."""

    qp: QueuePair
    first: Attempt
    later: Call


def examine(case: Case) -> Finding:
    """Of a queue's messages, or of a send, whether some were posted a second time."""
    if not case.asked or (case.cq is None and case.send is None):
        return NA
    found = next((again for qp in _senders(case) for again in _repeated(case, qp)), None)
    if found is None:
        return ok("nothing was posted a second time")
    qp, first, later = found
    twice = " ".join(fmt.wr(attempts.id_of(wr)) for wr in first.wrs[: first.posted])
    if case.send is not None and not _is_one(case, found):
        return ok("this one was posted once")
    evidence = (
        said(f"{first.call.verb} on {case.qp_name(qp)} returned {errno_name(first.call.errno)}: "
             f"{attempts.told(first)}", first.call.event),
        said(f"{later.program or 'a call'} posted the list again from its head: {twice} for the "
             "second time", later.event),
    )  # fmt: skip
    cure = Fix(program="go on from bad_wr: what stands before it has been posted")
    return fail(*evidence, cure=cure) if case.cq is not None else warn(*evidence, cure=cure)


def _senders(case: Case) -> list[QueuePair]:
    """Whose messages complete on the queue; whose the send is."""
    if case.cq is None:
        return [case.qp] if case.qp is not None else []
    users = [q for q in case.hca.qps.items.values() if case.cq.number in (q.send_cq, q.recv_cq)]
    peers = [peer_of(case.world, qp) for qp in users if qp.recv_cq == case.cq.number]
    own = [qp for qp in users if qp.send_cq == case.cq.number]
    return [*own, *(peer for peer in peers if peer is not None)]


def _repeated(case: Case, qp: QueuePair) -> list[_Again]:
    """Refused calls with something posted, each with the next one that began with the same."""
    found = []
    for call in case.log.refused():
        own = (call.verb, call.thing) == ("post_send", (qp.node, qp.number))
        first = attempts.attempt(case.log, call) if own else None
        if first is None or not 0 < first.posted < len(first.wrs):
            continue
        later = (c for c in case.log.calls("post_send", qp.node)
                 if c.event > call.event and c.thing == call.thing)  # fmt: skip
        again = next((c for c in later if _begins_with(case, c, first)), None)
        found += [_Again(qp, first, again)] if again is not None else []
    return found


def _begins_with(case: Case, call: Call, first: Attempt) -> bool:
    """Whether it posted the head of that list again."""
    wrs = call.invocation.arguments.get("wr") if call.invocation is not None else None
    again = attempts.attempt(case.log, call) if call.errno else None
    posted = again.posted if again is not None else len(wrs or [])
    same = min(posted, first.posted)
    return bool(wrs) and same > 0 and list(wrs or [])[:same] == first.wrs[:same]


def _is_one(case: Case, found: _Again) -> bool:
    """Whether the send that is asked about is among those that were posted twice."""
    same = Thing(Noun.QP, found.qp.node, found.qp.number) == case.subject.thing
    ids = [attempts.id_of(wr) for wr in found.first.wrs[: found.first.posted]]
    return same and case.subject.wr_id in ids


CHECK = Check(
    101, "posted-twice", Section.POSTED,
    question="Was a list that had been posted in part posted again from its head?",
    rule="a call that fails has posted what stands before bad_wr: go on from there",
    source="fastdeploy-8091", examine=examine,
)  # fmt: skip
