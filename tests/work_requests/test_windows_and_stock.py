"""Sections 7, 8 and 9: invalidation, TSO, and shared receive queues."""

import pytest

from rdmalab.lab import Lab
from rdmalab.spec.records import Kind
from tests.labs import seen, well
from tests.raw import tcp_frame
from tests.services import MOVES
from tests.sharing import raised, shared, stock, takers
from tests.work_requests.book import (
    Case,
    bullets,
    forgotten,
    lab_of,
    named,
    octets,
    play,
    recv,
    section,
)

W = "wr_id=1 flags=SIGNALED"
BOUND = ("alloc_mw {0}.mw0 pd={0}.pd0 type=TYPE_2",
         "post_send {0}.qp0 wr_id=8 opcode=BIND_MW mw={0}.mw0 bind={0}.mr1[0:64] "
         "bind_access=REMOTE_WRITE flags=SIGNALED", "run", "poll_cq {0}.cq0")  # fmt: skip
MINE, THEIRS = (tuple(line.format(node) for line in BOUND) for node in "AB")
LOCAL = f"post_send A.qp0 {W} opcode=LOCAL_INV invalidate_rkey="
SEND = f"post_send A.qp0 {W} opcode=SEND_WITH_INV sg=A.mr0[0:8] invalidate_rkey="
OK = "A.cq0.last.status == SUCCESS"
REFUSED = {"strict": "MW_BIND_ERR", "rxe": "LOC_QP_OP_ERR", "mlx5": "MW_BIND_ERR"}
TYPE_1 = ("alloc_mw A.mw1 pd=A.pd0 type=TYPE_1",
          "bind_mw A.qp0 A.mw1 bind=A.mr1[0:64] bind_access=REMOTE_WRITE", "run")  # fmt: skip

# fmt: off
INVALIDATES = [
    *[Case("LOCAL_INV(rkey)", (*MINE, LOCAL + "A.mw0", "run", *MINE[1:3]),
           (OK, "A.mw0.state == BOUND"), "RC", device) for device in REFUSED],
    *[Case("LOCAL_INV(rkey)", (LOCAL + "A.mr1", "run"),
           (f"A.cq0.last.status == {status}", "A.qp0.state == ERR"), "RC", device)
      for device, status in REFUSED.items()],
    Case("LOCAL_INV(rkey)", (*TYPE_1, LOCAL + "A.mw1", "run"),
         ("A.cq0.last.status == MW_BIND_ERR", "A.qp0.state == ERR")),
    *[Case("SEND_WITH_INV:", (*THEIRS, recv("RC"), SEND + "B.mw0", "run"),
           (OK, "B.cq1.last.status == SUCCESS", f"B.cq1.last.wc_flags == {flags}",
            "B.mw0.state == FREE"), "RC", device)
      for device, flags in (("strict", 8), ("rxe", 5))],
    *[Case("SEND_WITH_INV:", (recv("RC"), SEND + "B.mr1", "run"),
           (OK, "A.qp0.state == RTS", "B.cq1.last.status == REM_INV_REQ_ERR",
            "B.qp0.state == ERR"), "RC", device) for device in ("strict", "rxe")],
]
# fmt: on


def test_every_bullet_of_invalidation_has_a_case() -> None:
    assert not forgotten(7, INVALIDATES)


@pytest.mark.parametrize("case", INVALIDATES, ids=named)
def test_a_key_made_void(case: Case) -> None:
    play(case)


# --------------------------------------------------------------------------- 8. TSO
FRAME = tcp_frame()
TSO = f"post_send A.qp0 {W} opcode=TSO sg=A.mr0[0:250] hdr=A.mr0[4096:{4096 + len(FRAME)}] mss="
# sentence of the book → lines
CUT = {
    "hdr_sz <= max_tso_header": (TSO.replace(str(4096 + len(FRAME)), "4161") + "100 => EINVAL",),
    "mss > 0": (TSO + "0 => EINVAL",),
    "SGE data cut into mss pieces": (TSO + "100", "run"),
}


def test_every_rule_of_tso_is_played() -> None:
    assert all(rule in section(8) for rule in CUT)
    for lines in CUT.values():
        filled = f"write A.mr0[4096:{4096 + len(FRAME)}] {octets(FRAME)}"
        lab = play(Case("", (filled, *lines), (), "RAW_PACKET"))
    frames = [packet.payload for _, packet, _ in seen(lab, Kind.PACKET_SENT, "A")]
    assert [len(frame) for frame in frames] == [len(FRAME) + n for n in (100, 100, 50)]
    assert len({bytes(frame[38:42]) for frame in frames}) == 3  # TCP sequence numbers


@pytest.mark.parametrize("qp_type", ["RC", "UC"])
def test_tso_is_for_datagrams_and_frames(qp_type: str) -> None:
    play(Case("", (TSO + "100 => EINVAL",), (), qp_type))


def test_soft_roce_has_no_tso() -> None:
    lab = lab_of("UD", "rxe")
    well(lab, TSO + "100 ah=A.ah0 remote_qpn=B.qp0 remote_qkey=273")
    well(lab, "run")
    assert lab.look("A.cq0.last.status == LOC_QP_OP_ERR")


