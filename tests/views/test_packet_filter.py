"""Filters of packets, in the words of `help expr`."""

import pytest

from rdmalab.command import NotUnderstood
from rdmalab.lab import Lab
from rdmalab.views.packet_filter import as_question, packet_filter
from tests.export.ladder_stories import played, rows_of
from tests.views.test_fates import packets_of

ROWS = packets_of(played("nak-and-go-back"))  # four packets and a NAK_SEQUENCE


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("opcode=NAK", ["NAK_SEQUENCE"]),
        ("from=A, psn=2", ["SEND_MIDDLE"]),
        ("qp=B.qp0", ["NAK_SEQUENCE"]),
        ("from=A, opcode!=SEND_MIDDLE", ["SEND_FIRST", "SEND_LAST"]),
        ("psn >= 2", ["SEND_MIDDLE", "SEND_LAST"]),
        ("wire.last.psn == 3", ["SEND_LAST"]),
        ("fate == LOST", ["SEND_MIDDLE"]),
        ("fate == REFUSED or opcode == NAK", ["SEND_MIDDLE", "NAK_SEQUENCE"]),
        ("ack_req", ["SEND_LAST"]),
        ("not ack_req and from == A", ["SEND_FIRST", "SEND_MIDDLE", "SEND_MIDDLE"]),
        ("by == B.qp0", ["SEND_MIDDLE", "SEND_LAST"]),
        ("length < 2000 and to == A", ["NAK_SEQUENCE"]),
        ("va > 3", []),
        ("from=A and psn=2", ["SEND_MIDDLE"]),
        ("from=A psn=2", ["SEND_MIDDLE"]),
        ("opcode=NAK or psn>=3", ["SEND_LAST", "NAK_SEQUENCE"]),
        ("fate=LOST", ["SEND_MIDDLE"]),
        ("not ack_req and from=A psn<1", ["SEND_FIRST"]),
    ],
)
def test_packets_are_found_by_their_fields(text: str, labels: list[str]) -> None:
    wanted = packet_filter(text)
    assert wanted is not None
    assert [row.label for row in ROWS if wanted(row)] == labels


@pytest.mark.parametrize("text", [
    "opcode=ACK and psn>=2", "syndrome=RNR_NAK, from=B", "not (qp=B.qp0 or fate=LOST)",
    'by == "A.qp0" len!=64', "wire.any(opcode=ACK)", "psn=0 syndrome=ACK,",
])  # fmt: skip
def test_a_filter_may_be_read_at_each_key_that_is_typed(text: str) -> None:
    for typed in (text[:end] for end in range(len(text) + 1)):
        try:
            wanted = packet_filter(typed)
        except NotUnderstood:
            continue
        if wanted is not None:
            assert [*filter(wanted, ROWS)] != [None]


@pytest.mark.parametrize("text", ["NAK", "missing", "B.qp0", "ev 17", ""])
def test_other_texts_are_looked_for_as_they_are(text: str) -> None:
    assert packet_filter(text) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("opcode=FOO", '"FOO" is no opcode'),
        ("colour=red", 'wire.last has no "colour"'),
        ("opcode=ACK and p", 'wire.last has no "p"'),
        ("psn=2,3", "3 is not a condition"),
        ("spn >= 3", 'wire.last has no "spn"'),
        ("psn >", "is missing"),
        ("any(A.qp.state == RTS)", "any is not about one packet"),
        ("A.cq0.total(status=SUCCESS) > 1", "A.cq0.total is not about one packet"),
    ],
)
def test_a_mistake_is_named_before_anything_is_filtered(text: str, message: str) -> None:
    with pytest.raises(NotUnderstood, match=message.replace("(", r"\(")):
        packet_filter(text)


@pytest.mark.parametrize(
    "value", ["A.qp0", "wire.last.opcode", "wire.count()", "A.qp0.wr[7]", "1//0"]
)
@pytest.mark.parametrize("key", ["qp", "from", "psn", "psn ="])
def test_no_piece_of_a_text_is_an_exception_of_another_kind(key: str, value: str) -> None:
    text = f"{key}={value}"
    for end in range(len(text) + 1):
        try:
            wanted = packet_filter(text[:end])
        except NotUnderstood:
            continue
        assert wanted is None or len([*map(wanted, ROWS)]) == len(ROWS)


@pytest.mark.parametrize(
    ("text", "question"),
    [
        (
            "from=A, opcode!=SEND_MIDDLE",
            "wire.last.source == A and wire.last.opcode != SEND_MIDDLE",
        ),
        ("psn >= 2 or qp == B.qp0", 'wire.last.psn >= 2 or wire.last.qp == "B.qp0"'),
        ("qp=B.qp0", 'wire.last.qp == "B.qp0"'),
        ("RNR_NAK", "wire.last.opcode == RNR_NAK"),
        ("ack_req", "wire.last.ack_req"),
        ("resent", ""),
    ],
)
def test_a_filter_is_a_question_for_break(text: str, question: str) -> None:
    assert as_question(text) == question
    lab = Lab()
    for line in ("use rc_pair", "post_send A.qp0 opcode=SEND", "run 1ms"):
        lab.do(line)
    assert not question or not lab.do(f"break {question}")[0].failed


def test_a_mistake_has_a_hint() -> None:
    with pytest.raises(NotUnderstood) as caught:
        packet_filter("spn >= 3")
    assert "psn" in str(caught.value.hint)
    assert rows_of(played("nak-and-go-back"))
