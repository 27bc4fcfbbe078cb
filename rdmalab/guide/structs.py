"""Structs and enums of libibverbs by their names in C: fields, members, commands that take them.

The fields are those of the records that commands take; a record with a C_NAME is that struct. The
members of an enum are those of the tables.
"""

import enum
from collections.abc import Iterator, Mapping
from dataclasses import field
from functools import partial

from rdmalab.command import ArgumentKind, Command, EnumKind, ListKind, Parameter, RecordKind
from rdmalab.guide.article import Article, Row, article
from rdmalab.guide.entry import Entry
from rdmalab.guide.fields import one_type
from rdmalab.guide.sentences import sentence as sentence_of
from rdmalab.spec import work
from rdmalab.spec.access import Access, MWType, Rereg
from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.builders import InitMask
from rdmalab.spec.c_names import PREFIX, full_name
from rdmalab.spec.completions import WcEx
from rdmalab.spec.limits import AtomicCap, DeviceCap, PortState
from rdmalab.spec.row import dataclass
from rdmalab.spec.srq import SrqAttrMask, SrqType
from rdmalab.spec.states import ATTRIBUTES, MTU, Attr, MigState, QPState, QPType
from rdmalab.spec.statuses import WCStatus

AnyEnum = type[enum.IntEnum] | type[enum.IntFlag]

STRUCT, ENUM, ANSWERED = "struct of libibverbs", "enum of libibverbs", "field of an answer"

# fmt: off
ENUMS: dict[AnyEnum, str] = {
    QPState: "ibv_qp_state", QPType: "ibv_qp_type", Attr: "ibv_qp_attr_mask", MTU: "ibv_mtu",
    MigState: "ibv_mig_state", WCStatus: "ibv_wc_status", work.WCOpcode: "ibv_wc_opcode",
    work.WCFlags: "ibv_wc_flags", WcEx: "ibv_create_cq_wc_flags", work.WROpcode: "ibv_wr_opcode",
    work.SendFlags: "ibv_send_flags", Access: "ibv_access_flags", MWType: "ibv_mw_type",
    Rereg: "ibv_rereg_mr_flags", work.Placement: "ibv_placement_type",
    work.Selectivity: "ibv_selectivity_level", AsyncEvent: "ibv_event_type",
    PortState: "ibv_port_state", AtomicCap: "ibv_atomic_cap", DeviceCap: "ibv_device_cap_flags",
    SrqType: "ibv_srq_type", SrqAttrMask: "ibv_srq_attr_mask",
    work.SendOps: "ibv_qp_create_send_ops_flags", InitMask: "ibv_qp_init_attr_mask",
}
# fmt: on

# Structs whose fields the lab takes as fields of the struct around them.
INSIDE = {"ibv_mw_bind_info": "bind_info"}
# Other names, in a manual page and in old headers.
ALSO = {"ibv_data_buf": ("ibv_inl_data",), "ibv_mtu": ("MTU",), "ibv_mw_bind_info": ("bind_info",)}
# What only query_qp returns.
ANSWERS = {"sq_draining": "1: the queue pair is in SQD, and started sends are not yet completed"}
# Fields of the lab's record that libibverbs' struct lacks: the arguments of another function.
ARGUMENTS = {"ibv_send_wr": ({"flush_length", "flush_type", "flush_level"}, "wr_flush")}
# Fields that are something else in this struct than in others: C type and sentence.
_OWN: dict[tuple[str, str], tuple[str, str]] = {
    ("ibv_data_buf", "addr"): ("Where the copied bytes begin", "pointer"),
    ("ibv_data_buf", "length"): ("How many bytes are copied. 0 is 0 bytes", "size_t"),
    ("ibv_send_wr", "hdr_addr"): ("", "pointer"),
}
_OF_THE_LAB = ("rest",)
_MOST_LINES = 7  # an article fits a screen


@dataclass(slots=True)
class Struct:
    """One struct: its fields, which commands take it, the keys it is given by."""

    name: str
    fields: tuple[Parameter, ...]
    verbs: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)


def entries(vocabulary: Mapping[str, Command]) -> Iterator[Entry]:
    """One article a struct, one an enum."""
    for struct in structs_of(vocabulary).values():
        words = (struct.name.removeprefix("ibv_"), *struct.keys, *ALSO.get(struct.name, ()))
        yield Entry(struct.name, STRUCT, words, partial(struct_article, struct))
    for of, name in ENUMS.items():
        yield Entry(name, ENUM, ALSO.get(name, ()), partial(enum_article, of, vocabulary))
    yield Entry(
        "ibv_srq_init_attr", STRUCT, ("srq_init_attr",), partial(_srq_init_attr, vocabulary)
    )
    for name in ANSWERS:
        yield Entry(name, ANSWERED, (), partial(answer_article, name))


def structs_of(vocabulary: Mapping[str, Command]) -> dict[str, Struct]:
    """All structs that some command takes, by name."""
    found: dict[str, Struct] = {}
    for verb, command in vocabulary.items():
        for parameter in command.parameters:
            _collect(found, verb, parameter)
    return found


def _collect(found: dict[str, Struct], verb: str, parameter: Parameter) -> None:
    kind = _item(parameter.kind)
    if not isinstance(kind, RecordKind):
        return
    if kind.c_name:
        _add(found, Struct(kind.c_name, kind.fields, [verb], list(parameter.aliases)))
    for name, step in INSIDE.items():
        inside = tuple(each for each in kind.fields if _step(each) == step)
        if inside:
            _add(found, Struct(name, inside, [verb]))
    for each in kind.fields:
        _collect(found, verb, each)


