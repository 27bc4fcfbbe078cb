"""Direct memory access: what a key allows, and where the bytes of a message lie in memory."""

from enum import Enum
from typing import TYPE_CHECKING, NamedTuple, Protocol

from rdmalab.spec.access import Access
from rdmalab.spec.statuses import WCStatus

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rdmalab.hca.device import Hca
    from rdmalab.hca.mr import MemoryRegion
    from rdmalab.hca.qp import QueuePair
    from rdmalab.hca.wr import SGE, SendWqe

# Bytes in a row: address and length.
Piece = tuple[int, int]

LOCAL_READ = 0  # reading the own memory needs no right
LOCAL_WRITE = int(Access.LOCAL_WRITE)


class User(Protocol):
    """Who touches memory: a queue pair, by its number and protection domain."""

    @property
    def number(self) -> int: ...
    @property
    def pd(self) -> int: ...


class Borrower(NamedTuple):
    """A queue pair without a PD, in that of the SRQ which a request named."""

    number: int
    pd: int


class Denied(Enum):
    """The first test that an access failed; on the wire all of them look alike."""

    KEY = "no MR has this key"
    PD = "the MR is in another protection domain"
    RIGHTS = "the MR does not allow it"
    RANGE = "the range reaches beyond the MR"


def check(
    keys: "Mapping[int, MemoryRegion]", key: int, qp: "User", rights: int, addr: int, length: int
) -> Denied | None:
    """Why `length` bytes at `addr` may not be touched through `key`, in the order IBA asks."""
    mr = keys.get(key)
    if mr is None:
        return Denied.KEY
    if mr.pd != qp.pd:
        return Denied.PD
    if mr.access & rights != rights:
        return Denied.RIGHTS
    if addr < mr.addr or addr + length > mr.addr + mr.length:
        return Denied.RANGE
    return None


def reach(
    keys: "Mapping[int, MemoryRegion]",
    qp: "User",
    rights: int,
    sg: "list[SGE]",
    offset: int,
    length: int,
) -> list[Piece] | Denied:
    """Where bytes [offset, offset+length) of a message lie, or why one of them may not be touched.

    A list that is too short for them ends early.
    """
    found: list[Piece] = []
    if length == 0:
        return found
    for sge in sg:
        room = sge.length - offset
        if room <= 0:
            offset = -room
            continue
        last = length <= room
        addr, count = sge.addr + offset, length if last else room
        if denied := check(keys, sge.lkey, qp, rights, addr, count):
            return denied
        found.append((addr, count))
        if last:
            break
        offset, length = 0, length - count
    return found


def gather(
    hca: "Hca", qp: "QueuePair", wqe: "SendWqe", offset: int, length: int
) -> bytes | WCStatus:
    """Bytes of a request's message, read now, or how it fails."""
    if wqe.inline is not None:
        return wqe.inline[offset : offset + length]
    pieces = reach(hca.lkeys, qp, LOCAL_READ, wqe.sg, offset, length)
    if isinstance(pieces, list):
        return hca.read(qp, pieces)
    key_unknown = pieces in (Denied.KEY, Denied.PD)
    return hca.profile.unknown_lkey_status if key_unknown else WCStatus.LOC_PROT_ERR
