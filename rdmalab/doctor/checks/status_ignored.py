"""status-ignored: a program polled a completion with an error, and went on as if it were good."""

from rdmalab.command import Noun, Thing
from rdmalab.doctor.case import Case
from rdmalab.doctor.finding import NA, Check, Evidence, Finding, Fix, Section, ok, said, warn
from rdmalab.doctor.fixes import simple_fixes
from rdmalab.doctor.log import Call
from rdmalab.doctor.subject import Sort, Subject
from rdmalab.doctor.what_if import attempt
from rdmalab.hca.wqe import Cqe
from rdmalab.spec.programs import ProgramState
from rdmalab.spec.records import A, B, Kind, Record, event_of
from rdmalab.spec.statuses import WCStatus
from rdmalab.views import fmt
from rdmalab.world.program_state import Program
from rdmalab.world.relations import find_qp

_LOOK = "look at wc.status of every completion; the other fields mean something only after SUCCESS"


def examine(case: Case) -> Finding:
    """Of a program, whether it never asks for a status, and had one to ask for."""
    program = case.program
    if program is None or not case.asked:
        return NA
    if _looks(program):
        return ok("it asks for the status of completions")
    taken = _taken(case)
    bad = [record for record in taken if record[A].status is not WCStatus.SUCCESS]
    if not bad:
        return ok("it polled no completion with an error")
    name = case.names.of(case.subject.thing)
    calls = [call for call in case.log.calls(node=case.node) if call.program == name]
    later = [call for call in calls if call.event > event_of(bad[0])]
    if not later and program.state is not ProgramState.DONE:
        return ok("it has gone no further after that")
    cqe = bad[0][A]
    flushed = sum(record[A].status is WCStatus.WR_FLUSH_ERR for record in bad)
    return warn(
        said(f"{name} polled {fmt.wr(cqe.wr_id)} with "
             f"{cqe.status.name}", event_of(bad[0])),
_then(case, later),
        *_flushes(bad, flushed),
        said("none of its lines asks for a status"),
        cure=_cure(case, cqe),
    )  # fmt: skip


def _then(case: Case, later: list[Call]) -> Evidence:
    """What the program did next."""
    if later:
        return said(f"it went on with {later[0].verb}", later[0].event)
    ends = case.log.about(Kind.PROGRAM_DONE, case.subject.thing)
    return said("it ended as if all were well", event_of(ends[-1].record) if ends else None)


def _looks(program: Program) -> bool:
    """Whether one of its questions is about the status of a completion, or how the QP is."""
    asked = [line.text for line in program.lines if line.question is not None]
    return any(".status" in text or "status=" in text or ".state" in text for text in asked)


def _taken(case: Case) -> list[Record]:
    """The completions that the program polled, oldest first."""
    ran = {event_of(r) for _, r in case.log.about(Kind.PROGRAM_RAN, case.subject.thing)}
    return [r for _, r in case.log.of(Kind.CQE_POLLED, case.node) if event_of(r) in ran]


def _flushes(bad: list[Record], flushed: int) -> list[Evidence]:
    if not flushed:
        return []
    return [said(f"{fmt.count(flushed, 'more completion')} said WR_FLUSH_ERR", event_of(bad[-1]))]


def _cure(case: Case, cqe: Cqe) -> Fix:
    """Both ends made anew, and all that was lost posted again, each with room for it."""
    qp = find_qp(case.world, case.node, cqe.qp_num)
    if qp is None or not cqe.is_send or not qp.transport.connected:
        return Fix(program=_LOOK)
    thing = Thing(Noun.QP, qp.node, qp.number)
    lost = [r[A] for _, r in case.log.about(Kind.WQE_COMPLETED, thing) if r[B]]
    lines = simple_fixes.revive(case, qp)
    for wqe in lost:
        lines += simple_fixes.again(case, qp, wqe.wr, revived=True)
    works = attempt(case.session, lines, Subject(Sort.SEND, thing, lost[-1].serial,
                                                 lost[-1].wr.wr_id)).works  # fmt: skip
    return Fix(lines) if works else Fix(program=_LOOK)


CHECK = Check(
    96, "status-ignored", Section.WRONG,
    question="Did the program poll a completion with an error and go on?",
    rule="a polled completion says that a request has ended, and only its status whether well",
    source="disni-59", examine=examine,
)  # fmt: skip
