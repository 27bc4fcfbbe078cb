"""The words and texts: the same as of pyverbs, over ranges and at the edges."""

import random
from typing import Any

import pytest

from rdmalab.compat.pyverbs.utils import qp_state_to_str
from tests.compat.real import needs_pyverbs, same_calls

_CHANCE = random.Random(44)
WIDE = [
    0, 1, 0xFF, 0x100, 1 << 32, 1 << 63, (1 << 64) - 1, 1 << 64, -1,
    *(_CHANCE.getrandbits(64) for _ in range(300)),
]  # fmt: skip
SMALL = [*range(-40, 600), 1 << 20, 1 << 31, 1 << 40, 2.0, 2.5, "2", None]
GOOD_GID = "fe80:0000:0000:0000:0a0b:0cff:fe0d:0e0f"


def gids() -> list[str]:
    """Well-formed ones, and each way to be none."""
    words = [f"{_CHANCE.getrandbits(128):032x}" for _ in range(50)]
    good = [":".join(word[at : at + 4] for at in range(0, 32, 4)) for word in words]
    bad = [
        "", ":", "fe80::1", GOOD_GID[:-1], GOOD_GID + "0", GOOD_GID + ":0000",
        GOOD_GID.replace("fe0d", "wxyz"), GOOD_GID.replace(":", "-"),
        GOOD_GID.replace("fe80", "0x80"), GOOD_GID.replace("0a0b", "0a_b"), GOOD_GID.upper(),
    ]  # fmt: skip
    return [GOOD_GID, *good, *bad]


@needs_pyverbs
@pytest.mark.parametrize(
    "function", ["qp_type_to_str", "mtu_to_str", "mig_state_to_str", "rereg_error_to_str"]
)
def test_words_of_numbers(function: str) -> None:
    same_calls("utils", function, [[number] for number in [*SMALL, [], *WIDE]])


@needs_pyverbs
def test_words_of_the_states_of_a_qp() -> None:
    same_calls("utils", "qp_state_to_str", [[state] for state in range(8)])


def test_a_state_without_a_name_is_named_by_its_number() -> None:
    """pyverbs prints the address of its own function instead."""
    assert qp_state_to_str(8) == "Unknown (8)"


@needs_pyverbs
def test_words_of_access_flags() -> None:
    same_calls("utils", "access_flags_to_str", [[flags] for flags in [*range(-40, 1200), *WIDE]])


@needs_pyverbs
def test_numbers_of_the_wire() -> None:
    same_calls("utils", "be64toh", [[number] for number in WIDE])


@needs_pyverbs
def test_gids_as_text() -> None:
    pairs: list[list[Any]] = [[one, other] for one, other in zip(WIDE, WIDE[::-1], strict=True)]
    same_calls("utils", "gid_str", pairs)


@needs_pyverbs
def test_gids_as_bytes() -> None:
    same_calls("utils", "gid_str_to_array", [[gid] for gid in gids()])
