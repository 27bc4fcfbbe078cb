"""rem-access: the peer's memory may not be touched so."""

from rdmalab.doctor.case import Case
from rdmalab.doctor.facts import key_lookup
from rdmalab.doctor.finding import NA, Check, Evidence, Finding, Fix, Section, fail, ok, said
from rdmalab.doctor.fixes import memory_fixes, simple_fixes
from rdmalab.hca.qp import QueuePair
from rdmalab.hca.wqe import SendWqe
from rdmalab.spec.records import B, Kind, event_of
from rdmalab.spec.statuses import WCStatus


def examine(case: Case) -> Finding:
    """Which test of its key the responder's memory failed."""
    send, peer = case.send, case.peer
    if case.receive is not None and case.qp is not None:
        return _taken(case, case.qp)
    if send is None or send.wqe is None or send.ending is None or case.qp is None:
        return NA
    if case.unheard is not None and (dropped := case.unheard.because("rkey")):
        return _in_silence(case, send.wqe, dropped[-1].event)
    if send.ending.status is not WCStatus.REM_ACCESS_ERR:
        return ok("the peer did not deny its memory")
    naks = [row for row in send.answers if row.syndrome is not None and row.syndrome.name != "ACK"]
    evidence = [_refusal(case, send.wqe, peer, case.qp)] if peer is not None else []
    evidence += [said(f"{row.label} came back", row.event) for row in naks[-1:]]
    evidence.append(said("so it ended with REM_ACCESS_ERR", send.ending.event))
    return fail(*evidence, cure=_cure(case, send.wqe, case.qp, peer))


def _taken(case: Case, qp: QueuePair) -> Finding:
    """A receive that a WRITE with immediate took before its key was refused."""
    ending = case.receive.ending if case.receive is not None else None
    if ending is None or ending.status is not WCStatus.LOC_ACCESS_ERR:
        return NA
    found = case.log.of(Kind.REQUEST_REFUSED, qp.node, qp.number)
    events = [event_of(r) for _, r in found if r[B] == "rkey" and event_of(r) <= case.ended]
    return fail(
        said(f"{case.qp_name(qp)} refused a WRITE with immediate: its R_Key does not allow it",
             events[-1] if events else None),
        said("so this receive ended with LOC_ACCESS_ERR", ending.event),
    )  # fmt: skip


def _in_silence(case: Case, wqe: SendWqe, event: int) -> Finding:
    """Of a transport without answers: the responder drops it, and the sender is told SUCCESS."""
    qp, peer, send = case.qp, case.peer, case.send
    if qp is None or peer is None or send is None:
        return NA
    refusal = _refusal(case, wqe, peer, qp)
    return fail(
        said(refusal.text, event),
        said(f"{qp.qp_type.name} tells nobody", send.ending.event if send.ending else None),
        cure=_cure(case, wqe, qp, peer),
    )


def _refusal(case: Case, wqe: SendWqe, peer: QueuePair, qp: QueuePair) -> Evidence:
    found = case.log.of(Kind.REQUEST_REFUSED, peer.node, peer.number)
    events = [event_of(r) for _, r in found if r[B] == "rkey" and event_of(r) <= case.ended]
    denial = key_lookup.denial_at(case.world.nodes[peer.node], peer, wqe)
    test = f"rkey {wqe.wr.rkey:#x} was not good for it then; now it is"
    if denial is not None:
        test = key_lookup.told(case, denial, peer)
    return said(f"{case.qp_name(peer)} refused it: {test}", events[-1] if events else None)


def _cure(case: Case, wqe: SendWqe, qp: QueuePair, peer: QueuePair | None) -> Fix | None:
    """Bring both ends up again, and name memory of the peer that allows it."""
    denial = None
    if peer is not None:
        denial = key_lookup.denial_at(case.world.nodes[peer.node], peer, wqe)
    if (
        peer is None
        or denial is None
        or key_lookup.former(case, peer.node, wqe.wr.rkey) is not None
    ):
        return None
    mend = memory_fixes.target(case, peer, wqe.wr, denial)
    if mend is None:
        return None
    changed = {"remote_addr": None, "rkey": None, "remote": mend.said}
    if mend.length < denial.length:
        changed["sg"] = memory_fixes.first_bytes(case, wqe.wr, mend.length)
    silent = not qp.transport.acknowledged  # then both ends are as they were
    again = simple_fixes.again(case, qp, wqe.wr, revived=not silent, **changed)
    return Fix([*mend.lines, *([] if silent else memory_fixes.revived(case, qp)), *again])


CHECK = Check(
    71, "rem-access", Section.ERROR,
    question="Did the peer deny its memory: rkey, domain, right or range?",
    rule="an rkey opens only its own bytes, to its own domain, for the rights it was given",
    source="ibv_reg_mr(3)", examine=examine, station=True,
)  # fmt: skip
