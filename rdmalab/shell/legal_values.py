"""Values that fit at the cursor, by the kind of the argument."""

import re
from collections.abc import Callable, Iterator
from typing import Any

from rdmalab.command import Noun, Thing, kinds
from rdmalab.grammar.enum_words import legal_words
from rdmalab.grammar.keys import Slot
from rdmalab.guide.entry import PREFIX
from rdmalab.guide.manual import titles
from rdmalab.session.history import History
from rdmalab.shell import completion_context
from rdmalab.shell.completion_context import Choice, CompletionContext
from rdmalab.shell.legal_arguments import can_be_meant, legal_members, recommended
from rdmalab.shell.query_completion import question_choices
from rdmalab.shell.scenario_files import lesson_names, scenario_files
from rdmalab.views import fmt
from rdmalab.views.memory import with_key


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
    for word in legal_words(kind):
        member = _number(word, kind)
        if (legal is None or member in legal) and word not in given:
            yield Choice(prefix + word, legal.get(member, "") if legal else "")


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
            about = completion_context.about(here.session.world, thing)
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
    value = recommended(slot)
    if value is not None:
        yield Choice(str(value), "as connect sets it", 1)


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


def _texts(
    here: CompletionContext, _kind: kinds.TextKind | kinds.ProseKind, _slot: Slot
) -> Iterator[Choice]:
    command = _command(here)
    if command == "load":
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
    from rdmalab.doctor.log import Log
    from rdmalab.doctor.topics import topics

    session, own = here.session, f"{here.session.default_node}."
    said_before = here.before[: here.expected.place.start].rpartition(";")[2].split()
    command = here.expected.command
    if command is None or len(said_before) > 1 + command.parameters.index(slot.parameter):
        return
    short = bool(here.expected.partial)
    for text, said, thing in topics(session, Log(session)):
        about = said if thing is None else completion_context.about(session.world, thing)
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
