"""The bring-up: lines that move a queue pair to RTS, whatever stands at the other end."""

from itertools import pairwise

from rdmalab.command import RecordKind
from rdmalab.grammar.format import value_text
from rdmalab.hca.qp import QueuePair
from rdmalab.repair import commands
from rdmalab.repair.commands import CommandContext
from rdmalab.spec.states import BRING_UP, MOVES, QPState, fields_of
from rdmalab.spec.transports import TRANSPORTS
from rdmalab.world.relations import partner_of, peer_of
from rdmalab.world.world import World

_MIRRORED = ("retry_cnt", "rnr_retry", "timeout", "min_rnr_timer")
_SWAPPED = {"max_rd_atomic": "max_dest_rd_atomic", "max_dest_rd_atomic": "max_rd_atomic"}


def lines_to_rts(place: CommandContext, qp: QueuePair) -> list[str]:
    """The lines that bring it to RTS, and its peer too if that is not up.

    [] if its peer is not known.
    """
    if qp.state not in BRING_UP[:-1]:
        return []
    if not qp.transport.connected:
        return _alone(place, qp)
    peer = partner(place.world, qp)
    if peer is None:
        return []
    name, other = place.qp_name(qp), place.qp_name(peer)
    if peer.state in (QPState.RTR, QPState.RTS):
        options = _as_peer_has_it(qp, peer)
        return [] if options is None else [f"to_rts {name} {other}{_options_text(place, options)}"]
    fresh = [f"modify_qp {n} state=RESET" for n, q in ((name, qp), (other, peer))
             if q.state is not QPState.RESET]  # fmt: skip
    return [*fresh, f"connect {name} {other}"]


def partner(world: World, qp: QueuePair) -> QueuePair | None:
    """Its peer, the queue pair that has it as its peer, or the only unconnected one."""
    known = peer_of(world, qp)
    if known is not None:
        return known
    others = [q for hca in world.nodes.values() for q in hca.qps.items.values() if q is not qp]
    connected_to_it = [q for q in others if peer_of(world, q) is qp]
    is_taken = qp.transport.connected  # a path of UD and RAW_PACKET leads to no peer
    free = [q for q in others if q.node != qp.node and _fits(qp, q)
            and not (is_taken and q.path is not None)]  # fmt: skip
    found = connected_to_it or free
    return found[0] if len(found) == 1 else None


def _fits(qp: QueuePair, other: QueuePair) -> bool:
    """Whether both have the same service, and `other` takes all that `qp` sends."""
    own, theirs = TRANSPORTS[qp.qp_type], TRANSPORTS[other.qp_type]
    return own.service is theirs.service and own.sends <= theirs.receives


def _as_peer_has_it(qp: QueuePair, peer: QueuePair) -> dict[str, int] | None:
    """Options of to_rts on which both ends must agree; None where it cannot take them."""
    psn = peer.resp.psn
    if qp.state is not QPState.RTR and psn != peer.req.psn:
        return None
    by_name = {"psn": psn, "path_mtu": int(peer.attr.path_mtu or 0)}
    if peer.state is QPState.RTS:
        by_name |= {name: getattr(peer.attr, name) for name in _MIRRORED}
        by_name |= {own: getattr(peer.attr, theirs) for own, theirs in _SWAPPED.items()}
    if peer.attr.qp_access_flags:
        by_name["qp_access_flags"] = int(peer.attr.qp_access_flags)
    return by_name


def _options_text(place: CommandContext, options: dict[str, int]) -> str:
    """The options that differ from the defaults of to_rts."""
    kind = next(
        p.kind for p in place.session.vocabulary["to_rts"].parameters if p.name == "options"
    )
    assert isinstance(kind, RecordKind)
    usual = {field.name: field for field in kind.fields}
    return "".join(
        f" {name}={value_text(value, usual[name].kind)}"
        for name, value in options.items()
        if usual[name].default != value
    )


def _alone(place: CommandContext, qp: QueuePair) -> list[str]:
    """UD and RAW_PACKET, which have no peer. A missing Q_Key is that of the other queue pairs."""
    keys = [q.attr.qkey for hca in place.world.nodes.values() for q in hca.qps.items.values()
            if q.qp_type is qp.qp_type and q.attr.qkey]  # fmt: skip
    changed = {"qkey": hex(qp.attr.qkey or keys[0])} if qp.attr.qkey or keys else {}
    steps = [*pairwise(BRING_UP[BRING_UP.index(qp.state) :])]
    required = {name for step in steps for name in fields_of(MOVES[qp.qp_type, *step].required)}
    if "qkey" in required and not changed:
        return []
    plain = {"pkey_index": "0", "port_num": "1", **changed}
    return [commands.move(place, qp, now, to, plain) for now, to in steps]


def steps_to_rts(place: CommandContext, qp: QueuePair) -> list[str]:
    """The moves that are missing up to RTS, and nothing of its peer; [] if that is not known."""
    peer = partner_of(place.world, qp)
    if peer is not None:
        return [f"to_rts {place.qp_name(qp)} {place.qp_name(peer)}"]
    return [] if qp.transport.connected else _alone(place, qp)
