"""Short forms: use, connect, to_rts, reset. Each returns verbs, which the session runs."""

import re
from itertools import count
from typing import Annotated, NamedTuple

from rdmalab.command import SCRIPTABLE, Alias, NotUnderstood, OneOf, command
from rdmalab.hca.attributes import MTU_IN_BYTES
from rdmalab.hca.qp import QueuePair
from rdmalab.session.lines import Script
from rdmalab.session.session import Session
from rdmalab.spec.access import Access
from rdmalab.spec.row import dataclass
from rdmalab.spec.states import (
    ATTRIBUTES,
    BRING_UP,
    BRING_UP_MOVES,
    MOVES,
    MTU,
    USUAL,
    Attr,
    QPType,
)
from rdmalab.spec.transports import TRANSPORTS
from rdmalab.verbs.nouns import Qp
from rdmalab.workbench.port import LAYERS

_ALL_RIGHTS = Access.LOCAL_WRITE | Access.REMOTE_WRITE | Access.REMOTE_READ | Access.REMOTE_ATOMIC
_MTU = MTU(USUAL["path_mtu"])
_ACCESS = "|".join(flag.name or "" for flag in _ALL_RIGHTS)


@dataclass(slots=True)
class ConnectOptions:
    """The attributes of a connected pair; the defaults are the usual values."""

    path_mtu: Annotated[MTU, MTU_IN_BYTES, Alias("mtu")] = _MTU
    timeout: int = USUAL["timeout"]
    retry_cnt: int = USUAL["retry_cnt"]
    rnr_retry: int = USUAL["rnr_retry"]
    min_rnr_timer: int = USUAL["min_rnr_timer"]
    max_rd_atomic: int = USUAL["max_rd_atomic"]
    max_dest_rd_atomic: int = USUAL["max_dest_rd_atomic"]
    psn: int = USUAL["sq_psn"]
    qkey: int = USUAL["qkey"]
    qp_access_flags: Access = _ALL_RIGHTS & ~Access.LOCAL_WRITE


@dataclass(slots=True)
class PairOptions(ConnectOptions):
    """The sizes of the objects that `use rc_pair` makes."""

    length: int = 4096
    cqe: int = 16
    max_send_wr: int = 8
    max_recv_wr: int = 8
    max_inline_data: int = 64
    sq_sig_all: bool = False
    channel: bool = False
    max_tso_header: int = 0
    link_layer: Annotated[str, LAYERS] | None = None


class Shape(NamedTuple):
    """A pair that `use` can make.

    The QP type of each side. shared: QPs of the second that share an SRQ.
    """

    left: QPType
    right: QPType
    shared: int = 0

    @property
    def many(self) -> int:
        """Queue pairs of each node."""
        return self.shared or 1


_PAIRS = {
    "rc_pair": Shape(QPType.RC, QPType.RC),
    "uc_pair": Shape(QPType.UC, QPType.UC),
    "ud_pair": Shape(QPType.UD, QPType.UD),
    "raw_pair": Shape(QPType.RAW_PACKET, QPType.RAW_PACKET),
    "srq_pair": Shape(QPType.RC, QPType.RC, shared=2),
    "xrc_pair": Shape(QPType.XRC_SEND, QPType.XRC_RECV),
}


@command(SCRIPTABLE)
def use(
    session: Session, what: Annotated[str, OneOf(_PAIRS)], *, options: PairOptions | None = None
) -> Script:
    """Make a protection domain, memory, a CQ and a QP on both nodes, and bring the QPs to RTS.

    The objects are called pd0, mr0, cq0, qp0; if one exists already, all get the next number.
    ud_pair: also ah0, the address of the other node. raw_pair: also flow0, which gives qp0 the
    frames to its node's MAC. srq_pair: qp0 and qp1 on both nodes; those of the second node use the
    receives of srq0. xrc_pair: XRC_SEND to XRC_RECV; the second node has xrcd0, and srq0 in it.
    With channel=1 cq0 has a completion channel, ch0; with link_layer=InfiniBand both ports become
    InfiniBand ports first. Prints the verbs it runs.

    Example: use rc_pair rnr_retry=1 max_send_wr=8
    """
    chosen, shape = options or PairOptions(), _PAIRS[what]
    nodes = list(session.world.nodes)[:2]
    if len(nodes) < 2:
        raise NotUnderstood("a pair needs two nodes", hint="open the lab with nodes A and B")
    first = _free_number(session, nodes, shape.many)
    numbers = range(first, first + shape.many)
    sides = list(zip(nodes, (shape.left, shape.right), strict=True))
    layer = chosen.link_layer
    lines = [f"port {node} link_layer={layer}" for node in nodes] if layer else []
    for node, qp_type in sides:
        srq = _shared(node, qp_type, shape.shared if node == nodes[1] else 0, chosen)
        lines += _numbered(_parts(node, chosen) + srq, first)
        lines += [_queue_pair(node, qp_type, chosen, (first, n), bool(srq)) for n in numbers]
    for n in numbers:
        a, b = ((f"{node}.qp{n}", qp_type) for node, qp_type in sides)
        lines += _bring_up(a, b, chosen)
    return Script([*lines, *_numbered(_ways(nodes, shape.left), first)])


