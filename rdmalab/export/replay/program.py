"""The skeleton of a program in any language: verbs looked up by name, the lines between calls."""

import re
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import resources
from types import ModuleType
from typing import Generic, NamedTuple, TypeVar

from rdmalab.command import New, Thing
from rdmalab.export.replay.calls import (
    Bytes,
    Call,
    Chapter,
    NotExportable,
    Replay,
    judge_world,
    judged,
    parts,
)
from rdmalab.export.replay.names import Names, Writing, variable
from rdmalab.session.session import Session

_COMMENTS = ("#", "/*", "* ")
_OPENING, _CLOSING = "([{", ")]}"


WIDTH = 92  # of comments


def wrapped(text: str) -> list[str]:
    """The lines of a text, none longer than WIDTH; empty lines stay."""
    return [line for part in text.splitlines() for line in textwrap.wrap(part, WIDTH) or [""]]


def folded(line: str, width: int, tab: str, tab_width: int) -> list[str]:
    """The line in as many as it needs; one that can be folded nowhere stays as it is.

    tab: what indents the rest, twice, below the line's own indentation. tab_width: its columns.
    """
    indent = line[: len(line) - len(line.lstrip())]
    found: list[str] = []
    if line.lstrip().startswith(_COMMENTS):
        return [line]
    while _columns(line, tab_width) > width:
        most = width - (_columns(line, tab_width) - len(line))
        least = len(indent) + 2 * len(tab) + 1
        at = max((at for at in _breaks(line) if least < at <= most), default=0)
        if not at:
            break
        found.append(line[:at].rstrip())
        line = f"{indent}{tab}{tab}{line[at:].lstrip()}"
    return [*found, line]


def _columns(line: str, tab_width: int) -> int:
    return len(line) + (tab_width - 1) * line.count("\t")


def _breaks(line: str) -> Iterator[int]:
    """Places after a comma or a bar; none in a string, none outside of parentheses."""
    depth, quote, before = 0, "", ""
    for at, sign in enumerate(line):
        if quote:
            quote = "" if sign == quote and before != "\\" else quote
        elif sign in "\"'":
            quote = sign
        elif sign in _OPENING:
            depth += 1
        elif sign in _CLOSING:
            depth -= 1
        elif sign in ",|" and line[at + 1 : at + 2] == " " and (depth > 0 or _goes_on(line)):
            yield at + 2
        before = "" if before == "\\" and sign == "\\" else sign


def _goes_on(line: str) -> bool:
    """Whether the line is a part of something that a parenthesis opened before: it ends so."""
    return line.rstrip().endswith((",", ");", "),", ")"))


W = TypeVar("W", bound=Writing)
T = TypeVar("T")
S = TypeVar("S", bound=Names)
_END = "What is left at the end: completions, the states of the queue pairs, memory."


class Verb(NamedTuple, Generic[S, T]):
    """The writing of a command. begin: before it is carried out; None: nothing is called.

    end: its lines, when its result is known; None: as for most.
    """

    begin: Callable[[S], T | None]
    end: Callable[[S, T | None], list[str]] | None = None


def filled(s: Names, template: str, usual: Mapping[str, int]) -> str:
    """A template with the arguments of the command: objects by their variables, and numbers.

    {node} is the context of its objects. usual: values of arguments that were left out.
    """
    given = {name: value for name, value in s.call.arguments.items() if value is not None}
    texts = {
        name: s.var(value) if isinstance(value, Thing | New) else s.literal(int(value))
        for name, value in {**usual, **given}.items()
        if f"{{{name}}}" in template
    }
    if "{node}" in template:
        things = (each for each in given.values() if isinstance(each, Thing | New))
        texts["node"] = variable(next(things).node)
    return template.format_map(texts)


