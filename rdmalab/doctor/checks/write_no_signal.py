"""write-no-signal: somebody waits for the completion of a plain RDMA WRITE of the peer."""

from rdmalab.doctor.case import Case
from rdmalab.doctor.facts.waiting import Done, done_by_peer, is_quiet, waiters, watcher
from rdmalab.doctor.finding import NA, Check, Finding, Fix, Section, fail, ok, said, warn
from rdmalab.doctor.fixes import simple_fixes
from rdmalab.hca.qp import QueuePair
from rdmalab.hca.wr import RecvWR
from rdmalab.spec.work import WROpcode
from rdmalab.views import fmt
from rdmalab.world.relations import peer_of


def examine(case: Case) -> Finding:
    """Whether the last that the peer did for those who wait was a plain WRITE."""
    waiting = waiters(case)
    for qp in waiting:
        done = done_by_peer(case, qp)
        writes = [each for each in done if each.wqe.wr.opcode == WROpcode.RDMA_WRITE]
        sent = [each for each in done if each.takes_receive]
        if writes and not sent and is_quiet(case, qp):
            return _waits_in_vain(case, qp, writes)
    return ok("no plain WRITE of the peer is waited for") if waiting else NA


def _waits_in_vain(case: Case, qp: QueuePair, writes: list[Done]) -> Finding:
    peer, last = peer_of(case.world, qp), writes[-1]
    assert peer is not None
    name = case.qp_name(peer)
    facts = [
        said(f"{name} did {fmt.send_wqe(last.wqe)}: the bytes are in {qp.node}'s memory",
             last.event),
        said(f"it takes no receive of {case.qp_name(qp)}, and completes at {name} only"),
    ]  # fmt: skip
    cure, watching = _cure(case, qp, peer, last), watcher(case, qp)
    if not watching:  # a message may follow
        return warn(*facts, cure=cure)
    return fail(*facts, said(f"{watching} waits for a completion"), cure=cure)


def _cure(case: Case, qp: QueuePair, peer: QueuePair, last: Done) -> Fix:
    """The last WRITE once more, with immediate data, and a receive for it."""
    wr = last.wqe.wr
    again = simple_fixes.post_send(case, peer, wr, wr_id=peer.sq.posted + 1,
                            opcode=WROpcode.RDMA_WRITE_WITH_IMM.name)  # fmt: skip
    if qp.source.wqes:
        return Fix([again])
    return Fix([simple_fixes.post_recv(case, qp, RecvWR(wr.wr_id)), again])


CHECK = Check(
    64, "write-no-signal", Section.RECEIVE,
    question="Does somebody wait at the target of a plain RDMA WRITE for a completion?",
    rule="an RDMA WRITE without immediate data takes no receive and tells the peer nothing",
    source="ibv_post_send(3)", examine=examine,
)  # fmt: skip
