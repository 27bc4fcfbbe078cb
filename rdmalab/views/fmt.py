"""Formatting that all views share: values and records as text, the record range of an event."""

import enum
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from rdmalab.command import Noun, Thing, Unit
from rdmalab.grammar.quantities import spelled
from rdmalab.hca import extended
from rdmalab.hca.wqe import Cqe, RecvWqe, SendWqe
from rdmalab.hca.wr import SendWR
from rdmalab.session.names import Names
from rdmalab.spec.access import Rereg
from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.completions import Arm
from rdmalab.spec.limits import PortState
from rdmalab.spec.opcodes import OPCODES, Op
from rdmalab.spec.packet_names import PacketName
from rdmalab.spec.records import (
    KINDS,
    Kind,
    Part,
    Record,
    event_noun_of,
    injection_of,
    kind_of,
    node_of,
    noun_of,
    object_of,
    packet_of,
    setting_of,
)
from rdmalab.spec.refusals import DROPS, REFUSALS, VALUE_MASK, Syndrome, syndrome_of
from rdmalab.spec.rules import ERRNO_NAMES
from rdmalab.spec.states import MigState, QPState, fields_of
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.timers import RNR_NS
from rdmalab.spec.work import SendFlags, WCOpcode, WROpcode
from rdmalab.wire.frame import LABEL, Frame
from rdmalab.wire.packet import LidFlow, Packet, gid_text, is_multicast
from rdmalab.world.world import World

Errno = enum.IntEnum("Errno", {"OK": 0, **{n: code for code, n in ERRNO_NAMES.items()}})  # type: ignore[misc]
ERRNOS = frozenset(Errno)

_SECOND = 1_000_000_000
_UNITS = (("s", _SECOND), ("ms", 1_000_000), ("us", 1_000))
_MANY = 9_999  # what is larger reads better in hexadecimal


# --------------------------------------------------------------------------- numbers, enums
def clock(at_ns: int) -> str:
    """A moment with every nanosecond: 650.230us; from one second on 128.443002315s.

    No space before the unit: it is one field of a line, and can be typed after `goto`.
    """
    if at_ns >= _SECOND:
        return f"{at_ns // _SECOND}.{at_ns % _SECOND:09}s"
    return f"{at_ns // 1_000}.{at_ns % 1_000:03}us"


def event(number: int) -> str:
    """The event after which a moment is: `event 24`; `the start` before any event."""
    return f"event {number}" if number >= 0 else "the start"


def ev(number: int, start: str = "the start") -> str:
    """Short form of `event`: `ev 24`. start: the text for the moment before any event."""
    return f"ev {number}" if number >= 0 else start