_MADE = ("ch", "pd", "mr", "cq", "qp", "xrcd", "srq", "ah", "flow")


def _free_number(session: Session, nodes: list[str], many: int) -> int:
    """The first number that is free for these objects on both nodes."""
    return next(
        first
        for first in count()
        if all(
            session.names.is_free(f"{node}.{noun}{number}")
            for node in nodes
            for noun in _MADE
            for number in range(first, first + many)
        )
    )


def _numbered(lines: list[str], number: int) -> list[str]:
    """The lines with another number in place of the 0 of `A.pd0`."""
    return [re.sub(rf"(\.(?:{'|'.join(_MADE)}))0\b", rf"\g<1>{number}", line) for line in lines]


def _parts(node: str, chosen: PairOptions) -> list[str]:
    """The verbs for the parts of a queue pair."""
    text = f" channel={node}.ch0" if chosen.channel else ""
    return [
        *([f"create_comp_channel {node}.ch0"] if chosen.channel else []),
        f"alloc_pd {node}.pd0",
        f"reg_mr {node}.mr0 pd={node}.pd0 length={chosen.length} access={_ACCESS}",
        f"create_cq {node}.cq0 cqe={chosen.cqe}{text}",
    ]


def _queue_pair(
    node: str, qp_type: QPType, chosen: PairOptions, numbers: tuple[int, int], on_srq: bool
) -> str:
    """The create_qp verb, with the parts and sizes that its type takes."""
    first, own = numbers
    transport = TRANSPORTS[qp_type]
    parts = [*transport.parts, *(["srq"] if on_srq and not transport.names_srq else [])]
    words = [f"create_qp {node}.qp{own}", *(f"{p}={node}.{_KIND[p]}{first}" for p in parts)]
    words.insert(2 if parts[0] == "pd" else 1, f"qp_type={qp_type.name}")
    words += [f"max_send_wr={chosen.max_send_wr}"] if transport.sends else []
    words += [f"max_recv_wr={chosen.max_recv_wr}"] if "recv_cq" in parts and not on_srq else []
    if transport.sends:
        words += [f"max_inline_data={chosen.max_inline_data} sq_sig_all={int(chosen.sq_sig_all)}"]
    words += [f"max_tso_header={chosen.max_tso_header}"] if chosen.max_tso_header else []
    return " ".join(words)


_KIND = {"pd": "pd", "send_cq": "cq", "recv_cq": "cq", "srq": "srq", "xrcd": "xrcd"}


def _shared(node: str, qp_type: QPType, shared: int, chosen: PairOptions) -> list[str]:
    """The verbs for the SRQ of a side, and for its XRC domain."""
    max_wr = chosen.max_recv_wr
    if shared:
        return [f"create_srq {node}.srq0 pd={node}.pd0 max_wr={max_wr}"]
    if not TRANSPORTS[qp_type].names_srq or not TRANSPORTS[qp_type].receives:
        return []
    return [
        f"open_xrcd {node}.xrcd0 oflag=O_CREAT",
        f"create_srq_ex {node}.srq0 pd={node}.pd0 srq_type=XRC xrcd={node}.xrcd0 cq={node}.cq0 "
        f"max_wr={max_wr}",
    ]


