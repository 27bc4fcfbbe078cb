"""Entries: how words are compared."""

import pytest

from rdmalab.guide.entry import normal


@pytest.mark.parametrize("text", ["queue-full", "QUEUE_FULL", "queue full", " Queue  Full "])
def test_case_hyphens_and_blanks_make_no_difference(text: str) -> None:
    assert normal(text) == "queue_full"


def test_arrows_are_blanks() -> None:
    assert normal("INIT->RTR") == normal("INIT → RTR") == normal("init rtr")
