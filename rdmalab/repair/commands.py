"""Command lines that a person would type, made from what was posted and what was set.

No line names a thing that has no name; where that is not possible the line says numbers, as C does.
"""

import dataclasses
from collections.abc import Callable, Sequence
from functools import reduce
from itertools import accumulate
from operator import or_
from typing import Any, Protocol

from rdmalab.command import CallArguments, Noun, Thing
from rdmalab.grammar.format import HEXADECIMAL
from rdmalab.hca.ah import ah_attr_of
from rdmalab.hca.attributes import AhAttr
from rdmalab.hca.objects import MemoryRegion
from rdmalab.hca.port import gid_at
from rdmalab.hca.qp import QueuePair, SharedReceiveQueue
from rdmalab.hca.wr import SGE, RecvWR, SendWR
from rdmalab.repair.free_bytes import is_unused, unused
from rdmalab.session.names import Names
from rdmalab.session.session import Session
from rdmalab.spec.access import Access
from rdmalab.spec.states import ATTRIBUTES, BRING_UP_MOVES, MOVES, MTU, QPState, QPType, fields_of
from rdmalab.spec.work import READ_BY_SOME, WORK, SendFlags, WROpcode
from rdmalab.views import fmt
from rdmalab.wire.headers import GRH
from rdmalab.wire.packet import MAPPED, gid_text
from rdmalab.world.relations import partner_of, peer_of, removed_addresses
from rdmalab.world.world import World

Attributes = CallArguments


class CommandContext(Protocol):
    """The world and the names that lines are made in; a Case of the doctor is one."""

    session: Session

    @property
    def world(self) -> World: ...

    @property
    def names(self) -> Names: ...

    def name(self, noun: Noun, node: str, number: int) -> str:
        """`A.qp0`, or node, kind and number of a thing without a name."""

    def qp_name(self, qp: QueuePair) -> str:
        """The name of a queue pair, `A.qp0`."""

    def shared_by(self, target: QueuePair) -> SharedReceiveQueue | None:
        """The SRQ that messages to a queue pair take their receives from; None: its own queue."""


# --------------------------------------------------------------------------- work requests
def sge_words(place: CommandContext, node: str, sge: SGE) -> str:
    """`A.mr0[0:64]` where its key is that of a region, else `{addr=… length=… lkey=…}`."""
    for number, mr in place.world.nodes[node].mrs.items.items():
        if mr.lkey == sge.lkey and mr.iova <= sge.addr:
            start = sge.addr - mr.iova
            return f"{place.name(Noun.MR, node, number)}[{start}:{start + sge.length}]"
    return f"{{addr={sge.addr:#x} length={sge.length} lkey={sge.lkey:#x}}}"


def post_recv(place: CommandContext, qp: QueuePair, wr: RecvWR, **changed: object) -> str:
    """Post this receive (once more) on a queue pair, or on the SRQ that it takes them from."""
    if (srq := place.shared_by(qp)) is not None:
        return post_srq_recv(place, qp.node, srq.number, wr, **changed)
    given = {"wr_id": wr.wr_id, "sg": ",".join(sge_words(place, qp.node, s) for s in wr.sg)}
    return line("post_recv", place.qp_name(qp), {**given, **changed})


def post_srq_recv(place: CommandContext, node: str, srq: int, wr: RecvWR, **changed: object) -> str:
    """Post this receive on a shared receive queue."""
    given = {"wr_id": wr.wr_id, "sg": ",".join(sge_words(place, node, s) for s in wr.sg)}
    return line("post_srq_recv", place.name(Noun.SRQ, node, srq), {**given, **changed})


def post_send(place: CommandContext, qp: QueuePair, wr: SendWR, **changed: object) -> str:
    """Post this send once more; `changed`: keys with another value, None: left out."""
    sg = ",".join(sge_words(place, qp.node, s) for s in wr.sg)
    given: CallArguments = {
        "wr_id": wr.wr_id,
        "opcode": fmt.member(wr.opcode, WROpcode),
        "sg": sg,
        "flags": fmt.flags(int(wr.flags), SendFlags) if wr.flags else None,
        **_remote_fields(place, qp, wr),
    }
    return line("post_send", place.qp_name(qp), {**given, **changed})


_BY_NAME = {"ah": Noun.AH, "mw": Noun.MW, "bind_mr": Noun.MR}
_SAID_APART = ("wr_id", "opcode", "sg", "flags", "num_sge", "rest", "next")
_OF_DATAGRAMS = ("ah", "remote_qpn", "remote_qkey")


