"""Which test of its key some memory fails, in words; and what became of a key that was good."""

from typing import NamedTuple

from rdmalab.command import Noun, Thing
from rdmalab.doctor.case import Case
from rdmalab.hca.device import Hca
from rdmalab.hca.dma import Denied, KeyTarget, MemoryUser, SrqUser, locate
from rdmalab.hca.invalid_pointers import listed
from rdmalab.hca.keys import WINDOWS, key_of, region_number, window_number
from rdmalab.hca.mr import MemoryRegion
from rdmalab.hca.wqe import SendWqe
from rdmalab.hca.wr import RecvWR, SendWR
from rdmalab.spec.access import Access, Rereg
from rdmalab.spec.opcodes import ATOMIC_BYTES, WORD_OPS
from rdmalab.spec.records import Kind, event_of, reason_of, rereg_of, void_rkey_of
from rdmalab.spec.work import PLACEMENT_RIGHTS, WORK, WROpcode
from rdmalab.views import fmt


class Denial(NamedTuple):
    """An access that is denied. element: which of sg, -1: memory of the peer."""

    node: str
    why: Denied
    key: int
    addr: int
    length: int
    rights: int
    element: int = -1


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


def denials(hca: Hca, user: MemoryUser, wr: SendWR | RecvWR, rights: int) -> list[Denial]:
    """The elements of a list that the own adapter may not touch, as it is now."""
    found = []
    for index, sge in enumerate(listed(wr)):
        length = sge.length or hca.profile.zero_sge_bytes
        place = locate(hca.lkeys, sge.lkey, user, rights, sge.addr, length)
        if isinstance(place, Denied) and length:
            found.append(Denial(hca.node, place, sge.lkey, sge.addr, length, rights, index))
    return found


def denial_at(hca: Hca, peer: MemoryUser, wqe: SendWqe) -> Denial | None:
    """What the adapter of the peer denies a request, as it is now."""
    wr, (rights, length) = wqe.wr, asked_of_peer(wqe)
    place = locate(hca.rkeys, wr.rkey, peer, rights, wr.remote_addr, length)
    if not isinstance(place, Denied) or not length:
        return None
    return Denial(hca.node, place, wr.rkey, wr.remote_addr, length, rights)


def denial_text(case: Case, denial: Denial, user: MemoryUser) -> str:
    """The test that it fails, with the numbers and names of both sides."""
    hca = case.world.nodes[denial.node]
    local = denial.element >= 0
    opened = (hca.lkeys if local else hca.rkeys).get(denial.key)
    what = f"sge[{denial.element}]: lkey" if local else "rkey"
    return f"{what} {denial.key:#x} {_DENIAL_TEXTS[denial.why](case, denial, opened, user)}"


def _no_key(case: Case, denial: Denial, _opened: KeyTarget | None, _user: MemoryUser) -> str:
    if (gone := former(case, denial.node, denial.key)) is not None:
        how = "was deregistered" if gone.dead else "was registered again, with new keys"
        return f"was that of {case.names.of(gone.thing)}, which {how}"
    if (invalid := invalidated(case, denial.node, denial.key)) is not None:
        return f"was that of {case.names.of(invalid.thing)}, and is invalid: {invalid.why}"
    local = denial.element >= 0
    if (mr := other_use(case.world.nodes[denial.node], denial)) is not None:
        use, right = ("rkey", mr.lkey) if local else ("lkey", mr.rkey)
        name = case.name(Noun.MR, denial.node, mr.number)
        return f"is the {use} of {name}, whose {'lkey' if local else 'rkey'} is {right:#x}"
    return f"is the key of no {'MR' if local else 'MR or bound window'} on {denial.node}"


def _domain(case: Case, denial: Denial, opened: KeyTarget | None, user: MemoryUser) -> str:
    assert opened is not None
    theirs, ours = (case.name(Noun.PD, denial.node, n) for n in (opened.pd, user.pd))
    shared = user.srq if isinstance(user, SrqUser) else 0
    noun, number = (Noun.SRQ, shared) if shared else (Noun.QP, user.number)
    whose = case.name(noun, denial.node, number)
    return f"opens {name_of(case, denial.node, opened)} in {theirs}, {whose} is in {ours}"


