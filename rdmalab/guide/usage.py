"""Commands as their signatures and docstrings have them: the usage line, the keys, the pages."""

from collections.abc import Callable, Iterator
from dataclasses import field
from functools import partial
from typing import Any

from rdmalab.command import EXAMPLE, Command, Unit, kinds
from rdmalab.grammar.arguments import Keys, Slot, keys_of_command
from rdmalab.grammar.format import value_text
from rdmalab.grammar.values import legal_words
from rdmalab.guide import attributes, states
from rdmalab.guide.article import Article, Row, article
from rdmalab.guide.entry import About, Entry, Sort
from rdmalab.spec.row import dataclass
from rdmalab.spec.rules import OF_EVERY_POST, POSTS, RULES, errno_name
from rdmalab.spec.states import ATTRIBUTES
from rdmalab.spec.work import WORK

_WIDEST_USAGE = 6  # optional keys that a usage line still names
_RULES_NAMED = 6  # of an errno, in an article
_WIDEST_ENUM = 8  # members that a table of keys still names
_SEE, _ITEM = "See:", "* "


@dataclass(slots=True)
class Docstring:
    """A command's docstring, taken apart. An item of a list, `* WORD: text`, is a paragraph."""

    summary: str
    paragraphs: list[str] = field(default_factory=list)
    examples: list[str] = field(default_factory=list)
    see: list[str] = field(default_factory=list)


def docstring(command: Command) -> Docstring:
    """The parts of the docstring of a command."""
    parsed = Docstring(command.summary, examples=command.examples)
    for block in command.documentation.split("\n\n")[1:]:
        prose = []
        for line in map(str.strip, block.splitlines()):
            if line.startswith(_SEE):
                parsed.see += [part.strip() for part in line.removeprefix(_SEE).split(";")]
            elif line and not line.startswith(EXAMPLE):
                prose.append(f"\n{line}" if line.startswith(_ITEM) else line)
        parsed.paragraphs += " ".join(prose).removeprefix("\n").split(" \n") if prose else []
    return parsed


# --------------------------------------------------------------------------- articles
def entries(command: Command) -> Iterator[Entry]:
    """The entry of one command."""
    about = About(Sort.VERB, command.name)
    write = partial(brief, command)
    yield Entry(f"verb {command.name}", "command", (command.name,), write, about)


# What a table adds to a verb that it rules.
_TABLES: dict[str, Callable[[], Row]] = {
    "modify_qp": lambda: ("moves (RC)", states.overview()),
    "post_send": lambda: ("opcodes", " ".join(opcode.name for opcode in WORK)),
}


def brief(command: Command) -> Article:
    """Article of `explain` about a command; `help` has the items of lists, too."""
    parsed = docstring(command)
    rows: list[Row] = [("usage", usage(command)), *(r for r in _prose(parsed) if not r[0])]
    if command.name in _TABLES:
        rows.append(_TABLES[command.name]())
    rows += [("refuses", list(_refuses(command.name))), ("example", parsed.examples)]
    see = [f"help {command.name}", *_others(parsed.see, command)]
    return article(command.name, "command", rows, see)


def _refuses(verb: str) -> Iterator[str]:
    """`ENOMEM: queue-full`, by the rules of this verb's page; of a post also the shared ones."""
    shared = OF_EVERY_POST if verb in POSTS else frozenset()
    by_errno: dict[int, list[str]] = {}
    for name, rule in RULES.items():
        if rule.source.startswith(f"ibv_{verb}(") or name in shared:
            by_errno.setdefault(rule.errno, []).append(name)
    for errno, names in by_errno.items():
        more = f" and {len(names) - _RULES_NAMED} more" if len(names) > _RULES_NAMED else ""
        yield f"{errno_name(errno)}: {' '.join(names[:_RULES_NAMED])}{more}"


