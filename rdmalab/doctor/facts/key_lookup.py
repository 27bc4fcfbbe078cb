"""The test of its key that some memory fails, in words; and what became of a key that was good."""

from typing import NamedTuple

from rdmalab.command import Noun, Thing
from rdmalab.doctor.case import Call, Case, SendWqe, Subject
from rdmalab.doctor.check import Evidence, fact
from rdmalab.doctor.evidence.made_good import left_refused
from rdmalab.doctor.evidence.messages import sent_as
from rdmalab.doctor.evidence.subject import name_of
from rdmalab.hca.device import Hca
from rdmalab.hca.dma import Denied, MemoryUser, locate
from rdmalab.hca.invalid_pointers import listed
from rdmalab.hca.objects import WINDOWS, MemoryRegion, key_of, region_number, window_number
from rdmalab.hca.wr import RecvWR, SendWR
from rdmalab.spec import records as rec
from rdmalab.spec.access import Access, Rereg
from rdmalab.spec.opcodes import ATOMIC_BYTES, WORD_OPS
from rdmalab.spec.records import Kind
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import PLACEMENT_RIGHTS, WORK, WROpcode
from rdmalab.views import fmt, key_denials
from rdmalab.views.key_denials import Denial


class Gone(NamedTuple):
    """A region that had a key once. event: in which it lost it; dead: it does not live any more."""

    thing: Thing
    event: int
    dead: bool


class InvalidWindow(NamedTuple):
    """A window whose rkey is invalid now. why: `bound again`, `LOCAL_INV`."""

    thing: Thing
    event: int
    why: str


def denial_at(hca: Hca, peer: MemoryUser, wqe: SendWqe) -> Denial | None:
    """The denial of a request by the adapter of the peer, as it is now; None if it allows it."""
    wr, (rights, length) = wqe.wr, asked_of_peer(wqe)
    place = locate(hca.rkeys, wr.rkey, peer, rights, wr.remote_addr, length)
    if not isinstance(place, Denied) or not length:
        return None
    return Denial(hca.node, place, wr.rkey, wr.remote_addr, length, rights)


def denial_text(case: Case, denial: Denial, user: MemoryUser) -> str:
    """The test that it fails, with the numbers and names of both sides; of a key, its past too."""
    hca = case.world.nodes[denial.node]
    text = _past(case, denial) if denial.opened(hca) is None else ""
    if text:
        return f"{denial.subject} {text}"
    return key_denials.denial_text(hca, case.names, denial, user)


_TAKEN = {
    Denied.RIGHTS: (Rereg.CHANGE_ACCESS, "set its access flags"),
    Denied.PD: (Rereg.CHANGE_PD, "moved it to that domain"),
}


def changed(case: Case, denial: Denial) -> list[Evidence]:
    """The newest rereg_mr that took from a region what the denial misses, else the reg_mr that did
    not give the right; [] of other denials.
    """
    opened = denial.opened(case.world.nodes[denial.node])
    if denial.why not in _TAKEN or not isinstance(opened, MemoryRegion):
        return []
    flag, text = _TAKEN[denial.why]
    calls = case.log.of(Kind.REREGISTERED, denial.node, opened.number)
    events = [
        rec.event_of(r) for r in calls if rec.rereg_of(r) & flag and rec.event_of(r) < case.ended
    ]
    if events or denial.why is not Denied.RIGHTS:
        return [fact(f"rereg_mr had {text}", event) for event in events[-1:]]
    name, rights = case.name(Noun.MR, denial.node, opened.number), fmt.flags(opened.access, Access)
    made = case.log.created(Thing(Noun.MR, denial.node, opened.number))
    return [fact(f"{name} was registered with access={rights}", made)]


def _past(case: Case, denial: Denial) -> str:
    """Whose a key was, or is, that opens nothing; empty if it is the key of nothing."""
    if (gone := former(case, denial.node, denial.key)) is not None:
        how = "was deregistered" if gone.dead else "was registered again, with new keys"
        return f"was that of {case.names.of(gone.thing)}, which {how}"
    if (invalid := invalidated(case, denial.node, denial.key)) is not None:
        how = f"{invalid.why}{_by_message(case, invalid)}"
        return f"was that of {case.names.of(invalid.thing)}, and is invalid: {how}"
    return _of_window(case, denial.node, denial.key) or _of_another(case, denial)


def _of_another(case: Case, denial: Denial) -> str:
    """The object that has this key on another node, or with its bytes reversed; empty if none."""
    node, reverse = denial.node, int.from_bytes(denial.key.to_bytes(4, "little"))
    if (opened := case.world.nodes[node].rkeys.get(reverse)) is not None:
        name = key_denials.name_of(case.names, node, opened)
        return f"is the key {reverse:#x} of {name} with its bytes in reverse order"
    for other, hca in case.world.nodes.items():
        if denial.key in hca.rkeys and other != node:
            name = key_denials.name_of(case.names, other, hca.rkeys[denial.key])
            return f"is that of {name}, and {node} has no such key"
    return ""


def _by_message(case: Case, invalid: InvalidWindow) -> str:
    """` of A.qp0.wr[4] at ev 28`: the message that invalidated a window; empty without one."""
    came = [r for r in case.log.within(invalid.event) if rec.kind_of(r) is Kind.PACKET_RECEIVED]
    sent = sent_as(case.log, came[0]) if came and "_INV" in invalid.why else None
    if sent is None:
        return ""
    return f" of {name_of(case.names, Subject.of_send(*sent))} at {fmt.ev(invalid.event)}"


