"""Direct memory access: what a key allows, and where the bytes of a message lie in memory."""

from enum import Enum
from typing import TYPE_CHECKING

from rdmalab.spec.access import Access

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rdmalab.hca.memory import Memory
    from rdmalab.hca.mr import MemoryRegion
    from rdmalab.hca.wr import SGE

LOCAL_READ = 0  # reading the own memory needs no right
LOCAL_WRITE = int(Access.LOCAL_WRITE)


class Denied(Enum):
    """The first test that an access failed; on the wire all of them look alike."""

    KEY = "no MR has this key"
    PD = "the MR is in another protection domain"
    RIGHTS = "the MR does not allow it"
    RANGE = "the range reaches beyond the MR"


def check(
    keys: "Mapping[int, MemoryRegion]", key: int, pd: int, rights: int, addr: int, length: int
) -> Denied | None:
    """Why `length` bytes at `addr` may not be touched through `key`, in the order IBA asks."""
    mr = keys.get(key)
    if mr is None:
        return Denied.KEY
    if mr.pd != pd:
        return Denied.PD
    if mr.access & rights != rights:
        return Denied.RIGHTS
    if addr < mr.addr or addr + length > mr.addr + mr.length:
        return Denied.RANGE
    return None


def pieces(sg: "list[SGE]", offset: int, length: int) -> "list[tuple[SGE, int, int]]":
    """Where bytes [offset, offset+length) of a message lie: (sge, address, length), in order."""
    if len(sg) == 1:
        sge = sg[0]
        if offset + length <= sge.length:
            return [(sge, sge.addr + offset, length)] if length else []
    found = []
    for sge in sg:
        if length <= 0:
            break
        if offset < sge.length:
            part = min(length, sge.length - offset)
            found.append((sge, sge.addr + offset, part))
            length -= part
            offset = 0
        else:
            offset -= sge.length
    return found


def gather(
    memory: "Memory",
    keys: "Mapping[int, MemoryRegion]",
    pd: int,
    parts: "list[tuple[SGE, int, int]]",
) -> bytes | Denied:
    """The bytes of these pieces, or why they may not be read."""
    octets = b""
    for sge, addr, length in parts:
        if denied := check(keys, sge.lkey, pd, LOCAL_READ, addr, length):
            return denied
        octets += memory.read(addr, length)
    return octets


def denied_scatter(
    keys: "Mapping[int, MemoryRegion]", pd: int, parts: "list[tuple[SGE, int, int]]"
) -> Denied | None:
    """Why these pieces may not be written, asked before the first byte is."""
    for sge, addr, length in parts:
        if denied := check(keys, sge.lkey, pd, LOCAL_WRITE, addr, length):
            return denied
    return None
