"""Thread domains: the program uses objects in one from a single thread, so no locks are taken.

A queue pair is put into one by a parent domain, which stands for a protection domain.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rdmalab.hca import lifecycle
from rdmalab.hca.pd import ProtectionDomain

if TYPE_CHECKING:
    from rdmalab.hca.device import Hca


@dataclass(slots=True)
class ThreadDomain:
    """`ibv_td`."""

    number: int


def alloc_td(hca: "Hca") -> ThreadDomain:
    """`ibv_alloc_td`."""
    td = ThreadDomain(hca.tds.next_number)
    lifecycle.created(hca, hca.tds, td)
    return td


def dealloc_td(hca: "Hca", td: ThreadDomain) -> None:
    """`ibv_dealloc_td`; EBUSY while a parent domain has it."""
    in_use = any(pd.td == td.number for pd in hca.pds.items.values())
    lifecycle.check_unused(hca, ["a parent domain"] if in_use else [])
    lifecycle.destroyed(hca, hca.tds, td)


def alloc_parent_domain(
    hca: "Hca", pd: ProtectionDomain, td: ThreadDomain | None
) -> ProtectionDomain:
    """`ibv_alloc_parent_domain`: another name for the protection of `pd`."""
    lifecycle.check_limit(hca, hca.pds)
    parent = ProtectionDomain(hca.pds.next_number, pd.base, td.number if td else None)
    lifecycle.created(hca, hca.pds, parent)
    return parent
