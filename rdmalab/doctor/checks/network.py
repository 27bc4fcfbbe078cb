"""Routes, global routing headers and partitions."""

from rdmalab.command import CallArguments, Noun, Ref, Thing
from rdmalab.doctor.call import Call
from rdmalab.doctor.case import Case
from rdmalab.doctor.facts import obstacles, partners
from rdmalab.doctor.facts.obstacles import Obstacle
from rdmalab.doctor.finding import NA, Evidence, Finding, Fix, check, fact, fail, ok
from rdmalab.doctor.fixes import simple_fixes
from rdmalab.doctor.fixes.reconnecting import once_more, reconnect
from rdmalab.doctor.work.unanswered_sends import Unanswered
from rdmalab.hca.attributes import ah_attr_of
from rdmalab.hca.port import FULL_MEMBER, share_partition
from rdmalab.hca.qp import QueuePair
from rdmalab.spec.access import Access
from rdmalab.spec.states import MTU, QPState
from rdmalab.views import fmt
from rdmalab.wire.packet import gid_text
from rdmalab.world.relations import node_of_address


# ------------------------------------------------------------ no-grh
# no-grh: an address without a global routing header, where only such addresses exist.
@check("no-grh")
def no_grh(case: Case) -> Finding:
    """Whether a call was refused because its address has is_global=0."""
    call = case.call
    if call is None or call.verb not in ("modify_qp", "create_ah"):
        return NA
    if call.refusal != "ah-global":
        return ok("is_global is not the reason")
    given: CallArguments = call.invocation.arguments.get("attr", {}) if call.invocation else {}
    address: CallArguments = given.get("ah_attr", given)
    return fail(
        fact(f"{call.verb} was given is_global=0 dlid={address.get('dlid', 0)}", call.event),
        fact(f"the port of {call.thing[0]} is Ethernet: it does not use LIDs"),
        cure=_no_grh_cure(case, call, given),
    )


def _no_grh_cure(case: Case, call: Call, given: CallArguments) -> Fix | None:
    """The same call, with the address of the node that must have been meant."""
    node = _meant(case, call.thing[0], given)
    if not node or call.invocation is None:
        return None
    arguments = call.invocation.arguments
    if call.verb == "create_ah":
        return Fix([f"create_ah {arguments['ah']} pd={arguments['pd']} to={node}"])
    words_ = [_word(name, value) for name, value in given.items() if name != "ah_attr"]
    return Fix([" ".join(["modify_qp", str(arguments["qp"]), *words_, f"ah={node}"])])


def _meant(case: Case, own: str, given: CallArguments) -> str:
    """The node of the queue pair that is named as the peer, or the only one it can be.

    A LID is likely to be the last octet of the address.
    """
    peer = given.get("dest_qp_num")
    if isinstance(peer, Ref):
        return peer.node
    nodes, lid = case.world.nodes, given.get("ah_attr", given).get("dlid")
    others = [name for name in nodes if name != own]
    having = [name for name in others if peer in nodes[name].qps.items]
    chosen = having or [name for name in others if nodes[name].host == lid] or others
    return chosen[0] if len(chosen) == 1 else ""


def _word(name: str, value: int) -> str:
    """One attribute of a call as it is typed."""
    if name == "qp_state":
        return f"state={fmt.member(value, QPState)}"
    if name == "path_mtu" and value in tuple(MTU):
        return f"path_mtu={MTU(value).octets}"
    if name == "qp_access_flags":
        return f"{name}={fmt.flags(value, Access)}"
    return f"{name}={value}"


# ------------------------------------------------------------ no-route
# no-route: the address is right, and nothing on the way passes it on.
_LINK_LOCAL = 0xFE80 << 112
_PREFIX = 0xFFC0 << 112


@check("no-route")
def no_route(case: Case) -> Finding:
    """Of a send, whether all that goes to or from one of its two addresses is lost."""
    send, qp = case.send, case.qp
    if send is None or qp is None or send.wqe is None:
        return NA
    found = obstacles.unrouted_address(case)
    if found is None or found.match.gid is None:
        return ok("each of its addresses is routed")
    chosen = _chosen(case, qp)
    node = node_of_address(case.world, found.match.gid)
    came = f"; no counter of {node} counted it" if node and node != case.node else ""
    return obstacles.finding(
        case,
        chosen,
        fact(f"each packet to or from it was lost on the way, {len(found.lost)} so far{came}",
             found.lost[-1].event),
        *_other(case, found, node),
        cure=_no_route_cure(case, qp, found), since=chosen.event,
    )  # fmt: skip


def _chosen(case: Case, qp: QueuePair) -> Evidence:
    """The call that set the addresses of its packets."""
    wqe = case.send.wqe if case.send is not None else None
    if qp.path is not None and qp.transport.connected:
        set_at = max(
            case.log.entered(Thing(Noun.QP, qp.node, qp.number), QPState.RTR), default=None
        )
        ends = f"from {_words(qp.path.flow.src)} to {_words(qp.path.flow.dst)}"
        return fact(f"{case.qp_name(qp)} was connected {ends}", set_at)
    number = wqe.wr.ah or 0 if wqe is not None else 0
    made = case.log.created(Thing(Noun.AH, qp.node, number))
    ah = case.hca.ahs.items.get(number)
    where = f" leads to {_words(ah.attr.dgid)}" if ah is not None else " was made"
    return fact(f"{case.name(Noun.AH, qp.node, number)}{where}", made)


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
    return [fact(f"{node} has {_plain(ah_attr_of(case.world.nodes[node]).dgid)} as well")]


