"""`@command` makes a typed function a command with facts; an invocation is a parsed line."""

import enum
import inspect
import sys
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import field
from functools import cached_property, partial
from textwrap import fill
from typing import Any, overload

from rdmalab.command.arguments import Span
from rdmalab.command.kinds import REQUIRED, ExpressionKind, LinesKind, Parameter, parameter_of
from rdmalab.spec.row import dataclass


class TimeMove(enum.Enum):
    """The direction in which a command moves virtual time."""

    FORWARD = enum.auto()
    ANY = enum.auto()


class Recovery(enum.Enum):
    """The treatment of a command of the interrupted session by `continue`."""

    REPEAT = enum.auto()
    SKIP = enum.auto()  # it changes nothing in the lab, or it writes a file
    REPEAT_WALK = enum.auto()  # repeat it; the recording has no end for each step it runs
    REPEAT_IF_LOADED = enum.auto()  # repeat it; without a file that it loaded it did nothing
    NEW_RECORDING = enum.auto()  # it ends the recording and stands in none


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Facts about a command: its effects, and where it may be written.

    A command that declares nothing is for the prompt only: scenarios and programs refuse it.
    in_scenarios: also in a scenario file, a shared session and a program. in_programs False: there
    not, although it changes the world. touches_files: it reads or writes a file that its arguments
    name; such a command cannot stand in a scenario. is_repeated: an empty line does it again.
    short: other spellings at the prompt, each with the words that follow the command's name.
    help_rows: sentences of a table by its words, written in place of `{rows}`, an item each.
    """

    is_verb: bool = False  # libibverbs has it, or it stands for one of its functions
    in_scenarios: bool = False
    in_programs: bool = True
    touches_files: bool = False
    moves_time: TimeMove | None = None
    is_repeated: bool = False
    recovery: Recovery = Recovery.REPEAT
    short: tuple[tuple[str, str], ...] = ()
    help_rows: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.touches_files and self.in_scenarios:
            raise TypeError("a command that touches files cannot stand in a scenario")


_NO_TEXT = "no help text: Python runs with -OO" if sys.flags.optimize > 1 else ""
EXAMPLE = "Example:"  # begins a line of a docstring
PROMPT_ONLY = Facts()
SCRIPTABLE = Facts(in_scenarios=True)
VERB = Facts(in_scenarios=True, is_verb=True)


def is_query(verb: str) -> bool:
    """Whether a verb only reads: query_qp, query_port, …"""
    return verb.startswith("query_")


@dataclass(frozen=True, eq=False)  # no slots: they have no room for what is cached
class Command:
    """A command, made from one function by `@command`.

    Its parameters are read from the annotations when they are first asked for: those of all
    commands took 10 ms, and the first lines of a session need few of them.
    """

    name: str
    function: Callable[..., Any]
    facts: Facts = PROMPT_ONLY

    @cached_property
    def changes_world(self) -> bool:
        """True if the function takes the world itself; else it takes the session."""
        return self._signature[0].name == "world"

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """Its arguments, in the order of the function."""
        _, *given = self._signature
        hints = _hints(self.function, [p.name for p in given])
        return tuple(
            parameter_of(
                p.name.rstrip("_"),
                hints[p.name],
                REQUIRED if p.default is p.empty else p.default,
                positional=p.kind is p.POSITIONAL_OR_KEYWORD,
            )
            for p in given
        )

    @cached_property
    def may_look(self) -> bool:
        """True if it has arguments with which it is no event."""
        return any(p.looks is not None for p in self.parameters)

    @cached_property
    def asking(self) -> tuple[Parameter, ...]:
        """The parameters that may hold questions about facts."""
        return tuple(p for p in self.parameters if isinstance(p.kind, (ExpressionKind, LinesKind)))

    @property
    def _signature(self) -> list[inspect.Parameter]:
        return list(inspect.signature(self.function).parameters.values())

    @property
    def in_programs(self) -> bool:
        """True if a line of a program may call it: no program starts a program."""
        if not (self.changes_world and self.facts.in_scenarios and self.facts.in_programs):
            return False
        return not any(isinstance(p.kind, LinesKind) for p in self.parameters)

    def only_looks(self, arguments: dict[str, object]) -> bool:
        """True if the command with these arguments is no event."""
        return any(
            p.looks.word in (None, arguments[p.name])
            for p in self.parameters
            if p.looks is not None and arguments.get(p.name) is not None  # None: not given
        )

    @property
    def documentation(self) -> str:
        """The docstring, with the sentences of its table. An item begins with `* WORD: `."""
        whole = inspect.getdoc(self.function) or _NO_TEXT
        items = (fill(f"* {word}: {text}", 100) for word, text in self.facts.help_rows.items())
        return whole.replace("{rows}", "\n".join(items))

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
    return Command(function.__name__.rstrip("_"), function, facts)


def _hints(function: Callable[..., object], names: list[str]) -> dict[str, object]:
    """The annotations of parameters; what a command returns may be a type not imported yet."""
    own = types.SimpleNamespace(
        __annotations__={name: function.__annotations__[name] for name in names},
        __globals__=function.__globals__,
    )
    return typing.get_type_hints(own, include_extras=True)


CallArguments = dict[str, Any]
"""Values by the name of their parameter: what the grammar or a program gives to a command."""


@dataclass(slots=True)
class Invocation:
    """A parsed command with plain arguments, as stored in the journal.

    `arguments` holds ints, strings, lists, dicts, Refs, News, Expressions and Lines, by parameter;
    places: columns of each key in `line`, for carets; not part of its equality.
    """

    name: str
    arguments: CallArguments
    line: str = field(default="", compare=False)
    places: dict[str, Span] = field(default_factory=dict, compare=False, repr=False)
