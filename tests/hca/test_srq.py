"""Shared receive queues at work: who takes what, when slots come back, limit, error, flush."""

import pytest

from rdmalab.spec.opcodes import OPCODES, Service
from rdmalab.spec.profiles import MLX5, RXE, STRICT, Profile
from rdmalab.spec.records import Kind
from tests.covers import covers
from tests.labs import packets, refusal, seen, status, well
from tests.sharing import ask, raised, send, shared, stock, takers, xrc


def test_srq_receives_are_taken_from_the_head_by_any_qp() -> None:
    lab = shared(qps=2)
    stock(lab, 10, 11, 12)
    for qp in ("A.qp2", "A.qp1", "A.qp2"):
        send(lab, qp)
    assert takers(lab) == [("B.0x13", 10), ("B.0x12", 11), ("B.0x13", 12)]
    done = well(lab, "poll_cq B.cq0 num_entries=9").value
    assert [(cqe.qp_num, cqe.wr_id) for cqe in done] == [(0x13, 10), (0x12, 11), (0x13, 12)]


@pytest.mark.parametrize(
    ("request_", "taken"),
    [
        ("opcode=SEND sg=A.mr0[0:1500]", 1),  # three packets, one receive
        ("opcode=SEND_WITH_IMM sg=A.mr0[0:8] imm_data=1", 1),
        ("opcode=RDMA_WRITE_WITH_IMM sg=A.mr0[0:1500] remote=B.mr0 imm_data=1", 1),
        ("opcode=RDMA_WRITE sg=A.mr0[0:8] remote=B.mr0", 0),
        ("opcode=RDMA_READ sg=A.mr0[0:8] remote=B.mr0", 0),
        ("opcode=ATOMIC_FETCH_AND_ADD sg=A.mr0[0:8] remote=B.mr0 compare_add=1", 0),
        ("opcode=ATOMIC_CMP_AND_SWP sg=A.mr0[0:8] remote=B.mr0", 0),
    ],
)
def test_srq_receive_is_taken_by_which_operations(request_: str, taken: int) -> None:
    lab = shared(qps=1)
    stock(lab, 1, 2, 3, length=2048)
    well(lab, f"post_send A.qp1 {request_} flags=SIGNALED")
    well(lab, "run")
    assert ask(lab, "A.cq0.last.status").name == "SUCCESS"
    assert ask(lab, "B.srq0.count") == 3 - taken


@pytest.mark.parametrize(("profile", "when"), [(STRICT, "poll"), (MLX5, "poll"), (RXE, "fetch")])
def test_srq_slots_are_freed_in_any_order(profile: Profile, when: str) -> None:
    """The second receive is done first: its slot comes back although the first is under way."""
    lab = shared(qps=2, profile=profile, max_wr=2, connect="mtu=256")
    capacity = ask(lab, "B.srq0.capacity")
    stock(lab, *range(capacity), length=1024)
    assert refusal(lab, "post_srq_recv B.srq0 sg=B.mr0[0:64]").rule == "queue-full"
    well(lab, "fault drop A->B opcode=SEND_LAST nth=1")
    well(lab, "post_send A.qp1 opcode=SEND sg=A.mr0[0:512] flags=SIGNALED")
    well(lab, "until wire.count(opcode=SEND_LAST) == 1")
    well(lab, "post_send A.qp2 opcode=SEND sg=A.mr0[0:32] flags=SIGNALED")
    well(lab, "until B.cq0.count == 1")
    assert ask(lab, "B.srq0.used") == capacity - (2 if when == "fetch" else 0)
    well(lab, "poll_cq B.cq0")
    assert ask(lab, "B.srq0.used") == capacity - (2 if when == "fetch" else 1)
    well(lab, "run")
    well(lab, "poll_cq B.cq0")
    assert ask(lab, "B.srq0.used") == capacity - 2


def test_srq_slot_is_freed_after_destroy_qp() -> None:
    lab = shared(qps=1)
    stock(lab, 1)
    send(lab, "A.qp1")
    well(lab, "destroy_qp B.qp1")
    assert ask(lab, "B.srq0.used") == 1
    well(lab, "poll_cq B.cq0")
    assert ask(lab, "B.srq0.used") == 0


def test_srq_slots_of_removed_completions_are_freed() -> None:
    lab = shared(qps=1, profile=MLX5)
    stock(lab, 1)
    send(lab, "A.qp1")
    well(lab, "destroy_qp B.qp1")
    assert (ask(lab, "B.cq0.count"), ask(lab, "B.srq0.used")) == (0, 0)


