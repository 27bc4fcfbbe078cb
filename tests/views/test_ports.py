"""Ports and the cable as rows."""

from rdmalab.spec.limits import PortState
from rdmalab.views import ports
from tests.labs import lab_of, well
from tests.pairs import Pair
from tests.views.looking import names_of


def test_port_row_has_state_gid_and_profile() -> None:
    pair = Pair()
    row = ports.port_row(pair.world, "B")
    assert (row.state, row.gid, row.profile) == (PortState.ACTIVE, "::ffff:10.0.0.2", "strict")
    pair.world.begin_event()
    pair.world.network.set_link(up=False)
    row = ports.port_row(pair.world, "B")
    assert (row.state, row.async_events) == (PortState.DOWN, 1)


def test_link_row_has_settings_and_faults() -> None:
    pair = Pair()
    pair.lose("A", 2)
    row = ports.link_row(pair.world, names_of(pair))
    assert (row.up, row.latency_ns, row.rate_bps) == (True, 1_000, 10**11)
    assert len(row.faults) == 1
    assert row.faults[0].startswith("1: drop")


def test_a_program_is_no_object_of_the_device() -> None:
    lab = lab_of()
    before = ports.device_row(lab.session.world, "A")
    well(lab, "program A.tx lines={stop}")
    assert ports.device_row(lab.session.world, "A") == before
