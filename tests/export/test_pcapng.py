"""A capture block by block, read by a reader that stands here, and what its comments say."""

import struct
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from rdmalab.command import Noun, Thing
from rdmalab.export import pcapng
from rdmalab.export.pcapng import Captured, captured
from rdmalab.lab import Lab
from rdmalab.version import VERSION
from rdmalab.wire.frame import octets_of
from tests.labs import RECV, SEND, lab_of, well

SECTION, INTERFACE, PACKET = 0x0A0D0D0A, 1, 6
HEAD = {SECTION: "<IHHq", INTERFACE: "<HHI", PACKET: "<IIIII"}
COMMENT = 1
RECV_LONG = "post_recv B.qp0 wr_id=1 sg=B.mr0[0:2048]"
SEND_LONG = "post_send A.qp0 wr_id=7 opcode=SEND sg=A.mr0[0:1201]"


class Block(NamedTuple):
    """A block as the pcapng draft has it; options by code."""

    kind: int
    head: tuple[int, ...]
    frame: bytes
    options: dict[int, bytes]

    @property
    def comment(self) -> str:
        return self.options[COMMENT].decode()


def blocks(octets: bytes) -> Iterator[Block]:
    """All blocks; every length, every pad and the end of the options must be as the draft says."""
    at = 0
    while at < len(octets):
        kind, length = struct.unpack_from("<II", octets, at)
        assert length % 4 == 0
        assert struct.unpack_from("<I", octets, at + length - 4) == (length,)
        yield _block(kind, octets[at + 8 : at + length - 4])
        at += length
    assert at == len(octets)


def _block(kind: int, body: bytes) -> Block:
    head = struct.unpack_from(HEAD[kind], body)
    at = struct.calcsize(HEAD[kind])
    frame = b""
    if kind == PACKET:
        assert head[3] == head[4]
        frame, at = body[at : at + head[3]], _aligned(body, at + head[3])
    options: dict[int, bytes] = {}
    while at < len(body):
        code, length = struct.unpack_from("<HH", body, at)
        if code == 0:
            assert (length, at + 4) == (0, len(body))
            return Block(kind, head, frame, options)
        options[code] = body[at + 4 : at + 4 + length]
        assert len(options[code]) == length
        at = _aligned(body, at + 4 + length)
    raise AssertionError("the options have no end")


def _aligned(body: bytes, at: int) -> int:
    """The next multiple of four; what is skipped is zero."""
    pad = -at % 4
    assert body[at : at + pad] == bytes(pad)
    return at + pad


def capture(lab: Lab) -> list[Block]:
    made = pcapng.capture(lab.session.world, lab.session.names)
    assert made.octets.startswith(pcapng.MAGIC)
    found = list(blocks(made.octets))
    assert [block.kind for block in found] == [SECTION, INTERFACE, INTERFACE] + (
        [PACKET] * made.frames
    )
    return found


def comments(lab: Lab) -> list[str]:
    return [block.comment for block in capture(lab)[3:]]


def tapped(lab: Lab) -> list[Captured]:
    return list(captured(lab.session.world.trace.records))


# --------------------------------------------------------------------------- blocks
def test_a_fresh_lab_is_a_section_and_its_interfaces() -> None:
    section, a, b = capture(Lab())
    assert section.head == (0x1A2B3C4D, 1, 0, -1)
    assert section.options == {4: f"rdmalab {VERSION}".encode()}
    assert a.head == b.head == (1, 0, 0)
    assert (a.options[2], b.options[2]) == (b"A", b"B")
    assert (a.options[6].hex(), b.options[6].hex()) == ("02000a000001", "02000a000002")
    assert a.options[8] == (100 * 10**9).to_bytes(8, "little")
    assert a.options[9] == b.options[9] == b"\x09"


def test_a_frame_stands_where_and_when_it_left() -> None:
    lab = lab_of("link latency=6s", RECV_LONG, SEND_LONG, "run 10s")
    world = lab.session.world
    sent = tapped(lab)
    assert len(sent) >= 4
    assert max(frame.at_ns for frame in sent) > 1 << 32  # ns: both halves of the time stamp
    assert {len(frame.octets) % 4 for frame in sent} != {0}  # something is padded
    for frame, block in zip(sent, capture(lab)[3:], strict=True):
        interface, high, low, *_ = block.head
        assert list(world.nodes)[interface] == frame.node
        assert high << 32 | low == frame.at_ns
        assert block.frame == octets_of(frame.packet) == frame.octets
        assert block.options[2] == b"\x02\0\0\0"


def test_what_does_not_fit_is_as_large_as_can_be() -> None:
    largest = (1 << 64) - 1
    lab = lab_of("link rate=99999999999999999999bps", "fault drop A->B nth=1", RECV)
    lab.session.world.advance(largest + 1)
    well(lab, SEND)
    well(lab, "step packet")
    lab.session.names.give("é" * 70_000, Thing(Noun.QP, "A", 0x11))
    _, a, _, packet = capture(lab)
    assert int.from_bytes(a.options[8], "little") == largest
    assert packet.head[1:3] == (0xFFFFFFFF, 0xFFFFFFFF)
    assert len(packet.options[COMMENT]) == 0xFFFE  # a letter has two bytes
    assert packet.comment.endswith("éé")


