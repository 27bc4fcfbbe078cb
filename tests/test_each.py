"""A loop in one item names what failed, and cannot pass without a case."""

import pytest

from rdmalab.spec.states import QPState
from tests.each import ALL, SEED, a_third, chance_of, drawn_numbers, each


def test_each_names_the_cases_that_fail() -> None:
    tried = list[str]()

    @each("word, length", [("ab", 2), ("abc", 4), ("a", 3)])
    def wrong(word: str, length: int) -> None:
        tried.append(word)
        assert len(word) == length

    with pytest.raises(pytest.fail.Exception) as failed:
        wrong()
    assert tried == ["ab", "abc", "a"]
    lines = str(failed.value).splitlines()
    assert lines[0] == "2 of 3 cases failed"
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


def test_what_a_run_draws_is_a_part_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"name {number}" for number in range(30)]
    monkeypatch.delenv(ALL, raising=False)
    drawn, thirds = set[tuple[int, ...]](), set[tuple[str, ...]]()
    for seed in range(20):
        monkeypatch.setenv(SEED, str(seed))
        drawn.add(tuple(drawn_numbers("files", 4, 30)))
        thirds.add(tuple(a_third(names)))
        assert drawn_numbers("files", 4, 30) == drawn_numbers("files", 4, 30)
    assert len(drawn) == len(thirds) == 20
    assert {len(some) for some in thirds} == {10}  # no run takes longer than another
    monkeypatch.setenv(ALL, "1")
    assert drawn_numbers("files", 4, 30) == list(range(30))
    assert {number for some in drawn for number in some} <= set(range(30))
    assert a_third(names) == names
    assert {name for some in thirds for name in some} == set(names)


def test_chance_depends_on_the_number_and_not_on_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SEED, "1")
    one = chance_of("files", 7).random()
    monkeypatch.setenv(SEED, "2")
    assert chance_of("files", 7).random() == one
    assert one not in (chance_of("files", 8).random(), chance_of("lines", 7).random())
