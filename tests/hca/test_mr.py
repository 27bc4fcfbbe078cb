"""Memory regions: what `reg_mr` refuses, and the keys it hands out."""

from errno import EFAULT, EINVAL, EOPNOTSUPP

import pytest

from rdmalab.command import Refused
from rdmalab.hca import mr, objects
from rdmalab.hca.device import Hca
from rdmalab.spec.access import Access
from rdmalab.spec.profiles import MLX5, RXE, STRICT, Profile
from rdmalab.world.world import World
from tests.pairs import image

LOCAL = int(Access.LOCAL_WRITE)


def node(profile: Profile = STRICT) -> Hca:
    hca = World({"A": profile}).nodes["A"]
    objects.alloc_pd(hca)
    return hca


@pytest.mark.parametrize(
    ("length", "access", "addr", "rule", "errno"),
    [
        (0, LOCAL, None, "mr-length", EINVAL),
        (-1, LOCAL, None, "mr-length", EINVAL),
        (2**31 + 1, LOCAL, None, "mr-length", EINVAL),
        (8, 1 << 10, None, "mr-access-unknown", EINVAL),
        (8, 1 << 30, None, "mr-access-unknown", EINVAL),
        (8, int(Access.ON_DEMAND), None, "mr-access-support", EOPNOTSUPP),
        (8, LOCAL | int(Access.HUGETLB), None, "mr-access-support", EOPNOTSUPP),
        (8, int(Access.REMOTE_WRITE), None, "mr-access", EINVAL),
        (8, int(Access.REMOTE_ATOMIC), None, "mr-access", EINVAL),
        (8, LOCAL, 0x5000, "mr-unmapped", EFAULT),
        (8, LOCAL, 0, "mr-unmapped", EFAULT),
    ],
)
def test_what_reg_mr_refuses(
    length: int, access: int, addr: int | None, rule: str, errno: int
) -> None:
    hca = node()
    before = image(hca)
    with pytest.raises(Refused) as caught:
        mr.register(hca, 1, length, access, addr)
    assert (caught.value.rule, caught.value.errno) == (rule, errno)
    assert image(hca) == before


@pytest.mark.parametrize(
    "access", [0, LOCAL, int(Access.REMOTE_READ), LOCAL | 0xE, 0x3FF0_0000, LOCAL | 0x300]
)
def test_what_is_allowed(access: int) -> None:
    """Rights of the optional range are dropped by a device that lacks them."""
    region = mr.register(node(), 1, 2**31, access, None)
    assert region.access == access & 0xFFFFF


def test_a_region_may_lie_anywhere_in_a_buffer_and_not_reach_beyond() -> None:
    hca = node()
    addr = hca.memory.map(100).addr
    assert mr.register(hca, 1, 50, LOCAL, addr + 50).addr == addr + 50
    with pytest.raises(Refused, match="mr-unmapped"):
        mr.register(hca, 1, 51, LOCAL, addr + 50)


def test_keys_are_unique_differ_in_strict_and_die_with_their_region() -> None:
    hca = node()
    regions = [mr.register(hca, 1, 8, LOCAL, None) for _ in range(20)]
    keys = [key for region in regions for key in (region.lkey, region.rkey)]
    assert len(set(keys)) == 40
    assert hca.lkeys.keys() == {region.lkey for region in regions}
    assert hca.rkeys.keys() == {region.rkey for region in regions}
    mr.deregister(hca, regions[0])
    assert regions[0].lkey not in hca.lkeys
    assert regions[0].rkey not in hca.rkeys
    fresh = mr.register(hca, 1, 8, LOCAL, None)
    assert fresh.lkey not in keys


@pytest.mark.parametrize("profile", [RXE, MLX5], ids=lambda profile: profile.name)
def test_on_devices_one_key_serves_both_uses(profile: Profile) -> None:
    region = mr.register(node(profile), 1, 8, LOCAL, None)
    assert region.lkey == region.rkey


def test_no_key_and_no_address_of_one_node_fits_the_other() -> None:
    world = World()
    regions = []
    for hca in world.nodes.values():
        pd = objects.alloc_pd(hca)
        regions.append(mr.register(hca, pd.number, 4096, LOCAL, None))
    a, b = regions
    assert not {a.lkey, a.rkey} & {b.lkey, b.rkey}
    assert a.addr != b.addr
