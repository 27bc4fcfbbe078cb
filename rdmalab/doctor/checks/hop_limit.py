"""hop-limit: a packet that may not pass a single router."""

from dataclasses import replace

from rdmalab.command import Noun
from rdmalab.doctor.case import Case
from rdmalab.doctor.facts.bring_up import told
from rdmalab.doctor.facts.delivery import answers, last_try
from rdmalab.doctor.finding import (
    NA,
    Check,
    Evidence,
    Finding,
    Fix,
    Section,
    fail,
    hinders,
    ok,
    said,
    warn,
)
from rdmalab.doctor.fixes import recovery, simple_fixes
from rdmalab.hca.attributes import AhAttr
from rdmalab.hca.qp import QueuePair
from rdmalab.hca.wr import SendWR
from rdmalab.spec.records import A, Kind, event_of
from rdmalab.spec.states import Attr
from rdmalab.views.ladder import PacketRow
from rdmalab.wire.packet import gid_text
from rdmalab.world.network import NO_HOP

_FAR = 64


def examine(case: Case) -> Finding:
    """Whether an address with hop_limit 0 kept its packets, or the answers, from leaving."""
    send, qp = case.send, case.qp
    if send is None or send.wqe is None or qp is None:
        return NA
    kept = [row for row in (*last_try(case), *answers(case)) if row.reason == NO_HOP]
    if qp.transport.connected:
        return _connection(case, qp, send.wqe.wr, kept)
    return _handle(case, qp, send.wqe.wr, kept) if case.asked else NA


def _kept(row: PacketRow) -> Evidence:
    return said(f"{row.label} psn={row.psn} never left {row.source}: {row.reason}", row.event)


# --------------------------------------------------------------------------- connections
def _connection(case: Case, qp: QueuePair, wr: SendWR, kept: list[PacketRow]) -> Finding:
    ends = [end for end in (qp, case.peer) if end is not None and _is_near(end)]
    if not ends:
        return ok("both ends let their packets pass routers")
    near = [said(f"the address in {case.qp_name(end)} has hop_limit=0", told(case, end, Attr.AV))
            for end in ends]  # fmt: skip
    if not kept or (case.send is not None and case.send.ending and not case.send.gave_up):
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
    events = [event_of(r) for _, r in case.log.of(Kind.CREATED, case.node, made.number)
              if r[A] == Noun.AH.value]  # fmt: skip
    name = case.name(Noun.AH, case.node, made.number)
    near = said(f"{name} has hop_limit=0", events[-1] if events else None)
    cure = Fix(_through_another(case, qp, wr, made.attr))
    if not kept:
        return warn(near, said("on this device it leaves, and the first router drops it"),
                    cure=cure)  # fmt: skip
    return fail(near, _kept(kept[-1]), cure=cure)


def _through_another(case: Case, qp: QueuePair, wr: SendWR, av: AhAttr) -> list[str]:
    """A handle that is good for routers, and the datagram once more."""
    name, pd = simple_fixes.free_name(case, Noun.AH, qp.node), case.name(Noun.PD, qp.node, qp.pd)
    keys = f"is_global=1 dgid={gid_text(av.dgid)} sgid_index={av.sgid_index}"
    made = f"create_ah {name} pd={pd} {keys} hop_limit={_FAR} port_num={av.port_num}"
    return [made, simple_fixes.post_send(case, qp, wr, ah=name)]


CHECK = Check(
    43, "hop-limit", Section.PROGRESS,
    question="Has the address it goes to hop_limit 0?",
    rule="each router counts hop_limit down and drops what is at 0; 64 is usual",
    source="ibv_create_ah(3)", examine=examine,
)  # fmt: skip
