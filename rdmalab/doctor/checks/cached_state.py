"""cached-state: the program's copy of the state is older than the queue pair."""

from rdmalab.doctor.case import Case
from rdmalab.doctor.facts.bring_up import entered
from rdmalab.doctor.finding import NA, Check, Finding, Fix, Section, ok, said, warn
from rdmalab.doctor.fixes import simple_fixes
from rdmalab.doctor.subject import Sort
from rdmalab.spec.states import QPState


def examine(case: Case) -> Finding:
    """Whether the device moved it by itself, and the program cannot know."""
    qp, work = case.qp, case.send or case.receive
    if qp is None or not case.asked or (work is None and case.subject.sort is not Sort.QP):
        return NA
    if qp.known_state is qp.state:
        return ok("the program's copy of the state is true")
    moved = entered(case, qp, qp.state)
    posted = work.posted if work is not None else None
    if work is not None and (posted is None or moved is None or posted < moved):
        return ok("it was posted before the state changed")
    name = case.qp_name(qp)
    lines = [f"query_qp {name}"]
    if qp.state is QPState.ERR:
        lines += simple_fixes.revive(case, qp)
    return warn(
        said(f"{name} went to {qp.state.name} by itself", moved),
        said(f"its qp->state still says {qp.known_state.name}; only query_qp asks the device"),
        cure=Fix(lines),
    )  # fmt: skip


CHECK = Check(
    28, "cached-state", Section.LOCAL,
    question="Does the program believe in a state that is not so any more?",
    rule="qp->state is a copy: modify_qp and query_qp renew it, a move by the device does not",
    source="ibv_query_qp(3)", examine=examine,
)  # fmt: skip
