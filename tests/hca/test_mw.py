"""Memory windows: what a bind is asked, whom a window lets in, and what makes it void."""

import json
from pathlib import Path
from typing import Any

import pytest

from rdmalab.hca import mw
from rdmalab.hca.mw import BindRefusal as Why
from rdmalab.lab import Lab
from rdmalab.spec.profiles import MLX5, PROFILES, RXE, STRICT, Profile
from rdmalab.spec.records import Kind
from rdmalab.spec.rules import errno_name
from tests.labs import lab_of, refusal, seen, well
from tests.windows import BIND, BOUND, RIGHTS, does, lab_with, newest, reaches, window

ORACLE = json.loads((Path(__file__).parents[1] / "data/mw_outcomes.json").read_text("utf-8"))
UNBIND = "post_send B.qp0 wr_id=91 opcode=LOCAL_INV invalidate_rkey=B.mw0 flags=SIGNALED"
SECOND = (
    "create_qp A.qp1 pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0",
    "create_qp B.qp1 pd=B.pd0 qp_type=RC send_cq=B.cq0 recv_cq=B.cq0",
    "connect A.qp1 B.qp1",
)
WRITE_1 = "post_send {} wr_id=1 opcode=RDMA_WRITE sg=A.mr0[0:8] remote=B.mw0 flags=SIGNALED"
B_CQ = "B.cq0"


# --------------------------------------------------------------------------- what a bind is asked
ELSEWHERE = ("alloc_pd B.pd1", "alloc_mw B.mw1 pd=B.pd1 type=TYPE_2")
MOVED = ("alloc_pd B.pd1", "rereg_mr B.mr1 flags=CHANGE_PD pd=B.pd1")
TO_READ = f"{BIND} bind_access=REMOTE_READ"
GONE = ("dereg_mr B.mr1",)
EMPTY = f"{TO_READ} bind=B.mr1[64:64]"
BEFORE = f"{TO_READ} bind_mr=2 bind_length=8"
ZERO_BASED = f"reg_mr B.mr2 pd=B.pd0 length=64 access={RIGHTS}|ZERO_BASED"


def rights(access: str) -> tuple[str]:
    return (f"rereg_mr B.mr1 flags=CHANGE_ACCESS access={access}",)


def of(region: str) -> str:
    return BOUND.replace("B.mr1[64:128]", f"B.{region}")


# fmt: off
REFUSED: list[tuple[Any, str, tuple[str, ...], str]] = [
    (Why.NOT_INVALIDATED,          "bound already",      (BOUND,),          BOUND),
    (Why.OTHER_DOMAIN,        "window elsewhere",   ELSEWHERE,         BOUND.replace("mw0", "mw1")),
    (Why.OTHER_DOMAIN,        "region elsewhere",   MOVED,             BOUND),
    (Why.RIGHTS,        "a right of regions", (),                f"{BOUND}|LOCAL_WRITE"),
    (Why.NO_REGION,        "no bytes",           (),                EMPTY),
    (Why.NO_REGION,        "no region",          (),                f"{TO_READ} bind_length=8"),
    (Why.NO_REGION,        "a region gone",      GONE,              BEFORE),
    (Why.NOT_BINDABLE,   "no MW_BIND",         rights("LOCAL_WRITE"), BOUND),
    (Why.READ_ONLY,      "no LOCAL_WRITE",     rights("MW_BIND"), BOUND),
    (Why.ZERO_BASED,     "zero based",         (ZERO_BASED,),     of("mr2[0:8]")),
    (Why.OUTSIDE_REGION,         "a byte beyond",      (),                of("mr1[64:4097]")),
    (Why.OUTSIDE_REGION,         "begins beyond",      (),                of("mr1[5000:5001]")),
    (Why.OUTSIDE_REGION,         "begins before",      (),                f"{BEFORE} bind_addr=1"),
]
# fmt: on


