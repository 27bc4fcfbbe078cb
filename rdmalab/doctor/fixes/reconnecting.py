"""Fixes for ends that do not match: reconnect them, create one again, resend a message."""

import dataclasses
from functools import reduce
from operator import or_

from rdmalab.command import Noun, Thing
from rdmalab.doctor.case import Case, QueuePair
from rdmalab.doctor.fixes import simple_fixes
from rdmalab.doctor.fixes.simple_fixes import Attributes
from rdmalab.hca.wr import SGE, RecvWR, SendWR
from rdmalab.spec.access import Access
from rdmalab.spec.states import BRING_UP_MOVES, MOVES, QPState, fields_of
from rdmalab.views import fmt
from rdmalab.wire.headers import GRH

_OPTIONS = (
    "path_mtu", "timeout", "retry_cnt", "rnr_retry", "min_rnr_timer", "max_rd_atomic",
    "max_dest_rd_atomic", "qp_access_flags",
)  # fmt: skip


# --------------------------------------------------------------------------- two ends
def reconnect(
    case: Case,
    qp: QueuePair,
    peer: QueuePair,
    ours: Attributes | None = None,
    theirs: Attributes | None = None,
) -> list[str]:
    """Reset these two and connect them with each other, as the first was connected.

    ours, theirs: attributes to change. The receives of both are discarded: post them again.
    """
    ends = [
        (one, {"pkey_index": _pkey_index(one), "ah_attr": two.node, "dest_qp_num":
               case.qp_name(two), **options(case, qp, peer), **(changed or {})})
        for one, two, changed in ((qp, peer, ours), (peer, qp, theirs))
    ]  # fmt: skip
    lines = [_down(case, one) for one, _ in ends if one.state is not QPState.RESET]
    if all(said["pkey_index"] == "0" for _, said in ends):
        both = f"{case.qp_name(qp)} {case.qp_name(peer)}"
        return [*lines, simple_fixes.line("connect", both, options(case, qp, peer))]
    moves = [
        simple_fixes.move(case, q, now, to, said) for now, to in BRING_UP_MOVES for q, said in ends
    ]
    return lines + moves


def _pkey_index(qp: QueuePair) -> str:
    return str(qp.attr.pkey_index or 0)


def _down(case: Case, qp: QueuePair) -> str:
    return f"modify_qp {case.qp_name(qp)} state=RESET"


def options(case: Case, *ends: QueuePair) -> Attributes:
    """What both are to agree on: as the first that knows says it, with the rights of all."""
    model = next((qp for qp in ends if qp.path is not None), None)
    if model is None:
        return {}
    needed = fields_of(
        reduce(or_, (MOVES[model.qp_type, *pair].required for pair in BRING_UP_MOVES))
    )
    said = {name: simple_fixes.attribute(case, model, name) for name in _OPTIONS if name in needed}
    if "qp_access_flags" in said:
        said["qp_access_flags"] = fmt.flags(
            reduce(or_, (int(qp.attr.qp_access_flags or 0) for qp in ends)), Access
        )
    return said


def join(case: Case, qp: QueuePair, peer: str) -> list[str]:
    """Connect a queue pair to one that was just made, with all that it had agreed before."""
    lines = [] if qp.state is QPState.RESET else [_down(case, qp)]
    return [*lines, simple_fixes.line("connect", f"{case.qp_name(qp)} {peer}", options(case, qp))]


def create_like(case: Case, qp: QueuePair, name: str, **changed: object) -> str:
    """Make a queue pair with the parts and sizes of another."""
    parts = {"pd": (Noun.PD, qp.pd), "send_cq": (Noun.CQ, qp.send_cq),
             "recv_cq": (Noun.CQ, qp.recv_cq), "srq": (Noun.SRQ, qp.srq)}  # fmt: skip
    said: Attributes = {"qp_type": qp.qp_type.name}
    said |= {key: case.name(noun, qp.node, n) for key, (noun, n) in parts.items() if n}
    sizes = {field.name: getattr(qp.cap, field.name) for field in dataclasses.fields(qp.cap)}
    said |= {key: size for key, size in sizes.items() if not (qp.srq and "recv" in key)}
    return simple_fixes.line(
        "create_qp", name, {**said, "sq_sig_all": int(qp.sq_sig_all), **changed}
    )


