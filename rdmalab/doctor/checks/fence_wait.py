"""fence-wait: FENCE makes it wait for READs and atomics before it."""

from rdmalab.doctor.case import Case
from rdmalab.doctor.facts.line import held, posted, said_of
from rdmalab.doctor.finding import NA, Check, Finding, Section, hinders, ok, said


def examine(case: Case) -> Finding:
    """Whether it, or one before it in line, waits for answers because of FENCE."""
    send = case.send
    if send is None or not send.on_queue:
        return NA
    hold = held(case)
    if hold is None or hold.reason != "fence":
        return ok("no fence holds it up")
    first = hold.under_way[0] if hold.under_way else hold.wqe
    return hinders(
        case, said(f"{said_of(case, hold)} has FENCE", posted(case, hold.wqe)),
        said(f"before it, and not answered yet: {hold.ahead or 'what was posted earlier'}",
             posted(case, first)),
        since=case.world.event,
    )  # fmt: skip


CHECK = Check(
    30, "fence-wait", Section.PROGRESS,
    question="Does FENCE make it wait for a READ or an atomic before it?",
    rule="a request with FENCE begins when all READs and atomics before it are done",
    source="ibv_post_send(3)", examine=examine,
)  # fmt: skip
