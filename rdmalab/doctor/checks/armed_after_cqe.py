"""armed-after-cqe: the completion was faster than the arm, and nobody looked in between."""

from rdmalab.doctor.case import Case
from rdmalab.doctor.facts import event_waiters
from rdmalab.doctor.finding import NA, Check, Finding, Fix, Section, fail, ok, said, unknown
from rdmalab.doctor.fixes import waking
from rdmalab.hca.cq import CompletionQueue
from rdmalab.spec.completions import Arm
from rdmalab.views import fmt


def examine(case: Case) -> Finding:
    """Of a program asleep in get_cq_event, whether what it waits for lay there before the arm."""
    asleep = event_waiters.sleeper(case)
    if asleep is None or not asleep.cqs:
        return NA
    missed = [cq for cq in asleep.cqs if cq.cqes and cq.armed is not Arm.NONE]
    if any(event_waiters.armed(case, cq) is None for cq in missed):
        return unknown("when it was armed is not kept")
    late = [cq for cq in missed if _came_first(case, cq)]
    if not late:
        return ok("no completion came before an arm and was left there")
    if not event_waiters.stays(case):
        return ok("the next completion wakes it")
    cq = late[0]
    solicited = cq.armed is Arm.SOLICITED
    lines = waking.one_more(case, cq, solicited=solicited)
    arm = f"req_notify_cq {event_waiters.cq_name(case, cq)}"
    program = "poll after req_notify_cq, until the queue is empty, and sleep then"
    first = event_waiters.added(case, cq, cq.cqes[0])
    return fail(
        said(f"{fmt.cqe(cq.cqes[0])} came onto {event_waiters.cq_name(case, cq)}", first),
        event_waiters.armed_words(case, cq), event_waiters.sleeps(case, asleep),
        cure=Fix([*([arm] if solicited else []), *lines]) if lines else Fix(program=program),
        since=event_waiters.armed(case, cq),
    )  # fmt: skip


def _came_first(case: Case, cq: CompletionQueue) -> bool:
    """All that lies there is older than the arm, and nobody has polled since."""
    armed, last = event_waiters.armed(case, cq), event_waiters.added(case, cq, cq.cqes[-1])
    if armed is None or last is None or last > armed:
        return False
    return not event_waiters.polled_since(case, cq, armed)


CHECK = Check(
    15, "armed-after-cqe", Section.QUEUE,
    question="Did the completion come before the queue was armed?",
    rule="an arm waits for the next completion, not for those that lie there: poll behind it",
    source="ibv_get_cq_event(3)", examine=examine,
)  # fmt: skip
