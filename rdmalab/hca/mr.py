"""Memory regions and their keys."""

from rdmalab.command import Refused
from rdmalab.hca import lifecycle
from rdmalab.hca.adapter import Adapter
from rdmalab.hca.errors import refused
from rdmalab.hca.memory import NOT_MAPPED, PAGE, READ_ONLY
from rdmalab.hca.objects import MemoryRegion, ProtectionDomain, key_of
from rdmalab.spec.access import Access, Rereg, needs_local_write, unknown
from rdmalab.spec.records import Kind

_ADDRESSES = 1 << 64
# Bits 20 to 29 are IBV_ACCESS_OPTIONAL_RANGE (verbs.h): a program may ask for them anywhere.
_KEPT = 0xFFFFF  # the optional rights above are dropped by a device that lacks them
_REMOTE = int(
    Access.REMOTE_WRITE
    | Access.REMOTE_READ
    | Access.REMOTE_ATOMIC
    | Access.FLUSH_GLOBAL
    | Access.FLUSH_PERSISTENT
)


def register(
    hca: Adapter, pd: int, length: int, access: int, addr: int | None, iova: int | None = None
) -> MemoryRegion:
    """`ibv_reg_mr`; without `addr` the host first allocates a buffer of `length` zero bytes."""
    lifecycle.check_limit(hca, hca.mrs)
    refusal = _judge_access(hca, access) or _judge_range(hca, length, addr, iova)
    if refusal is not None:
        raise refusal
    if addr is None:
        addr = hca.memory.map(length).addr
    mr = MemoryRegion(hca.mrs.next_number, pd, addr, length, access & _KEPT)
    mr.iova = _first_address(hca, mr) if iova is None else iova
    _assign_keys(hca, mr)
    lifecycle.created(hca, hca.mrs, mr)
    _publish(hca, mr)
    return mr


def deregister(hca: Adapter, mr: MemoryRegion) -> None:
    """`ibv_dereg_mr`, never refused for work requests that use it; they will fail."""
    _check_unbound(hca, mr)
    _withdraw(hca, mr)
    lifecycle.destroyed(hca, hca.mrs, mr)


def reregister(
    hca: Adapter,
    mr: MemoryRegion,
    flags: int,
    pd: ProtectionDomain | None,
    span: tuple[int | None, int],
    access: int | None,
) -> None:
    """`ibv_rereg_mr`: change what the flags name, all of it or nothing.

    span: address and length of the new translation. With a new translation come new keys.
    """
    addr, length = span
    given = (addr is not None or length != 0, pd is not None, access is not None)
    if (refusal := _judge_change(hca, flags, given)) is not None:
        raise refusal
    rights = mr.access if access is None else access
    moved = bool(flags & Rereg.CHANGE_TRANSLATION)
    # All is judged before the old keys go: after an error of input the region is as it was.
    refusal = _judge_access(hca, rights)
    if moved:
        refusal = refusal or _judge_range(hca, length, addr, None)
    if refusal is not None:
        raise refusal
    _check_unbound(hca, mr)
    _withdraw(hca, mr)
    mr.access = rights & _KEPT
    if pd is not None:
        mr.pd = pd.number
    if moved and addr is not None:
        mr.addr, mr.length = addr, length
        mr.iova = _first_address(hca, mr)
        mr.version += 1
        _assign_keys(hca, mr)
    _publish(hca, mr)
    hca.trace.record(Kind.REREGISTERED, hca.node, mr.number, flags)


# --------------------------------------------------------------------------- what is refused
def _judge_access(hca: Adapter, access: int) -> Refused | None:
    profile = hca.profile
    if odd := unknown(access):
        return refused(profile, "mr-access-unknown", hex(odd), argument="access")
    if access & Access.ON_DEMAND:
        return refused(profile, "mr-on-demand", argument="access")
    if access & Access.HUGETLB:
        return refused(profile, "mr-access-support", "HUGETLB", argument="access")
    # ib_check_mr_access of the kernel: a remote write or atomic changes memory of this host.
    if needs_local_write(access) and not access & Access.LOCAL_WRITE:
        legal = f"access=LOCAL_WRITE|{Access(access).name}"
        return refused(profile, "mr-access", argument="access", legal=legal)
    return None


