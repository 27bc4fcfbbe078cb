"""What was tried, what failed, and how a failure is made small."""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from rdmalab.recovery.user_paths import STATE

T = TypeVar("T")

# C0 and C1 but for tab and line feed, marks of direction, and what a terminal takes for a line end.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_BUG = re.compile(r"a bug in rdmalab|Traceback \(most recent|internal error", re.IGNORECASE)


@dataclass
class Account:
    """Of one attack: inputs tried, checks made by name, and what failed."""

    attack: str
    tries: int = 0
    checks: dict[str, int] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    def checked(self, name: str, count: int = 1) -> None:
        self.checks[name] = self.checks.get(name, 0) + count

    def failed(self, problem: str, *inputs: str) -> None:
        self.failures.append("\n  ".join([f"{self.attack}: {problem}", *inputs]))

    def add(self, other: "Account") -> None:
        """What another part of the same attack has found."""
        self.tries += other.tries
        self.failures += other.failures
        for name, count in other.checks.items():
            self.checked(name, count)

    @property
    def row(self) -> str:
        made = ", ".join(f"{name} {count:,}" for name, count in self.checks.items())
        return f"| {self.attack} | {self.tries:,} | {len(self.failures)} | {made} |"


def printed(text: str) -> str | None:
    """What is wrong with a text that a person gets to see."""
    if found := _CONTROL.search(text):
        return f"control character {found[0]!r} in {text[max(0, found.start() - 60) :][:120]!r}"
    if found := _BUG.search(text):
        return f"{found[0]}: {text[found.start() :][:300]}"
    return None


def shrunk(items: Sequence[T], fails: Callable[[Sequence[T]], bool]) -> list[T]:
    """A part of the items that still fails; none of it can be left out."""
    kept, size = list(items), max(1, len(items) // 2)
    while size:
        at = 0
        while at < len(kept):
            tried = kept[:at] + kept[at + size :]
            if tried and fails(tried):
                kept = tried
            else:
                at += size
        size //= 2
    return kept


@contextmanager
def with_own_folders() -> Iterator[None]:
    """An empty working folder and an empty RDMALAB_STATE.

    Some lines write files, others keep work or settings for the next session. Each world that is
    examined has folders of its own, so that a failure is repeated by its lines alone.
    """
    before, state = Path.cwd(), os.environ[STATE]
    with TemporaryDirectory(prefix="rdmalab-hostile-") as folder:
        os.environ[STATE] = f"{folder}/state"
        (work := Path(folder) / "work").mkdir()
        os.chdir(work)
        try:
            yield
        finally:
            os.chdir(before)
            os.environ[STATE] = state
