"""What a command is: a typed function whose signature is the grammar.

Annotation = parsing, completion and validation; docstring = help; the first parameter (`world`: the
command changes the world and is journaled; `session`: it looks, moves time or edits the past) is
not grammar. Parameters before `*` are positional words, those behind it are written `key=value`.
This room knows the kinds of argument and no command.
"""

import dataclasses
import enum
import inspect
import sys
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple, overload


class Noun(enum.StrEnum):
    """What a name can stand for."""

    NODE = "node"
    PD = "pd"
    MR = "mr"
    CQ = "cq"
    QP = "qp"
    AH = "ah"
    SRQ = "srq"
    XRCD = "xrcd"
    MW = "mw"
    CHANNEL = "channel"
    TD = "td"
    FLOW = "flow"
    PROGRAM = "program"


class Thing(NamedTuple):
    """One object of one node, by number: plain data, so it survives any snapshot."""

    noun: Noun
    node: str
    number: int


class Region(NamedTuple):
    """Bytes [start, stop) of a thing; None: from its beginning, to its end."""

    thing: Thing
    start: int | None
    stop: int | None


class Span(NamedTuple):
    """Columns [start, stop) of a line, counted from 0."""

    start: int
    stop: int


NOWHERE = Span(0, 0)


@dataclass(slots=True)
class Ref:
    """A name as written, not looked up: `A.mr0`, `A.mr0[0:64]`, `B.mr0[100]`, or a node, `B`.

    part: a field of the object as C has it, `A.mr0.lkey`; of `A.mr0.addr+8` start is 8.
    """

    node: str
    name: str = ""
    start: int | None = None
    stop: int | None = None
    part: str = ""
    place: Span = field(default=NOWHERE, compare=False)

    def __str__(self) -> str:
        name = f"{self.node}.{self.name}" if self.name else self.node
        if self.part:
            return f"{name}.{self.part}" + (f"+{self.start}" if self.start else "")
        if self.start is None:
            return name
        return f"{name}[{self.start}]" if self.stop is None else f"{name}[{self.start}:{self.stop}]"


class Fresh(list[Any]):
    """A list made for one call: nothing else refers to it, or to what it lists."""

    __slots__ = ()


@dataclass(slots=True)
class New:
    """A name that the command will give to what it makes."""

    noun: Noun
    node: str
    name: str
    place: Span = field(default=NOWHERE, compare=False)

    def __str__(self) -> str:
        return f"{self.node}.{self.name}"


@dataclass(slots=True)
class Expression:
    """A question about the world: its text and, in `node`, the grammar's parse of it."""

    text: str
    node: Any = field(repr=False, default=None)
    place: Span = field(default=NOWHERE, compare=False)


@dataclass(slots=True)
class Lines:
    """The lines of a program: their text, and in `parsed` the grammar's reading of them."""

    text: str
    parsed: list[Any] = field(repr=False, compare=False, default_factory=list)
    place: Span = field(default=NOWHERE, compare=False)


class Direction(NamedTuple):
    """One way along the cable: `A->B`."""

    source: str
    target: str


class Moment(NamedTuple):
    """Where to in time: after an event, at a time, or at a mark: `@name`, `start`, `end`."""

    event: int | None = None
    at_ns: int | None = None
    mark: str = ""


# --------------------------------------------------------------------------- when it goes wrong
class Refused(Exception):  # noqa: N818  (the field says "the verb was refused")
    """A verb answered with an errno, at once, and changed nothing but what `left` says.

    `rule` names the row of `spec/rules.py` it stands on, `message` says it for this case,
    `argument` is the key at fault, for the caret, `legal` what would be legal instead.
    """

    def __init__(
        self, errno: int, rule: str, message: str, argument: str = "", legal: str = ""
    ) -> None:
        super().__init__(errno, rule, message, argument, legal)
        self.errno = errno
        self.rule = rule
        self.message = message
        self.argument = argument
        self.legal = legal
        self.bad_wr: int | None = None  # index in the posted list, where there is one
        self.left = ""  # what the call has done all the same, for a batch or a ring in memory
        self.permanent = False  # refused again however much is polled
        self.place = NOWHERE  # where a name stood, if one was at fault