def _judge_range(hca: Adapter, length: int, addr: int | None, iova: int | None) -> Refused | None:
    profile = hca.profile
    # The kernel counts pages: no bytes at the start of a page are none, EINVAL (measured); inside a
    # page it would count one and accept. Here length 0 is refused at every address.
    if not 0 < length <= profile.caps.max_mr_size:
        return refused(profile, "mr-length", length, argument="length")
    for name, first in (("addr", addr), ("hca_va", iova)):
        if first is not None and not 0 <= first <= _ADDRESSES - length:
            return refused(profile, "mr-overflow", hex(first), argument=name)
    # ib_uverbs_reg_mr: whole pages are translated, so both addresses have one offset in a page.
    if iova is not None and (iova - (addr or 0)) % PAGE:
        legal = f"hca_va at {(addr or 0) % PAGE:#x} in its page"
        offset = f"{iova % PAGE:#x}"
        return refused(profile, "mr-iova-offset", offset, argument="hca_va", legal=legal)
    if addr is not None and not hca.memory.is_mapped(addr, length):
        where = f"{addr:#x}..{addr + length:#x}" if addr < READ_ONLY else "what the program gave"
        if READ_ONLY <= addr < NOT_MAPPED:
            legal = "access=0 for memory that is only sent from; else map it with PROT_WRITE"
            return refused(profile, "mr-read-only", argument="access", legal=legal)
        return refused(profile, "mr-unmapped", where, argument="addr")
    return _judge_lock(hca, length, addr)


def _judge_lock(hca: Adapter, length: int, addr: int | None) -> Refused | None:
    """Refuse more locked bytes than the limit; a page in two regions counts twice (kernel)."""
    limit = hca.profile.caps.memlock_limit
    locked = pages_bytes(addr or 0, length)
    locked += sum(pages_bytes(mr.addr, mr.length) for mr in hca.mrs.items.values())
    if locked <= limit:
        return None
    legal = "raise the limit (ulimit -l), or register less"
    return refused(hca.profile, "mr-memlock", locked, limit, argument="length", legal=legal)


def pages_bytes(addr: int, length: int) -> int:
    """The bytes of all pages that a range touches."""
    return (addr + length + PAGE - 1) // PAGE * PAGE - addr // PAGE * PAGE


def _judge_change(hca: Adapter, flags: int, given: tuple[bool, bool, bool]) -> Refused | None:
    """As libibverbs judges: every flag has its arguments, every argument its flag."""
    profile = hca.profile
    if not flags or flags & ~sum(Rereg):
        return refused(profile, "rereg-flags", flags, argument="flags")
    for flag, is_given in zip(Rereg, given, strict=True):
        if bool(flags & flag) != is_given:
            name = (flag.name or "").removeprefix("CHANGE_").lower()
            return refused(profile, "rereg-input", name, argument="flags")
    if odd := flags & ~profile.rereg_changes:
        return refused(profile, "rereg-support", Rereg(odd).name, argument="flags")
    return None


def _check_unbound(hca: Adapter, mr: MemoryRegion) -> None:
    """A window on it must go first."""
    # ibv_dereg_mr(3): not while a window is bound. Soft-RoCE says EINVAL (measured).
    for mw in hca.mws.items.values():
        if mw.binding is not None and mw.binding.mr == mr.number:
            legal = "unbind, invalidate or deallocate the window first"
            raise refused(hca.profile, "mr-window-bound", argument="mr", legal=legal)


# --------------------------------------------------------------------------- addresses and keys
def _first_address(hca: Adapter, mr: MemoryRegion) -> int:
    zero_based = mr.access & Access.ZERO_BASED and hca.profile.honours_zero_based
    return 0 if zero_based else mr.addr


def _publish(hca: Adapter, mr: MemoryRegion) -> None:
    hca.lkeys[mr.lkey] = mr
    if mr.rkey:
        hca.rkeys[mr.rkey] = mr


def _withdraw(hca: Adapter, mr: MemoryRegion) -> None:
    del hca.lkeys[mr.lkey]
    hca.rkeys.pop(mr.rkey, None)


def _assign_keys(hca: Adapter, mr: MemoryRegion) -> None:
    """32-bit keys: a 24-bit index and a variant. One key for both uses on most devices."""
    profile, index = hca.profile, 2 * mr.number
    mr.lkey = key_of(index, hca.host, mr.version)
    mr.rkey = mr.lkey if profile.lkey_is_rkey else key_of(index + 1, hca.host, mr.version)
    # Soft-RoCE: a region without a REMOTE_* right has R_Key 0 (measured with LOCAL_WRITE, MW_BIND).
    if profile.rkey_needs_remote_right and not mr.access & _REMOTE:
        mr.rkey = 0
