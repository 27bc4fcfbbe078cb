"""Literals: what the text of one value means for one kind of argument.

The same reading serves lines, scenario files and completion. Names stay unresolved Refs.
"""

import enum
import re
from collections.abc import Callable
from typing import Any

from rdmalab.command import (
    ArgumentKind,
    BooleanKind,
    Direction,
    DirectionKind,
    EnumKind,
    Expression,
    ExpressionKind,
    IntegerKind,
    Lines,
    LinesKind,
    Moment,
    MomentKind,
    New,
    NewKind,
    NotUnderstood,
    Noun,
    ProseKind,
    RecordKind,
    Ref,
    Span,
    TextKind,
    ThingKind,
    Unit,
    WordKind,
)
from rdmalab.grammar.expressions import parse_expression
from rdmalab.grammar.hints import listed, quoted, suggest
from rdmalab.grammar.quantities import spelled, whole
from rdmalab.grammar.syntax import Atom
from rdmalab.grammar.text import unquoted
from rdmalab.grammar.tokens import Lexeme, Token
from rdmalab.spec.c_names import ANY_PREFIX

# Of enums that the lab has not, too; the longest first: IBV_QP_EX_WITH_ before IBV_QP_.
_OTHERS = ("IB_MTU_", "IBV_CREATE_CQ_ATTR_", "IBV_TM_", "IBV_WQS_", "IBV_WQT_", "IBV_")
_KNOWN = dict.fromkeys((*filter(None, ANY_PREFIX.values()), *_OTHERS))
PREFIXES = tuple(sorted(_KNOWN, key=len, reverse=True))
NOUNS = {
    "Access": "access flag", "Arm": "request for a completion event", "AsyncEvent": "async event",
    "Attr": "attribute of modify_qp", "Errno": "errno", "Fate": "fate of a packet",
    "FlowFlags": "flag of a flow", "FlowType": "flow type", "InitMask": "bit of comp_mask",
    "LinkLayer": "link layer", "MTU": "path MTU", "MWType": "memory window type",
    "MigState": "path_mig_state", "OpenFlag": "flag of open_xrcd", "Origin": "origin of a packet",
    "PhysState": "physical port state", "Placement": "placement type of a FLUSH",
    "PortState": "port state", "ProgramState": "state of a program",
    "Progress": "state of a work request", "QPState": "QP state", "QPType": "QP type",
    "Rereg": "flag of rereg_mr", "Selectivity": "selectivity level of a FLUSH",
    "SendFlags": "send flag", "SendOps": "operation of send_ops_flags",
    "SrqAttrMask": "attribute of modify_srq", "SrqType": "SRQ type", "Syndrome": "syndrome",
    "WCFlags": "completion flag", "WCOpcode": "completion opcode", "WCStatus": "completion status",
    "WROpcode": "opcode of a work request", "WcEx": "field of wc_flags",
    "WindowState": "state of a memory window",
}  # fmt: skip
"""Nouns for the values of an enum in errors."""

AnyEnum = type[enum.IntEnum] | type[enum.IntFlag]


def readings(word: str) -> list[str]:
    """The word in capitals, then without each prefix it carries."""
    capital = word.upper()
    return [capital, *(capital.removeprefix(p) for p in PREFIXES if capital.startswith(p))]


def without_prefix(word: str) -> str:
    """The word without the prefix of libibverbs, if it has one; case is kept."""
    return next((word[len(p) :] for p in PREFIXES if word.upper().startswith(p)), word)


def no_member(word: str, of: AnyEnum) -> str:
    """`"RTSS" is no QP state`."""
    return f"{quoted(word)} is no {NOUNS[of.__name__]}"


def member_value(word: str, of: AnyEnum) -> int | None:
    """The number of the member that a word names; None where it names none."""
    members = {name.upper(): int(member) for name, member in of.__members__.items()}
    return next((members[r] for r in readings(word) if r in members), None)


def value_of(word: str, kind: EnumKind) -> int | None:
    """The number a word stands for, a further spelling (`1024` for IBV_MTU_1024) first."""
    spelled = {text.upper(): value for text, value in kind.spelled}
    for reading in readings(word):
        if reading in spelled:
            return spelled[reading]
    return member_value(word, kind.enum)


def legal_words(kind: EnumKind) -> list[str]:
    """The legal words: further spellings, else the names of the members."""
    return [text for text, _ in kind.spelled] or list(kind.enum.__members__)


