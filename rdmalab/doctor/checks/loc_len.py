"""loc-len: a message is longer than what is there for it."""

from rdmalab.command import Noun
from rdmalab.doctor.case import Case
from rdmalab.doctor.finding import NA, Check, Finding, Fix, Section, fail, ok, said
from rdmalab.doctor.fixes import memory_fixes, simple_fixes
from rdmalab.hca.qp import QueuePair
from rdmalab.hca.wqe import RecvWqe, SendWqe
from rdmalab.hca.wr import SGE, RecvWR
from rdmalab.spec.access import Access
from rdmalab.spec.opcodes import ATOMIC_BYTES, WORD_OPS
from rdmalab.spec.statuses import WCStatus
from rdmalab.world.relations import find_qp


def examine(case: Case) -> Finding:
    """Whether the receive is shorter than its message, or a send has a length that cannot be."""
    work, qp = case.send or case.receive, case.qp
    if work is None or work.wqe is None or work.ending is None or qp is None:
        return NA
    if not qp.transport.connected:
        return NA
    if isinstance(work.wqe, SendWqe):
        if work.ending.status is not WCStatus.LOC_LEN_ERR:
            return ok("its own length is not refused")
        return _send(case, work.wqe, qp)
    return _receive(case, work.wqe, qp)


# --------------------------------------------------------------------------- sends
def _send(case: Case, wqe: SendWqe, qp: QueuePair) -> Finding:
    send = case.send
    assert send is not None
    most, rule = case.profile.caps.max_msg_sz, "max_msg_sz of the port is {}"
    if wqe.op in WORD_OPS:
        most, rule = ATOMIC_BYTES, "an atomic moves exactly {}"
    cut = memory_fixes.first_bytes(case, wqe.wr, most)
    lines = simple_fixes.again(case, qp, wqe.wr, revived=True, sg=cut)
    return fail(
        said(f"{wqe.length} bytes were posted; {rule.format(most)}", send.posted),
        said("the adapter refused it before anything left: LOC_LEN_ERR", case.ended),
        cure=Fix([*memory_fixes.revived(case, qp), *lines]),
    )


# --------------------------------------------------------------------------- receives
def _receive(case: Case, wqe: RecvWqe, qp: QueuePair) -> Finding:
    receive, message = case.receive, case.message
    assert receive is not None
    assert receive.ending is not None
    short = case.profile.refusals["receive-short"].status
    if receive.ending.status not in (WCStatus.LOC_LEN_ERR, short) or message is None:
        return ok("no message was too long for it")
    if message.wqe.length <= wqe.length:
        return ok("it is long enough for the message")
    sender = find_qp(case.world, *message.thing[1:])
    return fail(
        said(f"{_name(case, qp, wqe)} has room for {wqe.length} bytes", receive.posted),
        said(f"{case.names.of(message.thing)} sends {message.wqe.length}", message.posted),
        said(f"so it ended with {receive.ending.status.name}", receive.ending.event),
        cure=_cure(case, wqe, qp, sender, message.wqe),
    )


def _name(case: Case, qp: QueuePair, wqe: RecvWqe) -> str:
    name = case.name(Noun.SRQ, qp.node, wqe.srq) if wqe.srq else case.qp_name(qp)
    return f"the receive wr_id={wqe.wr.wr_id} of {name}"


def _cure(
    case: Case, wqe: RecvWqe, qp: QueuePair, sender: QueuePair | None, message: SendWqe
) -> Fix | None:
    if sender is None:
        return None
    longer = RecvWR(wqe.wr.wr_id, _longer(case, wqe.sg, qp, message.length))
    lines = simple_fixes.revive(case, qp)
    send = simple_fixes.post_send(case, sender, message.wr)
    return Fix([*lines, simple_fixes.post_recv(case, qp, longer), send])


def _longer(case: Case, sg: list[SGE], qp: QueuePair, length: int) -> list[SGE]:
    """The same list with a longer last element, or one element somewhere else."""
    last = sg[-1] if sg else SGE()
    wanted = length - sum(sge.length for sge in sg[:-1])
    mr = case.hca.lkeys.get(last.lkey)
    if mr is not None and last.addr + wanted <= mr.iova + mr.length:
        return [*sg[:-1], SGE(last.addr, wanted, last.lkey)]
    for other in case.hca.mrs.items.values():
        if other.pd == qp.pd and other.access & Access.LOCAL_WRITE and other.length >= length:
            return [SGE(other.iova, length, other.lkey)]
    return sg


CHECK = Check(
    67, "loc-len", Section.ERROR,
    question="Is the message longer than the receive, or of a length that cannot be?",
    rule="a receive has room for the longest message that may come; an atomic moves 8 bytes, and"
    " a message at most max_msg_sz",
    source="ibv_post_recv(3)", examine=examine,
)  # fmt: skip
