"""What a name of a packet or a syndrome matches."""

import copy

import pytest

from rdmalab.spec.opcodes import BY_LABEL
from rdmalab.spec.packet_names import FRAME, PACKETS, PacketName
from rdmalab.spec.refusals import SYNDROMES, Syndrome, syndrome_of
from tests.each import each


@each("label", [*BY_LABEL, FRAME])
def test_a_label_names_its_packets_whatever_their_syndrome(label: str) -> None:
    for syndrome in (None, *Syndrome):
        packet = PacketName(label, syndrome)
        assert packet.is_called(label)
        assert [name for name in BY_LABEL if packet.is_called(name)] == [label] * (label != FRAME)


@pytest.mark.parametrize("syndrome", Syndrome)
def test_an_answer_is_called_what_the_screen_calls_it(syndrome: Syndrome) -> None:
    packet = PacketName("ACKNOWLEDGE", syndrome)
    assert packet.shown == syndrome.name
    named = {name for name in PACKETS if packet.is_called(name)}
    nak = {"NAK"} if syndrome.name.startswith("NAK_") else set()
    assert named == {"ACKNOWLEDGE", packet.shown, *nak}


def test_the_response_of_a_read_is_no_ack_though_its_syndrome_says_so() -> None:
    packet = PacketName("RDMA_READ_RESPONSE_ONLY", Syndrome.ACK)
    assert packet.shown == "RDMA_READ_RESPONSE_ONLY"
    assert not packet.is_called("ACK")


def test_nak_names_every_nak_code_and_not_rnr() -> None:
    assert SYNDROMES["NAK"] == {s for s in Syndrome if s.name.startswith("NAK_")}
    assert Syndrome.RNR_NAK not in SYNDROMES["NAK"]


def test_a_copy_has_the_same_names() -> None:
    packet = copy.deepcopy(PacketName("ACKNOWLEDGE", Syndrome.RNR_NAK))
    assert packet.is_called("RNR_NAK")


@pytest.mark.parametrize(
    ("code", "answer"),
    [(0x1F, Syndrome.ACK), (0x2E, Syndrome.RNR_NAK), (0x61, Syndrome.NAK_INVALID_REQUEST),
     (0x65, None), (0x45, None)],
)  # fmt: skip
def test_a_code_on_the_wire_says_a_syndrome_or_nothing(code: int, answer: Syndrome | None) -> None:
    assert syndrome_of(code) is answer