@pytest.mark.parametrize(("why", "case", "before", "line"), REFUSED)
def test_bind_mw_check_that_fails_is_mw_bind_err(
    why: Why, case: str, before: tuple[str, ...], line: str
) -> None:
    """It tells which check, it binds nothing, and other windows are as they were."""
    lab = lab_with(*before)
    opened = dict(lab.session.world.nodes["B"].rkeys)
    well(lab, line)
    well(lab, "run")
    assert newest(lab, 90, B_CQ) == "MW_BIND_ERR", case
    assert [reason for _, _, reason in seen(lab, Kind.WINDOW_REFUSED)] == [why]
    assert lab.session.world.nodes["B"].rkeys == opened
    assert lab.look("B.qp0.state").name == "ERR"


def test_every_bind_mw_check_has_a_row_in_this_test() -> None:
    assert {why for why, *_ in REFUSED} == set(mw.CHECKS)


def test_bind_mw_remote_read_needs_no_local_write() -> None:
    line = f"{BIND} bind=B.mr1[0:8] bind_access=REMOTE_READ"
    assert does(lab_with(access="MW_BIND"), line, 90, B_CQ) == "SUCCESS"


def test_access_flags_are_of_the_window_and_not_of_the_region() -> None:
    lab = lab_with(BOUND, access="LOCAL_WRITE|MW_BIND")
    assert reaches(lab, "remote=B.mw0") == "SUCCESS"
    assert reaches(lab, "remote=B.mr1") == "REM_ACCESS_ERR"


def test_a_window_deallocated_before_its_bind_runs() -> None:
    lab = lab_with()
    well(lab, BOUND)
    well(lab, "dealloc_mw B.mw0")
    well(lab, "run")
    assert newest(lab, 90, B_CQ) == "MW_BIND_ERR"


# --------------------------------------------------------------------------- whom it lets in
@pytest.mark.parametrize(
    ("where", "strict", "rxe"),
    [
        ("remote=B.mw0", "SUCCESS", "SUCCESS"),
        ("remote=B.mw0[56]", "SUCCESS", "SUCCESS"),
        ("remote=B.mw0[57]", "REM_ACCESS_ERR", "SUCCESS"),
        ("remote=B.mr1[63] rkey=B.mw0", "REM_ACCESS_ERR", "SUCCESS"),
        ("remote=B.mr1[4088] rkey=B.mw0", "REM_ACCESS_ERR", "SUCCESS"),
        ("remote=B.mr1[4089] rkey=B.mw0", "REM_ACCESS_ERR", "REM_ACCESS_ERR"),
    ],
)
def test_the_range_of_a_window(where: str, strict: str, rxe: str) -> None:
    """Soft-RoCE looks at the region only."""
    assert reaches(lab_with(BOUND), where) == strict
    assert reaches(lab_with(BOUND, profile=RXE), where) == rxe


def test_bytes_through_a_window_land_where_it_was_bound() -> None:
    lab = lab_with('write A.mr0[0:8] "window!!"', BOUND)
    assert reaches(lab, "remote=B.mw0[8]") == "SUCCESS"
    assert lab.look("B.mr1[72:80]") == b"window!!"


@pytest.mark.parametrize("profile", PROFILES.values(), ids=lambda p: p.name)
def test_a_zero_based_window_counts_from_0(profile: Profile) -> None:
    bind = BOUND.replace("REMOTE_ATOMIC", "ZERO_BASED")
    lab = lab_with('write A.mr0[0:8] "zerobase"', bind, profile=profile)
    assert reaches(lab, "remote_addr=4 rkey=B.mw0") == "SUCCESS"
    assert lab.look("B.mr1[68:76]") == b"zerobase"
    assert reaches(lab, "remote=B.mr1[64] rkey=B.mw0") == "REM_ACCESS_ERR"


def test_type_1_serves_all_queue_pairs_of_its_domain_and_type_2_one() -> None:
    bind = "bind_mw B.qp0 B.mw0 bind=B.mr1[0:64] bind_access=REMOTE_WRITE"
    assert does(lab_with(*SECOND, bind, kind=1), WRITE_1.format("A.qp1")) == "SUCCESS"
    lab = lab_with(*SECOND, BOUND)
    assert does(lab, WRITE_1.format("A.qp1")) == "REM_ACCESS_ERR"
    lab.do(WRITE_1.format("A.qp0").replace("wr_id=1", "wr_id=2"))
    well(lab, "run")
    assert newest(lab, 2) == "SUCCESS"


