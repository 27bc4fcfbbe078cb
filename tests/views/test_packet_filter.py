"""Filters of packets, in the words of `help expr`."""

import pytest

from rdmalab.command import NotUnderstood
from rdmalab.views.packet_filter import packet_filter
from tests.export.ladder_stories import played, rows_of
from tests.views.test_fates import packets_of

ROWS = packets_of(played("nak-and-go-back"))  # four packets and a NAK_SEQUENCE


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("opcode=NAK", ["NAK_SEQUENCE"]),
        ("from=A, psn=2", ["SEND_MIDDLE"]),
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
    ],
)
def test_packets_are_found_by_their_fields(text: str, labels: list[str]) -> None:
    wanted = packet_filter(text)
    assert wanted is not None
    assert [row.label for row in ROWS if wanted(row)] == labels


@pytest.mark.parametrize("text", ["NAK", "missing", "B.qp0", "ev 17", ""])
def test_other_texts_are_looked_for_as_they_are(text: str) -> None:
    assert packet_filter(text) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("opcode=FOO", '"FOO" is no opcode'),
        ("colour=red", 'wire has no "colour"'),
        ("spn >= 3", 'wire.last has no "spn"'),
        ("psn >", "is missing"),
        ("any(A.qp.state == RTS)", "any is not about one packet"),
        ("A.cq0.total(status=SUCCESS) > 1", "A.cq0.total is not about one packet"),
    ],
)
def test_a_mistake_is_named_before_anything_is_filtered(text: str, message: str) -> None:
    with pytest.raises(NotUnderstood, match=message.replace("(", r"\(")):
        packet_filter(text)


def test_a_mistake_has_a_hint() -> None:
    with pytest.raises(NotUnderstood) as caught:
        packet_filter("spn >= 3")
    assert "psn" in str(caught.value.hint)
    assert rows_of(played("nak-and-go-back"))
