"""Address handles as rows."""

from rdmalab.hca import lifecycle
from rdmalab.hca.ah import ah_attr_of
from rdmalab.hca.attributes import AhAttr
from rdmalab.spec.limits import LinkLayer
from rdmalab.wire.packet import ipv4_gid
from tests.pairs import Pair
from tests.views.looking import ask


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
