"""Dumps of mlx5: the bytes of the driver's layout, in words and in bytes."""

import pytest

from rdmalab.guide import logs
from rdmalab.guide.logs import SYNDROMES, read_error_cqe, vendor_words
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import WROpcode

# Tails that stood in public reports, beside the status that the program printed.
REPORTED = [
    ("00000000 00008813 10012abe 0dd0c1d3", WCStatus.REM_ACCESS_ERR, 0x88, WROpcode.RDMA_READ),
    ("00000000 00008716 0a001f8e 000027d2", WCStatus.RNR_RETRY_EXC_ERR, 0x87, WROpcode.SEND),
    ("00 00 00 00 9D 00 53 04 0A 00 15 42 00 19 B0 D2", WCStatus.LOC_PROT_ERR, 0x53,
     WROpcode.SEND),
]  # fmt: skip


@pytest.mark.parametrize(("dump", "status", "vendor_err", "opcode"), REPORTED)
def test_a_reported_dump(dump: str, status: WCStatus, vendor_err: int, opcode: WROpcode) -> None:
    cqe = read_error_cqe(f"mlx5: host: got completion with error:\n{dump}\n")
    assert cqe is not None
    assert (cqe.status, cqe.vendor_err, cqe.opcode, cqe.is_send) == (
        status, vendor_err, opcode, True,
    )  # fmt: skip


def test_number_and_place_of_the_request() -> None:
    cqe = read_error_cqe("00000000 00008813 10012abe 0dd0c1d3")
    assert cqe is not None
    assert (cqe.qp_num, cqe.wqe_counter, cqe.syndrome) == (0x12ABE, 0x0DD0, 0x13)


def test_of_a_whole_dump_the_last_line_counts() -> None:
    lines = ["00000000 00000000 00000000 00000000"] * 3 + ["00000000 00008813 10012abe 0dd0c1d3"]
    for joint in ("\n", " "):
        cqe = read_error_cqe(joint.join(lines))
        assert cqe is not None
        assert cqe.status is WCStatus.REM_ACCESS_ERR


@pytest.mark.parametrize(("code", "status"), SYNDROMES.items())
def test_each_syndrome_on_both_sides(code: int, status: WCStatus) -> None:
    for last, is_send in (("d2", True), ("e2", False)):
        cqe = read_error_cqe(f"00000000 000000{code:02x} 0a000011 000000{last}")
        assert cqe is not None
        assert (cqe.status, cqe.is_send) == (status, is_send)
        assert (cqe.opcode is WROpcode.SEND) == is_send


def test_an_unknown_syndrome_is_a_general_error_as_in_the_driver() -> None:
    cqe = read_error_cqe("00000000 00000077 0a000011 000000d2")
    assert cqe is not None
    assert cqe.status is WCStatus.GENERAL_ERR


def test_what_is_no_error_completion_is_not_read() -> None:
    for text in ("00000000 00000000 0a000011 00000002", "12345678 9abcdef0", "no dump"):
        assert read_error_cqe(text) is None


def test_vendor_codes_have_only_sourced_meanings() -> None:
    assert "with RETRY_EXC_ERR" in vendor_words(0x81)
    assert "by the mlx5 driver" in vendor_words(logs.PAGE_FAULT)
    assert "there is no public list" in vendor_words(1)