# --------------------------------------------------------------------------- keys
def test_bind_mw_without_rkey_takes_the_next_one_and_invalidates_the_old() -> None:
    lab = lab_with()
    first = window(lab).rkey
    for line in (BOUND, UNBIND):
        well(lab, line)
        well(lab, "run")
    second = window(lab).rkey
    assert (second >> 8, second & 0xFF) == (first >> 8, (first + 1) & 0xFF)
    well(lab, BOUND)
    well(lab, "run")
    assert reaches(lab, "remote=B.mw0") == "SUCCESS"
    assert reaches(lab, f"remote=B.mw0 rkey={second:#x}") == "REM_ACCESS_ERR"


def test_bind_mw_rkey_that_is_chosen_is_valid() -> None:
    lab = lab_with(f"{BOUND} mw_rkey=0x80001aa")
    assert reaches(lab, "remote=B.mw0 rkey=0x80001aa") == "SUCCESS"


@pytest.mark.parametrize("profile", PROFILES.values(), ids=lambda p: p.name)
@pytest.mark.parametrize("wished", ["0xba", "0x80002ba", "0x2ba", "0x80001ba"])
def test_bind_mw_takes_the_low_8_bits_of_a_chosen_rkey(profile: Profile, wished: str) -> None:
    """rxe_do_bind_mw keeps the index; google's tests bind with 0xBA, 17 and 1024."""
    lab = lab_with(profile=profile)
    well(lab, f"{BOUND} mw_rkey={wished}")
    assert window(lab).rkey == 0x80001BA  # the program may name it in the next post
    well(lab, "run")
    assert newest(lab, 90, B_CQ) == "SUCCESS"
    assert lab.look("B.mw0.rkey") == 0x80001BA
    assert reaches(lab, "remote=B.mw0 rkey=0x80001ba") == "SUCCESS"


@pytest.mark.parametrize("profile", PROFILES.values(), ids=lambda p: p.name)
@pytest.mark.parametrize("then", ["run", "modify_qp B.qp0 state=ERR", "reset B.qp0"])
def test_bind_mw_not_executed_leaves_the_rkey(profile: Profile, then: str) -> None:
    """The bind fails, or is flushed, or vanishes by RESET."""
    lab = lab_with(profile=profile)
    before = (window(lab).rkey, window(lab).iova, window(lab).length)
    for octet in ("0xba", "0xbb"):
        well(lab, f"{BOUND.replace('B.mr1', 'B.mr0')} mw_rkey={octet}")  # no MW_BIND
    assert lab.look("B.mw0.rkey") & 0xFF == 0xBB
    well(lab, then)
    well(lab, "run")
    assert lab.look("B.mw0.state").name == "FREE"
    assert (window(lab).rkey, window(lab).iova, window(lab).length) == before


def test_bind_mw_flushed_keeps_the_rkey_of_a_later_bind() -> None:
    """RESET of a QP whose flushed bind was not polled, while another QP's bind is posted."""
    lab = lab_with(
        "create_qp B.qp1 pd=B.pd0 qp_type=RC send_cq=B.cq0 recv_cq=B.cq0 max_send_wr=8",
        "modify_qp B.qp1 state=INIT pkey_index=0 port_num=1 qp_access_flags=0",
        "modify_qp B.qp1 state=ERR",
        BOUND.replace("B.qp0", "B.qp1"),
    )
    well(lab, "post_send B.qp0 opcode=RDMA_READ sg=B.mr0[0:8] remote=A.mr0")
    well(lab, BOUND.replace("flags=SIGNALED", "flags=FENCE"))
    key = lab.look("B.mw0.rkey")
    well(lab, "reset B.qp1")
    assert lab.look("B.mw0.rkey") == key
    well(lab, "run")
    assert window(lab).rkey == lab.look("B.mw0.rkey") == key


def test_bind_mw_failed_leaves_the_rkey_of_a_bound_window() -> None:
    lab = lab_with(BOUND)
    before = window(lab).rkey
    well(lab, f"{BOUND} mw_rkey=0xba")
    well(lab, "run")
    assert newest(lab, 90, B_CQ) == "MW_BIND_ERR"
    assert window(lab).rkey == lab.look("B.mw0.rkey") == before


