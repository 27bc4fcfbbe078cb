"""Direct memory access: what a key permits, and where the bytes of a message are in memory."""

from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple, Protocol

from rdmalab.hca.adapter import Adapter
from rdmalab.hca.objects import KeyTarget
from rdmalab.hca.qp import QueuePair
from rdmalab.hca.wr import SGE, SendWqe
from rdmalab.spec.access import Access
from rdmalab.spec.records import Kind
from rdmalab.spec.statuses import WCStatus

# Bytes in a row: address and length.
Piece = tuple[int, int]

LOCAL_READ = 0  # reading local memory needs no right
LOCAL_WRITE = int(Access.LOCAL_WRITE)
_READ, _WRITTEN = Kind.MEMORY_READ, Kind.MEMORY_WRITTEN


class MemoryUser(Protocol):
    """A queue pair that accesses memory, by its number and protection domain."""

    @property
    def number(self) -> int:
        """The QP number."""

    @property
    def pd(self) -> int:
        """The protection domain, by number."""


class SrqUser(NamedTuple):
    """A queue pair that accesses memory of an SRQ's PD. srq: that SRQ; 0: it was destroyed."""

    number: int
    pd: int
    srq: int = 0


class Denied(Enum):
    """The first check that an access failed; on the wire all of them have the same NAK."""

    KEY = "no MR, and no bound window, has this key"
    PD = "the MR or window is in another protection domain"
    QP = "the window was bound through another queue pair"
    RIGHTS = "the MR or window does not allow it"
    RANGE = "the range reaches beyond the MR or window"


def locate(
    keys: Mapping[int, KeyTarget], key: int, qp: MemoryUser, rights: int, addr: int, length: int
) -> int | Denied:
    """Address in memory of the byte that a work request calls `addr`.

    Or why `length` bytes from there may not be touched through `key`, in the order IBA asks.
    """
    opened = keys.get(key)
    if opened is None:
        return Denied.KEY
    if opened.pd != qp.pd:
        return Denied.PD
    if opened.qp is not None and opened.qp != qp.number:
        return Denied.QP
    if opened.access & rights != rights:
        return Denied.RIGHTS
    offset = addr - opened.iova
    if offset < 0 or offset + length > opened.length:
        return Denied.RANGE
    return opened.addr + offset


def reach(
    keys: Mapping[int, KeyTarget],
    qp: MemoryUser,
    rights: int,
    sg: list[SGE],
    offset: int,
    length: int,
) -> list[Piece] | Denied:
    """Pieces of memory of bytes [offset, offset+length) of a message, or why one is denied.

    A list that is too short for them ends early.
    """
    if length == 0:
        return []
    found: list[Piece] = []
    for sge in sg:
        room = sge.length - offset
        if room <= 0:
            offset = -room
            continue
        last = length <= room
        addr, count = sge.addr + offset, length if last else room
        place = locate(keys, sge.lkey, qp, rights, addr, count)
        if not isinstance(place, int):
            return place
        found.append((place, count))
        if last:
            break
        offset, length = 0, length - count
    return found


def read(hca: Adapter, user: MemoryUser, addr: int, length: int) -> bytes:
    """Read memory; the caller has checked the keys."""
    hca.trace.record(_READ, hca.node, user.number, addr, length)
    return hca.memory.read(addr, length)


def write(hca: Adapter, user: MemoryUser, addr: int, octets: bytes) -> None:
    """Write memory; the caller has checked the keys."""
    hca.memory.write(addr, octets)
    hca.trace.record(_WRITTEN, hca.node, user.number, addr, len(octets))


def gather(hca: Adapter, qp: QueuePair, wqe: SendWqe, offset: int, length: int) -> bytes | WCStatus:
    """Bytes of a request's message, read now, or how it fails."""
    # The CPU copied inline bytes at post time: no key was asked, and the buffer may have changed.
    if wqe.inline is not None:
        return wqe.inline[offset : offset + length]
    if length == 0:
        return b""
    sge = wqe.sg[0]
    if offset + length <= sge.length:  # most messages lie in one piece
        place = locate(hca.lkeys, sge.lkey, qp, LOCAL_READ, sge.addr + offset, length)
        if not isinstance(place, int):  # `isinstance` of an Enum takes four times as long
            return gather_status(hca, place)
        hca.trace.record(_READ, hca.node, qp.number, place, length)  # `read` costs a call
        return hca.memory.read(place, length)
    pieces = reach(hca.lkeys, qp, LOCAL_READ, wqe.sg, offset, length)
    if isinstance(pieces, Denied):
        return gather_status(hca, pieces)
    return b"".join(read(hca, qp, addr, count) for addr, count in pieces)


def gather_status(hca: Adapter, denied: Denied) -> WCStatus:
    """The status of a request whose message the adapter may not read."""
    # Soft-RoCE 6.1 has LOC_PROT_ERR only for EFAULT, a range beyond the region (measured).
    key_unknown = denied in (Denied.KEY, Denied.PD)
    return hca.profile.unknown_lkey_status if key_unknown else WCStatus.LOC_PROT_ERR


def scatter(
    hca: Adapter, user: MemoryUser, sg: list[SGE], offset: int, octets: bytes
) -> Denied | None:
    """Write bytes of a message to the list, all of them or none.

    The caller has checked that the list is long enough, as for `gather`.
    """
    length = len(octets)
    if length == 0:
        return None
    sge = sg[0]
    if offset + length <= sge.length:
        place = locate(hca.lkeys, sge.lkey, user, LOCAL_WRITE, sge.addr + offset, length)
        if not isinstance(place, int):
            return place
        hca.memory.write(place, octets)  # `write` costs a call
        hca.trace.record(_WRITTEN, hca.node, user.number, place, length)
        return None
    pieces = reach(hca.lkeys, user, LOCAL_WRITE, sg, offset, length)
    if isinstance(pieces, Denied):
        return pieces
    start = 0
    for addr, count in pieces:
        write(hca, user, addr, octets[start : start + count])
        start += count
    return None
