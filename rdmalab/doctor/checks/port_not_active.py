"""port-not-active: a port, or the link, does not carry packets."""

from rdmalab.doctor.case import Case
from rdmalab.doctor.facts.bring_up import is_in_vain
from rdmalab.doctor.facts.delivery import answers, by_port, last_try
from rdmalab.doctor.finding import NA, Check, Evidence, Finding, Fix, Section, hinders, ok, said
from rdmalab.doctor.fixes import recovery
from rdmalab.spec.limits import PortState
from rdmalab.spec.records import A, Kind, event_of, node_of
from rdmalab.views.ladder import PacketRow


def examine(case: Case) -> Finding:
    """Whether the last packets for it, or their answers, met a port that was not ACTIVE."""
    send, qp = case.send, case.qp
    if send is None or send.wqe is None or qp is None or not qp.transport.acknowledged:
        return NA
    taken = [row for row in (*last_try(case), *answers(case)) if by_port(row)]
    if not taken or not (send.gave_up or send.on_queue):
        return ok("no port or link took its packets")
    if not is_in_vain(case):
        return ok("the ports are ACTIVE again, and it is sent again")
    down = _went_down(case, taken[0].event)
    lines = _up(case)
    lines += recovery.anew(case, qp, send.wqe.wr) if send.ending is not None else []
    return hinders(
        case, *down, said(f"{taken[-1].label} psn={taken[-1].psn} {_fate(taken[-1])}",
                          taken[-1].event),
        *_now(case), cure=Fix(lines or ["run"]), since=down[0].event if down else None,
    )  # fmt: skip


def _fate(row: PacketRow) -> str:
    way = f"from {row.source} to {row.target} " if row.target else ""
    return f"{way}was {row.fate_text}"


def _went_down(case: Case, event: int) -> list[Evidence]:
    """The last move of each port away from ACTIVE before the packet was lost."""
    last: dict[str, Evidence] = {}
    for _, record in case.log.of(Kind.PORT_CHANGED):
        if event_of(record) <= event:
            last.pop(node_of(record), None)
            if record[A] is not PortState.ACTIVE:
                text = f"the port of {node_of(record)} went {PortState(record[A]).name}"
                last[node_of(record)] = said(text, event_of(record))
    return sorted(last.values(), key=lambda each: each.event or 0)


def _now(case: Case) -> list[Evidence]:
    dead = _not_active(case)
    if dead:
        return [said(f"{' and '.join(dead)} {'is' if len(dead) == 1 else 'are'} not ACTIVE now")]
    ups = case.log.of(Kind.PORT_CHANGED)[-1:]
    return [said("all ports are ACTIVE again since", event_of(r)) for _, r in ups]


def _not_active(case: Case) -> list[str]:
    """The nodes whose port carries nothing now."""
    return [node for node, hca in case.world.nodes.items()
            if hca.port_state is not PortState.ACTIVE]  # fmt: skip


def _up(case: Case) -> list[str]:
    if not case.world.network.cable.up:
        return ["link up"]
    return [f"port {node} ACTIVE" for node in _not_active(case)]


CHECK = Check(
    21, "port-not-active", Section.LOCAL,
    question="Did a port that is not ACTIVE, or a link that is down, take its packets?",
    rule="only an ACTIVE port moves packets; a queue pair does not notice, it tries again",
    source="ibv_query_port(3)", examine=examine,
)  # fmt: skip
