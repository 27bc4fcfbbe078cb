"""Checksums filled in and streams cut by the device: who may ask, what leaves."""

from dataclasses import replace
from errno import EFAULT, EINVAL, EOPNOTSUPP
from typing import Any

import pytest
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import Ether

from rdmalab.command import Refused
from rdmalab.hca import qp_lifecycle
from rdmalab.hca.qp import Capacity, QueuePair
from rdmalab.hca.wr import SendWR
from rdmalab.spec.limits import DeviceCap
from rdmalab.spec.profiles import MLX5, RXE, STRICT, Profile
from rdmalab.spec.records import Kind
from rdmalab.spec.states import QPState, QPType
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import SendFlags, WCFlags, WROpcode
from tests.hca.test_steering import strict
from tests.pairs import Pair
from tests.raw import ethernet, raw_pair, rule, tcp_frame, udp_frame

CSUM = SendFlags.SIGNALED | SendFlags.IP_CSUM
HDR = bytes(
    ethernet() / IP(src="10.0.0.1", dst="10.0.0.2", len=0, chksum=0)
    / TCP(sport=1, dport=80, seq=5, flags="PA", chksum=0)
)  # fmt: skip
IPOIB = b"\x08\0\0\0" + HDR[14:]
HDR_AT, DATA_AT = 0, 256
DATA = bytes(range(250))


def sent(pair: Pair) -> list[Any]:
    return [record.a for record in pair.records(Kind.PACKET_SENT, node="A")]


def send_frame(pair: Pair, octets: bytes, flags: SendFlags = SendFlags.SIGNALED) -> bytes:
    """What leaves for these bytes in memory."""
    pair.a.poke(0, octets)
    pair.a.issue(WROpcode.SEND, len(octets), flags=flags)
    pair.run()
    (frame,) = sent(pair)
    return bytes(frame.payload)


def without_sums(octets: bytes) -> bytes:
    packet = Ether(octets)
    packet[IP].chksum = 0xAAAA
    packet[IP].payload.chksum = 0xBBBB
    return bytes(packet)


# --------------------------------------------------------------------------- checksums
@pytest.mark.parametrize("made", [tcp_frame(b"hello"), udp_frame(b"hello!")])
def test_checksum_offload_fills_in_the_checksums(made: bytes) -> None:
    assert send_frame(raw_pair(), without_sums(made), CSUM) == made


def test_checksum_offload_not_requested_leaves_the_bytes() -> None:
    spoiled = without_sums(tcp_frame(b"hello"))
    assert send_frame(raw_pair(), spoiled) == spoiled


def test_checksum_offload_of_a_ud_qp_after_the_ipoib_header() -> None:
    pair = Pair(qp_type=QPType.UD)
    pair.b.recv(256)
    spoiled, made = without_sums(tcp_frame(b"hello")), tcp_frame(b"hello")
    assert send_frame(pair, b"\x08\0\0\0" + spoiled[14:], CSUM)[4:] == made[14:]
    (cqe,) = pair.b.poll(pair.b.recv_cq)
    assert cqe.wc_flags == WCFlags.GRH | WCFlags.IP_CSUM_OK


@pytest.mark.parametrize(
    ("qp_type", "bit"),
    [(QPType.RAW_PACKET, DeviceCap.RAW_IP_CSUM), (QPType.UD, DeviceCap.UD_IP_CSUM)],
)
def test_checksum_offload_without_capability_is_refused(qp_type: QPType, bit: DeviceCap) -> None:
    less = strict(device_cap_flags=STRICT.caps.device_cap_flags & ~bit)
    for profile, says in ((less, "ip-csum"), (STRICT, None), (MLX5, None)):
        pair = Pair(qp_type=qp_type, profile=profile)
        wr = pair.a.wr(WROpcode.SEND, 64, flags=CSUM)
        assert refusal(pair, wr) == ((says, EINVAL) if says else None)


def test_checksum_offload_of_soft_roce_is_ignored() -> None:
    pair = Pair(qp_type=QPType.UD, profile=RXE)
    spoiled = b"\x08\0\0\0" + without_sums(tcp_frame(b"hello"))[14:]
    assert send_frame(pair, spoiled, CSUM) == spoiled


def refusal(pair: Pair, wr: SendWR) -> tuple[str, int] | None:
    try:
        pair.a.post(wr)
    except Refused as refused:
        return refused.rule, refused.errno
    return None


