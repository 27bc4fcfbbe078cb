"""No way to points without work gets more than an honest guess; the whole: `cheats`."""

from tests.classroom import cheats, reader_cheats
from tests.each import a_twentieth, each


@each("name", a_twentieth(cheats.names()))
def test_no_way_gets_more_than_a_guess(name: str) -> None:
    shares, guess = cheats.tried(name)
    assert cheats.too_much(shares, guess) == []
    assert list(shares) == list(cheats.WAYS)
    assert (len(cheats.MORE), len(reader_cheats.READ)) == (15, 10)


def test_the_table_of_before_names_labs_and_ways() -> None:
    assert set(cheats.BEFORE) < set(cheats.WAYS)
    for way, labs in cheats.BEFORE.items():
        assert set(labs) <= set(cheats.names()), way
    assert (cheats.before("apply", "drain"), cheats.before("installed", "reuse")) == (100, 100)
    assert cheats.before("nothing", "drain") == 0


def test_what_gets_more_than_a_guess_is_named() -> None:
    shares = {"apply": 0.5, "nothing": 0.0, "a friend's file": 0.12}
    assert cheats.too_much(shares, 0.1) == ["apply gets 50%, a guess 10%"]
