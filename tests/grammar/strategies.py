"""Any text, texts that are nearly commands, and every Invocation the test vocabulary allows."""

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from rdmalab.command import (
    ArgumentKind,
    BooleanKind,
    Command,
    Direction,
    DirectionKind,
    EnumKind,
    Expression,
    ExpressionKind,
    IntegerKind,
    Invocation,
    ListKind,
    Moment,
    MomentKind,
    New,
    NewKind,
    Noun,
    Parameter,
    ProseKind,
    RecordKind,
    Ref,
    TextKind,
    ThingKind,
    Unit,
    WordKind,
)
from rdmalab.grammar.nodes import COMPARISONS, Binary, Call, Index, Literal, Node, Path, Unary, Word
from rdmalab.grammar.text import in_quotes
from rdmalab.grammar.trees import render
from tests.grammar.vocabulary import COMMANDS, VOCABULARY

_SCRAPS = (
    *VOCABULARY,
    *("wr=", "wr={", "sg=", "opcode=SEND", "flags=", "state=RTS", "ah=B", "remote=", "ah_attr={"),
    *("A.qp0", "B.mr0[0:64]", "mr0", "A", "A->B", "RTS", "12", "0x1f", "10us", "4KiB", "SIGNALED"),
    *(
        "within",
        "until",
        "idle",
        "wire.count(",
        "from=A",
        "==",
        "and",
        "not",
        "wr[7]",
        "condition=",
    ),
    *(" ", " ", " ", ";", "\n", "#", "=", ",", "|", "{", "}", "[", "]", "(", ")", '"', "\\", "->"),
    *("-", "NULL", "[]", "htonl(", "ibv_", "IBV_", "."),
)
texts = st.text() | st.lists(st.sampled_from(_SCRAPS)).map("".join)
questions = st.text() | st.lists(
    st.sampled_from([*_SCRAPS, "+", "*", "<=", ":", "now", "A.cq0.next.status", '"x"', ", "])
).map(" ".join)

_nodes = st.sampled_from(["A", "B"])
_names = st.from_regex(r"[a-z][a-z0-9_]{0,4}", fullmatch=True)
_words = st.sampled_from(["RTS", "ERR", "SEND_ONLY", "within", "A", "idle", "limit"])
_numbers = st.integers(0, 2**64)


def _refs(kind: ThingKind | None) -> st.SearchStrategy[Ref]:
    whole = st.builds(Ref, _nodes, _names)
    node = st.builds(Ref, _nodes)
    if kind is not None and not kind.ranged:
        return whole | node
    starts = st.builds(Ref, _nodes, _names, st.integers(0, 99))
    ranges = st.builds(Ref, _nodes, _names, st.integers(0, 9), st.integers(9, 99))
    return whole | node | starts | ranges


def _path(steps: list[str | Index]) -> Path:
    return Path(tuple(steps))


_steps = _names.filter(lambda n: n not in ("and", "or", "not")) | st.builds(Index, _numbers)
_paths = st.sampled_from([Path(("now",)), Path(("idle",))]) | st.lists(
    _steps, min_size=1, max_size=3
).map(lambda steps: _path(["A", *steps]))
_literals = st.integers(0, 10**9).map(lambda n: Literal(n, str(n))) | st.text(max_size=3).map(
    lambda text: Literal(text, in_quotes(text))
)
_operands = _paths | _literals
_values = _operands | st.builds(Word, _words)


_OF_KIND_CONDITIONS: list[Node] = [
    _path(["A", "mr"]),
    _path(["A", "qp", "rq_empty"]),
    Binary("==", _path(["B", "qp", "state"]), Word("RTS")),
]