def _is_idle(qp: QueuePair, wr: SendWR, name: str) -> bool:
    """Whether this opcode, or this type of queue pair, does not read the field."""
    if name in _OF_DATAGRAMS:
        return qp.transport.connected
    if name == "remote_srqn":
        return not qp.transport.names_srq and qp.qp_type is not QPType.XRC_SEND
    row = WORK.get(wr.opcode)
    return row is not None and name in READ_BY_SOME - row.reads


def _remote_fields(place: CommandContext, qp: QueuePair, wr: SendWR) -> CallArguments:
    """The other fields that were set in a work request."""
    remote = _remote_words(place, qp, wr)
    for field in dataclasses.fields(wr):
        name, value = field.name, getattr(wr, field.name)
        if name in _SAID_APART or value == field.default or value is None:
            continue
        if (name in ("remote_addr", "rkey") and "remote" in remote) or _is_idle(qp, wr, name):
            continue
        if name in _BY_NAME:
            remote[name] = place.name(_BY_NAME[name], qp.node, value)
        elif name in HEXADECIMAL:
            remote[name] = hex(value)
        elif name == "bind_access":
            remote[name] = fmt.flags(int(value), Access)
        else:
            remote[name] = getattr(value, "name", value)
    return remote


def _remote_words(place: CommandContext, qp: QueuePair, wr: SendWR) -> CallArguments:
    """`remote=B.mr0[100]`, where the key is that of a region of the peer."""
    peer = peer_of(place.world, qp)
    mrs = place.world.nodes[peer.node].mrs.items if peer is not None and wr.rkey else {}
    for number, mr in mrs.items():
        if mr.rkey == wr.rkey and 0 <= wr.remote_addr - mr.iova <= mr.length and peer is not None:
            name = place.name(Noun.MR, peer.node, number)
            return {"remote": f"{name}[{wr.remote_addr - mr.iova}]"}
    return {}


def free_name(place: CommandContext, noun: Noun, node: str) -> str:
    """A name that nothing has: `A.ah1`."""
    return place.names.first_free(f"{node}.{noun}")


def line(verb: str, name: str, given: CallArguments) -> str:
    """A command as it is typed; arguments that are None or empty are left out."""
    keys = [f"{key}={value}" for key, value in given.items() if value not in (None, "")]
    return " ".join([verb, name, *keys])


# --------------------------------------------------------------------------- connections
def bring_up_again(place: CommandContext, qp: QueuePair, ours: Attributes | None = None,
           theirs: Attributes | None = None) -> list[str]:  # fmt: skip
    """Reset a queue pair and its peer and bring both up again, with the same attributes.

    ours, theirs: attributes to change. The receives of both are discarded: post them again.
    """
    peer = partner_of(place.world, qp)
    peer = None if peer is qp else peer  # connected to its own address
    ends = [(qp, ours or {})] + ([(peer, theirs or {})] if peer is not None else [])
    # always in the same order, so that two cures of one connection say the same lines
    ends.sort(key=lambda end: (end[0].node, end[0].number))
    lines = addresses(place.world, *(q.node for q, _ in ends))
    lines += [_down(place, q) for q, _ in ends if q.state is not QPState.RESET]
    if peer is not None and (options := _in_common(place, ends)) is not None:
        both = " ".join(place.qp_name(q) for q, _ in ends)
        return [*lines, line("connect", both, options)]
    return lines + [
        move(place, q, now, to, given) for now, to in BRING_UP_MOVES for q, given in ends
    ]


_OPTIONS = (
    "path_mtu", "timeout", "retry_cnt", "rnr_retry", "min_rnr_timer", "max_rd_atomic",
    "max_dest_rd_atomic", "qp_access_flags",
)  # fmt: skip
_PLAIN = {"pkey_index": "0", "port_num": "1"}


def _needed(qp_type: QPType) -> tuple[str, ...]:
    """The attributes that its way to RTS requires."""
    return fields_of(reduce(or_, (MOVES[qp_type, *pair].required for pair in BRING_UP_MOVES)))


def _in_common(
    place: CommandContext, ends: list[tuple[QueuePair, Attributes]]
) -> Attributes | None:
    """The options of `connect`; None if it cannot set them: the ends differ, or a rare value."""
    options: Attributes = {}
    for qp, changed in ends:
        needed = _needed(qp.qp_type)
        given = {name: attribute(place, qp, name) for name in needed if name in _ALL_SAID} | changed
        peer = next(q for q, _ in ends if q is not qp)
        usual = {"ah_attr": peer.node, "dest_qp_num": place.qp_name(peer), "rq_psn": "0",
                 "sq_psn": "0", **_PLAIN}  # fmt: skip
        if any(given.get(name, value) != value for name, value in usual.items()):
            return None
        for name in _OPTIONS:
            if name in given and options.setdefault(name, given[name]) != given[name]:
                return None
    return options


