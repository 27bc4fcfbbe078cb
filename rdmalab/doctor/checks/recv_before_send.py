"""recv-before-send: the answer is here, and was taken for the completion of the request."""

from rdmalab.doctor.case import Case
from rdmalab.doctor.facts.backlog import after_polling, answer, backlog
from rdmalab.doctor.facts.send import Send
from rdmalab.doctor.finding import NA, Check, Evidence, Finding, Fix, Section, fail, ok, said
from rdmalab.spec.records import A, event_of
from rdmalab.views import fmt


def examine(case: Case) -> Finding:
    """Of a post that found no slot, whether it followed the peer's answer and not a completion."""
    found, call = backlog(case), case.call
    if found is None or call is None or not case.asked:
        return NA
    if not found.all_under_way:
        return ok("some of what held its slots was done")
    message = answer(case, found)
    if message is None:
        return ok("no message was taken for their completion")
    last, cqe = found.sends[-1], message[A]
    lines = after_polling(case, found)
    return fail(
        _state(last, call.event),
        said(f"the peer's message was polled ({fmt.wr(cqe.wr_id)} of the receives), "
             "which frees no slot", event_of(message)),
        said(f"{call.verb} followed at once", call.event),
        cure=Fix(lines) if lines else None, since=last.posted,
    )  # fmt: skip


def _state(send: Send, event: int) -> Evidence:
    """The newest request, and where its acknowledgement was then."""
    name = fmt.wr(send.subject.wr_id)
    acks = [row for row in send.answers if row.event <= event]
    if not acks:
        return said(f"{name} was posted, and not yet acknowledged", send.posted)
    return said(f"{name} was posted, and its {acks[-1].label}, which left at "
                f"{fmt.ev(acks[-1].event)}, had not come", send.posted)  # fmt: skip


CHECK = Check(
    94, "recv-before-send", Section.POSTED,
    question="Was the peer's answer taken for the completion of the request?",
    rule="nothing orders the completions of two queues: only its own completion frees a request",
    source="spdk-1292", examine=examine,
)  # fmt: skip