def word_for(value: int, kind: EnumKind) -> str:
    """The canonical text of a value: a spelling, names, or the number where there is no name."""
    for text, number in kind.spelled:
        if number == value:
            return text
    if kind.is_flags and value > 0:
        return _flag_words(value, kind.enum)
    names = {int(member): name for name, member in kind.enum.__members__.items()}
    return names.get(value) or _plain(value, kind)


def _flag_words(value: int, of: AnyEnum) -> str:
    names = []
    for name, member in of.__members__.items():
        if member.value.bit_count() == 1 and value & member.value:
            names.append(name)
            value &= ~member.value
    return "|".join([*names, hex(value)] if value else names)


def _plain(value: int, kind: EnumKind) -> str:
    """A number, written so that it is not taken for a spelling."""
    return hex(value) if value_of(str(value), kind) is not None else str(value)


NULLS = ("NULL", "None")
BOOLEANS = {"0": False, "1": True, "off": False, "on": True}

_NAME = re.compile(
    r"(?:(?P<node>[A-Za-z_]\w*)\.)?(?P<name>[A-Za-z_]\w*)(?P<range>\[.*\])?", re.ASCII
)
_FIELD = re.compile(r"([A-Za-z_]\w*)\.([A-Za-z_]\w*)(?:\.(lkey|rkey|addr))?(?:\+(\w+))?", re.ASCII)
_RANGE = re.compile(r"\[(?:(?P<start>[^:\]]*)(?P<colon>:))?(?P<stop>[^:\]]+)\]")
_BARE_NODE = re.compile(r"[A-Z]")
_SURELY_A_NAME = re.compile(r"[A-Z]|[A-Za-z_]\w*\.[A-Za-z_]\w*(?:\[.*\])?", re.ASCII)
_ZERO = re.compile(r"0+|0[xX]0+")
_DIRECTION = re.compile(r"([A-Za-z_]\w*)->([A-Za-z_]\w*)", re.ASCII)
_BARE_TEXT = re.compile(r'[^\s"{}=;,<>]+')


def scalar(atom: Atom, kind: ArgumentKind, default_node: str | None = None) -> object:
    """The value of one Atom; a kind with a short form may give a Ref instead."""
    if not atom.text:
        raise NotUnderstood("a value is missing here", atom.place, example(kind))
    if is_null(atom.text, kind):
        return None
    if (named := _field(atom, kind)) is not None:
        return named
    if kind.short is not None and _SURELY_A_NAME.fullmatch(atom.text):
        return reference(atom, ThingKind(kind.short.noun, ranged=True), default_node)
    if kind.short is not None and kind.short.number is not None and atom.text[:1].isdecimal():
        return whole(atom.text, Unit.NUMBER, atom.place)
    try:
        return _READERS[type(kind)](atom, kind, default_node)
    except NotUnderstood:
        if kind.short is None or not _NAME.fullmatch(atom.text):
            raise
        return reference(atom, ThingKind(kind.short.noun, ranged=True), default_node)


def _field(atom: Atom, kind: ArgumentKind) -> Ref | None:
    """`A.mr0.lkey`, `B.mr0.addr+64`, `B.mr0+64`, where a number stands that a region gives."""
    short = kind.short
    if short is None or short.noun not in (Noun.MR, Noun.MW) or not isinstance(kind, IntegerKind):
        return None
    match = None if kind.pointer else _FIELD.fullmatch(atom.text)
    part = (match[3] or (match[4] and "addr")) if match is not None else None
    if match is None or not part or (match[4] and part != "addr"):
        return None
    start = whole(match[4], Unit.BYTES, atom.place) if match[4] else None
    return Ref(match[1], match[2], start, part=part, place=atom.place)


def is_null(text: str, kind: ArgumentKind) -> bool:
    """True if the text is NULL, where NULL may stand; a pointer may be written 0."""
    return kind.nullable and (text in NULLS or (kind.pointer and _ZERO.fullmatch(text) is not None))


def example(kind: ArgumentKind) -> str:
    """An example of a value of this kind, where nothing nearer is known."""
    if isinstance(kind, EnumKind):
        return listed(legal_words(kind))
    if isinstance(kind, WordKind):
        return listed(list(kind.words))
    if isinstance(kind, IntegerKind):
        return "write 10us or 2ms" if kind.unit is Unit.NS else "write 12 or 0x1f"
    return _EXAMPLES.get(type(kind), "write a value")


