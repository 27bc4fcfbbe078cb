"""read-before-complete: somebody looks at a buffer into which a message is still being written."""

from rdmalab.command import Noun, Thing
from rdmalab.doctor.case import Case
from rdmalab.doctor.facts import messages
from rdmalab.doctor.facts.content import Content
from rdmalab.doctor.facts.messages import Piece, meet
from rdmalab.doctor.finding import NA, Check, Evidence, Finding, Fix, Section, ok, said, warn
from rdmalab.spec.records import Kind, event_of
from rdmalab.spec.work import Local


def examine(case: Case) -> Finding:
    """Whether a READ, or a receive in use, is to fill these bytes and has not completed."""
    content = case.content
    if content is None:
        return NA
    evidence = _reads(case, content) or _receives(case, content)
    if not evidence:
        return ok("no message is on its way into these bytes")
    program = Fix(program="read a buffer only after the completion of what fills it")
    return warn(*evidence, cure=program if case.at_rest else Fix(["run"]))


def _reads(case: Case, content: Content) -> list[Evidence]:
    """READs and atomics of this node that are under way."""
    for number, qp in content.hca.qps.items.items():
        name = case.qp_name(qp)
        for serial in range(qp.comp.serial, qp.req.started):
            wqe = qp.sq.wqes[serial]
            scatters = wqe.work is not None and wqe.work.local is Local.SCATTER
            pieces = messages.pieces(content.hca, wqe.sg) if scatters else []
            if meet([content.piece], pieces):
                posted = messages.post_of(case.log, Thing(Noun.QP, content.node, number), serial)
                what = f"{name}.wr[{wqe.wr.wr_id}] reads into these bytes and has not completed"
                return [said(what, posted), _come(content, pieces, posted or 0)]
    return []


def _receives(case: Case, content: Content) -> list[Evidence]:
    """Receives that a message has taken and not filled yet."""
    for number, qp in content.hca.qps.items.items():
        wqe = qp.resp.recv
        pieces = messages.pieces(content.hca, wqe.sg) if wqe is not None else []
        if wqe is not None and meet([content.piece], pieces):
            found = case.log.of(Kind.RECV_TAKEN, content.node, number)
            taken = event_of(found[-1].record) if found else 0
            what = f"a message of {case.qp_name(qp)} is using the receive wr_id={wqe.wr.wr_id}"
            return [said(what, taken), _come(content, pieces, taken - 1)]
    return []


def _come(content: Content, pieces: list[Piece], after: int) -> Evidence:
    """How much of it is there."""
    touches = [t for t in content.touches(Kind.MEMORY_WRITTEN) if t.event > after]
    count = sum(size for t in touches for _, size in meet(pieces, [t.piece]))
    total = sum(size for _, size in pieces)
    return said(f"{count} of {total} bytes have come", touches[-1].event if touches else None)


CHECK = Check(
    79, "read-before-complete", Section.WRONG,
    question="Is a message still being written into these bytes?",
    rule="what a READ or a receive brings may be looked at when its completion is there, and not "
    "before: bytes come in any order",
    source="ibv_post_send(3)", examine=examine,
)  # fmt: skip
