"""Which queue pairs a frame goes to: rules, their order, twins, defaults."""

from dataclasses import replace
from errno import EBUSY, EINVAL, ENOMEM, ENXIO, EOPNOTSUPP, EPERM
from typing import Any

import pytest

from rdmalab.command import Refused
from rdmalab.hca import qp_lifecycle, steering
from rdmalab.hca.objects import FlowAttr, FlowSpec
from rdmalab.hca.steering import facts, sniffers, spelled_field, steer
from rdmalab.spec.flows import FlowFlags, FlowType
from rdmalab.spec.limits import DeviceCap, LinkLayer
from rdmalab.spec.profiles import STRICT, Profile
from rdmalab.spec.states import QPType
from rdmalab.wire.frame import Frame
from rdmalab.wire.packet import ipv4_gid
from tests.pairs import End, Pair
from tests.raw import BROADCAST, GROUP, MAC_A, raw_pair, rule, tcp_frame, udp_frame

B = 0x02000A000002
FRAME = Frame(tcp_frame(b"x", dport=80))


def other(pair: Pair) -> End:
    """One more queue pair on B."""
    return pair.end("B")


@pytest.mark.parametrize(
    ("name", "value", "wrong"),
    [
        ("dst_mac", B, B + 1),
        ("src_mac", 0x02000A000001, 1),
        ("ether_type", 0x0800, 0x86DD),
        ("src_ip", ipv4_gid("10.0.0.1"), ipv4_gid("10.0.0.2")),
        ("dst_ip", ipv4_gid("10.0.0.2"), 0x0A000002),
        ("protocol", 6, 17),
        ("src_port", 1234, 80),
        ("dst_port", 80, 1234),
    ],
)
def test_flow_rule_compares_each_field(name: str, value: int, wrong: int) -> None:
    pair = raw_pair()
    rule(pair.b, FlowType.NORMAL, priority=0, flags=0, **{name: value})
    assert steer(pair.b.hca, FRAME) == [pair.b.qp.number]
    pair = raw_pair()
    rule(pair.b, FlowType.NORMAL, priority=0, flags=0, **{name: wrong})
    assert steer(pair.b.hca, FRAME) == []


def test_flow_rule_needs_all_its_fields_to_match() -> None:
    pair = raw_pair()
    rule(pair.b, dst_mac=B, dst_port=81)
    assert steer(pair.b.hca, FRAME) == []


def test_flow_rule_ports_are_of_tcp_or_udp() -> None:
    assert "dst_port" not in facts(Frame(bytes(14)))
    assert facts(Frame(udp_frame(dport=9)))["dst_port"] == 9


def test_flow_priority_lower_number_first() -> None:
    pair = raw_pair()
    second = other(pair)
    rule(pair.b, priority=5, dst_mac=B)
    rule(second, priority=1, dst_port=80)
    assert steer(pair.b.hca, FRAME) == [second.qp.number]
    assert steer(pair.b.hca, Frame(udp_frame())) == [pair.b.qp.number]


def test_flow_dont_trap_lets_the_frame_go_on() -> None:
    pair = raw_pair()
    second, third = other(pair), other(pair)
    rule(second, priority=1, flags=FlowFlags.DONT_TRAP, dst_port=80)
    rule(pair.b, priority=5, dst_mac=B)
    rule(third, FlowType.ALL_DEFAULT)
    assert steer(pair.b.hca, FRAME) == [second.qp.number, pair.b.qp.number]


def test_flow_dont_trap_goes_on_to_the_defaults() -> None:
    pair = raw_pair()
    second = other(pair)
    rule(pair.b, flags=FlowFlags.DONT_TRAP, dst_port=80)
    rule(second, FlowType.ALL_DEFAULT)
    assert steer(pair.b.hca, FRAME) == [pair.b.qp.number, second.qp.number]


def test_flow_rules_that_are_equal_get_one_copy_each() -> None:
    pair = raw_pair()
    second = other(pair)
    for end in (pair.b, second, second):
        rule(end, dst_port=80)
    assert steer(pair.b.hca, FRAME) == [pair.b.qp.number, second.qp.number]


def test_flow_default_gets_what_no_rule_took() -> None:
    pair = raw_pair()
    second = other(pair)
    rule(pair.b, dst_port=80)
    rule(second, FlowType.ALL_DEFAULT)
    assert steer(pair.b.hca, FRAME) == [pair.b.qp.number]
    assert steer(pair.b.hca, Frame(udp_frame())) == [second.qp.number]


def test_flow_multicast_default_is_before_the_default() -> None:
    pair = raw_pair()
    second = other(pair)
    rule(pair.b, FlowType.ALL_DEFAULT)
    rule(second, FlowType.MC_DEFAULT)
    for dst in (BROADCAST, GROUP):
        assert steer(pair.b.hca, Frame(tcp_frame(dst=dst))) == [second.qp.number]
    assert steer(pair.b.hca, FRAME) == [pair.b.qp.number]


