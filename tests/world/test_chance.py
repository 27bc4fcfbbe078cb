"""Chance: as often as was said, the same for the same seed, and nobody's draws shift another's."""

import pytest

from rdmalab.world.chance import MILLION, Chance, mix64


def draws(ppm: int, seed: int, stream: int, count: int) -> list[bool]:
    chance = Chance(ppm, seed, stream)
    return [chance.happens() for _ in range(count)]


@pytest.mark.parametrize("ppm", [0, 1_000, 20_000, 250_000, 500_000, 999_000, MILLION])
@pytest.mark.parametrize("seed", [0, 7, 1 << 63])
def test_probability_is_met_within_five_standard_deviations(ppm: int, seed: int) -> None:
    """Of 20 000 cases, within five standard deviations."""
    count = 20_000
    expected = count * ppm / MILLION
    spread = (count * ppm * (MILLION - ppm)) ** 0.5 / MILLION
    assert abs(sum(draws(ppm, seed, 1, count)) - expected) <= 5 * spread


def test_a_seed_and_a_stream_decide_everything() -> None:
    one = draws(MILLION // 2, 1, 1, 200)
    assert one == draws(MILLION // 2, 1, 1, 200)
    others = [draws(MILLION // 2, *other, 200) for other in ((2, 1), (1, 2), (0, 0))]
    assert all(other != one for other in others)
    assert len({tuple(other) for other in others}) == len(others)


def test_streams_and_seeds_do_not_overlap_shifted() -> None:
    """Else rule 2 of one seed would lose what rule 1 of another loses, some packets later."""
    one = "".join("01"[hit] for hit in draws(MILLION // 2, 5, 1, 400))
    for seed, stream in ((5, 2), (6, 1), (5, 3), (4, 2)):
        other = "".join("01"[hit] for hit in draws(MILLION // 2, seed, stream, 400))
        assert other[:40] not in one
        assert one[:40] not in other


def test_chance_state_is_the_number_of_draws() -> None:
    whole = draws(MILLION // 3, 9, 4, 100)
    resumed = Chance(MILLION // 3, 9, 4, drawn=60)
    assert [resumed.happens() for _ in range(40)] == whole[60:]


def test_a_higher_probability_hits_whenever_the_lower_one_does() -> None:
    rare, often = draws(MILLION // 10, 3, 1, 500), draws(MILLION // 2, 3, 1, 500)
    assert all(o for r, o in zip(rare, often, strict=True) if r)


def test_chance_hash_is_a_bijection() -> None:
    assert len({mix64(number) for number in range(10_000)}) == 10_000
    assert all(0 <= mix64(number) < 1 << 64 for number in (1, 1 << 63, (1 << 64) - 1))


def test_probability_as_text_in_percent() -> None:
    lines = [str(Chance(ppm, 0, 0)) for ppm in (0, 1, 20_000, 125_000, 100_500, MILLION)]
    assert lines == ["0%", "0.0001%", "2%", "12.5%", "10.05%", "100%"]
