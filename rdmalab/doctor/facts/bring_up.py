"""The bring-up of two ends: the attributes of each, their events, and differences."""

from collections.abc import Sequence
from typing import NamedTuple

from rdmalab.doctor.case import Call, Case, QueuePair
from rdmalab.doctor.evidence.finding import Evidence, fact
from rdmalab.doctor.evidence.made_good import left_refused
from rdmalab.hca.psn import diff
from rdmalab.spec.records import Kind, attr_mask_of, event_of
from rdmalab.spec.states import BRING_UP, Attr, QPState


class Ends(NamedTuple):
    """Sending queue pair, and the one that receives what it sends."""

    sender: QueuePair
    receiver: QueuePair


def ends(case: Case) -> Ends | None:
    """The direction it is about: of a send that from here, of a receive that from the peer."""
    qp, peer, work = case.qp, case.peer, case.work
    if qp is None or peer is None or work is None:
        return None
    return Ends(qp, peer) if case.send is not None else Ends(peer, qp)


def set_at(case: Case, qp: QueuePair, attr: Attr) -> int | None:
    """The event in which an attribute got the value it has; None where that is not kept."""
    found = case.log.about(Kind.ATTRIBUTES_SET, qp.thing)
    return next((event_of(r) for r in reversed(found) if int(attr_mask_of(r)) & attr), None)


def unequal(case: Case, both: Ends, given: Sequence[tuple[Attr, str]]) -> list[Evidence]:
    """Values of both ends that must agree, at the later of their events; then the earlier one.

    given: of each end the attribute, and `sq_psn=0`.
    """
    pairs = list(zip(both, given, strict=True))
    at = [set_at(case, qp, attr) for qp, (attr, _) in pairs]
    last = max((event for event in at if event is not None), default=None)
    text = " is not ".join(f"{value} of {case.qp_name(qp)}" for qp, (_, value) in pairs)
    text += f", set {line}" if (line := case.log.line_of(last)) else ""
    own = [fact(f"{case.qp_name(qp)} was given {value} {case.log.line_of(event)}".rstrip(), event)
           for (qp, (_, value)), event in zip(pairs, at, strict=True) if event != last]  # fmt: skip
    return [fact(text, last), *own]


def began_alone(case: Case, ends_: Ends) -> tuple[QueuePair, int] | None:
    """The end that was reset, and when, while the other had moved on and was not; else None."""
    sender, receiver = ends_
    one = sender if receiver.resp.psn != receiver.attr.rq_psn else None
    if sender.comp.psn != sender.attr.sq_psn and one is None:
        one = receiver
    if one is None:
        return None
    other = receiver if one is sender else sender
    reset = case.log.last_entered(one.thing, QPState.RESET)
    up = case.log.last_entered(other.thing, QPState.RTR)
    return (one, reset) if reset is not None and up is not None and reset > up else None


def psn_gap(ends_: Ends) -> int:
    """PSNs by which the first PSN of the sender is ahead of the PSN that the receiver expects."""
    return diff(ends_.sender.attr.sq_psn or 0, ends_.receiver.attr.rq_psn or 0)


class NotGiven(NamedTuple):
    """A value that a refused modify_qp was to give an attribute; what says so."""

    value: object
    evidence: Evidence


def not_given(case: Case, qp: QueuePair, name: str, before: int) -> NotGiven | None:
    """The value of an attribute in the newest refused modify_qp before an event that named it."""
    for call in left_refused(case.log, "modify_qp", qp.node, before):
        attr = call.invocation.arguments.get("attr") if call.invocation is not None else None
        if call.thing == qp.thing[1:] and isinstance(attr, dict) and name in attr:
            kept = f"{case.qp_name(qp)} kept {name}={getattr(qp.attr, name)}"
            text = f"modify_qp with {name}={attr[name]} was refused: {kept}"
            return NotGiven(attr[name], fact(text, call.event))
    return None


def stays_unanswered(case: Case) -> bool:
    """Whether the send has no answer, and none comes without a new call."""
    send = case.send
    waits = send is not None and send.on_queue and send.begun
    return send is not None and (send.retries_exhausted or (waits and not case.will_succeed))


def stopped(case: Case, qp: QueuePair) -> list[Call]:
    """The first move that was refused since a queue pair stands below RTS, or in SQD; [] if none.

    In SQD only a move to RTS counts.
    """
    if qp.state not in (*BRING_UP[:-1], QPState.SQD):
        return []
    moves = case.log.about(Kind.STATE_CHANGED, qp.thing)
    since = event_of(moves[-1]) if moves else -1
    found = (call for call in case.log.refused() if call.verb == "modify_qp"
             and call.thing == (qp.node, qp.number) and call.event > since)  # fmt: skip
    up = [call for call in found if qp.state is not QPState.SQD or _asks_for_rts(call)]
    return up[:1]


def _asks_for_rts(call: Call) -> bool:
    attr = call.invocation.arguments.get("attr") if call.invocation is not None else None
    return isinstance(attr, dict) and attr.get("qp_state") == QPState.RTS
