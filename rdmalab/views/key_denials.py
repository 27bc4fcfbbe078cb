"""The test of its key that an access fails, in words, with names and numbers of both sides."""

from collections.abc import Callable
from typing import NamedTuple

from rdmalab.command import Noun, Thing
from rdmalab.hca.device import Hca
from rdmalab.hca.dma import Denied, MemoryUser, SrqUser, locate
from rdmalab.hca.invalid_pointers import listed
from rdmalab.hca.objects import KeyTarget, MemoryRegion, window_number
from rdmalab.hca.wr import RecvWR, SendWR
from rdmalab.session.names import Names
from rdmalab.spec.access import Access
from rdmalab.spec.profiles import PROFILES
from rdmalab.views import fmt

# A program that mixes them up works there.
_EQUAL = " and ".join(name for name, profile in PROFILES.items() if profile.lkey_is_rkey)


class Denial(NamedTuple):
    """An access that is denied. element: which of sg, -1: memory of the peer."""

    node: str
    why: Denied
    key: int
    addr: int
    length: int
    rights: int
    element: int = -1

    @property
    def is_local(self) -> bool:
        """Whether an lkey was used, not an rkey."""
        return self.element >= 0

    def opened(self, hca: Hca) -> KeyTarget | None:
        """MR or window that has the key now; None if nothing has it."""
        return (hca.lkeys if self.is_local else hca.rkeys).get(self.key)

    @property
    def subject(self) -> str:
        """`rkey 0xdead`, `sge[0]: lkey 0x289`."""
        return f"{f'sge[{self.element}]: lkey' if self.is_local else 'rkey'} {self.key:#x}"


def denials(hca: Hca, user: MemoryUser, wr: SendWR | RecvWR, rights: int) -> list[Denial]:
    """The elements of a list that the local adapter may not access, as it is now."""
    found = []
    for index, sge in enumerate(listed(wr)):
        length = sge.length or hca.profile.zero_sge_bytes
        place = locate(hca.lkeys, sge.lkey, user, rights, sge.addr, length)
        if isinstance(place, Denied) and length:
            found.append(Denial(hca.node, place, sge.lkey, sge.addr, length, rights, index))
    return found


def denial_text(hca: Hca, names: Names, denial: Denial, user: MemoryUser) -> str:
    """`rkey 0xdead is the key of no MR or bound window on B`: by what has the key now."""
    opened = denial.opened(hca)
    if opened is None:
        return f"{denial.subject} {_no_key(hca, names, denial)}"
    return f"{denial.subject} {_TEXTS[denial.why](names, denial, opened, user)}"


def _no_key(hca: Hca, names: Names, denial: Denial) -> str:
    local = denial.is_local
    if (mr := other_use(hca, denial)) is not None:
        use, right = ("rkey", mr.lkey) if local else ("lkey", mr.rkey)
        name = names.of(Thing(Noun.MR, denial.node, mr.number))
        proper = f"whose {'lkey' if local else 'rkey'} is {right:#x}"
        return f"is the {use} of {name}, {proper} ({_EQUAL} have one key for both)"
    if (mr := _without_key(hca, denial)) is not None:
        name = names.of(Thing(Noun.MR, denial.node, mr.number))
        return f"is no key: {name} has no remote right, and on this device its rkey is 0"
    return f"is the key of no {'MR' if local else 'MR or bound window'} on {denial.node}"


def _without_key(hca: Hca, denial: Denial) -> MemoryRegion | None:
    """The region of the bytes, if it has the rkey 0 that was used: the device gives it no other."""
    if denial.key or denial.is_local or not hca.profile.rkey_needs_remote_right:
        return None
    found = (mr for mr in hca.mrs.items.values() if not mr.rkey
             and mr.iova <= denial.addr < mr.iova + mr.length)  # fmt: skip
    return next(found, None)


def _domain(names: Names, denial: Denial, opened: KeyTarget, user: MemoryUser) -> str:
    theirs, ours = (names.of(Thing(Noun.PD, denial.node, n)) for n in (opened.pd, user.pd))
    shared = user.srq if isinstance(user, SrqUser) else 0
    noun, number = (Noun.SRQ, shared) if shared else (Noun.QP, user.number)
    whose = names.of(Thing(noun, denial.node, number))
    return f"opens {name_of(names, denial.node, opened)} in {theirs}, {whose} is in {ours}"


def _window(names: Names, denial: Denial, opened: KeyTarget, _user: MemoryUser) -> str:
    bound = fmt.qp_name(names, denial.node, opened.qp or 0)
    return (
        f"is of {name_of(names, denial.node, opened)}, which only {bound} may use: {bound} bound it"
    )


def _rights(names: Names, denial: Denial, opened: KeyTarget, _user: MemoryUser) -> str:
    has = fmt.flags(opened.access, Access)
    lacks = fmt.flags(denial.rights & ~opened.access, Access)
    return f"opens {name_of(names, denial.node, opened)} for {has}; {lacks} is missing"


def _range(names: Names, denial: Denial, opened: KeyTarget, _user: MemoryUser) -> str:
    name, start = name_of(names, denial.node, opened), denial.addr - opened.iova
    begins = f"opens {name}, which begins at {opened.iova:#x}"
    if opened.iova != opened.addr and 0 <= denial.addr - opened.addr < opened.length:
        return f"{begins} in requests; {denial.addr:#x} is the address of its bytes in memory"
    if start < 0:
        return f"{begins}; address {denial.addr:#x} is below"
    if start > opened.length << 8:
        return f"{begins} and has {opened.length} bytes; address {denial.addr:#x} is far above"
    bytes_ = f"bytes {start}..{start + denial.length}"
    zero = " (length 0 stands for 2^31)" if denial.length == 1 << 31 else ""
    return f"opens bytes 0..{opened.length} of {name}; {bytes_}{zero} were named"


_TEXTS: dict[Denied, Callable[[Names, Denial, KeyTarget, MemoryUser], str]] = {
    Denied.PD: _domain,
    Denied.QP: _window,
    Denied.RIGHTS: _rights,
    Denied.RANGE: _range,
}


def name_of(names: Names, node: str, opened: KeyTarget) -> str:
    """Of a region, or of the window whose binding it is."""
    if isinstance(opened, MemoryRegion):
        return names.of(Thing(Noun.MR, node, opened.number))
    return names.of(Thing(Noun.MW, node, window_number(getattr(opened, "key", 0))))


def other_use(hca: Hca, denial: Denial) -> MemoryRegion | None:
    """The region whose other key it is."""
    found = (hca.rkeys if denial.is_local else hca.lkeys).get(denial.key)
    return found if isinstance(found, MemoryRegion) else None
