"""Calls about objects that were refused: limits of the device, objects in use, pointers."""

import re

from rdmalab.doctor.evidence.components import gone_in
from rdmalab.doctor.fixes.refused_calls import OF_USE, arguments, call_with, clamped, values_above
from rdmalab.doctor.kit import *
from rdmalab.doctor.moments.unreported import created_with
from rdmalab.hca.attributes import Capacity
from rdmalab.hca.memory import PAGE, READ_ONLY, Buffer
from rdmalab.hca.mr import pages_bytes
from rdmalab.hca.qp_lifecycle import QP_LIMITS
from rdmalab.repair.modify import ModifyCall, legal_lines, rule_text
from rdmalab.spec.rules import RULES
from rdmalab.world.relations import DESTROYERS, users_of

_OF_MODIFY = (
    "transition", "attr-missing", "attr-surplus", "attr-range", "attr-support", "cur-state",
    "mask-mismatch", "draining", "ah-port", "alt-path",
)  # fmt: skip


@check("bring-up-attr", verbs=("modify_qp",))
def bring_up_attr(case: Case, call: Call) -> Finding:
    """The wrong attribute, and the transition that it was given to."""
    if call.refusal not in _OF_MODIFY:
        return ok("its attributes are not the reason")
    asked = modify_call_of(case, call)
    if asked is None:
        return fail(fact(call.message, call.event))
    lines = legal_lines(case.session, asked)
    move = f"{asked.now.name} to {fmt.member(asked.to, QPState)}"
    return fail(fact(f"{case.qp_name(asked.qp)}, {move}: {call.message}", call.event),
                *map(fact, rule_text(case.profile, asked, call.refusal)),
                cure=Fix(lines) if lines else None)  # fmt: skip


def modify_call_of(case: Case, call: Call) -> ModifyCall | None:
    """The transition that a modify_qp asked for; None if its arguments or the QP are gone."""
    qp = find_qp(case.world, *call.thing)
    if call.invocation is None or qp is None:
        return None
    given = dict(call.invocation.arguments.get("attr") or {})
    now, _ = receivers.state_at(case, qp, call.event)
    if case.profile.believes_cur_state and given.get("cur_qp_state") in tuple(QPState):
        now = QPState(given["cur_qp_state"])
    to = given.pop("qp_state", None)
    return ModifyCall(qp, now, int(now if to is None else to), given)


_LIMITS: dict[str, dict[str, str]] = {
    "qp-cap": {**QP_LIMITS, "max_tso_header": "max_tso_header"},
    "qp-memory": {},
    "cqe-range": {"cqe": "max_cqe"},
    "srq-range": {"max_wr": "max_srq_wr", "max_sge": "max_srq_sge"},
    "mr-length": {"length": "max_mr_size"},
    "limit": {},
}
_COUNTED = re.compile(r"max_(\w+)=\d+$")  # the limit of objects of a noun
_MAKING = (
    "create_qp", "create_qp_ex", "create_cq", "create_cq_ex", "resize_cq", "create_srq",
    "create_srq_ex", "modify_srq", "reg_mr", "reg_mr_iova", "alloc_pd", "alloc_mw", "create_ah",
)  # fmt: skip


@check("beyond-device", verbs=_MAKING)
def beyond_device(case: Case, call: Call) -> Finding:
    """Of a refused call that makes something, whether a number of the device was the reason."""
    if call.refusal not in _LIMITS:
        return ok("it asked for no more than the device has")
    given = arguments(case, _MAKING)
    caps = case.profile.caps
    most = {name: int(getattr(caps, cap)) for name, cap in _LIMITS[call.refusal].items()}
    over = values_above(given, most)
    if most and not over:
        return ok("it asked for too little, not for too much")
    asked = ", ".join(over) if over else call.message
    if counted := _COUNTED.search(call.message):
        return _all_in_use(case, call, Noun(counted[1]))
    return fail(
        fact(f"{call.verb} asked the device of {case.node} for too much: {asked}", call.event),
        cure=_beyond_device_cure(case, given, most),
    )


