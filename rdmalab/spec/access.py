"""Access rights of memory keys and queue pairs, and which right requires which other."""

from enum import IntEnum, IntFlag
from functools import reduce
from operator import or_
from typing import NamedTuple


class Access(IntFlag):
    """IBV_ACCESS_*: the rights of memory regions and windows, and `qp_access_flags`."""

    LOCAL_WRITE = 1 << 0
    REMOTE_WRITE = 1 << 1
    REMOTE_READ = 1 << 2
    REMOTE_ATOMIC = 1 << 3
    MW_BIND = 1 << 4
    ZERO_BASED = 1 << 5
    ON_DEMAND = 1 << 6
    HUGETLB = 1 << 7
    FLUSH_GLOBAL = 1 << 8
    FLUSH_PERSISTENT = 1 << 9
    RELAXED_ORDERING = 1 << 20


class MWType(IntEnum):
    """IBV_MW_TYPE_*: type 1: the library chooses the R_Key, type 2: the program does."""

    TYPE_1 = 1
    TYPE_2 = 2


class Rereg(IntFlag):
    """IBV_REREG_MR_*: what `ibv_rereg_mr` changes."""

    CHANGE_TRANSLATION = 1
    CHANGE_PD = 2
    CHANGE_ACCESS = 4


class Right(NamedTuple):
    """needs: the right that must be given with it. on_qp: `qp_access_flags` has it. sentence: what
    it allows.
    """

    needs: Access
    on_qp: bool
    sentence: str


_A = Access
_NONE = Access(0)

# fmt: off
RIGHTS: dict[Access, Right] = {
    #                          needs            on_qp  sentence
    _A.LOCAL_WRITE:      Right(_NONE,           True,  "the local HCA may write (no effect on a QP)"),
    _A.REMOTE_WRITE:     Right(_A.LOCAL_WRITE,  True,  "the peer may write here"),
    _A.REMOTE_READ:      Right(_NONE,           True,  "the peer may read here"),
    _A.REMOTE_ATOMIC:    Right(_A.LOCAL_WRITE,  True,  "the peer may do atomics here"),
    _A.MW_BIND:          Right(_NONE,           False, "memory windows may be bound to it"),
    _A.ZERO_BASED:       Right(_NONE,           False, "remote addresses count from 0"),
    _A.ON_DEMAND:        Right(_NONE,           False, "pages are mapped at the first access, not pinned"),
    _A.HUGETLB:          Right(_NONE,           False, "the memory is made of huge pages"),
    _A.FLUSH_GLOBAL:     Right(_NONE,           True,  "the peer may flush for global visibility"),
    _A.FLUSH_PERSISTENT: Right(_NONE,           True,  "the peer may flush to persistent memory"),
    _A.RELAXED_ORDERING: Right(_NONE,           False, "the bus may reorder accesses"),
}
# fmt: on

OPTIONAL = Access(0x3FF0_0000)  # bits 20..29: a device that lacks one drops it instead of refusing
KNOWN = reduce(or_, RIGHTS)
UNSUPPORTED = _A.ON_DEMAND | _A.HUGETLB  # reg_mr refuses them on every device
FOR_WINDOW = _A.REMOTE_WRITE | _A.REMOTE_READ | _A.REMOTE_ATOMIC | _A.ZERO_BASED
FOR_QP = reduce(or_, (right for right, row in RIGHTS.items() if row.on_qp))

_REQUIRE_LOCAL_WRITE = reduce(or_, (a for a, row in RIGHTS.items() if row.needs & _A.LOCAL_WRITE))


def unknown(flags: int) -> Access:
    """The bits that name no right and are not in the optional range: a reason for EINVAL."""
    return Access(flags & ~int(KNOWN | OPTIONAL))


def needs_local_write(flags: int) -> bool:
    """True if these rights require LOCAL_WRITE; for a window, on the region it is bound to."""
    return bool(flags & _REQUIRE_LOCAL_WRITE)
