"""What a program's lines and questions are about."""

from rdmalab.doctor.evidence.components import things_in, things_of
from rdmalab.grammar.expressions import parse_expression
from rdmalab.world.programs import programs_of
from tests.labs import RECV, SEND, lab_of


def named(question: str) -> list[str]:
    lab = lab_of(RECV, SEND)
    found = things_in(lab.session, parse_expression(question, "A").node)
    return [lab.session.names.of(thing) for thing in found]


def test_each_living_thing_is_named_once_from_left_to_right() -> None:
    assert named("A.qp0.state == RTS and (B.cq0.count == 1 or not A.qp0.sq.used == 2)") == [
        "A.qp0", "B.cq0",
    ]  # fmt: skip


def test_named_objects_without_numbers_and_none() -> None:
    assert named("now == 3") == []
    assert things_in(lab_of(SEND).session, None) == []


def test_objects_in_nested_arguments() -> None:
    line = "post_send A.qp0 opcode=RDMA_WRITE sg=A.mr0[0:64] remote=B.mr0[0]"
    lab = lab_of(f"program A.x lines={{{line}; get_async_event A}}")
    (program,) = programs_of(lab.session.world)
    first, second = ([lab.session.names.of(thing) for thing in things_of(lab.session, each)]
                     for each in program.lines)  # fmt: skip
    assert first == ["A.qp0", "A.mr0", "B.mr0"]
    assert second == ["A"]