_EXAMPLES: dict[type[ArgumentKind], str] = {
    RecordKind: "write {key=value …}",
    TextKind: 'write a word, or "a text" in quotes',
    ProseKind: "write a word or a line",
    ThingKind: "write a name, A.qp0",
    NewKind: "write a new name, A.qp0",
    DirectionKind: "write A->B",
    MomentKind: "write an event, 30, a time, 9.2us, a checkpoint, @name, a branch, start or end",
    BooleanKind: "write 0 or 1",
    LinesKind: "write {poll_cq A.cq0; sleep 1us}",
    ExpressionKind: "write a question: A.qp0.state == ERR",
}


_EVENT = re.compile(r"(?:ev\s*)?([0-9]{1,12})", re.IGNORECASE)
_MARK = re.compile(r"@.+|[A-Za-z_][\w-]*", re.ASCII)


def reference(atom: Atom, kind: ThingKind, default_node: str | None) -> Ref:
    """`A.mr0`, `A.mr0[0:64]`, `mr0` with a default node, or a bare node, `B`."""
    match = _NAME.fullmatch(atom.text)
    if match is None:
        raise NotUnderstood(f"{quoted(atom.text)} is not a name", atom.place, example(kind))
    start, stop = _bounds(match["range"], atom) if match["range"] else (None, None)
    if start is not None and not kind.ranged:
        at = Span(atom.place.start + match.start("range"), atom.place.stop)
        raise NotUnderstood("no range is wanted here", at, "leave it out")
    node, name = match["node"], match["name"]
    if node is None and start is None and (kind.noun is Noun.NODE or _BARE_NODE.fullmatch(name)):
        return Ref(name, "", place=atom.place)
    return Ref(node or _default(atom, default_node), name, start, stop, place=atom.place)


def _default(atom: Atom, default_node: str | None) -> str:
    if default_node is None:
        hint = f"write A.{atom.text} or B.{atom.text}"
        raise NotUnderstood(f"whose {quoted(atom.text)}?", atom.place, hint)
    return default_node


def _bounds(text: str, atom: Atom) -> tuple[int, int | None]:
    """`[100]` is a start without a stop, `[:64]` starts at 0."""
    match = _RANGE.fullmatch(text)
    if match is None:
        raise NotUnderstood(f"{quoted(text)} is not a range", atom.place, "write [0:64] or [100]")
    stop = whole(match["stop"], Unit.BYTES, atom.place)
    start = whole(match["start"], Unit.BYTES, atom.place) if match["start"] else 0
    if stop < 0 or start < 0:
        raise NotUnderstood("a range starts at 0", atom.place, "write [0:64] or [100]")
    if not match["colon"]:
        return stop, None
    if start > stop:
        message = f"{quoted(text)} ends before it starts"
        many = f", or [{start}:{start + stop}] for {stop} bytes" if stop else ""
        raise NotUnderstood(message, atom.place, f"write [{stop}:{start}]{many}")
    return start, stop


def _integer(atom: Atom, kind: IntegerKind, _node: str | None) -> int:
    value = whole(atom.text, kind.unit, atom.place)
    low, high = kind.range or (value, value)
    if not low <= value <= (value if high is None else high):
        least = spelled(low, kind.unit)
        legal = f"{least} or more" if high is None else f"{least}..{spelled(high, kind.unit)}"
        raise NotUnderstood(f"{quoted(atom.text)} is out of range", atom.place, f"write {legal}")
    return value if kind.bits is None else _stored(value, kind.bits.width, atom)


def _stored(value: int, bits: int, atom: Atom) -> int:
    """The number in a C integer of this width: a negative one sets the high bits."""
    if not -(1 << bits - 1) <= value < 1 << bits:
        message = f"{quoted(atom.text)} does not fit in {bits} bits"
        raise NotUnderstood(message, atom.place, f"at most {(1 << bits) - 1:#x}")
    return value & (1 << bits) - 1


def _enum(atom: Atom, kind: EnumKind, _node: str | None) -> int:
    if not kind.is_flags:
        return _member(atom.text, atom.place, kind)
    value = 0
    for part in alternatives(atom):
        value |= _member(part.text, part.place, kind)
    return value


def alternatives(atom: Atom) -> list[Atom]:
    """The parts of `A|B`, each with its own place."""
    parts: list[list[Token]] = [[]]
    for token in atom.tokens:
        if token.is_("|"):
            parts.append([])
        else:
            parts[-1].append(token)
    end = Span(atom.place.stop, atom.place.stop)
    return [Atom.of(part) if part else Atom("", end) for part in parts]