class NotUnderstood(Exception):  # noqa: N818
    """The line says nothing the lab understands: nothing happened. `hint` is one suggestion.

    A command that knows no places names the `argument` at fault, for the caret.
    """

    def __init__(
        self,
        message: str,
        place: Span = NOWHERE,
        hint: str = "",
        line: str = "",
        argument: str = "",
    ) -> None:
        super().__init__(message)
        self.message = message
        self.place = place
        self.hint = hint
        self.line = line
        self.argument = argument


# --------------------------------------------------------------------------- kinds of argument
class Unit(enum.Enum):
    """What an integer counts; decides which suffixes it may carry."""

    NUMBER = enum.auto()
    BYTES = enum.auto()  # 4KiB
    NS = enum.auto()  # 10us, a unit is required
    PSN = enum.auto()  # 24 bits on a circle
    BITS_PER_S = enum.auto()  # 100Gbps
    GID = enum.auto()  # ::ffff:10.0.0.2, 10.0.0.2, fe80::1
    MAC = enum.auto()  # 02:00:0a:00:00:01
    PPM = enum.auto()  # a probability, 0.02 or 2%, in parts per million


Bytes = Annotated[int, Unit.BYTES]
Nanoseconds = Annotated[int, Unit.NS]
BitRate = Annotated[int, Unit.BITS_PER_S]
Probability = Annotated[int, Unit.PPM]


class Bits(NamedTuple):
    """How wide the C integer is: metadata. -1 is stored as C stores it, with all bits set."""

    width: int


class Range(NamedTuple):
    """The least and the greatest number that mean something: metadata."""

    low: int
    high: int | None = None


class Spelled(dict[str, int]):
    """Further spellings of enum values (`1024` for IBV_MTU_1024): metadata of an annotation."""


class RefShorthand(NamedTuple):
    """A value may be written as a reference: `sg=A.mr0[0:64]`, `dest_qp_num=B.qp0`.

    `convert(world, thing, start, stop)` gives the value; it runs when the command is bound.
    `number`: a plain number may stand there too, as a pointer may in C.
    """

    noun: Noun
    convert: Callable[[Any, Thing, int | None, int | None], Any]
    number: Callable[[int], Any] | None = None
    also: tuple[Noun, ...] = ()  # other things that can stand there


class FieldGroup(NamedTuple):
    """A key that stands for several fields of its record: `remote=B.mr0[100]`, `ah=B`.

    `convert(world, thing, start, stop)` gives a dict field → value, for the fields in `fills`.
    """

    key: str
    noun: Noun
    convert: Callable[[Any, Thing, int | None, int | None], dict[str, Any]]
    fills: tuple[str, ...]
    also: tuple[Noun, ...] = ()


class Alias(NamedTuple):
    """Another name under which a field may be written: `qp_state` for `state`."""

    name: str


class InC(NamedTuple):
    """Where the struct of C has a field: `wr.rdma.remote_addr`, which may be written as well.

    The outer steps may be left out, from the left: `rdma.remote_addr`.
    """

    path: str


class OneOf(tuple[str, ...]):
    """The words that a text may be, from a table: metadata of an annotation."""

    __slots__ = ()


class ReadOnlyWhen(NamedTuple):
    """With this word, or any, for the parameter the command only looks, or stands for others.

    Then it is no event and not journaled. Metadata.
    """

    word: str | None = None


POINTER = "pointer"
"""Metadata of a value that may be NULL: C has a pointer there, so that 0 is NULL too."""

TOPIC = "topic"
EXAMPLE = "Example:"  # begins a line of a command's docstring
"""Metadata of an expression: it names a thing one asks about, and asks no fact."""

FLAT = "flat"
"""Metadata of a record with a short form: its fields may be written on their own as well."""

SPOKEN = "spoken"
"""Metadata: this keyword may also be said as two words, `within 2ms`."""

PROSE = "prose"
"""Metadata: this text takes the rest of the line as it stands, `status=12` and all."""


@dataclass(frozen=True, slots=True)
class ArgumentKind:
    """Common part of all kinds: may it be NULL, is 0 NULL too, may it be a reference."""

    nullable: bool = field(default=False, kw_only=True)
    pointer: bool = field(default=False, kw_only=True)
    short: RefShorthand | None = field(default=None, kw_only=True)


@dataclass(frozen=True, slots=True)
class IntegerKind(ArgumentKind):
    """A whole number in `unit`, as wide as C has it, or within a range."""

    unit: Unit = Unit.NUMBER
    bits: Bits | None = None
    range: Range | None = None


