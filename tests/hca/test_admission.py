"""What a port drops before any engine sees it: silence, a counter, and nothing else."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, ClassVar

import pytest

from rdmalab.hca import modify, port, qp_lifecycle
from rdmalab.hca.attributes import QpAttr
from rdmalab.spec.limits import PortState
from rdmalab.spec.opcodes import BY_LABEL, OPCODES
from rdmalab.spec.refusals import DROPS
from rdmalab.spec.states import QPState
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import WROpcode
from rdmalab.wire.checksum import icrc
from rdmalab.wire.headers import AETH
from rdmalab.wire.packet import EXTENDED, LidFlow, Packet
from rdmalab.world.faults import Match
from rdmalab.world.transit import Transit
from tests.pairs import End, Pair, image

PARTIAL, OTHER, NO_PKEY = 0x7FFF, 0x8001, 0x8000


def changed(**fields: Any) -> Callable[[End, Packet], Packet]:
    return lambda _b, packet: replace(packet, **fields)


def to_nobody(_b: End, packet: Packet) -> Packet:
    return replace(packet, flow=replace(packet.flow, dst=packet.flow.dst + 9))


def by_lid(_b: End, packet: Packet) -> Packet:
    return replace(packet, flow=LidFlow(2, 4))


def from_a_stranger(_b: End, packet: Packet) -> Packet:
    return replace(packet, flow=replace(packet.flow, src=packet.flow.src + 9))


def into(state: QPState) -> Callable[[End, Packet], Packet]:
    """B's QP is in another state when the packet arrives."""

    def prepare(b: End, packet: Packet) -> Packet:
        b.modify(qp_state=QPState.RESET)
        if state is QPState.INIT:
            b.modify(qp_state=state, pkey_index=0, port_num=1, qp_access_flags=0)
        return packet

    return prepare


def into_error(b: End, packet: Packet) -> Packet:
    b.modify(qp_state=QPState.ERR)
    return packet


def port_down(b: End, packet: Packet) -> Packet:
    port.set_state(b.hca, PortState.DOWN)
    return packet


# In the order of asking; the rows of one reason stand together.
# fmt: off
ROWS = [
    ("port-down",      "the port is not ACTIVE",    port_down),
    ("wrong-link-layer", "InfiniBand at a RoCE port", by_lid),
    ("wrong-address",  "not our address",           to_nobody),
    ("unknown-opcode", "reserved",                  changed(opcode=0x15)),
    ("unknown-opcode", "of a service of the future", changed(opcode=0xE4)),
    ("wrong-qpn",      "QP 0",                      changed(dest_qp=0)),
    ("wrong-qpn",      "no such QP",                changed(dest_qp=0xABCDEF)),
    ("no-group",       "a group with no member",    changed(dest_qp=0xFFFFFF)),
    ("wrong-type",     "UC to RC",                  changed(opcode=0x24)),
    ("wrong-type",     "UD to RC",                  changed(opcode=0x64)),
    ("wrong-type",     "XRC to RC",                 changed(opcode=0xA4)),
    ("not-ready",      "RESET",                     into(QPState.RESET)),
    ("not-ready",      "INIT",                      into(QPState.INIT)),
    ("not-ready",      "ERR",                       into_error),
    ("wrong-source",   "not the peer's address",    from_a_stranger),
    ("pkey",           "another partition",         changed(pkey=OTHER)),
    ("pkey",           "the invalid partition",     changed(pkey=NO_PKEY)),
]
# fmt: on


@pytest.mark.parametrize(("reason", "case", "spoil"), ROWS)
def test_packet_dropped_at_the_port_without_answer(
    reason: str, case: str, spoil: Callable[[End, Packet], Packet]
) -> None:
    pair = Pair()
    b = pair.b
    b.recv()
    packet = spoil(b, b.incoming("SEND_ONLY", 0, b"12345678", ack_req=True))
    pair.run()
    b.events()
    b.received()
    before, records = image(b.qp), len(pair.world.trace.records)
    b.inject(packet)
    pair.run()
    assert image(b.qp) == before, case
    assert pair.wire_lines() == []
    assert b.hca.drops == {reason: 1}
    assert len(pair.world.trace.records) == records + 1
    assert b.peek(0, 8) == bytes(8)
    assert b.received() == []
    assert b.events() == []


def test_admission_checks_are_made_in_the_order_of_the_rows() -> None:
    """What is wrong twice is dropped for the first reason."""
    for (first, _, spoil_first), (second, _, spoil_second) in combinations(ROWS, 2):
        pair = Pair()
        packet = pair.b.incoming("SEND_ONLY", 0)
        packet = spoil_first(pair.b, spoil_second(pair.b, packet))
        pair.b.inject(packet)
        assert list(pair.b.hca.drops) == [first], (first, second)


def test_every_reason_of_a_port_has_its_row() -> None:
    engines = {
        "dying", "duplicate-gone", "sequence-gap", "rnr-wait", "unexpected-ack", "rest-of-message",
        "no-flow",
    }  # fmt: skip
    assert {reason for reason, _, _ in ROWS} == set(DROPS) - engines - {"malformed", "qkey"}


@pytest.mark.parametrize("pkey", [0xFFFF, PARTIAL])
def test_pkey_matches_if_one_end_is_a_full_member(pkey: int) -> None:
    pair = Pair()
    pair.b.recv()
    pair.b.takes("SEND_ONLY", 0, pkey=pkey)
    assert pair.b.received() == [(1, WCStatus.SUCCESS)]