def page(command: Command) -> Article:
    """Article of `help` about a command: all of `brief` but tables, and every key."""
    parsed = docstring(command)
    about = dict(_prose(parsed))
    keys = [
        (key, f"{text}; {about[key]}" if key in about else text) for key, text in _key_rows(command)
    ]
    own = [row for row in _prose(parsed) if row[0] not in dict(keys)]
    rows: list[Row] = [("usage", usage(command)), *own, *keys]
    rows.append(("example", parsed.examples))
    see = _others(parsed.see, command)
    see += [f"explain {command.name}"] * (command.name in _TABLES)
    sort = "changes the world, journaled" if command.changes_world else "no event of its own"
    return article(command.name, sort, rows, see)


def _prose(parsed: Docstring) -> Iterator[tuple[str, str]]:
    """The summary and the paragraphs; an item of a list stands beside its word."""
    yield "", parsed.summary
    for text in parsed.paragraphs:
        head, _, rest = text.removeprefix(_ITEM).partition(": ")
        yield (head, rest) if text.startswith(_ITEM) else ("", text)


def _others(see: list[str], command: Command) -> list[str]:
    """Pages to read next, less the page that is being read."""
    return [each for each in see if each not in (f"explain {command.name}", f"help {command.name}")]


# --------------------------------------------------------------------------- the usage line
def usage(command: Command) -> str:
    """`create_cq NAME cqe=N [comp_vector=N]`."""
    keys = keys_of_command(command)
    words = [command.name]
    words += [_positional(p) for p in command.parameters if p.positional]
    optional = []
    for slot in _written(keys):
        word = value_word(slot.kind) or slot.path[-1].upper()
        text = slot.parameter.flag or f"{_key(slot, keys)}{word}"
        if slot.spread is None and _is_needed(slot, command):
            words.append(text)
        else:
            optional.append(f"[{text}]")
    many = len(optional) > _WIDEST_USAGE
    return " ".join([*words, *(["[key=value]…"] if many else optional)])


def _positional(parameter: kinds.Parameter) -> str:
    word = value_word(parameter.kind)
    word = parameter.name.upper() if word in ("", "TEXT", "N") else word
    return word if parameter.required else f"[{word}]"


def _written(keys: Keys) -> Iterator[Slot]:
    """The slots that are written with a key. A record is replaced by its fields.

    A record that may be left out, such as ah_attr, is one slot: one row has its fields.
    """
    whole: list[tuple[str, ...]] = []
    for slot in keys.slots:
        if any(slot.path[: len(path)] == path for path in whole):
            continue
        flat = keys.record_in(slot) is not None
        if flat and len(slot.path) > 1 and slot.kind.nullable:
            whole.append(slot.path)
            yield slot
        elif (not flat or slot.kind.short) and not (
            len(slot.path) == 1 and slot.parameter.positional
        ):
            yield slot


def _key(slot: Slot, keys: Keys) -> str:
    spoken = slot.parameter.spoken and len(slot.path) == 1
    return keys.written(slot) + (" " if spoken else "=")


def _is_needed(slot: Slot, command: Command) -> bool:
    """Whether a field is needed: neither it nor a record around it has a default."""
    outer = next(p for p in command.parameters if p.name == slot.path[0])
    if len(slot.path) > 1 and outer.kind.short is not None:
        return False
    chain = [outer, slot.parameter]
    is_sure = all(p.required and not _may_be_absent(p.kind) for p in chain)
    return is_sure and len(slot.path) <= 2


def _may_be_absent(kind: kinds.ArgumentKind) -> bool:
    """Whether a NULL leaves its fields out; a list that is given has its fields all the same."""
    return kind.nullable and not isinstance(kind, kinds.ListKind)


