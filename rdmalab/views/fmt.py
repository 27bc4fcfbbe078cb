"""Formatting that all views share: values and records as text, the record range of an event."""

import enum
import re
from collections.abc import Sequence

from rdmalab.command import Noun, Thing, Unit
from rdmalab.grammar.quantities import spelled
from rdmalab.hca.wr import Cqe, RecvWqe, SendWqe, SendWR
from rdmalab.session.names import Names
from rdmalab.spec import records as rec
from rdmalab.spec.opcodes import OPCODES, Op, PacketName
from rdmalab.spec.records import Kind, Record, kind_of, node_of
from rdmalab.spec.refusals import DROPS, MALFORMED, REFUSALS, VALUE_MASK, Syndrome, syndrome_of
from rdmalab.spec.rules import ERRNO_NAMES
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.timers import RNR_NS
from rdmalab.spec.work import WCOpcode, WROpcode
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
    """A moment in the unit that suits it: 642.315 us, 67.7534 ms, 128.443 s.

    Exact below a millisecond, then to 100 ns, from a second on to 1 ms; `exact` has all digits.
    """
    if at_ns >= _SECOND:
        return f"{at_ns / _SECOND:.3f} s"
    return f"{at_ns / 1_000_000:.4f} ms" if at_ns >= 1_000_000 else f"{at_ns / 1_000:.3f} us"


def clock_in(at_ns: int, columns: int) -> str:
    """A moment in a column of a list; from a second on with all digits that it has room for.

    Packets of one message leave 100 ns apart, also after a wait of seconds.
    """
    if at_ns < _SECOND:
        return clock(at_ns)
    texts = (f"{at_ns / _SECOND:.{places}f} s" for places in range(9, 3, -1))
    return next((text for text in texts if len(text) <= columns), clock(at_ns))


def exact(at_ns: int) -> str:
    """A moment with every nanosecond: 642.315 us, 67.753394 ms."""
    if at_ns < 1_000_000:
        return clock(at_ns)
    return re.sub(r"(?=[a-z])", " ", spelled(at_ns, Unit.NS), count=1)


def event(number: int) -> str:
    """The event after which a moment is: `event 24`; `the start` before any event."""
    return f"event {number}" if number >= 0 else "the start"


def ev(number: int, start: str = "the start") -> str:
    """Short form of `event`: `ev 24`. start: the text for the moment before any event."""
    return f"ev {number}" if number >= 0 else start


def count(number: float, noun: str) -> str:
    """1 line, 2,000 lines, 3 tries, 0.5 points."""
    several = f"{noun[:-1]}ies" if noun.endswith("ry") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else several}"


def nth(number: int) -> str:
    """`1st`, `2nd`, `13th`."""
    teen = number % 100 in (11, 12, 13)
    return f"{number}{'th' if teen else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


def listed(words: Sequence[str], most: int) -> str:
    """`wr1`, `wr1, wr2 and 3 more`, with so many by name."""
    more = f" and {len(words) - most} more" if len(words) > most else ""
    return ", ".join(words[:most]) + more


def either(words: Sequence[str]) -> str:
    """a, a or b, a, b or c."""
    *most, last = words
    return f"{', '.join(most)} or {last}" if most else last


def duration(wait_ns: int) -> str:
    """A span of time with four digits: 640 us, 67.11 ms; from 1,000 s on in whole seconds."""
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
    packet, sender = rec.packet_of(record), node_of(record)
    if kind_of(record) is Kind.PACKET_INJECTED:
        return str(rec.injection_of(record).target)
    target = ends_of(world, packet)[1]
    others = [name for name in world.nodes if name != sender]
    if isinstance(packet, Frame) and target in ("", sender):
        return others[0] if len(others) == 1 else ""
    return target


# --------------------------------------------------------------------------- work
def wr(wr_id: int) -> str:
    """`wr7`: a work request by its wr_id."""
    return f"wr{number(wr_id)}"


def work_name(queue: str, wr_id: int, *, is_send: bool) -> str:
    """`A.qp0.recv_wr[7]`: a work request of a queue of this name, as `why` takes it.

    A large wr_id, which is a pointer in most programs, is written as `wr` writes it.
    """
    return f"{queue}.{'wr' if is_send else 'recv_wr'}[{number(wr_id)}]"


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
    row, text, timer = OPCODES.get(packet.opcode), syndrome(packet), timer_code(packet)
    answer = row is not None and row.op is Op.ACKNOWLEDGE and text is not None
    parts = [text.name if answer and text is not None else label(packet), f"psn={packet.psn}"]
    if timer is not None:
        parts.append(f"timer={timer} ({duration(RNR_NS[timer])})")
    if packet.payload:
        parts.append(f"{len(packet.payload)} B")
    elif packet.reth is not None and packet.reth.dma_length:
        parts.append(f"for {packet.reth.dma_length} B")
    return " ".join(parts)


def reason(name: str) -> str:
    """The reason a packet was refused or dropped, or what a timer waits for, as a sentence."""
    row = REFUSALS.get(name) or DROPS.get(name)
    words = _TIMERS | MALFORMED
    return row.sentence if row else words.get(name.removeprefix("malformed: "), name)


_TIMERS = {"rnr": "RNR", "ack": "ack"}


# --------------------------------------------------------------------------- records
