"""Attributes: range, default, moves; and what timer codes mean."""

import pytest

from rdmalab.guide.phrases import duration
from rdmalab.spec.states import ATTRIBUTES, MTU, Attr
from rdmalab.spec.timers import RNR_NS
from tests.each import each
from tests.guide.saying import article_text, row


@each("name", ATTRIBUTES)
def test_every_attribute_says_its_sentence_mask_and_range(name: str) -> None:
    assert ATTRIBUTES[name].sentence in article_text(name)
    assert f"IBV_QP_{ATTRIBUTES[name].mask.name}," in row(name, "mask")
    assert row(name, "range")


@each("mask", Attr)
def test_a_mask_bit_leads_to_its_attribute(mask: Attr) -> None:
    assert f"IBV_QP_{mask.name}," in row(f"IBV_QP_{mask.name}", "mask")


def test_transitions_of_an_attribute_by_qp_type() -> None:
    assert row("retry_cnt", "required") == "RC XRC_SEND: RTR→RTS"
    assert row("retry_cnt", "optional") == "RC XRC_SEND: SQD→SQD"
    assert row("cap", "required") == ""


def test_ranges_in_words_numbers_and_by_device() -> None:
    assert row("cur_qp_state", "range") == "RTR RTS SQD SQE"
    assert row("path_mtu", "range").startswith("256 512 1024 2048 4096")
    assert "max_qp_init_rd_atom" in row("max_rd_atomic", "range")
    assert row("ah_attr", "range").startswith("a struct")
    assert row("retry_cnt", "elsewhere") == "rxe stores 0..255"
    assert row("retry_cnt", "range") == "0..7; mlx5 keeps the low 3 bits"
    assert row("path_mtu", "elsewhere") == "rxe stores 0..5"
    assert row("timeout", "elsewhere") == ""


def test_defaults() -> None:
    assert row("path_mtu", "default") == "256"
    assert row("qp_state", "default") == "RESET"
    assert row("ah_attr", "default") == row("port_num", "default") == "none"
    assert row("timeout", "default") == "0"


def test_all_codes_stand_in_the_article() -> None:
    assert "14:67.109 ms" in row("timeout", "codes")
    assert row("timeout", "codes").startswith("0:never")
    for code, wait_ns in enumerate(RNR_NS):
        assert f"{code}:{duration(wait_ns)}" in row("min_rnr_timer", "codes")


@each("code", range(32))
def test_one_code(code: int) -> None:
    assert duration(RNR_NS[code]) in article_text(f"min_rnr_timer {code}")
    assert article_text(f"rnr timer {code}") == article_text(f"min_rnr_timer {code}")
    assert f"timeout={code}" in article_text(f"timeout {code}")


def test_timeout_row_has_the_total_wait() -> None:
    assert row("timeout 14", "times out") == (
        "with retry_cnt=7, after 8 waits: 536.871 ms (rxe: 544 ms; mlx5: 2.147 s)"
    )
    assert "the wait has no end" in article_text("timeout 0")


@pytest.mark.parametrize("mtu", MTU)
def test_mtus_by_bytes_and_by_name(mtu: MTU) -> None:
    assert article_text(str(mtu.octets)) == article_text(f"IBV_MTU_{mtu.octets}")
    assert f"{mtu.octets} bytes of payload" in article_text(f"IBV_MTU_{mtu.octets}")