def _all_in_use(case: Case, call: Call, noun: Noun) -> Finding:
    """The objects that hold all that the device has of a noun, and who made them."""
    things = [Thing(noun, case.node, number) for number in case.hca.tables[noun].items]
    if not things:
        return ok(f"no {noun.upper()} of {case.node} exists any more")
    gone = sum(rec.noun_of(r) == noun for r in case.log.of(Kind.DESTROYED, case.node))
    idle = [case.names.of(it) for it in things if not any(users_of(case.world, it))]
    verb, made = DESTROYERS[noun], case.log.created(things[0])
    maker = case.log.asked(made)[1]
    by = f", made by {maker}" if maker else ""
    first = f"{case.names.of(things[0])} to {case.names.of(things[-1])}"
    unused = f", first {idle[0]}, the oldest without a user" if idle else ""
    return fail(
        fact(f"{call.verb}: {call.message}", call.event),
        fact(f"{fmt.count(len(things), noun.upper())} of {case.node} exist, {first}{by}; "
             f"{gone or 'none'} ended by {verb}", made),
        cure=Fix(program=f"{verb} what is no longer needed before the next {call.verb}{unused}"),
        since=call.event,
    )  # fmt: skip


def _beyond_device_cure(case: Case, given: CallArguments, most: dict[str, int]) -> Fix:
    """Fix: the call again, with no value above the limits of the device."""
    changed = clamped(given, most) if most else _smaller(case, given)
    if not changed or changed == given:
        return Fix(program="ask for no more than query_device reports")
    return Fix(call_with(case, changed))


def _smaller(case: Case, given: CallArguments) -> CallArguments:
    """As many sends as fit into the memory of a send queue, where each number alone is allowed."""
    init = given.get("init_attr", {})
    cap = init.get("cap", {})
    room = case.profile.caps.max_sq_bytes // Capacity(**cap).wqe_bytes
    if room >= cap.get("max_send_wr", 0):
        return {}
    return given | {"init_attr": init | {"cap": cap | {"max_send_wr": room}}}


_REGISTERING = ("reg_mr", "reg_mr_iova", "rereg_mr")


@check("memlock", verbs=_REGISTERING)
def memlock(case: Case, call: Call) -> Finding:
    """Of a refused registration, whether RLIMIT_MEMLOCK was the reason."""
    if call.refusal != "mr-memlock":
        return ok("the limit of locked memory was not the reason")
    limit, given = case.profile.caps.memlock_limit, arguments(case, _REGISTERING)
    held = {n: pages_bytes(mr.addr, mr.length) for n, mr in case.hca.mrs.items.items()}
    names = " ".join(case.name(Noun.MR, case.node, number) for number in held)
    length = given.get("length")
    asked = f"{length:,} bytes" if length is not None else "memory"
    evidence = [
        fact(f"{call.verb} would lock {asked}; all regions together may have {limit:,} "
             f"(RLIMIT_MEMLOCK of the process on {case.node})", call.event),
    ]  # fmt: skip
    if held:
        created = (r for r in case.log.of(Kind.CREATED, case.node) if event_of(r) <= call.event)
        made = [event_of(r) for r in created if rec.noun_of(r) == Noun.MR.value]
        total = f"{sum(held.values()):,} bytes are locked for {names}"
        evidence.append(fact(total, *made[-1:]))
    return fail(*evidence, cure=_memlock_cure(case, limit - sum(held.values())), since=call.event)


def _memlock_cure(case: Case, room: int) -> Fix:
    """The call with the bytes that may still be locked; more is a matter of the system."""
    given = arguments(case, ("reg_mr", "reg_mr_iova"))
    length = room // PAGE * PAGE - (given.get("addr") or 0) % PAGE
    if not given or not 0 < length < given["length"]:
        raised = "raise the limit before it starts (ulimit -l, LimitMEMLOCK), or register less"
        return Fix(program=raised)
    return Fix(call_with(case, {"length": length}))


