"""A capture of InfiniBand ports: link type 247, read by tshark and by CRCs that are not ours."""

import struct
from pathlib import Path

from rdmalab.export import pcapng
from rdmalab.export.pcapng import captured
from rdmalab.lab import Lab
from rdmalab.wire.packet import LidFlow, Packet
from tests.export.test_pcapng import INTERFACE, PACKET, blocks
from tests.labs import lab_of, well
from tests.peers.tshark import BASE, dissected, number
from tests.tools import needs
from tests.wire.test_infiniband import mended

LINKTYPE_INFINIBAND, IF_MAC, IF_EUI = 247, 6, 7
LRH = {
    "vl": "infiniband.lrh.vl", "lver": "infiniband.lrh.lver", "sl": "infiniband.lrh.sl",
    "lnh": "infiniband.lrh.lnh", "dlid": "infiniband.lrh.dlid", "length": "infiniband.lrh.pktlen",
    "slid": "infiniband.lrh.slid",
}  # fmt: skip
GRH = {
    "traffic_class": "infiniband.grh.tclass", "flow_label": "infiniband.grh.flowlabel",
    "hop_limit": "infiniband.grh.hoplmt", "next": "infiniband.grh.nxthdr",
    "length": "infiniband.grh.paylen",
}  # fmt: skip
ICRC, VCRC = "infiniband.invariant.crc", "infiniband.variant.crc"
COLUMNS = [*BASE.values(), *LRH.values(), *GRH.values(), ICRC, VCRC, "frame.comment"]


def busy_lab() -> Lab:
    """Requests of every kind on one path, then on the other; datagrams with and without a GRH."""
    alternate = "alt_pkey_index=0 alt_port_num=1 alt_timeout=8 path_mig_state=REARM"
    return lab_of(
        f"modify_qp A.qp0 alt_ah=B {alternate}",
        f"modify_qp B.qp0 alt_ah=A {alternate}",
        "post_recv B.qp0 sg=B.mr0[0:2048]",
        "post_send A.qp0 opcode=SEND sg=A.mr0[0:1201] flags=SIGNALED",
        "run",
        "fault drop dlid=4",
        "post_send A.qp0 opcode=RDMA_WRITE sg=A.mr0[0:700] remote=B.mr0[0] flags=SIGNALED",
        "post_send A.qp0 opcode=RDMA_READ sg=A.mr0[0:700] remote=B.mr0[0] flags=SIGNALED",
        "post_send A.qp0 opcode=ATOMIC_FETCH_AND_ADD sg=A.mr0[0:8] remote=B.mr0[0] compare_add=1",
        "run",
        "fault clear",
        "use ud_pair",
        "create_ah A.routed pd=A.pd1 dlid=4 is_global=1 dgid=fe80::200:aff:fe00:2 sgid_index=0"
        " hop_limit=3 flow_label=0x12345 traffic_class=9 sl=5 port_num=1",
        "post_send A.qp1 opcode=SEND sg=A.mr1[0:5] ah=A.ah1 remote_qpn=B.qp1 remote_qkey=1",
        "post_send A.qp1 opcode=SEND sg=A.mr1[0:5] ah=A.routed remote_qpn=B.qp1 remote_qkey=1",
        "run",
        pair="use rc_pair link_layer=InfiniBand retry_cnt=1 timeout=8",
    )


def test_an_interface_says_what_its_packets_are() -> None:
    lab = lab_of(pair="port A link_layer=InfiniBand")
    session = lab.session
    octets = pcapng.capture(session.world, session.names).octets
    a, b = (block for block in blocks(octets) if block.kind == INTERFACE)
    assert (a.head[0], b.head[0]) == (LINKTYPE_INFINIBAND, 1)
    assert a.options[IF_EUI].hex() == "02000afffe000001"
    assert IF_MAC not in a.options
    assert IF_MAC in b.options


def test_every_packet_has_the_crcs_of_its_bytes() -> None:
    session = busy_lab().session
    octets = pcapng.capture(session.world, session.names).octets
    frames = [block.frame for block in blocks(octets) if block.kind == PACKET]
    assert len(frames) >= 20
    assert all(mended(frame) == frame for frame in frames)


# tshark 4.0 has the dissector and does not know the number 247: link type USER0 is given to it.
USER0 = 147
AS_INFINIBAND = ["-o", 'uat:user_dlts:"User 0 (DLT=147)","infiniband","0","","0",""']
MALFORMED = "_ws.malformed || _ws.expert.severity >= 8388608"


def as_user_type(octets: bytes) -> bytes:
    """The same capture with link type USER0 on its interfaces; nothing else differs."""
    interface = (INTERFACE, LINKTYPE_INFINIBAND)
    at, made = 0, bytearray(octets)
    while at < len(octets):
        kind, length, link_type = struct.unpack_from("<IIH", octets, at)
        if (kind, link_type) == interface:
            struct.pack_into("<H", made, at + 8, USER0)
        at += length
    return bytes(made)


@needs("tshark")
def test_tshark_reads_what_we_mean(tmp_path: Path) -> None:
    session = busy_lab().session
    path = tmp_path / "ib.pcapng"
    path.write_bytes(as_user_type(pcapng.capture(session.world, session.names).octets))
    sent = list(captured(session.world.trace.records))
    seen = dissected(path, COLUMNS, AS_INFINIBAND)
    assert dissected(path, ["frame.number"], [*AS_INFINIBAND, "-Y", MALFORMED]) == []
    assert len(seen) == len(sent)
    for frame, fields in zip(sent, seen, strict=True):
        assert isinstance(frame.packet, Packet)
        check(frame.packet, frame.octets, fields)


def check(packet: Packet, octets: bytes, fields: dict[str, str]) -> None:
    flow = packet.flow
    assert isinstance(flow, LidFlow)
    for ours, theirs in BASE.items():
        assert number(fields[theirs]) == getattr(packet, ours), ours
    lrh = {
        "vl": 0, "lver": 0, "sl": flow.sl, "lnh": 3 if flow.has_grh else 2, "dlid": flow.dst,
        "length": (len(octets) - 2) // 4, "slid": flow.src,
    }  # fmt: skip
    assert {name: number(fields[theirs]) for name, theirs in LRH.items()} == lrh
    if flow.has_grh:
        grh = {
            "traffic_class": 9, "flow_label": 0x12345, "hop_limit": 3, "next": 0x1B,
            "length": len(octets) - 8 - 40 - 2,
        }  # fmt: skip
        assert {name: number(fields[theirs]) for name, theirs in GRH.items()} == grh
    assert number(fields[ICRC]) == int.from_bytes(octets[-6:-2], "big")
    assert number(fields[VCRC]) == int.from_bytes(octets[-2:], "big")


def test_a_harmed_packet_stands_there_as_it_went_on() -> None:
    lab = lab_of("fault corrupt A->B byte=20", pair="use rc_pair link_layer=InfiniBand")
    well(lab, "post_send A.qp0 opcode=SEND sg=A.mr0[0:8]")
    well(lab, "run 2us")
    session = lab.session
    octets = pcapng.capture(session.world, session.names).octets
    (block,) = (block for block in blocks(octets) if block.kind == PACKET)
    assert "bit 0 of byte 20 flipped" in block.comment
    assert "the VCRC is wrong" in block.comment
