"""too-early: nothing is wrong, it only takes its time."""

from rdmalab.doctor.case import Case
from rdmalab.doctor.finding import NA, Check, Finding, Section, ok, said, wait
from rdmalab.doctor.standing import Is
from rdmalab.lens import words
from rdmalab.lens.planned import planned_rows


def examine(case: Case) -> Finding:
    """Whether it comes to a good end if time goes on: that is tried."""
    work = case.send or case.receive
    if work is None or work.ending is not None or work.posted is None:
        return NA
    if case.at_rest:
        return ok("nothing more happens by itself")
    future = case.future
    if not (future.settled and future.standing.kind is Is.COMPLETED):
        return ok("time alone does not bring it")
    plans = planned_rows(case.world, case.names)[:1]
    return wait(
        said(f"it completes at {words.clock(future.at_ns)} if time goes on: run"),
        *(said(f"next, at {words.clock(p.at_ns)}: {p.qp} {p.sentence}") for p in plans),
    )


CHECK = Check(
    20, "too-early", Section.LOCAL,
    question="Is something on its way that will complete it?",
    rule="a completion comes when the last answer has arrived, and not before",
    source="ibv_poll_cq(3)", examine=examine,
)  # fmt: skip
