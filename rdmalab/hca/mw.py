"""Memory windows: a second, narrower key to a region, bound and invalidated by work requests.

A bind is checked when it is executed, by a list of named checks; a failed check completes it with
MW_BIND_ERR. Type 1: the library chooses the R_Key, all of the protection domain may use it, and a
new bind replaces the old one. Type 2: the program chooses the last octet, only the queue pair of
the bind may use it, and it must be invalidated before it is bound again.
"""

from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum

from rdmalab.hca.adapter import Adapter
from rdmalab.hca.objects import Binding, MemoryRegion, MemoryWindow, inc_rkey, varied, window_number
from rdmalab.hca.qp import QueuePair
from rdmalab.hca.wr import SendWqe, SendWR
from rdmalab.spec.access import FOR_WINDOW, Access, MWType, needs_local_write
from rdmalab.spec.records import Kind
from rdmalab.spec.row import dataclass
from rdmalab.spec.statuses import WCStatus

_ZERO_BASED, _MW_BIND, _LOCAL_WRITE = Access.ZERO_BASED, Access.MW_BIND, Access.LOCAL_WRITE


def tell(hca: Adapter, wr: SendWR) -> SendWR:
    """Give a posted bind its R_Key and return the request with it.

    Only the low octet of the requested key is used (rxe_mw.c, rxe_do_bind_mw; libmlx5 likewise):
    the index is the window's.
    """
    mw = hca.mws.items.get(wr.mw or 0)
    if mw is None:  # deallocated since: the bind will fail
        return wr
    if mw.executed is None:
        mw.executed = mw.rkey, mw.iova, mw.length
    key = inc_rkey(mw.rkey) if wr.mw_rkey is None else varied(mw.rkey, wr.mw_rkey)
    mw.rkey, mw.iova, mw.length = key, _iova(wr), wr.bind_length
    return replace(wr, mw_rkey=key)


def cancel_bind(hca: Adapter, wr: SendWR) -> None:
    """Restore the values of the program before the newest posted bind, which is not executed."""
    mw = hca.mws.items.get(wr.mw or 0)
    if mw is not None and mw.rkey == wr.mw_rkey and mw.executed is not None:
        mw.rkey, mw.iova, mw.length = mw.executed


def _iova(wr: SendWR) -> int:
    """Address by which the peer will call the first byte of the window."""
    return 0 if wr.bind_access & _ZERO_BASED else wr.bind_addr


# --------------------------------------------------------------------------- what a bind is asked
@dataclass(slots=True)
class Bind:
    """A bind about to be executed; `mr` is None where it unbinds, or names no region.

    rights: those that may be given to a window. checks_domains: all three must share one domain.
    """

    qp: QueuePair
    wr: SendWR
    mw: MemoryWindow
    mr: MemoryRegion | None
    rights: int
    checks_domains: bool


class BindRefusal(StrEnum):
    """The reason a bind fails, as the trace records it."""

    NOT_INVALIDATED = "a type 2 window must be invalidated before it is bound again"
    OTHER_DOMAIN = "window, region and queue pair are not in one protection domain"
    RIGHTS = "a window has REMOTE_* rights, and ZERO_BASED if it is of type 2"
    NO_REGION = "the region does not exist, or a type 2 window was given no bytes of it"
    NOT_BINDABLE = "the region lacks MW_BIND"
    READ_ONLY = "the region lacks LOCAL_WRITE, which the window's rights need"
    ZERO_BASED = "the region is ZERO_BASED"
    OUTSIDE_REGION = "the bytes do not lie in the region"


def check_free(bind: Bind) -> bool:
    """True if the window is not bound, or may be bound again as it is."""
    # o10-37.2.30 (rxe_mw.c). Type 1 is bound over: each bind gives the window another R_Key.
    return bind.mw.type is not MWType.TYPE_2 or bind.mw.binding is None


def check_domain(bind: Bind) -> bool:
    """True if window, region and queue pair are in one protection domain, as far as asked."""
    # C10-72: otherwise a bind would open memory of one domain to peers of another.
    if not bind.checks_domains:
        return bind.mw.type is not MWType.TYPE_2 or bind.mw.pd == bind.qp.pd
    return bind.mw.pd == bind.qp.pd and (bind.mr is None or bind.mr.pd == bind.qp.pd)


def check_rights(bind: Bind) -> bool:
    """True if all rights asked for are rights of a window."""
    # o10-36.2.2: the peer addresses a type 1 window as the program addresses the region.
    zero_based = bind.wr.bind_access & _ZERO_BASED and bind.mw.type is MWType.TYPE_1
    return not bind.wr.bind_access & ~bind.rights and not zero_based


def check_region(bind: Bind) -> bool:
    """True if the region exists, or a type 1 window is unbound."""
    # o10-37.2.40: a bind of no bytes unbinds type 1; type 2 has LOCAL_INV for that.
    if bind.wr.bind_length == 0:
        return bind.mw.type is MWType.TYPE_1
    return bind.mr is not None


def check_bindable(bind: Bind) -> bool:
    """True if the region has MW_BIND, or there is none."""
    # C10-73: who registers the region decides whether windows may be bound to it.
    return bind.mr is None or bool(bind.mr.access & _MW_BIND)