@dataclass(frozen=True, slots=True)
class EnumKind(ArgumentKind):
    """One member of an enum, or a number without a member; `A|B` where the enum is a flag set."""

    enum: type[enum.IntEnum] | type[enum.IntFlag]
    spelled: tuple[tuple[str, int], ...] = ()

    @property
    def is_flags(self) -> bool:
        return issubclass(self.enum, enum.IntFlag)


@dataclass(frozen=True, slots=True)
class TextKind(ArgumentKind):
    """A bare word or a quoted string."""


@dataclass(frozen=True, slots=True)
class ProseKind(ArgumentKind):
    """The rest of the line, whatever it says; or a quoted string."""


@dataclass(frozen=True, slots=True)
class WordKind(ArgumentKind):
    """One of a few words."""

    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ThingKind(ArgumentKind):
    """An existing object (`noun` None: any), perhaps with a byte range behind it."""

    noun: Noun | None
    ranged: bool = False


@dataclass(frozen=True, slots=True)
class NewKind(ArgumentKind):
    """A name not yet taken."""

    noun: Noun


@dataclass(frozen=True, slots=True)
class ExpressionKind(ArgumentKind):
    """The rest of the line, up to a spoken keyword, as a question; is_topic: a thing to ask of."""

    is_topic: bool = False


@dataclass(frozen=True, slots=True)
class LinesKind(ArgumentKind):
    """`{line; line}`: commands and the words that programs have besides."""


@dataclass(frozen=True, slots=True)
class DirectionKind(ArgumentKind):
    """`A->B`."""


@dataclass(frozen=True, slots=True)
class MomentKind(ArgumentKind):
    """`30` or `ev30`, `9.2us`, `@before-nak`, `start`, `end`."""


@dataclass(frozen=True, slots=True)
class BooleanKind(ArgumentKind):
    """0 or 1, off or on."""


@dataclass(frozen=True, slots=True)
class ListKind(ArgumentKind):
    """Several of one kind: `a,b` for values, `wr={…} wr={…}` for records."""

    item: ArgumentKind


@dataclass(frozen=True, slots=True)
class RecordKind(ArgumentKind):
    """A struct: flattened into `key=value`, or written `{key=value …}`.

    c_name: the struct of libibverbs that it is, from `C_NAME` of the record; empty for the lab's.
    """

    record: type
    fields: tuple["Parameter", ...]
    spreads: tuple[FieldGroup, ...] = ()
    flat: bool = False
    c_name: str = ""


class _Required(enum.Enum):
    REQUIRED = enum.auto()


