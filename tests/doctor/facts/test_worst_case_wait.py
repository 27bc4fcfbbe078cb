"""How long it takes at the worst."""

import pytest

from rdmalab.doctor.facts.line import worst
from rdmalab.lab import Lab
from rdmalab.spec.profiles import RXE
from tests.doctor.asking import case_of
from tests.labs import RECV, SEND, lab_of, well


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ("timeout=14 retry_cnt=7", "RETRY_EXC_ERR after 8 * 67.11 ms = 536.9 ms"),
        ("timeout=1 retry_cnt=0", "RETRY_EXC_ERR after 1 * 8.192 us = 8.192 us"),
        ("timeout=0", "waits without limit (timeout=0)"),
    ],
)
def test_every_try_waits_once(options: str, text: str) -> None:
    (found,) = worst(case_of(lab_of(SEND, pair=f"use rc_pair {options}"), "A.qp0.wr[1]"))
    assert text in found


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ("rnr_retry=7 min_rnr_timer=0", "a retry every 655.4 ms, without limit"),
        ("rnr_retry=3 min_rnr_timer=1", "RNR_RETRY_EXC_ERR after 3 * 10 us = 30 us"),
    ],
)
def test_a_peer_without_a_receive_is_counted_apart(options: str, text: str) -> None:
    lab = lab_of(SEND, "run 3us", pair=f"use rc_pair {options}")
    assert text in worst(case_of(lab, "A.qp0.wr[1]"))[1]


def test_soft_roce_does_not_count_to_seven() -> None:
    lab = Lab({"A": RXE, "B": RXE})
    for line in ("use rc_pair", SEND):
        well(lab, line)
    assert "retries without limit (retry_cnt=7" in worst(case_of(lab, "A.qp0.wr[1]"))[0]


def test_worst_case_wait_not_for_uc_and_receives() -> None:
    assert worst(case_of(lab_of(SEND, pair="use uc_pair"), "A.qp0.wr[1]")) == []
    assert worst(case_of(lab_of(RECV), "B.qp0.recv_wr[2]")) == []