# --------------------------------------------------------------------------- void
@pytest.mark.parametrize("profile", PROFILES.values(), ids=lambda p: p.name)
@pytest.mark.parametrize(
    ("before", "rkey"),
    [
        ((), "B.mw0"),  # it is not bound
        ((), "0x12345678"),
        ((), "B.mr1"),
        ((BOUND,), "0x8000199"),  # stale
    ],
)
def test_local_inv_refused(profile: Profile, before: tuple[str, ...], rkey: str) -> None:
    lab = lab_with(*before, profile=profile)
    line = UNBIND.replace("invalidate_rkey=B.mw0", f"invalidate_rkey={rkey}")
    assert does(lab, line, 91, B_CQ) == profile.bad_invalidate_status.name
    assert profile.bad_invalidate_status.name == (
        "LOC_QP_OP_ERR" if profile is RXE else "MW_BIND_ERR"
    )


def test_send_with_inv_of_another_qp_or_type_1_is_refused() -> None:
    lab = lab_with(*SECOND, BOUND)
    assert does(lab, UNBIND.replace("B.qp0", "B.qp1"), 91, B_CQ) == "MW_BIND_ERR"
    lab = lab_with("bind_mw B.qp0 B.mw0 bind=B.mr1[0:8] bind_access=REMOTE_READ", kind=1)
    assert does(lab, UNBIND, 91, B_CQ) == "MW_BIND_ERR"
    assert window(lab).binding is not None


@pytest.mark.parametrize(
    ("profile", "ended", "state"),
    [(STRICT, "MW_BIND_ERR", "BOUND"), (MLX5, "MW_BIND_ERR", "BOUND"), (RXE, "SUCCESS", "FREE")],
    ids=["strict", "mlx5", "rxe"],
)
def test_local_inv_through_another_queue_pair(profile: Profile, ended: str, state: str) -> None:
    """rxe_invalidate_mw compares key, state and type; the queue pair is not compared."""
    lab = lab_with(*SECOND, BOUND, profile=profile)
    assert does(lab, UNBIND.replace("B.qp0", "B.qp1"), 91, B_CQ) == ended
    assert lab.look("B.mw0.state").name == state


@pytest.mark.parametrize(
    ("profile", "ended", "state"),
    [
        (STRICT, "REM_INV_REQ_ERR", "BOUND"),
        (MLX5, "REM_INV_REQ_ERR", "BOUND"),
        (RXE, "SUCCESS", "FREE"),
    ],
    ids=["strict", "mlx5", "rxe"],
)
def test_send_with_inv_to_another_queue_pair(profile: Profile, ended: str, state: str) -> None:
    recv = "post_recv B.qp1 wr_id=7 sg=B.mr0[0:64]"
    lab = lab_with(*SECOND, BOUND, recv, profile=profile)
    line = "post_send A.qp1 opcode=SEND_WITH_INV invalidate_rkey=B.mw0 sg=A.mr0[0:16]"
    assert does(lab, line, 7, B_CQ) == ended
    assert lab.look("B.mw0.state").name == state


def test_local_inv_waits_for_all_before_it() -> None:
    """A SEND in the same queue, without a receive at the peer, holds it back."""
    lab = lab_with(BOUND)
    well(lab, "post_send B.qp0 wr_id=5 opcode=SEND sg=B.mr0[0:8] flags=SIGNALED")
    well(lab, UNBIND)
    well(lab, "until wire.any(syndrome=RNR_NAK)")
    well(lab, "step")
    assert lab.look("B.qp0.wr[91].status").name in ("POSTED", "WAITING")
    assert window(lab).binding is not None
    well(lab, "post_recv A.qp0 sg=A.mr0[64:128]")
    well(lab, "run")
    assert (newest(lab, 5, B_CQ), newest(lab, 91, B_CQ)) == ("SUCCESS", "SUCCESS")
    assert reaches(lab, "remote=B.mw0") == "REM_ACCESS_ERR"


def test_local_inv_begins_when_the_read_before_it_has_ended() -> None:
    """FENCE or not: while the READ's answer is on its way, the window is open."""
    lab = lab_with(BOUND)
    well(lab, "post_send B.qp0 wr_id=5 opcode=RDMA_READ sg=B.mr0[0:8] remote=A.mr0")
    well(lab, UNBIND)
    well(lab, "until wire.any(opcode=RDMA_READ_RESPONSE_ONLY)")
    assert lab.look("B.qp0.wr[91].reason") == "fence"
    well(lab, "run")
    assert newest(lab, 91, B_CQ) == "SUCCESS"


