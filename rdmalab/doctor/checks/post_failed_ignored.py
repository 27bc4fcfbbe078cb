"""post-failed-ignored: the call that had it returned an errno, and nobody looked."""

from rdmalab.doctor.case import Case
from rdmalab.doctor.facts import attempts
from rdmalab.doctor.facts.attempts import Attempt
from rdmalab.doctor.finding import NA, Check, Finding, Fix, Section, fail, ok, said
from rdmalab.doctor.fixes import reposting
from rdmalab.doctor.fixes.changed_calls import mended
from rdmalab.spec.rules import errno_name
from rdmalab.views import fmt

# What the bad one was refused for has an item of its own.
_OWN_ITEM = (*attempts.OF_THE_QUEUE, "inline-opcode", "setter-missing")


def examine(case: Case) -> Finding:
    """Whether it was the bad one of a refused call, or stood behind it."""
    attempt = attempts.latest(case.log, case.subject)
    if attempt is None:
        return NA
    rule, bad = attempt.call.refusal, attempt.is_bad(case.subject.wr_id)
    if rule in attempts.OF_THE_QUEUE or (bad and (rule in _OWN_ITEM or rule.startswith("crash-"))):
        return ok("its call was refused for a reason of its own", attempt.call.event)
    call = attempt.call
    evidence = [
        said(f"{call.verb} returned {errno_name(call.errno)}: {call.message}", call.event),
        said(f"bad_wr was {fmt.wr(attempts.id_of(attempt.left[0]))}: {attempts.told(attempt)}",
             call.event),
    ]  # fmt: skip
    return fail(*evidence, cure=_cure(case, attempt), since=call.event)


def _cure(case: Case, attempt: Attempt) -> Fix:
    """Mend the bad one, and post it and all behind it once more."""
    bad, *behind = attempt.left
    better = mended(bad, attempt.call.refusal)
    if better is None or case.qp is None:
        mend = f"mend {fmt.wr(attempts.id_of(bad))}, look at what {attempt.call.verb} returns"
        return Fix(program=f"{mend}, and post it and all behind it again")
    return Fix(reposting.repost(case, case.qp, attempt, [better, *behind]))


CHECK = Check(
    2, "post-failed-ignored", Section.POSTED,
    question="Was the call that had it refused, at this request or at one before it?",
    rule="a call that fails posts what stands before bad_wr, and neither bad_wr nor what follows",
    source="ibv_post_send(3)", examine=examine,
)  # fmt: skip
