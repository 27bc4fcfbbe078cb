"""completions.md, sections 1 to 3 and 9, row by row: each status, opcode and pair for real.

What nobody ever reports stands in NEVER, with the reason.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from rdmalab.lab import Lab
from rdmalab.spec.profiles import STRICT
from rdmalab.spec.statuses import STATUS, Side, WCStatus
from rdmalab.spec.work import WCFlags, WCOpcode, WROpcode
from rdmalab.wire.headers import AETH, RETH
from tests.doctor.asking import why
from tests.labs import well
from tests.services import inject, polled, raised, services, state, statuses, to
from tests.work_requests.book import lab_of
from tests.work_requests.book import recv as recv_of
from tests.work_requests.test_opcodes import binds as bind_first
from tests.work_requests.test_opcodes import posted as line_of

BOOK = (Path(__file__).parent / "data" / "completions.md").read_text("utf-8")
S, W = WCStatus, WCOpcode
RECV = "post_recv B.qp0 wr_id=2 sg=B.mr0[0:64]"
SHORT = "post_recv B.qp0 wr_id=2 sg=B.mr0[0:44]"
BAD_RECV = "post_recv B.qp0 wr_id=2 sg={addr=0x20000000 length=64 lkey=0xdead}"
BAD_GATHER = "post_send A.qp0 wr_id=1 opcode=SEND sg={addr=0x10000000 length=8 lkey=0xdead}"
SEND = "post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:60] flags=SIGNALED"
WRITE = "post_send A.qp0 wr_id=1 opcode=RDMA_WRITE sg=A.mr0[0:8] remote=B.mr0 flags=SIGNALED"
READ = "post_send A.qp0 wr_id=1 opcode=RDMA_READ sg=A.mr0[0:8] remote=B.mr0 flags=SIGNALED"
BAD_WRITE = "post_send A.qp0 wr_id=1 opcode=RDMA_WRITE sg=A.mr0[0:8] remote_addr=0 rkey=0xdead"
BAD_IMM = BAD_WRITE.replace("RDMA_WRITE", "RDMA_WRITE_WITH_IMM")
BAD_INV = "post_send A.qp0 wr_id=1 opcode=LOCAL_INV invalidate_rkey=0xdead"
ERR = "modify_qp A.qp0 state=ERR"


def section(number: int) -> str:
    return BOOK.partition(f"\n## {number}. ")[2].partition("\n## ")[0]


# --------------------------------------------------------------------------- 1. statuses
class Row(NamedTuple):
    """Lines after which wr 1 of A (S) or wr 2 of B (R) ends so; where both QPs are then."""

    status: WCStatus
    side: str
    qp_type: str
    lines: tuple[str, ...]
    states: str
    profile: str = "strict"
    peer: str = ""


ROWS = (
    Row(S.SUCCESS, "S", "RC", (RECV, SEND), "RTS RTS"),
    Row(S.SUCCESS, "S", "UC", (SEND,), "RTS RTS"),
    Row(S.SUCCESS, "S", "UD", (SEND,), "RTS RTS"),
    Row(S.SUCCESS, "R", "RC", (RECV, SEND), "RTS RTS"),
    Row(S.SUCCESS, "R", "UC", (RECV, SEND), "RTS RTS"),
    Row(S.SUCCESS, "R", "UD", ("post_recv B.qp0 wr_id=2 sg=B.mr0[0:128]", SEND), "RTS RTS"),
    Row(S.LOC_LEN_ERR, "S", "UD", (SEND.replace("0:60", "0:5000"),), "SQE RTS", "mlx5"),
    Row(S.LOC_LEN_ERR, "R", "RC", (SHORT, SEND), "ERR ERR", peer="REM_INV_REQ_ERR"),
    Row(S.LOC_LEN_ERR, "R", "UC", (SHORT, SEND), "RTS ERR", peer="SUCCESS"),
    Row(S.LOC_LEN_ERR, "R", "UD", (RECV, SEND), "RTS ERR", peer="SUCCESS"),
    Row(
        S.LOC_QP_OP_ERR,
        "S",
        "UD",
        ("alloc_pd A.pd1", "create_ah A.ah1 pd=A.pd1 to=B", SEND + " ah=A.ah1 remote_qpn=B.qp0"),
        "SQE RTS",
    ),
    Row(
        S.LOC_QP_OP_ERR,
        "S",
        "UD",
        ("alloc_pd A.pd1", "create_ah A.ah1 pd=A.pd1 to=B", SEND + " ah=A.ah1 remote_qpn=B.qp0"),
        "ERR RTS",
        "rxe",
    ),
    Row(S.LOC_QP_OP_ERR, "R", "RC", (SHORT, SEND), "ERR ERR", "rxe", peer="REM_OP_ERR"),
    Row(S.LOC_PROT_ERR, "S", "RC", (BAD_GATHER,), "ERR RTS"),
    Row(S.LOC_PROT_ERR, "S", "UC", (BAD_GATHER,), "SQE RTS"),
    Row(S.LOC_PROT_ERR, "S", "UD", (BAD_GATHER,), "SQE RTS"),
    Row(S.LOC_PROT_ERR, "R", "RC", (BAD_RECV, SEND), "ERR ERR", peer="REM_OP_ERR"),
    Row(S.LOC_PROT_ERR, "R", "UC", (BAD_RECV, SEND), "RTS ERR", peer="SUCCESS"),
    Row(
        S.LOC_PROT_ERR,
        "R",
        "UD",
        (BAD_RECV, SEND.replace("0:60", "0:8")),
        "RTS ERR",
        peer="SUCCESS",
    ),
    Row(S.WR_FLUSH_ERR, "S", "RC", (ERR, SEND), "ERR RTS"),
    Row(
        S.WR_FLUSH_ERR,
        "S",
        "UC",
        (BAD_GATHER.replace("wr_id=1", "wr_id=9"), "run", SEND),
        "SQE RTS",
    ),
    Row(S.WR_FLUSH_ERR, "R", "RC", (RECV, "modify_qp B.qp0 state=ERR"), "RTS ERR"),
    Row(S.LOC_ACCESS_ERR, "R", "RC", (RECV, BAD_IMM), "ERR ERR", "mlx5", peer="REM_ACCESS_ERR"),
    Row(S.MW_BIND_ERR, "S", "RC", (BAD_INV,), "ERR RTS"),
    Row(S.MW_BIND_ERR, "S", "UC", (BAD_INV,), "SQE RTS"),
    Row(S.LOC_QP_OP_ERR, "S", "RC", (BAD_INV,), "ERR RTS", "rxe"),
    Row(S.REM_INV_REQ_ERR, "S", "RC", (SHORT, SEND), "ERR ERR"),
    Row(S.REM_ACCESS_ERR, "S", "RC", (BAD_WRITE,), "ERR ERR"),
    Row(S.REM_OP_ERR, "S", "RC", (BAD_RECV, SEND), "ERR ERR"),
    Row(S.RETRY_EXC_ERR, "S", "RC", ("modify_qp B.qp0 state=RESET", SEND), "ERR RESET"),
    Row(S.RETRY_EXC_ERR, "S", "RC", ("fault drop B->A", WRITE), "ERR RTS"),
    Row(S.RNR_RETRY_EXC_ERR, "S", "RC", (SEND,), "ERR RTS"),
)
# fmt: on
INJECTED = {(S.BAD_RESP_ERR, "S"), (S.REM_INV_REQ_ERR, "R")}  # tests of their own, below

_RD = "reliable datagram, which no device offers"
NEVER = {
    S.LOC_EEC_OP_ERR: _RD, S.LOC_RDD_VIOL_ERR: _RD, S.REM_INV_RD_REQ_ERR: _RD,
    S.INV_EECN_ERR: _RD, S.INV_EEC_STATE_ERR: _RD, S.REM_ABORT_ERR: _RD,
    S.RESP_TIMEOUT_ERR: "no current driver reports it",
    S.FATAL_ERR: "only rxe, where a READ response answers another request; test_completer.py",
    S.GENERAL_ERR: "every failure here has a status of its own",
    S.TM_ERR: "tag matching is not emulated", S.TM_RNDV_INCOMPLETE: "tag matching is not emulated",
}  # fmt: skip


def test_every_status_of_the_table_has_a_row() -> None:
    rows = re.findall(r"^\| (\d+) \| (\w+) \| ([^|]+) \|", section(1), re.MULTILINE)
    lines = [WCStatus[name] for _, name, _ in rows]
    assert lines == list(WCStatus) == [WCStatus(int(number)) for number, _, _ in rows]
    assert [STATUS[status].text for status in lines] == [text for _, _, text in rows]
    had = {row.status for row in ROWS} | {status for status, _ in INJECTED}
    assert had | set(NEVER) == set(lines)
    assert not had & set(NEVER)


@pytest.mark.parametrize("status", [s for s in STATUS if s not in NEVER])
def test_a_status_is_had_on_each_side_it_may_stand_on(status: WCStatus) -> None:
    had = {row.side for row in ROWS if row.status is status}
    had |= {side for injected, side in INJECTED if injected is status}
    named = {Side.SEND: {"S"}, Side.RECV: {"R"}, Side.BOTH: {"S", "R"}}
    assert had == named[STATUS[status].side]


def carried_out(row: Row) -> Lab:
    lab = services(row.qp_type, row.profile)
    for line in row.lines:
        addressed = line.startswith("post_send") and "ah=" not in line
        lab.do(line + to(row.qp_type) if addressed else line)
        assert not lab.all_replies[-1].failed, (line, lab.all_replies[-1])
    lab.run()
    return lab


@pytest.mark.parametrize("row", ROWS, ids=lambda r: f"{r.status.name}-{r.side}-{r.qp_type}")
def test_a_status_comes_about(row: Row) -> None:
    lab = carried_out(row)
    sent, received = dict(statuses(lab, "A.cq0")), dict(statuses(lab, "B.cq1"))
    assert (sent if row.side == "S" else received)[1 if row.side == "S" else 2] == row.status.name
    assert f"{state(lab, 'A.qp0')} {state(lab, 'B.qp0')}" == row.states
    if row.peer:
        assert sent[1] == row.peer


def test_an_answer_that_does_not_fit() -> None:
    """The peer is unaware."""
    lab = services("RC", "strict", "fault drop B->A", READ, "step packet")
    inject(lab, "A", "RDMA_READ_RESPONSE_ONLY", 0, bytes(7), aeth=AETH(0x1F, 1))
    assert statuses(lab, "A.cq0") == [(1, "BAD_RESP_ERR")]
    assert (state(lab, "A.qp0"), state(lab, "B.qp0")) == ("ERR", "RTS")


@pytest.mark.parametrize(
    ("profile", "status"),
    [("strict", "BAD_RESP_ERR"), ("rxe", "FATAL_ERR"), ("mlx5", "BAD_RESP_ERR")],
)
def test_a_read_response_that_answers_a_send(profile: str, status: str) -> None:
    lab = services("RC", profile, "fault drop B->A", SEND, "step packet")
    inject(lab, "A", "RDMA_READ_RESPONSE_ONLY", 0, bytes(8), aeth=AETH(0x1F, 1))
    assert statuses(lab, "A.cq0") == [(1, status)]
    assert why(lab, "A.qp0.wr[1]").slug == "bad-resp"


def test_an_invalid_request_while_a_receive_is_in_use() -> None:
    """The receive carries the error, so there is no asynchronous event."""
    lab = services("RC", "strict", "post_recv B.qp0 wr_id=2 sg=B.mr0[0:1024]")
    inject(lab, "B", "SEND_FIRST", 0, bytes(256))
    inject(lab, "B", "RDMA_WRITE_ONLY", 1, b"", reth=RETH(0, 0, 0))
    lab.run()
    assert statuses(lab, "B.cq1") == [(2, "REM_INV_REQ_ERR")]
    assert raised(lab, "B") == []


# --------------------------------------------------------------------------- 2. opcodes
class Kind(NamedTuple):
    """What a WR completes with: its opcode and defined byte_len; the same and flags at the peer."""

    own: WCOpcode
    length: int | None
    peer: WCOpcode | None = None
    peer_length: int = 0
    flags: WCFlags = WCFlags(0)


_IMM = WCFlags.WITH_IMM
KINDS: dict[WROpcode, Kind] = {
    WROpcode.SEND: Kind(W.SEND, None, W.RECV, 60),
    WROpcode.SEND_WITH_IMM: Kind(W.SEND, None, W.RECV, 60, _IMM),
    WROpcode.RDMA_WRITE: Kind(W.RDMA_WRITE, None),
    WROpcode.RDMA_WRITE_WITH_IMM: Kind(W.RDMA_WRITE, None, W.RECV_RDMA_WITH_IMM, 60, _IMM),
    WROpcode.RDMA_READ: Kind(W.RDMA_READ, 60),
    WROpcode.ATOMIC_CMP_AND_SWP: Kind(W.COMP_SWAP, 8),
    WROpcode.ATOMIC_FETCH_AND_ADD: Kind(W.FETCH_ADD, 8),
}
# What takes a window, a header or rights of its own.
OTHERS: dict[WROpcode, Kind] = {
    WROpcode.SEND_WITH_INV: Kind(W.SEND, None, W.RECV, 60, WCFlags.WITH_INV),
    WROpcode.LOCAL_INV: Kind(W.LOCAL_INV, None),
    WROpcode.BIND_MW: Kind(W.BIND_MW, None),
    WROpcode.TSO: Kind(W.TSO, None, W.RECV, 114, WCFlags.IP_CSUM_OK),
    WROpcode.FLUSH: Kind(W.FLUSH, None),
    WROpcode.ATOMIC_WRITE: Kind(W.ATOMIC_WRITE, 8),
}
NO_WORK = {WROpcode.DRIVER1: "whatever a driver takes it for"}
NEVER_OPCODES = {
    W.TM_ADD, W.TM_DEL, W.TM_SYNC, W.TM_RECV, W.TM_NO_TAG, W.DRIVER1, W.DRIVER2, W.DRIVER3,
}  # fmt: skip


def test_every_opcode_of_the_table_has_a_row() -> None:
    by_name = dict(re.findall(r"\b([A-Z_]+\d?) (\d+)", section(2).partition("\n")[2]))
    assert {name: int(number) for name, number in by_name.items()} == {o.name: int(o) for o in W}
    assert {*KINDS, *OTHERS, *NO_WORK} == set(WROpcode)
    rows = [*KINDS.values(), *OTHERS.values()]
    had = {row.own for row in rows} | {row.peer for row in rows if row.peer is not None}
    assert had | NEVER_OPCODES == set(W)
    assert not had & NEVER_OPCODES


@pytest.mark.parametrize("opcode", OTHERS, ids=lambda o: o.name)
def test_what_windows_headers_and_persistence_complete_with(opcode: WROpcode) -> None:
    row, qp_type = OTHERS[opcode], "RAW_PACKET" if opcode is WROpcode.TSO else "RC"
    lab = lab_of(qp_type)
    line = line_of(lab, opcode.name, qp_type)
    bind_first(lab, opcode.name, qp_type)
    for each in ("poll_cq A.cq0 num_entries=9", recv_of(qp_type), line, "run"):
        well(lab, each)
    (own,) = polled(lab, "A.cq0")
    assert (own.opcode, own.status, own.byte_len) == (row.own, S.SUCCESS, row.length or 0)
    received = [(c.opcode, c.byte_len, c.wc_flags) for c in polled(lab, "B.cq1")]
    assert received == ([(row.peer, row.peer_length, row.flags)] if row.peer else [])


def posted(opcode: WROpcode) -> Iterator[str]:
    length = KINDS[opcode].length or 60
    yield RECV
    yield (
        f"post_send A.qp0 wr_id=1 opcode={opcode.name} sg=A.mr0[0:{length}] remote=B.mr0[64] "
        "imm_data=7 flags=SIGNALED"
    )
    yield "run"


@pytest.mark.parametrize("soft", [False, True], ids=["strict", "rxe"])
@pytest.mark.parametrize("opcode", KINDS, ids=lambda o: o.name)
def test_what_a_work_request_completes_with(opcode: WROpcode, soft: bool) -> None:
    lab, row = services("RC", "rxe" if soft else "strict", *posted(opcode)), KINDS[opcode]
    has_imm = "IMM" in opcode.name
    undefined = lab.look("A.cq0.next.byte_len") if soft else 0
    (own,) = polled(lab, "A.cq0")
    assert (own.opcode, own.byte_len) == (row.own, row.length or undefined)
    assert own.wc_flags == (_IMM if soft and has_imm else 0)
    assert undefined == (row.length or 60 if soft else 0)
    received = polled(lab, "B.cq1")
    if row.peer is None:
        assert received == []
        return
    flags = row.flags | (WCFlags.GRH if soft else 0)
    (cqe,) = received
    assert (cqe.opcode, cqe.byte_len, cqe.wc_flags) == (row.peer, row.peer_length, flags)
    assert (cqe.imm_data, cqe.src_qp) == (7 if has_imm else 0, 0)


# --------------------------------------------------------------------------- 3. fields
def test_an_error_leaves_four_fields() -> None:
    lab = services("RC", "strict", SHORT, SEND, "run")
    for cqe, wr_id in ((polled(lab, "A.cq0")[0], 1), (polled(lab, "B.cq1")[0], 2)):
        assert (cqe.wr_id, cqe.qp_num, cqe.vendor_err) == (wr_id, 0x11, 0x80 | cqe.status)
        assert cqe.opcode == cqe.byte_len == STRICT.junk_on_error
    soft = services("RC", "rxe", SHORT, SEND, "run")
    assert {(c.opcode, c.byte_len) for c in polled(soft, "A.cq0")} == {(0, 0)}


def test_completion_of_a_datagram_has_src_qp_grh_and_40_bytes_more() -> None:
    lab = services(
        "UD", "strict", "post_recv B.qp0 wr_id=2 sg=B.mr0[0:128]", SEND + to("UD"), "run"
    )
    (cqe,) = polled(lab, "B.cq1")
    assert (cqe.src_qp, cqe.byte_len, cqe.wc_flags) == (0x11, 100, WCFlags.GRH)


# --------------------------------------------------------------------------- 9. pairs
# test: lines, requester, its state, responder, its state, event there; lines and names of the book
PAIRS: dict[str, tuple[tuple[str, ...], str, list[tuple[int, str]], str, str]] = {
    "SEND, no RR, rnr_retry<7": ((SEND,), "RNR_RETRY_EXC_ERR", [], "RTS", ""),
    "SEND longer than RR": (
        (SHORT, "post_recv B.qp0 wr_id=3 sg=B.mr0[0:64]", SEND), "REM_INV_REQ_ERR",
        [(2, "LOC_LEN_ERR"), (3, "WR_FLUSH_ERR")], "ERR", "",
    ),
    "SEND into RR with bad lkey": (
        (BAD_RECV, SEND), "REM_OP_ERR", [(2, "LOC_PROT_ERR")], "ERR", "",
    ),
    "WRITE with bad rkey": (
        (RECV, BAD_WRITE), "REM_ACCESS_ERR", [(2, "WR_FLUSH_ERR")], "ERR", "QP_ACCESS_ERR",
    ),
    "READ without QP permission": ((READ,), "REM_INV_REQ_ERR", [], "ERR", "QP_REQ_ERR"),
    "local gather with bad lkey": ((RECV, BAD_GATHER), "LOC_PROT_ERR", [], "RTS", ""),
    "peer QP destroyed": (("destroy_qp B.qp0", SEND), "RETRY_EXC_ERR", [], "", ""),
}  # fmt: skip


def test_every_pair_of_the_table_has_a_row() -> None:
    rows = [line.split("|")[1].strip() for line in section(9).splitlines() if line[:2] == "| "]
    assert rows[1:] == list(PAIRS)


@pytest.mark.parametrize("test", PAIRS)
def test_both_ends_of_an_error(test: str) -> None:
    lines, requester, responder, peer_state, event = PAIRS[test]
    rights = "0" if "permission" in test else "REMOTE_WRITE"
    lab = services("RC", "strict", *lines, "run", rights=rights)
    assert statuses(lab, "A.cq0") == [(1, requester)]
    assert state(lab, "A.qp0") == "ERR"
    assert statuses(lab, "B.cq1") == responder
    assert peer_state == (state(lab, "B.qp0") if peer_state else "")
    assert [e.name for e in raised(lab, "B")] == ([event] if event else [])
    assert raised(lab, "A") == []