def _ways(nodes: list[str], qp_type: QPType) -> list[str]:
    """The verbs for the address handle or the flow rule."""
    if TRANSPORTS[qp_type].addressed:
        ways = zip(nodes, reversed(nodes), strict=True)
        return [f"create_ah {node}.ah0 pd={node}.pd0 to={other}" for node, other in ways]
    if TRANSPORTS[qp_type].service is None:
        return [f"create_flow {node}.flow0 qp={node}.qp0 dst_mac={node}" for node in nodes]
    return []


@command(SCRIPTABLE)
def connect(session: Session, a: Qp, b: Qp, *, options: ConnectOptions | None = None) -> Script:
    """Bring two QPs in RESET up to RTS, each with the other as its peer.

    Prints the verbs it runs; they show what a real program must exchange and set.

    Example: connect A.qp0 B.qp0 mtu=1024 rnr_retry=1
    """
    chosen = options or ConnectOptions()
    return Script(_bring_up(_end(session, a), _end(session, b), chosen))


@command(SCRIPTABLE)
def to_rts(session: Session, qp: Qp, peer: Qp, *, options: ConnectOptions | None = None) -> Script:
    """Bring one QP from its state up to RTS, with `peer` as its peer.

    Example: to_rts A.qp0 B.qp0
    """
    state = session.world.find(qp, QueuePair).state
    if state not in BRING_UP[:-1]:
        raise NotUnderstood(
            f"{session.names.of(qp)} is in {state.name}; to_rts starts below RTS",
            argument="qp",
            hint=f"modify_qp {session.names.of(qp)} state=RESET",
        )
    moves = _moves(_end(session, qp), session.names.of(peer), options or ConnectOptions())
    return Script(moves[BRING_UP.index(state) :])


@command(SCRIPTABLE)
def reset(session: Session, qp: Qp) -> Script:
    """Reset a QP: its queues are emptied without completions.

    Example: reset A.qp0
    """
    return Script([f"modify_qp {session.names.of(qp)} state=RESET"])


# A queue pair by name, and its type: those of an XRC pair differ.
End = tuple[str, QPType]


def _end(session: Session, qp: Qp) -> End:
    return session.names.of(qp), session.world.find(qp, QueuePair).qp_type


def _bring_up(a: End, b: End, chosen: ConnectOptions) -> list[str]:
    """The verbs of both sides alternately, as two programs would run them."""
    pairs = zip(_moves(a, b[0], chosen), _moves(b, a[0], chosen), strict=True)
    return [line for both in pairs for line in both]


def _flags(bits: int) -> str:
    """The qp_access_flags argument: names, or the number if a bit has none."""
    named = [flag.name or "" for flag in Access if flag & bits]
    known = sum(int(flag) for flag in Access if flag & bits)
    return "|".join(named) if named and known == bits else str(bits)


def _moves(end: End, peer: str, chosen: ConnectOptions) -> list[str]:
    """The modify_qp verbs up to RTS, with the attributes required for this type."""
    qp, qp_type = end
    needed = _required_attributes(peer, chosen)
    return [
        " ".join(
            [
                f"modify_qp {qp} state={to.name}",
                *_required(MOVES[qp_type, now, to].required, needed),
            ]
        )
        for now, to in BRING_UP_MOVES
    ]


def _required_attributes(peer: str, chosen: ConnectOptions) -> dict[str, str]:
    """The attributes as `modify_qp` arguments, in the usual order."""
    attributes = {
        "pkey_index": "0",
        "port_num": "1",
        "qp_access_flags": _flags(int(chosen.qp_access_flags)),
        "qkey": hex(chosen.qkey),
        "path_mtu": str(MTU.in_bytes(chosen.path_mtu)),
        "dest_qp_num": peer,
        "rq_psn": str(chosen.psn),
        "max_dest_rd_atomic": str(chosen.max_dest_rd_atomic),
        "min_rnr_timer": str(chosen.min_rnr_timer),
        "ah_attr": peer.partition(".")[0],
        "timeout": str(chosen.timeout),
        "retry_cnt": str(chosen.retry_cnt),
        "rnr_retry": str(chosen.rnr_retry),
        "sq_psn": str(chosen.psn),
        "max_rd_atomic": str(chosen.max_rd_atomic),
    }
    return {name: f"{_SHORT.get(name, name)}={value}" for name, value in attributes.items()}


_SHORT = {"ah_attr": "ah"}  # the whole address of a node


def _required(mask: Attr, needed: dict[str, str]) -> list[str]:
    return [needed[name] for name in needed if ATTRIBUTES[name].mask & mask]
