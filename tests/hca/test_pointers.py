"""Pointers to nowhere, in requests that are sent and in receives."""

import pytest

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
        ("sg=A.mr0[0:8] num_sge=5 bad_wr=NULL", "crash-bad-wr", 22),
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
def test_it_is_told_what_c_would_do(
    verb: str, used: str, fields: str, rule: str, errno: int
) -> None:
    lab = lab_of("create_srq A.srq0 pd=A.pd0 max_wr=8")
    refused = refusal(lab, f"{verb} {fields}")
    kind = verb.split()[0].split("_")[1]
    assert (refused.rule, refused.errno) == (rule.format(kind), errno)
    posted = rule == "crash-next"  # the request itself was good
    assert lab.look(used) == int(posted)
    assert refused.message.startswith("in C this would crash") == rule.startswith("crash")


def test_num_sge_counts_and_not_the_list() -> None:
    lab = lab_of("post_send A.qp0 opcode=SEND sg=A.mr0[0:8],0xdead num_sge=1 flags=INLINE")
    well(lab, "post_send A.qp0 opcode=SEND sg=0xdead num_sge=0")
    well(lab, "post_recv A.qp0 sg=A.mr0[0:8],A.mr0[8:99] num_sge=1")
    qp = lab.session.world.nodes["A"].qps.items[0x11]
    assert [wqe.length for wqe in qp.sq.wqes.values()] == [8, 0]
    assert [wqe.length for wqe in qp.rq.wqes] == [8]


def test_bad_wr_is_missed_only_where_there_is_an_error() -> None:
    lab = lab_of(f"post_send A.qp0 {GOOD} bad_wr=NULL")
    refused = refusal(lab, f"post_send A.qp0 {GOOD} wr={{opcode=SEND num_sge=-1}} bad_wr=NULL")
    assert (refused.rule, refused.bad_wr) == ("crash-bad-wr", 1)
    assert lab.look("A.qp0.sq.used") == 2


@pytest.mark.parametrize("verb", ["post_send A.qp0", "post_recv A.qp0"])
def test_no_list_at_all(verb: str) -> None:
    well(lab_of(), f"{verb} wr=NULL")
    lab = Lab(profile="rxe")
    well(lab, "use rc_pair")
    for said in ("wr=NULL", "wr={opcode=SEND} bad_wr=NULL" if "send" in verb else "bad_wr=NULL"):
        refused = refusal(lab, f"{verb} {said}")
        assert (refused.rule, refused.errno) == ("null-pointer", 22)
    assert lab.look("A.qp0.sq.used") == lab.look("A.qp0.rq.used") == 0


@pytest.mark.parametrize("profile", ["strict", "rxe", "mlx5"])
def test_no_driver_looks_at_the_pointers_of_a_shared_queue(profile: str) -> None:
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
def test_a_struct_that_nobody_cleared(line: str, rule: str) -> None:
    assert refusal(lab_of(), line).rule == rule


def test_what_was_written_is_no_junk() -> None:
    lab = lab_of("post_send A.qp0 opcode=SEND sg=A.mr0[0:8] flags=0 next=NULL wr_id=0 rest=junk")
    (wqe,) = lab.session.world.nodes["A"].qps.items[0x11].sq.wqes.values()
    assert (wqe.wr.wr_id, wqe.flags, wqe.length) == (0, 0, 8)
    assert wqe.wr.rkey == 0x6B6B6B6B
