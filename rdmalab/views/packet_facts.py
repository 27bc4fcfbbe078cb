"""Facts of a packet on the wire, by the name of the field of a PacketRow."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from rdmalab.grammar.comparisons import fits
from rdmalab.session.names import Names
from rdmalab.spec import records as rec
from rdmalab.spec.records import Record, kind_of, node_of, object_of
from rdmalab.views import fmt
from rdmalab.views.transit_effects import ORIGINS, PACKETS
from rdmalab.world.world import World

if TYPE_CHECKING:
    from rdmalab.wire.frame import Frame
    from rdmalab.wire.packet import Packet


Fact = Callable[[World, Names, Record], Any]


def _dest_qp(world: World, names: Names, record: Record) -> str:
    packet: Packet | Frame = rec.packet_of(record)
    target = fmt.ends_of(world, packet)[1]
    return fmt.qp_name(names, target, packet.dest_qp) if packet.dest_qp else ""


def _memory(field: str) -> Fact:
    """A field of the RETH or the AtomicETH; None without one."""

    def fact(_world: World, _names: Names, record: Record) -> int | None:
        packet: Packet | Frame = rec.packet_of(record)
        header = packet.reth or packet.atomiceth
        value: int | None = getattr(header, field, None)
        return value

    return fact


def _of(header: str, field: str) -> Fact:
    """A field of a header that only some packets have."""

    def fact(_world: World, _names: Names, record: Record) -> int | None:
        found = getattr(rec.packet_of(record), header, None)
        return None if found is None else int(getattr(found, field))

    return fact


def _group(_world: World, _names: Names, record: Record) -> str:
    packet: Packet | Frame = rec.packet_of(record)
    return fmt.group_of(packet)


# What a packet says of itself, by the field of PacketRow: rows and questions are made of these.
FACTS: dict[str, Fact] = {
    "event": lambda _w, _n, r: rec.event_of(r),
    "at_ns": lambda _w, _n, r: rec.at_ns_of(r),
    "source": lambda _w, _n, r: node_of(r),
    "target": lambda w, _n, r: fmt.target_of(w, r),
    "qp": lambda _w, n, r: fmt.qp_name(n, node_of(r), object_of(r)) if object_of(r) else "",
    "dest_qp": _dest_qp,
    "opcode": lambda _w, _n, r: fmt.label(rec.packet_of(r)),
    "psn": lambda _w, _n, r: rec.packet_of(r).psn,
    "length": lambda _w, _n, r: len(rec.packet_of(r).payload),
    "ack_req": lambda _w, _n, r: rec.packet_of(r).ack_req,
    "solicited": lambda _w, _n, r: rec.packet_of(r).solicited,
    "syndrome": lambda _w, _n, r: fmt.syndrome(rec.packet_of(r)),
    "timer": lambda _w, _n, r: fmt.timer_code(rec.packet_of(r)),
    "msn": lambda _w, _n, r: a.msn if (a := rec.packet_of(r).aeth) else None,
    "va": _memory("va"),
    "rkey": _memory("rkey"),
    "dma_length": _memory("dma_length"),
    "imm_data": lambda _w, _n, r: i.imm_data if (i := rec.packet_of(r).immdt) else None,
    "qkey": _of("deth", "qkey"),
    "srqn": _of("xrceth", "srqn"),
    "inv_rkey": _of("ieth", "rkey"),
    "group": _group,
    "slid": lambda _w, _n, r: fmt.lids_of(rec.packet_of(r))[0],
    "dlid": lambda _w, _n, r: fmt.lids_of(rec.packet_of(r))[1],
    "mig_req": lambda _w, _n, r: bool(getattr(rec.packet_of(r), "migrated", False)),
    "ethertype": lambda _w, _n, r: getattr(rec.packet_of(r), "ethertype", None),
    "summary": lambda _w, _n, r: getattr(rec.packet_of(r), "summary", ""),
    "origin": lambda _w, _n, r: ORIGINS[kind_of(r)],
}


# Shorter words for them, as a line of a scenario has them.
SHORT = {"from": "source", "to": "target", "len": "length"}


def matches(world: World, names: Names, record: Record, wanted: Mapping[str, object]) -> bool:
    """Whether a record put a packet with all these facts on the cable."""
    if kind_of(record) not in PACKETS:
        return False
    return all(
        fits(FACTS[SHORT.get(name, name)](world, names, record), value)
        for name, value in wanted.items()
    )