# --------------------------------------------------------------------------- lengths of a frame
@pytest.mark.parametrize(
    ("length", "status"),
    [
        (13, WCStatus.LOC_LEN_ERR),
        (14, WCStatus.SUCCESS),
        (4096 + 14, WCStatus.SUCCESS),
        (4096 + 15, WCStatus.LOC_LEN_ERR),
    ],
)
def test_raw_frame_length_limits(length: int, status: WCStatus) -> None:
    pair = raw_pair()
    pair.a.issue(WROpcode.SEND, length)
    pair.a.issue(WROpcode.SEND, 64, wr_id=2)
    pair.run()
    good = status is WCStatus.SUCCESS
    assert pair.a.sent() == [(1, status), (2, WCStatus.SUCCESS if good else WCStatus.WR_FLUSH_ERR)]
    assert pair.a.qp.state is (QPState.RTS if good else QPState.SQE)
    assert len(sent(pair)) == (2 if good else 0)


def test_raw_inline_is_copied_when_posted() -> None:
    pair = raw_pair()
    made = tcp_frame(b"early")[:60]
    pair.a.poke(0, made)
    pair.a.issue(WROpcode.SEND, len(made), flags=SendFlags.INLINE)
    pair.a.poke(0, bytes(64))
    pair.run()
    assert [frame.octets for frame in sent(pair)] == [made]


def test_raw_send_with_an_invalid_lkey_enters_sqe_and_rts_resumes() -> None:
    pair = raw_pair()
    pair.a.post(pair.a.wr(WROpcode.SEND, 64, sg=[pair.a.sge(0, 64, lkey=1)]))
    pair.run()
    assert pair.a.sent() == [(1, WCStatus.LOC_PROT_ERR)]
    assert pair.a.qp.state is QPState.SQE
    pair.a.modify(qp_state=QPState.RTS)
    pair.a.issue(WROpcode.SEND, 64)
    pair.run()
    assert pair.a.sent() == [(1, WCStatus.SUCCESS)]


# --------------------------------------------------------------------------- TSO
def tso_pair(qp_type: QPType = QPType.RAW_PACKET, profile: Profile = STRICT) -> Pair:
    pair = Pair(qp_type=qp_type, profile=profile)
    pair.a.qp.max_tso_header = 64
    pair.a.poke(HDR_AT, HDR if qp_type is QPType.RAW_PACKET else IPOIB)
    pair.a.poke(DATA_AT, DATA)
    return pair


def tso(pair: Pair, length: int = 250, mss: int = 100, **fields: Any) -> SendWR:
    size = len(HDR) if pair.a.qp.service is None else len(IPOIB)
    given = {"hdr_addr": pair.a.mr.addr + HDR_AT, "hdr_sz": size, "mss": mss, **fields}
    return pair.a.wr(WROpcode.TSO, length, at=DATA_AT, **given)


def test_tso_on_a_raw_qp_leaves_in_frames_and_completes_once() -> None:
    pair = tso_pair()
    rule(pair.b)
    for at in range(3):
        pair.b.recv(256, at=256 * at)
    pair.a.post(tso(pair))
    pair.run()
    packets = [Ether(frame.octets) for frame in sent(pair)]
    assert [packet[TCP].seq for packet in packets] == [5, 105, 205]
    assert b"".join(bytes(packet[TCP].payload) for packet in packets) == DATA
    (cqe,) = pair.a.poll(pair.a.send_cq)
    assert (cqe.status, cqe.opcode) == (WCStatus.SUCCESS, 7)
    assert [c.wc_flags for c in pair.b.poll(pair.b.recv_cq)] == [WCFlags.IP_CSUM_OK] * 3


def test_tso_on_a_ud_qp_leaves_in_datagrams() -> None:
    pair = tso_pair(QPType.UD)
    for at in range(3):
        pair.b.recv(256, at=256 * at)
    pair.a.post(tso(pair))
    pair.run()
    packets = [IP(packet.payload[4:]) for packet in sent(pair)]
    assert [packet.psn for packet in sent(pair)] == [0, 1, 2]
    assert b"".join(bytes(packet[TCP].payload) for packet in packets) == DATA
    assert pair.a.sent() == [(1, WCStatus.SUCCESS)]
    lengths = [c.byte_len for c in pair.b.poll(pair.b.recv_cq)]
    assert lengths == [84 + 100, 84 + 100, 84 + 50]


def test_tso_next_request_waits_for_the_last_segment() -> None:
    pair = tso_pair(QPType.UD)
    pair.a.post(tso(pair), pair.a.wr(WROpcode.SEND, 8, wr_id=2))
    pair.run()
    assert [(packet.psn, len(packet.payload)) for packet in sent(pair)] == [
        (0, 144), (1, 144), (2, 94), (3, 8),
    ]  # fmt: skip
    assert pair.a.sent() == [(1, WCStatus.SUCCESS), (2, WCStatus.SUCCESS)]


