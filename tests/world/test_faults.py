"""Faults: which packets they hit, and how they say it."""

from typing import Any

import pytest

from rdmalab.spec.opcodes import BY_LABEL
from rdmalab.wire.packet import Flow, Packet
from rdmalab.world.faults import Corrupt, Drop, Match

FLOW = Flow(1, 2, 3)


def packet(label: str = "SEND_ONLY", psn: int = 5) -> Packet:
    return Packet(FLOW, BY_LABEL[label][0], 0x11, psn)


@pytest.mark.parametrize(
    ("fields", "hits"),
    [
        ({}, True),
        ({"source": "A"}, True),
        ({"source": "B"}, False),
        ({"target": "B"}, True),
        ({"target": "A"}, False),
        ({"opcode": "SEND_ONLY"}, True),
        ({"opcode": "SEND_LAST"}, False),
        ({"psn": 5}, True),
        ({"psn": 0}, False),
        ({"nth": 1}, True),
        ({"nth": 2}, False),
        ({"source": "A", "opcode": "SEND_ONLY", "psn": 5, "nth": 1}, True),
    ],
)
def test_every_field_that_is_given_must_fit(fields: dict[str, Any], hits: bool) -> None:
    assert Match(**fields).hits("A", "B", packet()) is hits


def test_nth_counts_the_packets_that_fit() -> None:
    match = Match(opcode="SEND_ONLY", nth=2)
    packets = [packet(), packet("SEND_FIRST"), packet(), packet()]
    assert [match.hits("A", "B", each) for each in packets] == [False, False, True, False]


def test_an_opcode_without_a_name_is_nobodys() -> None:
    strange = Packet(FLOW, 0xFE, 0x11, 5)
    assert not Match(opcode="SEND_ONLY").hits("A", "B", strange)
    assert Match().hits("A", "B", strange)


def test_they_say_what_they_do() -> None:
    match = Match(source="A", target="B", opcode="SEND_ONLY", psn=0, nth=3)
    assert str(match) == "A->B opcode=SEND_ONLY psn=0 nth=3"
    assert str(Match()) == "every packet"
    assert str(Drop(1, Match(psn=0))) == "drop psn=0"
    assert str(Corrupt(1, Match(), 7, 2)) == "corrupt every packet byte=7 bit=2"


def test_a_drop_harms_nothing_and_a_corruption_loses_nothing() -> None:
    drop, corrupt = Drop(1, Match()), Corrupt(1, Match(), byte=-1, bit=7)
    assert drop.loses()
    assert drop.harms(b"abc") == b"abc"
    assert corrupt.loses() == ""
    assert corrupt.harms(b"\x00\x00") == b"\x00\x80"
    assert Corrupt(1, Match(), byte=5).harms(b"\x00\x00") == b"\x00\x01"  # beyond the end: again
