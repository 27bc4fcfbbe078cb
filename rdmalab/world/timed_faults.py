"""Timed faults: what happens to an object of a host, at a time or when a packet passes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from rdmalab.command import Noun, Refused, Thing, Unit
from rdmalab.grammar.quantities import spelled
from rdmalab.hca import flush, mr
from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.records import Kind
from rdmalab.spec.states import QPState
from rdmalab.world.faults import Match
from rdmalab.world.transit import Transit

if TYPE_CHECKING:
    from rdmalab.hca.device import Hca
    from rdmalab.hca.objects import MemoryRegion
    from rdmalab.hca.qp import QueuePair

DEREG, KILL = "dereg", "kill"
VICTIMS = {DEREG: Noun.MR, KILL: Noun.QP}
"""What each happens to."""


@dataclass(slots=True)
class TimedFault:
    """One of the faults of the cable; removed once applied.

    victim: the object it applies to, victim_text: its name. at_ns: when, or None: as soon as a
    matching packet has been sent, whether it arrives or not. due: it is scheduled, no further
    packet triggers it.
    """

    watches: ClassVar[bool] = True
    number: int
    match: Match
    what: str
    victim: Thing
    victim_text: str
    at_ns: int | None = None
    due: bool = False

    def meets(self, way: Transit) -> None:
        """Schedule the fault."""
        if not self.due:
            self.due = True
            way.accidents.append(self.number)

    def passed_through(self, way: Transit) -> None:
        """Nothing to do."""

    def __str__(self) -> str:
        when = self.match if self.at_ns is None else f"at={spelled(self.at_ns, Unit.NS)}"
        return f"{self.what} {self.victim_text} {when}"


def trigger(hca: "Hca", accident: TimedFault) -> None:
    """Apply the fault now; if that is not possible, the record has the reason."""
    thing = hca.tables[accident.victim.noun].items.get(accident.victim.number)
    why_not = f"there is no {accident.victim.noun} any more"
    if hca.unavailable_rule:
        why_not = "the device is gone"
    elif thing is not None:
        why_not = _DEEDS[accident.what](hca, thing)
    hca.trace.record(Kind.FAULT_TRIGGERED, "", accident.number, str(accident), why_not)


def _dereg(hca: "Hca", region: "MemoryRegion") -> str:
    """Another thread calls ibv_dereg_mr; why it is refused, if it is."""
    try:
        mr.deregister(hca, region)
    except Refused as refusal:
        return refusal.message
    return ""


def _kill(hca: "Hca", qp: "QueuePair") -> str:
    """Something inside the adapter fails: the QP goes to ERR, and the device says so."""
    if qp.state in (QPState.RESET, QPState.ERR):
        return f"the QP is in {qp.state.name}"
    hca.raise_event(AsyncEvent.QP_FATAL, qp.number)
    flush.fail(hca, qp)
    return ""


_DEEDS: dict[str, Callable[["Hca", Any], str]] = {DEREG: _dereg, KILL: _kill}