# --------------------------------------------------------------------------- 9. SRQ
def one_fifo() -> None:
    lab = shared()
    stock(lab, 1, 2, 3)
    for qp in ("A.qp2", "A.qp1", "A.qp2"):
        well(lab, f"post_send {qp} wr_id=1 opcode=SEND")
        well(lab, "run")
    assert [wr_id for _, wr_id in takers(lab)] == [1, 2, 3]


def fetched_first() -> None:
    """At the first packet of a SEND, the last of a WRITE; a death completes it, for that one QP."""
    lab = shared("post_send A.qp1 wr_id=1 opcode=RDMA_WRITE sg=A.mr0[0:64] remote=B.mr0[0]")
    stock(lab, 1, 2, length=4096)
    well(lab, "fault drop A->B opcode=SEND_LAST")
    well(lab, "post_send A.qp1 wr_id=2 opcode=SEND sg=A.mr0[0:3000]")
    well(lab, "step packet 12")
    assert [wr_id for _, wr_id in takers(lab)] == [1]
    well(lab, "modify_qp B.qp1 state=ERR")
    done = well(lab, "poll_cq B.cq0 num_entries=4").value
    assert [(cqe.wr_id, cqe.status.name) for cqe in done] == [(1, "WR_FLUSH_ERR")]


def in_state(state: str) -> Lab:
    """B.qp1 there, one receive in stock, and a message of A.qp1 under way."""
    lab = shared(qps=1, qp_type="UC" if state == "SQE" else "RC")
    stock(lab, 1)
    if state in ("INIT", "RTR"):
        well(lab, "reset A.qp1")
        well(lab, "reset B.qp1")
        for node, other, far in (("A", "B", 3), ("B", "A", 1 if state == "INIT" else 2)):
            for move in MOVES["RC"][:far]:
                text = move.format(peer=f"{other}.qp1", other=other, rights=0)
                well(lab, f"modify_qp {node}.qp1 {text}")
    elif state == "SQE":
        well(lab, "post_send B.qp1 opcode=SEND sg={addr=0 length=8 lkey=0xdead}")
        well(lab, "run")
    elif state != "RTS":
        well(lab, f"modify_qp B.qp1 state={state}")
    well(lab, "post_send A.qp1 wr_id=1 opcode=SEND")
    well(lab, "run")
    assert lab.look(f"B.qp1.state == {state}")
    return lab


def states_that_fetch() -> None:
    """What still lies there when a queue pair dies is flushed by nobody."""
    for state in ("RESET", "INIT", "ERR"):
        lab = in_state(state)
        assert (takers(lab), lab.look("B.srq0.used")) == ([], 1), state
    for state in ("RTR", "RTS", "SQD", "SQE"):
        assert len(takers(in_state(state))) == 1, state


def last_wqe() -> None:
    lab = shared("modify_qp B.qp1 state=ERR")
    assert raised(lab).count("QP_LAST_WQE_REACHED") == 1


def limit() -> None:
    lab = shared("modify_srq B.srq0 srq_limit=2")
    stock(lab, 1, 2)
    well(lab, "post_send A.qp1 wr_id=1 opcode=SEND")
    well(lab, "run")
    assert raised(lab) == ["SRQ_LIMIT_REACHED"]


def wr_ids() -> None:
    lab = shared()
    stock(lab, 77)
    well(lab, "post_send A.qp2 wr_id=1 opcode=SEND")
    well(lab, "run")
    (cqe,) = well(lab, "poll_cq B.cq0").value
    assert (cqe.wr_id, cqe.qp_num) == (77, lab.look("B.qp2.qp_num"))


def rnr() -> None:
    lab = shared(qps=1, connect="rnr_retry=1")
    well(lab, "post_send A.qp1 wr_id=1 opcode=SEND")
    well(lab, "run")
    assert lab.look("A.cq0.last.status == RNR_RETRY_EXC_ERR")


def two_sizes() -> None:
    """The first buffer is taken, although the second would have fitted."""
    lab = shared(qps=1)
    stock(lab, 1, length=8)
    stock(lab, 2, length=512)
    well(lab, "post_send A.qp1 wr_id=1 opcode=SEND sg=A.mr0[0:100]")
    well(lab, "run")
    assert [wr_id for _, wr_id in takers(lab)] == [1]
    assert lab.look("A.cq0.last.status == REM_INV_REQ_ERR")


STOCK = {
    "One FIFO": one_fifo, "Fetch happens at": fetched_first, "Which QP states": states_that_fetch,
    "LAST_WQE_REACHED": last_wqe, "Limit event": limit, "wr_id is entirely": wr_ids,
    "RNR with an empty": rnr, "Two message sizes": two_sizes,
}  # fmt: skip


def test_every_bullet_of_shared_receives_has_a_case() -> None:
    answer = bullets(9)
    assert len(answer) == len(STOCK)
    assert all(bullet.startswith(key) for bullet, key in zip(answer, STOCK, strict=True))


@pytest.mark.parametrize("key", STOCK)
def test_shared_receives(key: str) -> None:
    STOCK[key]()
