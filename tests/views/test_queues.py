"""Queue pairs as rows: where every slot is, and where the engines stand."""

from rdmalab.command import Noun, Thing
from rdmalab.hca.qp import Capacity
from rdmalab.lab import Lab
from rdmalab.spec.profiles import RXE
from rdmalab.spec.states import QPState
from rdmalab.spec.work import WROpcode
from rdmalab.views import queues
from rdmalab.world.world import World
from tests.extended import extended_lab
from tests.labs import well
from tests.pairs import Pair
from tests.views.looking import PEER_QP, QP, names_of


def row_of(pair: Pair, thing: Thing = QP) -> queues.QpRow:
    return queues.qp_row(pair.world, names_of(pair), thing)


def test_a_slot_comes_back_at_poll_not_at_the_ack() -> None:
    pair = Pair(cap=Capacity(max_send_wr=4))
    for _ in range(2):
        pair.b.recv(64)
        pair.a.issue(WROpcode.SEND, 64)
    sq = row_of(pair).sq
    assert (sq.used, sq.free, sq.waiting, sq.on_wire, sq.acked) == (2, 2, 2, 0, 0)
    pair.world.run(2)
    assert row_of(pair).sq.on_wire == 2
    pair.run()
    sq = row_of(pair).sq
    assert (sq.used, sq.on_wire, sq.acked, sq.posted) == (2, 0, 2, 2)
    pair.a.sent()
    assert row_of(pair).sq.used == 0


def test_each_slot_is_somewhere_at_every_event() -> None:
    pair = Pair(rd_atomic=1)
    pair.b.recv(4096)
    pair.a.issue(WROpcode.SEND, 1000)
    pair.a.issue(WROpcode.RDMA_READ, 700)
    pair.a.issue(WROpcode.RDMA_READ, 8)
    while pair.world.step():
        for thing in (QP, PEER_QP):
            row = row_of(pair, thing)
            for queue in (row.sq, row.rq):
                assert queue.used == queue.waiting + queue.on_wire + queue.acked
                assert min(queue.waiting, queue.on_wire, queue.acked) >= 0
                assert queue.capacity == queue.used + queue.free


def test_a_receive_is_in_use_while_its_message_arrives() -> None:
    pair = Pair()
    pair.b.recv(600)
    pair.b.recv(600)
    pair.a.issue(WROpcode.SEND, 600)
    while pair.b.qp.resp.recv is None:
        assert pair.world.step()
    rq = row_of(pair, PEER_QP).rq
    assert (rq.used, rq.waiting, rq.on_wire, rq.acked) == (2, 1, 1, 0)
    pair.run()
    rq = row_of(pair, PEER_QP).rq
    assert (rq.used, rq.waiting, rq.on_wire, rq.acked) == (2, 1, 0, 1)


def test_the_rnr_timer_and_the_ack_timer_are_never_both_armed() -> None:
    pair = Pair(min_rnr_timer=12)
    pair.a.issue(WROpcode.SEND, 8)
    pair.world.run(1)
    row = row_of(pair)
    assert row.ack_timer.armed
    assert not row.rnr_timer.armed
    assert row.ack_timer.left_ns == row.timeout_ns == 67_108_864
    while not row_of(pair).rnr_timer.armed:
        assert pair.world.step()
    row = row_of(pair)
    assert row.rnr_timer.left_ns == row_of(pair, PEER_QP).min_rnr_timer_ns == 640_000
    assert (row.ack_timer.armed, row.ack_timer.at_ns) == (False, None)


def test_psns_attributes_and_the_peer() -> None:
    pair = Pair(psn=100, peer_psn=500)
    pair.a.issue(WROpcode.RDMA_WRITE, 600)
    row = row_of(pair)
    assert (row.sq_psn, row.next_psn, row.unacked_psn, row.rq_psn) == (103, 100, 100, 500)
    assert (row.peer, row.dest_node, row.dest_qp_num) == ("B.qp0", "B", 17)
    assert (row.path_mtu, row.state) == (256, QPState.RTS)
    assert (row.send_cq, row.recv_cq) == ("A.cq0", "A.cq1")
    pair.run()
    row = row_of(pair)
    assert (row.next_psn, row.unacked_psn) == (103, 103)
    assert row_of(pair, PEER_QP).msn == 1


