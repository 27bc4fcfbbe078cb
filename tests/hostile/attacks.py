"""Every attack by name, and how the inputs of a run are divided among them."""

from collections.abc import Callable
from random import Random
from typing import NamedTuple

from tests.hostile import disks, files, frames, kills, lines, logs, words
from tests.hostile.account import Account

Attack = Callable[[Random, int, Account], None]
ATTACKS: dict[str, Attack] = {
    "lines": lines.attack,
    "words": words.attack,
    "frames": frames.attack,
    "files": files.attack,
    "logs": logs.attack,
    "kills": kills.attack,
    "disks": disks.attack,
}
# Of 100 inputs; a line takes some ten times as long as a shared word, a log line thirty times.
_SHARES = {"lines": 34, "words": 50, "frames": 7, "files": 7, "logs": 2}


class Series(NamedTuple):
    """Parts of an attack: inputs of each, how many a usual run of the tests draws, and all."""

    inputs: int
    usual: int
    whole: int


SERIES = {
    "lines": Series(500, 5, 40),
    "words": Series(2_500, 2, 10),
    "frames": Series(200, 4, 20),
    "files": Series(200, 4, 20),
    "logs": Series(200, 2, 10),
    "kills": Series(3, 2, 10),
}


def shares(inputs: int) -> dict[str, int]:
    """How many inputs each attack gets."""
    return {attack: inputs * share // 100 for attack, share in _SHARES.items()}
