"""Statuses: what the tables know stands in the article."""

import pytest

from rdmalab.spec.refusals import REFUSALS
from rdmalab.spec.statuses import STATUS, WCStatus
from tests.each import each
from tests.guide.saying import article_text, row


@each("status", WCStatus)
def test_a_status_says_what_its_row_says(status: WCStatus) -> None:
    text = article_text(f"IBV_WC_{status.name}")
    assert all(part in text for part in (*STATUS[status][0:1], STATUS[status].cause))
    assert STATUS[status].peer in text


@each("status", WCStatus)
def test_name_number_and_text_lead_to_the_same(status: WCStatus) -> None:
    full = article_text(f"IBV_WC_{status.name}")
    assert article_text(STATUS[status].text).startswith(full[:30])
    assert article_text(f"status {int(status)}") == full
    assert article_text(status.name.lower()).startswith(full[:30])


@pytest.mark.parametrize("name", [n for n, r in REFUSALS.items() if r.status is not None])
def test_refusals_stand_at_the_status_they_give(name: str) -> None:
    status = REFUSALS[name].status
    assert status is not None
    assert name in row(f"IBV_WC_{status.name}", "receiver")


def test_the_sender_reads_what_the_peer_refused() -> None:
    assert row("REM_ACCESS_ERR", "wire") == "NAK_REMOTE_ACCESS 0x62 comes"
    assert row("REM_ACCESS_ERR", "who").endswith("after a NAK_REMOTE_ACCESS 0x62")
    assert "rkey: the R_Key" in row("REM_ACCESS_ERR", "refusals")
    assert "not-enabled" in row("REM_INV_REQ_ERR", "refusals")


def test_a_failed_remote_invalidate_is_named() -> None:
    assert "no bound type 2 window" in row("REM_INV_REQ_ERR", "means")
    assert "SEND_WITH_INV" in row("REM_INV_REQ_ERR", "peer")
    assert "show mw B.mw0" in row("REM_INV_REQ_ERR", "look at")


def test_the_state_after() -> None:
    assert row("SUCCESS", "QP after") == "unchanged"
    assert row("RNR_RETRY_EXC_ERR", "QP after") == "send: ERR (RC XRC_SEND)"
    assert "SQE (UC UD RAW_PACKET); rxe: always ERR" in row("LOC_PROT_ERR", "QP after")
    assert row("TM_ERR", "QP after") == ""


def test_profiles_that_say_it_otherwise() -> None:
    assert "rxe, receive-short: LOC_QP_OP_ERR / REM_OP_ERR" in row("LOC_LEN_ERR", "profiles")
    assert "rxe, unknown lkey: LOC_QP_OP_ERR" in row("LOC_QP_OP_ERR", "profiles")


def test_causes_are_ranked_with_the_command_that_tests_each() -> None:
    assert row("IBV_WC_RNR_RETRY_EXC_ERR", "look at").startswith(
        "1. the peer posted no receive, or too few (no-rr): show rq B.qp0"
    )