def test_an_unknown_peer_is_shown_by_number() -> None:
    pair = Pair()
    pair.a.qp.path.dest_qpn = 0x99  # type: ignore[union-attr]
    assert row_of(pair).peer == "B:0x99"


def test_before_rtr_there_is_no_peer() -> None:
    pair = Pair()
    lone = pair.end("A")
    row = row_of(pair, Thing(Noun.QP, "A", lone.qp.number))
    assert (row.peer, row.dest_node, row.state, row.path_mtu) == ("", "", QPState.RESET, 256)


def test_sqd_drains_what_has_begun() -> None:
    pair = Pair()
    pair.a.issue(WROpcode.RDMA_READ, 8)
    pair.world.run(1)
    pair.a.modify(qp_state=QPState.SQD)
    assert row_of(pair).sq_draining
    assert row_of(pair).reads_outstanding == 1
    pair.run()
    assert not row_of(pair).sq_draining


def test_timeout_0_has_no_ack_wait_and_rxe_rounds_to_ticks() -> None:
    assert row_of(Pair(timeout=0)).timeout_ns is None
    waited = row_of(Pair(profile=RXE)).timeout_ns
    assert waited is not None
    assert waited % RXE.timer_tick_ns == 0


def peak_of(world: World, queue: str) -> tuple[int, int]:
    so_far = (0, 0)
    for record in world.trace.records:
        so_far = queues.peak(QP, queue, so_far, record)
    return so_far


def test_the_peak_of_a_queue_is_read_from_its_past() -> None:
    pair = Pair()
    for _ in range(3):
        pair.a.issue(WROpcode.RDMA_WRITE, 8)
    pair.a.recv(8)
    pair.run()
    pair.a.sent()
    pair.a.issue(WROpcode.RDMA_WRITE, 8)
    assert peak_of(pair.world, "sq") == (1, 3)
    pair.a.modify(qp_state=QPState.RESET)
    assert peak_of(pair.world, "sq") == (0, 3)
    assert peak_of(pair.world, "rq") == (0, 1)


def test_what_is_built_and_not_posted_yet() -> None:
    lab = extended_lab("wr_start A.qx0 thread=4", "wr_send A.qx0 wr_id=5 wr_flags=FENCE")
    asked = ("extended", "open", "thread", "built", "error", "wr_id", "locked")
    found = [lab.look(f"A.qx0.region.{name}") for name in asked]
    assert found == [True, True, 4, 1, "", 5, True]
    well(lab, "wr_set_ud_addr A.qx0 ah=1 remote_qpn=1 remote_qkey=1")
    assert lab.look("A.qx0.region.error") == "crash-setter"
    plain = [lab.look(f"A.qp0.region.{name}") for name in asked]
    assert plain == [False, False, None, 0, "", 0, True]


def test_a_failure_from_before_a_reset_is_in_no_slot() -> None:
    lab = Lab()
    bad = "post_send A.qp0 opcode=RDMA_WRITE sg=A.mr0[0:5] remote_addr=0 rkey=0xdead flags=SIGNALED"
    again = ("reset A.qp0", "reset B.qp0", "connect A.qp0 B.qp0")
    write = "post_send A.qp0 opcode=RDMA_WRITE sg=A.mr0[0:5] remote=B.mr0[0] flags=SIGNALED"
    for line in ("use rc_pair", bad, "run"):
        lab.do(line)
    assert lab.look("A.qp0.sq.failed") == 1
    for line in (*again, write, "run"):
        lab.do(line)
    assert lab.look("A.qp0.sq.acked") == 1
    assert lab.look("A.qp0.sq.failed") == 0


def test_a_program_may_wait_for_free_slots_of_a_queue() -> None:
    lab = Lab()
    well(lab, "use rc_pair max_send_wr=2 cqe=2")
    lines = (
        "loop 5 / wait A.qp0.sq.free > 0 or A.cq0.count > 0 / try poll_cq A.cq0 num_entries=16 / "
        "post_send A.qp0 opcode=RDMA_WRITE sg=A.mr0[0:8] remote=B.mr0[0] flags=SIGNALED / end"
    ).replace(" / ", "\n")
    well(lab, f"program A.tx lines={{\n{lines}\n}}")
    well(lab, "run")
    assert lab.look("A.tx.state").name == "DONE"
