"""Paths of values: the rows of each name, their fields, their descriptions.

The fields are those of the row classes: what `help` lists is what a path can name. Besides
`fields`, this is the only view that reads its siblings.
"""

import dataclasses
import types
import typing
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Annotated, Any, NamedTuple

from rdmalab.command import Noun, Thing
from rdmalab.grammar.answers import Unknown
from rdmalab.grammar.hints import quoted, suggest
from rdmalab.grammar.nodes import FUNCTIONS, NOUN_WORDS, QUANTIFIERS, Index
from rdmalab.session.names import Names
from rdmalab.spec.records import Record
from rdmalab.views import (
    calls,
    completions,
    counters,
    ladder,
    memory,
    packets,
    ports,
    programs,
    queues,
    srq,
    wqes,
)
from rdmalab.views.columns import Col, Meaning, describe
from rdmalab.views.counters import Aggregates
from rdmalab.world.world import World

PathStep = str | Index


def walk(
    row: object, cls: type, rest: list[PathStep], name: str, also: Sequence[str] = ()
) -> object:
    """The field at the end of `rest`; of a row that is not there, nothing.

    also: what the object has besides the fields of its row, for the hint.
    """
    for position, step in enumerate(rest):
        hints = field_hints(cls)
        if not isinstance(step, str) or step not in hints:
            raise _no_field(hints, rest[:position], str(step), name, also)
        row = None if row is None else getattr(row, step)
        inner = _inner(cls, step)
        if inner is None:
            if position + 1 < len(rest):
                whole = ".".join([name, *map(str, rest[: position + 1])])
                raise Unknown(f"{whole} has no fields", f"write {whole}")
            return row
        cls = inner
    whole = ".".join([name, *map(str, rest)])
    hint = f"write {whole}.{next(iter(field_hints(cls)))}"
    raise Unknown(f"{whole} has several fields, which one?", hint)


def _no_field(
    hints: Collection[str], before: list[PathStep], step: str, name: str, also: Sequence[str]
) -> Unknown:
    whole, stem = ".".join([name, *map(str, before)]), "".join(f"{each}." for each in before)
    legal = [*hints, *(each.removeprefix(stem) for each in also if each.startswith(stem))]
    return Unknown(f"{whole} has no {quoted(step)}", suggest(step, legal))


def hint_at(cls: type, rest: list[PathStep], name: str, also: Sequence[str] = ()) -> object:
    """The annotation of the field at the end of `rest`; Unknown where there is no such field."""
    walk(None, cls, rest, name, also)
    hint: object = None
    for step in rest:
        hint = field_hints(cls)[str(step)]
        cls = row_class(hint) or cls
    return hint


def index_of(rest: list[PathStep], name: str) -> Index:
    """The number that selects a row of a listing; Unknown where none stands."""
    if len(rest) > 1 and isinstance(rest[1], Index):
        return rest[1]
    raise Unknown(f"which {rest[0]} of {name}?", f"write {name}.{rest[0]}[0]")


_CACHE: dict[type, dict[str, object]] = {}
_INNER: dict[tuple[type, str], type | None] = {}


def _inner(cls: type, field: str) -> type | None:
    """The row class of a field of a row, None for a plain value; kept, because conditions ask."""
    if (cls, field) not in _INNER:
        _INNER[cls, field] = row_class(field_hints(cls)[field])
    return _INNER[cls, field]


def field_hints(cls: type) -> dict[str, object]:
    """The fields of a row class that have a sentence: those that can be asked."""
    if cls not in _CACHE:
        hints = typing.get_type_hints(cls, include_extras=True)
        _CACHE[cls] = {
            name: hint for name, hint in hints.items() if typing.get_origin(hint) is Annotated
        }
    return _CACHE[cls]


def fields_of_row(row: object, path: str = "") -> Iterator[tuple[str, object]]:
    """Every field of a row that can be asked, with its path and value."""
    for name, hint in field_hints(type(row)).items():
        value = getattr(row, name)
        inner = row_class(hint)
        if inner is not None and types.NoneType not in parts_of_hint(hint):
            yield from fields_of_row(value, f"{path}{name}.")
        else:
            yield f"{path}{name}", value


def row_class(annotation: object) -> type | None:
    """The row class inside an annotation, or None for a plain value."""
    for part in parts_of_hint(annotation):
        if dataclasses.is_dataclass(part) and isinstance(part, type):
            return part
    return None


def parts_of_hint(annotation: object) -> tuple[object, ...]:
    """The types in an annotation: the members of a union, else the one type."""
    if typing.get_origin(annotation) is Annotated:
        annotation = typing.get_args(annotation)[0]
    union = typing.get_origin(annotation) in (typing.Union, types.UnionType)
    return typing.get_args(annotation) if union else (annotation,)


