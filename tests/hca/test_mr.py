"""Memory regions: what `reg_mr` refuses, and the keys it hands out."""

from dataclasses import replace
from errno import EFAULT, EINVAL, ENOMEM, EOPNOTSUPP

import pytest

from rdmalab.command import Refused
from rdmalab.hca import lifecycle, mr
from rdmalab.hca.device import Hca
from rdmalab.hca.memory import NOT_MAPPED, READ_ONLY
from rdmalab.hca.objects import MemoryRegion
from rdmalab.spec.access import UNSUPPORTED, Access, Rereg
from rdmalab.spec.profiles import MLX5, RXE, STRICT, Profile
from rdmalab.world.world import World
from tests.pairs import image

LOCAL = int(Access.LOCAL_WRITE)
PAGE = 4096


def node(profile: Profile = STRICT) -> Hca:
    hca = World({"A": profile}).nodes["A"]
    lifecycle.alloc_pd(hca)
    return hca


@pytest.mark.parametrize(
    ("length", "access", "addr", "rule", "errno"),
    [
        (0, LOCAL, None, "mr-length", EINVAL),
        (-1, LOCAL, None, "mr-length", EINVAL),
        (2**31 + 1, LOCAL, None, "mr-length", EINVAL),
        (8, 1 << 10, None, "mr-access-unknown", EINVAL),
        (8, 1 << 30, None, "mr-access-unknown", EINVAL),
        (8, int(Access.ON_DEMAND), None, "mr-on-demand", EOPNOTSUPP),
        (8, LOCAL | int(Access.HUGETLB), None, "mr-access-support", EOPNOTSUPP),
        (8, int(Access.REMOTE_WRITE), None, "mr-access", EINVAL),
        (8, int(Access.REMOTE_ATOMIC), None, "mr-access", EINVAL),
        (8, LOCAL, 0x5000, "mr-unmapped", EFAULT),
        (8, LOCAL, 0, "mr-unmapped", EFAULT),
        (8, LOCAL, NOT_MAPPED, "mr-unmapped", EFAULT),
        (8, LOCAL, READ_ONLY, "mr-read-only", EFAULT),
        (8, LOCAL, 2**64 - 7, "mr-overflow", EINVAL),
        (8, LOCAL, -1, "mr-overflow", EINVAL),
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
def test_reg_mr_access_flags_that_are_allowed(access: int) -> None:
    """Rights of the optional range are dropped by a device that lacks them."""
    region = mr.register(node(), 1, 2**31, access, None)
    assert region.access == access & 0xFFFFF


def test_reg_mr_range_must_be_inside_the_buffer() -> None:
    hca = node()
    addr = hca.memory.map(100).addr
    assert mr.register(hca, 1, 50, LOCAL, addr + 50).addr == addr + 50
    with pytest.raises(Refused, match="mr-unmapped"):
        mr.register(hca, 1, 51, LOCAL, addr + 50)


def test_lkey_and_rkey_are_unique_and_invalid_after_dereg_mr() -> None:
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
def test_lkey_equals_rkey_on_devices(profile: Profile) -> None:
    region = mr.register(node(profile), 1, 8, int(Access.REMOTE_READ), None)
    assert region.lkey == region.rkey


@pytest.mark.parametrize("access", [0, LOCAL, int(Access.MW_BIND), int(Access.ZERO_BASED)])
def test_without_a_remote_right_soft_roce_gives_no_rkey(access: int) -> None:
    """As recorded; and nobody reaches it by rkey 0, or by its lkey."""
    hca = node(RXE)
    region = mr.register(hca, 1, 8, access, None)
    assert region.rkey == 0
    assert hca.rkeys == {}
    mr.deregister(hca, region)
    assert mr.register(node(MLX5), 1, 8, access, None).rkey != 0


@pytest.mark.parametrize(("profile", "errno"), [(STRICT, EOPNOTSUPP), (RXE, EINVAL)])
def test_reg_mr_on_demand_is_refused_with_the_errno_of_the_device(
    profile: Profile, errno: int
) -> None:
    with pytest.raises(Refused) as caught:
        mr.register(node(profile), 1, 8, int(Access.ON_DEMAND), None)
    assert caught.value.errno == errno


# --------------------------------------------------------------------------- other addresses
@pytest.mark.parametrize(
    ("hca_va", "rule"),
    [(0x5000, ""), (0, ""), (2**64 - 4096, ""), (0x5001, "mr-iova-offset"), (2**64, "mr-overflow")],
)
def test_reg_mr_iova_needs_the_same_page_offset(hca_va: int, rule: str) -> None:
    hca = node()
    if rule:
        with pytest.raises(Refused, match=rule):
            mr.register(hca, 1, 8, LOCAL, None, hca_va)
    else:
        region = mr.register(hca, 1, 8, LOCAL, None, hca_va)
        assert (region.iova, region.addr) == (hca_va, hca.memory.buffers[-1].addr)


def test_iova_page_offset_is_that_of_the_buffer() -> None:
    hca = node()
    addr = hca.memory.map(100).addr + 7
    assert mr.register(hca, 1, 8, LOCAL, addr, 0x7007).iova == 0x7007
    with pytest.raises(Refused, match="mr-iova-offset"):
        mr.register(hca, 1, 8, LOCAL, addr, 0x7000)


def test_reg_mr_zero_based_by_device() -> None:
    access = LOCAL | int(Access.ZERO_BASED)
    assert mr.register(node(), 1, 8, access, None).iova == 0
    region = mr.register(node(RXE), 1, 8, access, None)
    assert region.iova == region.addr


# --------------------------------------------------------------------------- registered anew
T, P, A = Rereg.CHANGE_TRANSLATION, Rereg.CHANGE_PD, Rereg.CHANGE_ACCESS


@pytest.mark.parametrize(
    ("flags", "given", "rule"),
    [
        (0, {}, "rereg-flags"),
        (8, {}, "rereg-flags"),
        (A, {}, "rereg-input"),
        (P, {}, "rereg-input"),
        (T, {}, "rereg-input"),
        (P, {"access": LOCAL}, "rereg-input"),
        (A, {"access": LOCAL, "length": 8}, "rereg-input"),
        (A, {"access": int(Access.REMOTE_WRITE)}, "mr-access"),
        (T, {"addr": 0x5000, "length": 8}, "mr-unmapped"),
        (T, {"length": 0, "addr": 0x5000}, "mr-length"),
    ],
)
def test_what_rereg_mr_refuses(flags: int, given: dict[str, int], rule: str) -> None:
    hca = node()
    region = mr.register(hca, 1, 8, LOCAL, None)
    before = image(hca)
    with pytest.raises(Refused) as caught:
        again(hca, region, flags, **given)
    assert caught.value.rule == rule
    assert image(hca) == before


def again(
    hca: Hca,
    region: MemoryRegion,
    flags: int,
    *,
    addr: int | None = None,
    length: int = 0,
    pd: int = 0,
    access: int | None = None,
) -> None:
    mr.reregister(hca, region, flags, hca.pds.items.get(pd), (addr, length), access)


def test_rereg_mr_pd_and_access_keep_lkey_and_rkey() -> None:
    hca = node()
    other = lifecycle.alloc_pd(hca)
    region = mr.register(hca, 1, 8, LOCAL, None)
    keys = (region.lkey, region.rkey)
    again(hca, region, P | A, pd=other.number, access=int(Access.REMOTE_READ))
    assert (region.pd, region.access) == (other.number, int(Access.REMOTE_READ))
    assert (region.lkey, region.rkey) == keys
    lifecycle.dealloc_pd(hca, hca.pds.items[1])
    with pytest.raises(Refused, match="in-use"):
        lifecycle.dealloc_pd(hca, other)


def test_rereg_mr_translation_invalidates_the_old_lkey_and_rkey() -> None:
    hca = node()
    region = mr.register(hca, 1, 8, LOCAL, None)
    old = (region.lkey, region.rkey)
    addr = hca.memory.map(64).addr
    again(hca, region, T, addr=addr, length=64)
    assert (region.addr, region.iova, region.length) == (addr, addr, 64)
    assert not {region.lkey, region.rkey} & set(old)
    assert hca.lkeys == {region.lkey: region}
    assert hca.rkeys == {region.rkey: region}


def test_rereg_mr_of_soft_roce_changes_nothing() -> None:
    hca = node(RXE)
    region = mr.register(hca, 1, 8, LOCAL, None)
    for flags, change in ((T, {"addr": region.addr, "length": 8}), (A, {"access": 0})):
        with pytest.raises(Refused) as caught:
            again(hca, region, flags, **change)
        assert (caught.value.rule, caught.value.errno) == ("rereg-support", EOPNOTSUPP)


def test_lkey_rkey_and_addresses_differ_between_nodes() -> None:
    world = World()
    regions = []
    for hca in world.nodes.values():
        pd = lifecycle.alloc_pd(hca)
        regions.append(mr.register(hca, pd.number, 4096, LOCAL, None))
    a, b = regions
    assert not {a.lkey, a.rkey} & {b.lkey, b.rkey}
    assert a.addr != b.addr


def test_memlock_counts_pages_by_region() -> None:
    hca = node(replace(STRICT, caps=replace(STRICT.caps, memlock_limit=4 * PAGE)))
    first = mr.register(hca, 1, 2 * PAGE, LOCAL, None)
    across = mr.register(hca, 1, 2, LOCAL, first.addr + PAGE - 1)  # the same two pages once more
    with pytest.raises(
        Refused, match="20480 bytes would be locked, more than RLIMIT_MEMLOCK=16384"
    ):
        mr.register(hca, 1, 1, LOCAL, first.addr)
    mr.deregister(hca, across)
    mr.register(hca, 1, 2 * PAGE, LOCAL, first.addr)
    with pytest.raises(Refused) as caught:
        mr.reregister(hca, first, int(Rereg.CHANGE_TRANSLATION), None, (first.addr, 1), None)
    assert (caught.value.rule, caught.value.errno) == ("mr-memlock", ENOMEM)


@pytest.mark.parametrize("right", [*Access])
def test_register_supports_all_rights_but_those_that_the_table_names(right: Access) -> None:
    access = int(right | Access.LOCAL_WRITE)
    if right in UNSUPPORTED:
        with pytest.raises(Refused):
            mr.register(node(), 1, 8, access, None)
    else:
        mr.register(node(), 1, 8, access, None)
