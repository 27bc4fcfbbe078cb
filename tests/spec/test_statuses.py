"""Statuses: the numbers and texts of libibverbs, and who can see which."""

from rdmalab.spec.statuses import STATUS, Side, WCStatus

# enum ibv_wc_status in order, with ibv_wc_status_str()
VERBS_H = [
    ("SUCCESS", "success"),
    ("LOC_LEN_ERR", "local length error"),
    ("LOC_QP_OP_ERR", "local QP operation error"),
    ("LOC_EEC_OP_ERR", "local EE context operation error"),
    ("LOC_PROT_ERR", "local protection error"),
    ("WR_FLUSH_ERR", "Work Request Flushed Error"),
    ("MW_BIND_ERR", "memory management operation error"),
    ("BAD_RESP_ERR", "bad response error"),
    ("LOC_ACCESS_ERR", "local access error"),
    ("REM_INV_REQ_ERR", "remote invalid request error"),
    ("REM_ACCESS_ERR", "remote access error"),
    ("REM_OP_ERR", "remote operation error"),
    ("RETRY_EXC_ERR", "transport retry counter exceeded"),
    ("RNR_RETRY_EXC_ERR", "RNR retry counter exceeded"),
    ("LOC_RDD_VIOL_ERR", "local RDD violation error"),
    ("REM_INV_RD_REQ_ERR", "remote invalid RD request"),
    ("REM_ABORT_ERR", "aborted error"),
    ("INV_EECN_ERR", "invalid EE context number"),
    ("INV_EEC_STATE_ERR", "invalid EE context state"),
    ("FATAL_ERR", "fatal error"),
    ("RESP_TIMEOUT_ERR", "response timeout error"),
    ("GENERAL_ERR", "general error"),
    ("TM_ERR", "TM error"),
    ("TM_RNDV_INCOMPLETE", "TM software rendezvous"),
]


def test_numbers_and_texts_are_those_of_libibverbs() -> None:
    ours = [(status.name, STATUS[status].text) for status in sorted(WCStatus)]
    assert ours == VERBS_H
    assert [status.value for status in WCStatus] == list(range(24))


def test_what_only_the_far_end_can_cause_never_stands_on_a_receive() -> None:
    only_sender = {
        WCStatus.MW_BIND_ERR,
        WCStatus.BAD_RESP_ERR,
        WCStatus.REM_ACCESS_ERR,
        WCStatus.REM_OP_ERR,
        WCStatus.RETRY_EXC_ERR,
        WCStatus.RNR_RETRY_EXC_ERR,
    }
    assert {s for s, row in STATUS.items() if row.side is Side.SEND} == only_sender


def test_statuses_of_things_not_emulated_stand_on_no_completion() -> None:
    never = {s for s, row in STATUS.items() if row.side is Side.NEITHER}
    assert {s.value for s in never} == {3, 14, 15, 17, 18, 20, 22, 23}


def test_a_receive_can_be_cut_short_by_its_own_and_the_peers_fault() -> None:
    for status in (WCStatus.LOC_LEN_ERR, WCStatus.LOC_PROT_ERR, WCStatus.REM_INV_REQ_ERR):
        assert Side.RECV in STATUS[status].side


def test_every_status_says_why() -> None:
    assert all(row.cause for row in STATUS.values())
