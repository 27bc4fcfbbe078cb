"""too-many-sges: more pieces than a request of this queue may have."""

from rdmalab.doctor.case import Case
from rdmalab.doctor.facts import attempts
from rdmalab.doctor.finding import NA, Check, Finding, Fix, Section, fail, ok, said
from rdmalab.doctor.fixes.changed_calls import mended
from rdmalab.views import fmt

# Which number was too small, and who fixes it.
_LIMITS = {
    "send-sges": ("max_send_sge", "create_qp"),
    "recv-sges": ("max_recv_sge", "create_qp"),
    "srq-sges": ("max_sge", "create_srq"),
    "read-sges": ("max_sge_rd", ""),
}


def examine(case: Case) -> Finding:
    """Of a refused post, whether it had more SGEs than its queue was made for."""
    call = case.call
    if call is None or call.verb not in (*attempts.SENDING, *attempts.RECEIVING):
        return NA
    if call.refusal not in _LIMITS:
        return ok("its pieces were not too many")
    limit, maker = _LIMITS[call.refusal]
    attempt = attempts.of_call(case)
    name = f" for {fmt.wr(attempts.id_of(attempt.left[0]))}" if attempt and attempt.left else ""
    whose = f"{maker} fixed {limit} for good" if maker else f"{limit} is a number of the device"
    return fail(
        said(f"{call.verb} was refused{name}: {call.message}", call.event),
        said(whose),
        cure=_cure(case, attempt, limit),
    )


def _cure(case: Case, attempt: attempts.Attempt | None, limit: str) -> Fix:
    """Pieces that touch are one; who has none of these must ask for more, or copy."""
    rule = case.call.refusal if case.call is not None else ""
    better = mended(attempt.left[0], rule) if attempt is not None and attempt.left else None
    if attempt is not None and better is not None and len(better["sg"]) <= _most(case, limit):
        wrs = [better, *attempt.left[1:]]
        return Fix([attempts.said_again(case.session, attempt, wrs)])
    return Fix(program=f"ask for a larger {limit} when the queue is made, or copy the pieces "
                        "together")  # fmt: skip


def _most(case: Case, limit: str) -> int:
    """How many pieces are taken."""
    queue = attempts.queue_of(case)
    holders = (getattr(queue, "cap", None), queue, case.profile.caps)
    return next((int(getattr(each, limit)) for each in holders if hasattr(each, limit)), 0)


CHECK = Check(
    100, "too-many-sges", Section.POSTED,
    question="Has it more SGEs than its queue was made for?",
    rule="max_send_sge and max_recv_sge are fixed when the queue is made; some devices say ENOMEM",
    source="uccl-267", examine=examine,
)  # fmt: skip