@check("unmapped", verbs=_REGISTERING)
def unmapped(case: Case, call: Call) -> Finding:
    """Of a refused registration, how many bytes are mapped from its address on."""
    if call.refusal != "mr-unmapped":
        return ok("all of it is memory of the process")
    given = arguments(case, _REGISTERING)
    addr, length = given.get("addr"), given.get("length")
    if addr is None or length is None:
        return fail(fact(f"{call.verb}: {call.message}", call.event))
    place = f"at {addr:#x}" if addr < READ_ONLY else "at the address that the program gave"
    evidence = [fact(f"{call.verb} was given {length:,} bytes {place}", call.event)]
    buffer = _around(case, addr)
    if buffer is None:
        evidence.append(fact(f"nothing is mapped {place}"))
        return fail(*evidence, cure=Fix(program="register memory that the process has"))
    left = buffer.addr + buffer.length - addr
    there = f"{buffer.length:,} bytes from {buffer.addr:#x}"
    evidence.append(fact(f"the buffer there has {there}: {left:,} from {addr:#x} on"))
    return fail(*evidence, cure=Fix(call_with(case, {"length": left})))


def _around(case: Case, addr: int) -> Buffer | None:
    """The buffer in which an address lies."""
    buffers = [*case.hca.memory.buffers, *case.hca.memory.chosen]
    return next((b for b in buffers if b.addr <= addr < b.addr + b.length), None)


_MOST, _LISTED = 3, 8  # users with a line of their own; those in the line after them


@check("in-use")
def in_use(case: Case, call: Call) -> Finding:
    """Of a refused destroy call, which objects use the thing, and the calls that made them."""
    if call.refusal not in OF_USE or call.invocation is None:
        return NA
    named = [value for value in call.invocation.arguments.values() if isinstance(value, Ref)]
    thing = case.names.find(str(named[0])) if named else None
    if thing is None or not exists(case.world, thing):
        return ok("it has been destroyed since")
    users = [user for user, _ in users_of(case.world, thing)]
    if not users:
        return ok("nothing uses it now")
    name = case.names.of(thing)
    others = [case.names.of(user) for user in users[_MOST:]]
    rest = [fact(f"{name} is also used by {fmt.listed(others, _LISTED)}")] if others else []
    return fail(
        *[_held(case, user, name) for user in users[:_MOST]], *rest,
        cure=Fix([*_release(case, thing), *call_with(case, {})]), since=call.event,
    )  # fmt: skip


def _held(case: Case, user: Thing, name: str) -> Evidence:
    """`A.qp0, made by A.main, uses A.cq0`, and the event in which it was made."""
    event = case.log.created(user)
    maker = case.log.asked(event)[1]
    by = f", made by {maker}," if maker else ""
    return fact(f"{case.names.of(user)}{by} uses {name}", event)


def _release(case: Case, thing: Thing) -> list[str]:
    """The lines that destroy all users of a thing, those of the users first."""
    lines: dict[str, None] = {}
    for user, verb in users_of(case.world, thing):
        lines |= dict.fromkeys(_release(case, user))
        lines[f"{verb} {case.names.of(user)}"] = None
    return list(lines)


@check("destroyed-with-work")
def destroyed_with_work(case: Case, work: Send | Receive) -> Finding:
    """FAIL of work that had not ended, or was not polled for, when its queue was destroyed."""
    thing = case.subject.thing
    if work.posted is None:
        return NA
    unpolled = case.profile.reset_purges_cqes and work.added is not None and work.polled is None
    if case.exists(thing) or (work.ending is not None and not unpolled):
        return ok("its queue was not destroyed before it was done")
    event, name = case.log.destroyed(thing), case.names.of(thing)
    if event is None:
        return NA
    before = "before it was done"
    if work.added is not None:
        cq = case.name(Noun.CQ, thing.node, work.added.cq)
        before = f"before a poll: this device removed its completion from {cq}"
    call = f"destroy_{thing.noun} {name}"
    poll = Fix(program=f"poll its completion before {call}")
    poll = ordered(case.log, event, work.posted, name) or poll
    waits = case.receive is not None and thing.noun is Noun.QP  # a message may never come for it
    return fail(
        fact(f"{case.log.who(event)} destroyed {name} {before}", event),
        fact("it was posted", work.posted),
        cure=recovery.drain(name, call, _waiter(case, event)) if waits else poll, since=event,
    )  # fmt: skip


