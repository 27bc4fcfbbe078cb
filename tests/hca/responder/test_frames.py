"""Frames that arrive: who gets them, where they lie, what they leave, what is dropped."""

import pytest

from rdmalab.hca.wr import Cqe
from rdmalab.spec.flows import FlowType
from rdmalab.spec.limits import DeviceCap
from rdmalab.spec.records import Kind
from rdmalab.spec.states import QPState, QPType
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import WCFlags, WCOpcode, WROpcode
from rdmalab.wire.frame import Frame
from rdmalab.wire.roce import encode
from tests.hca.test_steering import strict
from tests.pairs import Pair
from tests.raw import BROADCAST, raw_pair, rule, tcp_frame, udp_frame

FRAME = tcp_frame(b"hello", flags="PA")


def take(pair: Pair, octets: bytes) -> list[Cqe]:
    """A frame arrives at B; what lies on its receive CQ afterwards."""
    pair.world.begin_event()
    pair.b.hca.receive_frame(Frame(octets), pair.world.now_ns)
    return pair.b.poll(pair.b.recv_cq)


def drops(pair: Pair) -> dict[str, int]:
    return pair.b.hca.drops


def test_raw_frame_is_received_from_the_first_byte_without_grh() -> None:
    pair = raw_pair()
    rule(pair.b)
    pair.b.recv(128, wr_id=7, at=32)
    (cqe,) = take(pair, FRAME)
    assert pair.b.peek(32, len(FRAME)) == FRAME
    assert (cqe.wr_id, cqe.status, cqe.opcode) == (7, WCStatus.SUCCESS, WCOpcode.RECV)
    assert (cqe.byte_len, cqe.qp_num, cqe.src_qp) == (len(FRAME), pair.b.qp.number, 0)
    assert cqe.wc_flags == WCFlags.IP_CSUM_OK


