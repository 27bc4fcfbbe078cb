"""Answers: enums equal their words, bytes their text, and nothing compares what cannot be."""

from typing import Any

import pytest
from hypothesis import given

from rdmalab.command import NotUnderstood, Span
from rdmalab.grammar.answers import Unknown, evaluate, fits, is_same
from rdmalab.grammar.expressions import parse_expression
from rdmalab.grammar.nodes import Bare, Node, Path
from rdmalab.spec.states import QPState
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import SendFlags
from tests.grammar.strategies import expression_nodes

FACTS: dict[str, Any] = {
    "now": 9200,
    "idle": False,
    "A.qp0.state": QPState.ERR,
    "A.qp0.flags": SendFlags.SIGNALED,
    "A.qp0.sq.used": 3,
    "A.qp0.service": "RC",
    "A.qp1.state": QPState.RTS,
    "A.cq0.next.status": WCStatus.RNR_RETRY_EXC_ERR,
    "A.cq0.next.imm_data": None,
    "A.cq0.armed": True,
    "A.mr0[0:5]": bytearray(b"hello"),
    "A.thing": object(),
}


class World:
    """Knows FACTS and counts the packets of a made-up wire."""

    def field(self, path: Path) -> Any:
        if str(path) not in FACTS:
            raise Unknown(f"no {path}", "did you mean A.qp0.state?")
        return FACTS[str(path)]

    def members(self, node: str, noun: str) -> list[str]:
        if node != "A":
            raise Unknown(f"no node {node}")
        return ["A.qp0", "A.qp1"] if noun == "qp" else []

    def call(self, path: Path, positional: list[Any], keywords: dict[str, Any]) -> Any:
        if str(path) == "why":
            return "too-early" if str(positional[0]) == "A.qp0.wr[7]" else ""
        if str(path) != "wire.count":
            raise Unknown(f"no {path}()")
        packets = [("SEND_ONLY", "A"), ("SEND_ONLY", "A"), ("ACKNOWLEDGE", "B")]
        wanted = [keywords.get("opcode"), keywords.get("from")]
        return sum(
            all(w is None or fits(p, w) for p, w in zip(packet, wanted, strict=True))
            for packet in packets
        )


def ask(text: str) -> Any:
    return evaluate(parse_expression(text, "A").node, World())


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("A.qp0.state == ERR", True),
        ("ERR == 6", False),
        ("A.qp0.state == IBV_QPS_ERR", True),
        ("A.qp0.state == err", True),
        ("A.qp0.state == 6", True),
        ("A.qp0.state > RTS", True),
        ("A.qp0.flags == IBV_SEND_SIGNALED", True),
        ("A.cq0.next.status == IBV_WC_RNR_RETRY_EXC_ERR", True),
        ("A.cq0.next.status != SUCCESS", True),
        ("A.cq0.next.imm_data == NULL", True),
        ("A.cq0.next.imm_data == 7", False),
        ("A.cq0.next.imm_data == abc", False),
        ("A.cq0.armed", True),
        ("A.cq0.armed == on", True),
        ("A.cq0.armed == 1", True),
        ("A.qp0.service == RC", True),
        ('A.qp0.service == "RC"', True),
        ('A.mr0[0:5] == "hello"', True),
        ('A.mr0[0:2+3] == "hello"', True),
        ('"hello" == A.mr0[0:5]', True),
        ('"hell\\xff" == A.mr0[0:5]', False),
        ("now == 9.2us", True),
        ("now >= 10us or not idle", True),
        ("idle or now < 0", False),
        ("idle and nonsense.x", False),
        ("A.qp0.sq.used + 2 * 3 - 1 == 8", True),
        ("-A.qp0.sq.used", -3),
        ("wire.count(opcode=SEND_ONLY, from=A) == 2", True),
        ("wire.count()", 3),
        ('why(A.qp0.wr[7]) == "too-early"', True),
        ("why(now + 1)", ""),
        ("7", 7),
    ],
)
def test_a_question_has_an_answer(text: str, answer: Any) -> None:
    if text == "ERR == 6":
        with pytest.raises(NotUnderstood, match="no ERR"):
            ask(text)
    else:
        assert ask(text) == answer


@pytest.mark.parametrize(
    ("text", "place", "message", "hint"),
    [
        ("1 == A.qp0.sate", (5, 15), "no A.qp0.sate", "did you mean A.qp0.state?"),
        ("idle or log.sum(a=1)", (8, 20), "no log.sum()", ""),
        ("A.qp0.state == ERRR", (15, 19), '"ERRR" is no QP state', "did you mean ERR?"),
        (
            "A.qp0.sq.used == full",
            (17, 21),
            'a number is never compared with the word "full"',
            "write a number",
        ),
        ('A.qp0.state == "ERR"', (15, 20), "a QP state is never compared with a text", "write ERR"),
        (
            "A.mr0[0:5] == 7",
            (14, 15),
            "a range of bytes is never compared with a number",
            "write a text in quotes",
        ),
        (
            "A.cq0.armed == maybe",
            (15, 20),
            'a yes or no is never compared with the word "maybe"',
            "write a number",
        ),
        (
            "A.cq0.next.imm_data < 7",
            (20, 21),
            "nothing is never compared with a number",
            "write a text in quotes",
        ),
        (
            "A.thing == 7",
            (11, 12),
            "object is never compared with a number",
            "write a text in quotes",
        ),
        (
            "A.qp0.service + 1 > 2",
            (14, 15),
            "a text cannot be computed with",
            "compute with numbers",
        ),
        ('-"a"', (0, 1), "a text cannot be computed with", "compute with numbers"),
    ],
)
def test_what_makes_no_sense_has_a_place(
    text: str, place: tuple[int, int], message: str, hint: str
) -> None:
    with pytest.raises(NotUnderstood) as wrong:
        ask(text)
    assert (wrong.value.message, wrong.value.hint) == (message, hint)
    assert wrong.value.place == Span(*place)


class Anything:
    """Has an answer of every type."""

    def __init__(self) -> None:
        self.answers = list(FACTS.values())

    def field(self, path: Path) -> Any:
        return self.answers[len(str(path)) % len(self.answers)]

    def call(self, path: Path, positional: list[Any], keywords: dict[str, Any]) -> Any:
        return self.answers[(len(positional) + len(keywords)) % len(self.answers)]

    def members(self, node: str, noun: str) -> list[str]:
        return [f"{node}.{noun}0", f"{node}.{noun}1"]


@given(expression_nodes)
def test_every_question_is_answered_or_not_understood(node: Node) -> None:
    refusal: NotUnderstood | None = None
    try:
        evaluate(node, Anything())
    except NotUnderstood as wrong:
        refusal = wrong
    assert refusal is None or refusal.hint


def test_words_are_compared_from_either_side() -> None:
    assert is_same(QPState.RTS, Bare("rts"))
    assert is_same(Bare("RTS"), QPState.RTS)