def test_pkey_of_two_limited_members_does_not_match() -> None:
    pair = Pair()
    assert pair.b.qp.path
    pair.b.qp.path.pkey = PARTIAL
    pair.b.takes("SEND_ONLY", 0, pkey=PARTIAL)
    assert pair.b.hca.drops == {"pkey": 1}
    pair.b.takes("SEND_ONLY", 0, pkey=0xFFFF)
    assert pair.b.hca.drops == {"pkey": 1}


# --------------------------------------------------------------------------- states
REQUEST, ANSWER = "SEND_ONLY", "ACKNOWLEDGE"


@pytest.mark.parametrize(
    ("state", "hears"),
    [(QPState.RTR, {REQUEST}), (QPState.RTS, {REQUEST, ANSWER}), (QPState.SQD, {REQUEST, ANSWER})],
)
def test_requests_are_admitted_from_rtr_and_responses_from_rts(
    state: QPState, hears: set[str]
) -> None:
    pair = Pair(peer_state=min(state, QPState.RTS))
    if state is QPState.SQD:
        pair.b.modify(qp_state=state)
    for label in (REQUEST, ANSWER):
        pair.b.takes(label, 0, aeth=AETH(0, 0) if label == ANSWER else None)
        assert ("not-ready" in pair.b.hca.drops) is (label not in hears)


BEGINNINGS = [BY_LABEL[label][0] for label in ("SEND_FIRST", "RDMA_WRITE_FIRST", "FETCH_ADD")]


def whole(b: End, opcode: int, psn: int, payload: bytes) -> Packet:
    """A packet with all the headers of its opcode; they hold zeros."""
    names = OPCODES[opcode].headers if opcode in OPCODES else ()
    headers = {name: EXTENDED[name](*[0] * len(EXTENDED[name].FIELDS)) for name in names}
    return replace(b.incoming("SEND_ONLY", psn, payload, **headers), opcode=opcode)


@pytest.mark.parametrize("opcode", sorted({0x15, *OPCODES}))
def test_every_opcode_is_admitted_or_dropped_without_error(opcode: int) -> None:
    """Whatever arrives, in the middle of anything, is dropped, refused or done."""
    for beginning in BEGINNINGS:
        for psn in (0, 1, 0x800, 0x801, 0x802):  # of requests to come, of answers owed
            pair = Pair(access=0x30F, mr_access=0x30F)
            pair.b.recv(1024)
            pair.b.issue(WROpcode.SEND)
            pair.b.issue(WROpcode.RDMA_READ)
            pair.b.issue(WROpcode.ATOMIC_FETCH_AND_ADD)
            pair.run(until_ns=500)
            pair.b.inject(whole(pair.b, beginning, 0, bytes(256)))
            pair.b.inject(whole(pair.b, opcode, psn, b"y"))
            pair.run(until_ns=1_000_000)


# --------------------------------------------------------------------------- bytes that are none
@dataclass
class Rewrite:
    """A fault that changes a whole frame; with `healed` its ICRC is right again."""

    watches: ClassVar[bool] = False
    number: int
    change: Callable[[bytearray], bytearray]
    healed: bool

    def __post_init__(self) -> None:
        self.match = Match(source="A", nth=1)

    def apply(self, transit: Transit) -> None:
        harmed = bytes(self.change(bytearray(transit.octets)))
        if self.healed:
            harmed = harmed[:-4] + icrc(harmed[14:-4]).to_bytes(4, "little")
        transit.frame, transit.corrupted = harmed, True

    def passed_through(self, transit: Transit) -> None:
        pass


def flip(byte: int, mask: int) -> Callable[[bytearray], bytearray]:
    def change(frame: bytearray) -> bytearray:
        frame[byte] ^= mask
        return frame

    return change


BTH = 14 + 20 + 8


@pytest.mark.parametrize(
    ("case", "change", "healed"),
    [
        ("icrc", flip(BTH + 12, 1), False),
        ("icrc", flip(-1, 0x80), False),
        ("too-short", lambda frame: frame[: BTH + 4], False),
        ("tver", flip(BTH + 1, 0x01), True),
        ("opcode", flip(BTH, 0x11), True),
    ],
)
def test_a_malformed_frame_is_counted_and_retransmitted(
    case: str, change: Callable[[bytearray], bytearray], healed: bool
) -> None:
    pair = Pair()
    pair.world.network.cable.faults.append(Rewrite(1, change, healed))
    pair.b.recv()
    pair.a.issue(WROpcode.SEND)
    pair.run()
    assert pair.b.hca.drops == {"malformed": 1}, case
    assert pair.a.sent() == pair.b.received() == [(1, WCStatus.SUCCESS)]
    assert pair.sent_by("A") == ["SEND_ONLY psn=0 8 bytes"] * 2


def test_a_packet_for_a_destroyed_qp_is_dropped() -> None:
    pair = Pair()
    pair.a.issue(WROpcode.SEND)
    pair.run(until_ns=500)
    qp_lifecycle.destroy_qp(pair.b.hca, pair.b.qp)
    pair.run(until_ns=5000)
    assert pair.b.hca.drops == {"wrong-qpn": 1}
    modify.modify(pair.a.hca, pair.a.qp, QpAttr(qp_state=QPState.RESET))
