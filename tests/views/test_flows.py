"""Flow rules as rows."""

from rdmalab.spec.flows import FlowType
from rdmalab.wire.packet import ipv4_gid
from tests.raw import raw_pair, rule
from tests.views.looking import ask


def test_fields_of_a_flow_rule() -> None:
    pair = raw_pair()
    rule(pair.b, priority=3, dst_mac=0x02000A000002, dst_ip=ipv4_gid("10.0.0.2"), dst_port=80)
    rule(pair.b, FlowType.SNIFFER)
    assert ask(pair, "B.flow0.qp") == "B.qp0"
    assert ask(pair, "B.flow0.priority") == 3
    assert ask(pair, "B.flow0.fits") == "dst_mac=02:00:0a:00:00:02 dst_ip=10.0.0.2 dst_port=80"
    assert ask(pair, "B.flow1.type") is FlowType.SNIFFER
    assert ask(pair, "B.flow1.fits") == ""
