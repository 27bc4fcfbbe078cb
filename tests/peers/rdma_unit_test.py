"""The behaviours that google/rdma-unit-test expects of a device, played on the lab.

    python -m tests.peers.rdma_unit_test [NAME]

prints a table: tests by file and profile, and what differs, with the reason; with NAME, how the
plays of the tests whose names contain it end. `tests/data/rdma_unit_test/FILE.yaml` has an entry
for each test of FILE.cc, in our words and in the language of scenarios; nothing of theirs is kept
but the names (`names.txt`, commit 1f368ab). A file is `let:`, texts by name, each put in place of
its `$name` everywhere; `setups:`, lists of steps by name; and `tests:`, a list of entries:

    test: Suite.Name
    behaviour: what a device must do
    dropped: why it is not judged            # or:
    use: NAME of a setup, or a list of them
    each: [{op: SEND}, …]                    # played once for each, $op replaced in every text;
                                             # of a list of such lists every combination
    nodes, link, programs:                   # as in a scenario
    play: [steps of a scenario]              # what the test demands; errno: any, or A|B, or none|A
    mlx5, strict:                            # only where the profile differs
      differs: why
      source: what the difference stands on
      each, nodes, link: instead of the entry's
      steps: {ID: what replaces keys of the step with this id; null removes a key, or the step}

`errno: any` is a refusal with any errno; `none|EINVAL` lets the call succeed as well.
"""

import argparse
import dataclasses
import itertools
import json
import sys
import time
from collections import ChainMap, Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from string import Template
from typing import Any, NamedTuple

import yaml

from rdmalab.lab import open_session
from rdmalab.scenario.loader import Scenario, loads
from rdmalab.scenario.runner import Runner
from rdmalab.spec.rules import ERRNO_NAMES
from rdmalab.vocabulary import VOCABULARY

FOLDER = Path(__file__).parents[1] / "data" / "rdma_unit_test"
PROFILES = ("mlx5", "strict")
KEYS = frozenset(
    ("test", "behaviour", "dropped", "use", "each", "nodes", "link", "programs", "play", *PROFILES)
)
DIFFERS = frozenset(("differs", "source", "each", "nodes", "link", "steps"))

_ERRNO_OF = {name: number for number, name in ERRNO_NAMES.items()}
_ANY = frozenset(_ERRNO_OF)
_NONE = "none"
_WIDTH = 160  # of a line of a failure: some compare many bytes

Steps = list[Any]


@dataclasses.dataclass(frozen=True, slots=True)
class Entry:
    """One test of theirs. setup: the steps of the setups that it uses; let: the file's texts."""

    file: str
    raw: dict[str, Any]
    setup: Steps
    let: dict[str, str]

    @property
    def name(self) -> str:
        return str(self.raw["test"])

    @property
    def dropped(self) -> str:
        """Why it is not judged, empty if it is."""
        return self._told(self.raw.get("dropped", ""))

    def differs(self, profile: str) -> str:
        """Why the profile does not do what the test demands, empty if it does."""
        return self._told(self.raw.get(profile, {}).get("differs", ""))

    def source(self, profile: str) -> str:
        """What that difference stands on."""
        return self._told(self.raw.get(profile, {}).get("source", ""))

    def _told(self, text: str) -> str:
        return str(_filled(text, self.let))


class Ending(NamedTuple):
    """How the plays of an entry ended. failure: of the first that failed, empty if none did."""

    ok: bool
    failure: str


# --------------------------------------------------------------------------- reading
@cache
def entries() -> tuple[Entry, ...]:
    """All entries of all files."""
    return tuple(entry for path in sorted(FOLDER.glob("*.yaml")) for entry in _read(path))


def _read(path: Path) -> Iterator[Entry]:
    content = yaml.load(path.read_text("utf-8"), yaml.CBaseLoader)
    setups = content.get("setups", {})
    for raw in content["tests"]:
        if wrong := set(raw) - KEYS:
            raise ValueError(f"{path.name}: {raw.get('test')}: no key {sorted(wrong)}")
        used = raw.get("use", [])
        used = [used] if isinstance(used, str) else used
        setup = [step for name in used for step in setups[name]]
        yield Entry(path.stem, raw, setup, content.get("let", {}))


def names() -> list[tuple[str, str]]:
    """File and name of all tests of theirs."""
    lines = (FOLDER / "names.txt").read_text("utf-8").splitlines()
    return [(file, name) for file, _, name in (line.partition(" ") for line in lines)]


# --------------------------------------------------------------------------- playing
def play(entry: Entry, profile: str, *, as_told: bool) -> Ending:
    """Play an entry, once for each of its parameters.

    as_told: with the difference that the entry states for this profile; else without it.
    """
    answer = entry.raw.get(profile, {}) if as_told else {}
    for row in _rows(answer.get("each") or entry.raw.get("each") or [{}]):
        failure = _failure(entry, answer, entry.let | row, profile)
        if failure:
            text = " ".join(f"{key}={value}" for key, value in row.items())
            return Ending(False, f"{entry.name} [{profile}] {text}\n{failure}")
    return Ending(True, "")


def _rows(each: list[Any]) -> list[dict[str, str]]:
    if not isinstance(each[0], list):
        return each
    return [dict(ChainMap(*rows)) for rows in itertools.product(*each)]


