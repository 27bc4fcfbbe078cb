"""`ibv_bind_mw`: what it refuses at once, what it does to the key, how a window is unbound."""

from errno import EINVAL, EPERM

import pytest

from tests.labs import refusal, well
from tests.windows import BOUND, does, lab_with, newest, reaches, window

BIND_1 = "bind_mw B.qp0 B.mw0 wr_id=90 bind=B.mr1[0:64] bind_access=REMOTE_WRITE flags=SIGNALED"
B_CQ = "B.cq0"


@pytest.mark.parametrize(
    ("kind", "line", "rule", "errno"),
    [
        (2, BIND_1, "bind-type", EINVAL),
        (1, BOUND, "bind-type", EINVAL),
        (1, "bind_mw B.qp0 B.mw0 bind_addr=0x1000", "bind-region", EINVAL),
        (1, "bind_mw B.qp0 B.mw0 bind_length=8", "bind-region", EINVAL),
        (1, BIND_1.replace("mr1", "mr2"), "bind-pd", EPERM),
        (1, BIND_1.replace("B.qp0", "B.qp1"), "send-state", EINVAL),
        (1, BIND_1.replace("B.qp0", "B.qp2"), "send-state", EINVAL),
        (2, BOUND.replace("mw=B.mw0", ""), "crash-mw", EINVAL),
        (2, f"{BOUND} sg=B.mr1[0:8]", "bind-data", EINVAL),
        (2, f"{BOUND} imm_data=1", "bind-data", EINVAL),
    ],
)
def test_bind_mw_refused_when_posted(kind: int, line: str, rule: str, errno: int) -> None:
    """And nothing happened: the window's key is the one it had."""
    made = "create_qp B.qp{} pd=B.pd0 qp_type={} send_cq=B.cq0 recv_cq=B.cq0"
    lab = lab_with(
        "alloc_pd B.pd1",
        "reg_mr B.mr2 pd=B.pd1 length=64 access=LOCAL_WRITE|MW_BIND",
        made.format(1, "RC"),
        made.format(2, "UD"),
        kind=kind,
    )
    rkey = window(lab).rkey
    refused = refusal(lab, line)
    assert (refused.rule, refused.errno) == (rule, errno)
    assert (refused.bad_wr is None) is line.startswith("bind_mw")
    assert window(lab).rkey == rkey


def test_bind_mw_rkey_is_known_at_once_and_valid_after_the_bind() -> None:
    lab = lab_with(kind=1)
    rkey = window(lab).rkey
    well(lab, BIND_1)
    assert window(lab).rkey == rkey + 1
    assert window(lab).binding is None
    well(lab, "run")
    assert newest(lab, 90, B_CQ) == "SUCCESS"
    assert reaches(lab, "remote=B.mw0") == "SUCCESS"


def test_a_second_bind_moves_the_window_and_invalidates_the_first_rkey() -> None:
    lab = lab_with(BIND_1, kind=1)
    old = window(lab).rkey
    assert does(lab, BIND_1.replace("0:64", "128:192"), 90, B_CQ) == "SUCCESS"
    assert reaches(lab, "remote=B.mw0[0]") == "SUCCESS"
    assert reaches(lab, f"remote=B.mr1[0] rkey={old:#x}") == "REM_ACCESS_ERR"


def test_bind_of_length_zero_unbinds_the_window() -> None:
    lab = lab_with(BIND_1, "bind_mw B.qp0 B.mw0", kind=1)
    assert window(lab).binding is None
    well(lab, "dereg_mr B.mr1")


def test_mw_type_1_is_not_zero_based() -> None:
    line = BIND_1.replace("REMOTE_WRITE", "REMOTE_WRITE|ZERO_BASED")
    assert does(lab_with(kind=1), line, 90, B_CQ) == "MW_BIND_ERR"
