"""loc-prot: the own adapter may not touch a buffer of the work request."""

from typing import NamedTuple

from rdmalab.doctor.case import Case
from rdmalab.doctor.facts import key_lookup
from rdmalab.doctor.finding import NA, Check, Finding, Fix, Section, fail, ok, said
from rdmalab.doctor.fixes import memory_fixes, simple_fixes
from rdmalab.hca import srq
from rdmalab.hca.dma import MemoryUser
from rdmalab.hca.qp import QueuePair
from rdmalab.hca.wr import RecvWR, SendWR
from rdmalab.spec.access import Access
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import Local
from rdmalab.world.relations import find_qp


class Memory(NamedTuple):
    """What a work request does with its buffers, and who does it."""

    wr: SendWR | RecvWR
    rights: int
    user: MemoryUser


def examine(case: Case) -> Finding:
    """Which element of its list the adapter was denied, and by which test."""
    work, qp = case.send or case.receive, case.qp
    if work is None or qp is None or work.ending is None or work.wqe is None:
        return NA
    memory = _memory(case, qp)
    if memory is None or work.ending.status not in _statuses(case):
        return ok("the own adapter was denied no memory")
    denials = key_lookup.denials(case.hca, memory.user, memory.wr, memory.rights)
    if not denials and work.ending.status is not WCStatus.LOC_PROT_ERR:
        return ok("its buffers may be touched")
    ended = said(f"so it ended with {work.ending.status.name}", work.ending.event)
    gone = key_lookup.lost(case, case.hca, memory.wr)
    since = work.ending.event if gone else work.posted
    tests = [
        said(key_lookup.told(case, denial, memory.user), work.posted) for denial in denials[:2]
    ]
    tests = tests or [said("a buffer of it could not be touched then; now it could", work.posted)]
    return fail(*tests, ended, cure=None if gone else _cure(case, qp, memory), since=since)


def _statuses(case: Case) -> tuple[WCStatus | None, ...]:
    """What a denied buffer ends with on this device."""
    if case.send is not None:
        return WCStatus.LOC_PROT_ERR, case.profile.unknown_lkey_status
    return WCStatus.LOC_PROT_ERR, case.profile.refusals["receive-denied"].status


def _memory(case: Case, qp: QueuePair) -> Memory | None:
    send, receive = case.send, case.receive
    if receive is not None and receive.wqe is not None:
        user = srq.receiver(case.hca, qp, receive.wqe)
        return Memory(receive.wqe.wr, int(Access.LOCAL_WRITE), user)
    if send is None or send.wqe is None or send.wqe.work is None or send.wqe.inline is not None:
        return None
    scatters = send.wqe.work.local is Local.SCATTER
    return Memory(send.wqe.wr, int(Access.LOCAL_WRITE) if scatters else 0, qp)


def _cure(case: Case, qp: QueuePair, memory: Memory) -> Fix | None:
    mend = memory_fixes.mended(case, memory.user, case.hca, memory.wr, memory.rights)
    if mend is None:
        return None
    lines = [*mend.lines, *memory_fixes.revived(case, qp)]
    if isinstance(memory.wr, SendWR):
        again = simple_fixes.again(case, qp, memory.wr, revived=True, sg=mend.said)
        return Fix([*lines, *again])
    return Fix([*lines, simple_fixes.post_recv(case, qp, memory.wr, sg=mend.said), *_message(case)])


def _message(case: Case) -> list[str]:
    """What it was taken for, once more."""
    message = case.message
    sender = find_qp(case.world, *message.thing[1:]) if message is not None else None
    if message is None or sender is None:
        return []
    return [simple_fixes.post_send(case, sender, message.wqe.wr)]


CHECK = Check(
    68, "loc-prot", Section.ERROR,
    question="May the own adapter not touch a buffer: lkey, domain, right or range?",
    rule="each element of sg_list is checked when it is used: its lkey opens only its own bytes, "
    "to its own domain, for the rights it was given",
    source="ibv_post_send(3)", examine=examine,
)  # fmt: skip
