"""not-posted: nobody ever handed it over."""

from dataclasses import replace
from typing import Any

from rdmalab.command import Noun
from rdmalab.doctor.case import Case
from rdmalab.doctor.facts import attempts, batches
from rdmalab.doctor.finding import (
    NA,
    Check,
    Evidence,
    Finding,
    Fix,
    Section,
    fail,
    ok,
    said,
    unknown,
)
from rdmalab.doctor.fixes import simple_fixes
from rdmalab.doctor.subject import Sort
from rdmalab.hca.wr import RecvWR, SendWR
from rdmalab.spec.records import A, Kind, Record, event_of
from rdmalab.views import fmt
from rdmalab.world.relations import find_qp

_KINDS = {
    (Sort.SEND, Noun.QP): Kind.SEND_POSTED,
    (Sort.RECV, Noun.QP): Kind.RECV_POSTED,
    (Sort.RECV, Noun.SRQ): Kind.SRQ_POSTED,
}


def examine(case: Case) -> Finding:
    """Whether no call, good or bad, ever had it."""
    subject = case.subject
    kind = _KINDS.get((subject.sort, subject.thing.noun))
    if kind is None or subject.serial >= 0:
        return NA
    if (refused := attempts.latest(case.log, subject)) is not None:
        return ok("a call had it, and was refused", refused.call.event)
    if (built := batches.latest(case.log, subject)) is not None:
        return ok("it was built, and not posted", built.opened)
    if case.log.begins:
        return unknown("posts of so long ago are not kept")
    posts = [record for _, record in case.log.about(kind, subject.thing)]
    return fail(*_evidence(case, posts), cure=_cure(case, posts))


def _evidence(case: Case, posts: list[Record]) -> list[Evidence]:
    """What was posted instead."""
    name, asked = case.names.of(case.subject.thing), fmt.wr(case.subject.wr_id)
    if not posts:
        made = case.log.about(Kind.CREATED, case.subject.thing)
        event = event_of(made[-1].record) if made else None
        return [said(f"nothing was ever posted on {name}, which was made here", event)]
    last = event_of(posts[-1])
    together = " ".join(fmt.wr(r[A].wr.wr_id) for r in posts if event_of(r) == last)
    many = fmt.count(len(posts), "work request")
    return [
        said(f"the last call that posted on {name} had {together}", last),
        said(f"{many} in all, and {asked} is none of them"),
    ]


def _cure(case: Case, posts: list[Record]) -> Fix:
    """Post it: how it looks, those before it tell, if they follow a rule."""
    asked = fmt.wr(case.subject.wr_id)
    wrs = [record[A].wr for record in posts[-2:]]
    wr = continued(wrs[0], wrs[1], case.subject.wr_id) if len(wrs) == 2 else None
    node, number = case.subject.thing[1:]
    qp = find_qp(case.world, node, number)
    if wr is None or (qp is None and case.subject.thing.noun is Noun.QP):
        return Fix(program=f"hand {asked} to a call that posts it")
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
    fields: dict[str, Any] = {"wr_id": wr_id, "sg": sg}
    if isinstance(other, SendWR):
        shift = other.remote_addr - one.remote_addr
        fields["remote_addr"] = max(0, other.remote_addr + times * shift)
        fields["flush_length"] = other.flush_length  # it goes with remote=, whatever the opcode
    alike = replace(one, **fields) == replace(other, **fields)
    same_pieces = len(sg) == len(other.sg)
    made: SendWR | RecvWR = replace(other, **fields)
    return made if alike and same_pieces else None


CHECK = Check(
    1, "not-posted", Section.POSTED,
    question="Was it never handed to any call?",
    rule="what was not posted does not complete: a list ends where next is NULL",
    source="ibv_post_send(3)", examine=examine,
)  # fmt: skip