class Language(Generic[W, T]):
    """The verbs of a language: `VERBS` of its modules.

    scope: the names in the text of a call. checked: the lines of a call and the check of what it
    returned. unknown: why a verb that has no row has no call.
    """

    def __init__(
        self, rooms: Sequence[ModuleType], scope: Callable[[Call, W], S],
        checked: Callable[[S, T | None], list[str]], unknown: str,
    ) -> None:  # fmt: skip
        self.verbs = {word: verb for room in rooms for word, verb in room.VERBS.items()}
        self.scope = scope
        self.checked = checked
        self.unknown = unknown

    def begin(self, writer: W, call: Call) -> T | None:
        """The call before it is carried out; None: nothing is called.

        NotExportable, with the number of its entry: no program can do this.
        """
        with judged(call):
            if call.word not in self.verbs:
                is_verb = call.session.vocabulary[call.word].facts.is_verb
                why_not = self.unknown if is_verb else "is no verb of libibverbs"
                raise NotExportable(f"{call.word} {why_not}")
            begun: T | None = self.verbs[call.word].begin(self.scope(call, writer))
            return begun

    def end(self, writer: W, call: Call, text: T | None) -> list[str]:
        """Its lines, when its result is known; NotExportable as of `begin`."""
        with judged(call):
            end = self.verbs[call.word].end or self.checked
            lines: list[str] = end(self.scope(call, writer), text)
            return lines


class Program(ABC, Generic[W, T]):
    """A program while it is written: the scribe of a replay.

    chapters: parts of the journal; none: parts of thirty calls. NotExportable for a world that no
    program finds.
    """

    def __init__(
        self, language: Language[W, T], writer: W, session: Session, chapters: Sequence[Chapter]
    ) -> None:
        judge_world(session)
        self.language, self.writer = language, writer
        self.session = session
        self.chapters = chapters or parts(session)
        self.runs = {entry: run for each in self.chapters for entry, run in each.runs.items()}
        self.replay = Replay(session, self)
        self.pending: T | None = None

    # ------------------------------------------------------------------ of the language
    @abstractmethod
    def write(self, title: str) -> str:
        """All of it, with this title in its first comment."""

    @abstractmethod
    def comment(self, text: str) -> list[str]:
        """A comment of one or more lines; none for an empty text."""

    @abstractmethod
    def sleep(self, passed_ns: int, run: str) -> str:
        """A call that lets so much time pass. run: the step of the session that did, or empty."""

    @abstractmethod
    def expected(self, name: str, part: Bytes) -> list[str]:
        """Lines that compare the bytes of a region with what it has at the end."""

    # ------------------------------------------------------------------ the same in all
    def text(self, title: str) -> str:
        """All of it; NotExportable says what no program can do."""
        try:
            return self.write(title)
        finally:
            self.replay.end()

    @property
    def option(self) -> str:
        """The option of the device on a command line, `--profile rxe `; empty for strict."""
        profile = next(iter(self.session.world.nodes.values())).profile.name
        return "" if profile == "strict" else f"--profile {profile} "

    def wait(self, passed_ns: int, events: int, entry: int | None) -> list[str]:
        """A sleep; for no time, too: what is due happens before the next call."""
        del events
        self.writer.needs.add("wait_ns")
        return [self.sleep(passed_ns, self.runs.get(-1 if entry is None else entry, ""))]

    def begin(self, call: Call) -> None:
        """Keep the text of a call."""
        self.pending = self.language.begin(self.writer, call)

    def end(self, call: Call) -> list[str]:
        """The kept text, with its check."""
        return self.language.end(self.writer, call, self.pending)

    def looks(self) -> list[str]:
        """Lines that look at what is left at the end."""
        lines = [*self.comment(_END), *self.replay.rest(), *self.replay.looks()]
        for part in self.replay.memory():
            lines += self.expected(self.replay.again.names.of(part.thing), part)
        return lines


def helpers(package: str, file: str, heading: re.Pattern[str]) -> dict[str, str]:
    """The parts of a file of a package by name, in its order. heading: the line before a part."""
    source = resources.files(package) / file
    _, *found = heading.split(source.read_text("utf-8"))
    return {name: text.rstrip() + "\n" for name, text in zip(found[::2], found[1::2], strict=True)}