def _add(found: dict[str, Struct], struct: Struct) -> None:
    known = found.setdefault(struct.name, struct)
    known.verbs = list(dict.fromkeys([*known.verbs, *struct.verbs]))
    known.keys = list(dict.fromkeys([*known.keys, *struct.keys]))


def _item(kind: ArgumentKind) -> ArgumentKind:
    while isinstance(kind, ListKind):
        kind = kind.item
    return kind


def _step(parameter: Parameter) -> str:
    """The struct in which C has a field: `bind_info` of `bind_mw.bind_info.mr`."""
    steps = parameter.in_c[0].split(".") if parameter.in_c else []
    return steps[-2] if len(steps) > 1 else ""


def _takes(command: Command, of: AnyEnum) -> bool:
    def is_inside(parameter: Parameter) -> bool:
        kind = _item(parameter.kind)
        if isinstance(kind, RecordKind):
            return any(map(is_inside, kind.fields))
        return isinstance(kind, EnumKind) and kind.enum is of

    return any(map(is_inside, command.parameters))


# --------------------------------------------------------------------------- articles
def struct_article(struct: Struct) -> Article:
    """The fields of a struct, each with its type and what it is for."""
    rows: list[Row] = [
        ("fields", _field_lines(struct)),
        ("not in C", _arguments(struct)),
        ("taken by", " ".join(struct.verbs)),
    ]
    return article(struct.name, STRUCT, rows, [f"help {struct.verbs[0]}"])


def _arguments(struct: Struct) -> str:
    """Keys that are taken beside the fields, and that no field of the struct in C has."""
    names, verb = ARGUMENTS.get(struct.name, (set[str](), ""))
    listed = " ".join(each.name for each in struct.fields if each.name in names)
    return f"{listed}: arguments of ibv_{verb}" if listed else ""


def _srq_init_attr(vocabulary: Mapping[str, Command]) -> Article:
    """Article about the argument of ibv_create_srq: create_srq has the fields of `attr` as keys."""
    attr = structs_of(vocabulary)["ibv_srq_attr"]
    lines = ["srq_context: left out here, NULL", "attr (ibv_srq_attr):", *_field_lines(attr)]
    rows: list[Row] = [("fields", lines), ("taken by", "create_srq")]
    return article("ibv_srq_init_attr", STRUCT, rows, ["explain ibv_srq_attr", "help create_srq"])


def _field_lines(struct: Struct) -> list[str]:
    """One line a field, with what it is for; of a long struct names and types only."""
    others = {*_OF_THE_LAB, *ARGUMENTS.get(struct.name, (set[str](),))[0]}
    found = [each for each in struct.fields if each.name not in others]
    if len(found) <= _MOST_LINES:
        return [_field_line(each, struct, _sentence(each.name)) for each in found]
    rows = [_field_line(each, struct) for each in found]
    if struct.name == "ibv_qp_attr":
        rows += [f"{name} (query_qp returns it)" for name in ANSWERS]
    return ["; ".join(rows), "explain FIELD describes a field"]


def _sentence(name: str) -> str:
    attribute = ATTRIBUTES.get(name)
    text = sentence_of("field", name) or (attribute.sentence if attribute is not None else "")
    return str(text).rstrip(".")


def _field_line(parameter: Parameter, struct: Struct, sentence: str = "") -> str:
    name = parameter.name
    kind = _item(parameter.kind)
    known = ENUMS.get(kind.enum) if isinstance(kind, EnumKind) else None
    text = f"enum {known}" if known else one_type(parameter)
    own, c_type = _OWN.get((struct.name, name), ("", ""))
    sentence, text = sentence and (own or sentence), c_type or text
    parts = [sentence, text]
    in_c = _in_c(parameter, struct)
    parts += [f"short {name}="] * (in_c[0].rpartition(".")[2] != name)
    words = ("; " if sentence else ", ").join(filter(None, parts))
    names = ", ".join(in_c)
    if sentence:
        return f"{names}: {words}"
    return f"{names} ({words})" if words else names


def _in_c(parameter: Parameter, struct: Struct) -> tuple[str, ...]:
    """The name of a field as the struct has it; of two unions two."""
    if struct.name in INSIDE:
        return (parameter.in_c[0].rpartition(".")[2],)
    longer = [alias for alias in parameter.aliases if len(alias) > len(parameter.name)]
    return parameter.in_c or (longer[0] if longer else parameter.name,)


def enum_article(of: AnyEnum, vocabulary: Mapping[str, Command]) -> Article:
    """The members of an enum."""
    takers = [verb for verb, command in vocabulary.items() if _takes(command, of)]
    members = [f"{full_name(member)} = {int(member)}" for member in of]
    if len(members) > _MOST_LINES:
        members = [", ".join(members)]
    kinds = "a bit mask" if issubclass(of, enum.IntFlag) else "one of them"
    rows: list[Row] = [
        ("", f"{kinds}; the prefix {PREFIX[of]} may be left out"),
        ("members", members),
        ("taken by", " ".join(takers)),
    ]
    see = [f"explain {members[0].partition(' ')[0]}"]
    return article(ENUMS[of], ENUM, rows, see)


def answer_article(name: str) -> Article:
    """A field that a query returns and that no verb takes."""
    rows: list[Row] = [("", ANSWERS[name]), ("returned by", "query_qp")]
    return article(name, ANSWERED, rows, ["help query_qp"])
