"""Headers of flow rules: fields and masks read back as of pyverbs."""

from typing import Any

import pytest

from rdmalab.compat.pyverbs import libibverbs_enums as e
from rdmalab.compat.pyverbs.pyverbs_error import PyverbsError
from rdmalab.compat.pyverbs.spec import EthSpec, Ipv4ExtSpec, Ipv6Spec, Spec, TcpUdpSpec
from tests.compat.real import needs_pyverbs, ours, real

# pyverbs reads an IPv6 address back up to a zero byte, and on into the next field without one:
# the destination is read where it has none, the source where the destination begins with one.
IP6 = {"dst_ip": "A0a1:1111:2222:3333:a2a3:a4a5:a6a7:a8a9", "src_ip": ":".join(["fe80"] * 8)}
MASK6 = ":".join(["ff1f"] * 8)
CASES: tuple[tuple[type[Spec], list[Any], dict[str, Any]], ...] = (
    (EthSpec, [], {}),
    (EthSpec, [], {"dst_mac": "AA:b:12:13:14:fe", "ether_type": 0x800}),
    (EthSpec, [], {"src_mac": "", "vlan_tag": 5, "vlan_tag_mask": 0xFFF}),
    (EthSpec, ["1:2:3:4:5:6", None, "6:5:4:3:2:1", "ff:ff:ff:0:0:0"], {"is_inner": True}),
    (EthSpec, [], {"ether_type_mask": 0xF, "dst_mac_mask": "ff:ff:ff:ff:ff:ff"}),
    (Ipv4ExtSpec, [], {}),
    (Ipv4ExtSpec, ["1.2.3.4", "255.255.0.0", "4.3.2.1"], {"proto": 17, "ttl": 64, "flags": 2}),
    (Ipv4ExtSpec, [], {"tos": 0, "tos_mask": 3, "dst_ip": "10.1"}),
    (Ipv6Spec, [], IP6),
    (Ipv6Spec, [], {**IP6, "flow_label": 0x12345, "next_hdr": 6, "hop_limit": 1}),
    (Ipv6Spec, [], {**IP6, "dst_ip_mask": MASK6, "traffic_class": 3, "traffic_class_mask": 1}),
    (TcpUdpSpec, [64], {}),
    (TcpUdpSpec, [65, 4791, None, 0xC000], {"is_inner": True}),
    (TcpUdpSpec, [], {"spec_type": 64, "src_port": 7, "src_port_mask": 0xFF00}),
)


@needs_pyverbs
def test_fields_and_masks_are_those_of_pyverbs() -> None:
    questions = []
    for kind, given, named in CASES:
        known = [field for field in kind.FIELDS if (kind, field) != (Ipv6Spec, "src_ip")]
        read = [name for field in known for name in (field, f"{field}_mask")]
        questions.append(["attributes", "spec", kind.__name__, given, named, [*read, "size"]])
    source = {**IP6, "dst_ip": "::1", "dst_ip_mask": "::1"}
    for mask in ({}, {"src_ip_mask": MASK6}):
        read = ["src_ip", "src_ip_mask"]
        questions.append(["attributes", "spec", "Ipv6Spec", [], {**source, **mask}, read])
    assert ours(*questions) == real(*questions)


@needs_pyverbs
def test_fields_are_the_properties_of_pyverbs() -> None:
    kinds = (EthSpec, Ipv4ExtSpec, Ipv6Spec, TcpUdpSpec)
    (theirs,) = real(["properties", "spec"])
    for kind in kinds:
        mine = {name for field in kind.FIELDS for name in (field, f"{field}_mask")}
        assert mine | {"size"} == set(theirs[kind.__name__])


@needs_pyverbs
def test_the_families_are_those_of_pyverbs() -> None:
    (theirs,), (mine,) = real(["classes", "spec"]), ours(["classes", "spec"])
    bases = {name: each["bases"] for name, each in mine.items()}
    assert bases == {name: each["bases"] for name, each in theirs.items()}


def test_a_field_set_later_keeps_its_mask() -> None:
    spec = EthSpec(ether_type=0x800)
    spec.src_mac = "24:8A:07:A5:28:C8"
    assert (spec.src_mac, spec.src_mac_mask) == ("24:8a:07:a5:28:c8", "")
    spec.src_mac = "0:1:2:3:4:5"  # pyverbs reads nothing back where the first byte is zero
    assert spec.src_mac == "00:01:02:03:04:05"


def test_a_missing_ipv6_address_matches_any() -> None:
    """pyverbs refuses such a header with a TypeError."""
    spec = Ipv6Spec(src_ip="fe80:0::1")
    assert (spec.src_ip, spec.dst_ip, spec.dst_ip_mask) == ("fe80::1", "::", "::")
    assert spec.src_ip_mask == ":".join(["ffff"] * 8)


def test_an_inner_header_says_so() -> None:
    assert EthSpec().spec_type == e.IBV_FLOW_SPEC_ETH
    inner = TcpUdpSpec(e.IBV_FLOW_SPEC_UDP, is_inner=True)
    assert inner.spec_type == e.IBV_FLOW_SPEC_UDP | e.IBV_FLOW_SPEC_INNER


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(NotImplementedError):
        Spec()
    with pytest.raises(PyverbsError, match="IBV_FLOW_SPEC_TCP or IBV_FLOW_SPEC_UDP"):
        TcpUdpSpec(e.IBV_FLOW_SPEC_ETH)
    with pytest.raises(OverflowError):
        EthSpec(ether_type=0x1_0000)
    with pytest.raises(IndexError):
        EthSpec(dst_mac="1:2:3")
    with pytest.raises(TypeError, match="colour"):
        EthSpec(colour=1)
    with pytest.raises(TypeError, match="dst_mac"):
        EthSpec("1:2:3:4:5:6", dst_mac="1:2:3:4:5:6")
    with pytest.raises(AttributeError):
        EthSpec().colour = 1
    with pytest.raises(AttributeError):
        _ = EthSpec().colour
