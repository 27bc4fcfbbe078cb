"""Scenario files with mistakes at known lines, and what `check` and `run` make of them.

Three families. Illegal: a word is replaced by one that is never legal, so the file must be refused,
and every error must stand at such a line. Renamed: an object gets another name where it is made, so
every error must be about the old name. Free: random accidents, legal or not. Of all: a file that
passes `check` can be played without an error.
"""

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from rdmalab.classroom import lab_file, lab_mistakes, playing
from rdmalab.command import NewKind
from rdmalab.lab import open_session
from rdmalab.scenario import yaml_tree
from rdmalab.scenario.files import LAB_SUFFIX
from rdmalab.scenario.include import opener_below
from rdmalab.scenario.loader import loads
from rdmalab.scenario.mistakes import Checker
from rdmalab.scenario.runner import Runner, StepOutcome
from rdmalab.scenario.source import FileError, Source
from rdmalab.vocabulary import VOCABULARY
from tests.scenario.mangle import SCENARIOS, mangled

_NAME = re.compile(r"(?<![\w.\"])[A-Z]\.[a-z]\w*(?=[\s.\[:,;)]|$)")
_FIELD = re.compile(r"(?<=[\w}]\.)[a-z_]{3,}(?=[\s)]|$)")
_SYMBOL = re.compile(r"(?<=[=] )[A-Z][A-Z_]{2,}\b|(?<=[a-z]=)[A-Z][A-Z_]{2,}\b")
_KEY_OF_COMMAND = re.compile(r"\b[a-z_]{4,}(?==[^=])")
_WORDS = ("do", "fault", "checkpoint", "setup", "steps", "lines", "")
_ACTIONS = ("do", "run", "fault", "why")
_PROSE = (
    "note", "name", "about", "title", "tags", "checkpoint", "id", "params", "solutions", "bind",
    "instructor", "rules", "hints", "choice", "when_wrong",
    "vary",
)  # fmt: skip
"""Keys below which nothing is mutated: texts, and names that the author of a lab chooses."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A piece of a file that a mutation replaces. kind: which rule offers it."""

    kind: str
    start: int
    stop: int
    instead: str


@dataclass(frozen=True, slots=True)
class Mutant:
    """A mutated file. lines: where the mistakes are, empty if that is not known.

    old: the name that a renamed object had.
    """

    name: str
    path: Path
    text: str
    family: str
    kinds: tuple[str, ...] = ()
    lines: frozenset[int] = frozenset()
    old: str = ""


@dataclass(slots=True)
class Verdict:
    """What came of a mutant. wrong: the claims that it breaks, in words."""

    mutant: Mutant
    errors: list[FileError] = field(default_factory=list)
    played: bool = False
    wrong: list[str] = field(default_factory=list)


# --------------------------------------------------------------------------- what can be mutated
@cache
def _text(path: Path) -> str:
    return path.read_text("utf-8")


@cache
def spots(path: Path) -> tuple[Spot, ...]:
    """Every piece of a file whose replacement is never legal."""
    root = yaml_tree.compose(Source("", _text(path)))
    return tuple(_below(root, (), _text(path)))


def _below(node: Node, path: tuple[str, ...], text: str) -> Iterator[Spot]:
    if (path and path[0] in _PROSE) or (path and path[-1] in _PROSE):
        return
    if isinstance(node, MappingNode):
        for key, value in node.value:
            if "programs" not in path:
                at = key.start_mark.index
                yield Spot("key", at, at + len(key.value), f"{key.value}q")
            yield from _below(value, (*path, key.value), text)
    elif isinstance(node, SequenceNode):
        for item in node.value:
            yield from _below(item, path, text)
    elif isinstance(node, ScalarNode) and node.start_mark.line == node.end_mark.line:
        yield from _in_scalar(node, path, text)


def _in_scalar(node: ScalarNode, path: tuple[str, ...], text: str) -> Iterator[Spot]:
    start = node.start_mark.index
    answer = text[start : node.end_mark.index]
    kind = path[-1] if path else ""
    if kind in ("expect", "goal"):
        yield from _found("object", _NAME, answer, start, "9")
        yield from _found("field", _FIELD, answer, start, "q")
        yield from _found("symbol", _SYMBOL, answer, start, "Q")
    elif kind == "wire" and answer != "skip":
        yield from _found("object", re.compile(r"(?<==)[A-Z]\.[a-z]\w*"), answer, start, "9")
        yield from _found("wire opcode", re.compile(r"(?<=->. )[A-Z_]{4,}"), answer, start, "Q")
        yield from _found("wire key", _KEY_OF_COMMAND, answer, start, "q")
    elif kind in ("errno", "teaches", "profile", "link_layer", "cure", "verdict"):
        yield Spot(kind, start, start + len(answer), f"{answer}q")
    elif kind in ("setup", "steps", "do") or "programs" in path:
        yield from _in_command(answer, start)


def _in_command(text: str, start: int) -> Iterator[Spot]:
    verb = re.match(r"[a-z_]{4,}\b", text)
    if verb is None or verb[0] not in VOCABULARY or ";" in text:
        return
    yield Spot("verb", start, start + verb.end(), f"{verb[0]}q")
    if any(p.name == "text" for p in VOCABULARY[verb[0]].parameters):
        return  # its words are text
    yield from _found("command key", _KEY_OF_COMMAND, text, start, "q")
    yield from _found("symbol", _SYMBOL, text, start, "Q")
    if not _makes(verb[0]):
        yield from _found("object", _NAME, text, start, "9")