def test_a_local_operation_is_done_once_though_its_neighbours_are_sent_again() -> None:
    """The packet before the bind is lost: go back N passes the bind a second time."""
    lab = lab_with("fault drop B->A nth=1")
    well(lab, "post_send B.qp0 wr_id=5 opcode=RDMA_WRITE sg=B.mr0[0:8] remote=A.mr0 flags=SIGNALED")
    well(lab, BOUND)
    well(lab, "run")
    assert len(seen(lab, Kind.WENT_BACK)) == 1
    assert seen(lab, Kind.WINDOW_REFUSED) == []
    assert (newest(lab, 5, B_CQ), newest(lab, 90, B_CQ)) == ("SUCCESS", "SUCCESS")
    assert len(seen(lab, Kind.WINDOW_BOUND)) == 1


@pytest.mark.parametrize(
    ("profile", "flags"), [(STRICT, "WITH_INV"), (RXE, "GRH|IP_CSUM_OK"), (MLX5, "WITH_INV")]
)
def test_send_with_inv_invalidates_before_its_completion(profile: Profile, flags: str) -> None:
    lab = lab_with(BOUND, "post_recv B.qp0 wr_id=7 sg=B.mr0[0:64]", profile=profile)
    rkey = window(lab).rkey
    line = "post_send A.qp0 wr_id=1 opcode=SEND_WITH_INV invalidate_rkey=B.mw0 sg=A.mr0[0:16]"
    assert does(lab, f"{line} flags=SIGNALED") == "SUCCESS"
    cqe = lab.session.world.nodes["B"].cqs.items[1].cqes[-1]
    names = [flag for flag in ("GRH", "IP_CSUM_OK", "WITH_INV")
             if cqe.wc_flags & {"GRH": 1, "IP_CSUM_OK": 4, "WITH_INV": 8}[flag]]  # fmt: skip
    assert "|".join(names) == flags
    assert (cqe.wr_id, cqe.imm_data, cqe.byte_len) == (7, rkey, 16)
    order = [r[3] for r in lab.session.world.trace.records]
    newest_cqe = len(order) - order[::-1].index(Kind.WINDOW_INVALIDATED)
    assert Kind.CQE_ADDED in order[newest_cqe:]
    assert reaches(lab, "remote=B.mw0") == "REM_ACCESS_ERR"


def test_send_with_inv_invalidates_with_the_last_packet() -> None:
    lab = lab_with(BOUND, "post_recv B.qp0 wr_id=7 sg=B.mr0[0:2048]")
    line = "post_send A.qp0 opcode=SEND_WITH_INV invalidate_rkey=B.mw0 sg=A.mr0[0:1200]"
    well(lab, line)
    well(lab, "run")
    labels = [packet.opcode_row.label for _, packet, _ in seen(lab, Kind.PACKET_SENT, "A")]
    assert labels == ["SEND_FIRST", "SEND_MIDDLE", "SEND_LAST_WITH_INVALIDATE"]
    assert len(seen(lab, Kind.WINDOW_INVALIDATED)) == 1


@pytest.mark.parametrize(
    ("profile", "sent"),
    [(STRICT, ["SUCCESS"]), (RXE, ["SUCCESS"]), (MLX5, [])],
    ids=lambda value: getattr(value, "name", None),
)
def test_send_with_inv_of_a_bad_rkey(profile: Profile, sent: list[str]) -> None:
    """Class J: the receive fails and its queue pair is in ERR; no NAK tells the requester."""
    lab = lab_with("post_recv B.qp0 wr_id=7 sg=B.mr0[0:64]", profile=profile)
    well(lab, f"post_send A.qp0 wr_id=1 sg=A.mr0[0:16] {INV.format('SEND_WITH_INV')}")
    well(lab, "run 50ms")
    assert _outcome(lab).get("A.send", []) == [[1, status] for status in sent]
    assert _outcome(lab)["B.recv"] == [[7, "REM_INV_REQ_ERR"]]
    assert _states(lab) == {"A": "RTS", "B": "ERR"}


