"""Who may set a flow rule, and what nobody may leave behind."""

from dataclasses import replace
from errno import EBUSY, EINVAL, ENOMEM, ENXIO, EOPNOTSUPP, EPERM
from typing import Any

import pytest

from rdmalab.command import Refused
from rdmalab.hca import flows, qp_lifecycle
from rdmalab.hca.steering import FlowAttr, FlowSpec
from rdmalab.spec.flows import FlowFlags, FlowType
from rdmalab.spec.limits import DeviceCap, LinkLayer
from rdmalab.spec.profiles import STRICT, Profile
from rdmalab.spec.states import QPType
from tests.pairs import Pair
from tests.raw import raw_pair, rule

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
        flows.create(pair.b.hca, pair.b.qp, attr, spec)
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
    flows.destroy(pair.b.hca, made)
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
