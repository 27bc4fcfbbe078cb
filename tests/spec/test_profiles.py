"""Device profiles: what differs stands in cells, and each cell is asked by somebody."""

from dataclasses import fields
from pathlib import Path

import pytest

from rdmalab.spec.profiles import MLX5, PROFILES, RXE, STRICT, Profile, Rounding
from tests.each import each

PACKAGE = Path(__file__).parents[2] / "rdmalab"
ENGINES = "\n".join(
    file.read_text("utf-8") for room in ("hca", "world") for file in (PACKAGE / room).rglob("*.py")
)
OTHERS = ("name", "about", "lacks_counters")  # read by views
CELLS = [cell.name for cell in fields(Profile) if cell.name not in OTHERS]


@each("cell", CELLS)
def test_every_profile_cell_is_read_by_an_engine(cell: str) -> None:
    assert f".{cell}" in ENGINES


def test_no_engine_asks_for_a_name() -> None:
    assert "profile.name" not in ENGINES
    assert '== "rxe"' not in ENGINES


@each("cell", [c for c in CELLS if c not in ("refusals", "errnos")])
def test_every_cell_differs_somewhere_or_is_the_same_for_a_reason(cell: str) -> None:
    same = len({repr(getattr(profile, cell)) for profile in PROFILES.values()}) == 1
    # the same on all three: measured so on 6.1; only a later kernel differs
    assert same is (cell == "checks_table_without_state")


@pytest.mark.parametrize(
    ("rounding", "asked", "granted"),
    [
        (Rounding.EXACT, 5, 5),
        (Rounding.POWER_LESS_ONE, 1, 1),
        (Rounding.POWER_LESS_ONE, 4, 7),
        (Rounding.POWER_LESS_ONE, 7, 7),
        (Rounding.POWER_LESS_ONE, 8, 15),
        (Rounding.POWER_LESS_ONE, 16, 31),
        (Rounding.POWER_LESS_ONE, 64, 127),
        (Rounding.POWER, 5, 8),
        (Rounding.POWER, 8, 8),
        (Rounding.POWER, 1, 1),
        (Rounding.EXACT, 0, 0),
        (Rounding.POWER, 0, 0),
    ],
)
def test_queues_are_rounded_as_measured(rounding: Rounding, asked: int, granted: int) -> None:
    assert rounding.granted(asked) == granted


def test_the_profiles_are_called_what_people_type() -> None:
    assert list(PROFILES) == ["strict", "rxe", "mlx5"]
    assert [profile.name for profile in (STRICT, RXE, MLX5)] == list(PROFILES)
