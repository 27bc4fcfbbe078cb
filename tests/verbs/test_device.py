"""What a device and a port say of themselves, and what they refuse."""

import pytest

from rdmalab.lab import Lab
from rdmalab.spec.limits import LinkLayer, PhysState, PortState
from tests.covers import covers
from tests.labs import lab_of, refusal, well

_NEW = "create_qp A.qp1 pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0 max_inline_data=100"


@covers("S072")
def test_max_inline_data_is_returned_by_query_qp_only() -> None:
    lab = lab_of(_NEW)
    found = well(lab, "query_device A").value
    assert "max_inline_data" not in {*found, *well(lab, "query_device_ex A").value}
    assert well(lab, "query_qp A.qp1").value.init_attr.cap.max_inline_data == 100
    assert (found["max_qp"], found["atomic_cap"].name) == (256, "HCA")
    assert "MEM_WINDOW" in found["device_cap_flags"].name
    assert found.items() <= well(lab_of(), "query_device_ex A").value.items()


def test_the_guid_of_a_device_is_the_eui_64_of_its_port() -> None:
    """The lower half of the GID that an InfiniBand port forms from it."""
    lab = Lab()
    well(lab, "port A link_layer=INFINIBAND")
    found = well(lab, "query_device A").value["node_guid"]
    assert found == "0x02000afffe000001"
    assert int(found, 16) == lab.session.world.nodes["A"].gids[0] & (1 << 64) - 1


@covers("S138")
def test_atomic_cap_is_of_the_adapter() -> None:
    for verb in ("query_device A", "query_device_ex A"):
        assert well(lab_of(), verb).value["atomic_cap"].name == "HCA"


@covers("S234")
def test_query_pkey_first_entry_is_used_and_the_others_are_empty() -> None:
    lab = lab_of()
    keys = [well(lab, f"query_pkey A index={index}").value["pkey"] for index in range(4)]
    assert [int(str(key), 0) for key in keys] == [0xFFFF, 0, 0, 0]


def test_query_port() -> None:
    lab = lab_of("link rate=10Gbps mtu=1024", "link down")
    found = well(lab, "query_port A").value
    assert (found["state"], found["phys_state"]) == (PortState.DOWN, PhysState.DISABLED)
    assert (found["active_mtu"].octets, found["link_layer"]) == (1024, LinkLayer.ETHERNET)
    assert (found["active_width"], found["active_speed"]) == (1, 8)


@pytest.mark.parametrize(
    ("line", "rule", "errno"),
    [
        ("query_port A port_num=0", "port-num", 22),
        ("query_port A port_num=2", "port-num", 22),
        ("query_gid A index=8", "gid-index", 22),
        ("query_gid A index=-1", "gid-index", 22),
        ("query_gid_ex A index=2", "gid-empty", 61),
        ("query_pkey A index=4", "pkey-index", 22),
        ("query_device_ex A comp_mask=1", "device-comp-mask", 22),
    ],
)
def test_query_device_port_gid_pkey_refused(line: str, rule: str, errno: int) -> None:
    answer = refusal(lab_of(), line)
    assert (answer.rule, answer.errno) == (rule, errno)


def test_query_gid_and_query_pkey() -> None:
    lab = lab_of("gid add A 10.0.0.7", "pkey set A 3 0x8001")
    assert well(lab, "query_gid A index=2").value == {"gid": "::ffff:10.0.0.7"}
    assert well(lab, "query_gid A index=7").value == {"gid": "::"}  # no error
    assert well(lab, "query_pkey A index=3").value == {"pkey": "0x8001"}


def test_open_device_is_open_already() -> None:
    assert "already" in well(lab_of(), "open_device A").value


@pytest.mark.parametrize(
    ("profile", "state"), [("strict", PhysState.DISABLED), ("mlx5", PhysState.DISABLED),
                           ("rxe", PhysState.POLLING)],
)  # fmt: skip
def test_query_port_phys_state_without_carrier_by_device(profile: str, state: PhysState) -> None:
    lab = Lab(profile=profile)
    well(lab, "link down")
    found = well(lab, "query_port A").value
    assert (found["state"], found["phys_state"]) == (PortState.DOWN, state)
    well(lab, "link up")
    assert well(lab, "query_port A").value["phys_state"] is PhysState.LINK_UP