_UNIT_WORDS = {
    Unit.NUMBER: "N",
    Unit.BYTES: "SIZE",
    Unit.NS: "TIME",
    Unit.PSN: "PSN",
    Unit.BITS_PER_S: "RATE",
    Unit.GID: "GID",
    Unit.MAC: "MAC",
    Unit.PPM: "P",
}
_WORDS: dict[type[kinds.ArgumentKind], Callable[[Any], str]] = {
    kinds.ListKind: lambda kind: f"{value_word(kind.item)},…",
    kinds.IntegerKind: lambda kind: _UNIT_WORDS[kind.unit],
    kinds.EnumKind: lambda kind: "A|B|…" if kind.is_flags else "",
    kinds.WordKind: lambda kind: "" if len(kind.words) > _WIDEST_ENUM else "|".join(kind.words),
    kinds.ThingKind: lambda kind: (
        (kind.noun or "name").upper() + ("[from:to]" if kind.ranged else "")
    ),
    kinds.NewKind: lambda kind: f"NEW_{kind.noun.upper()}",
    kinds.RecordKind: lambda kind: f"{kind.short.noun.upper()}[from:to]" if kind.short else "{…}",
    kinds.TextKind: lambda _kind: "TEXT",
    kinds.ProseKind: lambda _kind: "WORDS",
    kinds.ExpressionKind: lambda kind: "THING" if kind.is_topic else "QUESTION",
    kinds.LinesKind: lambda _kind: "{LINE; LINE}",
    kinds.DirectionKind: lambda _kind: "A->B",
    kinds.MomentKind: lambda _kind: "EVENT|TIME|@NAME|BRANCH|start|end",
    kinds.BooleanKind: lambda _kind: "0|1",
}


def value_word(kind: kinds.ArgumentKind) -> str:
    """Placeholder of a value in a usage line; empty: the key itself."""
    return _WORDS[type(kind)](kind)


# --------------------------------------------------------------------------- the table of keys
def _key_rows(command: Command) -> Iterator[Row]:
    """One row a key: type, default, range, other spellings, what it is for."""
    keys = keys_of_command(command)
    for parameter in command.parameters:
        if parameter.positional and _default(parameter):
            yield parameter.name, _about(Slot((parameter.name,), parameter), needed=False)
    for slot in _written(keys):
        key = keys.written(slot)
        yield key, _about(slot, needed=_is_needed(slot, command))


def _about(slot: Slot, *, needed: bool) -> str:
    parameter = slot.parameter
    if slot.spread is not None:
        return f"{slot.spread.noun.upper()}: short for the fields that describe it"
    attribute = ATTRIBUTES.get(slot.path[-1]) if len(slot.path) <= 2 else None
    has_range = attribute is not None and not isinstance(slot.kind, kinds.RecordKind)
    parts = [attributes.range_words(slot.path[-1]) if has_range else _type(slot.kind)]
    parts += ["required"] if needed else _default(parameter)
    parts += [f"also {alias}" for alias in parameter.aliases]
    parts += [f"in C {path}" for path in parameter.in_c]
    parts += [attribute.sentence] if attribute is not None else []
    return "; ".join(parts)


def _type(kind: kinds.ArgumentKind) -> str:
    if isinstance(kind, kinds.ListKind):
        return f"list of {_type(kind.item)}"
    short = f" or {kind.short.noun.upper()}" if kind.short else ""
    return _plain_type(kind) + short


def _plain_type(kind: kinds.ArgumentKind) -> str:
    if isinstance(kind, kinds.EnumKind):
        words = legal_words(kind)
        return " ".join(words[:_WIDEST_ENUM]) + "…" * (len(words) > _WIDEST_ENUM)
    if isinstance(kind, kinds.WordKind):
        return " ".join(kind.words)
    if isinstance(kind, kinds.RecordKind):
        return f"{{{' '.join(field.name for field in kind.fields)}}}"
    return value_word(kind)


def _default(parameter: kinds.Parameter) -> list[str]:
    value: object = parameter.default
    if parameter.required or value is None or value == "":
        return []
    return [f"default {value_text(value, parameter.kind)}"]
