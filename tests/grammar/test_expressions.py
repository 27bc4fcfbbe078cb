"""Questions: what is read, what is refused, and that canonical text reads the same."""

import pytest
from hypothesis import given

from rdmalab.command import Expression, NotUnderstood, Span
from rdmalab.grammar.expressions import parse_expression
from rdmalab.grammar.nodes import Binary, Call, Index, Literal, Node, Path, Unary, Word
from tests.grammar.strategies import questions

STATE = Path(("A", "qp0", "state"))
_MOMENT = "write since=@start, since=120, since=10us"
KIND = Path(("A", "qp", "state"))
NOW, IDLE = Path(("now",)), Path(("idle",))


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("idle", Path(("idle",))),
        ("A.qp0.state == ERR", Binary("==", STATE, Word("ERR"))),
        ("qp0.state == IBV_QPS_ERR", Binary("==", STATE, Word("IBV_QPS_ERR"))),
        ("now >= 10us", Binary(">=", NOW, Literal(10_000, "10us"))),
        ("now == (now)", Binary("==", NOW, NOW)),
        ("A.mr0[:5]", Path(("A", "mr0", Index(0, 5)))),
        ("mr0[0:4KiB]", Path(("A", "mr0", Index(0, 4096)))),
        ("A.qp0.wr[7].status", Path(("A", "qp0", "wr", Index(7), "status"))),
        ("why(A.qp0.wr[7])", Call(Path(("why",)), [Path(("A", "qp0", "wr", Index(7)))], {})),
        ("log.any()", Call(Path(("log", "any")), [], {})),
        (
            "wire.count(opcode=SEND_ONLY, from=A)",
            Call(Path(("wire", "count")), [], {"opcode": Word("SEND_ONLY"), "from": Word("A")}),
        ),
        ("not now == 1", Unary("not", Binary("==", NOW, Literal(1, "1")))),
        ("-now * 2", Binary("*", Unary("-", NOW), Literal(2, "2"))),
        ("now - 1 - 2", Binary("-", Binary("-", NOW, Literal(1, "1")), Literal(2, "2"))),
        ("now + 2 * 3", Binary("+", NOW, Binary("*", Literal(2, "2"), Literal(3, "3")))),
        ("idle or idle and idle", Binary("or", IDLE, Binary("and", IDLE, IDLE))),
        ("now // 2 * 3", Binary("*", Binary("//", NOW, Literal(2, "2")), Literal(3, "3"))),
        ("min(now, 2)", Call(Path(("min",)), [NOW, Literal(2, "2")], {})),
        ("any(qp.state == RTS)", Call(Path(("any",)), [Binary("==", KIND, Word("RTS"))], {})),
        ("any(A.qp.state != RTS)", Call(Path(("any",)), [Binary("!=", KIND, Word("RTS"))], {})),
        (
            "log.count(verb!=poll_cq, since=@ready)",
            Call(
                Path(("log", "count")), [],
                {"verb": Unary("!=", Word("poll_cq")), "since": Word("@ready")},
            ),
        ),
        (
            "A.cq0.total(since = 10 us)",
            Call(Path(("A", "cq0", "total")), [], {"since": Literal(10_000, "10us")}),
        ),
        ('"and" == "or"', Binary("==", Literal("and", ""), Literal("or", ""))),
    ],
)  # fmt: skip
def test_what_a_question_says(text: str, node: Node) -> None:
    assert parse_expression(text, "A").node == node


