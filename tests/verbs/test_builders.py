"""Builders for windows, persistent memory, cut-up streams and XRC: what each makes of a request."""

from typing import Any

import pytest

from rdmalab.lab import Lab
from rdmalab.spec.records import Kind
from rdmalab.spec.work import Placement, WCFlags
from tests.covers import covers
from tests.labs import refusal, seen, trip, well
from tests.raw import tcp_frame

_MADE = "create_qp_ex {0}.qx0 pd={0}.pd0 qp_type={1} send_cq={0}.cq0 recv_cq={0}.cq0"
_RIGHTS = "LOCAL_WRITE|REMOTE_WRITE|REMOTE_READ|REMOTE_ATOMIC|MW_BIND|FLUSH_GLOBAL"
HEADERS = tcp_frame()
HEADER_WRITTEN = 'write A.mr0[0:54] "' + "".join(f"\\x{octet:02x}" for octet in HEADERS) + '"'
PUT = "wr_atomic_write A.qx0 remote=B.mr1[8]"
SGE = "wr_set_sge A.qx0 sg=A.mr1[0:16]"


def lab_with(*lines: str) -> Lab:
    """A.qx0 and B.qx0, connected; a region that all may be done to, and a bound window of B."""
    lab = Lab()
    well(lab, "use rc_pair")
    for node in "AB":
        well(lab, f"reg_mr {node}.mr1 pd={node}.pd0 length=4096 access={_RIGHTS}")
        well(lab, f"alloc_mw {node}.mw0 pd={node}.pd0 type=TYPE_2")
        well(lab, _MADE.format(node, "RC") + " send_ops_flags=0x1bff")
    well(lab, "connect A.qx0 B.qx0 qp_access_flags=REMOTE_WRITE|FLUSH_GLOBAL")
    for line in lines:
        well(lab, line)
    return lab


def batch(lab: Lab, *lines: str, node: str = "A") -> None:
    for line in (f"wr_start {node}.qx0", *lines, f"wr_complete {node}.qx0", "run"):
        well(lab, line)


def done(lab: Lab, cq: str = "A.cq0") -> list[tuple[int, str, str]]:
    found = well(lab, f"poll_cq {cq} num_entries=16").value
    return [(c.wr_id, getattr(c.opcode, "name", "junk"), c.status.name) for c in found]


def bound(node: str = "B") -> str:
    return (
        f"wr_bind_mw {node}.qx0 mw={node}.mw0 bind={node}.mr1[64:128] bind_access=REMOTE_WRITE "
        "wr_id=1 wr_flags=SIGNALED"
    )


def test_wr_bind_mw_and_wr_local_inv() -> None:
    lab = lab_with()
    batch(lab, bound(), node="B")
    assert done(lab, "B.cq0") == [(1, "BIND_MW", "SUCCESS")]
    batch(lab, "wr_rdma_write A.qx0 remote=B.mw0 wr_flags=SIGNALED wr_id=2", SGE)
    batch(lab, "wr_local_inv B.qx0 invalidate_rkey=B.mw0 wr_id=3", node="B")
    batch(lab, "wr_rdma_write A.qx0 remote=B.mw0 wr_id=4", SGE)
    assert done(lab, "B.cq0")[0] == (3, "LOCAL_INV", "SUCCESS")
    assert [row[2] for row in done(lab)] == ["SUCCESS", "REM_ACCESS_ERR"]


@covers("S131")
@pytest.mark.parametrize("build", ["wr_bind_mw", "wr_local_inv"])
def test_wr_set_sge_is_refused_where_no_bytes_move(build: str) -> None:
    line = bound() if build == "wr_bind_mw" else "wr_local_inv B.qx0 invalidate_rkey=B.mw0"
    lab = lab_with("wr_start B.qx0", line, "wr_set_sge B.qx0 sg=B.mr1[0:8]")
    assert refusal(lab, "wr_complete B.qx0").rule == "setter-data"


def test_wr_bind_mw_takes_the_rkey_it_is_given() -> None:
    lab = lab_with()
    key = lab.look("B.mw0.rkey") + 7
    batch(lab, f"{bound()} mw_rkey={key}", node="B")
    assert lab.look("B.mw0.rkey") == key


def test_wr_send_inv_invalidates_the_window_of_the_peer() -> None:
    lab = lab_with("post_recv B.qx0 wr_id=9 sg=B.mr1[0:64]")
    batch(lab, bound(), node="B")
    batch(lab, "wr_send_inv A.qx0 invalidate_rkey=B.mw0 wr_id=2 wr_flags=SIGNALED", SGE)
    assert done(lab) == [(2, "SEND", "SUCCESS")]
    (_, arrived) = well(lab, "poll_cq B.cq0 num_entries=2").value
    assert arrived.wc_flags == WCFlags.WITH_INV
    assert len(seen(lab, Kind.WINDOW_INVALIDATED, "B")) == 1