def _failure(entry: Entry, by_name: dict[str, Any], row: dict[str, str], profile: str) -> str:
    """Empty if the play passes. Where several errnos are accepted it is played with the one met."""
    steps = _filled(_replaced(entry.raw["play"], by_name.get("steps", {})), row)
    setup = _filled(entry.setup, row)
    accepted = {n: _accepted(step) for n, step in enumerate(steps) if _alternatives(step)}
    plain = [_without_errno(step) if n in accepted else step for n, step in enumerate(steps)]
    parts = {key: by_name.get(key, entry.raw.get(key)) for key in ("nodes", "link", "programs")}
    parts = {key: _filled(part, row) for key, part in parts.items() if part}
    scenario = _loaded(json.dumps({
        "rdmalab": "1", "title": entry.name, **parts, "setup": setup, "steps": plain,
    }), entry.name)  # fmt: skip
    first = len(scenario.steps) - len(steps)
    for _ in range(len(accepted) + 1):
        runner = Runner(scenario, open_session, default=profile)
        runner.run()
        met = _met(runner, first, accepted)
        if met is None:
            break
        scenario = _with_errno(scenario, *met)
    unmet = [n for n, some in accepted.items() if not scenario.steps[first + n].errno
             and _NONE not in some and runner.ok]  # fmt: skip
    if unmet:
        return f"step {first + unmet[0] + 1} succeeded: {scenario.steps[first + unmet[0]].line}"
    return "" if runner.ok else runner.results[-1].text(entry.file)


def _met(runner: Runner, first: int, accepted: dict[int, frozenset[str]]) -> tuple[int, int] | None:
    """The step that was refused with one of its accepted errnos, and this errno."""
    failure = None if runner.ok else runner.results[-1].failure
    place = runner.position - 1
    if failure is None or failure.what != "do" or place - first not in accepted:
        return None
    name = failure.actual[0].partition(":")[0]
    return (place, _ERRNO_OF[name]) if name in accepted[place - first] else None


def _with_errno(scenario: Scenario, place: int, code: int) -> Scenario:
    steps = list(scenario.steps)
    steps[place] = dataclasses.replace(steps[place], errno=code)
    return dataclasses.replace(scenario, steps=tuple(steps))


@cache
def _loaded(text: str, name: str) -> Scenario:
    return loads(text, name, VOCABULARY)


# --------------------------------------------------------------------------- steps
def _replaced(steps: Steps, changes: dict[str, Any]) -> Steps:
    """The steps, those with an id in `changes` changed."""
    known = {step.get("id") for step in steps if isinstance(step, dict)}
    if wrong := set(changes) - known:
        raise ValueError(f"no step has the id {sorted(wrong)}")
    found = [_changed(step, changes) for step in steps]
    return [step for step in found if step]


def _changed(step: Any, changes: dict[str, Any]) -> Any:
    if not isinstance(step, dict) or step.get("id") not in changes:
        return step
    change = changes[step["id"]]
    merged = {**step, **change} if isinstance(change, dict) else {}
    return {key: value for key, value in merged.items() if value != "null"}


def _filled(part: Any, row: dict[str, str]) -> Any:
    """The same with `$name` replaced in every text."""
    if isinstance(part, list):
        return [_filled(item, row) for item in part]
    if isinstance(part, dict):
        return {key: _filled(value, row) for key, value in part.items()}
    while "$" in part:
        part = Template(part).substitute(row)
    return part


def _alternatives(step: Any) -> bool:
    return isinstance(step, dict) and ("|" in step.get("errno", "") or step.get("errno") == "any")


def _accepted(step: dict[str, Any]) -> frozenset[str]:
    names_ = frozenset(step["errno"].split("|"))
    if wrong := names_ - _ANY - {_NONE, "any"}:
        raise ValueError(f"no errno {sorted(wrong)}")
    return names_ | _ANY if "any" in names_ else names_


def _without_errno(step: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in step.items() if key != "errno"}


# --------------------------------------------------------------------------- the table
def table() -> Iterator[str]:
    """Counts by file and profile, then what differs and what was dropped, with reasons."""
    total: Counter[str] = Counter()
    yield f"{'file':28} tests judged {'  '.join(f'{name:>6}' for name in PROFILES)}"
    for file in dict.fromkeys(entry.file for entry in entries()):
        counted = _counted([entry for entry in entries() if entry.file == file])
        total += counted
        yield _row(file, counted)
    yield _row("sum", total)
    for profile in PROFILES:
        for entry in entries():
            if why := entry.differs(profile):
                yield f"{profile:6} {entry.name}: {why} ({entry.source(profile)})"
    for entry in entries():
        if entry.dropped:
            yield f"dropped {entry.name}: {entry.dropped}"


def _counted(some: list[Entry]) -> "Counter[str]":
    judged = [entry for entry in some if not entry.dropped]
    equal = {name: sum(not entry.differs(name) for entry in judged) for name in PROFILES}
    return Counter({"tests": len(some), "judged": len(judged), **equal})


def _row(title: str, counted: "Counter[str]") -> str:
    equal = "  ".join(f"{counted[name]:6}" for name in PROFILES)
    return f"{title:28} {counted['tests']:5} {counted['judged']:6} {equal}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", nargs="?", default="")
    chosen = parser.parse_args()
    if not chosen.name:
        print("\n".join(table()))  # noqa: T201
        return 0
    began = time.process_time()
    failures = list(_failures(chosen.name))
    print("\n".join(line[:_WIDTH] for text in failures for line in text.splitlines()))  # noqa: T201
    print(f"{len(failures)} failures, {time.process_time() - began:.1f} s")  # noqa: T201
    return bool(failures)


def _failures(part: str) -> Iterator[str]:
    for entry in entries():
        if part not in f"{entry.file} {entry.name}" or entry.dropped:
            continue
        for profile in PROFILES:
            ending = play(entry, profile, as_told=True)
            if not ending.ok:
                yield ending.failure
            if entry.differs(profile) and play(entry, profile, as_told=False).ok:
                yield f"{entry.name} [{profile}] does not differ"


if __name__ == "__main__":
    sys.exit(main())
