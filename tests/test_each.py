"""A loop in one item names what failed, and cannot pass without a case."""

import pytest

from rdmalab.spec.states import QPState
from tests.each import each


def test_each_case_that_fails_is_told_by_its_name() -> None:
    tried = list[str]()

    @each("word, length", [("ab", 2), ("abc", 4), ("a", 3)])
    def wrong(word: str, length: int) -> None:
        tried.append(word)
        assert len(word) == length

    with pytest.raises(pytest.fail.Exception) as failed:
        wrong()
    assert tried == ["ab", "abc", "a"]
    said = str(failed.value).splitlines()
    assert said[0] == "2 of 3 cases failed"
    assert "abc-4: AssertionError" in str(failed.value)
    assert "a-3: AssertionError" in str(failed.value)
    assert "test_each.py:" in str(failed.value)


def test_any_exception_is_a_failure_and_enums_are_named() -> None:
    @each("state", [QPState.RTS, QPState.ERR])
    def wrong(state: QPState) -> None:
        raise KeyError(state.value)

    with pytest.raises(pytest.fail.Exception, match=r"QPState\.RTS: KeyError: 3"):
        wrong()


def test_no_case_at_all_is_a_failure() -> None:
    @each("word", [])
    def idle(word: str) -> None:
        assert word

    with pytest.raises(AssertionError, match="idle has no case"):
        idle()


@each("number", [1, 2, 3])
def test_fixtures_are_given_to_every_case(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RDMALAB_EACH", str(number))