# --------------------------------------------------------------------------- limit
@pytest.mark.parametrize("profile", [STRICT, RXE])
def test_srq_limit_reached_is_raised_once(profile: Profile) -> None:
    lab = shared("modify_srq B.srq0 srq_limit=2", qps=1, profile=profile)
    early = ["SRQ_LIMIT_REACHED"] if profile is STRICT else []
    assert raised(lab) == early  # the SRQ is empty: undercut already
    stock(lab, 1, 2, 3, 4)
    well(lab, "modify_srq B.srq0 srq_limit=2")
    for left in (3, 2):
        send(lab, "A.qp1")
        assert (ask(lab, "B.srq0.count"), ask(lab, "B.srq0.armed")) == (left, True)
    send(lab, "A.qp1")
    assert raised(lab) == [*early, "SRQ_LIMIT_REACHED"]
    assert ask(lab, "B.srq0.limit") == 0
    send(lab, "A.qp1")
    assert raised(lab) == [*early, "SRQ_LIMIT_REACHED"]


def test_srq_limit_0_disarms() -> None:
    lab = shared(qps=1)
    stock(lab, 1, 2)
    well(lab, "modify_srq B.srq0 srq_limit=2")
    well(lab, "modify_srq B.srq0 srq_limit=0")
    send(lab, "A.qp1")
    assert raised(lab) == []


# --------------------------------------------------------------------------- nothing to take
def test_an_empty_srq_answers_rnr_nak() -> None:
    lab = shared("post_send A.qp1 wr_id=5 opcode=SEND sg=A.mr0[0:8] flags=SIGNALED", qps=1)
    well(lab, "until wire.any(syndrome=RNR_NAK)")
    stock(lab, 1)
    well(lab, "run")
    assert status(lab, 5) == "SUCCESS"


@covers("S173")
@pytest.mark.parametrize("state", ["RESET", "INIT", "ERR"])
def test_srq_receives_are_not_taken_in_reset_init_err(state: str) -> None:
    lab = shared(qps=1, connect="retry_cnt=0 timeout=8")
    stock(lab, 1)
    well(lab, "modify_qp B.qp1 state=RESET" if state != "ERR" else "modify_qp B.qp1 state=ERR")
    if state == "INIT":
        well(lab, "modify_qp B.qp1 state=INIT pkey_index=0 port_num=1 qp_access_flags=0")
    send(lab, "A.qp1", wr_id=3)
    assert (status(lab, 3), ask(lab, "B.srq0.count")) == ("RETRY_EXC_ERR", 1)


@covers("S174")
@pytest.mark.parametrize("state", ["RTR", "SQD"])
def test_srq_receives_are_taken_in_rtr_rts_sqd(state: str) -> None:
    lab = shared(qps=1)
    stock(lab, 1)
    if state == "SQD":
        well(lab, "modify_qp B.qp1 state=SQD")
    else:
        for line in (
            "modify_qp B.qp1 state=RESET",
            "modify_qp B.qp1 state=INIT pkey_index=0 port_num=1 qp_access_flags=0",
            "modify_qp B.qp1 state=RTR path_mtu=512 dest_qp_num=A.qp1 rq_psn=0 ah=A "
            "max_dest_rd_atomic=1 min_rnr_timer=12",
        ):
            well(lab, line)
    send(lab, "A.qp1", wr_id=3)
    assert (status(lab, 3), ask(lab, "B.srq0.count")) == ("SUCCESS", 0)


# --------------------------------------------------------------------------- the end of a QP
@pytest.mark.parametrize("profile", [STRICT, RXE])
def test_srq_receives_are_not_flushed(profile: Profile) -> None:
    lab = shared(qps=2, profile=profile)
    stock(lab, 1, 2)
    well(lab, "modify_qp B.qp1 state=ERR")
    assert (ask(lab, "B.cq0.count"), ask(lab, "B.srq0.count")) == (0, 2)
    assert raised(lab) == (["QP_LAST_WQE_REACHED"] if profile is STRICT else [])
    send(lab, "A.qp2", wr_id=3)
    assert status(lab, 3) == "SUCCESS"


@pytest.mark.parametrize("way", ["ERR", "RESET"])
def test_srq_receive_in_use_belongs_to_its_qp(way: str) -> None:
    """It is flushed with it, or vanishes with it, and is not put back."""
    lab = shared(qps=1, connect="mtu=256")
    stock(lab, 7, 8, length=1024)
    well(lab, "post_send A.qp1 opcode=SEND sg=A.mr0[0:900]")
    well(lab, "until B.srq0.count == 1")
    well(lab, f"modify_qp B.qp1 state={way}")
    polled = well(lab, "poll_cq B.cq0 num_entries=9").value
    assert [(c.wr_id, c.status.name) for c in polled] == (
        [(7, "WR_FLUSH_ERR")] if way == "ERR" else []
    )
    assert (ask(lab, "B.srq0.count"), ask(lab, "B.srq0.used")) == (1, 1)


