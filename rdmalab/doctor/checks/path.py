"""The own port, and what the path loses."""

from dataclasses import replace

from rdmalab.command import Noun, Thing
from rdmalab.doctor.case import Case
from rdmalab.doctor.facts import obstacles
from rdmalab.doctor.facts.bring_up import set_at, stays_unanswered
from rdmalab.doctor.facts.delivery import (
    answers,
    by_fault,
    by_port,
    carried_out,
    faults_of,
    last_try,
)
from rdmalab.doctor.finding import (
    NA,
    Evidence,
    Finding,
    Fix,
    check,
    fact,
    fail,
    hinders,
    ok,
    warn,
)
from rdmalab.doctor.fixes import recovery, simple_fixes
from rdmalab.hca.attributes import AhAttr
from rdmalab.hca.qp import QueuePair
from rdmalab.hca.wr import SendWR
from rdmalab.spec.limits import PortState
from rdmalab.spec.records import Kind, event_of, node_of, object_of, port_state_of
from rdmalab.spec.states import Attr
from rdmalab.views import fmt
from rdmalab.views.ladder import PacketRow
from rdmalab.wire.packet import gid_text
from rdmalab.world.network import NO_HOP


# ------------------------------------------------------------ port-not-active
# port-not-active: a port, or the link, does not carry packets.
@check("port-not-active")
def port_not_active(case: Case) -> Finding:
    """Whether the last packets for it, or their answers, met a port that was not ACTIVE."""
    send, qp = case.send, case.qp
    if send is None or send.wqe is None or qp is None or not qp.transport.acknowledged:
        return NA
    taken = [row for row in (*last_try(case), *answers(case)) if by_port(row)]
    if not taken or not (send.retries_exhausted or send.on_queue):
        return ok("no port or link dropped its packets")
    if not stays_unanswered(case):
        return ok("the ports are ACTIVE again, and it is sent again")
    down = _went_down(case, taken[0].event)
    lines = _up(case)
    lines += recovery.resend(case, qp, send.wqe.wr) if send.ending is not None else []
    return hinders(
        case, *down, fact(f"{taken[-1].label} psn={taken[-1].psn} "
                          f"{_port_not_active_fate(taken[-1])}", taken[-1].event),
        *_now(case), cure=Fix(lines or ["run"]), since=down[0].event if down else None,
    )  # fmt: skip


def _port_not_active_fate(row: PacketRow) -> str:
    way = f"from {row.source} to {row.target} " if row.target else ""
    return f"{way}was {row.fate_text}"


def _went_down(case: Case, event: int) -> list[Evidence]:
    """The last move of each port away from ACTIVE before the packet was lost."""
    last: dict[str, Evidence] = {}
    for _, record in case.log.of(Kind.PORT_CHANGED):
        if event_of(record) <= event:
            last.pop(node_of(record), None)
            if port_state_of(record) is not PortState.ACTIVE:
                text = f"the port of {node_of(record)} went {PortState(port_state_of(record)).name}"
                last[node_of(record)] = fact(text, event_of(record))
    return sorted(last.values(), key=lambda each: each.event or 0)


def _now(case: Case) -> list[Evidence]:
    dead = _not_active(case)
    if dead:
        return [fact(f"{' and '.join(dead)} {'is' if len(dead) == 1 else 'are'} not ACTIVE now")]
    ups = case.log.of(Kind.PORT_CHANGED)[-1:]
    return [fact("all ports are ACTIVE again since", event_of(r)) for _, r in ups]


def _not_active(case: Case) -> list[str]:
    """The nodes whose port carries nothing now."""
    return [node for node, hca in case.world.nodes.items()
            if hca.port_state is not PortState.ACTIVE]  # fmt: skip


def _up(case: Case) -> list[str]:
    if not case.world.network.cable.up:
        return ["link up"]
    return [f"port {node} ACTIVE" for node in _not_active(case)]


# ------------------------------------------------------------ loss
# loss: the cable lost what was sent, or what was answered.
@check("loss")
def loss(case: Case) -> Finding:
    """Whether its last try, or the answer to it, was lost on the cable."""
    send, qp = case.send, case.qp
    if send is None or send.wqe is None or qp is None or not qp.transport.acknowledged:
        return NA
    if not (send.retries_exhausted or send.on_queue):
        return ok("it does not wait for a missing answer")
    asked = [row for row in last_try(case) if by_fault(row)]
    harmed = [row for row in answers(case) if by_fault(row)]
    if not (asked or harmed):
        return ok("the cable lost nothing of its last try")
    if obstacles.narrow_link(case) or obstacles.unrouted_address(case):
        return ok("no random loss: every packet of its kind is lost on the way")
    if not asked and not stays_unanswered(case) and carried_out(case) is not None:
        return ok("the peer has done it; only the ACK is missing")
    lost = [row for row in (*send.transmissions, *answers(case)) if by_fault(row)]
    more = fmt.count(len(lost) - 1, "packet")
    return hinders(
        case, fact(_loss_fate(lost[0]), lost[0].event),
        *([fact(f"{more} more of it or its answers, the last one {_loss_fate(lost[-1])}",
                lost[-1].event)] if len(lost) > 1 else []),
        cure=_cure(case, lost), since=_since(case, lost),
    )  # fmt: skip


