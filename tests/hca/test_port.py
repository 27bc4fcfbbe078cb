"""A port: partitions that part, counters that stay full, a link that changes its speed."""

import pytest

from rdmalab.hca import port
from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.limits import PortState
from rdmalab.spec.profiles import RXE
from tests.labs import RECV, SEND, lab_of, well
from tests.pairs import Pair


@pytest.mark.parametrize(
    ("ours", "theirs", "heard"),
    [
        (0x8001, 0x8001, True),
        (0x8001, 0x0001, True),
        (0x0001, 0x0001, False),  # two limited members
        (0x8001, 0x8002, False),
        (0x8001, 0, False),  # of neither
    ],
)
def test_pkey_table_of_a_port(ours: int, theirs: int, heard: bool) -> None:
    lab = lab_of(f"pkey set A 0 {ours}", f"pkey set B 0 {theirs}", RECV, SEND, "run 20us")
    assert lab.look("A.cq0.count") == int(heard)
    assert lab.look("B.port.bad_pkey_cntr") == int(not heard)


def test_port_counters_saturate() -> None:
    hca = Pair().world.nodes["A"]
    hca.drops["qkey"] = 70_000
    assert (port.qkey_viol_cntr(hca), port.bad_pkey_cntr(hca)) == (0xFFFF, 0)


def test_port_events_when_active_is_left_or_reached() -> None:
    hca = Pair().world.nodes["A"]
    for state in (PortState.ARMED, PortState.INIT, PortState.ACTIVE_DEFER, PortState.ACTIVE):
        port.set_state(hca, state)
    assert [e for e, _ in hca.async_events] == [AsyncEvent.PORT_ERR, AsyncEvent.PORT_ACTIVE]


def test_port_moves_packets_only_when_active() -> None:
    lab = lab_of("port B ARMED", RECV, SEND, "run 20us")
    assert (lab.look("A.cq0.count"), lab.look("B.port.drops")) == (0, 1)


def test_a_removed_gid_receives_nothing() -> None:
    lab = lab_of("gid del B 10.0.0.2", RECV, SEND, "run 20us")
    assert (lab.look("A.cq0.count"), lab.look("B.port.drops")) == (0, 1)
    well(lab, "gid add B 10.0.0.2")
    well(lab, "run")
    assert lab.look("A.cq0.count") == 1


def test_speed_change_raises_one_event_by_device() -> None:
    answer = AsyncEvent.DEVICE_SPEED_CHANGE
    for profile, count in ((None, 1), (RXE, 0)):
        world = (Pair() if profile is None else Pair(profile=profile)).world
        world.network.tune_link("rate_bps", 10**9)
        world.network.tune_link("rate_bps", 10**9)
        assert [e for e, _ in world.nodes["A"].async_events].count(answer) == count
