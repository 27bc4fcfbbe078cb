"""Log lines as somebody pastes them into `explain`, with accidents."""

import contextlib
import io
from random import Random

from rdmalab import cli
from tests.guide.test_logs import LINES
from tests.hostile.account import Account, printed, shrunk

_PIECES = (
    "012", "0", "00", "0x", "0x0x5", "0X1F", "-5", "+5", "1e9", "9" * 40, "9" * 5000, "𝟙𝟚", "٣",
    "\x1b[2J", "\x1b]0;x\x07", "\x9b31m", "\u202e", "\u2066", "\x00", "\x08", "\r", "\n", "\t", "é",
    "status", "status=", "wr_id", "vendor_err=", "errno", "syndrom", "(12)", "[110]", ":", "=",
    "IBV_WC_", "IBV_EVENT_", "Invalid argument", "RTR -> RTS", "explain", "{}", "%s", "²", "\ud800",
)  # fmt: skip
_CODES = (0, 2)  # explained; not known


def attack(chance: Random, count: int, account: Account) -> None:
    """Have so many lines explained."""
    for _ in range(count):
        account.tries += 1
        words = _mutated(chance, chance.choice(LINES)[0]).split(" ")
        if problem := examined(" ".join(words), account):
            words = shrunk(words, lambda some: bool(examined(" ".join(some))))
            account.failed(examined(" ".join(words)) or problem, repr(" ".join(words)))


def _mutated(chance: Random, line: str) -> str:
    words = line.split(" ")
    for _ in range(chance.randrange(4)):
        at = chance.randrange(len(words))
        words[at : at + chance.randrange(2)] = [
            chance.choice((*_PIECES, *chance.choice(LINES)[0].split(" ")))
        ]
    at = chance.randrange(len(words))
    if chance.random() < 0.3:
        words[at] += chance.choice(_PIECES)
    return " ".join(words)


def examined(line: str, account: Account | None = None) -> str | None:
    """What is wrong with the answer of `rdmalab explain`, or its exit code."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = cli.main(["explain", "--", line])
    if account is not None:
        account.checked("explained" if code == 0 else "not known")
    if code not in _CODES:
        return f"exit code {code}: {err.getvalue()[:300]}"
    return printed(out.getvalue() + err.getvalue())
