"""rkey-rotated: a memory window was bound anew, and the peer still uses the key it had before."""

from rdmalab.command import Noun, Thing
from rdmalab.doctor.case import Case
from rdmalab.doctor.facts import key_lookup
from rdmalab.doctor.finding import NA, Check, Finding, Fix, Section, fail, ok, said
from rdmalab.doctor.fixes import memory_fixes, simple_fixes
from rdmalab.hca.mw import MemoryWindow
from rdmalab.hca.qp import QueuePair
from rdmalab.hca.wqe import SendWqe
from rdmalab.spec.statuses import WCStatus


def examine(case: Case) -> Finding:
    """Whether the key that was denied opened a window until that was bound once more."""
    send, qp, peer = case.send, case.qp, case.peer
    if send is None or send.wqe is None or send.ending is None or qp is None or peer is None:
        return NA
    if send.ending.status is not WCStatus.REM_ACCESS_ERR:
        return NA
    key = send.wqe.wr.rkey
    void = key_lookup.voided(case, peer.node, key)
    mw = case.world.nodes[peer.node].mws.items.get(void.thing.number) if void else None
    if void is None or mw is None or mw.binding is None:
        return ok("its rkey is not the former one of a window that is bound")
    name = case.names.of(void.thing)
    return fail(
        said(f"{name} was bound anew: its rkey {key:#x} became {mw.binding.key:#x}", void.event),
        said(f"the request names {key:#x}", send.posted),
        said("so it ended with REM_ACCESS_ERR", send.ending.event),
        cure=_cure(case, send.wqe, qp, peer, mw), since=void.event,
    )  # fmt: skip


def _cure(case: Case, wqe: SendWqe, qp: QueuePair, peer: QueuePair, mw: MemoryWindow) -> Fix | None:
    """Name the window by its new key."""
    binding, wr = mw.binding, wqe.wr
    if binding is None:
        return None
    length = key_lookup.asked_of_peer(wqe)[1]
    inside = binding.iova <= wr.remote_addr <= binding.iova + binding.count - length
    name = case.names.of(Thing(Noun.MW, peer.node, mw.number))
    start = wr.remote_addr - binding.iova if inside else 0
    named = {"remote": f"{name}[{start}]", "remote_addr": None, "rkey": None}
    return Fix(
        [*memory_fixes.revived(case, qp), *simple_fixes.again(case, qp, wr, revived=True, **named)]
    )


CHECK = Check(
    92, "rkey-rotated", Section.WRONG,
    question="Was its rkey that of a memory window which has been bound anew since?",
    rule="each bind of a memory window gives it a new rkey, and the old one opens nothing",
    source="ibv_bind_mw(3)", examine=examine,
)  # fmt: skip
