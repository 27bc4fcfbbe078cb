"""What an adapter asks of its world: the world has it, and so may anybody else."""

from typing import Any

from rdmalab.hca import environment, lifecycle, modify, posting, qp_lifecycle
from rdmalab.hca.ah import ah_attr_of
from rdmalab.hca.attributes import QpAttr
from rdmalab.hca.device import Hca
from rdmalab.hca.qp import Capacity
from rdmalab.hca.wr import SendWR
from rdmalab.spec.access import Access
from rdmalab.spec.profiles import STRICT
from rdmalab.spec.records import Kind
from rdmalab.spec.states import MTU, QPState, QPType
from rdmalab.spec.work import WROpcode
from rdmalab.wire.frame import Frame
from rdmalab.wire.packet import Packet, ipv4_gid
from rdmalab.world.world import World


def test_a_world_has_what_an_adapter_needs() -> None:
    world = World()
    network: environment.Network = world.network
    agenda: environment.Agenda = world.agenda
    recorder: environment.Recorder = world.trace
    for thing, protocol in (
        (network, environment.Network),
        (agenda, environment.Agenda),
        (recorder, environment.Recorder),
    ):
        asked = [name for name in vars(protocol) if not name.startswith("_")]
        assert asked
        assert all(callable(getattr(thing, name)) for name in asked)


class Bench:
    """The smallest world there is: it writes down what it is asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []

    def record(self, kind: Kind, node: str, obj: int, a: object = None, b: object = None) -> None:
        del kind, node, obj, a, b

    def transmit(self, node: str, qpn: int, packet: Packet | Frame) -> int:
        assert isinstance(packet, Packet)
        self.asked.append(("transmit", node, qpn, packet.opcode_row.label))
        return 7

    def has(self, gid: int) -> bool:
        return gid == ipv4_gid("10.0.0.1")

    def file_port(self, node: str, at_ns: int) -> None:
        self.asked.append(("file_port", node, at_ns))

    def arm(self, timer: environment.Timer, at_ns: int) -> None:
        self.asked.append(("arm", timer.node, timer.qpn, at_ns))

    def disarm(self, timer: environment.Timer) -> None:
        self.asked.append(("disarm", timer.node, timer.qpn))


def test_an_adapter_works_without_a_world_clock_or_cable() -> None:
    """Three doors, and `now_ns` is an argument."""
    bench = Bench()
    hca = Hca("X", [ipv4_gid("10.0.0.1")] * 2, STRICT, bench, bench, bench)
    pd, cq = lifecycle.alloc_pd(hca), lifecycle.create_cq(hca, 4, 0)
    qp = qp_lifecycle.create_qp(
        hca, QPType.RC, pd.number, cq.number, cq.number, Capacity(), sig_all=True
    )
    up = QpAttr(qp_state=QPState.INIT, pkey_index=0, port_num=1, qp_access_flags=Access.REMOTE_READ)
    modify.modify(hca, qp, up)
    modify.modify(
        hca,
        qp,
        QpAttr(
            qp_state=QPState.RTR, path_mtu=MTU.B256, dest_qp_num=qp.number, rq_psn=0,
            max_dest_rd_atomic=1, min_rnr_timer=1, ah_attr=ah_attr_of(hca),
        ),
    )  # fmt: skip
    modify.modify(
        hca,
        qp,
        QpAttr(
            qp_state=QPState.RTS, timeout=1, retry_cnt=0, rnr_retry=0, sq_psn=0, max_rd_atomic=1
        ),
    )
    posting.post_send(hca, qp, [SendWR(WROpcode.SEND)])
    hca.turn(1_000)
    hca.timer(qp.number, 9_999)
    assert bench.asked == [
        ("file_port", "X", 100),
        ("transmit", "X", qp.number, "SEND_ONLY"),
        ("arm", "X", qp.number, 1_000 + 8_192),
        ("disarm", "X", qp.number),
    ]
    assert qp.state is QPState.ERR
    hca.timer(0x999, 10_000)  # of a QP that is gone