def test_dereg_mr_waits_for_the_window_and_dealloc_mw_does_not() -> None:
    lab = lab_with(BOUND)
    assert errno_name(refusal(lab, "dereg_mr B.mr1").errno) == "EBUSY"
    rkey = window(lab).rkey
    well(lab, "dealloc_mw B.mw0")
    assert reaches(lab, f"remote=B.mr1[64] rkey={rkey:#x}") == "REM_ACCESS_ERR"
    well(lab, "dereg_mr B.mr1")


def test_dealloc_pd_with_a_window_is_ebusy() -> None:
    lab = lab_of("alloc_pd B.pd1", "alloc_mw B.mw0 pd=B.pd1 type=TYPE_1")
    assert refusal(lab, "dealloc_pd B.pd1").message == "still in use by 1 MW"


# --------------------------------------------------------------------------- as Soft-RoCE answered
def _outcome(lab: Lab) -> dict[str, Any]:
    """As the record has it: statuses a queue, in order."""
    found: dict[str, list[list[Any]]] = {}
    for node, hca in lab.session.world.nodes.items():
        names = {qp.number: n for n, qp in enumerate(hca.qps.items.values())}
        for cqe in hca.cqs.items[1].cqes:
            end = f"{node}{names[cqe.qp_num] + 1}".replace("1", "")
            queue = f"{end}.{'send' if cqe.is_send else 'recv'}"
            found.setdefault(queue, []).append([cqe.wr_id, cqe.status.name])
    return found


def _states(lab: Lab) -> dict[str, str]:
    return {
        f"{node}{number + 1}".replace("1", ""): qp.state.name
        for node, hca in lab.session.world.nodes.items()
        for number, qp in enumerate(hca.qps.items.values())
    }


WRITE = "post_send A.qp0 wr_id={} opcode=RDMA_WRITE sg=A.mr0[0:64] remote=B.mw0 flags=SIGNALED"
READ = "post_send A.qp0 wr_id=1 opcode=RDMA_READ sg=A.mr0[0:8] remote=B.mw0 flags=SIGNALED"
NARROW = f"{BIND} bind=B.mr1[64:128] bind_access=REMOTE_WRITE"
INV = "opcode={} invalidate_rkey=0x12345678 flags=SIGNALED"
REPLAYS: dict[str, tuple[str, ...]] = {
    "rc_bind_mw2_write_then_local_inv": (BOUND, WRITE.format(1), UNBIND, WRITE.format(2)),
    "rc_mw2_no_read_right": (NARROW, READ),
    "rc_bind_mw_mr_without_mw_bind_right": (BOUND.replace("mr1", "mr0"),),
    "rc_bind_mw_twice_without_inv": (BOUND, NARROW.replace("wr_id=90", "wr_id=91")),
    "rc_send_with_inv_bad_rkey": (
        "post_recv B.qp0 wr_id=1 sg=B.mr0[0:64]",
        f"post_send A.qp0 wr_id=2 sg=A.mr0[0:16] {INV.format('SEND_WITH_INV')}",
    ),
    "rc_local_inv_bad_rkey": (f"post_send A.qp0 wr_id=2 {INV.format('LOCAL_INV')}",),
    "rc_mw2_rkey_used_through_other_qp": (*SECOND, BOUND, WRITE_1.format("A.qp1")),
    "rc_mw1_bind": (
        "alloc_mw B.mw1 pd=B.pd0 type=TYPE_1",
        "bind_mw B.qp0 B.mw1 wr_id=90 bind=B.mr1[0:4096] bind_access=REMOTE_WRITE|REMOTE_READ "
        "flags=SIGNALED",
        WRITE.format(1).replace("mw0", "mw1"),
    ),
    "rc_dereg_mr_with_bound_mw": (BOUND,),
}


@pytest.mark.parametrize("name", ORACLE)
def test_mw_as_soft_roce_answered(name: str) -> None:
    lab = lab_with(*REPLAYS[name], profile=RXE)
    assert _outcome(lab) == ORACLE[name]["wc"]
    assert _states(lab) == ORACLE[name]["state"]
    if "EINVAL" in ORACLE[name]["rc"]:
        assert errno_name(refusal(lab, "dereg_mr B.mr1").errno) == "EINVAL"
