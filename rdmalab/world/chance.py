"""Random draws: draw i of a stream depends only on the seed of the session."""

from dataclasses import dataclass

MILLION = 1_000_000  # parts: probabilities are whole numbers of these

_BITS = 64
_ALL = (1 << _BITS) - 1
# The constants of SplitMix64, a bijection of 64 bits that mixes them well.
_GAMMA, _FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


def mix64(number: int) -> int:
    """A 64-bit hash of a number."""
    number = (number ^ number >> 30) * _FIRST & _ALL
    number = (number ^ number >> 27) * _SECOND & _ALL
    return number ^ number >> 31


@dataclass(slots=True)
class Chance:
    """A random condition that is true in `ppm` of a million draws.

    Each condition has its own stream, which other draws do not shift. drawn: the number of draws so
    far, its whole state.
    """

    ppm: int
    seed: int
    stream: int
    drawn: int = 0

    def happens(self) -> bool:
        """True if the next draw is a hit."""
        self.drawn += 1
        start = mix64(mix64(self.seed & _ALL) + self.stream * _GAMMA & _ALL)
        return mix64(start + self.drawn * _GAMMA & _ALL) * MILLION >> _BITS < self.ppm

    def __str__(self) -> str:
        whole, rest = divmod(self.ppm, MILLION // 100)
        return f"{whole}.{rest:04}".rstrip("0").rstrip(".") + "%"
