"""Requests built with `ibv_wr_*`: a setter, an end or a batch that is missing."""

from collections.abc import Iterator

from rdmalab.command import Invocation
from rdmalab.doctor.evidence.posting_calls import Batch, Building
from rdmalab.doctor.kit import *
from rdmalab.hca.extended import ABORTED, OVERWRITTEN
from rdmalab.spec.builders import UD_SETTER, qp_setter
from rdmalab.spec.work import BUILDERS

RULE = "setter-missing"


@check("missing-setter")
def missing_setter(case: Case, qp: QueuePair, call: Call) -> Finding:
    """Check whether a batch was discarded, or a message failed, because an address is missing."""
    if not qp_setter(qp.qp_type) or call.verb != "wr_complete":
        return NA
    if call.refusal != RULE:
        return ok("every builder has the setters that it needs")
    batch = posting_calls.closed_by(case.log, call)
    return _missing(case, qp, batch, fact(call.answer, call.event))


@missing_setter.instead
def _of_send(case: Case, send: Send, ending: Ending, qp: QueuePair) -> Finding:
    """Of a send that failed on a device where wr_complete does not ask for the setter."""
    unchecked = RULE in case.profile.batch_unchecked and qp_setter(qp.qp_type)
    if not unchecked or ending.status is not WCStatus.LOC_QP_OP_ERR:
        return NA
    found = posting_calls.batches(case.log, case.subject.thing)
    batch = next((each for each in found if each.closed == send.posted), None)
    built = batch.find(case.subject.wr_id) if batch is not None else None
    if built is None or not _needs(qp, built):
        return ok("it has its destination setter")
    text = f"this device posts it nevertheless; it ended with {ending.status.name}"
    return _missing(case, qp, batch, fact(text, ending.event))


def _missing(case: Case, qp: QueuePair, batch: Batch | None, answer: Evidence) -> Finding:
    without = [built for built in batch.built if _needs(qp, built)] if batch is not None else []
    evidence = [
        fact(f"{BUILDERS[WROpcode(built.wr.opcode)]} made {fmt.wr(built.wr.wr_id)}, and no "
             f"{qp_setter(qp.qp_type)} followed", built.event)
        for built in without[:2]
    ]  # fmt: skip
    cure = _missing_setter_cure(case, qp, batch) if batch is not None else None
    return fail(*evidence, answer, cure=cure)


def _needs(qp: QueuePair, built: Building) -> bool:
    setter = qp_setter(qp.qp_type, WROpcode(built.wr.opcode))
    return bool(setter) and all(each.verb != setter for each in built.setters)


def _missing_setter_cure(case: Case, qp: QueuePair, batch: Batch) -> Fix:
    """The batch again, with the destination setter after each builder."""
    setter = qp_setter(qp.qp_type)
    address = next(_to_datagrams(case, qp) if setter == UD_SETTER else _to_srqs(case, qp), None)
    if address is None:
        return Fix(program=f"call {setter} after each builder, and build the batch again")

    def setters_of(built: Building) -> list[Invocation] | None:
        return [address, *reposting.setters(case, built)] if _needs(qp, built) else None

    lines = reposting.rebuild(case, batch, setters_of)
    if not lines:
        return Fix(program=f"call {setter} after each builder")
    return Fix([*(commands.bring_up_again(case, qp) if qp.state is QPState.ERR else []), *lines])


def _to_datagrams(case: Case, qp: QueuePair) -> Iterator[Invocation]:
    """Ways to queue pairs that would take a datagram, those that have a receive for it first."""
    ways = [
        (not other.source.wqes, other.number, ah, node)
        for ah in case.hca.ahs.items.values()
        if ah.pd == qp.pd and (node := node_at(case.world, qp.node, ah.attr))
        for other in case.world.nodes[node].qps.items.values()
        if other.qp_type is qp.qp_type and other.state_row.receives
        and other.attr.qkey == qp.attr.qkey
    ]  # fmt: skip
    for _, number, ah, node in sorted(ways, key=lambda way: way[:2]):
        arguments = {
            "ah": _ref(case, Noun.AH, qp.node, ah.number),
            "remote_qpn": _ref(case, Noun.QP, node, number),
            "remote_qkey": qp.attr.qkey,
        }
        yield Invocation(UD_SETTER, {"qp": _ref(case, Noun.QP, qp.node, qp.number), **arguments})


