"""Scenario files with accidents, and YAML that means harm: read, and some of them played."""

from random import Random

from rdmalab.scenario.result import StepOutcome
from tests.hostile.account import Account, printed, shrunk, with_own_folders
from tests.scenario.mangle import SCENARIOS, mangled, play

_LONGEST = 20_000  # characters; of a longer one nothing more is learnt
# What an editor, a terminal or a reader of YAML may stumble over.
_HARM = (
    "\x1b[31m", "\x9b2J", "\u202e", "\u2066", "\ufeff", "\x85", "\r", "\r\n", "\x00", "\x7f",
    "&a [*a, *a]", "*undefined", "!!python/object:os.system x", "!!binary aGk=", "!!timestamp 1",
    "%YAML 99.9\n---\n", "...\n", "--- {}\n--- {}\n", ".nan", ".inf", "0o17", "0b1", "1_000",
    "{" * 60, "[" * 60, "- " * 60, "? " * 9, '"\\uD800"', '"\\x1b[2J"', "'\u2028'", "x: " * 30,
    "9" * 5000, "title: ", "rdmalab: 2\n", "steps:\n", "note: |\n", "<<: {a: 1}\n",
)  # fmt: skip


def attack(chance: Random, count: int, account: Account) -> None:
    """Read so many files; those that can be read are played."""
    texts = [text for path in SCENARIOS if len(text := path.read_text("utf-8")) < _LONGEST]
    for _ in range(count):
        account.tries += 1
        text = _harmed(chance, chance.choice(texts))
        if problem := examined(text, account):
            lines = shrunk(text.split("\n"), lambda some: bool(examined("\n".join(some))))
            account.failed(examined("\n".join(lines)) or problem, *map(repr, lines))


def _harmed(chance: Random, text: str) -> str:
    """A few accidents, most with something that means harm."""
    text = mangled(text, chance)
    for _ in range(chance.randrange(3)):
        at = chance.randrange(len(text) + 1)
        text = text[:at] + chance.choice(_HARM) + text[at:]
    return text


@with_own_folders()
def examined(text: str, account: Account | None = None) -> str | None:
    """What is wrong with what is said of a file."""
    try:
        outcome, answer = play(text, "hostile")
    except Exception as bug:  # noqa: BLE001
        return f"{type(bug).__name__}: {bug}"
    if account is not None:
        account.checked({StepOutcome.ERROR: "refused"}.get(outcome, "played"))
    if bool(answer) == (outcome is StepOutcome.PASSED):
        return f"{outcome}, and it says {answer!r}"
    return printed(answer)
