"""Completions: what is on a CQ, and which of its fields mean nothing."""

import pytest

from rdmalab.command import NotUnderstood
from rdmalab.spec.profiles import RXE, STRICT, Profile
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import WROpcode
from rdmalab.views import completions
from tests.labs import RECV, SEND, lab_of, well
from tests.pairs import Pair
from tests.views.looking import CQ, RECV_CQ, names_of

PEER_RECV_CQ = RECV_CQ._replace(node="B")


def test_an_empty_cq_has_no_next_and_no_last() -> None:
    pair = Pair(cqe=5)
    row = completions.cq_row(pair.world, names_of(pair), CQ)
    assert (row.count, row.capacity, row.free, row.next, row.last) == (0, 5, 5, None, None)


def test_next_is_the_oldest_and_last_the_newest_even_when_polled() -> None:
    pair = Pair()
    for wr_id in (7, 8):
        pair.a.issue(WROpcode.RDMA_WRITE, 8, wr_id=wr_id)
    pair.run()
    row = completions.cq_row(pair.world, names_of(pair), CQ)
    assert row.next is not None
    assert row.last is not None
    assert (row.count, row.next.wr_id, row.last.wr_id, row.next.qp) == (2, 7, 8, "A.qp0")
    assert [wc.wr_id for wc in completions.wc_rows(pair.world, names_of(pair), CQ)] == [7, 8]
    pair.a.sent()
    row = completions.cq_row(pair.world, names_of(pair), CQ)
    assert row.last is not None
    assert (row.count, row.total, row.next, row.last.wr_id) == (0, 2, None, 8)


@pytest.mark.parametrize(
    ("profile", "opcode", "undefined"),
    [
        (STRICT, WROpcode.RDMA_WRITE, True),
        (STRICT, WROpcode.RDMA_READ, False),
        (STRICT, WROpcode.ATOMIC_FETCH_AND_ADD, False),
        (RXE, WROpcode.RDMA_WRITE, False),
    ],
)
def test_byte_len_of_a_send_is_promised_for_reads_only(
    profile: Profile, opcode: WROpcode, *, undefined: bool
) -> None:
    pair = Pair(profile=profile)
    pair.a.issue(opcode, 8)
    pair.run()
    (row,) = completions.wc_rows(pair.world, names_of(pair), CQ)
    assert ("byte_len" in row.undefined) is undefined


def test_an_error_leaves_four_fields_that_mean_something() -> None:
    pair = Pair(rnr_retry=0)
    pair.a.issue(WROpcode.SEND, 8, wr_id=7)
    pair.run()
    (row,) = completions.wc_rows(pair.world, names_of(pair), CQ)
    assert row.status is WCStatus.RNR_RETRY_EXC_ERR
    assert row.undefined == (
        "opcode", "byte_len", "imm_data", "invalidated_rkey", "wc_flags", "src_qp", "slid",
        "sl", "dlid_path_bits",
    )  # fmt: skip
    assert row.text == "wr7 RNR_RETRY_EXC_ERR A.qp0 vendor_err=0x8d"


def test_immediate_data_counts_with_its_flag_on_the_receiving_side() -> None:
    pair = Pair()
    pair.b.recv(64, wr_id=2)
    pair.a.issue(WROpcode.SEND_WITH_IMM, 64, imm_data=0x1234)
    pair.run()
    (row,) = completions.wc_rows(pair.world, names_of(pair), PEER_RECV_CQ)
    assert row.undefined == ("invalidated_rkey", "src_qp", "slid", "sl", "dlid_path_bits")
    assert row.text == "wr2 RECV SUCCESS 64 B imm=htonl(0x34120000)"
    (row,) = completions.wc_rows(pair.world, names_of(pair), CQ)
    assert "imm_data" in row.undefined


def test_completions_that_found_the_cq_full_are_counted() -> None:
    pair = Pair(cqe=1)
    for _ in range(2):
        pair.a.issue(WROpcode.RDMA_WRITE, 8)
    pair.run()
    lost = 0
    for record in pair.world.trace.records:
        lost = completions.overran(CQ, lost, record)
    assert lost == 1
    assert completions.cq_row(pair.world, names_of(pair), CQ).dead


def test_the_times_of_a_request_are_known_when_its_slot_is_free() -> None:
    lab = lab_of(RECV, "run 5us", SEND, "until A.cq0.count == 1")
    done, came = lab.look("now"), lab.look("B.cq0.last.at_ns")
    well(lab, "run 5us")
    assert lab.look("A.qp0.wr[1].posted_ns") == 5_000
    assert lab.look("A.qp0.wr[1].completed_ns") == done
    assert lab.look("B.qp0.recv_wr[2].posted_ns") == 0
    assert lab.look("B.qp0.recv_wr[2].completed_ns") == came
    well(lab, "poll_cq A.cq0")
    well(lab, "poll_cq B.cq0")
    assert lab.look("A.qp0.wr[1].status == GONE")
    assert lab.look("A.qp0.wr[1].completed_ns - A.qp0.wr[1].posted_ns") == done - 5_000
    well(lab, SEND)
    assert lab.look("A.qp0.wr[1].completed_ns == NULL")  # the newest with this wr_id
    with pytest.raises(NotUnderstood) as wrong:
        lab.look("A.qp0.wr[9].posted_ns")
    assert wrong.value.message == "A.qp0.wr[9]: no send with wr_id 9 was ever posted"
    lab.do("goto start; goto end")
    assert lab.look("B.qp0.recv_wr[2].completed_ns") == came


def test_the_times_of_a_shared_receive() -> None:
    lab = lab_of("post_srq_recv B.srq0 wr_id=3 sg=B.mr0[0:64]", "run 1us", pair="use srq_pair")
    assert lab.look("B.srq0.recv_wr[3].posted_ns") == 0
    assert lab.look("B.srq0.recv_wr[3].completed_ns == NULL")
    well(lab, "post_send A.qp0 opcode=SEND sg=A.mr0[0:64]")
    well(lab, "run")
    assert lab.look("B.srq0.recv_wr[3].completed_ns") == lab.look("B.cq0.last.at_ns")
