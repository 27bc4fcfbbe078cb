"""Profiles, cells, limits, ports and records."""

import pytest

from rdmalab.guide.devices import LIMIT_NAMES
from rdmalab.spec.limits import AtomicCap, DeviceCap, PortState
from rdmalab.spec.profiles import CELLS, PROFILES, STRICT
from rdmalab.spec.records import KINDS, MEANINGS, Kind
from tests.each import each
from tests.guide.saying import article_text, row


@pytest.mark.parametrize("name", PROFILES)
def test_a_profile_names_the_cells_in_which_it_differs(name: str) -> None:
    odd = [c for c in CELLS if getattr(PROFILES[name], c) != getattr(STRICT, c)]
    assert row(name, "cells").split() == odd[:24]
    more = f"{len(odd)} in all: rdmalab capabilities --profile {name}"
    assert (more in article_text(name)) is (len(odd) > 24)


@each("name", CELLS)
def test_a_cell_says_what_each_device_does(name: str) -> None:
    assert all(row(f"cell {name}", profile) for profile in PROFILES)


def test_values_of_cells_in_words() -> None:
    assert row("lkey_is_rkey", "strict") == "no"
    assert row("rounding", "rxe") == "2^n-1"
    assert row("unknown_lkey_status", "rxe") == "IBV_WC_LOC_QP_OP_ERR"
    assert row("attr_mask_bits", "rxe") == "21"
    assert row("ack_timeout_factor", "mlx5") == "4"


@each("name", LIMIT_NAMES)
def test_a_limit_has_a_value_on_each_device(name: str) -> None:
    assert all(row(f"limit {name}", profile) for profile in PROFILES)


def test_a_limit_names_the_attributes_it_limits() -> None:
    assert row("max_qp_rd_atom", "limits") == "max_dest_rd_atomic"
    assert row("atomic_cap", "strict") == "IBV_ATOMIC_HCA"
    assert row("max_qp_wr", "rxe") == "1,048,576"
    assert row("memlock_limit", "strict") == "no limit"


def test_article_of_memlock_limit_names_ulimit() -> None:
    assert "ulimit -l" in article_text("memlock_limit")
    assert "ibv_query_device(3)" not in article_text("memlock_limit")
    assert "ibv_query_device(3)" in article_text("max_qp_wr")


@pytest.mark.parametrize("state", PortState)
def test_port_states(state: PortState) -> None:
    assert row(f"IBV_PORT_{state.name}", "says") == state.text


@each("cap", [*AtomicCap, *DeviceCap])
def test_capabilities(cap: AtomicCap | DeviceCap) -> None:
    prefix = "IBV_ATOMIC_" if isinstance(cap, AtomicCap) else "IBV_DEVICE_"
    assert article_text(f"{prefix}{cap.name}").startswith(f"{prefix}{cap.name}")


@each("kind", Kind)
def test_a_record_says_its_sentence_and_what_a_and_b_are(kind: Kind) -> None:
    wanted = KINDS[kind]
    assert row(f"record {kind.name}", "a") == MEANINGS[wanted.a]
    assert row(f"record {kind.name}", "b") == MEANINGS[wanted.b]
    parts = wanted.sentence.replace("{b}", "{a}").split("{a}")
    assert all(part in row(f"record {kind.name}", "reads") for part in parts)