# --------------------------------------------------------------------------- keys of the past
def former(case: Case, node: str, key: int, until: float | None = None) -> Gone | None:
    """The region that had this key before, and lost it until an event; None: its end."""
    number, hca = region_number(key), case.world.nodes[node]
    if key >> 8 >= WINDOWS or key in hca.lkeys or key in hca.rkeys:
        return None
    rereg = case.log.of(Kind.REREGISTERED, node, number)
    versions = 1 + sum(bool(rec.rereg_of(r) & Rereg.CHANGE_TRANSLATION) for r in rereg)
    if key not in [key_of(key >> 8, hca.host, version) for version in range(versions)]:
        return None
    thing = Thing(Noun.MR, node, number)
    moved = [rec.event_of(r) for r in rereg if rec.rereg_of(r) & Rereg.CHANGE_TRANSLATION][-1:]
    destroyed = case.log.destroyed(thing)
    lost_at = moved if destroyed is None else [destroyed]
    # what was lost after the work had ended is not its reason
    return next((Gone(thing, event, destroyed is not None) for event in lost_at
                 if event <= (case.ended if until is None else until)), None)  # fmt: skip


def invalidated(case: Case, node: str, key: int) -> InvalidWindow | None:
    """The window that had this key before, and how the key became invalid."""
    number = window_number(key)
    if number < 1 or key in case.world.nodes[node].rkeys:
        return None
    thing = Thing(Noun.MW, node, number)
    voided, bound = ([r for r in case.log.about(kind, thing) if rec.event_of(r) <= case.ended]
                     for kind in (Kind.WINDOW_INVALIDATED, Kind.WINDOW_BOUND))  # fmt: skip
    for record in (r for r in reversed(voided) if rec.void_rkey_of(r) == key):
        return InvalidWindow(thing, rec.event_of(record), rec.reason_of(record))
    if not bound or case.log.destroyed(thing) is not None:
        return None
    if voided and rec.event_of(voided[-1]) > rec.event_of(bound[-1]):
        return None  # it is not bound
    why = f"its bind made it {rec.bound_rkey_of(bound[-1]):#x}"
    return InvalidWindow(thing, rec.event_of(bound[-1]), why)


def _of_window(case: Case, node: str, key: int) -> str:
    """The window, not bound, that a key is of; empty if the key is of no window."""
    thing = Thing(Noun.MW, node, window_number(key))
    if thing.number < 1 or thing not in case.names.name_of:
        return ""
    name, gone = case.names.of(thing), case.log.destroyed(thing)
    if gone is not None:
        return f"is of {name}, which was deallocated in {fmt.ev(gone)}"
    voided = [f" ({rec.reason_of(record)} in {fmt.ev(rec.event_of(record))})"
              for record in case.log.about(Kind.WINDOW_INVALIDATED, thing)]  # fmt: skip
    return f"is of {name}, which is not bound{''.join(voided[-1:])}: a bind makes a key valid"


def lost(case: Case, hca: Hca, wr: SendWR | RecvWR) -> list[tuple[int, Gone]]:
    """The elements of a list whose key was good once, by their index."""
    found = [(n, former(case, hca.node, sge.lkey)) for n, sge in enumerate(listed(wr))]
    return [(n, gone) for n, gone in found if gone is not None]


# --------------------------------------------------------------------------- keys never given
_REGISTERS = ("reg_mr", "reg_mr_iova", "reg_dmabuf_mr", "alloc_mw")


def refused_registration(case: Case) -> Call | None:
    """The refused call that was to give the key with which a request has failed.

    The key is 0, or the key of nothing with an address outside of all regions, and no other call
    has made what the refused one was to make before the request was posted.
    """
    work = case.work
    if work is None or work.wqe is None or work.ending is None or work.posted is None:
        return None
    wr, status = work.wqe.wr, work.ending.status
    named = [(case.node, sge.lkey, sge.addr) for sge in listed(wr)]
    if status is WCStatus.REM_ACCESS_ERR and isinstance(wr, SendWR) and case.peer is not None:
        named = [(case.peer.node, wr.rkey, wr.remote_addr)]
    elif status is not WCStatus.LOC_PROT_ERR:
        return None
    for node, key, addr in named:
        calls = (c for v in _REGISTERS for c in left_refused(case.log, v, node, work.posted))
        if (call := next(calls, None)) is not None and _opens_nothing(case, node, key, addr):
            return call
    return None


def _opens_nothing(case: Case, node: str, key: int, addr: int) -> bool:
    """Whether a key is 0, or never was one, with an address in no region of the node."""
    hca = case.world.nodes[node]
    if key in hca.lkeys or key in hca.rkeys:
        return False
    is_known = bool(_past(case, Denial(node, Denied.KEY, key, addr, 0, 0)))
    held = any(mr.iova <= addr < mr.iova + mr.length for mr in hca.mrs.items.values())
    return not key or not (is_known or held)


# --------------------------------------------------------------------------- of the peer's memory
def asked_of_peer(wqe: SendWqe) -> tuple[int, int]:
    """The rights that a request needs there, and how many bytes it names."""
    wr, work = wqe.wr, WORK[WROpcode(wqe.wr.opcode)]
    if wr.opcode == WROpcode.FLUSH:
        needed = [right for bit, right in PLACEMENT_RIGHTS.items() if wr.flush_type & bit]
        return sum(map(int, needed)), wr.flush_length
    return int(work.remote), ATOMIC_BYTES if work.message in WORD_OPS else wqe.length
