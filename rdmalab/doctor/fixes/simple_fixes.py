"""Cures in words: lines that a person would type, made from what was posted and what was set.

No line names a thing that has no name; where that is not possible the line says numbers, as C does.
"""

import dataclasses
from functools import reduce
from operator import or_
from typing import Any

from rdmalab.command import CallArguments, Noun
from rdmalab.doctor.case import Case, QueuePair
from rdmalab.hca.ah import ah_attr_of
from rdmalab.hca.attributes import AhAttr
from rdmalab.hca.wr import SGE, RecvWR, SendWR
from rdmalab.spec.access import Access
from rdmalab.spec.states import ATTRIBUTES, BRING_UP_MOVES, MOVES, MTU, QPState, QPType, fields_of
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import READ_BY_SOME, WORK, SendFlags, WROpcode
from rdmalab.views import fmt
from rdmalab.wire.packet import gid_text
from rdmalab.world.relations import partner_of, peer_of

Attributes = CallArguments


# --------------------------------------------------------------------------- work requests
def sge_words(case: Case, node: str, sge: SGE) -> str:
    """`A.mr0[0:64]` where its key is that of a region, else `{addr=… length=… lkey=…}`."""
    for number, mr in case.world.nodes[node].mrs.items.items():
        if mr.lkey == sge.lkey and mr.iova <= sge.addr:
            start = sge.addr - mr.iova
            return f"{case.name(Noun.MR, node, number)}[{start}:{start + sge.length}]"
    return f"{{addr={sge.addr:#x} length={sge.length} lkey={sge.lkey:#x}}}"


def post_recv(case: Case, qp: QueuePair, wr: RecvWR, **changed: object) -> str:
    """Post this receive (once more) on a queue pair, or on the SRQ that it takes them from."""
    if (srq := case.shared_by(qp)) is not None:
        return post_srq_recv(case, qp.node, srq.number, wr, **changed)
    said = {"wr_id": wr.wr_id, "sg": ",".join(sge_words(case, qp.node, s) for s in wr.sg)}
    return line("post_recv", case.qp_name(qp), {**said, **changed})


def post_srq_recv(case: Case, node: str, srq: int, wr: RecvWR, **changed: object) -> str:
    """Post this receive on a shared receive queue."""
    said = {"wr_id": wr.wr_id, "sg": ",".join(sge_words(case, node, s) for s in wr.sg)}
    return line("post_srq_recv", case.name(Noun.SRQ, node, srq), {**said, **changed})


def post_send(case: Case, qp: QueuePair, wr: SendWR, **changed: object) -> str:
    """Post this send once more; `changed`: keys with another value, None: left out."""
    sg = ",".join(sge_words(case, qp.node, s) for s in wr.sg)
    said: CallArguments = {
        "wr_id": wr.wr_id,
        "opcode": fmt.member(wr.opcode, WROpcode),
        "sg": sg,
        "flags": fmt.flags(int(wr.flags), SendFlags) if wr.flags else None,
        **_said_fields(case, qp, wr),
    }
    return line("post_send", case.qp_name(qp), {**said, **changed})


_HEXADECIMAL = ("remote_addr", "rkey", "remote_qkey", "imm_data", "invalidate_rkey")
_BY_NAME = {"ah": Noun.AH, "mw": Noun.MW, "bind_mr": Noun.MR}
_SAID_APART = ("wr_id", "opcode", "sg", "flags", "num_sge", "rest", "next")
_OF_DATAGRAMS = ("ah", "remote_qpn", "remote_qkey")


def _is_idle(qp: QueuePair, wr: SendWR, name: str) -> bool:
    """A field that this opcode, or this type of queue pair, does not read."""
    if name in _OF_DATAGRAMS:
        return qp.transport.connected
    if name == "remote_srqn":
        return not qp.transport.names_srq and qp.qp_type is not QPType.XRC_SEND
    row = WORK.get(wr.opcode)
    return row is not None and name in READ_BY_SOME - row.reads


