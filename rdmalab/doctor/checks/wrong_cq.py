"""wrong-cq: the completion lies on another completion queue than the one that is polled."""

from rdmalab.command import Noun
from rdmalab.doctor.case import Case
from rdmalab.doctor.finding import NA, Check, Cure, Finding, Section, fail, ok, said


def examine(case: Case) -> Finding:
    """Whether others were polled since the completion came, and this one never was."""
    work = case.send or case.receive
    if work is None or work.added is None or not case.asked:
        return NA
    if work.polled is not None:
        return ok("its completion was polled", work.polled.event)
    place, node = work.added, case.node
    name = case.name(Noun.CQ, node, place.cq)
    polls = [c for c in case.log.calls("poll_cq", node) if c.event > place.event]
    elsewhere = [c for c in polls if c.thing[1] != place.cq]
    if not elsewhere or len(elsewhere) < len(polls):
        return ok("nobody polls another queue for it")
    call = elsewhere[-1]
    polled = case.name(Noun.CQ, node, call.thing[1])
    return fail(
        said(f"its completion is on {name}", place.event),
        said(f"{call.program or 'a call'} polled {polled}", call.event),
        cure=Cure([f"poll_cq {name}"]),
    )


CHECK = Check(
    11, "wrong-cq", Section.QUEUE,
    question="Does its completion lie on another CQ than the one that is polled?",
    rule="a send completes on send_cq of its QP, a receive on recv_cq, and nowhere else",
    source="ibv_create_qp(3)", examine=examine,
)  # fmt: skip
