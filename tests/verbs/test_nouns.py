import pytest

from rdmalab.command import NewKind, Noun, ThingKind, kind_of
from rdmalab.lab import Lab
from rdmalab.verbs import nouns
from rdmalab.vocabulary import VOCABULARY
from rdmalab.world.relations import DESTROYERS
from tests.labs import lab_of, refusal


def test_each_noun_is_taken_and_made_under_its_own_name() -> None:
    for noun in Noun:
        if noun is not Noun.NODE:
            name = noun.value.capitalize()
            assert kind_of(getattr(nouns, name)) == ThingKind(noun)
            assert kind_of(getattr(nouns, f"New{name}")) == NewKind(noun)


@pytest.mark.parametrize(("noun", "verb"), DESTROYERS.items())
def test_a_destroyer_takes_its_object_by_the_name_of_its_noun(noun: Noun, verb: str) -> None:
    subject = VOCABULARY[verb].parameters[0]
    assert (subject.name, subject.kind) == (noun.value, ThingKind(noun))


def test_all_objects_but_nodes_and_programs_have_a_destroyer() -> None:
    assert {*Noun} - {*DESTROYERS} == {Noun.NODE, Noun.PROGRAM}


@pytest.fixture(scope="module")
def pair() -> Lab:
    return lab_of()


@pytest.mark.parametrize(
    ("line", "at_fault"),
    [
        ("reg_mr A.mr1 pd=B.pd0 length=8 access=0", "pd"),
        ("create_qp A.qp1 pd=B.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0", "pd"),
        ("create_qp A.qp1 pd=A.pd0 qp_type=RC send_cq=B.cq0 recv_cq=A.cq0", "cq"),
        ("create_qp B.qp1 pd=B.pd0 qp_type=RC send_cq=B.cq0 recv_cq=A.cq0", "cq"),
    ],
)
def test_objects_of_two_hosts_do_not_meet(pair: Lab, line: str, at_fault: str) -> None:
    refused = refusal(pair, line)
    assert (refused.rule, refused.argument) == ("other-node", at_fault)
    assert refused.message.startswith(f"this {at_fault} belongs to another node")