def _is_reached(case: Case, node: str, found: Obstacle) -> bool:
    """Whether its other address, the one that routers know, is not the dead one."""
    gid = ah_attr_of(case.world.nodes[node]).dgid
    return gid not in (0, found.match.gid)


def _no_route_cure(case: Case, qp: QueuePair, found: Obstacle) -> Fix:
    """The same by the addresses that routers know."""
    send, there = case.send, found.lost[-1]
    wqe = send.wqe if send is not None else None
    other = there.target if there.source == case.node else there.source
    if wqe is None or not other or not all(_is_reached(case, n, found) for n in (case.node, other)):
        return Fix(program="choose a GID (sgid_index and dgid) that the network between routes")
    if qp.transport.connected:
        lines = simple_fixes.bring_up_again(case, qp, {"ah_attr": other}, {"ah_attr": case.node})
        return Fix([*lines, *simple_fixes.again(case, qp, wqe.wr, after_reset=True)])
    name = simple_fixes.free_name(case, Noun.AH, case.node)
    pd = case.name(Noun.PD, qp.node, qp.pd)
    made = f"create_ah {name} pd={pd} to={other}"
    return Fix([made, *simple_fixes.again(case, qp, wqe.wr, ah=name)])


# ------------------------------------------------------------ pkey
# pkey: the two ends are in different partitions.
@check("pkey")
def pkey(case: Case) -> Finding:
    """Whether the other port dropped it for its P_Key."""
    unanswered, qp = case.unanswered, case.qp
    if unanswered is None or qp is None or qp.path is None:
        return NA
    peer, misses = partners.target(case), unanswered.because("pkey")
    if not misses or peer is None or peer.path is None:
        return ok("no packet was dropped for its P_Key")
    ours, theirs = misses[-1].packet.pkey, peer.path.pkey
    both = not (ours | theirs) & FULL_MEMBER
    why = "both are limited members" if both else "these are two partitions"
    since = partners.peer_set_at(case, qp) or partners.entered(case, qp, qp.state)
    return unanswered.finding(
        fact(f"{case.qp_name(qp)} sends with P_Key {ours:#06x}, entry "
             f"{qp.attr.pkey_index or 0} of its table", since),
        fact(f"{case.qp_name(peer)} wants {theirs:#06x}, entry {peer.attr.pkey_index or 0} of "
             f"its own: {why}", partners.peer_set_at(case, peer)),
        fact(f"{fmt.count(len(misses), 'packet')} dropped, counted in bad_pkey_cntr",
             misses[-1].event),
        cure=_pkey_cure(case, unanswered, qp, peer), since=since,
    )  # fmt: skip


def _pkey_cure(case: Case, unanswered: Unanswered, qp: QueuePair, peer: QueuePair) -> Fix | None:
    """The entries that name a partition of both; where there is none, one is put in."""
    wqe, assigned = unanswered.send.wqe, []
    if wqe is None or qp.path is None:
        return None
    pair = _shared(case, qp, peer)
    if pair is None:
        pair = qp.attr.pkey_index or 0, peer.attr.pkey_index or 0
        assigned = [_assigned(qp, peer, pair)]
    ours, theirs = ({"pkey_index": str(index)} for index in pair)
    if qp.transport.connected:
        lines = reconnect(case, qp, peer, ours, theirs)
    else:
        lines = simple_fixes.bring_up_again(case, qp, ours) + simple_fixes.bring_up_again(
            case, peer, theirs
        )
    return Fix([*assigned, *lines, *once_more(case, qp, wqe.wr, peer, after_reset=True)])


def _assigned(qp: QueuePair, peer: QueuePair, pair: tuple[int, int]) -> str:
    """Put the partition of one end into the entry of the other; an empty entry names none."""
    ours, theirs = (q.path.pkey if q.path is not None else 0 for q in (qp, peer))
    node, index, key = (peer.node, pair[1], ours) if ours else (qp.node, pair[0], theirs)
    return f"pkey set {node} {index} {key | FULL_MEMBER:#06x}"


def _shared(case: Case, qp: QueuePair, peer: QueuePair) -> tuple[int, int] | None:
    """Entries of both tables that go together, as near to the present ones as may be."""
    mine, theirs = (case.world.nodes[q.node].pkeys for q in (qp, peer))
    now = qp.attr.pkey_index or 0, peer.attr.pkey_index or 0
    fitting = [
        (i, j)
        for i, a in enumerate(mine)
        for j, b in enumerate(theirs)
        if a and b and share_partition(a, b)
    ]
    return min(fitting, key=lambda pair: (pair[0] != now[0], pair[1] != now[1]), default=None)
