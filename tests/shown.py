"""Play all scenarios, note which one shows a word best.

`python -m tests.shown` writes `rdmalab/guide/data/shown.toml`.

A scenario shows a status, a flag, a packet, an errno … when that happened in it; a field or a right
when one of its lines says it. The best one names the word in its title or its text, else in what it
expects, and is short. Before these go: a lesson that has the name of the word, one of the first
learning path that speaks of it, and one of another path whose title or summary does.
"""

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from rdmalab.guide.entry import Entry, Sort
from rdmalab.guide.explain import entries
from rdmalab.lab import open_session
from rdmalab.scenario.files import SUFFIX
from rdmalab.scenario.lessons import learning_paths
from rdmalab.scenario.loader import Scenario, load
from rdmalab.scenario.runner import Runner
from rdmalab.session.lines import Reply
from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.c_names import full_name
from rdmalab.spec.limits import LinkLayer
from rdmalab.spec.records import A, B, Kind, Record, kind_of
from rdmalab.spec.rules import errno_name
from rdmalab.spec.states import MigState, QPState, fields_of
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import SendFlags, WCFlags, WCOpcode, WROpcode
from rdmalab.views import fmt
from rdmalab.vocabulary import VOCABULARY

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "scenarios"
TARGET = ROOT / "rdmalab" / "guide" / "data" / "shown.toml"
_HEAD = "# Which scenario shows a word best; `load` opens it. Made by `python -m tests.shown`.\n"
_WIDEST = 100
_BASICS = learning_paths()[0].lessons
_OFF = 10_000  # place of a lesson that is on no learning path
# Read in the lines of a scenario, because no record has it.
SAID = {"field of a verb", "right", "SRQ attribute", "SRQ type", "type of memory window"}
SAID |= {"flag of rereg_mr", "flush_type of FLUSH", "flush_level of FLUSH", "oflag", "flow type"}
SAID |= {"builder flag", "creation mask", "wc_flags flag", "flow flag"}


class Showing(NamedTuple):
    """A scenario and what happened in it. text: all its text; about: its title and summary."""

    name: str
    names: frozenset[str]
    about: str
    text: str
    records: int


# --------------------------------------------------------------------------- what happened
def _status(record: Record) -> Iterator[str]:
    cqe = record[A]
    yield full_name(WCStatus(cqe.status))
    if cqe.status == WCStatus.SUCCESS and cqe.opcode in tuple(WCOpcode):
        yield full_name(WCOpcode(cqe.opcode))
        yield from (full_name(flag) for flag in WCFlags if cqe.wc_flags & flag)


def _posted(record: Record) -> Iterator[str]:
    wr = record[A].wr
    if wr.opcode in tuple(WROpcode):
        yield full_name(WROpcode(wr.opcode))
    yield from (full_name(flag) for flag in SendFlags if wr.flags & flag)


def _packet(record: Record) -> Iterator[str]:
    packet = record[A]
    yield f"wire {fmt.label(packet)}"
    if (syndrome := fmt.syndrome(packet)) is not None:
        yield f"syndrome {syndrome.name}"


def _moved(record: Record) -> Iterator[str]:
    now, to = QPState(record[A]), QPState(record[B])
    yield f"modify_qp {now.name} {to.name}"
    yield full_name(to)


def _called(record: Record) -> Iterator[str]:
    yield f"verb {record[A]}"
    if record[B]:
        yield errno_name(record[B])


def _answered(reply: Reply) -> Iterator[str]:
    """The rule that refused a line; the migration state that one asked for."""
    if reply.refusal is not None:
        yield f"rule {reply.refusal.rule}"
    attr = reply.invocation.arguments.get("attr") if reply.invocation is not None else None
    if isinstance(attr, dict) and isinstance(state := attr.get("path_mig_state"), int):
        yield full_name(MigState(state))


def _layer(layer: LinkLayer) -> Iterator[str]:
    if layer is LinkLayer.INFINIBAND:
        yield "concept infiniband port"


_OF_KIND: dict[Kind, Callable[[Record], Iterator[str]]] = {
    Kind.CQE_ADDED: _status,
    Kind.CQ_OVERRUN: _status,
    Kind.SEND_POSTED: _posted,
    Kind.PACKET_SENT: _packet,
    Kind.PACKET_INJECTED: _packet,
    Kind.STATE_CHANGED: _moved,
    Kind.CALLED: _called,
    Kind.ATTRIBUTES_SET: lambda record: iter(fields_of(record[A])),
    Kind.MIGRATION_CHANGED: lambda record: iter([full_name(MigState(record[B]))]),
    Kind.LINK_LAYER_SET: lambda record: _layer(LinkLayer(record[A])),
    Kind.REQUEST_REFUSED: lambda record: iter([f"refusal {record[B]}"]),
    Kind.PACKET_DROPPED: lambda record: iter([f"drop {record[B]}"]),
    Kind.ASYNC_RAISED: lambda record: iter([full_name(AsyncEvent(record[A]))]),
}


