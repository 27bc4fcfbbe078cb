"""Questions that must be answered with yes."""

import pytest

from rdmalab.command import NotUnderstood
from rdmalab.grammar.expressions import parse_expression
from rdmalab.lab import Lab
from rdmalab.scenario.expect import Expectation, unmet, value_text
from rdmalab.spec.opcodes import PacketPlace
from rdmalab.spec.states import QPState
from rdmalab.spec.work import SendFlags


def lines(text: str) -> list[str]:
    lab = Lab()
    lab.do("use rc_pair")
    failure = unmet(Expectation(text, parse_expression(text)), lab.session.ask, "expect line 1")
    return failure.lines if failure else []


@pytest.mark.parametrize(
    "text", ["A.qp0.state == RTS", "not A.cq0.count == 1", "now == 0 and idle == 1"]
)
def test_yes(text: str) -> None:
    assert lines(text) == []


@pytest.mark.parametrize(
    ("text", "actual"),
    [
        ("A.cq0.count == 1", ["A.cq0.count = 0"]),
        ("A.qp0.state == ERR", ["A.qp0.state = RTS"]),
        ("A.qp0.state == B.cq0.count", ["A.qp0.state = RTS", "B.cq0.count = 0"]),
        ("now == 1 and A.cq0.count == 0", ["now = 0", "A.cq0.count = 0"]),
        ("not now == 0", ["now = 0"]),
        ("A.mr0[0:3] == \"abc\"", ["A.mr0[0:3] = \"\\x00\\x00\\x00\""]),
        ("A.cq0.next.wr_id == 1", ["A.cq0.next.wr_id = NULL"]),
        ("now == 3 or now == 4", ["now = 0"]),
        ("wire.count(from=A) == 2", ["wire.count(from=A) = 0"]),
        ("A.qp0.sq.used + 1 == 2", ["A.qp0.sq.used + 1 = 1"]),
        ("now == 1 and A.qp9.state == RTS", ["now = 0", 'A.qp9.state: nothing is called "A.qp9"']),
    ],
)  # fmt: skip
def test_no(text: str, actual: list[str]) -> None:
    assert lines(text) == [f"expected  {text}", *(f"actual    {fact}" for fact in actual)]


def test_a_time_is_written_with_its_unit() -> None:
    lab = Lab()
    for line in ("use rc_pair", "run 8388708ns"):
        lab.do(line)
    text = "now < 5ms"
    failure = unmet(Expectation(text, parse_expression(text)), lab.session.ask, "expect line 1")
    assert failure is not None
    assert failure.actual == ["now = 8.388708ms"]


def test_a_question_that_means_nothing() -> None:
    with pytest.raises(NotUnderstood):
        lines("A.qp0.colour == red")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "NULL"), (True, "1"), (7, "7"), (0xDEAD, "0xdead"), (QPState.RTS, "RTS"),
        (SendFlags.FENCE | SendFlags.SIGNALED, "FENCE|SIGNALED"), (b"a\0", '"a\\x00"'),
        ("SEND_ONLY", "SEND_ONLY"), ("B.qp0", "B.qp0"), ("two words", '"two words"'), ("", '""'),
        (PacketPlace.FIRST, "FIRST"),
    ],
)  # fmt: skip
def test_value_text_is_the_literal_of_an_expression(value: object, text: str) -> None:
    assert value_text(value) == text