def test_flow_sniffers_get_a_copy_besides() -> None:
    pair = raw_pair()
    rule(pair.b, FlowType.SNIFFER)
    assert sniffers(pair.b.hca) == [pair.b.qp.number]
    assert steer(pair.b.hca, FRAME) == []


def test_flow_fields_as_text() -> None:
    assert spelled_field("dst_mac", 0x02000A000001) == MAC_A
    assert spelled_field("dst_ip", ipv4_gid("10.0.0.2")) == "10.0.0.2"
    assert spelled_field("ether_type", 0x800) == "0x800"
    assert spelled_field("dst_port", 80) == "80"


_ON = FlowFlags.DONT_TRAP


def strict(**caps: Any) -> Profile:
    return replace(STRICT, caps=replace(STRICT.caps, **caps))


def test_create_flow_on_a_device_without_steering() -> None:
    bits = STRICT.caps.device_cap_flags & ~DeviceCap.MANAGED_FLOW_STEERING
    pair = raw_pair(profile=strict(device_cap_flags=bits))
    with pytest.raises(Refused) as refused:
        rule(pair.b)
    assert (refused.value.rule, refused.value.errno) == ("flow-support", ENXIO)


def test_create_flow_needs_cap_net_raw() -> None:
    pair = raw_pair()
    pair.b.hca.profile = strict(cap_net_raw=0)
    with pytest.raises(Refused) as refused:
        rule(pair.b)
    assert (refused.value.rule, refused.value.errno) == ("net-raw", EPERM)


@pytest.mark.parametrize(
    ("wrong", "attr", "spec", "argument"),
    [
        ("flow-port", FlowAttr(port=2), FlowSpec(), "port"),
        ("flow-port", FlowAttr(port=0), FlowSpec(), "port"),
        ("flow-type", FlowAttr(9), FlowSpec(), "type"),  # type: ignore[arg-type]
        ("flow-spec", FlowAttr(FlowType.SNIFFER), FlowSpec(dst_port=80), "dst_port"),
        ("flow-spec", FlowAttr(FlowType.ALL_DEFAULT), FlowSpec(dst_mac=0), "dst_mac"),
        ("flow-spec", FlowAttr(FlowType.MC_DEFAULT, flags=_ON), FlowSpec(), "flags"),
    ],
)  # fmt: skip
def test_create_flow_refuses_contradicting_rules(
    wrong: str, attr: FlowAttr, spec: FlowSpec, argument: str
) -> None:
    pair = raw_pair()
    with pytest.raises(Refused) as refused:
        steering.create(pair.b.hca, pair.b.qp, attr, spec)
    assert (refused.value.rule, refused.value.errno) == (wrong, EINVAL)
    assert refused.value.argument == argument
    assert not pair.b.hca.flows.items


@pytest.mark.parametrize("qp_type", [QPType.RC, QPType.UD])
def test_create_flow_needs_a_raw_packet_qp(qp_type: QPType) -> None:
    pair = Pair(qp_type=qp_type)
    with pytest.raises(Refused) as refused:
        rule(pair.b)
    assert refused.value.rule == "flow-qp-type"


def test_create_flow_limit_of_rules() -> None:
    pair = raw_pair(profile=strict(max_flow=1))
    rule(pair.b)
    with pytest.raises(Refused) as refused:
        rule(pair.b)
    assert refused.value.errno == ENOMEM


def test_destroy_qp_with_flows_is_ebusy() -> None:
    pair = raw_pair()
    made = rule(pair.b)
    with pytest.raises(Refused) as refused:
        qp_lifecycle.destroy_qp(pair.b.hca, pair.b.qp)
    assert refused.value.errno == EBUSY
    assert "1 flow rule" in refused.value.message
    steering.destroy(pair.b.hca, made)
    qp_lifecycle.destroy_qp(pair.b.hca, pair.b.qp)


def test_without_cap_net_raw_there_is_no_raw_queue_pair() -> None:
    with pytest.raises(Refused) as refused:
        raw_pair(profile=strict(cap_net_raw=0))
    assert (refused.value.rule, refused.value.errno) == ("net-raw", EPERM)
    assert Pair(profile=strict(cap_net_raw=0))


def test_an_infiniband_port_has_no_raw_queue_pair_and_no_rule() -> None:
    with pytest.raises(Refused) as refused:
        raw_pair(link_layer=LinkLayer.INFINIBAND)
    assert (refused.value.rule, refused.value.errno) == ("raw-ethernet", EOPNOTSUPP)
    assert refused.value.legal == "port A link_layer=Ethernet"
    with pytest.raises(Refused) as refused:
        rule(Pair(qp_type=QPType.UD, link_layer=LinkLayer.INFINIBAND).b)
    assert (refused.value.rule, refused.value.errno) == ("raw-ethernet", EOPNOTSUPP)