@pytest.mark.parametrize("bit", [24 * 8, 50 * 8, 54 * 8 + 3])
def test_raw_frame_with_a_wrong_checksum_has_no_checksum_flag(bit: int) -> None:
    pair = raw_pair()
    rule(pair.b)
    pair.b.recv(128)
    harmed = bytearray(FRAME)
    harmed[bit // 8] ^= 0x80 >> bit % 8
    (cqe,) = take(pair, bytes(harmed))
    assert (cqe.status, cqe.wc_flags) == (WCStatus.SUCCESS, 0)


def test_without_the_checksum_capability_raw_frames_are_not_checked() -> None:
    bits = strict().caps.device_cap_flags & ~DeviceCap.RAW_IP_CSUM
    pair = raw_pair(profile=strict(device_cap_flags=bits))
    rule(pair.b)
    pair.b.recv(128)
    assert take(pair, FRAME)[0].wc_flags == 0


def test_raw_frame_without_a_matching_rule_is_dropped() -> None:
    pair = raw_pair()
    rule(pair.b, dst_port=81)
    pair.b.recv(128)
    assert take(pair, FRAME) == []
    assert drops(pair) == {"no-flow": 1}


def test_raw_frame_without_a_receive_is_dropped() -> None:
    pair = raw_pair()
    rule(pair.b)
    assert take(pair, FRAME) == []
    assert drops(pair) == {"no-receive": 1}
    assert pair.b.qp.state is QPState.RTS


def test_raw_frame_at_a_port_that_is_down_is_dropped() -> None:
    pair = raw_pair()
    rule(pair.b)
    pair.b.recv(128)
    pair.world.network.set_link(up=False)
    assert take(pair, FRAME) == []
    assert drops(pair) == {"port-down": 1}


def test_raw_frame_for_a_qp_before_rtr_is_dropped() -> None:
    pair = raw_pair(peer_state=QPState.INIT)
    rule(pair.b)
    pair.b.recv(128)
    assert take(pair, FRAME) == []
    assert drops(pair) == {"not-ready": 1}


def test_raw_frame_longer_than_the_receive_is_loc_len_err_and_err_state() -> None:
    pair = raw_pair()
    rule(pair.b)
    pair.b.recv(len(FRAME) - 1, wr_id=1)
    pair.b.recv(128, wr_id=2)
    assert [(c.wr_id, c.status) for c in take(pair, FRAME)] == [
        (1, WCStatus.LOC_LEN_ERR),
        (2, WCStatus.WR_FLUSH_ERR),
    ]
    assert pair.b.qp.state is QPState.ERR


def test_raw_frame_exactly_as_long_as_the_receive() -> None:
    pair = raw_pair()
    rule(pair.b)
    pair.b.recv(len(FRAME))
    assert take(pair, FRAME)[0].status is WCStatus.SUCCESS


def test_raw_frame_into_a_buffer_without_local_write() -> None:
    pair = raw_pair(mr_access=0)
    rule(pair.b)
    pair.b.recv(128)
    assert take(pair, FRAME)[0].status is WCStatus.LOC_PROT_ERR


def test_two_raw_qps_get_a_copy_of_a_frame_each() -> None:
    pair = raw_pair()
    second = pair.end("B")
    second.peer = pair.a
    pair.bring_up(second, 0, 0)
    for end in (pair.b, second):
        rule(end, dst_port=80)
        end.recv(128)
    assert len(take(pair, FRAME)) == 1
    assert len(second.poll(second.recv_cq)) == 1


# --------------------------------------------------------------------------- RDMA in disguise
def rdma(dst: str = "") -> tuple[Pair, bytes]:
    """An RC pair, and a WRITE to B as somebody would write it by hand."""
    pair = Pair()
    pair.a.issue(WROpcode.RDMA_WRITE, 8)
    pair.a.poke(0, b"by hand!")
    pair.lose("A", 1)
    pair.run(until_ns=5_000)
    (sent,) = pair.records(Kind.PACKET_SENT)
    octets = encode(sent.a)
    return pair, bytes.fromhex(dst.replace(":", "")) + octets[6:] if dst else octets


def test_a_frame_that_is_an_rdma_packet_is_carried_out() -> None:
    pair, octets = rdma()
    assert pair.b.peek(0, 8) == bytes(8)
    take(pair, octets)
    assert pair.b.peek(0, 8) == b"by hand!"
    pair.run()
    assert pair.a.sent() == [(1, WCStatus.SUCCESS)]  # and acknowledged


def test_the_icrc_of_an_injected_rdma_packet_is_checked() -> None:
    pair, octets = rdma()
    take(pair, octets[:-1] + bytes([octets[-1] ^ 1]))
    assert pair.b.peek(0, 8) == bytes(8)
    assert drops(pair) == {"malformed": 1}
    (dropped,) = pair.records(Kind.PACKET_DROPPED)
    assert dropped.b == "malformed: icrc"


def test_a_frame_for_another_mac_is_no_rdma_packet() -> None:
    pair, octets = rdma("02:00:00:00:00:99")
    take(pair, octets)
    assert drops(pair) == {"no-flow": 1}


def test_udp_to_another_port_is_no_rdma() -> None:
    pair = raw_pair()
    rule(pair.b)
    pair.b.recv(128)
    assert len(take(pair, udp_frame(dport=4790))) == 1


# --------------------------------------------------------------------------- sniffing
def test_a_sniffer_gets_a_copy_of_every_frame() -> None:
    pair = raw_pair()
    sniffer = pair.end("B")
    sniffer.peer = pair.a
    pair.bring_up(sniffer, 0, 0)
    rule(sniffer, FlowType.SNIFFER)
    rule(pair.b, dst_port=80)
    for end in (pair.b, sniffer):
        end.recv(128)
        end.recv(128)
    assert len(take(pair, FRAME)) == 1
    assert take(pair, tcp_frame(dst=BROADCAST, dport=99)) == []
    assert len(sniffer.poll(sniffer.recv_cq)) == 2
    assert drops(pair) == {}


def test_a_sniffer_gets_a_copy_of_every_rdma_packet() -> None:
    pair = Pair()
    pair.qp_type = QPType.RAW_PACKET
    sniffer = pair.end("B")
    sniffer.peer = pair.a
    pair.bring_up(sniffer, 0, 0)
    rule(sniffer, FlowType.SNIFFER)
    sniffer.recv(256)
    pair.a.poke(0, b"plain!!!")
    pair.a.issue(WROpcode.RDMA_WRITE, 8)
    pair.run()
    (cqe,) = sniffer.poll(sniffer.recv_cq)
    first = pair.records(Kind.PACKET_SENT)[0]
    assert sniffer.peek(0, cqe.byte_len) == encode(first.a)
    assert pair.a.sent() == [(1, WCStatus.SUCCESS)]  # nobody noticed
    assert sniffer.qp.state is QPState.RTS
