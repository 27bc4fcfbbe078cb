"""Slow work: it succeeded, and most of its time was waiting."""

from rdmalab.doctor.case import Case
from rdmalab.doctor.finding import NA, Finding, check, fact, ok, warn
from rdmalab.doctor.work.time_spent import TimeSpent
from rdmalab.spec.statuses import WCStatus
from rdmalab.views import fmt


@check("slow")
def slow(case: Case) -> Finding:
    """Whether waits made it ten times as long as it was without them."""
    send = case.send
    if send is None or send.ending is None or send.ending.status is not WCStatus.SUCCESS:
        return NA
    spent = TimeSpent(send)
    if spent.life is None:
        return NA
    if not spent.is_late:
        return ok(f"it took {fmt.duration(spent.total_ns)}")
    rest = spent.total_ns - sum(wait.ns for wait in spent.waits)
    return warn(
        *(fact(wait.text, wait.event) for wait in spent.waits),
        fact(f"{fmt.duration(rest)} without these waits, {fmt.duration(spent.total_ns)} with them"),
    )
