"""A call of C in a program: its declarations, the call, and the check of what it returned."""

from collections.abc import Callable, Iterable
from dataclasses import field
from errno import EAGAIN

from rdmalab.command import Noun
from rdmalab.export.replay.calls import NotExportable
from rdmalab.export.replay.names import Names, Writing, number
from rdmalab.export.replay.program import Verb, filled
from rdmalab.hca.wr import swap_octets
from rdmalab.spec.row import dataclass
from rdmalab.spec.rules import errno_name

_TYPES = {
    Noun.PD: "ibv_pd", Noun.MR: "ibv_mr", Noun.CQ: "ibv_cq", Noun.QP: "ibv_qp", Noun.AH: "ibv_ah",
    Noun.SRQ: "ibv_srq", Noun.XRCD: "ibv_xrcd", Noun.MW: "ibv_mw", Noun.CHANNEL: "ibv_comp_channel",
    Noun.TD: "ibv_td", Noun.FLOW: "ibv_flow",
}  # fmt: skip
TO_COME = frozenset({"FLUSH", "ATOMIC_WRITE", "DRIVER1"})
"""Opcodes that <infiniband/verbs.h> of rdma-core 44 has not."""
TAB = "\t"


@dataclass(slots=True)
class Text:
    """A call in C. given: declarations before it, of its own block; called: the expression.

    made: the variable that gets what it returns; empty: an errno, or as `returns` says.
    before: lines before the call; after: those after a call that worked.
    """

    called: str
    given: list[str] = field(default_factory=list)
    made: str = ""
    returns: str = "errno"  # errno, -1, nothing
    after: list[str] = field(default_factory=list)
    before: list[str] = field(default_factory=list)

    @property
    def function(self) -> str:
        return self.called.partition("(")[0]


@dataclass(slots=True)
class Writer(Writing):
    """variables: type by name, in the order of their making. ranges: memory that it maps."""

    variables: dict[str, str] = field(default_factory=dict)
    ranges: list[tuple[int, int]] = field(default_factory=list)


@dataclass(slots=True)
class Scope(Names):
    """A call of C, and the names that things have in its text."""

    writer: Writer

    def declare(self, name: str, noun: Noun) -> None:
        """A pointer to the type of C."""
        self.writer.variables.setdefault(name, _TYPES[noun])

    def member(self, name: str, field_: str) -> str:
        """`A_mr0->lkey`."""
        return f"{name}->{field_}"

    def base(self, name: str) -> str:
        """The address as a number."""
        return f"(uintptr_t){name}->addr"

    def next_key(self, text: str) -> str:
        """`ibv_inc_rkey(KEY)`."""
        return f"ibv_inc_rkey({text})"

    def literal(self, value: int) -> str:
        """Decimal, or hexadecimal from 65,536 on."""
        return number(value)

    def srq_number(self, name: str) -> str:
        """By the helper srq_number."""
        self.writer.needs.add("srq_number")
        return f"srq_number({name})"

    def gid_entry(self, node: str, index: int) -> str:
        """By the helper gid_of."""
        self.writer.needs.add("gid_of")
        return f"gid_of({node}, {index})"

    def gid_bytes(self, value: int) -> str:
        """`(union ibv_gid){ .raw = { … } }`."""
        octets = ", ".join(f"{octet:#04x}" for octet in value.to_bytes(16, "big"))
        return f"(union ibv_gid){{ .raw = {{ {octets} }} }}"

    def immediate(self, value: int) -> str:
        """`htonl(0x11)`."""
        return f"htonl({number(swap_octets(value))})"

    def memory(self, node: str, addr: int) -> str:
        """A pointer."""
        return f"(void *)({self.addr(node, addr)})"


def checked(scope: Scope, text: Text | None) -> list[str]:
    """The block of a call: declarations, call, check of what it returned."""
    if text is None:
        return []
    call = scope.call
    if call.errno == EAGAIN and call.word.startswith("destroy"):
        raise NotExportable(f"{text.function} would not return in C: it waits for acknowledgements")
    if text.returns == "nothing" and call.errno:
        raise NotExportable(f"{call.word} is refused here: in C it is undefined")
    lines = [*text.before, *_result(scope, text)]
    if not call.errno:
        lines += text.after
    elif text.function in _POSTS and (wrs := scope.argument("wr")):
        place = f"&wr[{call.bad_wr}]" if len(wrs) > 1 else "&wr"
        lines += [f"if (bad_wr != {place})", f'{TAB}fail("bad_wr of {text.function}", ret);']
    return block(text.given, lines)


def _result(scope: Scope, text: Text) -> list[str]:
    """The call, and a look at what it returned."""
    name, errno = f'"{text.function}"', scope.call.errno
    if text.returns == "nothing":
        return [f"{text.called};"]
    if text.made:
        wrong = f"{text.made} || errno != {errno_name(errno)}" if errno else f"!{text.made}"
        head = [f"{text.made} = {text.called};"]
        return [*head, f"if ({wrong})", f"{TAB}fail({name}, errno);"]
    if text.returns == "-1":
        wrong = f" >= 0 || errno != {errno_name(errno)}" if errno else " < 0"
        return [f"if ({text.called}{wrong})", f"{TAB}fail({name}, errno);"]
    wrong = f"ret != {errno_name(errno)}" if errno else "ret"
    return [f"ret = {text.called};", f"if ({wrong})", f"{TAB}fail({name}, ret);"]


_SHORT = 88
_POSTS = ("ibv_post_send", "ibv_post_recv", "ibv_post_srq_recv")


def block(given: list[str], lines: list[str]) -> list[str]:
    """Lines in braces if they declare something."""
    if not given:
        return lines
    return ["{", *(TAB + line if line else line for line in [*given, "", *lines]), "}"]


def structure(kind: str, name: str, members: Iterable[str]) -> list[str]:
    """`struct KIND NAME = { MEMBERS };`: in one line if there are few."""
    listed = list(members)
    one = f"struct {kind} {name} = {{ {', '.join(listed)} }};"
    if len(one) <= _SHORT and "\n" not in one:
        return [one if listed else f"struct {kind} {name} = {{}};"]
    return [f"struct {kind} {name} = {{", *(f"{TAB}{member}," for member in listed), "};"]


def plain(
    template: str, *given: str, made: str = "", returns: str = "errno",
    end: Callable[[Scope, Text | None], list[str]] | None = None, **usual: int,
) -> Verb[Scope, Text]:  # fmt: skip
    """The writing of a call by a template of `filled`. made: the argument that names the object."""

    def begin(s: Scope) -> Text:
        name = s.var(s.argument(made)) if made else ""
        return Text(filled(s, template, usual), [*given], name, returns)

    return Verb(begin, end)
