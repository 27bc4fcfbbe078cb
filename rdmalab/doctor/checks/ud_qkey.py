"""ud-qkey: the datagram's Q_Key is not that of the queue pair it came to."""

from rdmalab.doctor.case import Case
from rdmalab.doctor.facts import partners
from rdmalab.doctor.facts.unanswered_sends import Miss
from rdmalab.doctor.finding import NA, Check, Evidence, Finding, Fix, Section, ok, said
from rdmalab.doctor.fixes.reconnecting import once_more
from rdmalab.hca.qp import QueuePair
from rdmalab.spec.records import A, Kind, event_of
from rdmalab.spec.states import Attr


def examine(case: Case) -> Finding:
    """Whether it was dropped for its Q_Key."""
    unheard, qp = case.unheard, case.qp
    if unheard is None or qp is None or unheard.send.wqe is None or qp.transport.connected:
        return NA
    misses = unheard.because("qkey")
    target = _met(case, misses[-1]) if misses else None
    if target is None:
        return ok("no Q_Key stood in its way")
    said_key, wanted = _key(misses[-1]), target.attr.qkey or 0
    return unheard.finding(
        *_changed(case, target, misses[-1].event),
        said(f"it was sent with Q_Key {said_key:#x}", unheard.send.posted),
        said(f"{case.qp_name(target)} has Q_Key {wanted:#x}: dropped, and counted in "
             "qkey_viol_cntr", misses[-1].event),
        cure=Fix(once_more(case, qp, unheard.send.wqe.wr, target, remote_qkey=hex(wanted))),
    )  # fmt: skip


def _met(case: Case, miss: Miss) -> QueuePair | None:
    """Who dropped it."""
    return case.world.nodes[miss.node].qps.items.get(miss.number)


def _key(miss: Miss) -> int:
    return miss.packet.deth.qkey if miss.packet.deth is not None else 0


def _changed(case: Case, target: QueuePair, event: int) -> list[Evidence]:
    """When the target got the key that it has."""
    found = [
        event_of(r)
        for _, r in case.log.about(Kind.ATTRIBUTES_SET, partners.thing_of(target))
        if int(r[A]) & Attr.QKEY and event_of(r) < event
    ]
    return [said(f"{case.qp_name(target)} was given its Q_Key", found[-1])] if found else []


CHECK = Check(
    56, "ud-qkey", Section.RECEIVE,
    question="Is the Q_Key of the datagram another than that of the queue pair it came to?",
    rule="a UD queue pair drops what does not bring its own Q_Key; the sender is told SUCCESS",
    source="ibv_modify_qp(3)", examine=examine,
)  # fmt: skip
