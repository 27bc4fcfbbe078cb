"""The critical region: who is inside, who waits, and what a queue pair may be asked for."""

import pytest

from rdmalab.spec.records import Kind
from tests.extended import extended_lab
from tests.labs import refusal, seen, well

SEND = "post_send A.qx0 opcode=SEND sg=A.mr0[0:8]"
EX = "create_qp_ex A.qx1 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0"


def test_post_send_between_wr_start_and_wr_complete_deadlocks() -> None:
    lab = extended_lab("wr_start A.qx0")
    refused = refusal(lab, SEND)
    assert (refused.rule, refused.errno) == ("crash-deadlock", 35)
    assert refused.message.startswith("in C this would deadlock")
    well(lab, "wr_abort A.qx0")
    well(lab, SEND)  # outside, both go
    assert lab.look("A.qx0.sq.used") == 1


def test_wr_start_twice_in_a_thread_deadlocks() -> None:
    lab = extended_lab("wr_start A.qx0")
    assert refusal(lab, "wr_start A.qx0").rule == "crash-deadlock"


def test_wr_start_of_another_thread_waits() -> None:
    lab = extended_lab("wr_start A.qx0", "wr_send A.qx0")
    refused = refusal(lab, "wr_start A.qx0 thread=2")
    assert (refused.rule, refused.errno) == ("lock-held", 16)
    assert "thread 2 must wait: thread 1 holds" in refused.message
    well(lab, "wr_complete A.qx0")
    well(lab, "wr_start A.qx0 thread=2")
    assert lab.look("A.qx0.region.thread") == 2


def test_wr_start_without_lock_threads_overwrite_each_other() -> None:
    lab = extended_lab("alloc_td A.td0", "alloc_parent_domain A.pd1 pd=A.pd0 td=A.td0")
    well(lab, f"{EX} pd=A.pd1 send_ops_flags=SEND")
    for line in ("wr_start A.qx1", "wr_send A.qx1", "wr_send A.qx1", "wr_start A.qx1 thread=2"):
        well(lab, line)
    assert lab.look("A.qx1.region.built") == 0
    assert seen(lab, Kind.REGION_CLOSED)[-1][1:] == (2, "overwritten")
    assert not lab.look("A.qx1.region.locked")


@pytest.mark.parametrize("verb", ["wr_start", "wr_send", "wr_set", "wr_complete", "qp_to_qp_ex"])
def test_wr_start_needs_create_qp_ex(verb: str) -> None:
    lab = extended_lab()
    more = " wr_id=1" if verb == "wr_set" else ""
    assert refusal(lab, f"{verb} A.qp0{more}").rule == "no-qp-ex"


@pytest.mark.parametrize("line", ["wr_send A.qx0", "wr_set_sge A.qx0 sg=A.mr0[0:8]"])
def test_wr_builder_before_wr_start(line: str) -> None:
    lab = extended_lab()
    assert refusal(lab, line).rule == "region-needed"


def test_builder_fields_may_be_set_outside() -> None:
    lab = extended_lab("wr_set A.qx0 wr_id=9 wr_flags=FENCE", "wr_start A.qx0", "wr_send A.qx0")
    assert lab.look("A.qx0.region.wr_id") == 9
    assert lab.look("A.qx0.region.wr_flags").name == "FENCE"


@pytest.mark.parametrize(
    ("text", "rule", "errno"),
    [
        ("send_ops_flags=SEND", "qp-ex-pd", 22),
        ("pd=A.pd0 comp_mask=SEND_OPS_FLAGS send_ops_flags=SEND", "qp-ex-pd", 22),
        ("pd=A.pd0 comp_mask=PD|RX_HASH", "qp-ex-mask", 95),
        ("pd=A.pd0 comp_mask=PD|0x1000", "qp-ex-mask", 95),
        ("pd=A.pd0 send_ops_flags=SEND|TSO", "send-ops", 95),
        ("pd=A.pd0 send_ops_flags=0x2000", "send-ops", 95),
    ],
)
def test_create_qp_ex_refused_creates_no_qp(text: str, rule: str, errno: int) -> None:
    lab = extended_lab()
    refused = refusal(lab, f"{EX} {text}")
    assert (refused.rule, refused.errno) == (rule, errno)
    assert "A.qx1" not in lab.session.names.thing_of


@pytest.mark.parametrize(
    ("text", "has_face"),
    [
        ("pd=A.pd0", False),
        ("pd=A.pd0 send_ops_flags=0", True),
        ("pd=A.pd0 comp_mask=PD send_ops_flags=SEND", False),
        ("pd=A.pd0 comp_mask=PD|SEND_OPS_FLAGS", True),
    ],
)
def test_create_qp_ex_comp_mask_says_whether_send_ops_flags_count(
    text: str, has_face: bool
) -> None:
    lab = extended_lab(f"{EX} {text}")
    made = lab.session.world.nodes["A"].qps.items[lab.look("A.qx1.qp_num")]
    assert (made.ex is not None) is has_face


@pytest.mark.parametrize(("profile", "rule"), [("strict", ""), ("rxe", "send-ops")])
def test_create_qp_ex_send_ops_flags_by_device(profile: str, rule: str) -> None:
    lab = extended_lab(profile=profile)
    reply = lab.do(f"{EX} pd=A.pd0 send_ops_flags=FLUSH")[-1]
    assert (reply.refusal.rule if reply.refusal else "") == rule
