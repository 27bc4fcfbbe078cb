"""peer-mtu: the ends cut messages differently."""

from rdmalab.doctor.case import Case
from rdmalab.doctor.facts.bring_up import Ends, ends, told
from rdmalab.doctor.finding import NA, Check, Evidence, Finding, Fix, Section, fail, ok, said
from rdmalab.doctor.fixes import recovery
from rdmalab.spec.records import A, B, Kind, event_of
from rdmalab.spec.states import Attr
from rdmalab.spec.statuses import WCStatus
from rdmalab.views import fmt

_REFUSED = {WCStatus.REM_INV_REQ_ERR, WCStatus.BAD_RESP_ERR}


def examine(case: Case) -> Finding:
    """Whether packets had a length that the other end's path_mtu does not allow."""
    both = ends(case)
    if both is None or both.sender.path is None or both.receiver.path is None:
        return NA
    if both.sender.path.mtu == both.receiver.path.mtu:
        return ok(f"both ends cut by {both.sender.path.mtu}")
    seen = _refused(case, both)
    if not seen or not _concerns(case):
        return ok("what it sent fits into one packet of either end")
    since = [_told(case, both, at) for at in (0, 1)]
    return fail(
        *since, *seen, cure=_cure(case, both),
        since=max((e.event for e in since if e.event is not None), default=None),
    )  # fmt: skip


def _concerns(case: Case) -> bool:
    """A send that was refused so; a receive that waits for what vanished."""
    if case.send is not None:
        return case.send.ending is not None and case.send.ending.status in _REFUSED
    return case.receive is not None and case.receive.on_queue and case.asked


def _told(case: Case, both: Ends, at: int) -> Evidence:
    qp = both[at]
    mtu = qp.path.mtu if qp.path is not None else 0
    return said(f"{case.qp_name(qp)} cuts by path_mtu={mtu}", told(case, qp, Attr.PATH_MTU))


def _refused(case: Case, both: Ends) -> list[Evidence]:
    """The newest packet that was no good because of its length."""
    send, (sender, receiver) = case.send, both
    if send is not None and send.ending is not None and _is_bad_response(case):
        return [said(f"{case.qp_name(receiver)} answers in pieces of another size",
                     send.ending.event)]  # fmt: skip
    for kind in (Kind.REQUEST_REFUSED, Kind.PACKET_DROPPED):
        for _, r in reversed(case.log.of(kind, receiver.node, receiver.number)):
            if r[B] == "length" and r[A].flow.src == sender.path.flow.src if sender.path else False:
                text = f"{case.qp_name(receiver)} refused {fmt.packet_words(r[A])}"
                return [said(text, event_of(r))]
    return []


def _is_bad_response(case: Case) -> bool:
    ending = case.send.ending if case.send is not None else None
    return ending is not None and ending.status is WCStatus.BAD_RESP_ERR


def _cure(case: Case, both: Ends) -> Fix | None:
    """Both as small as the smaller one."""
    sender, receiver = both
    mtu = min(end.path.mtu for end in both if end.path is not None)
    same = {"path_mtu": str(mtu)}
    if case.send is not None and case.send.wqe is not None:
        return Fix(recovery.reconnected(case, sender, case.send.wqe.wr, same, same))
    return Fix(recovery.received_anew(case, receiver, same))


CHECK = Check(
    42, "peer-mtu", Section.PROGRESS,
    question="Have the two ends different path_mtu, and was it longer than one packet?",
    rule="path_mtu must be the same at both ends: all packets of a message but the last are full",
    source="ibv_modify_qp(3)", examine=examine,
)  # fmt: skip
