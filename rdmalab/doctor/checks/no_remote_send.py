"""no-remote-send: a receive waits for a message, and the peer has sent none."""

from rdmalab.doctor.case import Case
from rdmalab.doctor.facts.waiting import Done, done_by_peer, is_quiet, waiters, watcher
from rdmalab.doctor.finding import NA, Check, Finding, Fix, Section, fail, ok, said, warn
from rdmalab.doctor.fixes.reconnecting import some_message
from rdmalab.hca.qp import QueuePair
from rdmalab.spec.states import QPState
from rdmalab.spec.work import WROpcode
from rdmalab.views import fmt
from rdmalab.world.relations import peer_of

_SHOWN = 2


def examine(case: Case) -> Finding:
    """What the peer did instead, once it does nothing more."""
    receive, qp = case.receive, next(iter(waiters(case)), None)
    if receive is None or receive.shared or qp is None or receive.wqe is None:
        return NA
    peer = peer_of(case.world, qp)
    if peer is None or not is_quiet(case, qp):
        return ok("its peer may still send") if peer is not None else NA
    done = done_by_peer(case, qp)
    if any(each.takes_receive or _is_write(each) for each in done):
        return ok("its peer has sent something")
    name, watching = case.qp_name(peer), watcher(case, qp)
    cure = _cure(case, peer, receive.wqe.length)
    if not done:
        return warn(said(f"{name} has sent nothing yet", receive.posted), cure=cure)
    facts = [
        said(f"{watching or case.qp_name(qp)} waits for a message", receive.posted),
        *[said(f"{name} did {fmt.send_wqe(each.wqe)}, which takes no receive", each.event)
          for each in done[-_SHOWN:]],
        said(f"{name} has posted no SEND"),
    ]  # fmt: skip
    return fail(*facts, cure=cure) if watching else warn(*facts, cure=cure)


def _is_write(done: Done) -> bool:
    return done.wqe.wr.opcode == WROpcode.RDMA_WRITE


def _cure(case: Case, peer: QueuePair, length: int) -> Fix | None:
    return Fix([some_message(case, peer, length)]) if peer.state is QPState.RTS else None


CHECK = Check(
    53, "no-remote-send", Section.RECEIVE,
    question="Has the peer sent nothing that takes a receive?",
    rule="a receive ends with a SEND or a WRITE_WITH_IMM of the peer; READs and atomics take none",
    source="ibv_post_recv(3)", examine=examine,
)  # fmt: skip