def _to_srqs(case: Case, qp: QueuePair) -> Iterator[Invocation]:
    """Shared receive queues in the peer's domain, those that hold a receive first."""
    peer = peer_of(case.world, qp)
    if peer is None:
        return
    srqs = case.world.nodes[peer.node].srqs.items.values()
    for srq in sorted(srqs, key=lambda each: not each.wqes):
        if srq.xrcd and srq.xrcd == peer.xrcd:
            number = _ref(case, Noun.SRQ, peer.node, srq.number)
            arguments = {"qp": _ref(case, Noun.QP, qp.node, qp.number), "remote_srqn": number}
            yield Invocation(qp_setter(qp.qp_type), arguments)


def _ref(case: Case, noun: Noun, node: str, number: int) -> Ref:
    return Ref(node, case.name(noun, node, number).partition(".")[2])


def _latest(case: Case) -> Batch | None:
    return posting_calls.latest_batch(case.log, case.subject)


@check("region-not-completed", batch=_latest)
def region_not_completed(case: Case, batch: Batch) -> Finding:
    """Check whether the critical region of the request is still open."""
    if batch.closed is not None:
        return ok("its critical region has an end", batch.closed)
    name, many = case.names.of(batch.thing), fmt.count(len(batch.built), "work request")
    event = batch.built[-1].event
    evidence = [
        fact(f"wr_start opened the critical region of {name}", batch.opened),
        fact(f"{many} built since, none of them posted, and no wr_complete", event),
    ]
    if batch.spoiled is not None:
        evidence.append(fact("wr_complete would refuse it: a mistake was made here", batch.spoiled))
        correction = "correct what was built wrong, start again, and end with wr_complete"
        return fail(*evidence, cure=Fix(program=correction))
    return fail(*evidence, cure=Fix([f"wr_complete {name}"]))


_OWN_ITEM = ("setter-missing", "queue-full", "send-state")
_OTHERWISE = {"wr_set_inline_data": "wr_set_sge", "wr_set_inline_data_list": "wr_set_sge_list"}


def _closed(case: Case) -> Batch | None:
    return posting_calls.closed_by(case.log, case.call) if case.call is not None else _latest(case)


@check("region-aborted", batch=_closed)
def region_aborted(case: Case, batch: Batch) -> Finding:
    """Check whether the critical region of the request ended without posting it."""
    if batch.closed is None:
        return ok("its critical region is open", batch.opened)
    refusal = batch.refusal(case.log)
    own = refusal is not None and (refusal.refusal in _OWN_ITEM or case.call is not None)
    if refusal is not None and own and not _is_too_long(case, batch):
        return ok("wr_complete was refused for another reason", refusal.event)
    built = batch.find(case.subject.wr_id) or batch.built[0]
    name = f"{fmt.wr(built.wr.wr_id)} was built on {case.names.of(batch.thing)}, and not posted"
    evidence = [fact(name, built.event), *_ending(batch, refusal)]
    return fail(*evidence, cure=_region_aborted_cure(case, batch, refusal),
                since=batch.spoiled or batch.closed)  # fmt: skip


def _is_too_long(case: Case, batch: Batch) -> bool:
    """Whether it has more work requests than the whole send queue."""
    return case.qp is not None and len(batch.built) > case.qp.sq.capacity


def _ending(batch: Batch, refusal: Call | None) -> list[Evidence]:
    """Evidence: the end of the batch."""
    many = fmt.count(len(batch.built), "work request")
    if refusal is not None:
        return [
            fact(refusal.answer, batch.closed),
            fact(f"none of its {many} was posted", batch.closed),
        ]
    if batch.ending == ABORTED:
        return [fact(f"wr_abort discarded the batch of {many}", batch.closed)]
    return [fact(f"another thread wrote over the batch of {many}", batch.closed)]


def _region_aborted_cure(case: Case, batch: Batch, refusal: Call | None) -> Fix:
    """All of it again, without the mistake."""
    if refusal is not None and refusal.refusal != "inline-length":
        return Fix(program=f"correct it ({refusal.message}), and build the whole batch again")
    lines = reposting.rebuild(case, batch, lambda built: _by_reference(case, built))
    if lines is None or batch.ending == OVERWRITTEN:
        return Fix(program="build the whole batch again, by one thread at a time")
    return Fix(lines)


def _by_reference(case: Case, built: Building) -> list[Invocation] | None:
    """The bytes that are too many to be copied are named instead."""
    qp = case.qp
    if qp is None or sum(sge.length for sge in built.wr.sg) <= qp.cap.max_inline_data:
        return None
    return [_named(each) for each in reposting.setters(case, built)]


def _named(setter: Invocation) -> Invocation:
    other = _OTHERWISE.get(setter.name)
    if other is None:
        return setter
    return Invocation(other, {"qp": setter.arguments["qp"], "sg": setter.arguments["buf"]})