def count(number: int, noun: str) -> str:
    """1 line, 2,000 lines."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def duration(wait_ns: int) -> str:
    """A span of time with four digits and a space before the unit: 640 us, 67.11 ms.

    `clock` gives all digits of a moment.
    """
    for unit, size in _UNITS:
        if wait_ns >= size:
            return f"{wait_ns / size:.{4 if wait_ns < 1_000 * size else 15}g} {unit}"
    return f"{wait_ns} ns"


def rate(bits_per_s: int) -> str:
    """A rate as `link rate=` reads it: 100Gbps, 1bps."""
    return spelled(bits_per_s, Unit.BITS_PER_S)


def number(value: int) -> str:
    """Small numbers as they are, large ones in hexadecimal."""
    return str(value) if -_MANY <= value <= _MANY else hex(value)


def member(value: int, of: type[enum.IntEnum]) -> str:
    """The name of an enum value, or the number if it has no name."""
    try:
        return of(value).name
    except ValueError:
        return number(value)


def errno_word(code: int) -> str:
    """`ok`, `ENOMEM`."""
    return "ok" if code == 0 else member(code, Errno)


def flags(value: int, of: type[enum.IntFlag]) -> str:
    """`SIGNALED|FENCE`, bits without a name as a number, `0` for none."""
    named = [flag for flag in of if flag & value]
    rest = value & ~sum(named)
    return "|".join([f.name or "" for f in named] + ([hex(rest)] if rest else [])) or "0"


def value(answer: object) -> str:
    """The answer to a question as a person reads it: `RTS`, `yes`, `68 65 6c`, `nothing`."""
    if isinstance(answer, bool):
        return "yes" if answer else "no"
    if isinstance(answer, enum.IntFlag):
        return flags(answer, type(answer))
    if isinstance(answer, enum.Enum):
        return answer.name
    if isinstance(answer, bytes):
        return answer.hex(" ")
    return "nothing" if answer is None else str(answer)


# --------------------------------------------------------------------------- things
def thing_at(world: World, names: Names, node: str, addr: int) -> str:
    """The MR byte at an address, `A.mr0[64]`; the newest MR where several overlap."""
    for mr in reversed(world.nodes[node].mrs.items.values()) if node in world.nodes else ():
        if mr.addr <= addr < mr.addr + mr.length:
            return f"{names.of(Thing(Noun.MR, node, mr.number))}[{addr - mr.addr}]"
    return hex(addr)


def part_name(names: Names, noun: Noun, node: str, number: int) -> str:
    """The name of a part of an object, by number; "" for 0 (none)."""
    return names.of(Thing(noun, node, number)) if number else ""


def qp_name(names: Names, node: str, qpn: int) -> str:
    """A QP by node and number, whether it exists or not."""
    return names.of(Thing(Noun.QP, node, qpn)) if node else f"{qpn:#x}"


def ends_of(world: World, packet: Packet | Frame) -> tuple[str, str]:
    """The nodes a packet goes from and to; empty if no node has the address."""
    if isinstance(packet, Frame):
        return _ends_of_frame(world, packet)
    return world.network.origin_of(packet.flow), world.network.target_of(packet.flow)


def _ends_of_frame(world: World, frame: Frame) -> tuple[str, str]:
    """The nodes that have the MACs of a frame, which a program can set to any value."""
    of = {hca.mac: name for name, hca in world.nodes.items()}
    return of.get(frame.src_mac, ""), of.get(frame.dst_mac, "")


def group_of(packet: Packet | Frame) -> str:
    """The multicast group that a datagram goes to; empty for all else."""
    if isinstance(packet, Frame) or not is_multicast(packet.flow.dst):
        return ""
    return gid_text(packet.flow.dst)


def lids_of(packet: Packet | Frame) -> tuple[int | None, int | None]:
    """The LIDs that a packet of InfiniBand goes from and to."""
    if isinstance(packet, Frame) or not isinstance(packet.flow, LidFlow):
        return None, None
    return packet.flow.src, packet.flow.dst


def target_of(world: World, record: Record) -> str:
    """The node that a sent packet goes to; for a frame to all or to an unknown MAC, the only other
    node.
    """
    packet, sender = packet_of(record), node_of(record)
    if kind_of(record) is Kind.PACKET_INJECTED:
        return str(injection_of(record).target)
    target = ends_of(world, packet)[1]
    others = [name for name in world.nodes if name != sender]
    if isinstance(packet, Frame) and target in ("", sender):
        return others[0] if len(others) == 1 else ""
    return target


# --------------------------------------------------------------------------- work
def wr(wr_id: int) -> str:
    """`wr7`: a work request by its wr_id."""
    return f"wr{number(wr_id)}"


def send_wqe(wqe: SendWqe) -> str:
    """`wr7 SEND 64 B`."""
    return f"{wr(wqe.wr.wr_id)} {member(wqe.wr.opcode, WROpcode)} {wqe.length} B"


def send_wr(wr_: SendWR) -> str:
    """`wr7 SEND 64 B`, of a work request that is not posted yet."""
    length = sum(sge.length for sge in wr_.sg)
    return f"{wr(wr_.wr_id)} {member(wr_.opcode, WROpcode)} {length} B"


def recv_wqe(wqe: RecvWqe) -> str:
    """`wr2, 4096 B`."""
    return f"{wr(wqe.wr.wr_id)}, {wqe.length} B"


def cqe(entry: Cqe) -> str:
    """`wr7 SEND SUCCESS`; after an error without the opcode, which is undefined then."""
    status = member(entry.status, WCStatus)
    if entry.status != WCStatus.SUCCESS:
        return f"{wr(entry.wr_id)} {status}"
    return f"{wr(entry.wr_id)} {member(entry.opcode, WCOpcode)} {status}"


# --------------------------------------------------------------------------- packets
def label(packet: Packet | Frame) -> PacketName:
    """The name of the opcode, `SEND_ONLY`, or `FRAME`; its syndrome gives it further names."""
    if isinstance(packet, Frame):
        return PacketName(LABEL)
    row = OPCODES.get(packet.opcode)
    return PacketName(row.label if row else hex(packet.opcode), syndrome(packet))


def syndrome(packet: Packet | Frame) -> Syndrome | None:
    """The syndrome of an AETH; None without an AETH, or for a reserved code."""
    return None if packet.aeth is None else syndrome_of(packet.aeth.syndrome)


def timer_code(packet: Packet | Frame) -> int | None:
    """The wait that an RNR NAK asks for, as a code."""
    if packet.aeth is None or syndrome(packet) is not Syndrome.RNR_NAK:
        return None
    return packet.aeth.syndrome & VALUE_MASK


def packet_words(packet: Packet | Frame) -> str:
    """`SEND_ONLY psn=0 64 B`, `RNR_NAK psn=3 timer=12 (640 us)`, `ARP 10.0.0.1 is here`."""
    if isinstance(packet, Frame):
        return packet.summary
    row, said, timer = OPCODES.get(packet.opcode), syndrome(packet), timer_code(packet)
    answer = row is not None and row.op is Op.ACKNOWLEDGE and said is not None
    parts = [said.name if answer and said is not None else label(packet), f"psn={packet.psn}"]
    if timer is not None:
        parts.append(f"timer={timer} ({duration(RNR_NS[timer])})")
    if packet.payload:
        parts.append(f"{len(packet.payload)} B")
    elif packet.reth is not None and packet.reth.dma_length:
        parts.append(f"for {packet.reth.dma_length} B")
    return " ".join(parts)


def reason(name: str) -> str:
    """Why a packet was refused or dropped, or what a timer waits for, as a sentence."""
    row = REFUSALS.get(name) or DROPS.get(name)
    return row.sentence if row else _TIMERS.get(name, name)


_TIMERS = {"rnr": "RNR", "ack": "ack"}


# --------------------------------------------------------------------------- records
class RecordContext(NamedTuple):
    """A record, with what is needed to format it."""

    world: World
    names: Names
    record: Record


def thing_of(record: Record) -> Thing | None:
    """The thing a record is about; None where it is the link, a fault or a port."""
    kind, node, object_ = kind_of(record), node_of(record), object_of(record)
    noun = KINDS[kind].noun
    if kind in (Kind.CREATED, Kind.DESTROYED):
        noun = str(noun_of(record))
    elif kind in _B_IS_NOUN:
        noun = str(event_noun_of(record))
    if noun in tuple(Noun):
        return Thing(Noun(noun), node, 0 if noun == Noun.NODE else object_)
    return None


_B_IS_NOUN = (Kind.ASYNC_RAISED, Kind.ASYNC_TAKEN, Kind.ASYNC_ACKED, Kind.EVENTS_DISCARDED)


def is_about(record: Record, kind: Kind, thing: Thing) -> bool:
    """Whether a record is of this kind and about this thing."""
    return (
        kind_of(record) is kind
        and object_of(record) == thing.number
        and node_of(record) == thing.node
    )


def subject(names: Names, record: Record) -> str:
    """The object that acted, or its node; "" for the cable and for commands of the user."""
    thing = thing_of(record)
    unclaimed = isinstance(KINDS[kind_of(record)].a(record), Frame) and not object_of(record)
    if thing is None or thing.noun is Noun.NODE or kind_of(record) in _BY_THE_NODE or unclaimed:
        return node_of(record)
    return names.of(thing)


_BY_THE_NODE = (Kind.CREATED, Kind.DESTROYED, Kind.HOST_WROTE)


def sentence(world: World, names: Names, record: Record) -> str:
    """The record as text, without its subject."""
    row = KINDS[kind_of(record)]
    moment = RecordContext(world, names, record)
    return row.sentence.format(a=said(moment, row.a), b=said(moment, row.b))


def said(moment: RecordContext, part: Part[object]) -> str:
    """One part of the record as text."""
    return SAYINGS[part.meaning](moment, part(moment.record))


def _noun(moment: RecordContext, _value: str) -> str:
    thing = thing_of(moment.record)
    return moment.names.of(thing) if thing else str(_value)


def _address(moment: RecordContext, addr: int) -> str:
    return thing_at(moment.world, moment.names, node_of(moment.record), addr)


def _packet(moment: RecordContext, packet: Packet | Frame) -> str:
    if isinstance(packet, Frame):
        return packet.summary
    source, target = ends_of(moment.world, packet)
    sent = node_of(moment.record) == source
    other = target if sent else source
    if not other and (group := group_of(packet)):
        other = f"group {group}"
    return f"{packet_words(packet)} {'to' if sent else 'from'} {other or 'an unknown node'}"


_NUMBERED = re.compile(rf"([A-Z])\.({Noun.MR}|{Noun.QP})#(\d+)")


def fault_words(names: Names, fault: object) -> str:
    """The text of a fault, with the names of its objects."""
    return _NUMBERED.sub(lambda m: names.of(Thing(Noun(m[2]), m[1], int(m[3]))), str(fault))


def _setting(moment: RecordContext, value: int | str) -> str:
    name = str(setting_of(moment.record))
    if isinstance(value, int) and name.endswith("_ns"):
        return duration(value)
    return rate(value) if isinstance(value, int) and name == "rate_bps" else str(value)


def _of_srq(moment: RecordContext, wqe: RecvWqe) -> str:
    """The SRQ of a receive, if a queue pair takes it from one."""
    if not wqe.srq or kind_of(moment.record) is Kind.SRQ_POSTED:
        return ""
    return f" of {part_name(moment.names, Noun.SRQ, node_of(moment.record), wqe.srq)},"


def _channel(moment: RecordContext, number: int) -> str:
    if not number:
        return "no channel: it has none"
    return moment.names.of(Thing(Noun.CHANNEL, node_of(moment.record), number))


ARMS = {Arm.NONE: "nothing", Arm.SOLICITED: "solicited completions", Arm.ANY: "any completion"}
_QUEUES = {"sq": "send queue", "rq": "receive queue"}


def _plain(_moment: RecordContext, value: object) -> str:
    return str(value)


ENDINGS = {
    extended.POSTED: "posted",
    extended.ABORTED: "discarded",
    extended.DROPPED: "dropped",
    extended.OVERWRITTEN: "overwritten by another thread",
    extended.UNOPENED: "posted, although it was not open",
}
"""What happened to the work requests built in a critical region."""


# The formatter of each meaning that a or b can have; `spec/records.py` says which has which.
SAYINGS: dict[str, Callable[[RecordContext, Any], str]] = {
    "": lambda _m, _v: "",
    "verb": _plain,
    "rule": _plain,
    "errno": lambda _m, v: errno_word(int(v or 0)),
    "noun": _noun,
    "state": lambda _m, v: member(v, QPState),
    "attr_mask": lambda _m, v: " ".join(fields_of(v)) or "nothing",
    "send_wqe": lambda _m, v: send_wqe(v),
    "recv_wqe": lambda m, v: recv_wqe(v) + _of_srq(m, v),
    "send_wr": lambda _m, v: send_wr(v),
    "wr_id": lambda _m, v: number(v),
    "send_flags": lambda _m, v: flags(v, SendFlags),
    "complaint": _plain,
    "ending": lambda _m, v: ENDINGS[v],
    "status": lambda _m, v: member(v, WCStatus),
    "queue": lambda _m, v: _QUEUES.get(v, str(v)),
    "count": _plain,
    "packet": _packet,
    "reason": lambda _m, v: reason(str(v)),
    "frame": lambda _m, v: f"{len(v)} bytes",
    "address": _address,
    "length": _plain,
    "cqe": lambda _m, v: cqe(v),
    "psn": _plain,
    "at_ns": lambda _m, v: clock(v),
    "injection": lambda _m, v: f"{len(v.octets)} bytes injected towards {v.target}",
    "why_not": lambda _m, v: f", but {v}" if v else "",
    "wait_ns": lambda _m, v: duration(v),
    "event": lambda _m, v: member(v, AsyncEvent),
    "port_state": lambda _m, v: member(v, PortState),
    "link_layer": lambda _m, v: v.text,
    "mig_state": lambda _m, v: member(v, MigState),
    "setting": lambda _m, v: str(v).removesuffix("_ns").removesuffix("_bps"),
    "value": _setting,
    "fault": lambda m, v: fault_words(m.names, v),
    "gid": lambda _m, v: gid_text(v),
    "index": _plain,
    "entry": lambda _m, v: gid_text(v) if v else "empty",
    "pkey": lambda _m, v: f"{v:#06x}" if v else "empty",
    "srq_field": _plain,
    "number": _plain,
    "arm": lambda _m, v: ARMS[v],
    "channel": _channel,
    "context": _plain,
    "rkey": lambda _m, v: hex(v),
    "line": _plain,
    "rereg": lambda _m, v: flags(v, Rereg),
}
