"""Vendor error codes: one table, which completions and `explain` both read."""

import pytest

from rdmalab.guide import logs
from rdmalab.lab import Lab
from rdmalab.spec.c_names import full_name
from rdmalab.spec.profiles import MLX5, PROFILES, STRICT
from rdmalab.spec.statuses import STATUS, WCStatus
from rdmalab.spec.vendor_errors import CONNECTX, CONNECTX_CODES, LKEY, LOCAL_WRITE, RANGE, SEEN_WITH
from tests.labs import well

GIVEN = [status for status, row in STATUS.items() if status and row.side]


def test_each_code_stands_beside_one_status() -> None:
    assert len(SEEN_WITH) == sum(len(codes) for codes in CONNECTX.values())
    assert {SEEN_WITH[code] for code in (LKEY, RANGE, LOCAL_WRITE)} == {WCStatus.LOC_PROT_ERR}


@pytest.mark.parametrize("status", GIVEN)
def test_explain_names_the_status_that_mlx5_gives_a_code_with(status: WCStatus) -> None:
    codes = {MLX5.vendor_errors.code(status), *CONNECTX.get(status, ())}
    for code in codes:
        found = logs.read(f"status={int(status)} vendor_err={code}", [])
        assert found is not None
        assert found.word == full_name(status)
        text = " ".join(found.facts)
        if code:
            assert f"on ConnectX, reports show it with {status.name}" in text
        else:
            assert "none is known for this status" in text


@pytest.mark.parametrize("status", GIVEN)
def test_explain_names_the_status_that_strict_gives_a_code_with(status: WCStatus) -> None:
    code = STRICT.vendor_errors.code(status)
    assert f"profile strict returns it with {status.name}" in logs.vendor_words(code)


def test_the_codes_that_were_measured() -> None:
    code = CONNECTX_CODES.code
    assert [code(s) for s in (WCStatus.REM_ACCESS_ERR, WCStatus.REM_INV_REQ_ERR,
                              WCStatus.RETRY_EXC_ERR, WCStatus.RNR_RETRY_EXC_ERR,
                              WCStatus.WR_FLUSH_ERR)] == [0x88, 0x8A, 0x81, 0x87, 0xF5]  # fmt: skip
    assert {profile.vendor_errors.code(WCStatus.LOC_LEN_ERR) for profile in PROFILES.values()} == {
        0, 0x81,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("opcode=SEND sg=A.mr0[0:5000]", 0x53),
        ("opcode=SEND sg={addr=0x10000000 length=8 lkey=0xdead}", 0x52),
        ("opcode=RDMA_READ sg=A.ro[0:8] remote=B.mr0[0]", 0x33),
        ("opcode=SEND sg=A.other[0:8]", 0x51),
        ("opcode=RDMA_WRITE sg=A.mr0[0:8] remote_addr=0 rkey=0xbad", 0x88),
    ],
)
def test_a_failed_request_of_mlx5_has_the_code_of_its_check(line: str, code: int) -> None:
    lab = Lab(profile="mlx5")
    setup = (
        "use rc_pair", "alloc_pd A.pd9", "reg_mr A.other pd=A.pd9 length=64 access=LOCAL_WRITE",
        "reg_mr A.ro pd=A.pd0 length=64 access=0", "post_recv B.qp0 sg=B.mr0[0:64]",
    )  # fmt: skip
    for each in (*setup, f"post_send A.qp0 wr_id=1 {line} flags=SIGNALED"):
        well(lab, each)
    lab.do("run")
    assert lab.look("A.cq0.last.vendor_err") == code
    status = WCStatus[lab.look("A.cq0.last.status").name]
    found = logs.read(f"status={int(status)} vendor_err={code}", [])
    assert found is not None
    assert f"with {status.name}" in " ".join(found.facts)
