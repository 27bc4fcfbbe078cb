"""Members of enums without a table of their own: services, places, mishaps, arming …"""

import enum
from collections.abc import Callable, Iterator
from enum import Enum
from functools import partial
from typing import Any, NamedTuple

from rdmalab.guide.article import Article, Row, article
from rdmalab.guide.entry import Entry, of_member
from rdmalab.guide.phrases import by_profile, right_words, type_names
from rdmalab.guide.sentences import note
from rdmalab.spec import absent, work
from rdmalab.spec.access import MWType, Rereg
from rdmalab.spec.async_events import EVENTS, EventKind
from rdmalab.spec.builders import DATA_SETTERS, INLINE_SETTERS, InitMask, moves_data, qp_setter
from rdmalab.spec.c_names import PREFIX_OF_PART, full_name
from rdmalab.spec.completions import Arm
from rdmalab.spec.flows import FlowFlags, FlowType
from rdmalab.spec.limits import PHYS_STATES, LinkLayer, PhysState, PortState
from rdmalab.spec.opcodes import OPCODES, Op, Opcode, PacketPlace, Service
from rdmalab.spec.profiles import PROFILES, Rounding, SlotsFreed
from rdmalab.spec.programs import ProgramState
from rdmalab.spec.srq import OpenFlag, SrqAttrMask, SrqType
from rdmalab.spec.states import AUTOMATIC, MigState, Mishap, QPType
from rdmalab.spec.transports import TRANSPORTS


def builder_entries() -> Iterator[Entry]:
    """Flags of `send_ops_flags`."""
    for opcode in work.BUILDERS:
        flag = work.SendOps[opcode.name]
        words = (f"builder {opcode.name}", f"EX_WITH_{opcode.name}")
        yield Entry(full_name(flag), "builder flag", words, partial(flag_article, opcode))


def flag_article(opcode: work.WROpcode) -> Article:
    """One builder that create_qp_ex can be asked for."""
    flag = work.SendOps[opcode.name]
    types = work.WORK[opcode].types
    lacking = [
        f"{p.name}: {name.partition(':')[0]}"
        for p in PROFILES.values()
        for name in sorted(p.lacks_builders)
        if name.partition(":")[2] == flag.name
    ]
    addressed = [f"{t.name} {qp_setter(t, opcode)}" for t in QPType if t in types]
    rows: list[Row] = [
        ("", f"The queue pair can build {opcode.name} with {work.BUILDERS[opcode]}"),
        ("types", type_names(types)),
        ("not on", "; ".join(lacking)),
        ("data", " or ".join(_data_setters(opcode)) or "takes no setter for data"),
        ("inline", _inline(opcode)),
        ("address", "; ".join(each for each in addressed if not each.endswith(" "))),
        ("without it", "in C the function is a NULL pointer; here wr_complete returns EINVAL"),
    ]
    see = [f"explain {opcode.name}", "help create_qp_ex", "ibv_wr_post(3)"]
    return article(full_name(flag), f"builder flag {int(flag)}", rows, see)


def _data_setters(opcode: work.WROpcode) -> list[str]:
    """The setters of the bytes of the request; those of inline data for some opcodes."""
    if not moves_data(opcode):
        return []
    row = work.WORK[opcode]
    return [name for name in DATA_SETTERS if row.inline or name not in INLINE_SETTERS]


def _inline(opcode: work.WROpcode) -> str:
    """Result of wr_complete for an inline setter that the opcode cannot have; empty if it can."""
    if not moves_data(opcode) or work.WORK[opcode].inline:
        return ""
    refused, taken = "wr_complete refuses it: explain inline-opcode", "not refused"
    return by_profile(lambda p: refused if p.refuses_inline_read else taken)


_Member = enum.IntEnum | enum.IntFlag

# kind, where to read on
_KINDS: dict[type[_Member], tuple[str, tuple[str, ...]]] = {
    MigState: ("migration state", ("explain path_mig_state",)),
    MWType: ("type of memory window", ("ibv_alloc_mw(3)",)),
    Rereg: ("flag of rereg_mr", ("ibv_rereg_mr(3)",)),
    work.Placement: ("flush_type of FLUSH", ("explain FLUSH",)),
    work.Selectivity: ("flush_level of FLUSH", ("explain FLUSH",)),
    SrqType: ("SRQ type", ("explain srq",)),
    SrqAttrMask: ("SRQ attribute", ("explain srq",)),
    InitMask: ("creation mask", ("help create_qp_ex", "ibv_create_qp_ex(3)")),
}


def word_entries() -> Iterator[Entry]:
    """One article a member."""
    for cls, (kind, _) in _KINDS.items():
        for member in cls:
            words = [f"comp_mask {member.name}"] if cls is InitMask else []
            yield of_member(kind, member, word_article, *words)


def word_article(member: _Member) -> Article:
    """One member of one of these enums."""
    kind, see = _KINDS[type(member)]
    rows: list[Row] = [("", note(member))]
    if isinstance(member, work.Placement):
        rows.append(("peer allows", f"{right_words(work.PLACEMENT_RIGHTS[member])}, on key and QP"))
    return article(full_name(member), f"{kind} = {int(member)}", rows, see)