def _member(word: str, place: Span, kind: EnumKind) -> int:
    """A number without a member stays a number: C may pass anything."""
    if not word:
        raise NotUnderstood("a value is missing here", place, example(kind))
    value = value_of(word, kind)
    if value is not None:
        return value
    if word[:1].isdecimal() or word[:1] == "-":
        return whole(word, Unit.NUMBER, place)
    message = no_member(word, kind.enum)
    raise NotUnderstood(message, place, suggest(min(readings(word), key=len), legal_words(kind)))


def _text(atom: Atom, kind: TextKind, _node: str | None) -> str:
    if atom.text.startswith('"'):
        return unquoted(atom.text, atom.place)
    if not _BARE_TEXT.fullmatch(atom.text):
        raise NotUnderstood(f"{quoted(atom.text)} is not a text", atom.place, example(kind))
    return atom.text


def _prose(atom: Atom, _kind: ProseKind, _node: str | None) -> str:
    is_string = atom.text.startswith('"') and len(atom.tokens) == 1
    return unquoted(atom.text, atom.place) if is_string else atom.text


def _word(atom: Atom, kind: WordKind, _node: str | None) -> str:
    word = next((w for w in kind.words if w.lower() == atom.text.lower()), None)
    if word is None and NULLS[0] in kind.words and _ZERO.fullmatch(atom.text):
        return NULLS[0]
    if word is None:
        hint = suggest(atom.text, kind.words)
        raise NotUnderstood(f"{quoted(atom.text)} means nothing here", atom.place, hint)
    return word


def _new(atom: Atom, kind: NewKind, default_node: str | None) -> New:
    match = _NAME.fullmatch(atom.text)
    if match is None or match["range"]:
        raise NotUnderstood(f"{quoted(atom.text)} is not a name", atom.place, example(kind))
    if match["node"] is None and _BARE_NODE.fullmatch(match["name"]):
        hint = f"write {atom.text}.{kind.noun}0"
        raise NotUnderstood(f"{quoted(atom.text)} is a node", atom.place, hint)
    return New(kind.noun, match["node"] or _default(atom, default_node), match["name"], atom.place)


def _direction(atom: Atom, kind: DirectionKind, _node: str | None) -> Direction:
    match = _DIRECTION.fullmatch(atom.text)
    if match is None:
        raise NotUnderstood(f"{quoted(atom.text)} is not a direction", atom.place, example(kind))
    return Direction(match[1], match[2])


def moment_of(text: str) -> Moment:
    """A moment as it is written: `30`, `ev 30`, `9.2us`, `@name`, `start`, `main`."""
    return _moment(Atom(text, Span(0, len(text)), []), MomentKind(), None)


def _moment(atom: Atom, kind: MomentKind, _node: str | None) -> Moment:
    text = atom.text
    if match := _EVENT.fullmatch(text):
        return Moment(event=int(match[1]))
    if _MARK.fullmatch(text):
        return Moment(mark=text)
    if not text[:1].isdigit():
        raise NotUnderstood(f"{quoted(text)} is no moment", atom.place, example(kind))
    return Moment(at_ns=whole(text, Unit.NS, atom.place))


def _boolean(atom: Atom, kind: BooleanKind, _node: str | None) -> bool:
    if (word := atom.text.lower()) not in BOOLEANS:
        raise NotUnderstood(f"{quoted(atom.text)} is neither 0 nor 1", atom.place, example(kind))
    return BOOLEANS[word]


def _expression(atom: Atom, _kind: ExpressionKind, default_node: str | None) -> Expression:
    return parse_expression(atom.text, default_node, atom.place.start)


def _lines(atom: Atom, kind: LinesKind, _node: str | None) -> Lines:
    """Only their positions: the room that has the vocabulary reads them."""
    first = atom.tokens[0]
    if first.lexeme is not Lexeme.LINES or len(atom.tokens) > 1:
        raise NotUnderstood(f"{quoted(atom.text)} are no lines", atom.place, example(kind))
    return Lines(first.text[1:-1], place=Span(first.place.start + 1, first.place.stop - 1))


def _record(atom: Atom, kind: ArgumentKind, _node: str | None) -> object:
    raise NotUnderstood(f"{quoted(atom.text)} is not a record", atom.place, example(kind))


_READERS: dict[type[ArgumentKind], Callable[[Atom, Any, str | None], object]] = {
    IntegerKind: _integer, EnumKind: _enum, TextKind: _text, ProseKind: _prose, WordKind: _word,
    ThingKind: reference, NewKind: _new, DirectionKind: _direction, MomentKind: _moment,
    BooleanKind: _boolean, ExpressionKind: _expression, LinesKind: _lines, RecordKind: _record,
}  # fmt: skip