def _filters(smaller: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    values = _values | smaller
    return values | values.map(lambda value: Unary("!=", value))


def _bigger(smaller: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    return (
        st.builds(Unary, st.sampled_from(["not", "-"]), smaller)
        | st.builds(Binary, st.sampled_from(["and", "or", "+", "-", "*", "//"]), smaller, smaller)
        | st.builds(Binary, st.sampled_from(COMPARISONS), smaller, _values | smaller)
        | st.builds(
            Call,
            st.sampled_from([Path(("why",)), Path(("wire", "count")), Path(("B", "cq0", "total"))]),
            st.lists(smaller, max_size=2),
            st.dictionaries(st.sampled_from(["opcode", "from"]), _filters(smaller), max_size=2).map(
                lambda given: given | ({"since": Word("@ready")} if len(given) == 1 else {})
            ),
        )
        | st.builds(
            Call,
            st.sampled_from([Path(("min",)), Path(("max",))]),
            st.lists(smaller, min_size=1, max_size=2),
            st.just({}),
        )
        | st.builds(
            Call,
            st.sampled_from([Path((name,)) for name in ("any", "all", "count")]),
            st.sampled_from(_OF_KIND_CONDITIONS).map(lambda node: [node]),
            st.just({}),
        )
    )


expression_nodes: st.SearchStrategy[Node] = st.recursive(_operands, _bigger, max_leaves=8)
expressions = expression_nodes.map(lambda node: Expression(render(node), node))


def values(kind: ArgumentKind) -> st.SearchStrategy[Any]:
    """Whatever may stand in an Invocation for a kind."""
    own = _own_values(kind)
    if kind.short is not None:
        own |= _refs(None)
    return own | st.none() if kind.nullable else own


def _own_values(kind: ArgumentKind) -> st.SearchStrategy[Any]:
    return _OF_KIND[type(kind)](kind)


def _integers(kind: IntegerKind) -> st.SearchStrategy[int]:
    return st.integers(0, 2**128 - 1) if kind.unit is Unit.GID else st.integers(-(2**64), 2**64)


def _enums(kind: EnumKind) -> st.SearchStrategy[int]:
    members = st.sampled_from([int(member) for member in kind.enum])
    return members | st.integers(0 if kind.is_flags else -9, 9000) | st.sampled_from([256, 1024])


def _texts(_kind: ArgumentKind) -> st.SearchStrategy[str]:
    return st.text() | _names | st.sampled_from(["NULL", "B", "x.y", "within", "12", "3us", "[]"])


def _things(kind: ThingKind) -> st.SearchStrategy[Ref]:
    return st.builds(Ref, _nodes) if kind.noun is Noun.NODE else _refs(kind)


def _records(kind: RecordKind) -> st.SearchStrategy[dict[str, Any]]:
    spreads = {s.key: _refs(None) for s in kind.spreads}
    return _dicts(kind.fields, spreads)


def _dicts(
    parameters: tuple[Parameter, ...], more: dict[str, st.SearchStrategy[Any]]
) -> st.SearchStrategy[dict[str, Any]]:
    required = {p.name: values(p.kind) for p in parameters if p.required}
    optional = {p.name: values(p.kind) for p in parameters if not p.required}
    return st.fixed_dictionaries(required, optional={**optional, **more})


def invocations_of(command: Command) -> st.SearchStrategy[tuple[Command, Invocation]]:
    arguments = _dicts(command.parameters, {})
    return arguments.map(lambda given: (command, Invocation(command.name, given)))


_OF_KIND: dict[type[ArgumentKind], Callable[[Any], st.SearchStrategy[Any]]] = {
    IntegerKind: _integers,
    EnumKind: _enums,
    BooleanKind: lambda _: st.booleans(),
    TextKind: _texts,
    ProseKind: lambda _: st.from_regex(r"[a-z0-9_ ]*[a-z0-9]", fullmatch=True),
    WordKind: lambda kind: st.sampled_from(kind.words),
    NewKind: lambda kind: st.builds(New, st.just(kind.noun), _nodes, _names),
    ThingKind: _things,
    DirectionKind: lambda _: st.builds(Direction, _nodes, _nodes),
    MomentKind: lambda _: st.one_of(
        st.builds(Moment, event=st.integers(0, 10**9)),
        st.builds(Moment, at_ns=st.integers(0, 10**12)),
        st.builds(Moment, mark=st.sampled_from(["start", "end", "@before-nak"])),
    ),
    ExpressionKind: lambda _: expressions,
    ListKind: lambda kind: st.lists(values(kind.item), max_size=3),
    RecordKind: _records,
}

invocations = st.sampled_from(COMMANDS).flatmap(invocations_of)
