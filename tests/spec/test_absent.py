"""Reasons are given for members that exist, by sentences that say something."""

from rdmalab.spec.absent import FAMILIES, REASONS, VERBS, not_emulated


def test_a_reason_belongs_to_a_member_of_its_enum() -> None:
    for cls, reasons in REASONS.items():
        assert all(type(member) is cls and text for member, text in reasons.items()), cls


def test_reasons_are_sentences_of_a_line() -> None:
    assert all(3 < len(text) < 80 for text in (*VERBS.values(), *FAMILIES.values()))


def test_a_verb_that_is_not_emulated_has_its_reason() -> None:
    assert not_emulated("ibv_modify_cq") == not_emulated("modify_cq") != ""
    assert not_emulated("alloc_dm") == VERBS["alloc_dm"]
    assert not_emulated("post_send") == not_emulated("frobnicate") == ""