REQUIRED = _Required.REQUIRED


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a command or one field of a record."""

    name: str
    kind: ArgumentKind
    default: Any = REQUIRED
    positional: bool = False
    spoken: bool = False
    aliases: tuple[str, ...] = ()
    looks: ReadOnlyWhen | None = None
    in_c: tuple[str, ...] = ()

    @property
    def dotted(self) -> list[str]:
        """The names of the field in C with the steps before it: all of them, then fewer."""
        steps = [path.split(".") for path in self.in_c]
        return [".".join(each[at:]) for each in steps for at in range(len(each) - 1)]

    @property
    def required(self) -> bool:
        return self.default is REQUIRED


def kind_of(annotation: Any, metadata: tuple[Any, ...] = ()) -> ArgumentKind:
    """The kind of argument an annotation stands for; TypeError where it stands for none."""
    if typing.get_origin(annotation) is Annotated:
        inner, *more = typing.get_args(annotation)
        return kind_of(inner, (*metadata, *more))
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        (inner,) = [a for a in typing.get_args(annotation) if a is not types.NoneType]
        kind = kind_of(inner, metadata)
        is_object = isinstance(kind, ThingKind) and kind.noun is not None  # no question's subject
        is_pointer = is_object or isinstance(kind, ListKind) or POINTER in metadata
        return dataclasses.replace(kind, nullable=True, pointer=is_pointer)
    short = next((m for m in metadata if isinstance(m, RefShorthand)), None)
    kind = _container_kind(annotation, metadata) or _class_kind(annotation, metadata)
    if short is None or isinstance(kind, ListKind):  # of a list, each item may be written short
        return kind
    return dataclasses.replace(kind, short=short)


def _container_kind(annotation: Any, metadata: tuple[Any, ...]) -> ArgumentKind | None:
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is list:  # NULL is a list without entries
        is_pointer = POINTER in metadata
        item = kind_of(arguments[0], metadata)
        return ListKind(item, nullable=is_pointer, pointer=is_pointer)
    if origin is Literal:
        return WordKind(arguments)
    return None


def _class_kind(cls: Any, metadata: tuple[Any, ...]) -> ArgumentKind:
    noun = next((m for m in metadata if isinstance(m, Noun)), None)
    if cls is int:
        unit = next((m for m in metadata if isinstance(m, Unit)), Unit.NUMBER)
        bits = next((m for m in metadata if isinstance(m, Bits)), None)
        return IntegerKind(unit, bits, next((m for m in metadata if isinstance(m, Range)), None))
    words = next((m for m in metadata if isinstance(m, OneOf)), None)
    if words is not None:
        return WordKind(tuple(words))
    if cls is New and noun is not None:
        return NewKind(noun)
    simple: dict[Any, ArgumentKind] = {
        bool: BooleanKind(),
        str: ProseKind() if PROSE in metadata else TextKind(),
        Thing: ThingKind(noun),
        Ref: ThingKind(noun, ranged=True),
        Region: ThingKind(noun, ranged=True),
        Expression: ExpressionKind(is_topic=TOPIC in metadata),
        Lines: LinesKind(),
        Direction: DirectionKind(),
        Moment: MomentKind(),
    }
    if cls in simple:
        return simple[cls]
    if isinstance(cls, type) and issubclass(cls, enum.IntEnum | enum.IntFlag):
        spelled = next((m for m in metadata if isinstance(m, Spelled)), Spelled())
        return EnumKind(cls, tuple(spelled.items()))
    if dataclasses.is_dataclass(cls) and isinstance(cls, type):
        return _record_kind(cls, metadata)
    raise TypeError(f"no kind of argument for {cls!r}")


def _record_kind(cls: type, metadata: tuple[Any, ...]) -> RecordKind:
    hints = typing.get_type_hints(cls, include_extras=True)
    parameters = tuple(
        _parameter(f.name, hints[f.name], _field_default(f))
        for f in dataclasses.fields(cls)
        if f.init
    )
    spreads = tuple(m for m in metadata if isinstance(m, FieldGroup))
    c_name = vars(cls).get("C_NAME", "")
    return RecordKind(cls, parameters, spreads, FLAT in metadata, c_name)


def _field_default(of: "dataclasses.Field[Any]") -> Any:
    if of.default is not dataclasses.MISSING:
        return of.default
    return REQUIRED if of.default_factory is dataclasses.MISSING else None


def _parameter(name: str, annotation: Any, default: Any, *, positional: bool = False) -> Parameter:
    metadata = typing.get_args(annotation)[1:] if typing.get_origin(annotation) is Annotated else ()
    aliases = tuple(m.name for m in metadata if isinstance(m, Alias))
    looks = next((m for m in metadata if isinstance(m, ReadOnlyWhen)), None)
    in_c = tuple(m.path for m in metadata if isinstance(m, InC))
    kind = kind_of(annotation)
    return Parameter(name, kind, default, positional, SPOKEN in metadata, aliases, looks, in_c)


# --------------------------------------------------------------------------- commands
class TimeMove(enum.Enum):
    """Which way a command moves virtual time."""

    FORWARD = enum.auto()
    ANY = enum.auto()


class Recovery(enum.Enum):
    """What `continue` does with a command of the session that was cut off."""

    REPEAT = enum.auto()
    SKIP = enum.auto()  # it changes nothing in the lab, or it writes a file
    REPEAT_WALK = enum.auto()  # repeat it; the recording has no end for each step it runs
    NEW_RECORDING = enum.auto()  # it ends the recording and stands in none


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What a command may do, and where it may be written.

    A command that declares nothing is for the prompt only: scenarios and programs refuse it.
    in_scenarios: also in a scenario file, a shared session and a program. in_programs False: there
    not, although it changes the world. touches_files: it reads or writes a file that its arguments
    name; such a command cannot stand in a scenario. is_repeated: an empty line does it again.
    short: other spellings at the prompt, each with the words that follow the command's name.
    help_rows: sentences of a table, written into the docstring in place of `{rows}`.
    """

    is_verb: bool = False  # libibverbs has it, or it stands for one of its functions
    in_scenarios: bool = False
    in_programs: bool = True
    touches_files: bool = False
    moves_time: TimeMove | None = None
    is_repeated: bool = False
    recovery: Recovery = Recovery.REPEAT
    short: tuple[tuple[str, str], ...] = ()
    help_rows: str = ""

    def __post_init__(self) -> None:
        if self.touches_files and self.in_scenarios:
            raise TypeError("a command that touches files cannot stand in a scenario")


