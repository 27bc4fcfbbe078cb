"""Batches: what builders and setters make of a work request; in the end all of it or nothing."""

import pytest

from rdmalab.hca.wr import SendWqe
from rdmalab.lab import Lab
from rdmalab.spec.records import Kind
from tests.extended import datagram_lab, extended_lab
from tests.labs import packets, refusal, seen, status, trip, well

SGE = "wr_set_sge A.qx0 sg=A.mr0[0:16]"
SEND = ("wr_send A.qx0", SGE)
RECV = "post_recv B.qp0 sg=B.mr0[0:512]"


def batch(*lines: str, profile: str = "strict") -> Lab:
    """These lines in a region that is still open."""
    return extended_lab("wr_start A.qx0", *lines, profile=profile)


def posted(lab: Lab) -> list[SendWqe]:
    return [wqe for _, wqe, _ in seen(lab, Kind.SEND_POSTED, "A")]


def test_nothing_is_posted_before_wr_complete() -> None:
    lab = batch(*SEND)
    assert lab.look("idle")
    assert lab.look("A.qx0.sq.used") == 0
    well(lab, "wr_complete A.qx0")
    assert not lab.look("idle")


def test_wr_start_sends_the_packets_of_post_send() -> None:
    wr = "opcode=SEND_WITH_IMM imm_data=htonl(0x1234) flags=SIGNALED|SOLICITED sg=A.mr0[0:16]"
    setter = "wr_send_imm A.qx0 imm_data=htonl(0x1234) wr_id=1 wr_flags=SIGNALED|SOLICITED"
    labs = [extended_lab(RECV, f"post_send A.qx0 wr_id=1 {wr}"),
            batch(setter, SGE, "wr_complete A.qx0", RECV)]  # fmt: skip
    for lab in labs:
        trip(lab, "run")
    sent = [[packet for _, packet in packets(lab, Kind.PACKET_SENT)] for lab in labs]
    assert sent[0] == sent[1]
    assert len(sent[0]) == 2


def test_wr_id_and_wr_flags_stay_from_one_request_to_the_next() -> None:
    lab = batch("wr_set A.qx0 wr_id=5 wr_flags=SIGNALED", *SEND, *SEND, "wr_set A.qx0 wr_id=6")
    well(lab, "wr_set A.qx0 wr_flags=0")  # too late for the two before it
    well(lab, "wr_send A.qx0")
    well(lab, "wr_complete A.qx0")
    assert [(w.wr.wr_id, w.signaled) for w in posted(lab)] == [(5, True), (5, True), (6, False)]


def test_wr_abort_discards_the_batch() -> None:
    lab = batch(*SEND, *SEND, "wr_abort A.qx0")
    well(lab, "wr_complete A.qx0")
    assert posted(lab) == []
    assert [b for _, _, b in seen(lab, Kind.REGION_CLOSED)] == ["aborted", "unopened"]


def test_wr_complete_with_an_error_posts_no_request_of_the_batch() -> None:
    lab = batch(*SEND, "wr_send A.qx0 wr_flags=0x80", *SEND)
    refused = refusal(lab, "wr_complete A.qx0")
    assert (refused.rule, refused.errno) == ("send-flags", 22)
    assert refused.message.startswith("wr 1 (wr_id 0): ")
    assert posted(lab) == []
    assert not lab.look("A.qx0.region.open")
    other = extended_lab()
    refusal(other, "post_send A.qx0 wr={opcode=SEND} wr={opcode=SEND flags=0x80} wr={opcode=SEND}")
    assert len(posted(other)) == 1


def test_wr_complete_returns_the_first_error() -> None:
    lab = batch(*SEND, SGE, "wr_set_ud_addr A.qx0 ah=1 remote_qpn=1 remote_qkey=1", *SEND)
    assert lab.look("A.qx0.region.error") == "setter-place"
    assert len(seen(lab, Kind.BATCH_FAILED)) == 1
    assert refusal(lab, "wr_complete A.qx0").rule == "setter-place"


