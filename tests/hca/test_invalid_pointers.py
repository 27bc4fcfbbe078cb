"""Pointers to nowhere, in requests that are sent and in receives."""

import pytest

from rdmalab.command import Fresh, Invocation, Ref
from rdmalab.hca.invalid_pointers import copy_for_queue
from rdmalab.hca.wr import RecvWR
from rdmalab.lab import Lab
from tests.labs import lab_of, refusal, well

GOOD = "wr={opcode=SEND sg=A.mr0[0:8]}"


@pytest.mark.parametrize(
    ("fields", "rule", "errno"),
    [
        ("sg=0xdead", "crash-sg", 14),
        ("sg=A.mr0[0:8],0xdead", "crash-sg", 14),
        ("sg=A.mr0[0:8] num_sge=3", "crash-sg", 14),
        ("sg=A.mr0[0:8] num_sge=-1", "num-sge", 22),
        ("sg=A.mr0[0:8] num_sge=5", "{}-sges", 22),
        ("sg=A.mr0[0:8] next=0xdead", "crash-next", 14),
        ("sg=A.mr0[0:8] num_sge=5 bad_wr=NULL", "crash-bad-wr", 14),
    ],
)
@pytest.mark.parametrize(
    ("verb", "used"),
    [
        ("post_send A.qp0 opcode=SEND", "A.qp0.sq.used"),
        ("post_recv A.qp0", "A.qp0.rq.used"),
        ("post_srq_recv A.srq0", "A.srq0.used"),
    ],
)
def test_invalid_pointer_says_what_c_does(
    verb: str, used: str, fields: str, rule: str, errno: int
) -> None:
    lab = lab_of("create_srq A.srq0 pd=A.pd0 max_wr=8")
    refused = refusal(lab, f"{verb} {fields}")
    kind = verb.split()[0].split("_")[1]
    assert (refused.rule, refused.errno) == (rule.format(kind), errno)
    posted = rule == "crash-next"  # the request itself was good
    assert lab.look(used) == int(posted)
    assert refused.message.startswith("in C this would crash") == rule.startswith("crash")


def test_num_sge_counts_and_not_the_length_of_sg_list() -> None:
    lab = lab_of("post_send A.qp0 opcode=SEND sg=A.mr0[0:8],0xdead num_sge=1 flags=INLINE")
    well(lab, "post_send A.qp0 opcode=SEND sg=0xdead num_sge=0")
    well(lab, "post_recv A.qp0 sg=A.mr0[0:8],A.mr0[8:99] num_sge=1")
    qp = lab.session.world.nodes["A"].qps.items[0x11]
    assert [wqe.length for wqe in qp.sq.wqes.values()] == [8, 0]
    assert [wqe.length for wqe in qp.rq.wqes] == [8]


def test_bad_wr_null_matters_only_with_an_error() -> None:
    lab = lab_of(f"post_send A.qp0 {GOOD} bad_wr=NULL")
    refused = refusal(lab, f"post_send A.qp0 {GOOD} wr={{opcode=SEND num_sge=-1}} bad_wr=NULL")
    assert (refused.rule, refused.bad_wr) == ("crash-bad-wr", 1)
    assert lab.look("A.qp0.sq.used") == 2


@pytest.mark.parametrize("verb", ["post_send A.qp0", "post_recv A.qp0"])
def test_wr_pointer_null(verb: str) -> None:
    well(lab_of(), f"{verb} wr=NULL")
    lab = Lab(profile="rxe")
    well(lab, "use rc_pair")
    for each in ("wr=NULL", "wr={opcode=SEND} bad_wr=NULL" if "send" in verb else "bad_wr=NULL"):
        refused = refusal(lab, f"{verb} {each}")
        assert (refused.rule, refused.errno) == ("null-pointer", 22)
    assert lab.look("A.qp0.sq.used") == lab.look("A.qp0.rq.used") == 0


@pytest.mark.parametrize("profile", ["strict", "rxe", "mlx5"])
def test_srq_pointers_are_not_checked_by_drivers(profile: str) -> None:
    lab = Lab(profile=profile)
    for line in ("use rc_pair", "create_srq A.srq0 pd=A.pd0 max_wr=8"):
        well(lab, line)
    well(lab, "post_srq_recv A.srq0 wr=NULL")
    well(lab, "post_srq_recv A.srq0 sg=A.mr0[0:8] bad_wr=NULL")
    assert lab.look("A.srq0.used") == 1
    assert refusal(lab, "post_srq_recv A.srq0 num_sge=-1 bad_wr=NULL").rule == "crash-bad-wr"


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("post_send A.qp0 opcode=SEND sg=A.mr0[0:8] rest=junk", "send-flags"),
        ("post_send A.qp0 opcode=SEND sg=A.mr0[0:8] flags=0 rest=junk", "crash-next"),
        ("post_send A.qp0 opcode=SEND flags=0 next=NULL rest=junk", "send-sges"),
        ("post_recv A.qp0 rest=junk", "recv-sges"),
    ],
)
def test_an_uninitialised_wr_has_junk_in_its_fields(line: str, rule: str) -> None:
    assert refusal(lab_of(), line).rule == rule


