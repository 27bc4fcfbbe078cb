"""error-field-read: fields of an error completion were read that mean nothing there."""

from typing import NamedTuple

from rdmalab.command import Noun, Thing
from rdmalab.doctor.case import Case
from rdmalab.doctor.finding import NA, Check, Finding, Fix, Section, ok, said, warn
from rdmalab.hca.wqe import Cqe
from rdmalab.spec.completions import READS
from rdmalab.spec.records import A, Kind, event_of
from rdmalab.spec.statuses import WCStatus

_ADVICE = "look at the status first, and at the other fields only if it is SUCCESS"


class Reading(NamedTuple):
    """A field of a completion is read."""

    event: int
    field: str
    cqe: Cqe


def examine(case: Case) -> Finding:
    """Whether somebody read such a field of this queue, or of this completion."""
    thing = _queue(case)
    if thing is None or not case.asked:
        return NA
    found = [r for r in _readings(case, thing) if _concerns(case, r.cqe)]
    if not found:
        return ok("no field of an error completion was read that means nothing")
    first = found[0]
    status = WCStatus(first.cqe.status).name
    text = f"{first.field} was read of the completion wr_id={first.cqe.wr_id}, which has {status}"
    more = [said(f"and {each.field}", each.event) for each in found[1:3]]
    return warn(said(text, first.event), *more, cure=Fix(program=_ADVICE))


def _queue(case: Case) -> Thing | None:
    if case.cq is not None:
        return case.subject.thing
    work = case.send or case.receive
    if work is None or work.added is None:
        return None
    return Thing(Noun.CQ, case.node, work.added.cq)


def _concerns(case: Case, cqe: Cqe) -> bool:
    work = case.send or case.receive
    return work is None or (work.added is not None and work.added.cqe == cqe)


def _readings(case: Case, thing: Thing) -> list[Reading]:
    """What was read of completions in error, and is undefined there."""
    seen = [r for kind in (Kind.POLL_STARTED, Kind.POLL_ADVANCED)
            for _, r in case.log.about(kind, thing)]  # fmt: skip
    found = []
    for call in case.log.calls("wc_read", thing.node) if seen else []:
        before = [record for record in seen if event_of(record) < call.event]
        if call.errno or call.thing[1] != thing.number or not before or call.invocation is None:
            continue
        cqe: Cqe = max(before, key=event_of)[A]
        field = str(call.invocation.arguments.get("field", ""))
        if cqe.status != WCStatus.SUCCESS and field in READS and not READS[field].on_error:
            found.append(Reading(call.event, field, cqe))
    return found


CHECK = Check(
    84, "error-field-read", Section.WRONG,
    question="Was a field read of an error completion that means nothing there?",
    rule="of a completion in error only wr_id, status, qp_num and vendor_err mean anything",
    source="ibv_poll_cq(3)", examine=examine,
)  # fmt: skip