def type_word(annotation: object) -> str:
    """`QPState`, `int or nothing`."""
    parts = [p for p in parts_of_hint(annotation) if p is not types.NoneType]
    first = getattr(parts[0], "__name__", str(parts[0]))
    optional = types.NoneType in parts_of_hint(annotation)
    return f"{first} or nothing" if optional else str(first)


_SAMPLE_NODE = "A"


class FieldRow(NamedTuple):
    """One value that a path can name: syntax, type, description."""

    path: str
    type: str
    sentence: str


describe(FieldRow, Col("path", Meaning.NAME), Col("type", Meaning.DIM), Col("sentence"))


class QueryRow(NamedTuple):
    """A row class, and the function that makes its row for an object.

    field: makes a single field of the row by its name, where a whole row takes long.
    """

    row: type
    row_of: Callable[..., object]
    field: Callable[[World, Names, Thing, str], object] | None = None


# --------------------------------------------------------------------------- what there is
FACTS: dict[str, tuple[type, Callable[[World], object], str]] = {
    "now": (int, lambda world: world.now_ns, "the virtual time in ns: now >= 10us"),
    "idle": (
        bool,
        lambda world: world.agenda.next_ns() is None,
        "whether no packet, timer or program is pending",
    ),
    "event": (int, lambda world: world.event, "the number of the last event"),
}

# (world, names) → row
WORLD: dict[tuple[str, str], QueryRow] = {
    ("wire", "last"): QueryRow(ladder.PacketRow, ladder.last_packet),
    ("log", "last"): QueryRow(calls.CallRow, lambda w, _n: next(iter(calls.call_rows(w, 1)), None)),
}


def _counters(world: World, node: str, folds: Aggregates) -> counters.CountersRow:
    def first() -> counters.Tally:
        return counters.Tally(world, node)

    key = ("counters", node)
    return folds.value(key, world.trace, first, counters.Tally.with_record).row


# (world, node, folds) → row
PARTS: dict[str, QueryRow] = {
    "port": QueryRow(ports.PortRow, lambda world, node, _folds: ports.port_row(world, node)),
    "device": QueryRow(ports.DeviceRow, lambda world, node, _folds: ports.device_row(world, node)),
    "events": QueryRow(
        completions.EventsRow, lambda world, node, _folds: completions.events_row(world, node)
    ),
    "counters": QueryRow(counters.CountersRow, _counters),
}

# (world, names, thing) → row
OBJECTS: dict[Noun, QueryRow] = {
    Noun.QP: QueryRow(queues.QpRow, queues.qp_row, queues.qp_field),
    Noun.CQ: QueryRow(completions.CqRow, completions.cq_row, completions.cq_field),
    Noun.MR: QueryRow(memory.MrRow, memory.mr_row),
    Noun.PD: QueryRow(memory.PdRow, memory.pd_row),
    Noun.TD: QueryRow(memory.TdRow, memory.td_row),
    Noun.AH: QueryRow(ports.AhRow, ports.ah_row),
    Noun.SRQ: QueryRow(srq.SrqRow, srq.srq_row),
    Noun.XRCD: QueryRow(srq.XrcdRow, srq.xrcd_row),
    Noun.CHANNEL: QueryRow(completions.ChannelRow, completions.channel_row),
    Noun.FLOW: QueryRow(ports.FlowRow, ports.flow_row),
    Noun.MW: QueryRow(memory.MwRow, memory.mw_row),
    Noun.PROGRAM: QueryRow(programs.ProgramRow, programs.program_row),
}


def _nth_wc(world: World, names: Names, thing: Thing, position: int) -> completions.WcRow | None:
    rows = completions.wc_rows(world, names, thing)
    return rows[position] if position < len(rows) else None


class Listing(NamedTuple):
    """Rows of an object that are selected by a number.

    missing: the message for a number without a row. times: whether they are work requests, whose
    times the log has.
    """

    row: type
    row_of: Callable[[World, Names, Thing, int], object]
    missing: str
    times: bool = True

    @property
    def also(self) -> list[str]:
        """Names that can be asked besides the fields of the row."""
        return list(completions.FIELDS) if self.times else []


LISTS: dict[tuple[Noun, str], Listing] = {
    (Noun.QP, "wr"): Listing(
        wqes.WqeRow,
        lambda w, _n, t, i: wqes.wqe_by_id(w, t, i),
        "no send with wr_id {} was ever posted",
    ),
    (Noun.QP, "recv_wr"): Listing(
        wqes.RecvRow,
        lambda w, _n, t, i: wqes.recv_by_id(w, t, i),
        "no receive with wr_id {} was ever posted",
    ),
    (Noun.SRQ, "recv_wr"): Listing(
        srq.SharedRecvRow, srq.recv_by_id, "no receive with wr_id {} was ever posted"
    ),
    (Noun.CQ, "cqes"): Listing(completions.WcRow, _nth_wc, "", times=False),
}


