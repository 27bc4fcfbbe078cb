"""Names and things: both ways, in order, and after the thing is gone."""

from rdmalab.command import Noun, Thing
from rdmalab.session.names import Names
from tests.labs import lab_of, misread, refusal, well

QP = Thing(Noun.QP, "A", 17)


def test_nodes_have_names_from_the_start() -> None:
    names = Names(["A", "B"])
    assert names.all() == ["A", "B"]
    assert names.find("B") == Thing(Noun.NODE, "B", 0)


def test_a_thing_without_a_name_has_a_text() -> None:
    names = Names(["A"])
    assert names.of(QP) == "A.qp#0x11"
    names.give("A.mine", QP)
    assert names.of(QP) == "A.mine"


def test_the_living_are_listed_oldest_first() -> None:
    lab = lab_of("create_cq A.cq9 cqe=1", "create_cq A.cq1 cqe=1", "destroy_cq A.cq9")
    assert lab.session.names.all(Noun.CQ) == ["A.cq0", "B.cq0", "A.cq1"]
    assert "A.cq9" not in lab.session.names.all()


def test_a_name_is_taken_until_its_thing_is_destroyed() -> None:
    lab = lab_of()
    error = misread(lab, "create_cq A.cq0 cqe=4")
    assert (error.message, error.hint) == ("A.cq0 exists already", "free: A.cq1")
    assert error.place == (10, 15)
    well(lab, "create_cq A.cq1 cqe=4")
    assert misread(lab, "create_cq A.cq0 cqe=4").hint == "free: A.cq2"
    old = lab.session.names.find("A.cq1")
    well(lab, "destroy_cq A.cq1")
    assert lab.session.names.find("A.cq1") == old
    new = well(lab, "create_cq A.cq1 cqe=4").value
    assert lab.session.names.find("A.cq1") == new != old
    assert not lab.session.names.is_free("A.cq1")


def test_a_refused_creation_leaves_the_name_free() -> None:
    lab = lab_of()
    refusal(lab, "create_cq A.cq1 cqe=0")
    assert lab.session.names.find("A.cq1") is None
    well(lab, "create_cq A.cq1 cqe=1")


def test_a_refused_destruction_buries_nothing() -> None:
    lab = lab_of()
    refusal(lab, "dealloc_pd A.pd0")
    assert not lab.session.names.is_free("A.pd0")


def test_living_things_and_free_names() -> None:
    lab = lab_of("create_cq A.cq1 cqe=1", "destroy_cq A.cq1")
    names, world = lab.session.names, lab.session.world
    assert [names.of(it) for it in names.living(world, Noun.CQ)] == ["A.cq0", "B.cq0"]
    assert [names.of(it) for it in names.living(world, Noun.CQ, "B")] == ["B.cq0"]
    assert names.first_free("A.cq") == "A.cq1"