def test_qp_without_srq_raises_no_last_wqe_reached() -> None:
    lab = shared("modify_qp B.qp0 state=ERR", qps=1)
    assert raised(lab) == []


# --------------------------------------------------------------------------- the end of the SRQ
def test_srq_err_gives_no_receive() -> None:
    lab = shared(qps=1, connect="rnr_retry=0")
    stock(lab, 1)
    well(lab, "modify_srq B.srq0 srq_limit=1")
    well(lab, "fault srq_error srq=B.srq0")
    well(lab, "fault srq_error srq=B.srq0")  # it breaks only once
    stock(lab, 2)
    send(lab, "A.qp1", wr_id=3)
    assert raised(lab) == ["SRQ_ERR"]
    assert (status(lab, 3), ask(lab, "B.srq0.count")) == ("RNR_RETRY_EXC_ERR", 2)
    assert len(seen(lab, Kind.SRQ_FAILED)) == 1


def test_srq_err_is_not_raised_by_soft_roce() -> None:
    assert raised(shared("fault srq_error srq=B.srq0", qps=1, profile=RXE)) == []


# --------------------------------------------------------------------------- other services
def test_uc_on_an_srq_loses_what_finds_no_receive() -> None:
    lab = shared(qps=1, qp_type="UC")
    send(lab, "A.qp1", wr_id=1)
    stock(lab, 4)
    send(lab, "A.qp1", wr_id=2)
    assert takers(lab) == [("B.0x12", 4)]
    assert [status(lab, wr_id) for wr_id in (1, 2)] == ["SUCCESS", "SUCCESS"]


@pytest.mark.parametrize(("length", "fits"), [(103, False), (104, True)])
def test_srq_receive_of_a_datagram_needs_40_bytes_more(length: int, fits: bool) -> None:
    lab = shared(qps=0)
    for node in "AB":
        srq = " srq=B.srq0" if node == "B" else ""
        make = f"pd={node}.pd0 qp_type=UD send_cq={node}.cq0 recv_cq={node}.cq0"
        well(lab, f"create_qp {node}.qp1 {make}{srq}")
        well(lab, f"modify_qp {node}.qp1 state=INIT pkey_index=0 port_num=1 qkey=5")
        well(lab, f"modify_qp {node}.qp1 state=RTR")
        well(lab, f"modify_qp {node}.qp1 state=RTS sq_psn=0")
    well(lab, "create_ah A.ah0 pd=A.pd0 to=B")
    stock(lab, 1, 2, length=length)
    send(lab, "A.qp1", length=64, more="ah=A.ah0 remote_qpn=B.qp1 remote_qkey=5")
    assert status(lab, 1, "B.cq0") == ("SUCCESS" if fits else "LOC_LEN_ERR")
    assert ask(lab, "B.srq0.count") == 1
    assert raised(lab) == ([] if fits else ["QP_LAST_WQE_REACHED"])


# --------------------------------------------------------------------------- whose memory it is
DOMAINS = (
    "alloc_pd B.pd1",
    "create_srq B.srq1 pd=B.pd1 max_wr=4",
    "create_qp A.qp9 pd=A.pd0 qp_type={0} send_cq=A.cq0 recv_cq=A.cq0",
    "create_qp B.qp9 pd=B.pd0 qp_type={0} send_cq=B.cq0 recv_cq=B.cq0 srq=B.srq1",
    "connect A.qp9 B.qp9",
)
"""An SRQ in another protection domain than the queue pair that takes receives from it."""


def received_into(profile: Profile, domain: str, qp_type: str = "RC") -> tuple[str, str]:
    """How both sides of a SEND end whose buffer is in this domain."""
    lab = shared(*(line.format(qp_type) for line in DOMAINS), profile=profile)
    well(lab, f"reg_mr B.buf pd={domain} length=64 access=LOCAL_WRITE")
    well(lab, "post_srq_recv B.srq1 wr_id=7 sg=B.buf[0:64]")
    send(lab, "A.qp9", 3)
    return status(lab, 3), status(lab, 7, "B.cq0")


