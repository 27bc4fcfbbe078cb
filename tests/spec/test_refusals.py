"""What a responder refuses: against transport.md 10 and completions.md 9, row by row."""

import pytest

from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.profiles import PROFILES, RXE, STRICT
from rdmalab.spec.refusals import DROPS, REFUSALS, REQUESTER_STATUS, Syndrome
from rdmalab.spec.statuses import WCStatus

# name: what the requester completes with, the receive WQE in use, the event without one
PAIRS = {
    "opcode-order": (WCStatus.REM_INV_REQ_ERR, WCStatus.REM_INV_REQ_ERR, AsyncEvent.QP_REQ_ERR),
    "wrong-srq": (WCStatus.REM_INV_REQ_ERR, WCStatus.REM_INV_REQ_ERR, AsyncEvent.QP_REQ_ERR),
    "not-enabled": (WCStatus.REM_INV_REQ_ERR, WCStatus.REM_INV_REQ_ERR, AsyncEvent.QP_REQ_ERR),
    "no-depth": (WCStatus.REM_INV_REQ_ERR, WCStatus.REM_INV_REQ_ERR, AsyncEvent.QP_REQ_ERR),
    "too-deep": (WCStatus.REM_INV_REQ_ERR, WCStatus.REM_INV_REQ_ERR, AsyncEvent.QP_REQ_ERR),
    "length": (WCStatus.REM_INV_REQ_ERR, WCStatus.REM_INV_REQ_ERR, AsyncEvent.QP_REQ_ERR),
    "unaligned": (WCStatus.REM_INV_REQ_ERR, WCStatus.REM_INV_REQ_ERR, AsyncEvent.QP_REQ_ERR),
    "rkey": (WCStatus.REM_ACCESS_ERR, None, AsyncEvent.QP_ACCESS_ERR),
    "receive-short": (WCStatus.REM_INV_REQ_ERR, WCStatus.LOC_LEN_ERR, None),
    "receive-denied": (WCStatus.REM_OP_ERR, WCStatus.LOC_PROT_ERR, None),
    "cq-overrun": (WCStatus.REM_OP_ERR, None, None),
}


@pytest.mark.parametrize("name", PAIRS)
def test_a_fatal_refusal_is_reported_on_both_sides(name: str) -> None:
    row = REFUSALS[name]
    assert row.fatal
    assert row.syndrome is not None
    assert (REQUESTER_STATUS[row.syndrome], row.status, row.event) == PAIRS[name]


def test_all_others_leave_the_qp_alive() -> None:
    others = {name for name in REFUSALS if name not in PAIRS}
    assert [name for name in others if REFUSALS[name].fatal] == ["invalidate"]  # the peer succeeds
    assert {name for name in others if REFUSALS[name].syndrome is not None} == {
        "sequence-gap", "no-receive", "invalidate",
    }  # fmt: skip
    assert [name for name, row in REFUSALS.items() if row.once] == ["sequence-gap"]


def test_syndromes_have_their_numbers() -> None:
    names = ("ACK", "RNR_NAK", "NAK_SEQUENCE", "NAK_INVALID_REQUEST", "NAK_REMOTE_ACCESS",
             "NAK_REMOTE_OPERATION", "NAK_INVALID_RD_REQUEST")  # fmt: skip
    numbers = [0x00, 0x20, 0x60, 0x61, 0x62, 0x63, 0x64]
    assert {name: Syndrome[name] for name in names} == dict(zip(names, numbers, strict=True))


def test_soft_roce_refusals_of_receive_buffers() -> None:
    short, denied = RXE.refusals["receive-short"], RXE.refusals["receive-denied"]
    assert (short.syndrome, short.status) == (0x63, WCStatus.LOC_QP_OP_ERR)
    assert (denied.syndrome, denied.status) == (0x63, WCStatus.LOC_QP_OP_ERR)
    assert RXE.refusals["cq-overrun"] == STRICT.refusals["cq-overrun"]._replace(syndrome=None)
    key = RXE.refusals["rkey"]  # an RDMA WRITE with immediate takes its receive first
    assert (key.takes_receive, key.status) == (True, WCStatus.REM_ACCESS_ERR)
    same = set(REFUSALS) - {"receive-short", "receive-denied", "cq-overrun", "rkey"}
    assert all(RXE.refusals[name] == STRICT.refusals[name] for name in same)


def test_every_profile_knows_every_refusal() -> None:
    for profile in PROFILES.values():
        assert set(profile.refusals) == set(REFUSALS)


def test_silent_refusals_have_a_counter_of_their_name() -> None:
    silent = {name for name, row in REFUSALS.items() if row.syndrome is None or row.once}
    assert silent <= set(DROPS)