def check_writable(bind: Bind) -> bool:
    """True if the region has LOCAL_WRITE, or the window's rights do not need it."""
    # C10-74: the region needs LOCAL_WRITE, but none of the REMOTE_* rights that the window gets.
    needs_write = bind.mr is not None and needs_local_write(bind.wr.bind_access)
    return not needs_write or bool(bind.mr and bind.mr.access & _LOCAL_WRITE)


def check_not_zero_based(bind: Bind) -> bool:
    """True if the region is not ZERO_BASED."""
    return bind.mr is None or not bind.mr.access & _ZERO_BASED


def check_range(bind: Bind) -> bool:
    """True if the bytes lie in the region."""
    wr, mr = bind.wr, bind.mr
    # C10-75. A region is addressed from its iova, in binds as in SGEs.
    return mr is None or 0 <= wr.bind_addr - mr.iova <= mr.length - wr.bind_length


CHECKS: dict[BindRefusal, Callable[[Bind], bool]] = {
    BindRefusal.NOT_INVALIDATED: check_free,
    BindRefusal.OTHER_DOMAIN: check_domain,
    BindRefusal.RIGHTS: check_rights,
    BindRefusal.NO_REGION: check_region,
    BindRefusal.NOT_BINDABLE: check_bindable,
    BindRefusal.READ_ONLY: check_writable,
    BindRefusal.ZERO_BASED: check_not_zero_based,
    BindRefusal.OUTSIDE_REGION: check_range,
}


# --------------------------------------------------------------------------- work requests
def bind(hca: Adapter, qp: QueuePair, wqe: SendWqe) -> WCStatus:
    """Execute BIND_MW: the window gets these bytes; length 0 unbinds it."""
    wr = wqe.wr
    mw = hca.mws.items.get(wr.mw or 0)
    if mw is None:
        return _refuse(hca, qp, wqe, "the window was deallocated", WCStatus.MW_BIND_ERR)
    mr = hca.mrs.items.get(wr.bind_mr or 0) if wr.bind_length else None
    rights = FOR_WINDOW | (_LOCAL_WRITE if hca.profile.windows_take_local_write else 0)
    asked = Bind(qp, wr, mw, mr, int(rights), hca.profile.checks_bind_domains)
    for reason, holds in CHECKS.items():
        if not holds(asked):
            return _refuse(hca, qp, wqe, reason, WCStatus.MW_BIND_ERR)
    if mw.binding is not None:
        unbind(hca, mw, "bound again" if mr else "unbound")
    mw.executed = wr.mw_rkey or 0, _iova(wr), wr.bind_length
    if mr is not None:
        _open(hca, asked, mr)
    return WCStatus.SUCCESS


def _open(hca: Adapter, asked: Bind, mr: MemoryRegion) -> None:
    mw, wr, qp = asked.mw, asked.wr, asked.qp
    offset, key = wr.bind_addr - mr.iova, wr.mw_rkey or 0
    start = mr.addr + offset
    iova, addr, length = _iova(wr), start, wr.bind_length
    # rxe_resp.c, check_rkey: the range must be in the region of the window, no more (measured).
    if not hca.profile.checks_window_bounds:
        iova, addr, length = iova - offset, mr.addr, mr.length
    scope = qp.number if mw.type is MWType.TYPE_2 else None
    rights = int(wr.bind_access)
    mw.binding = Binding(
        key, mr.number, qp.pd, rights, iova, addr, length, scope, start, wr.bind_length
    )
    hca.rkeys[key] = mw.binding
    hca.trace.record(Kind.WINDOW_BOUND, hca.node, mw.number, start, key)


def invalidate_own(hca: Adapter, qp: QueuePair, wqe: SendWqe) -> WCStatus:
    """Execute LOCAL_INV: invalidate a key of this node."""
    if invalidate(hca, qp, wqe.wr.invalidate_rkey, "LOCAL_INV"):
        return WCStatus.SUCCESS
    whose = " of this queue pair" if hca.profile.checks_window_qp else ""
    reason = f"the key is no bound type 2 window's{whose}"
    return _refuse(hca, qp, wqe, reason, hca.profile.bad_invalidate_status)


def invalidate(hca: Adapter, qp: QueuePair, rkey: int, by: str) -> bool:
    """Invalidate a key for its queue pair or that QP's peer; True if it was possible.

    Soft-RoCE compares no queue pair (rxe_mw.c, rxe_invalidate_mw).
    """
    mw = hca.mws.items.get(window_number(rkey))
    binding = None if mw is None else mw.binding
    if mw is None or binding is None or binding.key != rkey:
        return False
    # o10-37.2.26: type 1 is never invalidated, also not by a peer; it is bound to no bytes.
    foreign = binding.qp != qp.number and hca.profile.checks_window_qp
    if mw.type is not MWType.TYPE_2 or foreign:
        return False
    unbind(hca, mw, by)
    return True


def unbind(hca: Adapter, mw: MemoryWindow, by: str) -> None:
    """Unbind a window, as the only function."""
    binding = mw.binding
    assert binding is not None
    mw.binding = None
    del hca.rkeys[binding.key]
    hca.trace.record(Kind.WINDOW_INVALIDATED, hca.node, mw.number, binding.key, by)


def _refuse(hca: Adapter, qp: QueuePair, wqe: SendWqe, reason: str, status: WCStatus) -> WCStatus:
    hca.trace.record(Kind.WINDOW_REFUSED, hca.node, qp.number, wqe, reason)
    return status