def test_the_same_world_is_the_same_capture() -> None:
    first, second = (
        pcapng.capture(lab.session.world, lab.session.names)
        for lab in (lab_of(RECV, SEND, "run"), lab_of(RECV, SEND, "run"))
    )
    assert first == second


# --------------------------------------------------------------------------- what comments say
def test_a_message_and_its_ack() -> None:
    assert comments(lab_of(RECV_LONG, SEND_LONG, "run")) == [
        "event 16 · A.qp0 wr7 SEND 1201 B (packet 1 of 3) · arrives 1.146 us",
        "event 17 · A.qp0 wr7 SEND 1201 B (packet 2 of 3) · arrives 1.192 us",
        "event 18 · A.qp0 wr7 SEND 1201 B (packet 3 of 3) · arrives 1.212 us",
        "event 22 · B.qp0 answers ACK psn=2 to A.qp0 wr7 SEND 1201 B · arrives 2.317 us",
    ]


def test_a_frame_under_way_is_there() -> None:
    (comment,) = comments(lab_of(RECV, SEND, "step packet"))
    assert comment == "event 16 · A.qp0 wr1 SEND 64 B · in flight, arrives 1.110 us"


def test_a_lost_frame_is_captured_with_a_comment() -> None:
    lab = lab_of(RECV, "fault drop A->B nth=1", SEND, "run")
    first, again, _ = comments(lab)
    assert first.endswith("A.qp0 wr1 SEND 64 B · lost on the cable: fault 1: drop A->B nth=1")
    assert "A.qp0 wr1 SEND 64 B, sent again · arrives" in again


def test_a_harmed_frame_stands_in_the_place_of_the_good_one() -> None:
    lab = lab_of(RECV, "fault corrupt A->B nth=1 byte=60 bit=3", SEND, "run")
    first, again, ack = tapped(lab)
    assert (first.corrupted, again.corrupted, ack.corrupted) == (True, False, False)
    assert first.octets[60] == octets_of(first.packet)[60] ^ 1 << 3
    assert again.octets == octets_of(again.packet)
    assert capture(lab)[3].frame == first.octets
    assert comments(lab)[0].endswith(
        "SEND 64 B · corrupted on the cable: bit 3 of byte 60 flipped · dropped: the ICRC is wrong"
    )


def test_two_faults_harm_twice() -> None:
    faults = ("fault corrupt A->B nth=1 byte=60", "fault corrupt A->B nth=1 byte=61 bit=7")
    lab = lab_of(RECV, *faults, SEND, "run")
    assert "bit 0 of byte 60, bit 7 of byte 61 flipped" in comments(lab)[0]


def test_two_faults_may_undo_each_other() -> None:
    lab = lab_of(RECV, *["fault corrupt A->B nth=1 byte=60"] * 2, SEND, "run")
    assert (
        "wr1 SEND 64 B · corrupted on the cable: bits flipped twice, bytes unchanged · arr"
        in comments(lab)[0]
    )


def test_a_frame_to_an_unknown_address_is_lost_on_the_cable() -> None:
    lab = lab_of(RECV, "gid add B 10.0.0.9")
    world = lab.session.world
    for gid in [gid for gid, node in world.network.node_of_gid.items() if node == "B"]:
        del world.network.node_of_gid[gid]
    well(lab, SEND)
    well(lab, "step packet")
    assert comments(lab)[0].endswith("lost on the cable: no port has this address")


@pytest.mark.parametrize("pair", ["use rc_pair", "use raw_pair"])
def test_what_never_left_is_not_there_but_counted(pair: str) -> None:
    send = SEND.replace(" flags=SIGNALED", "")
    lab = lab_of(RECV, send, "run 5us", "port A DOWN", send, "run 5us", pair=pair)
    before = len(tapped(lab))
    made = pcapng.capture(lab.session.world, lab.session.names)
    assert before == made.frames >= 1
    assert made.never_left == 1
    section = capture(lab)[0]
    assert section.comment == ("1 frame is not captured: the port was not ACTIVE")


def test_comment_of_a_response_to_no_request() -> None:
    lab = lab_of(RECV)
    (qp,) = lab.session.world.nodes["B"].qps.items.values()
    qp.resp.psn = 0xFFFFF0
    well(lab, SEND)
    well(lab, "run 5us")
    assert comments(lab)[1].startswith("event 18 · B.qp0 sends NAK_SEQUENCE psn=16777200 · ")


def test_of_several_receivers_one_harmed_copy_is_what_is_shown() -> None:
    lab = Lab({"A": "strict", "B": "strict", "C": "strict"})
    for line in ("use ud_pair", "fault corrupt A->C nth=1 byte=70"):
        well(lab, line)
    well(
        lab,
        "create_ah A.ah9 pd=A.pd0 is_global=1 dgid=224.1.2.3 sgid_index=1 hop_limit=1 port_num=1",
    )
    group = "ah=A.ah9 remote_qpn=0xffffff remote_qkey=1"
    well(lab, f"post_send A.qp0 opcode=SEND sg=A.mr0[0:8] {group}")
    well(lab, "run")
    (frame,) = tapped(lab)
    assert frame.corrupted
    assert [n for n, octet in enumerate(octets_of(frame.packet)) if octet != frame.octets[n]] == [
        70
    ]
