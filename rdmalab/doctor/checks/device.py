"""What the device or the process does not have."""

from rdmalab.command import CallArguments, Noun
from rdmalab.doctor.case import Case
from rdmalab.doctor.facts.modified import ModifyCall, asked_of, corrected, takes
from rdmalab.doctor.finding import NA, Evidence, Finding, Fix, check, fact, fail, ok
from rdmalab.doctor.fixes.rephrase_call import (
    arguments,
    beyond,
    otherwise,
    with_at_most,
)
from rdmalab.hca.attributes import Capacity
from rdmalab.hca.memory import PAGE, Buffer
from rdmalab.hca.mr import pages_bytes
from rdmalab.hca.qp_lifecycle import QP_LIMITS
from rdmalab.spec.records import Kind, event_of, noun_of
from rdmalab.spec.states import QPState
from rdmalab.views import fmt

# ------------------------------------------------------------ bring-up-attr
# bring-up-attr: modify_qp was refused for what it was given, or was not.
RULES = ("transition", "attr-missing", "attr-surplus", "attr-range", "attr-support", "cur-state",
         "mask-mismatch", "draining", "ah-port", "alt-path")  # fmt: skip


@check("bring-up-attr")
def bring_up_attr(case: Case) -> Finding:
    """Which attribute of which move was wrong."""
    call, qp = case.call, case.qp
    if call is None or call.verb != "modify_qp":
        return NA
    if call.refusal not in RULES:
        return ok("its attributes are not the reason")
    asked = asked_of(case, call)
    if asked is None or qp is None:
        return fail(fact(call.message, call.event))
    lines = corrected(case, qp, asked)
    return fail(
        fact(f"{case.qp_name(qp)}, {_move(asked)}: {call.message}", call.event),
        *_law(case, asked, call.refusal), cure=Fix(lines) if lines else None,
    )  # fmt: skip


def _move(asked: ModifyCall) -> str:
    return f"{asked.now.name} to {fmt.member(asked.to, QPState)}"


def _law(case: Case, asked: ModifyCall, rule: str) -> list[Evidence]:
    """What would have been right."""
    return [fact(text) for text in takes(case, asked, rule)]


# ------------------------------------------------------------ beyond-device
# beyond-device: more was asked for than this device has.
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


@check("beyond-device")
def beyond_device(case: Case) -> Finding:
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
        return ok("it asked for too little, not for too much")
    asked = ", ".join(over) if over else call.message
    return fail(
        fact(f"{call.verb} asked the device of {case.node} for too much: {asked}", call.event),
        cure=_beyond_device_cure(case, given, most),
    )


def _beyond_device_cure(case: Case, given: CallArguments, most: dict[str, int]) -> Fix:
    """The same with what the device has."""
    changed = with_at_most(given, most) if most else _smaller(case, given)
    if not changed or changed == given:
        return Fix(program="ask for no more than query_device reports")
    return Fix(otherwise(case, changed))


def _smaller(case: Case, given: CallArguments) -> CallArguments:
    """As many sends as fit into the memory of a send queue, where each number alone is allowed."""
    init = given.get("init_attr", {})
    cap = init.get("cap", {})
    room = case.profile.caps.max_sq_bytes // Capacity(**cap).wqe_bytes
    if room >= cap.get("max_send_wr", 0):
        return {}
    return given | {"init_attr": init | {"cap": cap | {"max_send_wr": room}}}


# ------------------------------------------------------------ memlock
# memlock: the process may not lock so much memory.
_MEMLOCK_VERBS = ("reg_mr", "reg_mr_iova", "rereg_mr")


@check("memlock")
def memlock(case: Case) -> Finding:
    """Of a refused registration, whether RLIMIT_MEMLOCK was the reason."""
    call = case.call
    if call is None or call.verb not in _MEMLOCK_VERBS:
        return NA
    if call.refusal != "mr-memlock":
        return ok("the limit of locked memory was not the reason")
    limit, given = case.profile.caps.memlock_limit, arguments(case, _MEMLOCK_VERBS)
    held = {n: pages_bytes(mr.addr, mr.length) for n, mr in case.hca.mrs.items.items()}
    names = " ".join(case.name(Noun.MR, case.node, number) for number in held)
    length = given.get("length")
    asked = f"{length:,} bytes" if length is not None else "memory"
    evidence = [
        fact(f"{call.verb} would lock {asked}; all regions together may have {limit:,} "
             f"(RLIMIT_MEMLOCK of the process on {case.node})", call.event),
    ]  # fmt: skip
    if held:
        made = [event_of(r) for _, r in case.log.of(Kind.CREATED, case.node)
                if noun_of(r) == Noun.MR.value and event_of(r) <= call.event]  # fmt: skip
        total = f"{sum(held.values()):,} bytes are locked for {names}"
        evidence.append(fact(total, made[-1] if made else None))
    return fail(*evidence, cure=_memlock_cure(case, limit - sum(held.values())), since=call.event)


def _memlock_cure(case: Case, room: int) -> Fix:
    """What still may be locked; more is a matter of the system."""
    given = arguments(case, ("reg_mr", "reg_mr_iova"))
    length = room // PAGE * PAGE - (given.get("addr") or 0) % PAGE
    if not given or not 0 < length < given["length"]:
        raised = "raise the limit before it starts (ulimit -l, LimitMEMLOCK), or register less"
        return Fix(program=raised)
    return Fix(otherwise(case, {"length": length}))


# ------------------------------------------------------------ unmapped
# unmapped: what was to be registered is not memory of the process, or not all of it.
_UNMAPPED_VERBS = ("reg_mr", "reg_mr_iova", "rereg_mr")


@check("unmapped")
def unmapped(case: Case) -> Finding:
    """Of a refused registration, how many bytes are mapped from its address on."""
    call = case.call
    if call is None or call.verb not in _UNMAPPED_VERBS:
        return NA
    if call.refusal != "mr-unmapped":
        return ok("all of it is memory of the process")
    given = arguments(case, _UNMAPPED_VERBS)
    addr, length = given.get("addr"), given.get("length")
    if addr is None or length is None:
        return fail(fact(f"{call.verb}: {call.message}", call.event))
    evidence = [fact(f"{call.verb} was given {length:,} bytes from {addr:#x}", call.event)]
    buffer = _around(case, addr)
    if buffer is None:
        evidence.append(fact(f"nothing is mapped at {addr:#x}"))
        return fail(*evidence, cure=Fix(program="register memory that the process has"))
    left = buffer.addr + buffer.length - addr
    evidence.append(
        fact(f"the buffer there has {buffer.length:,} bytes from {buffer.addr:#x}: {left:,} from "
             f"{addr:#x} on")
    )  # fmt: skip
    return fail(*evidence, cure=Fix(otherwise(case, {"length": left})))


def _around(case: Case, addr: int) -> Buffer | None:
    """The buffer in which an address lies."""
    buffers = case.hca.memory.buffers
    return next((b for b in buffers if b.addr <= addr < b.addr + b.length), None)
