"""Thread domains: a parent domain protects as its protection domain, and can leave out the lock."""

from tests.labs import RECV, lab_of, refusal, status, trip, well

PARENT = ("alloc_td A.td0", "alloc_parent_domain A.pd1 pd=A.pd0 td=A.td0")
QP = "create_qp A.qp1 pd=A.pd1 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0"


def test_parent_domain_objects_are_of_its_pd() -> None:
    lab = lab_of(*PARENT, QP, "reset B.qp0", "connect A.qp1 B.qp0", RECV)
    well(lab, "post_send A.qp1 wr_id=1 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED")
    trip(lab, "run")
    assert status(lab) == "SUCCESS"
    assert lab.look("A.qp1.pd") == "A.pd0"


def test_parent_domain_mr_is_of_its_pd() -> None:
    lab = lab_of(*PARENT, "reg_mr A.mr1 pd=A.pd1 length=64 access=LOCAL_WRITE", RECV)
    well(lab, "post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr1[0:64] flags=SIGNALED")
    trip(lab, "run")
    assert status(lab) == "SUCCESS"


def test_thread_domain_and_parent_domain_in_use_are_ebusy() -> None:
    lab = lab_of(*PARENT, QP)
    assert refusal(lab, "dealloc_td A.td0").rule == "in-use"
    assert refusal(lab, "dealloc_pd A.pd1").rule == "in-use"
    assert "1 parent domain" in refusal(lab, "dealloc_pd A.pd0").message
    for line in ("destroy_qp A.qp1", "dealloc_pd A.pd1", "dealloc_td A.td0"):
        well(lab, line)


def test_a_parent_domain_without_a_thread_domain_locks() -> None:
    lab = lab_of("alloc_parent_domain A.pd1 pd=A.pd0", "alloc_parent_domain A.pd2 pd=A.pd1", QP)
    assert lab.look("A.pd2.base") == lab.look("A.pd1.base") == "A.pd0"
    assert lab.session.world.nodes["A"].qps.items[lab.look("A.qp1.qp_num")].locked


def test_thread_domains_in_views() -> None:
    lab = lab_of(*PARENT, QP)
    asked = ("A.td0.parents", "A.td0.qps", "A.pd1.td", "A.pd1.base", "A.pd0.base", "A.pd1.qps")
    assert [lab.look(question) for question in asked] == [1, 1, "A.td0", "A.pd0", "", 1]