def test_an_uninitialised_wr_keeps_the_fields_that_were_set() -> None:
    lab = lab_of("post_send A.qp0 opcode=SEND sg=A.mr0[0:8] flags=0 next=NULL wr_id=0 rest=junk")
    (wqe,) = lab.session.world.nodes["A"].qps.items[0x11].sq.wqes.values()
    assert (wqe.wr.wr_id, wqe.flags, wqe.length) == (0, 0, 8)
    assert wqe.wr.rkey == 0x6B6B6B6B


_TO = "remote_qpn=B.qp0 remote_qkey=0x11111111"


@pytest.mark.parametrize("profile", ["strict", "rxe", "mlx5"])
@pytest.mark.parametrize(
    ("ah", "rule", "errno"),
    [("0xdead", "crash-ah-pointer", 14), ("NULL", "crash-ah", 22), ("0", "crash-ah", 22)],
)
def test_ud_wr_with_an_invalid_ah_pointer(profile: str, ah: str, rule: str, errno: int) -> None:
    lab = Lab(profile=profile)
    well(lab, "use ud_pair")
    refused = refusal(lab, f"post_send A.qp0 opcode=SEND sg=A.mr0[0:8] ah={ah} {_TO}")
    assert (refused.rule, refused.errno, refused.argument) == (rule, errno, "ah")
    assert refused.message.startswith("in C this would crash")
    assert lab.look("A.qp0.sq.used") == 0


@pytest.mark.parametrize("profile", ["strict", "rxe", "mlx5"])
@pytest.mark.parametrize(("ah", "rule"), [("0xdead", "crash-ah-pointer"), ("0", "crash-ah")])
def test_wr_set_ud_addr_reads_the_ah(profile: str, ah: str, rule: str) -> None:
    lab = Lab(profile=profile)
    for line in (
        "use ud_pair",
        "create_qp_ex A.x pd=A.pd0 qp_type=UD send_cq=A.cq0 recv_cq=A.cq0 send_ops_flags=SEND",
        "modify_qp A.x state=INIT pkey_index=0 port_num=1 qkey=1",
        "modify_qp A.x state=RTR",
        "modify_qp A.x state=RTS sq_psn=0",
        "wr_start A.x",
        "wr_send A.x",
        f"wr_set_ud_addr A.x ah={ah} {_TO}",
    ):
        well(lab, line)
    assert refusal(lab, "wr_complete A.x").rule == rule


def test_a_destroyed_ah_is_still_readable_memory() -> None:
    lab = Lab()
    for line in ("use ud_pair", "destroy_ah A.ah0"):
        well(lab, line)
    well(lab, f"post_send A.qp0 opcode=SEND sg=A.mr0[0:8] ah=1 {_TO}")


@pytest.mark.parametrize("null", ["NULL", "0", "0x0"])
def test_pointer_0_is_null(null: str) -> None:
    lab = lab_of(f"post_send A.qp0 opcode=SEND sg=A.mr0[0:8] next={null} ah={null} mw={null}")
    assert refusal(lab, f"post_send A.qp0 opcode=77 bad_wr={null}").rule == "crash-bad-wr"
    well(lab, f"post_send A.qp0 wr={null}")
    well(lab, f"post_recv A.qp0 sg_list={null} num_sge=0 next={null}")
    well(lab, f"post_send A.qp0 opcode=SEND sg_list={null}")
    assert refusal(lab, f"post_send A.qp0 opcode=SEND sg_list={null} num_sge=1").rule == "crash-sg"
    well(lab, f"create_cq A.c9 cqe=3 channel={null}")
    well(lab, f"create_qp A.q9 pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0 srq={null}")
    assert (lab.look("A.qp0.sq.used"), lab.look("A.qp0.rq.used")) == (2, 1)


def test_an_uninitialised_wr_list_is_followed() -> None:
    answer = refusal(lab_of(), "post_recv A.qp0 sg_list=NULL rest=junk")
    assert answer.rule == "recv-sges"


def test_pointer_0_in_a_call_of_a_program_is_null() -> None:
    lab = lab_of()
    arguments = {"qp": Ref("A", "qp0"), "wr": [{"opcode": 2, "next": 0, "ah": 0, "mw": 0}]}
    assert lab.session.perform(Invocation("post_send", arguments)).refusal is None


def test_only_requests_that_others_may_still_hold_are_copied() -> None:
    wrs = [RecvWR(1), RecvWR(2, next=0), RecvWR(3)]
    copies = copy_for_queue(wrs)
    assert copies == wrs[:2]
    assert not any(copy is wr for copy, wr in zip(copies, wrs, strict=False))
    taken_over = copy_for_queue(Fresh(wrs))
    assert [wr.wr_id for wr in taken_over] == [1, 2]
    assert all(copy is wr for copy, wr in zip(taken_over, wrs, strict=False))