def _waiter(case: Case, event: int) -> str:
    """The other thread that waits for a receive of a destroyed queue pair; empty if none."""
    cq = created_with(case.session, case.log, case.subject.thing, "recv_cq")
    waiting = [case.name(Noun.PROGRAM, p.node, p.number) for p in programs_of(case.world)
               if not p.state.is_over and cq in ThreadWait(case, p).cqs]  # fmt: skip
    return next((name for name in waiting if name != case.log.who(event)), "")


CRASHES = frozenset(
    rule for rule, row in RULES.items() if rule.startswith("crash-") and rule != "crash-deadlock"
) | {"use-after-destroy"}
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


_WITHOUT_HANDLE = ("crash-ah", "crash-ah-pointer")


@check("segfault-class")
def segfault_class(case: Case, call: Call) -> Finding:
    """FAIL of a refused call in whose place C follows a pointer to nowhere."""
    if call.refusal not in CRASHES:
        return ok("C would have returned an error, too")
    if (used := _used_after(case, call)) is not None:
        return used
    line, made = call.invocation.line if call.invocation is not None else "", list[Call]()
    if call.refusal in _WITHOUT_HANDLE:
        made = left_refused(case.log, "create_ah", call.thing[0], call.event)[:1]
    return fail(*(fact(each.answer, each.event) for each in made),
                fact(line or call.verb, call.event), fact(call.message),
                cure=_cure(case, call), since=made[0].event if made else call.event)  # fmt: skip


def _used_after(case: Case, call: Call) -> Finding | None:
    """Finding on who destroyed and who used the object; between threads the fix is an order."""
    gone = gone_in(case.session, call.invocation) if call.refusal == "use-after-destroy" else []
    event = case.log.destroyed(gone[0]) if gone else None
    if event is None:
        return None
    name, owner, user = case.names.of(gone[0]), case.log.who(event), call.program or "a call"
    line = call.invocation.line if call.invocation is not None else call.verb
    return fail(
        fact(f"{owner} destroyed {name}", event),
        fact(f"{user} used {name} after that: {line}", call.event),
        cure=_order(case, name, event, call), since=call.event,
    )  # fmt: skip


def _order(case: Case, name: str, destroyed: int, call: Call) -> Fix:
    """For two threads an order; a pointer to NULL within one thread."""
    owner, user = case.log.who(destroyed), call.program or "a call"
    if owner != user and call.verb.startswith(("destroy_", "dealloc_", "dereg_", "close_")):
        return Fix(program=f"let only one of {owner} and {user} destroy {name}")
    order = ordered(case.log, destroyed, call.event, name)
    return order or Fix(program=ADVICE[call.refusal])


def _cure(case: Case, call: Call) -> Fix:
    lines = []
    if call.refusal in ("crash-sg", "crash-inline"):
        lines = _with_memory(case, call)
    elif call.refusal == "crash-bad-wr":
        lines = _with_room(case, call)
    elif call.refusal in _WITHOUT_HANDLE:
        lines = _with_handle(case, call)
    return Fix(lines) if lines else Fix(program=ADVICE[call.refusal])


def _requests(call: Call) -> list[CallArguments]:
    """The work requests that were given."""
    found = call.invocation.arguments.get("wr") if call.invocation is not None else None
    return [dict(wr) for wr in found if isinstance(wr, dict)] if isinstance(found, list) else []


def _with_memory(case: Case, call: Call) -> list[str]:
    """Lines to post it with the buffers of the last accepted request, or with some."""
    requests, qp = _requests(call), case.qp
    if qp is None or len(requests) != 1 or call.invocation is None:
        return []
    wr = {key: value for key, value in requests[0].items() if key != "num_sge"}
    kind = Kind.SEND_POSTED if call.verb == "post_send" else Kind.RECV_POSTED
    wqes = [rec.wqe_of(r) for r in case.log.of(kind, qp.node, qp.number)]
    posted = [wqe.wr.sg for wqe in wqes if wqe.wr.sg]
    sg = posted[-1] if posted else commands.some_bytes(case, qp, 8)
    texts = (commands.sge_words(case, qp.node, sge) for sge in sg)
    wr["sg"] = [memory_fixes.region_ref(text) for text in texts if not text.startswith("{")]
    return [memory_fixes.rephrased(case, call.invocation, wr=[wr])] if wr["sg"] else []


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
