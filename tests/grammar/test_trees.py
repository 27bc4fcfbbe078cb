"""Canonical text of expressions, and the objects that they name."""

import pytest
from hypothesis import given

from rdmalab.command import Span
from rdmalab.grammar.expressions import parse_expression
from rdmalab.grammar.nodes import Node
from rdmalab.grammar.trees import names, render
from tests.grammar.strategies import expression_nodes


def test_the_text_of_a_question_is_canonical_and_qualified() -> None:
    answer = parse_expression(" (qp0.state==ERR)and( now>10us ) ", "B")
    assert answer.text == "B.qp0.state == ERR and now > 10us"
    assert parse_expression("(now == 1) == (now - (1 - 2) == (now))").text == (
        "(now == 1) == (now - (1 - 2) == (now))"
    )


def test_the_objects_it_mentions() -> None:
    node = parse_expression(
        "qp0.state == ERR and B.cq0.total(status=A) > -A.qp0.sq.used and not why(A.mr0[0:5])", "A"
    ).node
    assert [str(ref) for ref in names(node)] == ["A.qp0", "B.cq0", "A.mr0"]
    assert names(node)[1].place == Span(21, 32)
    assert names(parse_expression("wire.count(from=A) > now + 1").node) == []
    node = parse_expression("any(A.qp.msn > B.qp1.msn) and min(A.cq0.count, 2) > 1").node
    assert [str(ref) for ref in names(node)] == ["B.qp1", "A.cq0"]


@pytest.mark.parametrize(
    "text",
    [
        "A.cq0.total(status!=SUCCESS, since=10us) // 2 - 1 == min(1, 2 // (3 // now))",
        "count(A.qp.state != RTS) == 0 or all(B.cq.total(opcode!=RECV, since=@before-nak) > 1)",
        "-(now // 2) == -now // 2", "log.count(verb!=(now))", "wire.any(since=120)",
    ],
)  # fmt: skip
def test_canonical_text_is_itself(text: str) -> None:
    assert parse_expression(text).text == text


@given(expression_nodes)
def test_canonical_text_reads_the_same(node: Node) -> None:
    again = parse_expression(render(node))
    assert again.node == node
    assert again.text == render(node)