@pytest.mark.parametrize(
    ("lines", "rule"),
    [
        (("wr_set_ud_addr A.qx0 ah=1 remote_qpn=1 remote_qkey=1",), "crash-setter"),
        ((SGE, "wr_send A.qx0"), "setter-place"),
        ((*SEND, SGE), "setter-place"),
        (("wr_send A.qx0", "wr_set_inline_data A.qx0 buf={addr=0x10 length=8}"), "crash-inline"),
        (("wr_send A.qx0", "wr_set_inline_data A.qx0 buf=A.mr0[0:65]"), "inline-length"),
        (("wr_rdma_read A.qx0 remote=B.mr0", "wr_set_inline_data A.qx0 buf=A.mr0[0:8]"),
         "inline-opcode"),
        (("wr_send A.qx0", "wr_set_sge_list A.qx0 sg=" + ",".join(["A.mr0[0:1]"] * 5)),
         "send-sges"),
        (("wr_send A.qx0", "wr_set_sge_list A.qx0 sg=0xdead"), "crash-sg"),
        (("wr_send A.qx0",) * 9, "queue-full"),
    ],
)  # fmt: skip
def test_wr_complete_errno(lines: tuple[str, ...], rule: str) -> None:
    lab = batch(*lines)
    refused = refusal(lab, "wr_complete A.qx0")
    assert (refused.rule, refused.argument) == (rule, "qp")
    assert posted(lab) == []
    for line in ("wr_start A.qx0", *SEND, "wr_complete A.qx0"):  # the next batch works
        well(lab, line)


@pytest.mark.parametrize(
    ("to", "sge", "found"),
    [("B.mr0", SGE, "LOC_LEN_ERR"), ("B.mr0[4]", "wr_set_sge A.qx0 sg=A.mr0[0:8]",
                                     "REM_INV_REQ_ERR")],
)  # fmt: skip
def test_wr_atomic_unaligned_fails_when_executed(to: str, sge: str, found: str) -> None:
    add = f"wr_atomic_fetch_add A.qx0 remote={to} add=1"
    lab = batch("wr_set A.qx0 wr_id=1 wr_flags=SIGNALED", add, sge, "wr_complete A.qx0")
    trip(lab, "run")
    assert status(lab) == found


def test_a_wr_builder_not_in_send_ops_flags() -> None:
    lab = extended_lab("wr_start A.qx0", "wr_rdma_write A.qx0 remote=B.mr0", ops="SEND")
    refused = refusal(lab, "wr_complete A.qx0")
    assert (refused.rule, refused.errno) == ("crash-builder", 22)
    assert "wr_rdma_write is a NULL pointer, RDMA_WRITE was not" in refused.message


@pytest.mark.parametrize(
    ("profile", "sges", "full", "early"),
    [("strict", 22, 12, 22), ("rxe", 28, 28, 22), ("mlx5", 12, 12, 22)],
)
def test_wr_complete_errno_by_device(profile: str, sges: int, full: int, early: int) -> None:
    lab = extended_lab(profile=profile)

    def errno(*lines: str) -> int:
        for line in ("wr_start A.qx0", *lines):
            well(lab, line)
        return refusal(lab, "wr_complete A.qx0").errno

    many = "wr_set_sge_list A.qx0 sg=" + ",".join(["A.mr0[0:1]"] * 20)
    assert errno("wr_send A.qx0", many) == sges
    assert errno(*["wr_send A.qx0"] * 32) == full
    well(lab, "reset A.qx0")
    assert errno("wr_send A.qx0") == early


def test_soft_roce_leaves_an_early_batch_in_the_ring() -> None:
    lab = extended_lab("reset A.qx0", "wr_start A.qx0", *SEND, profile="rxe")
    assert refusal(lab, "wr_complete A.qx0").rule == "send-state"
    assert lab.look("A.qx0.sq.used") == 1


def test_inline_copies_when_the_setter_is_called_and_references_are_read_when_sent() -> None:
    for setter, arrives in (("wr_set_inline_data A.qx0 buf=A.mr0[0:5]", b"early"),
                            ("wr_set_sge A.qx0 sg=A.mr0[0:5]", b"later")):  # fmt: skip
        lab = batch('write A.mr0[0:5] "early"', "wr_send A.qx0 wr_flags=SIGNALED", setter, RECV)
        for line in ('write A.mr0[0:5] "later"', "wr_complete A.qx0"):
            well(lab, line)
        trip(lab, "run")
        assert lab.look("B.mr0[0:5]") == arrives


