"""Addresses: what makes one, and the flow that it gives to packets."""

from dataclasses import replace
from errno import EINVAL, ENODATA
from typing import Any

import pytest

from rdmalab.command import Refused
from rdmalab.hca import ah, lifecycle
from rdmalab.hca.attributes import AhAttr
from rdmalab.hca.wr import Cqe
from rdmalab.lab import Lab
from rdmalab.spec.limits import LinkLayer
from rdmalab.spec.states import MTU, QPState, QPType
from rdmalab.spec.work import WCFlags, WROpcode
from rdmalab.wire.headers import GRH
from rdmalab.wire.packet import LidFlow, ipv4_gid
from tests.labs import refusal, well
from tests.pairs import Pair

GOOD = AhAttr(is_global=1, dgid=ipv4_gid("10.0.0.2"), sgid_index=1, hop_limit=64, port_num=1)


@pytest.mark.parametrize(
    ("bad", "rule", "errno"),
    [
        ({"port_num": 2}, "ah-port", EINVAL),
        ({"is_global": 0}, "ah-global", EINVAL),
        ({"sgid_index": 200}, "ah-sgid-index", EINVAL),
        ({"sgid_index": 7}, "ah-sgid-empty", ENODATA),
        ({"sgid_index": 0}, "ah-dgid", EINVAL),
        ({"dgid": 0}, "ah-dgid", EINVAL),
    ],
)
def test_ah_attributes_that_are_refused(bad: dict[str, int], rule: str, errno: int) -> None:
    pair = Pair()
    with pytest.raises(Refused) as caught:
        lifecycle.create_ah(pair.a.hca, pair.a.pd.number, replace(GOOD, **bad))
    assert (caught.value.rule, caught.value.errno) == (rule, errno)
    assert pair.a.hca.ahs.items == {}


def test_dealloc_pd_with_an_ah_is_ebusy() -> None:
    pair = Pair()
    hca = pair.a.hca
    pd = lifecycle.alloc_pd(hca)
    handle = lifecycle.create_ah(hca, pd.number, GOOD)
    with pytest.raises(Refused, match="in-use"):
        lifecycle.dealloc_pd(hca, pd)
    lifecycle.destroy_ah(hca, handle)
    lifecycle.dealloc_pd(hca, pd)


@pytest.mark.parametrize(("qpn", "sport"), [(0xE1, 64591)])
def test_udp_source_port_without_flow_label_is_a_hash_of_the_qp_number(
    qpn: int, sport: int
) -> None:
    """As Soft-RoCE was seen to do in a capture."""
    assert ah.lone_source_port(qpn) == sport


@pytest.mark.parametrize(
    ("own", "peer", "sport"),
    [(0xB0, 0x1FB, 56469), (0xB2, 0x201, 58551), (0xCF, 0x258, 58671), (0x12B, 0x36C, 65323)],
)
def test_udp_source_port_of_a_connected_qp_comes_from_both_numbers(
    own: int, peer: int, sport: int
) -> None:
    """As Soft-RoCE was seen to do in captures (rxe_modify_qp: rdma_get_udp_sport)."""
    assert ah.source_port(ah.flow_label(own, peer)) == sport


def test_every_ah_attribute_is_in_the_packet() -> None:
    pair = Pair(qp_type=QPType.UD)
    av = replace(GOOD, hop_limit=3, traffic_class=0x20, flow_label=0x12345)
    pair.a.ah = lifecycle.create_ah(pair.a.hca, pair.a.pd.number, av).number
    pair.a.issue(WROpcode.SEND)
    pair.run()
    flow = pair.packets("A")[0].flow
    assert (flow.hop_limit, flow.traffic_class) == (3, 0x20)
    assert flow.sport == ah.source_port(0x12345)


_BAD = [("static_rate", 173), ("static_rate", 1), ("sl", 16), ("flow_label", 1 << 20)]
_GID = "is_global=1 dgid=::ffff:10.0.0.2 sgid_index=1 hop_limit=64"


