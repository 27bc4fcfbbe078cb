"""Memory regions and their keys."""

from typing import TYPE_CHECKING

from rdmalab.hca import objects
from rdmalab.hca.refuse import refused
from rdmalab.spec.access import Access, needs_local_write, unknown

if TYPE_CHECKING:
    from rdmalab.command import Refused
    from rdmalab.hca.device import Hca

_UNSUPPORTED = int(Access.ON_DEMAND | Access.HUGETLB)
_KEPT = 0xFFFFF  # the optional rights above are dropped by a device that lacks them


class MemoryRegion:
    """`ibv_mr`: `length` bytes from `addr`, known to the HCA by `lkey` and to peers by `rkey`."""

    __slots__ = ("access", "addr", "length", "lkey", "number", "pd", "rkey")

    def __init__(self, number: int, pd: int, addr: int, length: int, access: int) -> None:
        self.number = number
        self.pd = pd
        self.addr = addr
        self.length = length
        self.access = access
        self.lkey = 0
        self.rkey = 0


def register(hca: "Hca", pd: int, length: int, access: int, addr: int | None) -> MemoryRegion:
    """`ibv_reg_mr`; without `addr` the host first allocates a buffer of `length` zero bytes."""
    objects.check_limit(hca, hca.mrs)
    if (refusal := _judge(hca, length, access, addr)) is not None:
        raise refusal
    if addr is None:
        addr = hca.memory.map(length).addr
    mr = MemoryRegion(hca.mrs.next_number, pd, addr, length, access & _KEPT)
    _assign_keys(mr, hca.host, one_key=hca.profile.lkey_is_rkey)
    objects.created(hca, hca.mrs, mr)
    hca.lkeys[mr.lkey] = mr
    hca.rkeys[mr.rkey] = mr
    return mr


def deregister(hca: "Hca", mr: MemoryRegion) -> None:
    """`ibv_dereg_mr`: work requests that use it are not asked; they will fail."""
    objects.destroyed(hca, hca.mrs, mr)
    del hca.lkeys[mr.lkey]
    del hca.rkeys[mr.rkey]


def _judge(hca: "Hca", length: int, access: int, addr: int | None) -> "Refused | None":
    profile = hca.profile
    if not 0 < length <= profile.caps.max_mr_size:
        return refused(profile, "mr-length", length, argument="length")
    if odd := unknown(access):
        return refused(profile, "mr-access-unknown", hex(odd), argument="access")
    if access & _UNSUPPORTED:
        name = Access(access & _UNSUPPORTED).name
        return refused(profile, "mr-access-support", name, argument="access")
    if needs_local_write(access) and not access & Access.LOCAL_WRITE:
        legal = f"access=LOCAL_WRITE|{Access(access).name}"
        return refused(profile, "mr-access", argument="access", legal=legal)
    if addr is not None and not hca.memory.is_mapped(addr, length):
        where = f"{addr:#x}..{addr + length:#x}"
        return refused(profile, "mr-unmapped", where, argument="addr")
    return None


def _assign_keys(mr: MemoryRegion, host: int, *, one_key: bool) -> None:
    """32-bit keys: a 24-bit index and a variant. One key for both uses on most devices."""
    index = 2 * mr.number
    mr.lkey = index << 8 | _variant(index, host)
    mr.rkey = mr.lkey if one_key else (index + 1) << 8 | _variant(index + 1, host)


def _variant(index: int, host: int) -> int:
    """The low byte of a key: arbitrary, so that no key fits elsewhere, yet alike in every run."""
    return (index * 0x9D + host * 0x35 + 0x1A) & 0xFF