def _makes(verb: str) -> bool:
    command = VOCABULARY.get(verb)
    return command is not None and any(isinstance(p.kind, NewKind) for p in command.parameters)


def _found(kind: str, pattern: re.Pattern[str], text: str, start: int, more: str) -> Iterator[Spot]:
    for match in pattern.finditer(text):
        if text[: match.start()].count('"') % 2 == 0:
            span = (start + match.start(), start + match.end())
            yield Spot(kind, *span, match[0] + more)


@cache
def definitions(path: Path) -> tuple[Spot, ...]:
    """The names of new objects in the commands of a file."""
    pattern = re.compile(r"(?:- |do: )([a-z_]+) ([A-Z]\.[a-z]\w*)(?=\s|$)", re.MULTILINE)
    return tuple(
        Spot("definition", *match.span(2), f"{match[2]}q")
        for match in pattern.finditer(_text(path))
        if _makes(match[1])
    )


# --------------------------------------------------------------------------- drawing
def _illegal(name: str, path: Path, chance: random.Random) -> Mutant:
    offered, text = spots(path), _text(path)
    by_kind: dict[str, list[Spot]] = {}
    for spot in offered:
        by_kind.setdefault(spot.kind, []).append(spot)
    chosen: dict[int, Spot] = {}
    for _ in range(chance.choice((1, 1, 2, 3))):
        spot = chance.choice(by_kind[chance.choice(sorted(by_kind))])
        chosen.setdefault(text.count("\n", 0, spot.start) + 1, spot)
    kinds = tuple(spot.kind for spot in chosen.values())
    for spot in sorted(chosen.values(), key=lambda spot: -spot.start):
        text = text[: spot.start] + spot.instead + text[spot.stop :]
    return Mutant(name, path, text, "illegal", kinds, frozenset(chosen))


def _renamed(name: str, path: Path, chance: random.Random) -> Mutant:
    text = _text(path)
    spot = chance.choice(definitions(path))
    mutated = text[: spot.start] + spot.instead + text[spot.stop :]
    old = text[spot.start : spot.stop]
    return Mutant(name, path, mutated, "renamed", ("definition",), old=old)


def _free(name: str, path: Path, chance: random.Random) -> Mutant:
    return Mutant(name, path, mangled(_text(path), chance), "free")


def mutants(count: int, seed: int, paths: list[Path] | None = None) -> Iterator[Mutant]:
    """So many mutants of scenarios, the same for a seed. paths: None: all scenarios."""
    paths = paths or SCENARIOS
    chance = random.Random(seed)
    for number in range(count):
        path, name = chance.choice(paths), f"{seed}-{number}"
        family = chance.choice((_illegal, _illegal, _illegal, _renamed, _free, _free))
        if family is _renamed and not definitions(path):
            family = _free
        yield family(name, path, chance)


# --------------------------------------------------------------------------- judging
_CHECKER = Checker(VOCABULARY, open_session)


def judged(mutant: Mutant) -> Verdict:
    """Check a mutant, and play it if it passes."""
    verdict, path = Verdict(mutant), str(mutant.path)
    opener = opener_below(path)
    try:
        if path.endswith(LAB_SUFFIX):
            verdict.errors = lab_mistakes.mistakes(mutant.text, path)
        else:
            verdict.errors = _CHECKER.mistakes(mutant.text, path, opener)
    except Exception as bug:  # noqa: BLE001  (whatever it is, it is a finding)
        verdict.wrong.append(f"check ends with {bug!r}")
        return verdict
    lines = {error.place.line if error.place else 0 for error in verdict.errors}
    if not verdict.errors:
        verdict.played = True
        verdict.wrong += _played(mutant.text, path)
    if mutant.family == "illegal":
        verdict.wrong += [] if verdict.errors else ["passes"]
        if elsewhere := lines - mutant.lines:
            verdict.wrong.append(f"errors at {sorted(elsewhere)}, not {sorted(mutant.lines)}")
    texts = mutant.text.split("\n")
    for error in verdict.errors if mutant.family == "renamed" else []:
        line = texts[error.place.line - 1] if error.place else ""
        if mutant.old not in line:
            verdict.wrong.append(f"an error of another name: {error}")
    return verdict


def _played(text: str, path: str) -> Iterator[str]:
    if path.endswith(LAB_SUFFIX):
        yield from _begun(text, path)
        return
    try:
        scenario = loads(text, path, VOCABULARY, opener=opener_below(path))
    except FileError as wrong:
        yield f"check passes it, run cannot load it: {wrong}"
        return
    runner = Runner(scenario, open_session)
    runner.run()
    if runner.outcome is StepOutcome.ERROR:
        yield f"check passes it, run does not: {runner.results[-1].error}"
    runner.session.dispose()


def _begun(text: str, path: str) -> Iterator[str]:
    """As `_played`, of a lab: its setup for a student."""
    try:
        playing.begun(lab_file.loads(text, path, student="1"))
    except (FileError, playing.BrokenLab) as wrong:
        yield f"check passes it, run cannot begin it: {wrong}"