def _loss_fate(row: PacketRow) -> str:
    return f"{row.label} psn={row.psn} from {row.source} is {row.fate_text}"


def _since(case: Case, lost: list[PacketRow]) -> int | None:
    """When the first of these faults was set."""
    numbers = faults_of(case, lost)
    set_ = [event_of(r) for _, r in case.log.of(Kind.FAULT_SET) if object_of(r) in numbers]
    return min(set_, default=None)


def _cure(case: Case, lost: list[PacketRow]) -> Fix | None:
    """Without the faults that are still set; for what still waits that is all."""
    send, qp = case.send, case.qp
    if send is None or send.wqe is None or qp is None:
        return None
    there = {fault.number for fault in case.world.network.cable.faults}
    lines = [f"fault clear {n}" for n in faults_of(case, lost) if n in there]
    if send.ending is not None:
        return Fix([*lines, *recovery.resend(case, qp, send.wqe.wr)])
    return Fix(lines or ["run"])


# ------------------------------------------------------------ hop-limit
# hop-limit: a packet that may not pass a single router.
_FAR = 64


@check("hop-limit")
def hop_limit(case: Case) -> Finding:
    """Whether an address with hop_limit 0 kept its packets, or the answers, from leaving."""
    send, qp = case.send, case.qp
    if send is None or send.wqe is None or qp is None:
        return NA
    kept = [row for row in (*last_try(case), *answers(case)) if row.reason == NO_HOP]
    if qp.transport.connected:
        return _connection(case, qp, send.wqe.wr, kept)
    return _handle(case, qp, send.wqe.wr, kept) if case.asked else NA


def _kept(row: PacketRow) -> Evidence:
    return fact(f"{row.label} psn={row.psn} was not sent by {row.source}: {row.reason}", row.event)


# --------------------------------------------------------------------------- connections
def _connection(case: Case, qp: QueuePair, wr: SendWR, kept: list[PacketRow]) -> Finding:
    ends = [end for end in (qp, case.peer) if end is not None and _is_near(end)]
    if not ends:
        return ok("neither end has hop_limit=0")
    near = [fact(f"the address in {case.qp_name(end)} has hop_limit=0", set_at(case, end, Attr.AV))
            for end in ends]  # fmt: skip
    if not kept or (case.send is not None and case.send.ending and not case.send.retries_exhausted):
        return warn(*near) if case.asked else ok("no router is between them")
    lines = recovery.reconnected(case, qp, wr, _farther(case, qp), _farther(case, case.peer))
    return hinders(case, *near, _kept(kept[-1]), cure=Fix(lines), since=near[0].event)


def _is_near(qp: QueuePair) -> bool:
    av = qp.attr.ah_attr
    return qp.path is not None and av is not None and bool(av.is_global) and not av.hop_limit


def _farther(case: Case, qp: QueuePair | None) -> dict[str, str]:
    """The same address, with which one gets somewhere."""
    if qp is None or qp.attr.ah_attr is None:
        return {}
    return {"ah_attr": simple_fixes.address_words(case, replace(qp.attr.ah_attr, hop_limit=_FAR))}


# --------------------------------------------------------------------------- datagrams
def _handle(case: Case, qp: QueuePair, wr: SendWR, kept: list[PacketRow]) -> Finding:
    made = case.hca.ahs.items.get(wr.ah or 0)
    if made is None:
        return NA
    if made.attr.hop_limit or not made.attr.is_global:
        return ok(f"hop_limit={made.attr.hop_limit}")
    ah = Thing(Noun.AH, case.node, made.number)
    near = fact(f"{case.names.of(ah)} has hop_limit=0", case.log.created(ah))
    cure = Fix(_through_another(case, qp, wr, made.attr))
    if not kept:
        return warn(near, fact("on this device it leaves, and the first router drops it"),
                    cure=cure)  # fmt: skip
    return fail(near, _kept(kept[-1]), cure=cure)


def _through_another(case: Case, qp: QueuePair, wr: SendWR, av: AhAttr) -> list[str]:
    """A handle that is good for routers, and the datagram once more."""
    name, pd = simple_fixes.free_name(case, Noun.AH, qp.node), case.name(Noun.PD, qp.node, qp.pd)
    keys = f"is_global=1 dgid={gid_text(av.dgid)} sgid_index={av.sgid_index}"
    made = f"create_ah {name} pd={pd} {keys} hop_limit={_FAR} port_num={av.port_num}"
    return [made, simple_fixes.post_send(case, qp, wr, ah=name)]
