"""peer-port: the port at the other end is not ACTIVE."""

from rdmalab.doctor.case import Case
from rdmalab.doctor.facts import partners
from rdmalab.doctor.finding import NA, Check, Finding, Section, ok, said
from rdmalab.spec.limits import PortState
from rdmalab.spec.records import A, Kind, event_of


def examine(case: Case) -> Finding:
    """Whether its packets, or the answers to them, met a port of the peer that was not ACTIVE."""
    unheard = case.unheard
    if unheard is None or case.send is None:
        return NA
    node, _ = partners.goes_to(case, case.send)
    misses = unheard.because("port-down")
    down = _down(case, node, misses[0].event if misses else case.ended)
    if not node or node == case.node or down is None:
        return ok(f"the port of {node} is ACTIVE" if node else "")
    state, since = down
    found = [said(f"the port of {node} went {state.name}", since)]
    if misses:
        found.append(said("what arrives there is dropped", misses[0].event))
    return unheard.finding(*found, since=since)


def _down(case: Case, node: str, event: int) -> tuple[PortState, int] | None:
    """The state of the port at that event if it was not ACTIVE, and since when."""
    changes = [r for _, r in case.log.of(Kind.PORT_CHANGED, node) if event_of(r) <= event]
    if not changes or changes[-1][A] is PortState.ACTIVE:
        return None
    return changes[-1][A], event_of(changes[-1])


CHECK = Check(
    51, "peer-port", Section.PEER,
    question="Is the port of the other node not ACTIVE?",
    rule="a port that is not ACTIVE moves no packets, and the other end is told nothing",
    source="ibv_query_port(3)", examine=examine, station=True,
)  # fmt: skip
