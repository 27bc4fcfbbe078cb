"""The same words for both link layers."""

from hypothesis import given

from rdmalab.spec.limits import LinkLayer
from rdmalab.wire import infiniband, links, roce
from rdmalab.wire.packet import Packet

from .strategies import flows, lid_flows, packets
from .vectors import V1, V3


@given(packets(flows=flows | lid_flows))
def test_the_flow_says_which_bytes_a_packet_has(packet: Packet) -> None:
    own = infiniband if links.is_infiniband(packet) else roce
    assert links.encode(packet) == own.encode(packet)
    assert links.layers(packet) == own.layers(packet)
    assert links.describe(packet) == own.describe(packet)
    assert links.decode(links.encode(packet), links.link_layer_of(packet)) == packet


@given(packets(flows=lid_flows))
def test_infiniband_has_lids_and_perhaps_a_grh(packet: Packet) -> None:
    assert links.link_layer_of(packet) is LinkLayer.INFINIBAND
    assert len(links.before_datagram(packet)) == (40 if packet.flow.has_grh else 0)
    assert bool(packet.flow.gids[1]) is packet.flow.has_grh


def test_roce_always_has_the_addresses_of_its_ip_header() -> None:
    assert (len(links.before_datagram(V1.packet)), len(links.before_datagram(V3.packet))) == (
        20,
        40,
    )
    assert V1.packet.flow.gids == (V1.packet.flow.src, V1.packet.flow.dst)
    assert V1.packet.flow.has_grh