_NO_TEXT = "no help text: Python runs with -OO" if sys.flags.optimize > 1 else ""
PROMPT_ONLY = Facts()
SCRIPTABLE = Facts(in_scenarios=True)
VERB = Facts(in_scenarios=True, is_verb=True)


@dataclass(frozen=True, slots=True)
class Command:
    """A word of the lab, made from one function by `@command`."""

    name: str
    function: Callable[..., Any]
    parameters: tuple[Parameter, ...]
    changes_world: bool
    may_look: bool = False
    facts: Facts = PROMPT_ONLY
    asking: tuple[Parameter, ...] = ()  # those that may hold questions about facts

    @property
    def in_programs(self) -> bool:
        """Whether a line of a program may call it: no program starts a program."""
        if not (self.changes_world and self.facts.in_scenarios and self.facts.in_programs):
            return False
        return not any(isinstance(p.kind, LinesKind) for p in self.parameters)

    def only_looks(self, arguments: dict[str, Any]) -> bool:
        """Whether these arguments ask for something that is no event."""
        return any(
            p.looks.word in (None, arguments[p.name])
            for p in self.parameters
            if p.looks is not None and p.name in arguments
        )

    @property
    def documentation(self) -> str:
        """The docstring, with the sentences of its table."""
        text = inspect.getdoc(self.function) or _NO_TEXT
        return text.replace("{rows}", self.facts.help_rows)

    @property
    def summary(self) -> str:
        return self.documentation.partition("\n")[0]

    @property
    def examples(self) -> list[str]:
        """The lines that its docstring gives as examples."""
        lines = map(str.strip, self.documentation.splitlines())
        return [line.removeprefix(EXAMPLE).strip() for line in lines if line.startswith(EXAMPLE)]

    @property
    def room(self) -> str:
        """The module it lives in, as help groups it: `qp`, `time`, …"""
        return self.function.__module__.rpartition(".")[2]

    @property
    def room_summary(self) -> str:
        """The first line about the module it lives in."""
        about = inspect.getdoc(sys.modules[self.function.__module__]) or _NO_TEXT
        return about.partition("\n")[0]


@overload
def command(of: Callable[..., Any]) -> Command: ...
@overload
def command(of: Facts) -> Callable[[Callable[..., Any]], Command]: ...
def command(
    of: Callable[..., Any] | Facts,
) -> Command | Callable[[Callable[..., Any]], Command]:
    """Make a typed function a command of the lab, named like it (less a final `_`).

    With facts, `@command(Facts(…))`: a decorator that gives them to it; without: prompt only.
    """
    return partial(_command, of) if isinstance(of, Facts) else _command(PROMPT_ONLY, of)


def aliases(vocabulary: Mapping[str, Command]) -> dict[str, str]:
    """The short spellings of all commands, each with what it stands for: `n` is `step packet`."""
    return {
        short: f"{each.name} {words}".strip()
        for each in vocabulary.values()
        for short, words in each.facts.short
    }


def _command(facts: Facts, function: Callable[..., Any]) -> Command:
    hints = typing.get_type_hints(function, include_extras=True)
    first, *rest = inspect.signature(function).parameters.values()
    parameters = tuple(
        _parameter(
            p.name.rstrip("_"),
            hints[p.name],
            REQUIRED if p.default is p.empty else p.default,
            positional=p.kind is p.POSITIONAL_OR_KEYWORD,
        )
        for p in rest
    )
    name, changes = function.__name__.rstrip("_"), first.name == "world"
    may_look = any(p.looks is not None for p in parameters)
    asking = tuple(p for p in parameters if isinstance(p.kind, (ExpressionKind, LinesKind)))
    return Command(name, function, parameters, changes, may_look, facts, asking)


@dataclass(slots=True)
class Invocation:
    """A command with plain arguments: what the journal keeps and what every face produces.

    `arguments` holds ints, strings, lists, dicts, Refs, News, Expressions and Lines, by parameter;
    `places` tells where each key stood in `line`, for carets, and is not part of what was asked.
    """

    name: str
    arguments: dict[str, Any]
    line: str = field(default="", compare=False)
    places: dict[str, Span] = field(default_factory=dict, compare=False, repr=False)
