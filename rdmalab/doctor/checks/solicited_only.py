"""solicited-only: the queue waits for a completion that asks to be heard, and this one does not."""

from collections.abc import Iterator

from rdmalab.doctor.case import Case
from rdmalab.doctor.facts import event_waiters
from rdmalab.doctor.finding import NA, Check, Evidence, Finding, Fix, Section, fail, ok, said
from rdmalab.doctor.fixes import waking
from rdmalab.hca.cq import CompletionQueue
from rdmalab.hca.wqe import Cqe
from rdmalab.spec.completions import Arm
from rdmalab.spec.records import A, Kind, kind_of, node_of
from rdmalab.spec.statuses import WCStatus
from rdmalab.views import fmt


def examine(case: Case) -> Finding:
    """Of a program asleep in get_cq_event, whether a completion came that its arm passes over."""
    asleep = event_waiters.sleeper(case)
    if asleep is None or not asleep.cqs:
        return NA
    found = next(_found(case, asleep.cqs), None)
    if found is None:
        return ok("no completion was passed over")
    if not event_waiters.stays(case):
        return ok("a completion that asks for it wakes it")
    cq, cqe, event = found
    return fail(
        event_waiters.armed_words(case, cq), said(_why_not(case, cq, cqe), event),
        *_packet(case, cqe, event), event_waiters.sleeps(case, asleep),
        cure=_cure(case, cq, cqe), since=event_waiters.armed(case, cq),
    )  # fmt: skip


def _found(case: Case, cqs: list[CompletionQueue]) -> Iterator[tuple[CompletionQueue, Cqe, int]]:
    """Completions that were passed over, and in which event each came."""
    for cq in cqs:
        for cqe in cq.cqes if cq.armed is Arm.SOLICITED else ():
            event = _passed_over(case, cq, cqe)
            if event is not None:
                yield cq, cqe, event


def _passed_over(case: Case, cq: CompletionQueue, cqe: Cqe) -> int | None:
    """The event in which it came, if the queue was armed then."""
    armed, event = event_waiters.armed(case, cq), event_waiters.added(case, cq, cqe)
    return event if armed is not None and event is not None and event > armed else None


def _why_not(case: Case, cq: CompletionQueue, cqe: Cqe) -> str:
    came = f"{fmt.cqe(cqe)} came onto {event_waiters.cq_name(case, cq)}"
    if cqe.status != WCStatus.SUCCESS:
        return f"{came}: on this device only a flushed receive wakes as an error"
    return f"{came}: {'a send' if cqe.is_send else 'its message'} is not solicited"


def _packet(case: Case, cqe: Cqe, event: int) -> list[Evidence]:
    """The packet that brought it, without the SE bit."""
    if cqe.is_send or cqe.status != WCStatus.SUCCESS:
        return []
    packets = [r[A] for r in case.log.within(event)
               if kind_of(r) is Kind.PACKET_RECEIVED and node_of(r) == case.node]  # fmt: skip
    return [said(f"{fmt.packet_words(p)} brought it, with SE=0", event) for p in packets[:1]]


def _cure(case: Case, cq: CompletionQueue, cqe: Cqe) -> Fix:
    """The sender marks the message; or the queue is armed for any."""
    marked = not cqe.is_send and cqe.status == WCStatus.SUCCESS
    more = waking.one_more(case, cq, solicited=marked)
    arm = f"req_notify_cq {event_waiters.cq_name(case, cq)}"
    if not more:
        return Fix(program=f"{arm}, or SOLICITED at the sender")
    return Fix(more if marked else [arm, *more])


CHECK = Check(
    16, "solicited-only", Section.QUEUE,
    question="Was the queue armed for solicited completions, and this one is none?",
    rule="armed with solicited_only, a queue tells of messages that were sent SOLICITED, and of "
         "errors where the device does so",
    source="ibv_req_notify_cq(3)", examine=examine,
)  # fmt: skip