def _window(case: Case, denial: Denial, opened: KeyTarget | None, _user: MemoryUser) -> str:
    assert opened is not None
    bound = case.name(Noun.QP, denial.node, opened.qp or 0)
    return f"is of {name_of(case, denial.node, opened)}, which only {bound} may use: it bound it"


def _rights(case: Case, denial: Denial, opened: KeyTarget | None, _user: MemoryUser) -> str:
    assert opened is not None
    has = fmt.flags(opened.access, Access)
    lacks = fmt.flags(denial.rights & ~opened.access, Access)
    return f"opens {name_of(case, denial.node, opened)} for {has}; {lacks} is missing"


def _range(case: Case, denial: Denial, opened: KeyTarget | None, _user: MemoryUser) -> str:
    assert opened is not None
    name, start = name_of(case, denial.node, opened), denial.addr - opened.iova
    bytes_ = f"bytes {start}..{start + denial.length}"
    zero = " (length 0 stands for 2^31)" if denial.length == 1 << 31 else ""
    return f"opens bytes 0..{opened.length} of {name}, it names {bytes_}{zero}"


_DENIAL_TEXTS = {
    Denied.KEY: _no_key,
    Denied.PD: _domain,
    Denied.QP: _window,
    Denied.RIGHTS: _rights,
    Denied.RANGE: _range,
}


def name_of(case: Case, node: str, opened: KeyTarget) -> str:
    """Of a region, or of the window whose binding it is."""
    if isinstance(opened, MemoryRegion):
        return case.name(Noun.MR, node, opened.number)
    key = getattr(opened, "key", 0)
    return case.name(Noun.MW, node, window_number(key))


def other_use(hca: Hca, denial: Denial) -> MemoryRegion | None:
    """The region whose other key it is."""
    other = hca.rkeys if denial.element >= 0 else hca.lkeys
    found = other.get(denial.key)
    return found if isinstance(found, MemoryRegion) else None


# --------------------------------------------------------------------------- keys of the past
def former(case: Case, node: str, key: int) -> Gone | None:
    """The region that had this key before, and lost it."""
    number, hca = region_number(key), case.world.nodes[node]
    if key >> 8 >= WINDOWS or key in hca.lkeys or key in hca.rkeys:
        return None
    rereg = [r for _, r in case.log.of(Kind.REREGISTERED, node, number)]
    versions = 1 + sum(bool(rereg_of(r) & Rereg.CHANGE_TRANSLATION) for r in rereg)
    if key not in [key_of(key >> 8, hca.host, version) for version in range(versions)]:
        return None
    thing = Thing(Noun.MR, node, number)
    destroyed = case.log.destroyed(thing)
    if destroyed is not None:
        return Gone(thing, destroyed, dead=True)
    moved = [r for r in rereg if rereg_of(r) & Rereg.CHANGE_TRANSLATION]
    return Gone(thing, event_of(moved[-1]), dead=False) if moved else None


def invalidated(case: Case, node: str, key: int) -> InvalidWindow | None:
    """The window that had this key, and how it lost it."""
    number = window_number(key)
    if number < 1 or key in case.world.nodes[node].rkeys:
        return None
    thing = Thing(Noun.MW, node, number)
    found = [r for _, r in case.log.about(Kind.WINDOW_INVALIDATED, thing) if void_rkey_of(r) == key]
    return InvalidWindow(thing, event_of(found[-1]), reason_of(found[-1])) if found else None


def lost(case: Case, hca: Hca, wr: SendWR | RecvWR) -> list[tuple[int, Gone]]:
    """The elements of a list whose key was good once, by their index."""
    found = [(n, former(case, hca.node, sge.lkey)) for n, sge in enumerate(listed(wr))]
    return [(n, gone) for n, gone in found if gone is not None]


# --------------------------------------------------------------------------- of the peer's memory
def asked_of_peer(wqe: SendWqe) -> tuple[int, int]:
    """The rights that a request needs there, and how many bytes it names."""
    wr, work = wqe.wr, WORK[WROpcode(wqe.wr.opcode)]
    if wr.opcode == WROpcode.FLUSH:
        needed = [right for bit, right in PLACEMENT_RIGHTS.items() if wr.flush_type & bit]
        return sum(map(int, needed)), wr.flush_length
    return int(work.remote), ATOMIC_BYTES if work.message in WORD_OPS else wqe.length