class Fold(NamedTuple):
    """A value of an object that needs the whole trace."""

    type: type
    first: Any
    step: Callable[[Thing, Any, Record], Any]
    result: Callable[[Any], object]
    sentence: str


def _most(queue: str) -> Fold:
    def step(thing: Thing, so_far: queues.Peak, record: Record) -> queues.Peak:
        return queues.peak(thing, queue, so_far, record)

    return Fold(int, (0, 0), step, lambda peak: peak[1], "the largest number of slots ever in use")


FOLDS: dict[tuple[Noun, str], Fold] = {
    (Noun.QP, "sq.max_used"): _most("sq"),
    (Noun.QP, "rq.max_used"): _most("rq"),
    (Noun.CQ, "overruns"): Fold(
        int, 0, completions.overran, lambda count: count, "completions lost because the CQ was full"
    ),
}

ALSO: dict[Noun, list[str]] = {
    noun: [field for of, field in (*LISTS, *FOLDS) if of is noun] for noun in OBJECTS
}
"""Fields of an object besides those of its row."""
FIRSTS = {noun: {field.partition(".")[0] for field in fields} for noun, fields in ALSO.items()}

WIRE_KEYS = (*packets.FACTS, *packets.SHORT)
LOG_KEYS = tuple(f.name for f in dataclasses.fields(calls.CallRow))
WC_KEYS = tuple(f.name for f in dataclasses.fields(completions.WcRow))

CALLS = (
    FieldRow("wire.count(opcode=SEND_ONLY, from=A)", "int", "packets sent, with these fields"),
    FieldRow("wire.any(syndrome=RNR_NAK)", "bool", "whether such a packet was sent"),
    FieldRow("log.count(verb=post_send, node=A)", "int", "calls of verbs, with these fields"),
    FieldRow("log.any(errno=ENOMEM)", "bool", "whether there was such a call"),
    FieldRow("A.cq0.total(status=SUCCESS)", "int", "completions ever added, with these fields"),
    FieldRow("A.cq0.total(status!=SUCCESS)", "int", "completions with any other status"),
    FieldRow("log.count(verb=post_send, since=@start)", "int", "calls after a checkpoint or 10us"),
    *(FieldRow(row.sample, row.type.__name__, row.sentence) for row in QUANTIFIERS.values()),
    *(FieldRow(row.sample, "int", row.sentence) for row in FUNCTIONS.values()),
)


# --------------------------------------------------------------------------- the list of it all
def fields() -> list[FieldRow]:
    """Every value that a path can name, with sample names."""
    rows = [FieldRow(name, of.__name__, says) for name, (of, _, says) in FACTS.items()]
    for noun, sight in OBJECTS.items():
        sample = f"{_SAMPLE_NODE}.{noun}0"
        rows += _listed_fields(sample, sight.row)
        rows += [
            FieldRow(f"{sample}.{field}", fold.type.__name__, fold.sentence)
            for (of, field), fold in FOLDS.items()
            if of is noun
        ]
        for (of, word), listing in LISTS.items():
            rows += _listed_fields(f"{sample}.{word}[7]", listing.row) if of is noun else []
            rows += [
                FieldRow(f"{sample}.{word}[7].{field}", "int or nothing", completions.FIELDS[field])
                for field in (listing.also if of is noun else ())
            ]
    rows.append(FieldRow("A.mr0[0:5]", "bytes", 'these bytes: == "hello"'))
    rows.append(FieldRow("A.mr0[7]", "int", "this byte; also of a sum, [7+5]"))
    for part, sight in PARTS.items():
        rows += _listed_fields(f"{_SAMPLE_NODE}.{part}", sight.row)
    for (root, word), sight in WORLD.items():
        rows += _listed_fields(f"{root}.{word}", sight.row)
    return [*rows, *CALLS]


def _listed_fields(path: str, cls: type) -> list[FieldRow]:
    rows: list[FieldRow] = []
    for name, annotation in field_hints(cls).items():
        inner = row_class(annotation)
        if inner is not None:
            rows += _listed_fields(f"{path}.{name}", inner)
        else:
            sentence = typing.get_args(annotation)[1]
            rows.append(FieldRow(f"{path}.{name}", type_word(annotation), sentence))
    return rows


def continuations(names: Names, path: str) -> list[str]:
    """Paths that can follow what was typed: `A.qp0.s` → A.qp0.state, A.qp0.sq.used, …"""
    node, _, rest = path.partition(".")
    name, _, _ = rest.partition(".")
    thing = names.find(f"{node}.{name}")
    wanted = [row.path for row in fields()]
    noun = name if thing is None and name in NOUN_WORDS else thing and thing.noun.value
    if noun:
        sample = f"{_SAMPLE_NODE}.{noun}0"
        own = f"{node}.{name}"
        wanted = [own + p.removeprefix(sample) for p in wanted if p.startswith(sample)]
    return [p for p in wanted if p.startswith(path)]
