"""Two queue pairs of any type at the prompt: send CQ cq0, receive CQ cq1, both tell channel ch0."""

from typing import Any

from rdmalab.hca.wr import Cqe
from rdmalab.lab import Lab
from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.opcodes import BY_LABEL
from rdmalab.spec.profiles import PROFILES, Profile
from rdmalab.wire.packet import Packet
from tests.labs import well

QKEY = 0x111
_ALL = "LOCAL_WRITE|REMOTE_WRITE|REMOTE_READ|REMOTE_ATOMIC"

# What each type is told on its way up: INIT, RTR, RTS. {peer}, {other}: the QP and node opposite.
_INIT = "state=INIT pkey_index=0 port_num=1"
_RTR = "state=RTR path_mtu=256 dest_qp_num={peer} rq_psn=0 ah={other}"
MOVES: dict[str, tuple[str, str, str]] = {
    "RC": (
        f"{_INIT} qp_access_flags={{rights}}",
        f"{_RTR} max_dest_rd_atomic=1 min_rnr_timer=1",
        "state=RTS timeout=8 retry_cnt=1 rnr_retry=1 sq_psn=0 max_rd_atomic=1",
    ),
    "UC": (f"{_INIT} qp_access_flags={{rights}}", _RTR, "state=RTS sq_psn=0"),
    "UD": (f"{_INIT} qkey={QKEY}", "state=RTR", "state=RTS sq_psn=0"),
}


def services(
    qp_type: str = "RC",
    profile: str | Profile = "strict",
    *lines: str,
    cqe: int = 16,
    rights: str = "REMOTE_WRITE|REMOTE_READ|REMOTE_ATOMIC",
    peer_state: int = 3,
) -> Lab:
    """A lab with both ends up (B only `peer_state` moves far), and these lines carried out."""
    chosen = PROFILES[profile] if isinstance(profile, str) else profile
    lab = Lab({"A": chosen, "B": chosen})
    for node, other in (("A", "B"), ("B", "A")):
        for line in (
            f"create_comp_channel {node}.ch0",
            f"alloc_pd {node}.pd0",
            f"reg_mr {node}.mr0 pd={node}.pd0 length=8192 access={_ALL}",
            f"create_cq {node}.cq0 cqe={cqe} channel={node}.ch0",
            f"create_cq {node}.cq1 cqe={cqe} channel={node}.ch0",
            f"create_qp {node}.qp0 pd={node}.pd0 qp_type={qp_type} send_cq={node}.cq0 "
            f"recv_cq={node}.cq1 max_send_wr=8 max_recv_wr=8",
            f"create_ah {node}.ah0 pd={node}.pd0 to={other}",
        ):
            well(lab, line)
    for node, other, far in (("A", "B", 3), ("B", "A", peer_state)):
        for move in MOVES[qp_type][:far]:
            text = move.format(peer=f"{other}.qp0", other=other, rights=rights)
            well(lab, f"modify_qp {node}.qp0 {text}")
    for line in lines:
        well(lab, line)
    return lab


def to(qp_type: str) -> str:
    """How a send WR says where it goes, where it must."""
    return f" ah=A.ah0 remote_qpn=B.qp0 remote_qkey={QKEY}" if qp_type == "UD" else ""


def polled(lab: Lab, cq: str) -> list[Cqe]:
    """Everything on a CQ, taken off."""
    found: list[Cqe] = well(lab, f"poll_cq {cq} num_entries=100").value
    return found


def statuses(lab: Lab, cq: str) -> list[tuple[int, str]]:
    return [(cqe.wr_id, cqe.status.name) for cqe in polled(lab, cq)]


def raised(lab: Lab, node: str) -> list[AsyncEvent]:
    """The asynchronous events that wait, oldest first."""
    return [event for event, _ in lab.session.world.nodes[node].async_events]


def state(lab: Lab, qp: str) -> str:
    return str(lab.look(f"{qp}.state").name)


def inject(lab: Lab, node: str, label: str, psn: int, payload: bytes = b"", **more: Any) -> None:
    """A packet that nobody sent arrives at qp0 of a node, as if from its peer."""
    world = lab.session.world
    hca = world.nodes[node]
    (qp,) = hca.qps.items.values()
    peer = next(other for name, other in world.nodes.items() if name != node)
    path = next(iter(peer.qps.items.values())).path
    assert path is not None
    world.begin_event()
    hca.receive(
        Packet(path.flow, BY_LABEL[label][0], qp.number, psn, payload, **more), world.now_ns
    )
