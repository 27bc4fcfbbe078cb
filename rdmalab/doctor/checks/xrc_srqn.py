"""xrc-srqn: an XRC message names a shared receive queue that the peer's domain does not have."""

from rdmalab.command import Noun
from rdmalab.doctor.case import Case
from rdmalab.doctor.finding import NA, Check, Evidence, Finding, Fix, Section, fail, ok, said
from rdmalab.doctor.fixes import simple_fixes
from rdmalab.doctor.fixes.reconnecting import piece, reconnect
from rdmalab.hca.qp import QueuePair
from rdmalab.hca.srq import SharedReceiveQueue
from rdmalab.hca.wqe import SendWqe
from rdmalab.hca.xrcd import named_srq
from rdmalab.spec.records import B, Kind, event_of
from rdmalab.spec.statuses import WCStatus
from rdmalab.views import fmt


def examine(case: Case) -> Finding:
    """Whether the peer refused it because of its remote_srqn."""
    send, qp, peer = case.send, case.qp, case.peer
    if send is None or send.wqe is None or qp is None or not qp.transport.names_srq:
        return NA
    if send.ending is None or send.ending.status is not WCStatus.REM_INV_REQ_ERR or peer is None:
        return ok("the peer knows the SRQ that it names")
    refused = [
        event_of(r)
        for _, r in case.log.of(Kind.REQUEST_REFUSED, peer.node, peer.number)
        if r[B] == "wrong-srq" and (send.posted or 0) < event_of(r) <= send.ending.event
    ]
    if not refused:
        return ok("it was refused for another reason")
    return fail(
        said(f"it names remote_srqn={send.wqe.wr.remote_srqn:#x}", send.posted),
        said(f"{case.qp_name(peer)} refused it: its domain has no such SRQ", refused[-1]),
        *_known(case, peer),
        cure=_cure(case, qp, peer, send.wqe),
    )


def _srqs(case: Case, peer: QueuePair) -> list[SharedReceiveQueue]:
    """The SRQs that it could have named, those with receives first."""
    hca = case.world.nodes[peer.node]
    found = [srq for srq in hca.srqs.items.values() if named_srq(hca, peer, srq.number) is srq]
    return sorted(found, key=lambda srq: not srq.wqes)


def _known(case: Case, peer: QueuePair) -> list[Evidence]:
    found = [f"{case.name(Noun.SRQ, srq.node, srq.number)} is {srq.number:#x} and has "
             f"{fmt.count(len(srq.wqes), 'receive')}" for srq in _srqs(case, peer)]  # fmt: skip
    return [said(", ".join(found))] if found else []


def _cure(case: Case, qp: QueuePair, peer: QueuePair, wqe: SendWqe) -> Fix | None:
    """Both ends anew, and the message once more to an SRQ that is there."""
    srqs = _srqs(case, peer)
    if not srqs:
        return Fix(program="make an XRC SRQ in the peer's domain, and tell its srq_num")
    name, receives = case.name(Noun.SRQ, peer.node, srqs[0].number), []
    if not srqs[0].wqes and simple_fixes.needs_receive(wqe.wr):
        sg = ",".join(simple_fixes.sge_words(case, peer.node, each)
                      for each in piece(case, peer.node, srqs[0].pd, wqe.length))  # fmt: skip
        receives = [simple_fixes.line("post_srq_recv", name, {"wr_id": wqe.wr.wr_id, "sg": sg})]
    again = simple_fixes.post_send(case, qp, wqe.wr, remote_srqn=name)
    return Fix([*reconnect(case, qp, peer), *receives, again])


CHECK = Check(
    66, "xrc-srqn", Section.RECEIVE,
    question="Does it name an SRQ that the peer's XRC domain does not have?",
    rule="each XRC message names the SRQ it is for, by the number ibv_get_srq_num tells",
    source="ibv_get_srq_num(3)", examine=examine,
)  # fmt: skip
