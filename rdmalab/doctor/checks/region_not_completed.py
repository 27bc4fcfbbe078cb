"""region-not-completed: it was built between wr_start and an end that has not come."""

from rdmalab.doctor.case import Case
from rdmalab.doctor.facts import batches
from rdmalab.doctor.finding import NA, Check, Finding, Fix, Section, fail, ok, said
from rdmalab.views import fmt


def examine(case: Case) -> Finding:
    """Whether its critical region is still open."""
    batch = batches.latest(case.log, case.subject)
    if batch is None:
        return NA
    if batch.closed is not None:
        return ok("its critical region has an end", batch.closed)
    name, many = case.names.of(batch.thing), fmt.count(len(batch.built), "work request")
    event = batch.built[-1].event
    evidence = [
        said(f"wr_start opened the critical region of {name}", batch.opened),
        said(f"{many} built since, none of them posted, and no wr_complete", event),
    ]
    if batch.spoiled is not None:
        evidence.append(said("wr_complete would refuse it: a mistake was made here", batch.spoiled))
        mend = "correct what was built wrong, start again, and end with wr_complete"
        return fail(*evidence, cure=Fix(program=mend))
    return fail(*evidence, cure=Fix([f"wr_complete {name}"]))


CHECK = Check(
    7, "region-not-completed", Section.POSTED,
    question="Was it built behind a wr_start that no wr_complete has followed?",
    rule="what is built is posted by wr_complete, all of it at once, and not before",
    source="ibv_wr_post(3)", examine=examine,
)  # fmt: skip