def played(scenario: Scenario) -> Showing:
    """Play it and gather the names of all that happens."""
    runner, names = Runner(scenario, open_session), set[str]()
    while not runner.over:
        for reply in runner.replies():
            names.update(_answered(reply))
    records = runner.session.world.trace.records
    for record in records:
        names.add(f"record {kind_of(record).name}")
        if (names_in := _OF_KIND.get(kind_of(record))) is not None:
            names.update(names_in(record))
    world = runner.session.world
    for hca in world.nodes.values():
        names.update(full_name(qp.qp_type) for qp in hca.qps.items.values())
        names.add(f"profile {hca.profile.name}")
    text = scenario.source.text
    document = scenario.document
    return Showing(name_of(scenario.path), frozenset(names), f"{document.title} {document.about}",
                   text, len(records))  # fmt: skip


def name_of(path: str) -> str:
    """`err/rnr-retry-exceeded`, as `load` takes it."""
    return Path(path).relative_to(FOLDER).as_posix().removesuffix(SUFFIX)


# --------------------------------------------------------------------------- the best of them
def best(entry: Entry, showings: Iterable[Showing]) -> str:
    """The scenario that shows it best; empty where none does."""
    able = [each for each in showings if shows(entry, each)]
    return min(able, key=lambda each: _rank(entry, each)).name if able else ""


def shows(entry: Entry, each: Showing) -> bool:
    if entry.name in each.names:
        return True
    return kind(entry) in SAID and bool(_pattern(entry).search(each.text))


def _rank(entry: Entry, each: Showing) -> tuple[Any, ...]:
    pattern = _pattern(entry)
    is_reported = pattern.search(each.about) is not None
    answer = min(len(pattern.findall(each.text)), 3)
    place = _places().get(each.name, _OFF)
    is_status = entry.about is not None and entry.about.sort is Sort.STATUS
    is_usual = each.name.startswith("err/") or (place < _OFF and is_reported)
    apart = each.name.startswith("real/") or (is_status and not is_usual)
    away = each.name.partition("/")[0] not in {word.lower() for word in entry.words}
    words = {word.lower() for word in (entry.name, *entry.words)}
    is_named = each.name.rpartition("/")[2].replace("-", "_") in words
    if is_named:
        tier = 0
    elif each.name in _BASICS and (is_reported or answer > 1):
        tier = 1
    else:
        tier = 2 if place < _OFF and is_reported else 3
    order = (-3 if is_reported else -answer, place) if tier < 3 else (0, 0)
    return (apart, away, tier, order, not is_reported, -answer, each.records, each.name)


@cache
def _places() -> dict[str, int]:
    """Place of each lesson of the learning paths: what a beginner meets first is first."""
    names = (name for path in learning_paths() for name in path.lessons)
    return {name: place for place, name in enumerate(names)}


def kind(entry: Entry) -> str:
    return re.sub(r" = .*", "", entry.kind)


@cache
def _pattern(entry: Entry) -> re.Pattern[str]:
    """Its names as a whole word; a field stands before `=`."""
    bare = sorted({entry.name, *entry.words} - {w for w in entry.words if w.isdecimal()})
    if kind(entry) == "field of a verb":
        return re.compile(rf"\b(?:{'|'.join(map(re.escape, entry.words))})=")
    if entry.about is not None and entry.about.sort is Sort.VERB:
        bare = list(entry.words)
    return re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, bare))})(?![\w-])")


def table(showings: list[Showing]) -> dict[str, list[str]]:
    """Scenario → the names it is the best for, in the order of the guide."""
    found: dict[str, list[str]] = {}
    for entry in entries(VOCABULARY):
        if name := best(entry, showings):
            found.setdefault(name, []).append(entry.name)
    return dict(sorted(found.items()))


def source(rows: dict[str, list[str]]) -> str:
    """The table as TOML."""
    return "\n".join([_HEAD, *(_row(scenario, names) for scenario, names in rows.items()), ""])


def _row(scenario: str, names: list[str]) -> str:
    one = f'"{scenario}" = {json.dumps(names)}'
    if len(one) <= _WIDEST:
        return one
    return "\n".join([f'"{scenario}" = [', *(f'  "{name}",' for name in names), "]"])


def paths() -> list[Path]:
    return sorted(FOLDER.rglob(f"*{SUFFIX}"))


def main() -> int:
    """Write it."""
    showings = [played(load(str(path), VOCABULARY)) for path in paths()]
    TARGET.write_text(source(table(showings)), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
