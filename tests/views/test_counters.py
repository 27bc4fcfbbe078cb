"""Counters: what the trace says a device would have counted."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdmalab.spec.profiles import MLX5, RXE, Profile
from rdmalab.spec.records import Kind, Record
from rdmalab.spec.refusals import Syndrome
from rdmalab.spec.work import WROpcode
from rdmalab.views import counters
from rdmalab.views.counters import Aggregates
from rdmalab.world.faults import Corrupt, Match
from rdmalab.world.trace import Trace
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


@pytest.mark.parametrize(("profile", "has", "lacks"), [
    (RXE, "rcvd_rnr_err", "rnr_nak_retry_err"), (MLX5, "rnr_nak_retry_err", "rcvd_rnr_err"),
])  # fmt: skip
def test_a_table_shows_the_counters_that_the_device_has(
    profile: Profile, has: str, lacks: str
) -> None:
    rows = [counters.counters_row(Pair(profile=profile).world, node) for node in "AB"]
    names = counters.names_of(rows)
    assert {has, "duplicate_request", "lost_pkts", "cq_overruns"} <= set(names)
    assert lacks not in names
    others = [counters.counters_row(Pair().world, "A"), *rows]
    assert counters.names_of(others) == list(counters.NAMES)
    assert set(counters.NAMES) > profile.lacks_counters


def test_mlx5_counts_what_each_side_saw_of_failures() -> None:
    pair = Pair(rnr_retry=1, profile=MLX5)
    pair.b.recv(4, wr_id=1)
    pair.b.recv(4, wr_id=2)
    pair.a.issue(WROpcode.ATOMIC_FETCH_AND_ADD, 8)
    pair.a.issue(WROpcode.RDMA_READ, 1000)
    pair.a.issue(WROpcode.SEND, 100)  # longer than its receive
    pair.a.issue(WROpcode.SEND, 4)
    pair.run()
    a, b = (counters.counters_row(pair.world, node) for node in "AB")
    assert (b.rx_atomic_requests, b.rx_read_requests, b.rx_write_requests) == (1, 1, 0)
    assert (b.resp_local_length_error, b.resp_cqe_error, b.resp_cqe_flush_error) == (1, 2, 1)
    assert (a.req_remote_invalid_request, a.req_cqe_error, a.req_cqe_flush_error) == (1, 2, 1)


def test_mlx5_counts_a_wrong_rkey_and_a_missing_receive() -> None:
    pair = Pair(rnr_retry=1)
    pair.a.issue(WROpcode.RDMA_WRITE, 600, rkey=5)
    pair.run()
    a, b = (counters.counters_row(pair.world, node) for node in "AB")
    assert (b.rx_write_requests, b.resp_remote_access_errors) == (1, 1)
    assert a.req_remote_access_errors == 1
    pair = Pair(rnr_retry=1)
    pair.a.issue(WROpcode.SEND, 8)
    pair.run()
    a, b = (counters.counters_row(pair.world, node) for node in "AB")
    assert (b.out_of_buffer, a.rnr_nak_retry_err, a.req_rnr_retries_exceeded) == (2, 2, 1)


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
    assert (b.dropped_pkts, b.duplicate_request, b.out_of_sequence) == (2, 0, 3)
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
    pair.world.network.set_link(up=False)
    pair.world.network.set_link(up=True)
    assert counters.counters_row(pair.world, "A").link_downed == 1


@settings(deadline=None)  # wall time says nothing of virtual time
@given(
    lost=st.lists(st.tuples(st.sampled_from("AB"), st.integers(1, 25)), max_size=5, unique=True),
    harmed=st.lists(st.integers(1, 25), max_size=3, unique=True),
)
def test_counters_of_mlx5_equal_what_the_wire_shows(
    lost: list[tuple[str, int]], harmed: list[int]
) -> None:
    pair = Pair(timeout=8)
    for nth in harmed:
        cable = pair.world.network.cable
        cable.faults.append(Corrupt(cable.next_fault, Match(source="A", nth=nth), byte=60))
        cable.next_fault += 1
    for source, nth in lost:
        pair.lose(source, nth)
    for opcode in (WROpcode.RDMA_WRITE, WROpcode.RDMA_READ, WROpcode.RDMA_WRITE):
        pair.a.issue(opcode, 1500)
    pair.run()
    ours, theirs = (counters.counters_row(pair.world, node) for node in "AB")
    naks = [r for r in pair.records(Kind.PACKET_RECEIVED, node="A")
            if r.a.aeth is not None and r.a.aeth.syndrome == Syndrome.NAK_SEQUENCE]  # fmt: skip
    assert ours.packet_seq_err == ours.rcvd_seq_err == len(naks)
    arrived = [r for r in pair.records(Kind.PACKET_DROPPED, node="B") if r.b == "malformed: icrc"]
    assert theirs.rx_icrc_encapsulated == len(arrived) <= len(harmed)
    fired = pair.reasons(Kind.TIMER_FIRED, "A")
    assert ours.local_ack_timeout_err == fired.count("ack")
    went_back = pair.reasons(Kind.WENT_BACK, "A")
    assert ours.implied_nak_seq_err == went_back.count("implied NAK")
    assert len(went_back) <= sum((len(naks), len(fired), ours.implied_nak_seq_err))


def test_a_harmed_packet_counts_as_an_icrc_error() -> None:
    pair = Pair(timeout=8)
    pair.world.network.cable.faults.append(Corrupt(0, Match(source="A", nth=1), byte=60))
    pair.a.issue(WROpcode.RDMA_WRITE, 100)
    pair.run()
    row = counters.counters_row(pair.world, "B")
    assert (row.rx_icrc_encapsulated, row.dropped_pkts) == (1, 1)
    assert counters.counters_row(pair.world, "A").local_ack_timeout_err == 1


def test_a_lost_read_response_is_an_implied_nak() -> None:
    pair = Pair()
    pair.lose("B", 2)
    pair.a.issue(WROpcode.RDMA_READ, 1000)
    pair.run()
    assert counters.counters_row(pair.world, "A").implied_nak_seq_err == 1


def record(event: int) -> Record:
    return (event, 0, -1, Kind.CALLED, "A", 0, "x", 0)


class Counting:
    """A step that knows how often it was taken."""

    def __init__(self) -> None:
        self.steps = 0

    def __call__(self, count: int, _record: Record) -> int:
        self.steps += 1
        return count + 1


def trace_of(*records: Record) -> Trace:
    trace = Trace()
    trace.tail += records
    return trace


def test_only_what_is_new_is_read() -> None:
    folds, step, trace = Aggregates(), Counting(), trace_of(record(0), record(1))
    assert folds.value("k", trace, int, step) == 2
    trace.tail.append(record(2))
    assert folds.value("k", trace, int, step) == 3
    assert step.steps == 3


def test_aggregates_of_another_past_are_recomputed() -> None:
    folds, step, trace = Aggregates(), Counting(), trace_of(record(0), record(1), record(2))
    folds.value("k", trace, int, step)
    trace.go_to(1)
    assert folds.value("k", trace, int, step) == 1
    trace.go_to(0)
    trace.tail += [record(0), record(5)]
    assert folds.value("k", trace, int, step) == 2


def test_who_goes_back_a_little_reads_a_little() -> None:
    folds, step, trace = Aggregates(), Counting(), trace_of(*map(record, range(10_000)))
    assert folds.value("k", trace, int, step) == 10_000
    trace.go_to(9_000)
    assert folds.value("k", trace, int, step) == 9_000
    assert step.steps == 10_000 + 9_000 - 8_192


def test_a_total_that_is_kept_is_not_changed_by_what_comes_later() -> None:
    def step(counts: list[int], _record: Record) -> list[int]:
        counts[0] += 1
        return counts

    folds, trace = Aggregates(), trace_of(*map(record, range(5_000)))
    assert folds.value("k", trace, lambda: [0], step) == [5_000]
    trace.go_to(4_500)
    assert folds.value("k", trace, lambda: [0], step) == [4_500]


def test_each_question_has_its_own_total() -> None:
    folds, trace = Aggregates(), trace_of(record(0))
    assert folds.value("k", trace, int, lambda n, _r: n + 1) == 1
    assert folds.value("l", trace, int, lambda n, _r: n + 2) == 2
    assert folds.value("m", Trace(), int, lambda n, _r: n + 2) == 0
