"""Nodes are equal when they ask the same, wherever they stand."""

import pytest

from rdmalab.command import NotUnderstood, Span
from rdmalab.grammar.nodes import Index, Literal, Path, Word
from tests.grammar.test_answers import ask


def test_places_and_spelling_do_not_matter() -> None:
    assert Word("RTS", Span(0, 3)) == Word("RTS", Span(7, 10))
    assert Literal(10_000, "10us") == Literal(10_000, "10000ns")
    assert Path(("now",)) != Path(("idle",))


def test_paths_are_written_as_they_are_typed() -> None:
    assert str(Path(("A", "qp0", "wr", Index(7), "status"))) == "A.qp0.wr[7].status"
    assert str(Path(("A", "mr0", Index(0, 5)))) == "A.mr0[0:5]"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("7 // 2", 3), ("-7 // 2", -4), ("2 * 7 // 4 - 1", 2), ("min(4, now, 9)", 4),
        ("max(A.qp0.sq.used)", 3), ("abs(1 - A.qp0.sq.used) + 1", 3), ("htonl(0x1234)", 0x34120000),
        ("ntohl(htonl(7)) == 7", True), ("htons(0x1234)", 0x3412), ("be64toh(1)", 1 << 56),
        ("htonll(0x0102030405060708)", 0x0807060504030201), ("count(A.qp)", 2), ("count(A.mr)", 0),
        ("any(A.qp.state == ERR)", True), ("all(A.mr.length > 9)", True),
        ("any(A.mr.length > 9)", False), ("wire.count(from!=A)", 1), ("wire.count(from!=C)", 3),
        ("wire.count(opcode!=SEND_ONLY, from!=A)", 1),
    ],
)  # fmt: skip
def test_functions_and_filters_of_other_values(text: str, value: object) -> None:
    assert ask(text) == value


@pytest.mark.parametrize(
    ("text", "place", "message", "hint"),
    [
        ("1 // (now - 9200)", (10, 11), "division by zero", "write max(1, x)"),
        ("abs(A.qp0.service)", (4, 17), "a text cannot be computed with", "compute with numbers"),
        ("htons(now * now)", (0, 16), "htons takes 16 bits", "htons(0x1234)"),
        ("1 + htonl(-1)", (4, 13), "htonl takes 32 bits", "htonl(0x1234)"),
        ("any(B.qp.state == ERR)", (4, 14), "no node B", ""),
    ],
)
def test_what_a_function_refuses(
    text: str, place: tuple[int, int], message: str, hint: str
) -> None:
    with pytest.raises(NotUnderstood) as wrong:
        ask(text)
    assert wrong.value.message == message
    assert wrong.value.hint.startswith(hint)
    assert (wrong.value.place.start, wrong.value.place.stop) == place
