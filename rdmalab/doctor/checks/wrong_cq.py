"""wrong-cq: the completion lies on another completion queue than the one that is polled."""

from rdmalab.command import Noun, Thing
from rdmalab.doctor.case import Case
from rdmalab.doctor.facts.send import CqePlace
from rdmalab.doctor.finding import NA, Check, Finding, Fix, Section, fail, ok, said, unknown, warn
from rdmalab.doctor.log import Call
from rdmalab.spec.records import Kind, kind_of
from rdmalab.spec.statuses import WCStatus


def examine(case: Case) -> Finding:
    """Whether others were polled since the completion came, in vain, and this one never was."""
    work = case.send or case.receive
    if work is None or work.added is None or not case.asked:
        return NA
    if work.polled is not None:
        return ok("its completion was polled", work.polled.event)
    place, node = work.added, case.node
    if place.event < case.log.begins:
        return unknown("who polled since then is not kept")
    polls = [c for c in case.log.calls("poll_cq", node) if c.event > place.event]
    if any(c.thing[1] == place.cq for c in polls):
        return ok("its queue is polled")
    vain = [c for c in polls if _in_vain(case, c) and _is_meant(case, place, c.thing[1])]
    if not vain or not case.at_rest:
        return ok("nobody polls another queue for it")
    name = case.name(Noun.CQ, node, place.cq)
    polled = case.name(Noun.CQ, node, vain[-1].thing[1])
    many = f" for the {len(vain)}th time" if len(vain) > 3 else ""
    succeeded = place.cqe.status is WCStatus.SUCCESS
    return (fail if succeeded else warn)(  # of what failed, that is the trouble
        said(f"its completion is on {name}", place.event),
        said(f"{vain[-1].program or 'a call'} polled {polled}{many}, in vain", vain[-1].event),
        said(f"nobody has polled {name} since it came"),
        cure=Fix([f"poll_cq {name}"]),
    )


def _in_vain(case: Case, call: Call) -> bool:
    return all(kind_of(record) is not Kind.CQE_POLLED for record in case.log.within(call.event))


def _is_meant(case: Case, place: CqePlace, polled: int) -> bool:
    """Whoever polls that queue can only mean this work: it is the other one of its queue pair, or
    nothing else completes there."""
    qp = case.qp
    if qp is not None and polled in (qp.send_cq, qp.recv_cq):
        return True
    return not case.log.about(Kind.CQE_ADDED, Thing(Noun.CQ, case.node, polled)) and not any(
        polled in (other.send_cq, other.recv_cq) and other.number != place.cqe.qp_num
        for other in case.hca.qps.items.values()
    )


CHECK = Check(
    11, "wrong-cq", Section.QUEUE,
    question="Does its completion lie on another CQ than the one that is polled?",
    rule="a send completes on send_cq of its QP, a receive on recv_cq, and nowhere else",
    source="ibv_create_qp(3)", examine=examine,
)  # fmt: skip
