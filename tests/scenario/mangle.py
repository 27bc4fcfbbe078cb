"""Scenario files spoiled by chance, and played: whatever is in them, nothing may break."""

import random
from collections.abc import Iterator
from pathlib import Path

from rdmalab.lab import open_session
from rdmalab.scenario.files import SUFFIX
from rdmalab.scenario.loader import FileError, loads
from rdmalab.scenario.runner import Runner, StepOutcome
from rdmalab.vocabulary import VOCABULARY

ROOT = Path(__file__).parents[2]
SCENARIOS = sorted((ROOT / "scenarios").rglob(f"*{SUFFIX}"))

_PIECES = (
    "{", "}", "[", "]", ":", ": ", "- ", "\n", "\t", "'", '"', "#", "&a ", "*a", "!!int ", "|", ">",
    "---\n", "0", "-1", "99999999999999999999", "0x", "~", "no", "null", "skip", "A", "B.qp0",
    "==", "->", "=", ";", "expect:", "wire:", "errno: EINVAL", "run: 1us", "lost", "  ", "é",
    "\\x", "\x00",
    "<<: ", "? ", "repeat: 3", "within: 1us", "EINVAL", "not ", "(", ")", "%", "@", "`", "\u2028",
)  # fmt: skip


def mangled(text: str, chance: random.Random) -> str:
    """The text with a few accidents."""
    for _ in range(chance.randint(1, 4)):
        text = chance.choice(_ACCIDENTS)(text, chance)
    return text


def _delete(text: str, chance: random.Random) -> str:
    at = chance.randrange(len(text) + 1)
    return text[:at] + text[at + chance.randint(1, 8) :]


def _insert(text: str, chance: random.Random) -> str:
    at = chance.randrange(len(text) + 1)
    return text[:at] + chance.choice(_PIECES) + text[at:]


def _swap_lines(text: str, chance: random.Random) -> str:
    lines = text.split("\n")
    a, b = chance.randrange(len(lines)), chance.randrange(len(lines))
    lines[a], lines[b] = lines[b], lines[a]
    return "\n".join(lines)


def _double_line(text: str, chance: random.Random) -> str:
    lines = text.split("\n")
    at = chance.randrange(len(lines))
    return "\n".join([*lines[:at], lines[at], *lines[at:]])


def _drop_line(text: str, chance: random.Random) -> str:
    lines = text.split("\n")
    at = chance.randrange(len(lines))
    return "\n".join(lines[:at] + lines[at + 1 :])


def _other_word(text: str, chance: random.Random) -> str:
    words = text.split(" ")
    words[chance.randrange(len(words))] = chance.choice([*words, *_PIECES])
    return " ".join(words)


_ACCIDENTS = (_delete, _insert, _swap_lines, _double_line, _drop_line, _other_word)


def samples(count: int, seed: int) -> Iterator[tuple[str, str]]:
    """(name, text) of spoiled scenarios."""
    chance = random.Random(seed)
    texts = [path.read_text("utf-8") for path in SCENARIOS]
    for number in range(count):
        yield f"{seed}-{number}", mangled(chance.choice(texts), chance)


def play(text: str, name: str) -> tuple[StepOutcome, str]:
    """What comes of it, and what is said."""
    try:
        scenario = loads(text, name, VOCABULARY)
    except FileError as wrong:
        return StepOutcome.ERROR, str(wrong)
    runner = Runner(scenario, open_session)
    runner.run()
    return runner.outcome, "" if runner.ok else runner.results[-1].text(name)