def test_the_setter_decides_about_inline_and_not_the_flag() -> None:
    lab = batch("wr_set A.qx0 wr_flags=INLINE", *SEND, "wr_send A.qx0 wr_flags=0")
    well(lab, "wr_set_inline_data_list A.qx0 buf=A.mr0[0:10],A.mr0[100:120]")
    well(lab, "wr_complete A.qx0")
    first, second = posted(lab)
    assert (first.inline, first.length) == (None, 16)
    assert (len(second.inline or b""), second.length) == (30, 30)


def test_wr_without_set_sge_has_length_zero_and_a_list_its_sum() -> None:
    lab = batch("wr_send A.qx0", "wr_send A.qx0", "wr_set_sge_list A.qx0 sg=A.mr0[0:9],A.mr0[9:30]")
    well(lab, "wr_complete A.qx0")
    assert [wqe.length for wqe in posted(lab)] == [0, 30]


def test_wr_atomics_return_the_old_value() -> None:
    lab = batch(
        'write B.mr0[0:1] "\\x07"',
        "wr_atomic_fetch_add A.qx0 remote=B.mr0 add=3 wr_id=1 wr_flags=SIGNALED",
        "wr_set_sge A.qx0 sg=A.mr0[0:8]",
        "wr_atomic_cmp_swp A.qx0 remote=B.mr0 compare=10 swap=99 wr_id=2",
        "wr_set_sge A.qx0 sg=A.mr0[8:16]",
        "wr_complete A.qx0",
    )
    trip(lab, "run")
    assert [lab.look(q) for q in ("A.mr0[0]", "A.mr0[8]", "B.mr0[0]")] == [7, 10, 99]
    assert status(lab, 2) == "SUCCESS"


def test_wr_write_with_immediate_and_read() -> None:
    lab = batch(
        RECV,
        'write A.mr0[0:5] "hello"',
        "wr_rdma_write_imm A.qx0 remote=B.mr0[64] imm_data=htonl(7) wr_flags=SIGNALED",
        "wr_set_sge A.qx0 sg=A.mr0[0:5]",
        "wr_rdma_read A.qx0 remote=B.mr0[64] wr_id=3",
        "wr_set_sge A.qx0 sg=A.mr0[100:105]",
        "wr_complete A.qx0",
    )
    trip(lab, "run")
    assert lab.look("A.mr0[100:105]") == lab.look("B.mr0[64:69]") == b"hello"
    assert lab.look("B.cq0.last.opcode").name == "RECV_RDMA_WITH_IMM"


def test_wr_send_on_ud_without_set_ud_addr() -> None:
    lab = datagram_lab("wr_start A.qx0", *SEND)
    refused = refusal(lab, "wr_complete A.qx0")
    assert (refused.rule, refused.errno) == ("setter-missing", 22)
    assert "wr_send must be followed by wr_set_ud_addr" in refused.message


def test_soft_roce_sends_a_ud_wr_without_address_to_no_node() -> None:
    lab = datagram_lab(
        "wr_start A.qx0", "wr_set A.qx0 wr_id=1 wr_flags=SIGNALED", *SEND, profile="rxe"
    )
    well(lab, "wr_complete A.qx0")
    trip(lab, "run")
    assert status(lab) == "LOC_QP_OP_ERR"


def test_wr_set_ud_addr_is_the_destination() -> None:
    to = "wr_set_ud_addr A.qx0 ah=A.ah0 remote_qpn=B.ud0 remote_qkey=0x11111111"
    lab = datagram_lab(
        "post_recv B.ud0 sg=B.mr0[0:104]", "wr_start A.qx0", "wr_send A.qx0", to, SGE
    )
    well(lab, "wr_complete A.qx0")
    trip(lab, "run")
    assert lab.look("B.cq0.last.byte_len") == 56
    early = datagram_lab("wr_start A.qx0", to)
    assert refusal(early, "wr_complete A.qx0").rule == "setter-place"


def test_wr_complete_without_request_succeeds() -> None:
    lab = batch("wr_complete A.qx0")
    assert posted(lab) == []
    assert [(a, b) for _, a, b in seen(lab, Kind.REGION_CLOSED)] == [(0, "posted")]


def test_wr_flag_inline_without_inline_setter_is_no_inline() -> None:
    lab = batch("wr_rdma_read A.qx0 remote=B.mr0 wr_flags=INLINE", "wr_complete A.qx0")
    (wqe,) = posted(lab)
    assert (wqe.inline, wqe.flags) == (None, 0)
