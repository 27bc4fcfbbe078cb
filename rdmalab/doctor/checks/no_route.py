"""no-route: the address is right, and nothing on the way passes it on."""

from rdmalab.command import Noun, Thing
from rdmalab.doctor.case import Case
from rdmalab.doctor.facts import obstacles
from rdmalab.doctor.facts.obstacles import Obstacle
from rdmalab.doctor.finding import NA, Check, Evidence, Finding, Fix, Section, ok, said
from rdmalab.doctor.fixes import simple_fixes
from rdmalab.hca.attributes import ah_attr_of
from rdmalab.hca.qp import QueuePair
from rdmalab.spec.records import A, B, Kind, event_of
from rdmalab.spec.states import QPState
from rdmalab.wire.packet import gid_text
from rdmalab.world.relations import node_of_address

_LINK_LOCAL = 0xFE80 << 112
_PREFIX = 0xFFC0 << 112


def examine(case: Case) -> Finding:
    """Of a send, whether all that goes to or from one of its two addresses is lost."""
    send, qp = case.send, case.qp
    if send is None or qp is None or send.wqe is None:
        return NA
    found = obstacles.dead_address(case)
    if found is None or found.match.gid is None:
        return ok("no address of it is one that nobody routes")
    chosen = _chosen(case, qp)
    node = node_of_address(case.world, found.match.gid)
    came = f"; {node} has not even counted it" if node and node != case.node else ""
    return obstacles.finding(
        case,
        chosen,
        said(f"each packet to or from it was lost on the way, {len(found.lost)} so far{came}",
             found.lost[-1].event),
        *_other(case, found, node),
        cure=_cure(case, qp, found), since=chosen.event,
    )  # fmt: skip


def _chosen(case: Case, qp: QueuePair) -> Evidence:
    """Where the addresses of its packets were said."""
    wqe = case.send.wqe if case.send is not None else None
    if qp.path is not None and qp.transport.connected:
        moves = case.log.about(Kind.STATE_CHANGED, Thing(Noun.QP, qp.node, qp.number))
        told = next((event_of(r) for _, r in reversed(moves) if r[B] is QPState.RTR), None)
        ends = f"from {_words(qp.path.flow.src)} to {_words(qp.path.flow.dst)}"
        return said(f"{case.qp_name(qp)} was connected {ends}", told)
    number = wqe.wr.ah or 0 if wqe is not None else 0
    made = [event_of(r) for _, r in case.log.of(Kind.CREATED, qp.node, number)
            if r[A] == Noun.AH.value]  # fmt: skip
    ah = case.hca.ahs.items.get(number)
    where = f" leads to {_words(ah.attr.dgid)}" if ah is not None else " was made"
    return said(f"{case.name(Noun.AH, qp.node, number)}{where}", made[-1] if made else None)


def _words(gid: int) -> str:
    """An address, and what is to be known of it."""
    local = gid & _PREFIX == _LINK_LOCAL
    return f"{_plain(gid)}{' (link-local)' if local else ''}"


def _plain(gid: int) -> str:
    return gid_text(gid).removeprefix("::ffff:")


def _other(case: Case, found: Obstacle, node: str) -> list[Evidence]:
    """Another address of the same port."""
    if not node or not _is_reached(case, node, found):
        return []
    return [said(f"{node} has {_plain(ah_attr_of(case.world.nodes[node]).dgid)} as well")]


def _is_reached(case: Case, node: str, found: Obstacle) -> bool:
    """Whether its other address, the one that routers know, is not the dead one."""
    gid = ah_attr_of(case.world.nodes[node]).dgid
    return gid not in (0, found.match.gid)


def _cure(case: Case, qp: QueuePair, found: Obstacle) -> Fix:
    """The same by the addresses that routers know."""
    send, there = case.send, found.lost[-1]
    wqe = send.wqe if send is not None else None
    other = there.target if there.source == case.node else there.source
    if wqe is None or not other or not all(_is_reached(case, n, found) for n in (case.node, other)):
        return Fix(program="choose a GID (sgid_index and dgid) that the network between routes")
    if qp.transport.connected:
        lines = simple_fixes.revive(case, qp, {"ah_attr": other}, {"ah_attr": case.node})
        return Fix([*lines, *simple_fixes.again(case, qp, wqe.wr, revived=True)])
    name = simple_fixes.free_name(case, Noun.AH, case.node)
    pd = case.name(Noun.PD, qp.node, qp.pd)
    made = f"create_ah {name} pd={pd} to={other}"
    return Fix([made, *simple_fixes.again(case, qp, wqe.wr, ah=name)])


CHECK = Check(
    97, "no-route", Section.PEER,
    question="Is everything lost that goes to, or comes from, one of its addresses?",
    rule="no router passes a link-local address on (fe80::, often GID 0): take another GID",
    source="pytorch-81628", examine=examine,
)  # fmt: skip