def move(
    place: CommandContext, qp: QueuePair, now: QPState, to: QPState, changed: Attributes
) -> str:
    """One `modify_qp` with all that it requires, with the values that the queue pair had before."""
    required = MOVES[qp.qp_type, now, to].required
    given = {
        name: attribute(place, qp, name)
        for name, row in ATTRIBUTES.items()
        if row.mask & required and name not in _ALTERNATE
    }
    given |= {name: value for name, value in changed.items() if ATTRIBUTES[name].mask & required}
    if given.get("ah_attr") in place.world.nodes:
        given["ah"] = given.pop("ah_attr")
    return line("modify_qp", f"{place.qp_name(qp)} state={to.name}", given)


_ALTERNATE = ("alt_ah_attr", "alt_pkey_index", "alt_port_num", "alt_timeout", "qp_state")
_ALL_SAID = tuple(name for name in ATTRIBUTES if name not in _ALTERNATE)


def attribute(place: CommandContext, qp: QueuePair, name: str) -> str:
    """One attribute of the queue pair, in the syntax of `modify_qp`.

    A queue pair in RESET gets the value of its peer.
    """
    peer = partner_of(place.world, qp)
    if qp.path is None and peer is not None:
        if name == "ah_attr":
            return peer.node
        qp = qp if name == "dest_qp_num" else peer
    if name == "dest_qp_num" and peer is not None:
        return place.qp_name(peer)
    return "0" if name in ("rq_psn", "sq_psn") else _value(place, name, getattr(qp.attr, name))


def _value(place: CommandContext, name: str, value: Any) -> str:
    if isinstance(value, AhAttr):
        return address_words(place.world, value)
    if name == "path_mtu":
        return str(MTU.in_bytes(value))
    if name == "qp_access_flags":
        return fmt.flags(int(value or 0), Access)
    return hex(value or 0) if name == "qkey" else str(int(value or 0))


def address_words(world: World, av: AhAttr) -> str:
    """The node whose address it is, else `{is_global=1 dgid=… sgid_index=1 port_num=1}`."""
    for node, hca in world.nodes.items():
        if ah_attr_of(hca) == av:
            return node
    parts = []
    for field in dataclasses.fields(av):
        value = getattr(av, field.name)
        if value:
            parts.append(f"{field.name}={gid_text(value) if field.name == 'dgid' else value}")
    return "{" + " ".join(parts) + "}"


def addresses(world: World, *nodes: str) -> list[str]:
    """`gid add` of the IPv4 address that each of these nodes had, if its entry is empty now."""
    lost = {node: gid for gid, node in removed_addresses(world).items() if gid >> 32 == MAPPED}
    entries = {node: ah_attr_of(world.nodes[node]).sgid_index for node in nodes if node in lost}
    return [f"gid add {node} {gid_text(lost[node])} index={index}"
            for node, index in entries.items() if not gid_at(world.nodes[node], index)]  # fmt: skip


def needs_receive(wr: SendWR) -> bool:
    """Whether a message of it takes a receive at the peer."""
    row = WORK.get(wr.opcode)
    return row is not None and row.consumes_receive


def again(
    place: CommandContext,
    qp: QueuePair,
    wr: SendWR,
    to: QueuePair | None = None,
    /,
    *,
    after_reset: bool = False,
    **changed: object,
) -> list[str]:
    """Lines that send the message again, with a receive for it where it needs one.

    to: the queue pair that is to take it, if that is not the peer. after_reset: the peer's own
    receives were lost by a reset before; the first of them that is long enough is posted again.
    """
    send = post_send(place, qp, wr, **{**_named(place, wr, to), **changed})
    peer = to or peer_of(place.world, qp)
    if peer is None or not _lacks_receive(peer, wr, after_reset=after_reset):
        return [send]
    length = sum(sge.length for sge in wr.sg)
    fitting = [w.wr for w in peer.rq.wqes if w.length >= length + overhead(peer)]
    if fitting:
        return [post_recv(place, peer, fitting[0]), send]
    return [*rooms(place, peer, length, wr_id=wr.wr_id if to is not None else None), send]


def _lacks_receive(peer: QueuePair, wr: SendWR, *, after_reset: bool) -> bool:
    """Whether a message takes a receive at a peer that has none then."""
    waits = peer.source.wqes and not (after_reset and not peer.shares_receives)
    return needs_receive(wr) and not waits


