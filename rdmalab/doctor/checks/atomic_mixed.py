"""atomic-mixed: the processor writes a word on which the adapter does atomics."""

from rdmalab.doctor.case import Case
from rdmalab.doctor.facts import past
from rdmalab.doctor.facts.atomics import Atomic, atomics
from rdmalab.doctor.finding import NA, Check, Finding, Fix, Section, ok, said, warn
from rdmalab.doctor.fixes import simple_fixes
from rdmalab.spec.records import Kind
from rdmalab.world.relations import find_qp


def examine(case: Case) -> Finding:
    """Whether the program wrote the word after an atomic had changed it."""
    content = case.content
    if content is None:
        return NA
    changes = [atomic for atomic in atomics(content) if atomic.wrote]
    if not changes:
        return NA
    writes = [w for w in content.touches(Kind.HOST_WROTE) if w.event > changes[0].touch.event]
    if not writes:
        return ok("nobody but atomics has written the word since the first of them")
    undone = [atomic for atomic in changes if atomic.touch.event < writes[-1].event][-1]
    where = past.words_for(case.session, case.node, writes[-1].piece)
    name = f"{case.names.of(undone.message.thing)}.wr[{undone.message.wqe.wr.wr_id}]"
    return warn(
        said(f"the program wrote {where}, a word of atomics", writes[-1].event),
        said(f"what {name} had done to it is gone with that", undone.touch.event),
        cure=_cure(case, undone),
    )


def _cure(case: Case, undone: Atomic) -> Fix | None:
    """The atomic that was undone, once more."""
    qp = find_qp(case.world, *undone.message.thing[1:])
    return (
        Fix([simple_fixes.post_send(case, qp, undone.message.wqe.wr)]) if qp is not None else None
    )


CHECK = Check(
    88, "atomic-mixed", Section.WRONG,
    question="Does the program write a word on which there are atomics?",
    rule="atomics are atomic among the requests of an adapter, and not against the processor "
    "(atomic_cap HCA)",
    source="ibv_query_device(3)", examine=examine,
)  # fmt: skip
