"""Memory windows: binding, invalidation and keys that changed."""

from collections.abc import Callable
from typing import NamedTuple

from rdmalab.doctor.kit import *
from rdmalab.hca.mw import BindRefusal
from rdmalab.hca.objects import MemoryRegion, MemoryWindow
from rdmalab.spec.access import FOR_WINDOW, MWType, needs_local_write


@check("mw-bind")
def mw_bind(case: Case, send: Send, wqe: SendWqe, ending: Ending, qp: QueuePair) -> Finding:
    """The test of the bind that failed, with the numbers of window, region and queue pair."""
    if wqe.wr.opcode not in (WROpcode.BIND_MW, WROpcode.LOCAL_INV):
        return NA
    refused = case.log.newest_of(Kind.WINDOW_REFUSED, case.subject.thing, wqe.serial)
    if refused is None or ending.status in (WCStatus.SUCCESS, WCStatus.WR_FLUSH_ERR):
        return ok("it was carried out")
    reason = str(reason_of(refused))
    cure = _mw_bind_cure(case, wqe, qp, reason)
    return fail(
        fact(f"{fmt.member(wqe.wr.opcode, WROpcode)} failed when it was executed: {reason}",
             event_of(refused)),
        fact("it was posted without an error", send.posted),
        *(fact(text) for text in _facts(case, wqe.wr, qp)),
        cure=cure,
    )  # fmt: skip


def _facts(case: Case, wr: SendWR, qp: QueuePair) -> list[str]:
    """The three that have to fit together, as they are now."""
    mw, mr = case.hca.mws.items.get(wr.mw or 0), case.hca.mrs.items.get(wr.bind_mr or 0)
    if mw is None or mr is None:
        return []
    window, region = (
        case.name(Noun.MW, case.node, mw.number),
        case.name(Noun.MR, case.node, mr.number),
    )
    pds = [case.name(Noun.PD, case.node, n) for n in (mw.pd, mr.pd, qp.pd)]
    start = wr.bind_addr - mr.iova
    facts = [
        f"{region} has {mr.length} bytes and {fmt.flags(mr.access, Access)}; the bind asks for "
        f"[{start}:{start + wr.bind_length}] and {fmt.flags(int(wr.bind_access), Access)}"
    ]
    if len(set(pds)) > 1:
        facts.append(
            f"{window} is in {pds[0]}, {region} in {pds[1]}, {case.qp_name(qp)} in {pds[2]}"
        )
    if mw.binding is not None:
        facts.append(f"{window} is bound already, rkey {mw.binding.key:#x}")
    return facts


# --------------------------------------------------------------------------- what would do
Before = tuple[list[str], dict[str, str | None]]
"""Lines to be carried out before the queue pair lives again, and what the bind says otherwise."""


def _mw_bind_cure(case: Case, wqe: SendWqe, qp: QueuePair, reason: str) -> Fix | None:
    wr, mw = wqe.wr, case.hca.mws.items.get(wqe.wr.mw or 0)
    mr = case.hca.mrs.items.get(wr.bind_mr or 0)
    correction = _BIND_CORRECTIONS.get(reason)
    if wr.opcode == WROpcode.LOCAL_INV or mw is None or correction is None:
        return Fix(program="invalidate the rkey of the newest bind, on the queue pair that did it")
    if mr is None and wr.bind_length:
        return Fix(program="name a region that is registered")
    lines, changed = correction(case, Bind(qp, wr, mw, mr))
    ready = memory_fixes.ready_to_send(case, qp)
    if qp.state is not QPState.RTS and not ready:
        return None
    free = _free(case, qp, mw) if reason == BindRefusal.NOT_INVALIDATED else []
    return Fix([*lines, *ready, *free, _bind(case, Bind(qp, wr, mw, mr), changed)])


def _free(case: Case, qp: QueuePair, mw: MemoryWindow) -> list[str]:
    key = mw.binding.key if mw.binding is not None else 0
    return [f"post_send {case.qp_name(qp)} opcode=LOCAL_INV invalidate_rkey={key:#x}"]


def _bind(case: Case, bind: "Bind", changed: dict[str, str | None]) -> str:
    """The bind once more; windows of type 1 have a verb of their own."""
    qp, wr, mw, mr = bind
    bound = _part(case.name(Noun.MR, case.node, mr.number), wr, mr) if mr is not None else None
    text = {"bind": bound, "mw": case.name(Noun.MW, case.node, mw.number), **changed}
    access = fmt.flags(int(wr.bind_access), Access)
    if mw.type is MWType.TYPE_2:
        plain = dict.fromkeys(("bind_mr", "bind_addr", "bind_length", "mw_rkey"))
        return commands.post_send(case, qp, wr, **{**plain, **text})
    flags = f" flags={fmt.flags(int(wr.flags), SendFlags)}" if wr.flags else ""
    access = text.get("bind_access") or access
    return (f"bind_mw {case.qp_name(qp)} {text['mw']} wr_id={wr.wr_id} bind={text['bind']} "
            f"bind_access={access}{flags}")  # fmt: skip


