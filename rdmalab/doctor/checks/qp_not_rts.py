"""qp-not-rts: the queue pair never got as far as sending."""

from rdmalab.command import Noun
from rdmalab.doctor.case import Case
from rdmalab.doctor.facts import bring_up
from rdmalab.doctor.facts.awaited import things_in
from rdmalab.doctor.finding import NA, Check, Finding, Fix, Section, fail, ok, said
from rdmalab.doctor.fixes import recovery
from rdmalab.doctor.subject import Sort
from rdmalab.hca.qp import QueuePair
from rdmalab.spec.programs import ProgramState
from rdmalab.spec.states import BRING_UP, QPState
from rdmalab.world.relations import find_qp


def examine(case: Case) -> Finding:
    """Whether the queue pair asked about, or one that a program waits for, is below RTS."""
    found = _awaited(case) if case.program is not None else _asked(case)
    if found is None:
        return NA
    if found.state not in BRING_UP[:-1]:
        return ok(f"{case.qp_name(found)} is in {found.state.name}")
    if not case.asked and not (case.program is not None and case.at_rest):
        return ok("it may still be brought up")
    name, lines = case.qp_name(found), recovery.way_up(case, found)
    moved = bring_up.entered(case, found, found.state)
    return fail(
        said(f"{name} went to {found.state.name}, and nobody has moved it on", moved),
        said(f"{name} needs {' and '.join(to.name for to in BRING_UP[:-1][found.state + 1:])}"
             f"{' and ' if found.state < QPState.RTR else ''}RTS before it sends"),
        cure=Fix(lines) if lines else None,
    )  # fmt: skip


def _asked(case: Case) -> QueuePair | None:
    if case.subject.sort is not Sort.QP or case.qp is None or not case.qp.transport.sends:
        return None
    return case.qp


def _awaited(case: Case) -> QueuePair | None:
    """The first queue pair below RTS whose state a program waits for."""
    program = case.program
    if program is None or program.state is not ProgramState.WAITING:
        return None
    named = [t for t in things_in(case, program.line.question) if t.noun is Noun.QP]
    found = [qp for t in named if (qp := find_qp(case.world, t.node, t.number)) is not None]
    below = [qp for qp in found if qp.state in BRING_UP[:-1]]
    return next(iter(below or found), None)


CHECK = Check(
    22, "qp-not-rts", Section.LOCAL,
    question="Is the queue pair below RTS, though somebody wants to send?",
    rule="in RTR a queue pair receives and answers; it sends from RTS on",
    source="ibv_modify_qp(3)", examine=examine,
)  # fmt: skip