def _said_fields(case: Case, qp: QueuePair, wr: SendWR) -> CallArguments:
    """What else was set in a work request."""
    said = _remote_words(case, qp, wr)
    for field in dataclasses.fields(wr):
        name, value = field.name, getattr(wr, field.name)
        if name in _SAID_APART or value == field.default or value is None:
            continue
        if (name in ("remote_addr", "rkey") and "remote" in said) or _is_idle(qp, wr, name):
            continue
        if name in _BY_NAME:
            said[name] = case.name(_BY_NAME[name], qp.node, value)
        elif name in _HEXADECIMAL:
            said[name] = hex(value)
        elif name == "bind_access":
            said[name] = fmt.flags(int(value), Access)
        else:
            said[name] = getattr(value, "name", value)
    return said


def _remote_words(case: Case, qp: QueuePair, wr: SendWR) -> CallArguments:
    """`remote=B.mr0[100]`, where the key is that of a region of the peer."""
    peer = peer_of(case.world, qp)
    mrs = case.world.nodes[peer.node].mrs.items if peer is not None and wr.rkey else {}
    for number, mr in mrs.items():
        if mr.rkey == wr.rkey and 0 <= wr.remote_addr - mr.iova <= mr.length and peer is not None:
            name = case.name(Noun.MR, peer.node, number)
            return {"remote": f"{name}[{wr.remote_addr - mr.iova}]"}
    return {}


def free_name(case: Case, noun: Noun, node: str) -> str:
    """A name that nothing has: `A.ah1`."""
    return case.names.first_free(f"{node}.{noun}")


def line(verb: str, name: str, said: CallArguments) -> str:
    """A command as it is typed; arguments that are None or empty are left out."""
    keys = [f"{key}={value}" for key, value in said.items() if value not in (None, "")]
    return " ".join([verb, name, *keys])


# --------------------------------------------------------------------------- connections
def bring_up_again(case: Case, qp: QueuePair, ours: Attributes | None = None,
           theirs: Attributes | None = None) -> list[str]:  # fmt: skip
    """Reset a queue pair and its peer and bring both up again, with the same attributes.

    ours, theirs: attributes to change. The receives of both are discarded: post them again.
    """
    peer = partner_of(case.world, qp)
    peer = None if peer is qp else peer  # connected to its own address
    ends = [(qp, ours or {})] + ([(peer, theirs or {})] if peer is not None else [])
    # always in the same order, so that two cures of one connection say the same lines
    ends.sort(key=lambda end: (end[0].node, end[0].number))
    lines = [
        f"modify_qp {case.qp_name(q)} state=RESET" for q, _ in ends if q.state is not QPState.RESET
    ]
    if peer is not None and (options := _in_common(case, ends)) is not None:
        both = " ".join(case.qp_name(q) for q, _ in ends)
        return [*lines, line("connect", both, options)]
    return lines + [move(case, q, now, to, said) for now, to in BRING_UP_MOVES for q, said in ends]


_OPTIONS = (
    "path_mtu", "timeout", "retry_cnt", "rnr_retry", "min_rnr_timer", "max_rd_atomic",
    "max_dest_rd_atomic", "qp_access_flags",
)  # fmt: skip
_PLAIN = {"pkey_index": "0", "port_num": "1"}


def _in_common(case: Case, ends: list[tuple[QueuePair, Attributes]]) -> Attributes | None:
    """The options of `connect`; None if it cannot set them: the ends differ, or a rare value."""
    options: Attributes = {}
    for qp, changed in ends:
        needed = fields_of(reduce(or_, (MOVES[qp.qp_type, *p].required for p in BRING_UP_MOVES)))
        said = {name: attribute(case, qp, name) for name in needed if name in _ALL_SAID} | changed
        peer = next(q for q, _ in ends if q is not qp)
        usual = {"ah_attr": peer.node, "dest_qp_num": case.qp_name(peer), "rq_psn": "0",
                 "sq_psn": "0", **_PLAIN}  # fmt: skip
        if any(said.get(name, value) != value for name, value in usual.items()):
            return None
        for name in _OPTIONS:
            if name in said and options.setdefault(name, said[name]) != said[name]:
                return None
    return options


def move(case: Case, qp: QueuePair, now: QPState, to: QPState, changed: Attributes) -> str:
    """One `modify_qp` with all that it requires, with the values that the queue pair had before."""
    required = MOVES[qp.qp_type, now, to].required
    said = {
        name: attribute(case, qp, name)
        for name, row in ATTRIBUTES.items()
        if row.mask & required and name not in _ALTERNATE
    }
    said |= {name: value for name, value in changed.items() if ATTRIBUTES[name].mask & required}
    if said.get("ah_attr") in case.world.nodes:
        said["ah"] = said.pop("ah_attr")
    return line("modify_qp", f"{case.qp_name(qp)} state={to.name}", said)