def _part(region: str, wr: SendWR, mr: MemoryRegion, length: int | None = None) -> str:
    """The bytes of a region that a bind asks for, or the first of them: `A.mr0[0:8]`."""
    start = wr.bind_addr - mr.iova
    return f"{region}[{start}:{start + (wr.bind_length if length is None else length)}]"


class Bind(NamedTuple):
    """A refused bind: its queue pair, its request and what that names."""

    qp: QueuePair
    wr: SendWR
    mw: MemoryWindow
    mr: MemoryRegion | None


BindFix = Callable[[Case, Bind], Before]


def _as_it_was(_case: Case, _bind: Bind) -> Before:
    """The window is made void before."""
    return [], {}


def _one_domain(case: Case, bind: Bind) -> Before:
    """Region and window into the domain of the queue pair."""
    qp, _, mw, mr = bind
    lines, changed = list[str](), dict[str, str | None]()
    if mr is not None and mr.pd != qp.pd:
        lines, changed = _region(case, bind, mr, mr.access)
    if mw.pd != qp.pd:
        name = commands.free_name(case, Noun.MW, case.node)
        pd = case.name(Noun.PD, case.node, qp.pd)
        lines = [*lines, f"alloc_mw {name} pd={pd} type={mw.type.name}"]
        changed = {**changed, "mw": name}
    return lines, changed


def _fewer_rights(_case: Case, bind: Bind) -> Before:
    allowed = FOR_WINDOW & ~(Access.ZERO_BASED if bind.mw.type is MWType.TYPE_1 else Access(0))
    return [], {"bind_access": fmt.flags(int(bind.wr.bind_access & allowed), Access)}


def _more_of_region(case: Case, bind: Bind) -> Before:
    if bind.mr is None:
        return [], {}
    local = Access.LOCAL_WRITE if needs_local_write(bind.wr.bind_access) else 0
    return _region(case, bind, bind.mr, bind.mr.access | Access.MW_BIND | local)


def _region(case: Case, bind: Bind, mr: MemoryRegion, access: int) -> Before:
    """The region registered again; a second region of its bytes if the device cannot do that."""
    lines = memory_fixes.allowing(case, case.node, mr, bind.qp.pd, access)
    if lines is not None:
        return lines, {}
    there = mr.addr, mr.length
    name, line = memory_fixes.registration(case, case.node, bind.qp.pd, there, access)
    return [line], {"bind": _part(name, bind.wr, mr)}


def _inside(case: Case, bind: Bind) -> Before:
    wr, mr = bind.wr, bind.mr
    if mr is None:
        return [], {}
    left, name = mr.iova + mr.length - wr.bind_addr, case.name(Noun.MR, case.node, mr.number)
    if wr.bind_addr < mr.iova or left <= 0:
        return [], {"bind": f"{name}[0:{mr.length}]"}
    return [], {"bind": _part(name, wr, mr, min(wr.bind_length, left))}


_BIND_CORRECTIONS: dict[str, BindFix] = {
    BindRefusal.NOT_INVALIDATED: _as_it_was,
    BindRefusal.OTHER_DOMAIN: _one_domain,
    BindRefusal.RIGHTS: _fewer_rights,
    BindRefusal.NOT_BINDABLE: _more_of_region,
    BindRefusal.READ_ONLY: _more_of_region,
    BindRefusal.ZERO_BASED: _more_of_region,
    BindRefusal.OUTSIDE_REGION: _inside,
}


@check("rkey-rotated")
def rkey_rotated(
    case: Case, send: Send, wqe: SendWqe, ending: Ending, qp: QueuePair, peer: QueuePair
) -> Finding:
    """Check whether the denied rkey was that of a window until the window was bound again."""
    if ending.status is not WCStatus.REM_ACCESS_ERR:
        return NA
    key = wqe.wr.rkey
    invalid = key_lookup.invalidated(case, peer.node, key)
    mw = case.world.nodes[peer.node].mws.items.get(invalid.thing.number) if invalid else None
    if invalid is None or mw is None or mw.binding is None:
        return ok("its rkey is not the former one of a window that is bound")
    name = case.names.of(invalid.thing)
    return fail(
        fact(f"a bind of {name} changed its rkey {key:#x} to {mw.binding.key:#x}", invalid.event),
        fact(f"the request names {key:#x}", send.posted),
        fact("it ended with REM_ACCESS_ERR", ending.event),
        cure=_rkey_rotated_cure(case, wqe, qp, peer, mw),
        since=invalid.event,
    )


def _rkey_rotated_cure(
    case: Case, wqe: SendWqe, qp: QueuePair, peer: QueuePair, mw: MemoryWindow
) -> Fix | None:
    """Name the window by its new key."""
    binding, wr = mw.binding, wqe.wr
    if binding is None:
        return None
    length = key_lookup.asked_of_peer(wqe)[1]
    inside = binding.iova <= wr.remote_addr <= binding.iova + binding.count - length
    start = wr.remote_addr - binding.iova if inside else 0
    named = memory_fixes.at(f"{case.name(Noun.MW, peer.node, mw.number)}[{start}]")
    return Fix(memory_fixes.sent_when_ready(case, qp, wr, **named))
