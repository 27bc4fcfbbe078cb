"""Values that fit at the cursor, by the kind of the argument; files and expressions, too."""

import enum
import re
import time
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from rdmalab.command import NotUnderstood, Noun, Thing, kinds
from rdmalab.grammar.arguments import Slot
from rdmalab.grammar.expressions import parse_expression
from rdmalab.grammar.nodes import SINCE
from rdmalab.grammar.values import legal_words
from rdmalab.guide.manual import titles
from rdmalab.recovery.recovered_sessions import described
from rdmalab.session.checkpoints import BEGINNING
from rdmalab.session.history import History
from rdmalab.session.session import Session
from rdmalab.shell import legal_arguments
from rdmalab.shell.legal_arguments import (
    Choice,
    CompletionContext,
    can_be_meant,
    legal_members,
    recommended,
)
from rdmalab.spec.c_names import PREFIX
from rdmalab.views import fmt
from rdmalab.views.memory import with_key
from rdmalab.views.query_fields import continuations, fields, parts_of_hint, type_word
from rdmalab.views.query_types import filters_of

_MOST_FILES = 200
_DEEPEST = 4
_KEPT_S = 5


def scenario_files(root: Path | None = None) -> Iterator[tuple[str, str]]:
    """(path, title) of the scenarios below a directory, the current one if none is given."""
    from rdmalab.scenario.files import SUFFIX

    base = root or Path()
    found = sorted(
        path for depth in range(_DEEPEST) for path in base.glob("*/" * depth + f"*{SUFFIX}")
    )
    for path in found[:_MOST_FILES]:
        yield path.relative_to(base).as_posix(), _title(path)