@pytest.mark.parametrize("profile", [STRICT, MLX5], ids=["strict", "mlx5"])
def test_a_receive_of_an_srq_is_checked_against_the_domain_of_the_srq(profile: Profile) -> None:
    """mlx5 gives the SRQ its own PD (srq.c, create_srq_cmd): the lkey is checked against that."""
    assert received_into(profile, "B.pd1") == ("SUCCESS", "SUCCESS")
    assert received_into(profile, "B.pd0") == ("REM_OP_ERR", "LOC_PROT_ERR")


def test_srq_receive_pd_is_that_of_the_qp_on_soft_roce() -> None:
    """rxe_resp.c, send_data_in: copy_data(qp->pd, ...) for an SRQ too."""
    assert received_into(RXE, "B.pd0") == ("SUCCESS", "SUCCESS")
    assert received_into(RXE, "B.pd1") == ("REM_OP_ERR", "LOC_QP_OP_ERR")


def test_srq_receive_pd_is_that_of_the_srq_on_uc_too() -> None:
    assert received_into(STRICT, "B.pd1", "UC") == ("SUCCESS", "SUCCESS")
    assert received_into(STRICT, "B.pd0", "UC") == ("SUCCESS", "LOC_PROT_ERR")


TO = "remote_srqn=B.srq0"


@pytest.mark.parametrize(
    "request_",
    [
        "opcode=SEND sg=A.mr0[0:1500]",
        "opcode=RDMA_WRITE sg=A.mr0[0:1500] remote=B.mr0",
        "opcode=RDMA_WRITE_WITH_IMM sg=A.mr0[0:8] remote=B.mr0",
        "opcode=RDMA_READ sg=A.mr0[0:1500] remote=B.mr0",
        "opcode=ATOMIC_FETCH_AND_ADD sg=A.mr0[0:8] remote=B.mr0 compare_add=1",
    ],
)
def test_xrc_requests_carry_the_srq_number_and_responses_do_not(request_: str) -> None:
    lab = xrc()
    stock(lab, 1, length=2048)
    well(lab, f"post_send A.qp1 wr_id=4 {request_} {TO} flags=SIGNALED")
    well(lab, "run")
    assert status(lab, 4) == "SUCCESS"
    sent = [packet for _, packet in packets(lab, Kind.PACKET_SENT)]
    assert {OPCODES[packet.opcode].service for packet in sent} == {Service.XRC}
    for packet in sent:
        srqn = packet.xrceth.srqn if packet.xrceth is not None else None
        assert srqn == (0x31 if OPCODES[packet.opcode].request else None)


def test_xrc_receive_completes_on_the_cq_of_the_srq() -> None:
    lab = xrc()
    stock(lab, 9)
    send(lab, "A.qp1", more=TO)
    (cqe,) = well(lab, "poll_cq B.cq1 num_entries=9").value
    assert (cqe.wr_id, cqe.qp_num, cqe.byte_len) == (9, 0x12, 32)
    assert (ask(lab, "B.cq0.total"), ask(lab, "B.srq0.used")) == (0, 0)


def test_xrc_one_qp_reaches_each_srq_of_its_domain() -> None:
    lab = xrc("create_srq_ex B.srq1 pd=B.pd0 srq_type=XRC xrcd=B.xrcd0 cq=B.cq0 max_wr=8")
    stock(lab, 1)
    stock(lab, 2, srq="B.srq1")
    for srq in ("B.srq1", "B.srq0"):
        send(lab, "A.qp1", more=f"remote_srqn={srq}")
    assert takers(lab) == [("B.0x12", 2), ("B.0x12", 1)]
    assert (ask(lab, "B.cq0.next.wr_id"), ask(lab, "B.cq1.next.wr_id")) == (2, 1)


@pytest.mark.parametrize("srqn", ["0", "77", "B.srq1", "B.srq2"])
@pytest.mark.parametrize(
    "request_", ["SEND sg=A.mr0[0:8]", "RDMA_WRITE sg=A.mr0[0:8] remote=B.mr0"]
)
def test_xrc_srq_number_of_another_domain_is_refused(srqn: str, request_: str) -> None:
    lab = xrc(
        "create_srq B.srq1 pd=B.pd0 max_wr=8",
        "open_xrcd B.xrcd1 oflag=O_CREAT",
        "create_srq_ex B.srq2 pd=B.pd0 srq_type=XRC xrcd=B.xrcd1 cq=B.cq1 max_wr=8",
    )
    for srq in ("B.srq0", "B.srq1", "B.srq2"):
        stock(lab, 1, srq=srq)
    well(lab, f"post_send A.qp1 wr_id=4 opcode={request_} remote_srqn={srqn}")
    well(lab, "run")
    assert status(lab, 4) == "REM_INV_REQ_ERR"
    assert (ask(lab, "A.qp1.state").name, ask(lab, "B.qp1.state").name) == ("ERR", "ERR")
    assert raised(lab) == ["QP_REQ_ERR", "QP_LAST_WQE_REACHED"]
    assert takers(lab) == []


