"""Thread domains and parent domains as words."""

from tests.labs import lab_of, misread, refusal, well


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