@pytest.mark.parametrize("profile", ["strict", "rxe", "mlx5"])
@pytest.mark.parametrize(("name", "value"), _BAD)
def test_an_ah_field_out_of_range_is_refused(profile: str, name: str, value: int) -> None:
    """strict: all; mlx5: the rate, in modify_qp; rxe: none, as recorded (R16)."""
    lab = Lab(profile=profile)
    for line in ("use rc_pair", "reset A.qp0", "modify_qp A.qp0 state=INIT pkey_index=0 port_num=1"
                 " qp_access_flags=0"):  # fmt: skip
        well(lab, line)
    move = "modify_qp A.qp0 state=RTR path_mtu=512 dest_qp_num=B.qp0 rq_psn=0 max_dest_rd_atomic=1"
    move += f" min_rnr_timer=12 ah_attr={{{_GID} port_num=1 {name}={value}}}"
    refuses = profile == "strict" or (profile == "mlx5" and name == "static_rate")
    if refuses:
        answer = refusal(lab, move)
        assert (answer.rule, answer.errno) == ("ah-range", 22)
        assert answer.message.startswith(f"{name}={value} ")
        assert answer.legal.startswith(f"{name} takes 0")
    else:
        well(lab, move)
    make = f"create_ah A.ah5 pd=A.pd0 {_GID} port_num=1 {name}={value}"
    if profile == "strict":
        assert refusal(lab, make).rule == "ah-range"
    else:
        well(lab, make)


# --------------------------------------------------------------------------- InfiniBand
LID = AhAttr(dlid=4, port_num=1)
GLOBAL = AhAttr(
    dlid=4, port_num=1, is_global=1, dgid=0xFE80 << 112 | 1, sgid_index=0, hop_limit=0,
    traffic_class=8, flow_label=0xFFFFF,
)  # fmt: skip


def test_a_dlid_alone_is_an_address() -> None:
    """`port_num` that is left out is port 1, as in the AHAttr of pyverbs; 0 is no port."""
    pair = lids()
    pair.a.modify(qp_state=QPState.RESET)
    pair.a.modify(qp_state=QPState.INIT, pkey_index=0, port_num=1, qp_access_flags=0)
    fields: dict[str, Any] = {
        "path_mtu": MTU.B512, "dest_qp_num": pair.b.qp.number, "rq_psn": 0,
        "max_dest_rd_atomic": 1, "min_rnr_timer": 12,
    }  # fmt: skip
    with pytest.raises(Refused) as refused:
        pair.a.modify(qp_state=QPState.RTR, ah_attr=AhAttr(dlid=4, port_num=0), **fields)
    assert refused.value.rule == "ah-port"
    pair.a.modify(qp_state=QPState.RTR, ah_attr=AhAttr(dlid=4), **fields)
    assert pair.a.qp.state is QPState.RTR


def lids(**options: Any) -> Pair:
    return Pair(link_layer=LinkLayer.INFINIBAND, **options)


@pytest.mark.parametrize(
    ("bad", "rule", "errno"),
    [
        ({"port_num": 2}, "ah-port", EINVAL),
        ({"dlid": 0}, "ah-dlid", EINVAL),
        ({"dlid": 0xC000}, "ah-mlid", EINVAL),
        ({"sl": 16}, "ah-range", EINVAL),
        ({"is_global": 1, "sgid_index": 200}, "ah-sgid-index", EINVAL),
        ({"is_global": 1, "sgid_index": 1}, "ah-sgid-empty", ENODATA),
    ],
)
def test_what_is_no_address_of_an_infiniband_port(
    bad: dict[str, int], rule: str, errno: int
) -> None:
    pair = lids()
    with pytest.raises(Refused) as caught:
        lifecycle.create_ah(pair.a.hca, pair.a.pd.number, replace(LID, **bad))
    assert (caught.value.rule, caught.value.errno) == (rule, errno)


@pytest.mark.parametrize(("bits", "slid"), [(0, 2), (1, 3), (2, 2), (255, 3)])
def test_path_bits_choose_the_lid_that_packets_come_from(bits: int, slid: int) -> None:
    pair = lids()
    flow = ah.flow_to(pair.a.hca, replace(LID, src_path_bits=bits, sl=15, dlid=0xBFFF), 0xC001)
    assert flow == LidFlow(slid, 0xBFFF, sl=15)


def test_a_grh_is_made_only_where_it_is_asked_for() -> None:
    pair = lids()
    plain, routed = (ah.flow_to(pair.a.hca, av, 0) for av in (LID, GLOBAL))
    assert (plain.has_grh, routed.has_grh) == (False, True)
    assert routed.gids == (pair.a.hca.gids[0], GLOBAL.dgid)
    assert (routed.hop_limit, routed.traffic_class, routed.flow_label) == (0, 8, 0xFFFFF)


def test_a_datagram_by_lid_leaves_the_forty_bytes_alone() -> None:
    pair = lids(qp_type=QPType.UD)
    (row,) = _datagrams(pair, replace(LID, src_path_bits=1, dlid=5, sl=3))
    assert (row.wc_flags, row.byte_len) == (0, 48)
    assert (row.slid, row.sl, row.dlid_path_bits) == (3, 3, 1)
    assert pair.b.peek(0, 40) == b"\xee" * 40


