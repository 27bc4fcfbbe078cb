"""Addresses, partitions and port states as an administrator sets them."""

import pytest

from tests.labs import lab_of, misread, refusal, well


def test_an_address_comes_and_goes() -> None:
    lab = lab_of("gid add A 10.0.0.7")
    assert lab.session.world.node_of_gid[lab.session.world.nodes["A"].gids[2]] == "A"
    well(lab, "create_ah B.ah0 pd=B.pd0 is_global=1 dgid=10.0.0.7 sgid_index=1 port_num=1")
    assert lab.look("B.ah0.to") == "A"
    well(lab, "gid del A 10.0.0.7")
    line = "create_ah A.ah1 pd=A.pd0 is_global=1 dgid=10.0.0.2 sgid_index=2 port_num=1"
    assert (refusal(lab, line).rule, refusal(lab, line).errno) == ("ah-sgid-empty", 61)
    assert [row.event.name for row in well(lab, "show events").value.rows] == ["GID_CHANGE"] * 2


@pytest.mark.parametrize(
    "line",
    [
        "gid add A 10.0.0.2",  # B has it
        "gid add A",
        "gid del A 10.9.9.9",
        "gid del A index=7",
        "gid add A 10.0.0.9 index=8",
        "gid add A 10.0.0.9 index=1",  # taken
        "pkey set A 4 0x8001",
        "pkey set A 0 0x12345",
        "port A NOP",
    ],
)
def test_what_means_nothing(line: str) -> None:
    assert misread(lab_of(), line)


def test_a_port_is_led_up() -> None:
    lab = lab_of("port A DOWN", "port A INIT", "port A ARMED")
    assert lab.look("A.port.state").name == "ARMED"
    assert lab.look("A.port.phys_state").name == "LINK_UP"
    well(lab, "device_fatal A")
    assert misread(lab, "device_fatal A").hint == "open_device A"
