"""The steps of a session file, with the checks that those of a scenario have."""

import errno
from collections.abc import Iterator
from itertools import islice

from pydantic import ValidationError
from yaml.nodes import MappingNode

from rdmalab.command import Invocation, NotUnderstood
from rdmalab.scenario.include import Includes
from rdmalab.scenario.model import Document, Step
from rdmalab.scenario.planned_step import Call, LineSpot, PlannedStep
from rdmalab.scenario.planner import Planner, Vocabulary
from rdmalab.scenario.session_file import Row, rows_of
from rdmalab.scenario.source import Source, SourcePlace, together, visible
from rdmalab.spec.rules import ERRNO_NAMES

FILLING = ("write", "poke")
"""The commands whose `text` is in a step of its own: `bytes`."""
_HEAD = ("title", "seed", "nodes", "outside", "awaited")
_ACTIONS, _USUAL = ("do", "run"), {"do", "run", "at", "errno", "by"}
_KEYS, _WORDS = {*_USUAL, "bytes"}, {*_ACTIONS, "errno"}
_TOGETHER = 256  # calls of one step
_LONGEST = 1 << 20  # characters of a line, as in a scenario file
_ERRNOS = frozenset(ERRNO_NAMES.values())
_LATEST_NS = 2**63 - 1
_LONGEST_CALLER = 1_000  # characters
_SHOWN = 40  # characters of `bytes` in the line of a step


def document_of(source: Source) -> Document:
    """Title, seed, devices, and what programs wait for; raises FileError if one is wrong."""
    head = next(rows_of(source.text))
    given = {key: head[key] for key in _HEAD if key in head}
    try:
        return Document.model_validate({"rdmalab": "1", **given, "steps": ["run"]})
    except ValidationError as wrong:
        first = wrong.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise LineSpot(source, 1).error(NotUnderstood(f"{where}: {first['msg']}")) from None


def steps_of(source: Source, vocabulary: Vocabulary) -> tuple[PlannedStep, ...]:
    """All steps; raises FileError with the first mistakes, or Damaged for a line without an object.

    A line that comes again is parsed once: programs repeat theirs.
    """
    planner = Planner(source, MappingNode("", []), vocabulary, Includes(None, {}))
    reader = _Reader(source, planner)
    steps = tuple(reader.steps())
    planner.check_questions(())
    if planner.wrong:
        raise together(planner.wrong)
    return steps


class _Reader:
    """known: the line and the command of each action so far; programs repeat theirs."""

    def __init__(self, source: Source, planner: Planner) -> None:
        self.source = source
        self.planner = planner
        self.known: dict[tuple[object, ...], tuple[str, Invocation]] = {}

    def steps(self) -> Iterator[PlannedStep]:
        """Steps of many calls each: one for each call would take longer than the call itself."""
        rows = enumerate(islice(rows_of(self.source.text), 1, None), 2)
        while calls := tuple(self._read(row, number) for number, row in islice(rows, _TOGETHER)):
            number, text = calls[0].number, "\n".join(call.text for call in calls)
            yield PlannedStep(
                Step.model_construct(None, do=text), SourcePlace(number, 1), False, text,
                LineSpot(self.source, number), 0, (), None, (), calls=calls,
            )  # fmt: skip

    def _read(self, row: Row, number: int) -> Call:
        key, at_ns = (row.get("do"), row.get("run"), row.get("errno")), row.get("at", 0)
        try:
            found = self.known.get(key)
        except TypeError:  # a list or an object is no key
            found = None
        is_usual = row.keys() <= _USUAL and type(at_ns) is int and 0 <= at_ns <= _LATEST_NS
        is_usual &= "errno" not in row or type(row["errno"]) is str  # None: the key of no errno
        is_usual &= _is_short(row.get("by", ""))
        if found is None or not is_usual:
            spot = LineSpot(self.source, number)
            if wrong := _misshapen(row):
                raise spot.error(NotUnderstood(wrong))
            found = self.known[key] = self._understood(row, spot)
            if "bytes" in row:
                found = _filled(*found, str(row["bytes"]), spot)
        line, invocation = found
        code = getattr(errno, str(row["errno"])) if "errno" in row else 0
        time = at_ns if "at" in row and isinstance(at_ns, int) else None
        return Call(number, time, code, invocation, line, str(row.get("by", "")))

    def _understood(self, row: Row, spot: LineSpot) -> tuple[str, Invocation]:
        step = Step.model_construct(None, **{k: v for k, v in row.items() if k in _WORDS})
        line = self.planner.line_of(step)
        invocations = self.planner.commands_of(step, line, spot)
        facts = self.planner.vocabulary[invocations[0].name]
        if len(invocations) > 1 or not (facts.changes_world or "run" in row):
            raise spot.error(NotUnderstood("a step has one command that changes the world"))
        return line, invocations[0]


def _is_short(text: object) -> bool:
    return type(text) is str and len(text) <= _LONGEST_CALLER


def _misshapen(row: Row) -> str:
    """The sentence about a step that has other keys or values than a step may have."""
    keys, at_ns = row.keys(), row.get("at", 0)
    texts = [row[key] for key in ("do", "run", "bytes", "errno") if key in keys]
    if unknown := keys - _KEYS:
        wrong = f"unknown key {visible(min(unknown)[:_SHOWN])}"
    elif ("do" in keys) == ("run" in keys) or ("run" in keys and len(keys) > 1):
        wrong = "a step has do, or run alone"
    elif type(at_ns) is not int or not 0 <= at_ns <= _LATEST_NS:
        wrong = "at is a number of ns"
    elif not all(isinstance(text, str) for text in texts):
        wrong = "do, run, bytes and errno are texts"
    elif not _is_short(row.get("by", "")):
        wrong = f"by is a text of at most {_LONGEST_CALLER:,} characters"
    elif row.get("errno", "EIO") not in _ERRNOS:
        wrong = "errno is the name of an error"
    elif any(len(str(row.get(key, ""))) > _LONGEST for key in _ACTIONS):
        wrong = f"a line has at most {_LONGEST:,} characters"
    else:
        wrong = ""
    return wrong


def _filled(line: str, found: Invocation, octets: str, spot: LineSpot) -> tuple[str, Invocation]:
    """The command with its bytes; its line shows the first of them."""
    if found.name not in FILLING or max(octets, default="") > "\xff":
        raise spot.error(NotUnderstood("bytes go with a write or a poke, a character for a byte"))
    shown = ascii(octets[:_SHOWN]) + ("…" if len(octets) > _SHOWN else "")
    whole = Invocation(found.name, {**found.arguments, "text": octets}, found.line, found.places)
    return line.removesuffix('""') + shown, whole


__all__ = ["FILLING", "document_of", "steps_of"]
