"""The opcode table, cell by cell against the reference's."""

import copy
from pathlib import Path

import pytest

from rdmalab.spec.opcodes import (
    BY_LABEL,
    FRAME,
    OPCODES,
    PACKETS,
    Op,
    PacketName,
    PacketPlace,
    Service,
    code_of,
)
from rdmalab.spec.refusals import SYNDROMES, Syndrome, syndrome_of
from tests.each import each

DATA = Path(__file__).parents[1] / "data"
SERVICES = (Service.RC, Service.UC, Service.UD, Service.XRC)


def reference() -> list[list[str]]:
    """Cells: label, code a service, headers and payload, kind."""
    lines = (DATA / "opcodes.md").read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if "|" in line]
    return rows[2:]


ROWS = reference()
CELLS = [
    (label, service, cell.strip("()"), headers, kind)
    for label, *cells, headers, kind in ROWS
    for service, cell in zip(SERVICES, cells, strict=True)
]


@each("label, service, cell, headers, kind", CELLS)
def test_every_cell_of_the_reference(
    label: str, service: Service, cell: str, headers: str, kind: str
) -> None:
    rows = [OPCODES[code] for code in BY_LABEL[label] if OPCODES[code].service == service]
    if cell == "-":
        assert rows == []
        return
    (opcode,) = rows
    assert opcode.code == int(cell, 16)
    assert opcode.request == (kind == "request")
    first = {Service.UD: ("deth",), Service.XRC: ("xrceth",)}.get(service, ())
    after = tuple(name.lower() for name in headers.split(", ") if not name.startswith("payload"))
    assert opcode.headers == (first if opcode.request else ()) + after


def test_nothing_beyond_the_reference_but_the_congestion_packet() -> None:
    known = {int(cell, 16) for _, _, cell, _, _ in CELLS if cell != "-"}
    assert set(OPCODES) - known == {0x81}
    assert OPCODES[0x81].label == "CNP"
    assert not OPCODES[0x81].request


def test_flags_say_what_the_label_says() -> None:
    for opcode in OPCODES.values():
        words = opcode.label.split("_")
        assert opcode.immediate == ("IMMEDIATE" in words)
        assert opcode.invalidate == ("INVALIDATE" in words)
        assert opcode.starts == ("MIDDLE" not in words and "LAST" not in words)
        assert opcode.ends == ("MIDDLE" not in words and "FIRST" not in words)
        assert opcode.label.startswith(opcode.op.name)


def test_the_code_says_its_service() -> None:
    assert all(code & 0xE0 == opcode.service for code, opcode in OPCODES.items())
    assert all(code == opcode.code for code, opcode in OPCODES.items())


def test_building_and_reading_are_inverse() -> None:
    assert len(code_of) == len(OPCODES)
    assert code_of[Service.RC, Op.SEND, PacketPlace.ONLY, False, False] == 0x04
    assert code_of[Service.UD, Op.SEND, PacketPlace.ONLY, True, False] == 0x65
    assert code_of[Service.XRC, Op.SEND, PacketPlace.LAST, False, True] == 0xB6
    assert (Service.UC, Op.SEND, PacketPlace.ONLY, False, True) not in code_of
    for (service, op, place, immediate, invalidate), code in code_of.items():
        row = OPCODES[code]
        assert (row.service, row.op, row.place) == (service, op, place)
        assert (row.immediate, row.invalidate) == (immediate, invalidate)


def test_a_label_names_the_codes_of_all_services() -> None:
    assert BY_LABEL["SEND_ONLY"] == (0x04, 0x24, 0x64, 0xA4)
    assert BY_LABEL["ACKNOWLEDGE"] == (0x11, 0xB1)
    assert sorted(code for codes in BY_LABEL.values() for code in codes) == sorted(OPCODES)


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
