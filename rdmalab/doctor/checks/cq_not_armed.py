"""cq-not-armed: it sleeps beside a queue that is not asked to wake anybody."""

from rdmalab.doctor.case import Case
from rdmalab.doctor.facts import sleepers
from rdmalab.doctor.finding import NA, Check, Cure, Evidence, Finding, Section, fail, ok, said
from rdmalab.doctor.fixes import waking
from rdmalab.hca.cq import CompletionQueue
from rdmalab.lens import words
from rdmalab.spec.completions import Arm


def examine(case: Case) -> Finding:
    """Of a program asleep in get_cq_event, whether a queue of its channel is not armed."""
    asleep = sleepers.sleeper(case)
    if asleep is None or not asleep.cqs:
        return NA
    deaf = [cq for cq in asleep.cqs if cq.armed is Arm.NONE]
    full = [cq for cq in deaf if cq.cqes]
    if not full and (len(deaf) < len(asleep.cqs) or not case.asked):
        return ok("a queue that tells it is armed" if not deaf else "nothing lies there unheard")
    if not sleepers.stays(case):
        return ok("it is woken if time goes on")
    cq = (full or deaf)[0]
    return fail(
        sleepers.armed_words(case, cq), *_unheard(case, cq), sleepers.sleeps(case, asleep),
        cure=_cure(case, cq), since=asleep.since,
    )  # fmt: skip


def _unheard(case: Case, cq: CompletionQueue) -> list[Evidence]:
    if not cq.cqes:
        return []
    event = sleepers.added(case, cq, cq.cqes[0])
    return [said(f"{words.cqe(cq.cqes[0])} came onto it and told nobody", event)]


def _cure(case: Case, cq: CompletionQueue) -> Cure:
    """Arm it, and let one more completion come: those that lie there mostly do not count."""
    name = sleepers.cq_name(case, cq)
    if case.profile.arm_sees_unpolled and cq.cqes:
        return Cure([f"req_notify_cq {name}"])
    more = waking.one_more(case, cq)
    if not more:
        return Cure(program=f"req_notify_cq {name} before each get_cq_event, then poll, then wait")
    return Cure([f"req_notify_cq {name}", *more])


CHECK = Check(
    14, "cq-not-armed", Section.QUEUE,
    question="Does it sleep beside a completion queue that is not armed?",
    rule="one arm, one event: each sleep needs a req_notify_cq, and then a poll, before it",
    source="ibv_get_cq_event(3)", examine=examine,
)  # fmt: skip
