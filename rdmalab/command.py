"""Commands: typed functions whose signature is the grammar.

Annotations give parsing, completion and validation, the docstring gives the help. The first
parameter is not grammar: `world` (the command changes the world and is journaled) or `session` (it
looks, moves time or edits the past). Parameters before `*` are positional words, those after it
are written `key=value`. This module defines the kinds of argument and no command.
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
    """The types of objects that have names."""

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
    """One object of one node, by number; plain data, valid across snapshots."""

    noun: Noun
    node: str
    number: int


class Region(NamedTuple):
    """Bytes [start, stop) of an object; None: its beginning or its end."""

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
    """The name for the object that the command creates."""

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
    """A moment: after an event, at a time (ns), or a mark: `@name`, `start`, `end`."""

    event: int | None = None
    at_ns: int | None = None
    mark: str = ""


# --------------------------------------------------------------------------- when it goes wrong
class Refused(Exception):  # noqa: N818  (the field says "the verb was refused")
    """Raised by a verb that returns an errno; it changed nothing except what `left` names.

    rule: row of `spec/rules.py`. message: the reason in this case. argument: the key at fault,
    for the caret. legal: the legal values.
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
    """Raised for a line that is not understood; nothing was executed. hint: one suggestion.

    argument: the key at fault, if the place of the caret is not given.
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
    """The unit of an integer, which decides its suffixes."""

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
    """Metadata: the smallest and the greatest valid number."""

    low: int
    high: int | None = None


class Spelled(dict[str, int]):
    """Further spellings of enum values (`1024` for IBV_MTU_1024): metadata of an annotation."""


class RefShorthand(NamedTuple):
    """A value that may be written as a reference: `sg=A.mr0[0:64]`, `dest_qp_num=B.qp0`.

    `convert(world, thing, start, stop)` gives the value; it runs when the command is bound.
    number: a plain number is accepted too, as a pointer in C.
    """

    noun: Noun
    convert: Callable[[object, Thing, int | None, int | None], object]
    number: Callable[[int], object] | None = None
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
    """Metadata: the valid words of a text, from a table."""

    __slots__ = ()


class ReadOnlyWhen(NamedTuple):
    """Metadata: with this value of the parameter (or any) the command is no event.

    It only reads, or is a short form, and is not journaled.
    """

    word: str | None = None


POINTER = "pointer"
"""Metadata of a value that may be NULL: C has a pointer there, so that 0 is NULL too."""

TOPIC = "topic"
EXAMPLE = "Example:"  # begins a line of a command's docstring
"""Metadata of an expression: it names the subject of `why`, not a value."""

FLAT = "flat"
"""Metadata of a record: its fields may also be written without braces."""

SPOKEN = "spoken"
"""Metadata: this keyword may also be written as two words, `within 2ms`."""

PROSE = "prose"
"""Metadata: this text takes the rest of the line unparsed, also `status=12`."""


@dataclass(frozen=True, slots=True)
class ArgumentKind:
    """Base of all kinds: whether NULL, 0 as NULL, or a reference is allowed."""

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
    """The rest of the line, or a quoted string."""


@dataclass(frozen=True, slots=True)
class WordKind(ArgumentKind):
    """One of a few words."""

    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ThingKind(ArgumentKind):
    """An existing object (noun None: any), optionally followed by a byte range."""

    noun: Noun | None
    ranged: bool = False


@dataclass(frozen=True, slots=True)
class NewKind(ArgumentKind):
    """A name not yet taken."""

    noun: Noun


@dataclass(frozen=True, slots=True)
class ExpressionKind(ArgumentKind):
    """An expression up to a keyword such as `within`. is_topic: it names a subject of `why`."""

    is_topic: bool = False


@dataclass(frozen=True, slots=True)
class LinesKind(ArgumentKind):
    """`{line; line}`: commands and the words of programs."""


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


def kind_of(annotation: object, metadata: tuple[object, ...] = ()) -> ArgumentKind:
    """The kind of argument for an annotation; raises TypeError if there is none."""
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


def _container_kind(annotation: object, metadata: tuple[object, ...]) -> ArgumentKind | None:
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is list:  # NULL is a list without entries
        is_pointer = POINTER in metadata
        item = kind_of(arguments[0], metadata)
        return ListKind(item, nullable=is_pointer, pointer=is_pointer)
    if origin is Literal:
        return WordKind(arguments)
    return None


def _class_kind(cls: object, metadata: tuple[object, ...]) -> ArgumentKind:
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
    simple: dict[object, ArgumentKind] = {
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


def _record_kind(cls: type, metadata: tuple[object, ...]) -> RecordKind:
    hints = typing.get_type_hints(cls, include_extras=True)
    parameters = tuple(
        _parameter(f.name, hints[f.name], _field_default(f))
        for f in dataclasses.fields(cls)
        if f.init
    )
    spreads = tuple(m for m in metadata if isinstance(m, FieldGroup))
    c_name = vars(cls).get("C_NAME", "")
    return RecordKind(cls, parameters, spreads, FLAT in metadata, c_name)


def _field_default(of: "dataclasses.Field[Any]") -> object:
    if of.default is not dataclasses.MISSING:
        return of.default
    return REQUIRED if of.default_factory is dataclasses.MISSING else None


def _parameter(
    name: str, annotation: object, default: object, *, positional: bool = False
) -> Parameter:
    metadata = typing.get_args(annotation)[1:] if typing.get_origin(annotation) is Annotated else ()
    aliases = tuple(m.name for m in metadata if isinstance(m, Alias))
    looks = next((m for m in metadata if isinstance(m, ReadOnlyWhen)), None)
    in_c = tuple(m.path for m in metadata if isinstance(m, InC))
    kind = kind_of(annotation)
    return Parameter(name, kind, default, positional, SPOKEN in metadata, aliases, looks, in_c)


# --------------------------------------------------------------------------- commands
class TimeMove(enum.Enum):
    """The direction in which a command moves virtual time."""

    FORWARD = enum.auto()
    ANY = enum.auto()


class Recovery(enum.Enum):
    """What `continue` does with a command of the interrupted session."""

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
    """A command, made from one function by `@command`."""

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

    def only_looks(self, arguments: dict[str, object]) -> bool:
        """Whether the command with these arguments is no event."""
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
        """The example lines of its docstring."""
        lines = map(str.strip, self.documentation.splitlines())
        return [line.removeprefix(EXAMPLE).strip() for line in lines if line.startswith(EXAMPLE)]

    @property
    def room(self) -> str:
        """The name of its module, which is its group in help: `qp`, `time`, …"""
        return self.function.__module__.rpartition(".")[2]

    @property
    def room_summary(self) -> str:
        """The first line about the module it lives in."""
        about = inspect.getdoc(sys.modules[self.function.__module__]) or _NO_TEXT
        return about.partition("\n")[0]


@overload
def command(of: Callable[..., object]) -> Command: ...
@overload
def command(of: Facts) -> Callable[[Callable[..., object]], Command]: ...
def command(
    of: Callable[..., object] | Facts,
) -> Command | Callable[[Callable[..., object]], Command]:
    """Make a typed function a command of the lab, named like it (less a final `_`).

    `@command(Facts(…))` sets its facts; plain `@command` makes it a prompt-only command.
    """
    return partial(_command, of) if isinstance(of, Facts) else _command(PROMPT_ONLY, of)


def aliases(vocabulary: Mapping[str, Command]) -> dict[str, str]:
    """The short spellings of all commands with their full form: `n` is `step packet`."""
    return {
        short: f"{each.name} {words}".strip()
        for each in vocabulary.values()
        for short, words in each.facts.short
    }


def _command(facts: Facts, function: Callable[..., object]) -> Command:
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
    """A parsed command with plain arguments, as stored in the journal.

    `arguments` holds ints, strings, lists, dicts, Refs, News, Expressions and Lines, by parameter;
    places: columns of each key in `line`, for carets; not part of its equality.
    """

    name: str
    arguments: dict[str, Any]
    line: str = field(default="", compare=False)
    places: dict[str, Span] = field(default_factory=dict, compare=False, repr=False)
