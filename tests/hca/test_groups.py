"""Multicast groups: who may join, how many, and that leaving is leaving."""

from errno import EBUSY, EINVAL, ENOMEM, EOPNOTSUPP

import pytest

from rdmalab.command import Refused
from rdmalab.hca import groups, qp_lifecycle
from rdmalab.spec.limits import LinkLayer
from rdmalab.spec.states import QPType
from rdmalab.wire.packet import ipv4_gid
from tests.pairs import Pair

GROUP = ipv4_gid("224.0.0.9")
IPV6_GROUP = 0xFF0E << 112 | 9


def ud() -> Pair:
    return Pair(qp_type=QPType.UD)


@pytest.mark.parametrize("gid", [ipv4_gid("10.0.0.9"), ipv4_gid("240.0.0.1"), 0xFE80 << 112 | 1])
def test_attach_mcast_needs_a_multicast_gid(gid: int) -> None:
    pair = ud()
    with pytest.raises(Refused) as caught:
        groups.attach(pair.a.hca, pair.a.qp, gid)
    assert (caught.value.rule, caught.value.errno) == ("mcast-gid", EINVAL)


def test_attach_mcast_needs_a_ud_qp() -> None:
    pair = Pair()
    with pytest.raises(Refused) as caught:
        groups.attach(pair.a.hca, pair.a.qp, GROUP)
    assert (caught.value.rule, caught.value.errno) == ("mcast-type", EINVAL)


def test_detach_mcast_of_a_qp_that_is_not_attached() -> None:
    pair = ud()
    groups.attach(pair.a.hca, pair.a.qp, IPV6_GROUP)
    with pytest.raises(Refused, match="mcast-member"):
        groups.detach(pair.a.hca, pair.a.qp, GROUP)
    groups.detach(pair.a.hca, pair.a.qp, IPV6_GROUP)
    assert pair.a.hca.groups == {}


def test_attach_mcast_limits_of_groups_and_members() -> None:
    pair = ud()
    caps = pair.a.hca.profile.caps
    for n in range(caps.max_mcast_grp):
        groups.attach(pair.a.hca, pair.a.qp, ipv4_gid(f"224.0.1.{n}"))
    with pytest.raises(Refused) as caught:
        groups.attach(pair.a.hca, pair.a.qp, GROUP)
    assert (caught.value.rule, caught.value.errno) == ("mcast-limit", ENOMEM)
    ends = [pair.end("B") for _ in range(caps.max_mcast_qp_attach + 1)]
    for end in ends[:-1]:
        groups.attach(end.hca, end.qp, GROUP)
    with pytest.raises(Refused, match="max_mcast_qp_attach"):
        groups.attach(ends[-1].hca, ends[-1].qp, GROUP)


def test_destroy_qp_attached_to_multicast_is_ebusy() -> None:
    pair = ud()
    groups.attach(pair.a.hca, pair.a.qp, GROUP)
    with pytest.raises(Refused) as caught:
        qp_lifecycle.destroy_qp(pair.a.hca, pair.a.qp)
    assert caught.value.errno == EBUSY
    groups.detach(pair.a.hca, pair.a.qp, GROUP)
    qp_lifecycle.destroy_qp(pair.a.hca, pair.a.qp)


@pytest.mark.parametrize("gid", [GROUP, IPV6_GROUP])
def test_attach_mcast_on_an_infiniband_port_is_refused(gid: int) -> None:
    pair = Pair(qp_type=QPType.UD, link_layer=LinkLayer.INFINIBAND)
    with pytest.raises(Refused) as caught:
        groups.attach(pair.a.hca, pair.a.qp, gid)
    assert (caught.value.rule, caught.value.errno) == ("mcast-lid", EOPNOTSUPP)
    assert "subnet manager" in caught.value.message
    assert pair.a.hca.groups == {}