def test_xrcd_opened_twice_is_the_same_domain() -> None:
    lab = xrc(
        "open_xrcd B.xrcd1 fd=3 oflag=O_CREAT",
        "open_xrcd B.xrcd2 fd=3",
        "create_srq_ex B.srq1 pd=B.pd0 srq_type=XRC xrcd=B.xrcd1 cq=B.cq1 max_wr=8",
        "create_qp A.qp2 pd=A.pd0 qp_type=XRC_SEND send_cq=A.cq0",
        "create_qp B.qp2 qp_type=XRC_RECV xrcd=B.xrcd2",
        "connect A.qp2 B.qp2",
    )
    stock(lab, 1, srq="B.srq1")
    send(lab, "A.qp2", wr_id=6, more="remote_srqn=B.srq1")
    assert status(lab, 6) == "SUCCESS"


@pytest.mark.parametrize(
    ("request_", "ends"),
    [
        ("RDMA_WRITE sg=A.mr0[0:8] remote=B.mr1", "REM_ACCESS_ERR"),
        ("RDMA_READ sg=A.mr0[0:8] remote=B.mr1", "REM_ACCESS_ERR"),
        ("SEND sg=A.mr0[0:8]", "REM_OP_ERR"),
    ],
)
@pytest.mark.parametrize(("srq", "same_pd"), [("B.srq1", True), ("B.srq0", False)])
def test_xrc_rkey_pd_is_that_of_the_srq(request_: str, ends: str, srq: str, same_pd: bool) -> None:
    rights = "LOCAL_WRITE|REMOTE_WRITE|REMOTE_READ"
    lab = xrc(
        "alloc_pd B.pd1",
        f"reg_mr B.mr1 pd=B.pd1 length=64 access={rights}",
        "create_srq_ex B.srq1 pd=B.pd1 srq_type=XRC xrcd=B.xrcd0 cq=B.cq1 max_wr=8",
        f"post_srq_recv {srq} sg=B.mr1[0:64]",
    )
    well(lab, f"post_send A.qp1 wr_id=4 opcode={request_} remote_srqn={srq} flags=SIGNALED")
    well(lab, "run")
    assert status(lab, 4) == ("SUCCESS" if same_pd else ends)


def test_xrc_duplicate_read_uses_the_same_pd() -> None:
    lab = xrc("fault drop B->A opcode=RDMA_READ_RESPONSE_LAST nth=1", 'write B.mr0[900:903] "abc"')
    well(lab, f"post_send A.qp1 wr_id=4 opcode=RDMA_READ sg=A.mr0[0:1000] remote=B.mr0 {TO}"
              " flags=SIGNALED")  # fmt: skip
    well(lab, "run")
    assert (status(lab, 4), ask(lab, 'A.mr0[900:903] == "abc"')) == ("SUCCESS", True)


def test_xrc_empty_srq_answers_rnr_nak() -> None:
    lab = xrc(f"post_send A.qp1 wr_id=4 opcode=SEND sg=A.mr0[0:8] {TO} flags=SIGNALED")
    well(lab, "until wire.any(syndrome=RNR_NAK)")
    stock(lab, 1)
    well(lab, "run")
    assert status(lab, 4) == "SUCCESS"


def test_xrc_qps_have_no_receive_queue() -> None:
    lab = xrc()
    for qp in ("A.qp1", "B.qp1"):
        assert refusal(lab, f"post_recv {qp}").rule == "no-receive-queue"
    assert refusal(lab, "post_send B.qp1 opcode=SEND").rule == "no-send-queue"


def test_xrc_ini_qp_drops_requests() -> None:
    lab = xrc(
        "create_qp B.qp2 pd=B.pd0 qp_type=XRC_SEND send_cq=B.cq0",
        "create_qp A.qp2 pd=A.pd0 qp_type=XRC_SEND send_cq=A.cq0",
        "connect A.qp2 B.qp2 timeout=8 retry_cnt=0",
    )
    send(lab, "A.qp2", wr_id=4, more=TO)
    assert status(lab, 4) == "RETRY_EXC_ERR"
    assert lab.session.world.nodes["B"].drops == {"wrong-type": 1}
