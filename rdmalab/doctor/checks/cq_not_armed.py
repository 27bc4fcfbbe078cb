"""cq-not-armed: it sleeps beside a queue that is not asked to wake anybody."""

from rdmalab.doctor.case import Case
from rdmalab.doctor.facts import event_waiters
from rdmalab.doctor.finding import NA, Check, Evidence, Finding, Fix, Section, fail, ok, said
from rdmalab.doctor.fixes import waking
from rdmalab.hca.cq import CompletionQueue
from rdmalab.spec.completions import Arm
from rdmalab.views import fmt


def examine(case: Case) -> Finding:
    """Of a program asleep in get_cq_event, whether a queue of its channel is not armed."""
    asleep = event_waiters.sleeper(case)
    if asleep is None or not asleep.cqs:
        return NA
    deaf = [cq for cq in asleep.cqs if cq.armed is Arm.NONE]
    full = [cq for cq in deaf if cq.cqes]
    if not full and (len(deaf) < len(asleep.cqs) or not case.asked):
        return ok("a queue that tells it is armed" if not deaf else "nothing lies there unheard")
    if not event_waiters.stays(case):
        return ok("it is woken if time goes on")
    cq = (full or deaf)[0]
    return fail(
        event_waiters.armed_words(case, cq), *_unheard(case, cq), event_waiters.sleeps(case,
        asleep),
        cure=_cure(case, cq), since=asleep.since,
    )  # fmt: skip


def _unheard(case: Case, cq: CompletionQueue) -> list[Evidence]:
    if not cq.cqes:
        return []
    event = event_waiters.added(case, cq, cq.cqes[0])
    return [said(f"{fmt.cqe(cq.cqes[0])} came onto it and told nobody", event)]


def _cure(case: Case, cq: CompletionQueue) -> Fix:
    """Arm it, and let one more completion come: those that lie there mostly do not count."""
    name = event_waiters.cq_name(case, cq)
    if case.profile.arm_sees_unpolled and cq.cqes:
        return Fix([f"req_notify_cq {name}"])
    more = waking.one_more(case, cq)
    if not more:
        return Fix(program=f"req_notify_cq {name} before each get_cq_event, then poll, then wait")
    return Fix([f"req_notify_cq {name}", *more])


CHECK = Check(
    14, "cq-not-armed", Section.QUEUE,
    question="Does it sleep beside a completion queue that is not armed?",
    rule="one arm, one event: each sleep needs a req_notify_cq, and then a poll, before it",
    source="ibv_get_cq_event(3)", examine=examine,
)  # fmt: skip
