"""Counters: what the trace says a device would have counted."""

from rdmalab.lens import counters
from rdmalab.spec.work import WROpcode
from tests.pairs import Pair


def test_a_clean_exchange_counts_packets_only() -> None:
    pair = Pair()
    pair.b.recv(1000)
    pair.a.issue(WROpcode.SEND, 1000)
    pair.run()
    row = counters.counters_row(pair.world, "A")
    assert (row.sent_pkts, row.rcvd_pkts, row.rdma_sends) == (4, 1, 1)
    peer = counters.counters_row(pair.world, "B")
    assert (peer.sent_pkts, peer.rcvd_pkts, peer.rdma_recvs) == (1, 4, 1)
    others = set(counters.NAMES) - {"sent_pkts", "rcvd_pkts", "rdma_sends", "rdma_recvs"}
    assert all(getattr(r, name) == 0 for r in (row, peer) for name in others)


def test_an_rnr_nak_is_counted_where_it_is_sent_and_where_it_arrives() -> None:
    pair = Pair(rnr_retry=2)
    pair.a.issue(WROpcode.SEND, 8)
    pair.run()
    a, b = (counters.counters_row(pair.world, node) for node in "AB")
    assert (a.rcvd_rnr_err, b.send_rnr_err, a.retransmitted_pkts) == (3, 3, 2)
    assert (a.retry_rnr_exceeded_err, a.completer_retry_err) == (1, 0)
    assert b.duplicate_request == 0


def test_a_lost_ack_makes_a_duplicate_and_a_retry() -> None:
    pair = Pair()
    pair.lose("B", 1)
    pair.a.issue(WROpcode.RDMA_WRITE, 8)
    pair.run()
    a, b = (counters.counters_row(pair.world, node) for node in "AB")
    assert (b.lost_pkts, b.duplicate_request) == (1, 1)
    assert (a.retransmitted_pkts, a.completer_retry_err) == (1, 1)


def test_a_gap_is_counted_once_a_nak() -> None:
    pair = Pair()
    pair.lose("A", 1)
    for _ in range(4):
        pair.a.issue(WROpcode.RDMA_WRITE, 8)
    pair.run()
    a, b = (counters.counters_row(pair.world, node) for node in "AB")
    assert (b.out_of_seq_request, a.rcvd_seq_err, a.retransmitted_pkts) == (1, 1, 4)
    assert (b.dropped_pkts, b.duplicate_request) == (2, 0)
    assert [(d.reason, d.count) for d in counters.drop_rows(pair.world, "B")] == [
        ("sequence-gap", 2)
    ]


def test_a_read_takes_as_many_psns_as_its_answer_has_packets() -> None:
    pair = Pair()
    pair.lose("B", 2)
    pair.a.issue(WROpcode.RDMA_READ, 1000)
    pair.a.issue(WROpcode.RDMA_WRITE, 8)
    pair.run()
    assert counters.counters_row(pair.world, "A").retransmitted_pkts >= 1
    assert counters.counters_row(pair.world, "B").duplicate_request >= 1
    assert pair.a.sent() == [(1, 0), (1, 0)]


def test_a_pulled_plug_is_counted() -> None:
    pair = Pair()
    pair.world.begin_event()
    pair.world.set_link(up=False)
    pair.world.set_link(up=True)
    assert counters.counters_row(pair.world, "A").link_downed == 1