@pytest.mark.parametrize(
    ("text", "place", "message", "hint"),
    [
        ("", (0, 0), "a name or a value is missing here", "write A.qp0.state or 12"),
        ("idle and", (8, 8), "a name or a value is missing here", "write A.qp0.state or 12"),
        ("(idle", (5, 5), '")" is missing', "write )"),
        ("idle idle", (5, 9), 'unexpected "idle"', "legal here: ==, !=, <, <=, and, or"),
        ("A.qp0.", (6, 6), "a name or a value is missing here", "write A.qp0.state or 12"),
        ("A.qp0[x]", (6, 7), "a number is missing here", "write [0:64] or [7]"),
        ("1 < now < 3", (8, 9), "comparisons do not chain", "write a < b and b < c"),
        ("now == 1 == 1", (9, 11), "comparisons do not chain", "write a < b and b < c"),
        ("now ? 1", (4, 5), 'unexpected "?"', "legal here: ==, !=, <, <=, and, or"),
        ("log.any(a=1, a=2)", (13, 14), "a is given twice", "leave one out"),
        ("log.any(a=1 b=2)", (12, 13), '")" is missing', "write )"),
        ("now / 2", (4, 5), 'unexpected "/"', "numbers are whole: write //"),
        ("log.any(since=)", (14, 15), "a moment is missing here", _MOMENT),
        ("log.any(since=ready)", (14, 19), "a moment is missing here", _MOMENT),
        ("log.any(since!=@ready)", (15, 21), "a moment is missing here", _MOMENT),
        ("@ready == 1", (0, 6), "a name or a value is missing here", "write A.qp0.state or 12"),
        ("now + abs()", (6, 11), "abs() takes 1 number, not 0", "write abs(A.qp0.sq_psn - 9)"),
        ("htonl(1, 2)", (0, 11), "htonl() takes 1 number, not 2", "write htonl(0x1234)"),
        ("max()", (0, 5), "max() takes at least 1 number, not 0", "write max(A.cq0.count, 4)"),
        ("min(a=1)", (6, 7), "min() takes no a=", "write min(A.cq0.count, 4)"),
        ("all()", (0, 5), "all() takes one condition, not 0", "write all(A.qp.state == RTS)"),
        (
            "any(A.qp0.state == RTS)",
            (0, 23),
            "any() is about all objects of a kind, and none is named here",
            "write any(A.qp.state == RTS)",
        ),
        (
            "count(A.qp.msn > B.qp.msn)",
            (17, 25),
            "count() is about one kind, not A.qp and B.qp",
            "write count(A.mr)",
        ),
        ("any(A.qp.msn > count(B.mr))", (15, 26), "any() cannot hold count()", "ask in two steps"),
        (
            "count(packet.opcode == ACK)",
            (6, 19),
            'whose "packet"?',
            "packets are counted by wire.count(opcode=ACK)",
        ),
        *(
            (
                f"count({packets}.opcode == ACK)",
                (0, 21 + len(packets)),
                "count() is about all objects of a kind, and none is named here",
                "packets are counted by wire.count(opcode=ACK)",
            )
            for packets in ("A.packet", "wire")
        ),
        ("qp0.state", (0, 9), 'whose "qp0"?', "write A.qp0 or B.qp0"),
        ("now > 10xs", (6, 10), '"10xs" is not a number', "write 12 or 0x1f"),
        ('now == "a', (7, 9), "this quote is never closed", 'end it with "'),
        ("(" * 30, (24, 25), "nested too deep", "at most 24 levels"),
        ("1" + "+1" * 200, (0, 401), "this question is too long", "ask in two steps"),
    ],
)
def test_what_is_wrong_has_a_place_and_one_suggestion(
    text: str, place: tuple[int, int], message: str, hint: str
) -> None:
    with pytest.raises(NotUnderstood) as wrong:
        parse_expression(text, offset=50)
    assert (wrong.value.message, wrong.value.hint) == (message, hint)
    assert wrong.value.place == Span(50 + place[0], 50 + place[1])


@given(questions)
def test_any_text_is_a_question_or_not_understood(text: str) -> None:
    refusal: NotUnderstood | None = None
    try:
        answer: Expression | None = parse_expression(text, "A")
    except NotUnderstood as wrong:
        answer, refusal = None, wrong
    assert answer is None or parse_expression(answer.text).node == answer.node
    assert refusal is None or is_useful(refusal, text)


def is_useful(refusal: NotUnderstood, text: str) -> bool:
    return 0 <= refusal.place.start <= refusal.place.stop <= len(text) and bool(refusal.hint)


@pytest.mark.parametrize("old", ["A.qp0.deaf", "any(A.qp.deaf)", "not B.qp1.deaf"])
def test_a_field_of_an_older_file_is_read_by_its_name_of_today(old: str) -> None:
    assert parse_expression(old).text == old.replace("deaf", "rq_empty")


def test_an_object_may_have_the_old_name_of_a_field() -> None:
    assert parse_expression("A.deaf.state").text == "A.deaf.state"
