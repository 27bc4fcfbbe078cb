"""Short forms: they say the verbs they stand for, and the session runs those one by one."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from rdmalab.command import Alias, NotUnderstood, command
from rdmalab.hca.attributes import MTU_IN_BYTES
from rdmalab.session.lines import Script
from rdmalab.session.session import Session
from rdmalab.spec.access import Access
from rdmalab.spec.states import ATTRIBUTES, MOVES, MTU, QPState, QPType
from rdmalab.verbs.nouns import Qp

_ALL_RIGHTS = Access.LOCAL_WRITE | Access.REMOTE_WRITE | Access.REMOTE_READ | Access.REMOTE_ATOMIC
_ACCESS = "|".join(flag.name or "" for flag in _ALL_RIGHTS)


@dataclass(slots=True)
class ConnectOptions:
    """What a connected pair agrees on; the values are those of the bring-up document."""

    path_mtu: Annotated[MTU, MTU_IN_BYTES, Alias("mtu")] = MTU.B512
    timeout: int = 14
    retry_cnt: int = 7
    rnr_retry: int = 7
    min_rnr_timer: int = 12
    max_rd_atomic: int = 1
    max_dest_rd_atomic: int = 1
    psn: int = 0
    qp_access_flags: Access = _ALL_RIGHTS & ~Access.LOCAL_WRITE


@dataclass(slots=True)
class PairOptions(ConnectOptions):
    """What `use rc_pair` makes."""

    length: int = 4096
    cqe: int = 16
    max_send_wr: int = 8
    max_recv_wr: int = 8
    max_inline_data: int = 64
    sq_sig_all: bool = False


@command
def use(
    session: Session, what: Literal["rc_pair"], *, options: PairOptions | None = None
) -> Script:
    """Make a protection domain, memory, a CQ and a QP on both nodes, and connect the QPs.

    The objects are called pd0, mr0, cq0, qp0. Prints the verbs it runs.

    Example: use rc_pair rnr_retry=1 max_send_wr=8
    """
    del what
    chosen = options or PairOptions()
    nodes = list(session.world.nodes)[:2]
    if len(nodes) < 2:
        raise NotUnderstood("a pair needs two nodes", hint="open the lab with nodes A and B")
    lines = [line for node in nodes for line in _objects(node, chosen)]
    a, b = ((f"{node}.qp0", QPType.RC) for node in nodes)
    return Script(lines + _bring_up(a, b, chosen))


def _objects(node: str, chosen: PairOptions) -> list[str]:
    qp = f"create_qp {node}.qp0 pd={node}.pd0 qp_type=RC send_cq={node}.cq0 recv_cq={node}.cq0"
    sizes = f"max_send_wr={chosen.max_send_wr} max_recv_wr={chosen.max_recv_wr}"
    inline = f"max_inline_data={chosen.max_inline_data} sq_sig_all={int(chosen.sq_sig_all)}"
    return [
        f"alloc_pd {node}.pd0",
        f"reg_mr {node}.mr0 pd={node}.pd0 length={chosen.length} access={_ACCESS}",
        f"create_cq {node}.cq0 cqe={chosen.cqe}",
        f"{qp} {sizes} {inline}",
    ]


@command
def connect(session: Session, a: Qp, b: Qp, *, options: ConnectOptions | None = None) -> Script:
    """Bring two QPs in RESET up to RTS, each with the other as its peer.

    Prints the verbs it runs; see them for what a real program has to exchange and to set.

    Example: connect A.qp0 B.qp0 mtu=1024 rnr_retry=1
    """
    names, chosen = session.names, options or ConnectOptions()
    ends = (
        (names.of(a), session.world.find(a).qp_type),
        (names.of(b), session.world.find(b).qp_type),
    )
    return Script(_bring_up(*ends, chosen))


@command
def to_rts(session: Session, qp: Qp, peer: Qp, *, options: ConnectOptions | None = None) -> Script:
    """Bring one QP up to RTS from wherever it stands below, with `peer` at the other end.

    Example: to_rts A.qp0 B.qp0
    """
    state = session.world.find(qp).state
    if state not in _WAY_UP:
        raise NotUnderstood(
            f"{session.names.of(qp)} is in {state.name}; to_rts starts below RTS",
            argument="qp",
            hint=f"modify_qp {session.names.of(qp)} state=RESET",
        )
    end = (session.names.of(qp), session.world.find(qp).qp_type)
    moves = _moves(end, session.names.of(peer), options or ConnectOptions())
    return Script(moves[_WAY_UP.index(state) :])


@command
def reset(session: Session, qp: Qp) -> Script:
    """Put a QP back to RESET: its queues are emptied without completions.

    Example: reset A.qp0
    """
    return Script([f"modify_qp {session.names.of(qp)} state=RESET"])


_WAY_UP = (QPState.RESET, QPState.INIT, QPState.RTR)


End = tuple[str, QPType]


def _bring_up(a: End, b: End, chosen: ConnectOptions) -> list[str]:
    """Both sides in step, as two programs would do it."""
    pairs = zip(_moves(a, b[0], chosen), _moves(b, a[0], chosen), strict=True)
    return [line for both in pairs for line in both]


def _mtu(code: int) -> int:
    """As `modify_qp` is told it: bytes, or the number that is no MTU."""
    return MTU(code).octets if code in tuple(MTU) else code


def _flags(bits: int) -> str:
    """As `modify_qp` is told them: names, or the number where a bit has none."""
    named = [flag.name or "" for flag in Access if flag & bits]
    known = sum(int(flag) for flag in Access if flag & bits)
    return "|".join(named) if named and known == bits else str(bits)


def _moves(end: End, peer: str, chosen: ConnectOptions) -> list[str]:
    """What each move is told, of all that there is to say: as much as the type takes."""
    name, qp_type = end
    told: tuple[dict[str, Any], ...] = (
        {"pkey_index": 0, "port_num": 1, "qp_access_flags": _flags(int(chosen.qp_access_flags))},
        {
            "path_mtu": _mtu(chosen.path_mtu),
            "dest_qp_num": peer,
            "rq_psn": chosen.psn,
            "max_dest_rd_atomic": chosen.max_dest_rd_atomic,
            "min_rnr_timer": chosen.min_rnr_timer,
            "ah_attr": peer.partition(".")[0],
        },
        {
            "timeout": chosen.timeout,
            "retry_cnt": chosen.retry_cnt,
            "rnr_retry": chosen.rnr_retry,
            "sq_psn": chosen.psn,
            "max_rd_atomic": chosen.max_rd_atomic,
        },
    )
    states = zip(_WAY_UP, (*_WAY_UP[1:], QPState.RTS), told, strict=True)
    return [_move(name, qp_type, now, to, said) for now, to, said in states]


def _move(name: str, qp_type: QPType, now: QPState, to: QPState, said: dict[str, Any]) -> str:
    required = MOVES[qp_type, now, to].required
    words = [
        f"{'ah' if key == 'ah_attr' else key}={value}"
        for key, value in said.items()
        if ATTRIBUTES[key].mask & required
    ]
    return " ".join([f"modify_qp {name} state={to.name}", *words])