_ALTERNATE = ("alt_ah_attr", "alt_pkey_index", "alt_port_num", "alt_timeout", "qp_state")
_ALL_SAID = tuple(name for name in ATTRIBUTES if name not in _ALTERNATE)


def attribute(case: Case, qp: QueuePair, name: str) -> str:
    """One attribute of the queue pair, in the syntax of `modify_qp`.

    A queue pair in RESET gets the value of its peer.
    """
    peer = partner_of(case.world, qp)
    if qp.path is None and peer is not None:
        if name == "ah_attr":
            return peer.node
        qp = qp if name == "dest_qp_num" else peer
    if name == "dest_qp_num" and peer is not None:
        return case.qp_name(peer)
    return "0" if name in ("rq_psn", "sq_psn") else _value(case, name, getattr(qp.attr, name))


def _value(case: Case, name: str, value: Any) -> str:
    if isinstance(value, AhAttr):
        return address_words(case, value)
    if name == "path_mtu":
        return str(MTU(value).octets) if value in tuple(MTU) else str(value)
    if name == "qp_access_flags":
        return fmt.flags(int(value or 0), Access)
    return hex(value or 0) if name == "qkey" else str(int(value or 0))


def address_words(case: Case, av: AhAttr) -> str:
    """The node whose address it is, else `{is_global=1 dgid=… sgid_index=1 port_num=1}`."""
    for node, hca in case.world.nodes.items():
        if ah_attr_of(hca) == av:
            return node
    parts = []
    for field in dataclasses.fields(av):
        value = getattr(av, field.name)
        if value:
            parts.append(f"{field.name}={gid_text(value) if field.name == 'dgid' else value}")
    return "{" + " ".join(parts) + "}"


def needs_receive(wr: SendWR) -> bool:
    """Whether a message of it takes a receive at the peer."""
    row = WORK.get(wr.opcode)
    return row is not None and row.consumes_receive


def again(
    case: Case, qp: QueuePair, wr: SendWR, *, after_reset: bool = False, **changed: object
) -> list[str]:
    """The same message once more, with a receive for it where it needs one and none waits.

    after_reset: the peer's own receives were lost by a reset before.
    """
    lines = [post_send(case, qp, wr, **changed)]
    peer = peer_of(case.world, qp)
    waits = peer is not None and peer.source.wqes and not (after_reset and not peer.shares_receives)
    if needs_receive(wr) and peer is not None and not waits:
        lines.insert(0, _receive_for(case, peer, sum(sge.length for sge in wr.sg)))
    return lines


def _receive_for(case: Case, peer: QueuePair, length: int) -> str:
    """The receive that waited for it and is lost by the reset, or any that is long enough."""
    waiting = peer.rq.wqes[0] if peer.rq.wqes else None
    if waiting is not None and waiting.length >= length:
        return post_recv(case, peer, waiting.wr)
    return room(case, peer, length)


def room(case: Case, qp: QueuePair, length: int) -> str:
    """Post a receive of so many bytes, in the first region of its queue's domain that takes it."""
    pd = (case.shared_by(qp) or qp).pd
    for mr in case.world.nodes[qp.node].mrs.items.values():
        if mr.pd == pd and mr.access & Access.LOCAL_WRITE and mr.length >= length:
            piece = SGE(mr.iova, length or 1, mr.lkey)
            return post_recv(case, qp, RecvWR(sg=[piece]), wr_id=None)
    return post_recv(case, qp, RecvWR())


def once_more(case: Case, *, after_reset: bool = True) -> list[str]:
    """What was only flushed is posted again; after_reset: as for `again`."""
    work, qp = case.work, case.qp
    ending = work.ending if work is not None else None
    if qp is None or ending is None or ending.status is not WCStatus.WR_FLUSH_ERR:
        return []
    if case.send is not None and case.send.wqe is not None:
        return again(case, qp, case.send.wqe.wr, after_reset=after_reset)
    wqe = case.receive.wqe if case.receive is not None else None
    return [post_recv(case, qp, wqe.wr)] if wqe is not None else []
