"""What is meant where little is said."""

import pytest

from rdmalab.command import NotUnderstood, Noun, Region, Thing
from rdmalab.lab import Lab
from rdmalab.workbench.view_requests import ViewRequest, living
from tests.labs import lab_of

A, B = (Region(Thing(Noun.NODE, node, 0), None, None) for node in "AB")
QP = Thing(Noun.QP, "A", 17)


def test_a_thing_a_nodes_things_or_all() -> None:
    session = lab_of().session
    assert ViewRequest(session, Region(QP, None, None)).things(Noun.QP) == [QP]
    assert [thing.node for thing in ViewRequest(session, B).things(Noun.CQ)] == ["B"]
    assert len(ViewRequest(session).things(Noun.MR)) == 2


def test_of_another_noun_the_node_is_meant() -> None:
    session = lab_of().session
    assert [
        thing.node for thing in ViewRequest(session, Region(QP, None, None)).things(Noun.CQ)
    ] == ["A"]


def test_the_only_one_need_not_be_named() -> None:
    session = lab_of().session
    assert ViewRequest(session, A).one(Noun.QP) == QP


def test_one_of_several_must_be() -> None:
    with pytest.raises(NotUnderstood) as caught:
        ViewRequest(lab_of().session).one(Noun.QP)
    assert caught.value.hint == "there is: A.qp0 B.qp0"


def test_hint_without_a_qp_is_how_to_begin() -> None:
    with pytest.raises(NotUnderstood) as caught:
        ViewRequest(Lab().session).one(Noun.QP)
    assert caught.value.hint == "begin with: use rc_pair"


def test_the_destroyed_are_not_among_the_living() -> None:
    lab = lab_of("destroy_qp A.qp0", "create_cq B.cq9 cqe=1")
    assert [thing.node for thing in living(lab.session, Noun.QP)] == ["B"]
    assert [thing.number for thing in living(lab.session, Noun.CQ)] == [1, 1, 2]
