"""Shared words that were damaged on their way, or made by somebody who means harm."""

from collections.abc import Sequence
from random import Random

from rdmalab.scenario.loader import FileError, loads
from rdmalab.scenario.saving import saved
from rdmalab.scenario.share_text import Damaged, scenario_of, shared
from rdmalab.vocabulary import VOCABULARY
from tests.hostile.account import Account, printed, shrunk
from tests.machine.sessions import random_lab
from tests.scenario.mangle import SCENARIOS, mangled

_SESSIONS = 6
_LETTERS = "ABCXYZabcxyz0189-_=:+/ \n\x00é"
_HEAD = len("rdmalab:2:")


def attack(chance: Random, count: int, account: Account) -> None:
    """Damage words; a tenth are texts of others, shared with a right checksum."""
    texts = [saved(random_lab(chance, words=12).session, "hostile") for _ in range(_SESSIONS)]
    words = [shared(text) for text in texts]
    files = [path.read_text("utf-8") for path in chance.sample(SCENARIOS, 20)]
    for number in range(count):
        account.tries += 1
        if number % 10 == 0:
            text = mangled(chance.choice(files), chance)
            text = text.encode(errors="replace").decode()
            if problem := foreign(text):
                lines = shrunk(text.split("\n"), lambda some: bool(foreign("\n".join(some))))
                account.failed(foreign("\n".join(lines)) or problem, *map(repr, lines))
            account.checked("read as a scenario")
        else:
            word = _damaged(chance, words)
            if problem := help_for(word, texts):
                account.failed(problem, repr(word))
            account.checked("refused, or the text that was shared")


def _damaged(chance: Random, words: Sequence[str]) -> str:
    word, other = chance.choice(words), chance.choice(words)
    at, to = sorted(chance.randrange(_HEAD, len(word) + 1) for _ in range(2))
    letter = chance.choice(_LETTERS)
    return chance.choice((
        word[:at],
        word[:at] + letter + word[at + 1 :],
        word[:at] + letter + word[at:],
        word[:at] + word[to:],
        word[:at] + other[min(at, len(other)) :],
        word[:at] + word[at:to][::-1] + word[to:],
        word[:_HEAD] + "".join(chance.choices(_LETTERS[:18], k=chance.randrange(200))),
    ))  # fmt: skip


def help_for(word: str, texts: Sequence[str]) -> str | None:
    """What is wrong with the answer to a damaged word."""
    try:
        found = scenario_of(word)
    except Damaged as damaged:
        return printed(str(damaged))
    except Exception as bug:  # noqa: BLE001
        return f"{type(bug).__name__}: {bug}"
    return None if found in texts else f"another text: {found[:200]!r}"


def foreign(text: str) -> str | None:
    """What is wrong with the answer to any text, shared by somebody else."""
    try:
        if scenario_of(shared(text)) != text:
            return "shared, it is another text"
        loads(text, "shared", VOCABULARY)
    except FileError as wrong:
        return printed(str(wrong))
    except Exception as bug:  # noqa: BLE001
        return f"{type(bug).__name__}: {bug}"
    return None
