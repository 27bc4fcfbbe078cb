"""peer-destroyed: the peer was there when the connection was made, and is no more."""

from rdmalab.command import Noun, Thing
from rdmalab.doctor.case import Case
from rdmalab.doctor.facts import partners
from rdmalab.doctor.facts.unanswered_sends import Unheard
from rdmalab.doctor.finding import NA, Check, Finding, Fix, Section, fail, ok, said
from rdmalab.doctor.fixes import simple_fixes
from rdmalab.doctor.fixes.reconnecting import join, receive_at
from rdmalab.hca.qp import QueuePair
from rdmalab.spec.records import A, Kind, event_of
from rdmalab.world.relations import peer_node


def examine(case: Case) -> Finding:
    """Whether the queue pair at the other end was destroyed behind the connection."""
    qp = case.qp
    if qp is None or not qp.transport.connected or qp.path is None:
        return NA
    node, number = peer_node(case.world, qp), qp.path.dest_qpn
    gone, told = partners.destroyed(case, node, number), partners.told(case, qp)
    if gone is None or (told is not None and gone < told):
        return ok("the peer was not destroyed")
    evidence = [
        said(f"{case.qp_name(qp)} was connected to {case.name(Noun.QP, node, number)}", told),
        said(f"{case.name(Noun.QP, node, number)} was destroyed", gone),
    ]
    unheard = case.unheard
    if unheard is None:
        waits = case.receive is not None and case.receive.on_queue and case.asked
        return fail(*evidence, cure=Fix(program=_PROGRAM), since=gone) if waits else ok()
    misses = unheard.because("wrong-qpn")
    if not misses:
        return ok("it was not lost on a peer that is no more")
    evidence.append(said(f"{node} drops what is for it", misses[-1].event))
    return unheard.finding(*evidence, cure=_cure(case, unheard, qp, (node, number)), since=gone)


_PROGRAM = "say goodbye over another channel, or connect anew, before one end is destroyed"


def _cure(case: Case, unheard: Unheard, qp: QueuePair, end: tuple[str, int]) -> Fix | None:
    """Make the peer once more, as it was made, and connect."""
    thing = Thing(Noun.QP, *end)
    made = [r for _, r in case.log.of(Kind.CREATED, *end) if r[A] == Noun.QP.value]
    invocation = case.log.asked(event_of(made[-1]))[0] if made else None
    name = case.names.of(thing)
    if unheard.send.wqe is None or invocation is None or invocation.name != "create_qp":
        return Fix(program=_PROGRAM)
    if not case.names.is_free(name):
        return Fix(program=_PROGRAM)
    wr, pd = unheard.send.wqe.wr, case.names.find(str(invocation.arguments.get("pd")))
    lines = [invocation.line, *join(case, qp, name)]
    if simple_fixes.needs_receive(wr) and pd is not None:
        lines.append(receive_at(case, name, pd, unheard.send.wqe.length, wr.wr_id))
    return Fix([*lines, simple_fixes.post_send(case, qp, wr)])


CHECK = Check(
    50, "peer-destroyed", Section.PEER,
    question="Was the peer destroyed after the connection was made?",
    rule="a destroyed queue pair says no goodbye: what comes for its number is dropped",
    source="ibv_destroy_qp(3)", examine=examine,
)  # fmt: skip