def test_wr_atomic_write_copies_eight_bytes_and_takes_no_setter() -> None:
    lab = lab_with('write A.mr0[0:8] "earlier!"', "wr_start A.qx0")
    for line in (
        f"{PUT} atomic_wr=A.mr0[0] wr_id=1 wr_flags=SIGNALED",
        'write A.mr0[0:8] "too late"', "wr_complete A.qx0", "run",
    ):  # fmt: skip
        well(lab, line)
    assert (lab.look("B.mr1[8:16]"), done(lab)) == (b"earlier!", [(1, "ATOMIC_WRITE", "SUCCESS")])
    for line in ("wr_start A.qx0", f"{PUT} atomic_wr=A.mr0[0]", SGE):
        well(lab, line)
    assert refusal(lab, "wr_complete A.qx0").rule == "setter-data"


def test_wr_atomic_write_of_an_unmapped_pointer() -> None:
    lab = lab_with("wr_start A.qx0")
    well(lab, f"{PUT} atomic_wr={{addr=0x10 length=8}}")
    assert refusal(lab, "wr_complete A.qx0").rule == "crash-inline"


def test_wr_flush_type_and_level() -> None:
    lab = lab_with()
    batch(lab, "wr_flush A.qx0 remote=B.mr1[8:72] flush_type=GLOBAL wr_id=1 wr_flags=SIGNALED")
    assert done(lab) == [(1, "FLUSH", "SUCCESS")]
    ((_, wr, _),) = seen(lab, Kind.WR_BUILT, "A")
    assert (wr.flush_length, wr.flush_type, wr.sg) == (64, Placement.GLOBAL, [])


def test_wr_send_tso_is_segmented_after_its_header() -> None:
    lab = Lab()
    for line in (
        "use rc_pair", _MADE.format("A", "RAW_PACKET") + " send_ops_flags=TSO max_tso_header=54",
        "modify_qp A.qx0 state=INIT port_num=1", "modify_qp A.qx0 state=RTR",
        "modify_qp A.qx0 state=RTS", HEADER_WRITTEN,
        "wr_start A.qx0", "wr_send_tso A.qx0 hdr=A.mr0[0:54] mss=100 wr_id=1 wr_flags=SIGNALED",
        "wr_set_sge A.qx0 sg=A.mr0[100:350]", "wr_complete A.qx0",
    ):  # fmt: skip
        well(lab, line)
    trip(lab, "run")
    frames = [packet.payload for _, packet, _ in seen(lab, Kind.PACKET_SENT, "A")]
    assert [len(frame) - 54 for frame in frames] == [100, 100, 50]
    assert done(lab) == [(1, "TSO", "SUCCESS")]


def xrc(*lines: str, more: str = "") -> Lab:
    lab = Lab()
    for line in (
        "use rc_pair", "open_xrcd B.xrcd0 oflag=O_CREAT", "create_cq B.cq1 cqe=16",
        "create_srq_ex B.srq0 pd=B.pd0 srq_type=XRC xrcd=B.xrcd0 cq=B.cq1 max_wr=8",
        "post_srq_recv B.srq0 wr_id=5 sg=B.mr0[0:64]",
        "create_qp_ex A.qx0 pd=A.pd0 qp_type=XRC_SEND send_cq=A.cq0 send_ops_flags=SEND",
        f"create_qp_ex B.qx0 qp_type=XRC_RECV xrcd=B.xrcd0{more}", "connect A.qx0 B.qx0",
        "wr_start A.qx0", "wr_send A.qx0 wr_id=1 wr_flags=SIGNALED",
        "wr_set_sge A.qx0 sg=A.mr0[0:8]", *lines,
    ):  # fmt: skip
        well(lab, line)
    return lab


def test_wr_set_xrc_srqn_is_in_the_packet() -> None:
    lab = xrc("wr_set_xrc_srqn A.qx0 remote_srqn=B.srq0", "wr_complete A.qx0", "run")
    assert done(lab) == [(1, "SEND", "SUCCESS")]
    assert done(lab, "B.cq1") == [(5, "RECV", "SUCCESS")]
    refused = refusal(xrc(), "wr_complete A.qx0")
    assert refused.rule == "setter-missing"
    assert "wr_set_xrc_srqn" in refused.message


@pytest.mark.parametrize(
    ("comp_mask", "rule"),
    [("PD|SEND_OPS_FLAGS|MAX_TSO_HEADER", ""), ("PD|SEND_OPS_FLAGS", "tso-header-length")],
)
def test_create_qp_ex_reads_what_comp_mask_names(comp_mask: str, rule: str) -> None:
    made = f"{_MADE.format('A', 'RAW_PACKET')} send_ops_flags=TSO max_tso_header=54"
    lab = Lab()
    states: tuple[Any, ...] = ("INIT port_num=1", "RTR", "RTS")
    for line in ("use rc_pair", f"{made} comp_mask={comp_mask}"):
        well(lab, line)
    for state in states:
        well(lab, f"modify_qp A.qx0 state={state}")
    well(lab, HEADER_WRITTEN)
    for line in ("wr_start A.qx0", "wr_send_tso A.qx0 hdr=A.mr0[0:54] mss=100"):
        well(lab, line)
    replies = lab.do("wr_complete A.qx0")[-1].refusal
    assert (replies.rule if replies else "") == rule


def test_wr_local_inv_of_a_region_is_mw_bind_err() -> None:
    lab = lab_with()
    batch(lab, "wr_local_inv A.qx0 invalidate_rkey=A.mr1 wr_id=1")
    assert done(lab) == [(1, "junk", "MW_BIND_ERR")]
