"""beyond-device: more was asked for than this device has."""

from rdmalab.doctor.case import Case
from rdmalab.doctor.finding import NA, Check, Finding, Fix, Section, fail, ok, said
from rdmalab.doctor.fixes.rephrase_call import (
    CallArguments,
    arguments,
    beyond,
    otherwise,
    with_at_most,
)
from rdmalab.hca.attributes import Capacity
from rdmalab.hca.qp_lifecycle import QP_LIMITS

# By rule: each argument, and the number of the device that it may not exceed.
_LIMITS: dict[str, dict[str, str]] = {
    "qp-cap": {**QP_LIMITS, "max_tso_header": "max_tso_header"},
    "qp-memory": {},
    "cqe-range": {"cqe": "max_cqe"},
    "srq-range": {"max_wr": "max_srq_wr", "max_sge": "max_srq_sge"},
    "mr-length": {"length": "max_mr_size"},
    "limit": {},
}
_MAKING = (
    "create_qp", "create_qp_ex", "create_cq", "create_cq_ex", "resize_cq", "create_srq",
    "create_srq_ex", "modify_srq", "reg_mr", "reg_mr_iova", "alloc_pd", "alloc_mw", "create_ah",
)  # fmt: skip


def examine(case: Case) -> Finding:
    """Of a refused call that makes something, whether a number of the device was the reason."""
    call = case.call
    if call is None or call.verb not in _MAKING:
        return NA
    if call.refusal not in _LIMITS:
        return ok("it asked for no more than the device has")
    given = arguments(case, _MAKING)
    caps = case.profile.caps
    most = {name: int(getattr(caps, cap)) for name, cap in _LIMITS[call.refusal].items()}
    over = beyond(given, most)
    if most and not over:
        return ok("what it asked for is too little, not too much")
    asked = ", ".join(over) if over else call.message
    return fail(
        said(f"{call.verb} asked the device of {case.node} for too much: {asked}", call.event),
        cure=_cure(case, given, most),
    )


def _cure(case: Case, given: CallArguments, most: dict[str, int]) -> Fix:
    """The same with what the device has."""
    changed = with_at_most(given, most) if most else _smaller(case, given)
    if not changed or changed == given:
        return Fix(program="ask the device first (query_device), and make do with what it has")
    return Fix(otherwise(case, changed))


def _smaller(case: Case, given: CallArguments) -> CallArguments:
    """As many sends as fit into the memory of a send queue, where each number alone is allowed."""
    init = given.get("init_attr", {})
    cap = init.get("cap", {})
    room = case.profile.caps.max_sq_bytes // Capacity(**cap).wqe_bytes
    if room >= cap.get("max_send_wr", 0):
        return {}
    return given | {"init_attr": init | {"cap": cap | {"max_send_wr": room}}}


CHECK = Check(
    104, "beyond-device", Section.LOCAL,
    question="Was more asked for than this device has?",
    rule="query_device says the largest of each number; all of them together may still be too much",
    source="perftest-139", examine=examine,
)  # fmt: skip