def test_tso_header_is_copied_when_posted_and_data_read_when_sent() -> None:
    pair = tso_pair()
    pair.a.post(tso(pair))
    pair.a.poke(HDR_AT, bytes(54))
    pair.a.poke(DATA_AT, b"Z" * 250)
    pair.run()
    packets = [Ether(frame.octets) for frame in sent(pair)]
    assert {packet[IP].dst for packet in packets} == {"10.0.0.2"}
    assert bytes(packets[0][TCP].payload) == b"Z" * 100


@pytest.mark.parametrize("qp_type", [QPType.RAW_PACKET, QPType.UD])
def test_tso_segments_larger_than_the_mtu(qp_type: QPType) -> None:
    pair = tso_pair(qp_type)
    pair.a.post(tso(pair, 8000, mss=4096))
    pair.run()
    assert sent(pair) == []
    raw = qp_type is QPType.RAW_PACKET
    assert pair.a.sent() == [(1, WCStatus.LOC_LEN_ERR if raw else WCStatus.SUCCESS)]


@pytest.mark.parametrize(
    ("rule_", "errno", "fields"),
    [
        ("tso-header-length", EINVAL, {"hdr_sz": 0}),
        ("tso-header-length", EINVAL, {"hdr_sz": 65}),
        ("tso-mss", EINVAL, {"mss": 0}),
        ("tso-headers", EINVAL, {"hdr_sz": 53}),
        ("tso-headers", EINVAL, {"hdr_sz": 55}),
        ("crash-hdr", EFAULT, {"hdr_addr": 8}),
        ("inline-opcode", EINVAL, {"flags": SendFlags.INLINE}),
    ],
)
def test_tso_refused(rule_: str, errno: int, fields: dict[str, Any]) -> None:
    pair = tso_pair()
    length = 32 if "flags" in fields else 250
    assert refusal(pair, tso(pair, length, **fields)) == (rule_, errno)
    assert pair.a.qp.sq.posted == 0


def test_tso_limit_of_the_device() -> None:
    pair = tso_pair(profile=strict(max_tso=249))
    assert refusal(pair, tso(pair)) == ("tso-length", EINVAL)
    assert refusal(pair, tso(pair, 249)) is None


def test_tso_needs_max_tso_header() -> None:
    pair = tso_pair()
    pair.a.qp.max_tso_header = 0
    assert refusal(pair, tso(pair)) == ("tso-header-length", EINVAL)


def test_tso_on_a_device_without_it() -> None:
    pair = tso_pair(profile=strict(max_tso=0))
    assert refusal(pair, tso(pair)) == ("opcode-support", EOPNOTSUPP)


def test_tso_on_soft_roce_fails_when_executed() -> None:
    pair = tso_pair(QPType.UD, RXE)
    assert refusal(pair, tso(pair)) is None
    pair.run()
    assert pair.a.sent() == [(1, WCStatus.LOC_QP_OP_ERR)]
    assert pair.a.qp.state is QPState.ERR


@pytest.mark.parametrize(
    ("qp_type", "profile", "asked", "says"),
    [
        (QPType.RAW_PACKET, STRICT, 512, None),
        (QPType.UD, STRICT, 58, None),
        (QPType.RAW_PACKET, STRICT, 513, ("qp-cap", EINVAL)),
        (QPType.RC, STRICT, 54, ("tso-type", EINVAL)),
        (QPType.UD, RXE, 54, ("tso-support", EOPNOTSUPP)),
        (QPType.UD, RXE, 0, None),
    ],
)
def test_tso_max_tso_header_granted(
    qp_type: QPType, profile: Profile, asked: int, says: tuple[str, int] | None
) -> None:
    pair = Pair(profile=profile)

    def make() -> QueuePair:
        return qp_lifecycle.create_qp(
            pair.a.hca, qp_type, 1, 1, 1, Capacity(), sig_all=True, max_tso_header=asked
        )

    if says is None:
        assert make().max_tso_header == asked
        return
    with pytest.raises(Refused) as refused:
        make()
    assert (refused.value.rule, refused.value.errno) == says


def test_tso_of_udp_is_refused() -> None:
    pair = tso_pair()
    pair.a.poke(HDR_AT, bytes(ethernet() / IP() / UDP()))
    assert refusal(pair, replace(tso(pair), hdr_sz=42)) == ("tso-headers", EINVAL)