# --------------------------------------------------------------------------- messages
def resend_to(case: Case, qp: QueuePair, wr: SendWR, peer: QueuePair | None, *,
              after_reset: bool = False, **changed: object) -> list[str]:  # fmt: skip
    """The same message to this peer, with a receive where it takes one and none waits.

    after_reset: a reset took the receives of the peer; the first of them is posted again.
    """
    lines = [simple_fixes.post_send(case, qp, wr, **{**_named(case, wr, peer), **changed})]
    if peer is None or not simple_fixes.needs_receive(wr):
        return lines
    lost = after_reset and not peer.shares_receives
    if peer.source.wqes and not lost:
        return lines
    length = sum(sge.length for sge in wr.sg)
    fitting = [w.wr for w in peer.rq.wqes if w.length >= length + overhead(peer)]
    receive = (
        simple_fixes.post_recv(case, peer, fitting[0]) if fitting else room(case, peer, wr, length)
    )
    return [receive, *lines]


def _named(case: Case, wr: SendWR, peer: QueuePair | None) -> Attributes:
    """What a work request says of the other end in numbers, by name."""
    if peer is None:
        return {}
    if wr.remote_qpn == peer.number and not peer.transport.connected:
        return {"remote_qpn": case.qp_name(peer)}
    for mr in case.world.nodes[peer.node].mrs.items.values():
        start = wr.remote_addr - mr.iova
        if mr.rkey == wr.rkey != 0 and 0 <= start <= mr.length:
            name = case.name(Noun.MR, peer.node, mr.number)
            return {"remote": f"{name}[{start}]", "remote_addr": None, "rkey": None}
    return {}


def overhead(qp: QueuePair) -> int:
    """Bytes that a receive has before the message: a datagram's routing header."""
    return 0 if qp.transport.connected else GRH.LENGTH


def room(case: Case, qp: QueuePair, wr: SendWR, length: int) -> str:
    """Post a receive for this message, with its number."""
    found = piece(case, qp.node, qp.pd, length + overhead(qp))
    return simple_fixes.post_recv(case, qp, RecvWR(wr.wr_id, found))


def piece(case: Case, node: str, pd: int, length: int) -> list[SGE]:
    """So many bytes of the first region of a domain that takes them; none if there is none."""
    for mr in case.world.nodes[node].mrs.items.values():
        if mr.pd == pd and mr.access & Access.LOCAL_WRITE and mr.length >= length:
            return [SGE(mr.iova, length or 1, mr.lkey)]
    return []


def receive_at(case: Case, name: str, pd: Thing, length: int, wr_id: int) -> str:
    """Post a receive on an SRQ, or on a queue pair that was just made, of this domain."""
    found = piece(case, pd.node, pd.number, length)
    sg = ",".join(simple_fixes.sge_words(case, pd.node, each) for each in found)
    thing = case.names.find(name)
    shared = thing is not None and thing.noun is Noun.SRQ
    verb = "post_srq_recv" if shared else "post_recv"
    return simple_fixes.line(verb, name, {"wr_id": wr_id, "sg": sg})


def some_message(case: Case, qp: QueuePair, length: int) -> str:
    """A SEND of so many bytes at most, of whatever region there is, with a number of its own."""
    regions = case.world.nodes[qp.node].mrs.items.values()
    found = [SGE(mr.iova, min(length, mr.length), mr.lkey) for mr in regions if mr.pd == qp.pd]
    said = {
        "wr_id": qp.sq.posted + 1,
        "opcode": "SEND",
        "sg": simple_fixes.sge_words(case, qp.node, found[0]) if found and length else "",
        "flags": "SIGNALED",
    }
    return simple_fixes.line("post_send", case.qp_name(qp), said)
