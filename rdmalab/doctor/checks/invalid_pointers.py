"""Calls that would be a segmentation fault in C."""

from rdmalab.command import CallArguments, Noun
from rdmalab.doctor.call import Call
from rdmalab.doctor.case import Case
from rdmalab.doctor.finding import NA, Evidence, Finding, Fix, check, fact, fail, ok
from rdmalab.doctor.fixes import memory_fixes, simple_fixes
from rdmalab.hca.qp import QueuePair
from rdmalab.spec.records import Kind, wqe_of
from rdmalab.spec.rules import RULES

# ------------------------------------------------------------ segfault-class
# segfault-class: in C the program would have crashed; here the call was refused.
CRASHES = frozenset(
    rule for rule, row in RULES.items()
    if rule.startswith("crash-") and rule != "crash-deadlock"
) | {"use-after-destroy"}  # fmt: skip
ADVICE = {
    "crash-next": "clear each request before you fill it in; next=NULL in the last of a list",
    "crash-bad-wr": "pass a pointer for bad_wr, and read it when the call returns an error",
    "crash-ah": "name an address handle in each datagram",
    "crash-ah-pointer": "let ah point to an address handle that create_ah made",
    "crash-mw": "name a memory window in each bind",
    "crash-inline": "let INLINE copy from memory of the program only",
    "crash-hdr": "let hdr point to the headers of the segments",
    "crash-wc-read": "ask for the field in wc_flags of create_cq_ex, or do not read it",
    "crash-builder": "name the operation in send_ops_flags of create_qp_ex",
    "crash-setter": "call only the setters that this type of queue pair has",
    "crash-sg": "let sg_list point to as many elements as num_sge counts",
    "use-after-destroy": "set a pointer to NULL when its object is destroyed",
}


@check("segfault-class")
def segfault_class(case: Case) -> Finding:
    """Whether a call was refused in whose place C follows a pointer to nowhere."""
    call = case.call
    if call is None:
        return NA
    if call.refusal not in CRASHES:
        return ok("C would have returned an error, too")
    return fail(*_evidence(call), cure=_cure(case, call), since=call.event)


def _evidence(call: Call) -> list[Evidence]:
    line = call.invocation.line if call.invocation is not None else ""
    return [fact(line or call.verb, call.event), fact(call.message)]


def _cure(case: Case, call: Call) -> Fix:
    lines = []
    if call.refusal in ("crash-sg", "crash-inline"):
        lines = _with_memory(case, call)
    elif call.refusal == "crash-bad-wr":
        lines = _with_room(case, call)
    elif call.refusal in ("crash-ah", "crash-ah-pointer"):
        lines = _with_handle(case, call)
    return Fix(lines) if lines else Fix(program=ADVICE[call.refusal])


def _requests(call: Call) -> list[CallArguments]:
    """The work requests that were given."""
    found = call.invocation.arguments.get("wr") if call.invocation is not None else None
    return [dict(wr) for wr in found if isinstance(wr, dict)] if isinstance(found, list) else []


def _with_memory(case: Case, call: Call) -> list[str]:
    """The same with the buffers of the last request that was good, or with some."""
    requests, qp = _requests(call), case.qp
    if qp is None or len(requests) != 1 or call.invocation is None:
        return []
    wr = {key: value for key, value in requests[0].items() if key != "num_sge"}
    sends = call.verb == "post_send"
    kind = Kind.SEND_POSTED if sends else Kind.RECV_POSTED
    wqes = [wqe_of(r) for _, r in case.log.of(kind, qp.node, qp.number)]
    posted = [wqe for wqe in wqes if wqe.wr.sg]
    if posted:
        wr["sg"] = [memory_fixes.region_ref(text) for text in
                    (simple_fixes.sge_words(case, qp.node, sge) for sge in posted[-1].wr.sg)
                    if not text.startswith("{")]  # fmt: skip
    else:
        wr["sg"] = [memory_fixes.region_ref(text) for text in _any(case, qp)]
    return [memory_fixes.rephrased(case, call.invocation, wr=[wr])] if wr["sg"] else []


def _any(case: Case, qp: QueuePair) -> list[str]:
    """A few bytes of a region in the domain of the queue pair."""
    for number, mr in case.world.nodes[qp.node].mrs.items.items():
        if mr.pd == qp.pd:
            return [f"{case.name(Noun.MR, qp.node, number)}[0:{min(8, mr.length)}]"]
    return []


def _with_room(case: Case, call: Call) -> list[str]:
    """The call has an error to tell because a queue is full: make room, and post once more."""
    qp, invocation, peer = case.qp, call.invocation, case.peer
    if qp is None or invocation is None or "full" not in call.message:
        return []
    again = memory_fixes.rephrased(case, invocation, bad_wr=None)
    if call.verb == "post_send":
        return [f"poll_cq {case.name(Noun.CQ, qp.node, qp.send_cq)} num_entries=16", again]
    message = memory_fixes.a_message(case, peer, 1) if peer is not None else []
    return [*message, "run", f"poll_cq {case.name(Noun.CQ, qp.node, qp.recv_cq)}", again]


def _with_handle(case: Case, call: Call) -> list[str]:
    """A datagram needs an address handle: one of the queue pair's domain."""
    requests, qp = _requests(call), case.qp
    if qp is None or len(requests) != 1 or call.invocation is None:
        return []
    for number, handle in case.world.nodes[qp.node].ahs.items.items():
        if handle.pd == qp.pd:
            name = memory_fixes.ref(case.name(Noun.AH, qp.node, number))
            return [memory_fixes.rephrased(case, call.invocation, wr=[{**requests[0], "ah": name}])]
    return []
