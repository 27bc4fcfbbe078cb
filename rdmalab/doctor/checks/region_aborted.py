"""region-aborted: it was built, and its whole batch was given up."""

from rdmalab.command import Invocation
from rdmalab.doctor.case import Case
from rdmalab.doctor.facts import batches
from rdmalab.doctor.facts.batches import Batch, Building
from rdmalab.doctor.finding import NA, Check, Evidence, Finding, Fix, Section, fail, ok, said
from rdmalab.doctor.fixes import rebuilding
from rdmalab.doctor.log import Call
from rdmalab.hca.extended import ABORTED, OVERWRITTEN
from rdmalab.spec.rules import errno_name
from rdmalab.views import fmt

_OWN_ITEM = ("setter-missing", "queue-full", "send-state")
_OTHERWISE = {"wr_set_inline_data": "wr_set_sge", "wr_set_inline_data_list": "wr_set_sge_list"}


def examine(case: Case) -> Finding:
    """Whether its critical region ended without posting it."""
    batch = batches.latest(case.log, case.subject)
    if batch is None:
        return NA
    if batch.closed is None:
        return ok("its critical region is open", batch.opened)
    refusal = batch.refusal(case.log)
    if refusal is not None and refusal.refusal in _OWN_ITEM:
        return ok("wr_complete was refused for a reason of its own", refusal.event)
    built = batch.find(case.subject.wr_id) or batch.built[0]
    name = f"{fmt.wr(built.wr.wr_id)} was built on {case.names.of(batch.thing)}"
    evidence = [said(name, built.event), *_ending(batch, refusal)]
    return fail(*evidence, cure=_cure(case, batch, refusal), since=batch.spoiled or batch.closed)


def _ending(batch: Batch, refusal: Call | None) -> list[Evidence]:
    """What became of the batch."""
    many = fmt.count(len(batch.built), "work request")
    if refusal is not None:
        answer = f"wr_complete returned {errno_name(refusal.errno)}: {refusal.message}"
        return [said(answer, batch.closed), said(f"none of its {many} was posted", batch.closed)]
    if batch.ending == ABORTED:
        return [said(f"wr_abort gave up the batch of {many}", batch.closed)]
    return [said(f"another thread wrote over the batch of {many}", batch.closed)]


def _cure(case: Case, batch: Batch, refusal: Call | None) -> Fix:
    """All of it again, without the mistake."""
    if refusal is not None and refusal.refusal != "inline-length":
        return Fix(program=f"correct it ({refusal.message}), and build the whole batch again")
    lines = rebuilding.once_more(case, batch, lambda built: _by_reference(case, built))
    if lines is None or batch.ending == OVERWRITTEN:
        return Fix(program="build the whole batch again, by one thread at a time")
    return Fix(lines)


def _by_reference(case: Case, built: Building) -> list[Invocation] | None:
    """The bytes that are too many to be copied are named instead."""
    qp = case.qp
    if qp is None or sum(sge.length for sge in built.wr.sg) <= qp.cap.max_inline_data:
        return None
    return [_named(each) for each in rebuilding.setters(case, built)]


def _named(setter: Invocation) -> Invocation:
    other = _OTHERWISE.get(setter.name)
    if other is None:
        return setter
    return Invocation(other, {"qp": setter.arguments["qp"], "sg": setter.arguments["buf"]})


CHECK = Check(
    8, "region-aborted", Section.POSTED,
    question="Was the batch in which it was built given up, or refused?",
    rule="wr_complete posts all or nothing: one bad work request takes the good ones with it",
    source="ibv_wr_post(3)", examine=examine,
)  # fmt: skip
