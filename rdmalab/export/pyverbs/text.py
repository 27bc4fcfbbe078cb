"""A call of pyverbs in a program: what is prepared, the call, what is looked at."""

from collections.abc import Callable
from dataclasses import field
from errno import EAGAIN

from rdmalab.command import New, Noun
from rdmalab.export.replay.calls import NotExportable
from rdmalab.export.replay.names import Names, Writing, constant
from rdmalab.export.replay.program import Verb, filled
from rdmalab.hca.wr import swap_octets
from rdmalab.spec.row import dataclass
from rdmalab.spec.rules import ERRNO_NAMES

_DECIMAL = 1 << 16
TAB = "    "
MOST_BYTES = 1 << 24


@dataclass(slots=True)
class Lines:
    """A call: what is prepared, the call, and what is looked at after one that worked.

    refusable: pyverbs raises PyverbsRDMAError with the errno of the verb.
    """

    called: str
    before: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)
    refusable: bool = True


@dataclass(slots=True)
class Writer(Writing):
    """modules: imports from pyverbs. extended: variables of queues that were made by *_ex."""

    modules: dict[str, set[str]] = field(default_factory=dict)
    extended: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Scope(Names):
    """A call of pyverbs, and the names that things have in its text."""

    writer: Writer

    def declare(self, name: str, noun: Noun) -> None:
        """Python declares nothing."""

    def member(self, name: str, field_: str) -> str:
        """`A_mr0.lkey`."""
        return f"{name}.{field_}"

    def base(self, name: str) -> str:
        """`A_mr0.buf`."""
        return f"{name}.buf"

    def next_key(self, text: str) -> str:
        """`inc_rkey(KEY)`."""
        self.use("base", "inc_rkey")
        return f"inc_rkey({text})"

    def literal(self, value: int) -> str:
        """Decimal, or hexadecimal from 65,536 on."""
        return number(value)

    def srq_number(self, name: str) -> str:
        """`B_srq0.get_srq_num()`."""
        return f"{name}.get_srq_num()"

    def gid_entry(self, node: str, index: int) -> str:
        """`B.query_gid(1, 1)`."""
        return f"{node}.query_gid(1, {index})"

    def gid_bytes(self, value: int) -> str:
        """`GID("0000:…")`."""
        self.use("addr", "GID")
        words = ":".join(f"{value >> at & 0xFFFF:04x}" for at in range(112, -1, -16))
        return f'GID("{words}")'

    def immediate(self, value: int) -> str:
        """A number of the host."""
        return number(swap_octets(value))

    def memory(self, node: str, addr: int) -> str:
        """The address."""
        return self.addr(node, addr)

    def use(self, module: str, name: str) -> str:
        """Import a class; returns its name."""
        self.writer.modules.setdefault(module, set()).add(name)
        return name

    def pointer(self, node: str, noun: Noun, number_: int | None) -> str:
        """The variable of an object; NotExportable for NULL, which pyverbs does not take."""
        found = self.numbered(noun, node, number_)
        if found == "NULL":
            raise NotExportable(f"pyverbs takes no {noun} that is NULL")
        return found


def number(value: int) -> str:
    """`64`, `0x11111111`."""
    return str(value) if value < _DECIMAL else hex(value)


def named(value: int) -> str:
    """A constant of pyverbs.enums; a plain number where it has no name."""
    parts = constant(value).split(" | ")
    return " | ".join(f"e.{part}" if part.startswith("IBV_") else part for part in parts)


def called(name: str, *values: str, **named_values: str | None) -> str:
    """`NAME(VALUE, key=VALUE)`."""
    given = [f"{key}={value}" for key, value in named_values.items() if value is not None]
    return f"{name}({', '.join([*values, *given])})"


def checked(s: Scope, lines: Lines | None) -> list[str]:
    """The lines of a call: what it raises is checked where the lab refused it."""
    if lines is None:
        return []
    if not s.call.errno:
        return [*lines.before, lines.called, *lines.after]
    if not lines.refusable or (s.call.errno == EAGAIN and s.call.word != "open_xrcd"):
        raise NotExportable(f"{s.call.word} is refused here, which pyverbs does not tell")
    s.writer.needs.add("refused")
    code = s.call.errno
    return [*lines.before, f"with refused({errno_of(code)}):", f"{TAB}{lines.called}"]


def errno_of(code: int) -> str:
    """`errno.EINVAL`."""
    return f"errno.{ERRNO_NAMES[code]}" if code in ERRNO_NAMES else str(code)


def lost(s: Scope, lines: Lines | None) -> list[str]:
    """Builders and setters return nothing: wr_complete returns their errors."""
    if s.call.errno:
        raise NotExportable(f"{s.call.word} is refused here, and returns nothing")
    return checked(s, lines)


End = Callable[[Scope, Lines | None], list[str]] | None


def plain(
    template: str, *, refusable: bool = True, end: End = None, **usual: int
) -> Verb[Scope, Lines]:
    """The writing of a call by a template of `filled`."""
    return Verb(lambda s: Lines(filled(s, template, usual), refusable=refusable), end)


def made(s: Scope, new: New, module: str, kind: str, *values: str, **named: str | None) -> Lines:
    """A call of a class of pyverbs, kept in the variable of the object that it makes."""
    return Lines(f"{s.var(new)} = {called(s.use(module, kind), *values, **named)}")
