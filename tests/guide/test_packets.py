"""Wire opcodes, headers and syndromes."""

import pytest

from rdmalab.guide.packets import HEADERS
from rdmalab.spec.opcodes import BY_LABEL, OPCODES
from rdmalab.spec.refusals import REFUSALS, Syndrome
from tests.each import each
from tests.guide.saying import article_text, row


@each("label", BY_LABEL)
def test_a_wire_opcode_names_its_codes_and_headers(label: str) -> None:
    name = f"wire {label}"
    for code in BY_LABEL[label]:
        assert f"{code:#04x}" in row(name, "codes")
    for header in OPCODES[BY_LABEL[label][0]].headers:
        assert f"{HEADERS[header].__name__} {HEADERS[header].LENGTH}" in row(name, "headers")


@each("code", OPCODES)
def test_every_code_leads_to_its_label(code: int) -> None:
    assert OPCODES[code].label in article_text(f"opcode {code:#04x}")


def test_headers_with_sizes() -> None:
    expected = "RC: BTH 12 + RETH 16 + payload + ICRC 4 bytes"
    assert row("RDMA_WRITE_ONLY", "headers").startswith(expected)
    assert row("SEND_MIDDLE", "place").startswith("inside")
    assert row("SEND_LAST", "place").startswith("ends")
    assert row("SEND_FIRST", "place").startswith("begins")


@each("cls", HEADERS.values())
def test_a_header_lists_its_fields(cls: type) -> None:
    for field in HEADERS[cls.__name__.lower()].FIELDS:
        assert row(f"header {cls.__name__}", field.name)


def test_where_fields_stand() -> None:
    assert row("BTH", "psn") == "24 bits at byte 9"
    assert row("BTH", "solicited") == "1 bit at byte 1, bit 7"
    assert row("BTH", "migrated") == "1 bit at byte 1, bit 6"
    assert "ACKNOWLEDGE" in row("aeth", "in")


@pytest.mark.parametrize("syndrome", Syndrome)
def test_syndromes_by_name_and_value(syndrome: Syndrome) -> None:
    assert article_text(f"syndrome {syndrome:#04x}") == article_text(f"syndrome {syndrome.name}")
    asked = [name for name, refusal in REFUSALS.items() if refusal.syndrome is syndrome]
    assert row(f"syndrome {syndrome.name}", "refusals") == " ".join(asked)


def test_what_the_sender_makes_of_a_nak() -> None:
    assert row("0x62", "sender") == "its request ends with REM_ACCESS_ERR"
    assert row("RNR_NAK", "sender").endswith("RNR_RETRY_EXC_ERR")
    assert article_text("0x2c").startswith("min_rnr_timer=12")


PRINTED = sorted({field.name for cls in HEADERS.values() for field in cls.FIELDS})


@pytest.mark.parametrize("name", PRINTED)
def test_every_field_that_show_packet_prints_is_explained(name: str) -> None:
    assert article_text(f"header field {name}").startswith(f"{name} header field ")
    assert row(f"header field {name}", "")
    assert article_text(name)  # by its name alone: this, or another meaning of the word


def test_ecn_and_congestion_are_words() -> None:
    assert article_text("ecn") == article_text("congestion")
    assert "ECN bits" in article_text("ecn")