def rooms(
    place: CommandContext, qp: QueuePair, *lengths: int, wr_id: int | None = None
) -> list[str]:
    """Post a receive for each message of so many bytes, with the region that it needs.

    wr_id: number of all; None: none is named.
    """
    owner = place.shared_by(qp) or qp
    domain = Thing(Noun.PD, owner.node, owner.pd)
    lines, lists = room_for(place, domain, [length + overhead(qp) for length in lengths])
    for sg in lists:
        unnamed = {"wr_id": None} if sg and wr_id is None else {}
        lines.append(post_recv(place, qp, RecvWR(wr_id or 0), sg=sg, **unnamed))
    return lines


def room_for(
    place: CommandContext, domain: Thing, lengths: Sequence[int]
) -> tuple[list[str], list[str]]:
    """Lines to type before receives of these lengths are posted, and the `sg` of each.

    No two share bytes, nor does one with a receive that waits or was not polled, or with a send
    that is not done: where the regions of the domain have no such bytes left, another one is
    registered. An empty `sg` is that of an empty message.
    """
    found: list[SGE] = []
    for length in lengths:
        found += unused(place.world, domain, length or 1, found)
    if len(found) == len(lengths):
        return [], [sge_words(place, domain.node, sge) for sge in found]
    if not any(lengths):
        return [], [""] * len(lengths)
    name = free_name(place, Noun.MR, domain.node)
    own = {"pd": place.names.of(domain), "length": sum(lengths), "access": "LOCAL_WRITE"}
    ends = zip(accumulate(lengths), lengths, strict=True)
    return [line("reg_mr", name, own)], [f"{name}[{end - length}:{end}]" for end, length in ends]


# --------------------------------------------------------------------------- two ends
def reconnect(
    place: CommandContext,
    qp: QueuePair,
    peer: QueuePair,
    ours: Attributes | None = None,
    theirs: Attributes | None = None,
) -> list[str]:
    """Reset these two and connect them with each other, as the first was connected.

    Each keeps its own rights, if it had any. ours, theirs: attributes to change. The receives of
    both are discarded: post them again.
    """
    ends = [
        (one, {"pkey_index": str(one.attr.pkey_index or 0), "ah_attr": two.node, "dest_qp_num":
               place.qp_name(two), **options(place, qp, peer), **_rights(place, one),
               **(changed or {})})
        for one, two, changed in ((qp, peer, ours), (peer, qp, theirs))
    ]  # fmt: skip
    lines = addresses(place.world, qp.node, peer.node)
    lines += [_down(place, one) for one, _ in ends if one.state is not QPState.RESET]
    alike = len({given.get("qp_access_flags") for _, given in ends}) == 1
    if alike and all(given["pkey_index"] == "0" for _, given in ends):
        both = f"{place.qp_name(qp)} {place.qp_name(peer)}"
        given = options(place, qp, peer)
        given |= {key: value for key, value in (ours or {}).items() if key in given}
        return [*lines, line("connect", both, given)]
    moves = [move(place, q, now, to, given) for now, to in BRING_UP_MOVES for q, given in ends]
    return lines + moves


def _rights(place: CommandContext, qp: QueuePair) -> Attributes:
    """The qp_access_flags of a queue pair that is or was connected; empty if it has none."""
    own = qp.attr.qp_access_flags
    return {"qp_access_flags": _value(place, "qp_access_flags", own)} if own else {}


def _down(place: CommandContext, qp: QueuePair) -> str:
    return f"modify_qp {place.qp_name(qp)} state=RESET"


def options(place: CommandContext, *ends: QueuePair) -> Attributes:
    """Attributes for both ends, as the first connected one has them."""
    model = next((qp for qp in ends if qp.path is not None), None)
    if model is None:
        return {}
    needed = _needed(model.qp_type)
    return {name: attribute(place, model, name) for name in _OPTIONS if name in needed}


def join(place: CommandContext, qp: QueuePair, peer: str) -> list[str]:
    """Connect a queue pair to one that was just made, with all that it had agreed before."""
    lines = [] if qp.state is QPState.RESET else [_down(place, qp)]
    return [*lines, line("connect", f"{place.qp_name(qp)} {peer}", options(place, qp))]