def test_a_datagram_with_a_grh_brings_it() -> None:
    pair = lids(qp_type=QPType.UD)
    (row,) = _datagrams(pair, replace(GLOBAL, dgid=pair.b.hca.gids[0]))
    assert row.wc_flags == WCFlags.GRH
    grh = GRH.unpack(pair.b.peek(0, 40))
    assert (grh.sgid, grh.dgid) == (pair.a.hca.gids[0], pair.b.hca.gids[0])
    assert (grh.next_header, grh.payload_length) == (0x1B, 12 + 8 + 8 + 4)


def test_a_grh_for_another_port_is_dropped() -> None:
    pair = lids(qp_type=QPType.UD)
    assert _datagrams(pair, GLOBAL) == []
    assert pair.b.hca.drops == {"wrong-address": 1}


def test_without_its_gid_a_routed_datagram_fails_and_one_by_lid_does_not() -> None:
    pair = lids(qp_type=QPType.UD)
    made = [lifecycle.create_ah(pair.a.hca, pair.a.pd.number, av) for av in (GLOBAL, LID)]
    pair.world.network.set_gid("A", 0, 0)
    assert [ah.has_source(pair.a.hca, handle.attr) for handle in made] == [False, True]


def _datagrams(pair: Pair, av: AhAttr) -> list[Cqe]:
    """What B is told of one datagram of 8 bytes to this address."""
    handle = lifecycle.create_ah(pair.a.hca, pair.a.pd.number, av)
    pair.b.poke(0, b"\xee" * 64)
    pair.b.recv(64)
    pair.a.issue(WROpcode.SEND, 8, ah=handle.number)
    pair.run()
    return pair.b.poll(pair.b.recv_cq)


def test_a_dlid_on_roce_points_to_infiniband_ports() -> None:
    pair = Pair()
    with pytest.raises(Refused) as refused:
        lifecycle.create_ah(pair.a.hca, pair.a.pd.number, AhAttr(dlid=4))
    assert refused.value.rule == "ah-global"
    assert "port A link_layer=InfiniBand" in refused.value.legal


def test_is_global_added_to_the_address_of_a_node_makes_a_grh() -> None:
    lab = Lab()
    for line in ("port A link_layer=InfiniBand", "port B link_layer=InfiniBand", "use ud_pair",
                 "create_ah A.ah1 pd=A.pd0 to=B is_global=1", "post_recv B.qp0 sg=B.mr0[0:200]",
                 "post_send A.qp0 opcode=SEND sg=A.mr0[0:8] ah=A.ah1 remote_qpn=B.qp0 "
                 "remote_qkey=0x11111111", "run"):  # fmt: skip
        well(lab, line)
    assert lab.look("B.cq0.last.byte_len") == 48
    assert lab.look("A.ah0.dgid") == lab.look("A.ah1.dgid")


def test_a_grh_without_a_dgid_is_sent_all_the_same() -> None:
    flow = LidFlow(2, 4, sgid=1)
    assert flow.has_grh
    assert not LidFlow(2, 4).has_grh


def test_the_kernel_gives_no_hop_limit_to_a_group_and_none_on_infiniband() -> None:
    """rxe and mlx5 store that of the route, 64, in other addresses of RoCE."""
    lab = Lab(profile="rxe")
    well(lab, "use ud_pair")
    made = "create_ah A.{} pd=A.pd0 is_global=1 dgid={} sgid_index=1 hop_limit=3 port_num=1"
    for name, gid, hops in (("group", "224.1.2.3", 3), ("node", "10.0.0.2", 64)):
        well(lab, made.format(name, gid))
        assert lab.look(f"A.{name}.hop_limit") == hops
    bands = Lab(profile="mlx5")
    for line in ("port A link_layer=InfiniBand", "port B link_layer=InfiniBand", "use rc_pair",
                 "reset A.qp0", "modify_qp A.qp0 state=INIT pkey_index=0 port_num=1"
                 " qp_access_flags=0", "modify_qp A.qp0 state=RTR path_mtu=512 dest_qp_num=B.qp0"
                 " rq_psn=0 max_dest_rd_atomic=1 min_rnr_timer=12 ah_attr={dlid=4 is_global=1"
                 " dgid=fe80::200:aff:fe00:2 sgid_index=0 hop_limit=3 port_num=1}"):  # fmt: skip
        well(bands, line)
    assert bands.look("A.qp0.hop_limit") == 3
