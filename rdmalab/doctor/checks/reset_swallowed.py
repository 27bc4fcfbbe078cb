"""reset-swallowed: a move to RESET threw it away, without a completion."""

from rdmalab.doctor.case import Case
from rdmalab.doctor.facts.bring_up import thing
from rdmalab.doctor.finding import NA, Check, Evidence, Finding, Fix, Section, fail, ok, said
from rdmalab.doctor.fixes import recovery
from rdmalab.spec.records import A, B, Kind, event_of
from rdmalab.views import fmt

_NOUNS = {"sq": "send", "rq": "receive"}


def examine(case: Case) -> Finding:
    """Whether it was neither done nor flushed when its queue pair went to RESET."""
    work, qp = case.send or case.receive, case.qp
    if work is None or qp is None or work.posted is None:
        return NA
    if work.discarded is None:
        return ok("no RESET threw it away")
    return fail(
        said("it was posted", work.posted),
        said(f"{case.qp_name(qp)} was moved to RESET", work.discarded),
        *_thrown(case, work.discarded), cure=_cure(case), since=work.discarded,
    )  # fmt: skip


def _thrown(case: Case, event: int) -> list[Evidence]:
    """How many work requests went with it."""
    assert case.qp is not None
    queue = "sq" if case.send is not None else "rq"
    found = case.log.about(Kind.QUEUE_DISCARDED, thing(case.qp))
    counts = [r[B] for _, r in found if event_of(r) == event and r[A] == queue]
    return [said(f"{fmt.count(n, _NOUNS[queue])} went without a completion", event)
            for n in counts]  # fmt: skip


def _cure(case: Case) -> Fix | None:
    qp, send, receive = case.qp, case.send, case.receive
    assert qp is not None
    if send is not None and send.wqe is not None:
        return Fix(recovery.anew(case, qp, send.wqe.wr))
    if receive is not None and receive.wqe is not None:
        return Fix(recovery.receive_anew(case, qp, receive.wqe.wr))
    return None


CHECK = Check(
    29, "reset-swallowed", Section.LOCAL,
    question="Did a move to RESET throw it away?",
    rule="RESET empties both queues without completions: drain first, or post again",
    source="ibv_modify_qp(3)", examine=examine,
)  # fmt: skip
