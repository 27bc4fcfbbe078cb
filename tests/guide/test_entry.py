"""Entries: names as C writes them, and how words are compared."""

import pytest

from rdmalab.grammar.enum_words import PREFIXES
from rdmalab.guide.entry import PREFIX, full_name, normal
from rdmalab.spec.states import MTU, QPState
from rdmalab.spec.statuses import WCStatus


@pytest.mark.parametrize("text", ["queue-full", "QUEUE_FULL", "queue full", " Queue  Full "])
def test_case_hyphens_and_blanks_make_no_difference(text: str) -> None:
    assert normal(text) == "queue_full"


def test_arrows_are_blanks() -> None:
    assert normal("INIT->RTR") == normal("INIT → RTR") == normal("init rtr")


def test_full_names_are_those_of_libibverbs() -> None:
    assert full_name(WCStatus.SUCCESS) == "IBV_WC_SUCCESS"
    assert full_name(MTU.B1024) == "IBV_MTU_1024"
    assert full_name(QPState.RTR) == "IBV_QPS_RTR"


def test_the_grammar_knows_every_prefix() -> None:
    assert set(PREFIX.values()) <= set(PREFIXES)
