"""What a program's question is about."""

from rdmalab.doctor.facts.awaited import things_in
from rdmalab.grammar.expressions import parse_expression
from tests.doctor.asking import case_of
from tests.labs import RECV, SEND, lab_of


def named(question: str) -> list[str]:
    lab = lab_of(RECV, SEND)
    case = case_of(lab, "A.qp0.wr[1]")
    found = things_in(case, parse_expression(question, "A").node)
    return [lab.session.names.of(thing) for thing in found]


def test_each_living_thing_is_named_once_from_left_to_right() -> None:
    assert named("A.qp0.state == RTS and (B.cq0.count == 1 or not A.qp0.sq.used == 2)") == [
        "A.qp0", "B.cq0",
    ]  # fmt: skip


def test_what_is_nothing_or_no_object_is_left_out() -> None:
    assert named("now == 3") == []
    assert things_in(case_of(lab_of(SEND), "A.qp0.wr[1]"), None) == []
