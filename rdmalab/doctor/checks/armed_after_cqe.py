"""armed-after-cqe: the completion was faster than the arm, and nobody looked in between."""

from rdmalab.doctor.case import Case
from rdmalab.doctor.facts import sleepers
from rdmalab.doctor.finding import NA, Check, Cure, Finding, Section, fail, ok, said, unknown
from rdmalab.doctor.fixes import waking
from rdmalab.hca.cq import CompletionQueue
from rdmalab.lens import words
from rdmalab.spec.completions import Arm


def examine(case: Case) -> Finding:
    """Of a program asleep in get_cq_event, whether what it waits for lay there before the arm."""
    asleep = sleepers.sleeper(case)
    if asleep is None or not asleep.cqs:
        return NA
    missed = [cq for cq in asleep.cqs if cq.cqes and cq.armed is not Arm.NONE]
    if any(sleepers.armed(case, cq) is None for cq in missed):
        return unknown("when it was armed is not kept")
    late = [cq for cq in missed if _came_first(case, cq)]
    if not late:
        return ok("no completion came before an arm and was left there")
    if not sleepers.stays(case):
        return ok("the next completion wakes it")
    cq = late[0]
    solicited = cq.armed is Arm.SOLICITED
    lines = waking.one_more(case, cq, solicited=solicited)
    arm = f"req_notify_cq {sleepers.cq_name(case, cq)}"
    program = "poll after req_notify_cq, until the queue is empty, and sleep then"
    first = sleepers.added(case, cq, cq.cqes[0])
    return fail(
        said(f"{words.cqe(cq.cqes[0])} came onto {sleepers.cq_name(case, cq)}", first),
        sleepers.armed_words(case, cq), sleepers.sleeps(case, asleep),
        cure=Cure([*([arm] if solicited else []), *lines]) if lines else Cure(program=program),
        since=sleepers.armed(case, cq),
    )  # fmt: skip


def _came_first(case: Case, cq: CompletionQueue) -> bool:
    """All that lies there is older than the arm, and nobody has polled since."""
    armed, last = sleepers.armed(case, cq), sleepers.added(case, cq, cq.cqes[-1])
    if armed is None or last is None or last > armed:
        return False
    return not sleepers.polled_since(case, cq, armed)


CHECK = Check(
    15, "armed-after-cqe", Section.QUEUE,
    question="Did the completion come before the queue was armed?",
    rule="an arm waits for the next completion, not for those that lie there: poll behind it",
    source="ibv_get_cq_event(3)", examine=examine,
)  # fmt: skip