def lesson_names() -> Iterator[tuple[str, str]]:
    """(short name, title) of the installed lessons and labs, as `load` takes them.

    They are read every few seconds, not for each key that is typed: that takes 15 ms.
    """
    from rdmalab.scenario.files import lessons_folder

    yield from _titles(lessons_folder(), int(time.monotonic() // _KEPT_S)).items()


@lru_cache(maxsize=1)
def _titles(_folder: Path, _period: int) -> dict[str, str]:
    from rdmalab.scenario.lessons import titles

    return titles()


def _title(path: Path) -> str:
    from rdmalab.scenario.lessons import listed

    lesson = listed(str(path))
    return lesson.title if lesson is not None else ""


_MOST = 60
_CALL = re.compile(r"([A-Za-z_][\w.]*)\(([^()]*)\Z")
_COMPARED = re.compile(r"([A-Za-z_][\w.\[\]]*)\s*[=!]=\s*\Z")


def question_choices(session: Session, before: str, partial: str) -> list[tuple[str, str]]:
    """The candidates at the cursor, each with its description."""
    typed = before.removesuffix(partial)
    if (call := _CALL.search(typed)) is not None and (filters := filters_of(call[1])):
        return _filter_choices(session, filters, call[2].rpartition(",")[2])
    compared = _COMPARED.search(typed)
    if compared is not None and (members := _members(session, compared[1])):
        return [(member, "") for member in members]
    own = f"{session.default_node}."
    paths = continuations(session.names, partial)
    if partial and partial.partition(".")[0] not in session.world.nodes:
        paths += [path.removeprefix(own) for path in continuations(session.names, own + partial)]
    unique = list(dict.fromkeys(paths))[:_MOST]
    sentences = {row.path: row.sentence for row in fields()}
    return [(path, sentences.get(sample(session, path), "")) for path in unique]


def _filter_choices(
    session: Session, filters: dict[str, object], typed: str
) -> list[tuple[str, str]]:
    """Inside the parentheses of a count: the keys, after a key its words."""
    key = re.fullmatch(r"\s*(\w+)\s*!?=\s*", typed)
    if key is None:
        since = [(f"{SINCE}=", "only what came after a checkpoint, an event or a time")]
        return [*((f"{name}=", type_word(hint)) for name, hint in filters.items()), *since]
    if key[1] == SINCE:
        return [(f"@{mark}", "") for mark in dict.fromkeys([*session.checkpoints, BEGINNING])]
    if key[1] in ("from", "to", "source", "target", "node"):
        return [(node, "") for node in session.world.nodes]
    return [(word, "") for hint in parts_of_hint(filters.get(key[1])) for word in _words_of(hint)]


def _words_of(hint: object) -> list[str]:
    """The names of an enum; [] for another type."""
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return list(hint.__members__)
    return []


def sentence(session: Session, path: str) -> str:
    """The sentence about the field of a path; empty if it is no field."""
    wanted = sample(session, path)
    return next((row.sentence for row in fields() if row.path == wanted), "")


def sample(session: Session, path: str) -> str:
    """The path as the list of fields has it, about A's first object of the kind."""
    for start in (path, f"{session.default_node}.{path}"):
        node, _, rest = start.partition(".")
        name, dot, field = rest.partition(".")
        thing = session.names.find(f"{node}.{name}")
        if thing is not None and thing.noun is not Noun.NODE:
            return f"A.{thing.noun}0{dot}{field}"
    return path


def _members(session: Session, path: str) -> list[str]:
    """The names of the enum that a path's value belongs to."""
    try:
        value = session.ask(parse_expression(path, session.default_node).node)
    except NotUnderstood:
        return []
    return list(type(value).__members__) if isinstance(value, enum.Enum) else []


def values_of_slot(here: CompletionContext, slot: Slot) -> Iterator[Choice]:
    """The candidates for the value of a key."""
    kind = slot.kind.item if isinstance(slot.kind, kinds.ListKind) else slot.kind
    if kind.short is not None:
        for noun in (kind.short.noun, *kind.short.also):
            yield from _names(here, kinds.ThingKind(noun, ranged=_is_ranged(slot)), slot)
    yield from _OF_KIND.get(type(kind), _nothing)(here, kind, slot)
    if kind.nullable and isinstance(kind, kinds.RecordKind):
        yield Choice("NULL", "none", 4)


def _is_ranged(slot: Slot) -> bool:
    return slot.parameter.name in ("sg", "remote", "bind")


def _nothing(_here: CompletionContext, _kind: kinds.ArgumentKind, _slot: Slot) -> Iterator[Choice]:
    yield from ()


def _enum(here: CompletionContext, kind: kinds.EnumKind, slot: Slot) -> Iterator[Choice]:
    given = here.flags_before()
    prefix = _prefix(kind, here.expected.partial)
    legal = legal_members(here, slot, kind)
    words = [word for word in legal_words(kind) if word not in given]
    if legal is not None:
        order = list(legal)
        words = sorted((w for w in words if _number(w, kind) in legal),
                       key=lambda w: order.index(_number(w, kind)))  # fmt: skip
    for word in words:
        yield Choice(prefix + word, legal[_number(word, kind)] if legal else "")


def _number(word: str, kind: kinds.EnumKind) -> int:
    return dict(kind.spelled).get(word) or int(kind.enum.__members__.get(word, 0))


def _prefix(kind: kinds.EnumKind, partial: str) -> str:
    """The prefix of libibverbs, if one is being typed."""
    begun = partial.upper()[:4]
    if len(begun) < 2 or not "IBV_".startswith(begun):
        return ""
    return PREFIX.get(kind.enum, "")


def _things(here: CompletionContext, kind: kinds.ThingKind, slot: Slot) -> Iterator[Choice]:
    yield from _names(here, kind, slot)


def _names(here: CompletionContext, kind: kinds.ThingKind, slot: Slot) -> Iterator[Choice]:
    for thing in here.things(kind.noun, slot):
        if not can_be_meant(here, thing):
            continue
        name = here.session.names.of(thing)
        for text in _spellings(here, thing, name):
            about = legal_arguments.about(here.session.world, thing)
            if kind.ranged and thing.noun is Noun.MR:
                yield from _ranges(here, thing, text, about)
            else:
                yield Choice(text, about)


def _spellings(here: CompletionContext, thing: Thing, name: str) -> list[str]:
    """`A.qp0`; also `qp0` for the default node, if its beginning is typed."""
    node, _, own = name.partition(".")
    partial = here.expected.partial
    is_begun = bool(partial) and "." not in partial.partition("[")[0]
    short = [own] if own and node == here.session.default_node and is_begun else []
    return [*short, name] if thing.noun is not Noun.NODE else [name]


def _ranges(here: CompletionContext, thing: Thing, name: str, about: str) -> Iterator[Choice]:
    length = with_key(here.session.world, thing).length
    partial = here.expected.partial
    begun = re.fullmatch(re.escape(name) + r"\[(\d+)(:\d*)?", partial)
    if begun is None:
        yield Choice(f"{name}[0:{length}]", about)
        if "[" not in partial:
            yield Choice(name, about, 1)
        return
    if not begun[2]:
        yield Choice(f"{name}[{begun[1]}:{length}]", about)
        yield Choice(f"{name}[{begun[1]}]", "from this index on")
    else:
        yield Choice(f"{name}[{begun[1]}:{length}]", about)


def _new(here: CompletionContext, kind: kinds.NewKind, _slot: Slot) -> Iterator[Choice]:
    names, own = here.session.names, here.session.default_node
    for node in sorted(here.session.world.nodes, key=lambda node: node != own):
        yield Choice(names.first_free(f"{node}.{kind.noun}"), "a new name")


def _integer(here: CompletionContext, _kind: kinds.IntegerKind, slot: Slot) -> Iterator[Choice]:
    if _command(here) == "delete":
        for number, point in here.session.breakpoints.by_number.items():
            yield Choice(str(number), str(point))
    if _command(here) == "continue":
        kept = enumerate(_kept_sessions(int(time.monotonic() // _KEPT_S)), 1)
        yield from (Choice(str(number), text) for number, text in kept)
    value = recommended(slot)
    if value is not None:
        yield Choice(str(value), "as connect sets it", 1)


@lru_cache(maxsize=1)
def _kept_sessions(_period: int) -> list[str]:
    """The sessions for `continue N`; the logs are read every few seconds."""
    return described()


def _words(_here: CompletionContext, kind: kinds.WordKind, _slot: Slot) -> Iterator[Choice]:
    for word in kind.words:
        yield Choice(word)


def _booleans(_here: CompletionContext, _kind: kinds.BooleanKind, _slot: Slot) -> Iterator[Choice]:
    yield from (Choice("0", "no"), Choice("1", "yes"))


def _directions(
    here: CompletionContext, _kind: kinds.DirectionKind, _slot: Slot
) -> Iterator[Choice]:
    nodes = list(here.session.world.nodes)
    for source in nodes:
        for target in nodes:
            if source != target:
                yield Choice(f"{source}->{target}", f"what {source} sends")


def _moments(here: CompletionContext, _kind: kinds.MomentKind, _slot: Slot) -> Iterator[Choice]:
    for name, (branch, place) in here.session.checkpoints.items():
        elsewhere = "" if branch == here.session.history.branch.name else f" of {branch}"
        yield Choice(f"@{name}", f"{fmt.event(place.event)}{elsewhere}")
    yield from (Choice("start", "the empty world"), Choice("end", "the newest event"))
    yield from _branches(here.session.history)


def _texts(
    here: CompletionContext, _kind: kinds.TextKind | kinds.ProseKind, slot: Slot
) -> Iterator[Choice]:
    command = _command(here)
    if command == "load" and slot.dotted == "file":
        yield from (Choice(name, title) for name, title in lesson_names())
        typed = here.expected.partial  # a folder of files hides no lesson
        files = (each for each in scenario_files() if typed or "/" not in each[0])
        yield from (Choice(path, title, rank=1) for path, title in files)
    elif command == "switch":
        yield from _branches(here.session.history)
    elif command in ("help", "explain"):
        for known in here.session.vocabulary.values():
            yield Choice(known.name, known.summary)
        if command == "help":
            yield from (Choice(name, title) for name, title in titles().items())


def _command(here: CompletionContext) -> str:
    return here.expected.command.name if here.expected.command is not None else ""


def _branches(history: History) -> Iterator[Choice]:
    """The branches other than the current one."""
    for branch in history.branches.values():
        if branch is not history.branch:
            begun = fmt.event(branch.forked.event)
            left = f", left {branch.parent} at {begun}" if branch.parent else ""
            yield Choice(branch.name, f"up to {fmt.event(branch.end.event)}{left}")


def _questions(here: CompletionContext, kind: kinds.ExpressionKind, slot: Slot) -> Iterator[Choice]:
    if kind.is_topic:
        yield from _topics(here, slot)
        return
    for text, meta in question_choices(here.session, here.before, here.expected.partial):
        yield Choice(text, meta)


def _topics(here: CompletionContext, slot: Slot) -> Iterator[Choice]:
    """The subjects that `why` accepts now; those of the default node also without its name."""
    from rdmalab.doctor.asking.questions import topics
    from rdmalab.doctor.evidence.log import Log

    session, own = here.session, f"{here.session.default_node}."
    words_before = here.before[: here.expected.place.start].rpartition(";")[2].split()
    command = here.expected.command
    if command is None or len(words_before) > 1 + command.parameters.index(slot.parameter):
        return
    short = bool(here.expected.partial)
    for text, words, thing in topics(session, Log(session)):
        about = words if thing is None else legal_arguments.about(session.world, thing)
        yield Choice(text, about)
        if short and text.startswith(own):
            yield Choice(text.removeprefix(own), about, 1)


_OF_KIND: dict[
    type[kinds.ArgumentKind], Callable[[CompletionContext, Any, Slot], Iterator[Choice]]
] = {
    kinds.EnumKind: _enum,
    kinds.ThingKind: _things,
    kinds.NewKind: _new,
    kinds.IntegerKind: _integer,
    kinds.WordKind: _words,
    kinds.BooleanKind: _booleans,
    kinds.DirectionKind: _directions,
    kinds.MomentKind: _moments,
    kinds.TextKind: _texts,
    kinds.ProseKind: _texts,
    kinds.ExpressionKind: _questions,
}