def create_like(place: CommandContext, qp: QueuePair, name: str, **changed: object) -> str:
    """Make a queue pair with the parts and sizes of another."""
    parts = {"pd": (Noun.PD, qp.pd), "send_cq": (Noun.CQ, qp.send_cq),
             "recv_cq": (Noun.CQ, qp.recv_cq), "srq": (Noun.SRQ, qp.srq)}  # fmt: skip
    given: Attributes = {"qp_type": qp.qp_type.name}
    given |= {key: place.name(noun, qp.node, n) for key, (noun, n) in parts.items() if n}
    sizes = {field.name: getattr(qp.cap, field.name) for field in dataclasses.fields(qp.cap)}
    given |= {key: size for key, size in sizes.items() if not (qp.srq and "recv" in key)}
    return line("create_qp", name, {**given, "sq_sig_all": int(qp.sq_sig_all), **changed})


# --------------------------------------------------------------------------- messages
def _named(place: CommandContext, wr: SendWR, peer: QueuePair | None) -> Attributes:
    """The fields of a work request that name the other end, by name instead of number."""
    if peer is None:
        return {}
    if wr.remote_qpn == peer.number and not peer.transport.connected:
        return {"remote_qpn": place.qp_name(peer)}
    for mr in place.world.nodes[peer.node].mrs.items.values():
        start = wr.remote_addr - mr.iova
        if mr.rkey == wr.rkey != 0 and 0 <= start <= mr.length:
            name = place.name(Noun.MR, peer.node, mr.number)
            return {"remote": f"{name}[{start}]", "remote_addr": None, "rkey": None}
    return {}


def overhead(qp: QueuePair) -> int:
    """Bytes that a receive has before the message: a datagram's routing header."""
    return 0 if qp.transport.connected else GRH.LENGTH


def region(
    place: CommandContext, node: str, pd: int, length: int = 0, rights: int = 0,
    fits: Callable[[MemoryRegion], bool] | None = None,
) -> MemoryRegion | None:  # fmt: skip
    """The oldest region of a domain with so many bytes and these rights that fits; None: none."""
    for mr in place.world.nodes[node].mrs.items.values():
        allowed = mr.pd == pd and mr.length >= length and mr.access & rights == rights
        if allowed and (fits is None or fits(mr)):
            return mr
    return None


def piece(place: CommandContext, node: str, pd: int, length: int) -> list[SGE]:
    """SGE for `length` bytes of a region of a domain that fits; empty if there is none.

    Its first bytes that no request under way has, if there are such.
    """
    mr = region(place, node, pd, length, int(Access.LOCAL_WRITE))
    if mr is None:
        return []
    found = unused(place.world, Thing(Noun.PD, node, pd), length or 1)
    return found or [SGE(mr.iova, length or 1, mr.lkey)]


def longer(place: CommandContext, qp: QueuePair, sg: list[SGE], length: int) -> list[SGE]:
    """The list with a longer last element, or one element elsewhere; as it is if none has room.

    Elsewhere also where the bytes that are added are those of a request under way.
    """
    *first, last = sg or [SGE()]
    wanted = length - sum(sge.length for sge in first)
    mr = place.world.nodes[qp.node].lkeys.get(last.lkey)
    added = SGE(last.addr + last.length, wanted - last.length, last.lkey)
    if mr is not None and last.addr + wanted <= mr.iova + mr.length \
            and is_unused(place.world, qp.node, added):  # fmt: skip
        return [*first, SGE(last.addr, wanted, last.lkey)]
    return piece(place, qp.node, qp.pd, length) or sg


def some_bytes(place: CommandContext, qp: QueuePair, length: int) -> list[SGE]:
    """SGE for at most `length` bytes of the oldest region of its domain; empty without a region."""
    mr = region(place, qp.node, qp.pd)
    return [SGE(mr.iova, min(length, mr.length), mr.lkey)] if mr is not None else []


def receive_at(place: CommandContext, name: str, pd: Thing, length: int, wr_id: int) -> list[str]:
    """Post a receive on an SRQ, or on a queue pair that was just made, of this domain."""
    lines, (sg,) = room_for(place, pd, [length])
    thing = place.names.find(name)
    shared = thing is not None and thing.noun is Noun.SRQ
    verb = "post_srq_recv" if shared else "post_recv"
    return [*lines, line(verb, name, {"wr_id": wr_id, "sg": sg})]


def some_message(place: CommandContext, qp: QueuePair, length: int, srq: str = "") -> str:
    """A SEND of so many bytes at most, of whatever region there is, with a number of its own.

    srq: name of the SRQ that it is for, in XRC.
    """
    found = some_bytes(place, qp, length)
    given = {
        "wr_id": qp.sq.posted + 1,
        "opcode": "SEND",
        "sg": sge_words(place, qp.node, found[0]) if found and length else "",
        "remote_srqn": srq,
        "flags": "SIGNALED",
    }
    return line("post_send", place.qp_name(qp), given)
