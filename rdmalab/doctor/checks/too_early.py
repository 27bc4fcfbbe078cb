"""too-early: nothing is wrong, it only takes its time."""

from rdmalab.doctor.case import Case
from rdmalab.doctor.facts.worst_case_wait import worst
from rdmalab.doctor.finding import NA, Check, Evidence, Finding, Fix, Section, ok, said, wait
from rdmalab.spec.records import event_of
from rdmalab.views import fmt
from rdmalab.views.planned import PlannedRow, planned_rows


def examine(case: Case) -> Finding:
    """Whether it comes to a good end if time goes on: that is tried."""
    work = case.send or case.receive
    if work is None or work.ending is not None or work.posted is None:
        return NA
    if case.at_rest:
        return ok("nothing more happens by itself")
    if not case.comes:
        return ok("time alone does not bring it")
    return wait(
        said(f"it completes at {fmt.clock(case.future.at_ns)} if time goes on, "
             f"in {fmt.duration(case.future.at_ns - case.world.now_ns)}"),
        *_next(case), *(said(text) for text in worst(case)), cure=Fix(["run"]),
    )  # fmt: skip


def _next(case: Case) -> list[Evidence]:
    """What it waits for: the next thing that happens to its queue pair, or to the peer."""
    own = [row for row in planned_rows(case.world, case.names) if row.qp in _names(case)]
    return [said(_words(row), _cause(case, row)) for row in own[:1]]


def _names(case: Case) -> list[str]:
    return [case.qp_name(qp) for qp in (case.qp, case.peer) if qp is not None]


def _words(row: PlannedRow) -> str:
    return f"next, at {fmt.clock(row.at_ns)}: {row.qp} {row.sentence}"


def _cause(case: Case, row: PlannedRow) -> int | None:
    """The event in which a packet that is under way left."""
    return None if row.number is None else event_of(case.world.trace.records[row.number])


CHECK = Check(
    20, "too-early", Section.LOCAL,
    question="Is something on its way that will complete it?",
    rule="a completion comes when the last answer has arrived, and not before",
    source="ibv_poll_cq(3)", examine=examine,
)  # fmt: skip
