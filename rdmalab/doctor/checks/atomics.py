"""Atomics that changed nothing, or that are not atomic to the processor."""

from rdmalab.doctor.case import Case
from rdmalab.doctor.finding import NA, Finding, Fix, check, fact, fail, ok, warn
from rdmalab.doctor.fixes import simple_fixes
from rdmalab.doctor.subject import name_of
from rdmalab.doctor.work import past
from rdmalab.doctor.work.atomics import Atomic, atomics
from rdmalab.doctor.work.content import Content
from rdmalab.doctor.work.messages import Message
from rdmalab.spec.opcodes import Op
from rdmalab.spec.records import Kind, event_of, packet_of
from rdmalab.spec.statuses import WCStatus
from rdmalab.world.relations import find_qp

# ------------------------------------------------------------ cas-mismatch
# cas-mismatch: a compare-and-swap ended with success, and nothing was swapped.
_ADVICE = "compare the returned old value with the expected one: they are equal if it was swapped"


@check("cas-mismatch")
def cas_mismatch(case: Case) -> Finding:
    """Whether the newest swap of this word found another value than it was to compare with."""
    if case.content is not None:
        return _of_bytes(case, case.content)
    return _of_send(case) if case.asked else NA


def _of_bytes(case: Case, content: Content) -> Finding:
    swaps = [a for a in atomics(content) if a.message.wqe.op is Op.COMPARE_SWAP]
    if not swaps:
        return NA
    newest = swaps[-1]
    later = content.written and content.written[0].event > newest.touch.event
    if newest.wrote or later:
        return ok("the newest compare-and-swap did swap", newest.touch.event)
    wr, name = newest.message.wqe.wr, case.names.of(newest.message.thing)
    return fail(
        fact(f"{name}.wr[{wr.wr_id}] was to swap {wr.compare_add} for {wr.swap}",
             newest.message.posted),
        fact(f"the word was {newest.original}: nothing was swapped", newest.touch.event),
        fact("its completion says SUCCESS all the same, and the old value came back"),
        cure=_cas_mismatch_cure(case, newest.message, newest.original), since=newest.touch.event,
    )  # fmt: skip


def _cas_mismatch_cure(case: Case, message: Message, found: int) -> Fix:
    """The same compare-and-swap, with the value that the word has now."""
    qp = find_qp(case.world, *message.thing[1:])
    if qp is None or message.wqe.wr.swap == found:
        return Fix(program=_ADVICE)
    return Fix([simple_fixes.post_send(case, qp, message.wqe.wr, compare_add=found)])


def _of_send(case: Case) -> Finding:
    """What came back."""
    send = case.send
    if send is None or send.wqe is None or send.wqe.op is not Op.COMPARE_SWAP:
        return NA
    if send.ending is None or send.ending.status is not WCStatus.SUCCESS:
        return NA
    wr = send.wqe.wr
    for _, record in reversed(case.log.about(Kind.PACKET_RECEIVED, case.subject.thing)):
        answer = getattr(packet_of(record), "atomicacketh", None)
        if answer is None or packet_of(record).psn != send.wqe.first_psn:
            continue
        if answer.original == wr.compare_add:
            return ok("the old value that came back is the one to compare with", event_of(record))
        text = f"{answer.original} came back, not {wr.compare_add}: nothing was swapped"
        return warn(fact(text, event_of(record)), cure=Fix(program=_ADVICE))
    return NA


# ------------------------------------------------------------ atomic-mixed
# atomic-mixed: the processor writes a word on which the adapter does atomics.
@check("atomic-mixed")
def atomic_mixed(case: Case) -> Finding:
    """Whether the program wrote the word after an atomic had changed it."""
    content = case.content
    if content is None:
        return NA
    changes = [atomic for atomic in atomics(content) if atomic.wrote]
    if not changes:
        return NA
    writes = [w for w in content.touches(Kind.HOST_WROTE) if w.event > changes[0].touch.event]
    if not writes:
        return ok("only atomics have written the word since the first of them")
    undone = [atomic for atomic in changes if atomic.touch.event < writes[-1].event][-1]
    where = past.words_for(case.session, case.node, writes[-1].piece)
    name = name_of(case.names, undone.message.subject)
    return warn(
        fact(f"the program wrote {where}, a word of atomics", writes[-1].event),
        fact(f"this overwrote the result of {name}", undone.touch.event),
        cure=_atomic_mixed_cure(case, undone),
    )


def _atomic_mixed_cure(case: Case, undone: Atomic) -> Fix | None:
    """The atomic that was undone, once more."""
    qp = find_qp(case.world, *undone.message.thing[1:])
    return (
        Fix([simple_fixes.post_send(case, qp, undone.message.wqe.wr)]) if qp is not None else None
    )