class PartTable(NamedTuple):
    """An enum of the tables: the kind of its members, and where they are used."""

    name: str
    where: str
    see: str


KINDS: dict[type[Enum], PartTable] = {
    Service: PartTable("service", "the top three bits of an opcode", "explain BTH"),
    Op: PartTable("operation", "the operation of a packet", "help show"),
    PacketPlace: PartTable("place", "the position of a packet in its message", "explain message"),
    work.Local: PartTable("buffers", "what a work request does with its sg_list", "explain sge"),
    EventKind: PartTable("event kind", "the sort of an asynchronous event", "explain async event"),
    Mishap: PartTable("mishap", "what moves a queue pair without modify_qp", "explain ERR"),
    Rounding: PartTable(
        "rounding", "the cell rounding of a device profile", "explain cell rounding"
    ),
    SlotsFreed: PartTable("slots freed", "the cell slots_freed", "explain cell slots_freed"),
    Arm: PartTable("arming", "what req_notify_cq sets, for one event", "explain arm"),
    PhysState: PartTable("phys state", "phys_state of query_port", "help query_port"),
    LinkLayer: PartTable("link layer", "link_layer of query_port", "help query_port"),
    OpenFlag: PartTable("oflag", "the flags of open_xrcd", "help open_xrcd"),
    FlowType: PartTable("flow type", "type= of create_flow", "help create_flow"),
    FlowFlags: PartTable("flow flag", "flags= of create_flow", "help create_flow"),
    ProgramState: PartTable("program state", "the state of a program", "help program"),
}


def entries() -> Iterator[Entry]:
    """One article a member; its name alone may have other meanings."""
    for cls, kind in KINDS.items():
        for member in cls:
            in_c = [f"{PREFIX_OF_PART[cls]}{member.name}"] if PREFIX_OF_PART.get(cls) else []
            words = (str(member.name), *in_c)
            name = f"{kind.name} {member.name}"
            yield Entry(name, kind.name, words, partial(part_article, member))


def part_article(member: Enum) -> Article:
    """One member: what it means, what the tables have with it."""
    kind = KINDS[type(member)]
    number = f" = {member.value}" if isinstance(member.value, int) else ""
    rows: list[Row] = [
        ("", note(member) or str(member.value)),
        ("met in", kind.where),
        *_ROWS.get(type(member), _nothing)(member),
        ("here", absent.REASONS.get(type(member), {}).get(member, "")),
    ]
    return article(f"{kind.name} {member.name}", f"{kind.name}{number}", rows, [kind.see])


def _nothing(_member: object) -> list[Row]:
    return []


def _service(service: Service) -> list[Row]:
    codes = [opcode.code for opcode in OPCODES.values() if opcode.service is service]
    types = [qp_type for qp_type, row in TRANSPORTS.items() if row.service is service]
    span = f"opcodes {min(codes):#04x} to {max(codes):#04x}, {len(codes)} of them" if codes else ""
    return [("wire", span), ("types", type_names(types) if types else "")]


def _labels(fits: Callable[[Opcode], bool]) -> str:
    rows: list[Opcode] = [opcode for opcode in OPCODES.values() if fits(opcode)]
    return " ".join(dict.fromkeys(opcode.label for opcode in rows))


def _op(op: Op) -> list[Row]:
    return [("wire", _labels(lambda opcode: opcode.op is op))]


def _place(place: PacketPlace) -> list[Row]:
    return [("wire", _labels(lambda opcode: opcode.place is place))]


def _local(local: work.Local) -> list[Row]:
    return [("opcodes", " ".join(o.name for o, row in work.WORK.items() if row.local is local))]


def _event_kind(kind: EventKind) -> list[Row]:
    return [("events", " ".join(event.name for event, row in EVENTS.items() if row.kind is kind))]


def _mishap(mishap: Mishap) -> list[Row]:
    rows = [row for row in AUTOMATIC if row.mishap is mishap]
    return [("leads to", [f"{row.to.name} ({type_names(row.types)})" for row in rows])]


def _slots_freed(value: SlotsFreed) -> list[Row]:
    return [("devices", _having("slots_freed", value))]


def _rounding(value: Rounding) -> list[Row]:
    return [
        ("SQ and RQ", _having("rounding", value)),
        ("CQ and SRQ", _having("cq_srq_rounding", value)),
    ]


def _having(cell: str, value: Enum) -> str:
    """The profiles whose cell has this value."""
    having = [p.name for p in PROFILES.values() if getattr(p, cell) is value]
    return " ".join(having) or "no profile of the lab"


def _phys(state: PhysState) -> list[Row]:
    ports = [port.name for port, phys in PHYS_STATES.items() if phys is state]
    down = [p.name for p in PROFILES.values() if p.down_phys_state is state]
    ports += [f"{PortState.DOWN.name} ({' '.join(down)})"] if down else []
    return [("port state", " ".join(ports))]


_ROWS: dict[type[Enum], Any] = {
    Service: _service,
    Op: _op,
    PacketPlace: _place,
    work.Local: _local,
    EventKind: _event_kind,
    Mishap: _mishap,
    Rounding: _rounding,
    SlotsFreed: _slots_freed,
    PhysState: _phys,
}
