"""A conversation to test with, and transcripts: `A> line`, then what is said, as people see it."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING

from rdmalab.lab import Lab
from rdmalab.shell.conversation import Conversation
from rdmalab.shell.output_format import OutputFormat
from rdmalab.shell.styled_text import text_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rdmalab.recovery.write_ahead_log import NullLog
    from rdmalab.shell.styled_text import Line

TRANSCRIPTS = Path(__file__).parent / "transcripts"


class Prompt:
    """A lab, and what was said so far."""

    def __init__(
        self,
        *lines: str,
        width: int = 80,
        plain: bool = False,
        ascii: bool = False,  # noqa: A002
        profile: str = "strict",
        log: NullLog | None = None,
    ) -> None:
        self.lab = Lab(profile=profile)
        output = OutputFormat(self.lab.session, width, plain=plain, ascii=ascii)
        self.conversation = Conversation(self.lab, output, log)
        self.printed: list[Line] = []
        self.ask(*lines)

    def ask(self, *lines: str) -> list[str]:
        """Say lines; what the lab says to all of them."""
        first = len(self.printed)

        async def pause() -> None:
            await asyncio.sleep(0)

        for line in lines:
            asyncio.run(self.conversation.evaluate(line, self.printed.append, pause))
        return [text_of(line).rstrip() for line in self.printed[first:]]

    def warned(self, line: str) -> list[str]:
        """Type a line and return the warnings that it is answered with."""
        return [row for row in self.ask(line) if row.startswith("warning: ")]


def sections(path: Path) -> Iterator[tuple[str, list[str]]]:
    """(title, lines typed) of a transcript."""
    title, typed = "", list[str]()
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            if typed:
                yield title, typed
            title, typed = line[2:], []
        elif line.startswith("A> "):
            typed.append(line[3:])
    yield title, typed


def played(title: str, typed: list[str], *setup: str) -> str:
    """A section as it is said today."""
    prompt = Prompt(*setup)
    lines = [f"# {title}"]
    for line in typed:
        lines += [f"A> {line}", *prompt.ask(line)]
    return "\n".join(lines)


def check(path: Path, today: str) -> None:
    """The file says what is said; RDMALAB_UPDATE=1 rewrites it, for a person to read the diff."""
    if os.environ.get("RDMALAB_UPDATE"):
        path.write_text(today, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == today
