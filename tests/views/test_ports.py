"""Ports and the cable as rows."""

from rdmalab.hca import lifecycle
from rdmalab.hca.ah import ah_attr_of
from rdmalab.hca.attributes import AhAttr
from rdmalab.spec.limits import LinkLayer, PortState
from rdmalab.views import ports
from rdmalab.wire.packet import ipv4_gid
from tests.labs import lab_of, well
from tests.pairs import Pair
from tests.views.looking import ask, names_of


def test_port_row_has_state_gid_and_profile() -> None:
    pair = Pair()
    row = ports.port_row(pair.world, "B")
    assert (row.state, row.gid, row.profile) == (PortState.ACTIVE, "::ffff:10.0.0.2", "strict")
    pair.world.begin_event()
    pair.world.network.set_link(up=False)
    row = ports.port_row(pair.world, "B")
    assert (row.state, row.async_events) == (PortState.DOWN, 1)


def test_link_row_has_settings_and_faults() -> None:
    pair = Pair()
    pair.lose("A", 2)
    row = ports.link_row(pair.world, names_of(pair))
    assert (row.up, row.latency_ns, row.rate_bps) == (True, 1_000, 10**11)
    assert len(row.faults) == 1
    assert row.faults[0].startswith("1: drop")


def test_a_program_is_no_object_of_the_device() -> None:
    lab = lab_of()
    before = ports.device_row(lab.session.world, "A")
    well(lab, "program A.tx lines={stop}")
    assert ports.device_row(lab.session.world, "A") == before


def test_an_address_handle_says_where_it_leads() -> None:
    pair = Pair()
    hca, pd = pair.a.hca, pair.a.pd.number
    lifecycle.create_ah(hca, pd, ah_attr_of(pair.b.hca))
    for dgid in ("224.0.0.9", "10.9.9.9"):
        lifecycle.create_ah(hca, pd, AhAttr(1, ipv4_gid(dgid), 1, 5, port_num=1))
    assert [ask(pair, f"A.ah{n}.to") for n in range(3)] == ["B", "group", "unknown"]
    assert ask(pair, "A.ah1.dgid") == "::ffff:224.0.0.9"
    assert ask(pair, "A.ah2.hop_limit") == 5
    assert ask(pair, "A.ah0.pd") == "A.pd0"


def test_on_infiniband_the_lid_says_where_it_leads() -> None:
    pair = Pair(link_layer=LinkLayer.INFINIBAND)
    hca, pd = pair.a.hca, pair.a.pd.number
    lifecycle.create_ah(hca, pd, ah_attr_of(pair.b.hca))
    lifecycle.create_ah(hca, pd, AhAttr(dlid=9))
    assert [ask(pair, f"A.ah{n}.to") for n in range(2)] == ["B", "unknown"]
    assert [ask(pair, f"A.ah{n}.dlid") for n in range(2)] == [4, 9]
