"""memlock: the process may not lock so much memory."""

from rdmalab.command import Noun
from rdmalab.doctor.case import Case
from rdmalab.doctor.finding import NA, Check, Finding, Fix, Section, fail, ok, said
from rdmalab.doctor.fixes.rephrase_call import arguments, otherwise
from rdmalab.hca.memory import PAGE
from rdmalab.hca.mr import pages_bytes
from rdmalab.spec.records import A, Kind, event_of

_VERBS = ("reg_mr", "reg_mr_iova", "rereg_mr")


def examine(case: Case) -> Finding:
    """Of a refused registration, whether RLIMIT_MEMLOCK was the reason."""
    call = case.call
    if call is None or call.verb not in _VERBS:
        return NA
    if call.refusal != "mr-memlock":
        return ok("the limit of locked memory was not the reason")
    limit, given = case.profile.caps.memlock_limit, arguments(case, _VERBS)
    held = {n: pages_bytes(mr.addr, mr.length) for n, mr in case.hca.mrs.items.items()}
    names = " ".join(case.name(Noun.MR, case.node, number) for number in held)
    length = given.get("length")
    asked = f"{length:,} bytes" if length is not None else "memory"
    evidence = [
        said(f"{call.verb} would lock {asked}; all regions together may have {limit:,} "
             f"(RLIMIT_MEMLOCK of the process on {case.node})", call.event),
    ]  # fmt: skip
    if held:
        made = [event_of(r) for _, r in case.log.of(Kind.CREATED, case.node)
                if r[A] == Noun.MR.value and event_of(r) <= call.event]  # fmt: skip
        total = f"{sum(held.values()):,} bytes are locked for {names}"
        evidence.append(said(total, made[-1] if made else None))
    return fail(*evidence, cure=_cure(case, limit - sum(held.values())), since=call.event)


def _cure(case: Case, room: int) -> Fix:
    """What still may be locked; more is a matter of the system."""
    given = arguments(case, ("reg_mr", "reg_mr_iova"))
    length = room // PAGE * PAGE - (given.get("addr") or 0) % PAGE
    if not given or not 0 < length < given["length"]:
        raised = "raise the limit before it starts (ulimit -l, LimitMEMLOCK), or register less"
        return Fix(program=raised)
    return Fix(otherwise(case, {"length": length}))


CHECK = Check(
    105, "memlock", Section.LOCAL,
    question="Would more memory be locked than RLIMIT_MEMLOCK allows?",
    rule="registered memory is locked, in whole pages, and a user may lock what ulimit -l says",
    source="async-rdma-107", examine=examine,
)  # fmt: skip
