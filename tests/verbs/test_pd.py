from rdmalab.command import Noun, Thing
from rdmalab.lab import Lab
from tests.labs import lab_of, misread, refusal, well


def test_alloc_pd_and_dealloc_pd() -> None:
    lab = Lab()
    assert well(lab, "alloc_pd A.pd0").value == Thing(Noun.PD, "A", 1)
    well(lab, "dealloc_pd A.pd0")
    assert lab.session.world.nodes["A"].pds.items == {}
    assert well(lab, "alloc_pd A.pd0").value.number == 2  # numbers are never used twice


def test_dealloc_pd_in_use_is_ebusy() -> None:
    lab = lab_of()
    assert "1 MR and 1 QP" in refusal(lab, "dealloc_pd A.pd0").message
    well(lab, "destroy_qp A.qp0")
    assert refusal(lab, "dealloc_pd A.pd0").rule == "in-use"
    well(lab, "dereg_mr A.mr0")
    well(lab, "dealloc_pd A.pd0")


def test_each_node_has_its_own() -> None:
    lab = Lab()
    well(lab, "alloc_pd A.pd0; alloc_pd B.pd0")
    well(lab, "dealloc_pd A.pd0")
    assert len(lab.session.world.nodes["B"].pds.items) == 1


def test_a_parent_domain_is_written_where_a_protection_domain_is() -> None:
    lab = lab_of("alloc_td A.td0", "alloc_parent_domain A.pd1 pd=A.pd0 td=A.td0")
    well(lab, "create_ah A.ah0 pd=A.pd1 to=B")
    assert lab.look("A.ah0.pd") == "A.pd0"
    assert lab.look("A.pd1.td") == "A.td0"


def test_both_parts_are_of_this_host() -> None:
    lab = lab_of("alloc_td B.td0")
    assert refusal(lab, "alloc_parent_domain A.pd1 pd=A.pd0 td=B.td0").rule == "other-node"
    assert refusal(lab, "alloc_parent_domain A.pd1 pd=B.pd0").rule == "other-node"
    misread(lab, "alloc_parent_domain A.pd1 td=A.td0")


def test_a_thread_domain_that_is_gone() -> None:
    lab = lab_of("alloc_td A.td0", "dealloc_td A.td0")
    assert refusal(lab, "alloc_parent_domain A.pd1 pd=A.pd0 td=A.td0").rule == "use-after-destroy"
