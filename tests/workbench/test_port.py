"""Addresses, partitions and port states as an administrator sets them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdmalab.lab import Lab
from rdmalab.spec.records import B, Kind, kind_of
from rdmalab.wire.packet import LidFlow
from tests.each import examples
from tests.labs import lab_of, misread, refusal, well


def test_an_address_comes_and_goes() -> None:
    lab = lab_of("gid add A 10.0.0.7")
    assert lab.session.world.network.node_of_gid[lab.session.world.nodes["A"].gids[2]] == "A"
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


# --------------------------------------------------------------------------- link layers
def test_an_infiniband_port_has_two_lids_and_a_gid() -> None:
    lab = lab_of("port B link_layer=InfiniBand", pair="port A link_layer=InfiniBand")
    found = well(lab, "query_port B").value
    assert (found["link_layer"].name, found["lid"], found["lmc"], found["sm_lid"]) == (
        "INFINIBAND", 4, 1, 1,
    )  # fmt: skip
    assert well(lab, "query_gid_ex B index=0").value["gid_type"] == "IB"
    assert refusal(lab, "query_gid_ex B index=1").rule == "gid-empty"
    assert "AUTO_PATH_MIG" in well(lab, "query_device B").value["device_cap_flags"].name
    assert lab.look("B.port.lid == 4")
    assert sorted(lab.session.world.network.node_of_gid.values()) == ["A", "B"]
    assert sorted(lab.session.world.network.node_of_lid.values()) == ["A", "A", "B", "B"]


def test_a_gid_is_no_lid() -> None:
    lab = lab_of(
        "port B link_layer=InfiniBand", "gid add B ::9", "alloc_pd A.pd0",
        "create_ah A.ah0 pd=A.pd0 dlid=9", pair="port A link_layer=InfiniBand",
    )  # fmt: skip
    assert lab.look("A.ah0.to") == "unknown"
    assert lab.session.world.network.target_of(LidFlow(2, 9)) == ""
    assert lab.session.world.network.target_of(LidFlow(2, 4)) == "B"


def test_it_can_be_ethernet_again() -> None:
    lab = Lab()
    before = dict(lab.session.world.network.node_of_gid)
    well(lab, "port A link_layer=InfiniBand")
    well(lab, "port A link_layer=Ethernet")
    assert lab.session.world.network.node_of_gid == before
    assert well(lab, "query_port A").value["lmc"] == 0
    assert "AUTO_PATH_MIG" not in str(well(lab, "query_device A").value["device_cap_flags"])


@pytest.mark.parametrize("profile", ["strict", "mlx5"])
def test_a_port_in_use_keeps_its_link_layer(profile: str) -> None:
    lab = Lab(profile=profile)
    well(lab, "use rc_pair link_layer=InfiniBand")
    well(lab, "port A ACTIVE link_layer=InfiniBand")
    answer = misread(lab, "port A link_layer=Ethernet")
    assert answer.message == "the port of A is in use by 1 queue pair"
    well(lab, "create_qp A.qp7 pd=A.pd0 send_cq=A.cq0 recv_cq=A.cq0 qp_type=UD")
    well(lab, "create_ah A.ah0 pd=A.pd0 to=B")
    answer = misread(lab, "port A link_layer=Ethernet")
    assert answer.message == "the port of A is in use by 2 queue pairs and 1 address handle"
    assert "show A" in answer.hint


def test_soft_roce_has_no_infiniband_port() -> None:
    answer = misread(Lab(profile="rxe"), "port A link_layer=InfiniBand")
    assert answer.message == "profile rxe has no InfiniBand port"


@pytest.mark.parametrize("line", ["port A", "port A link_layer=infini", "port A link_layer=2"])
def test_no_such_link_layer(line: str) -> None:
    assert misread(Lab(), line)


def test_ports_of_two_link_layers_do_not_meet() -> None:
    lab = lab_of("alloc_pd A.pd0", "alloc_pd B.pd0", pair="port B link_layer=InfiniBand")
    assert refusal(lab, "create_ah A.x pd=A.pd0 to=B").rule == "ah-global"
    well(lab, "create_ah A.x pd=A.pd0 is_global=1 dgid=10.0.0.2 sgid_index=1 port_num=1")
    assert lab.look("A.x.to") == "unknown"


# --------------------------------------------------------------------------- one port of each
UD = (
    "alloc_pd {0}.pd0",
    "reg_mr {0}.mr0 pd={0}.pd0 length=4096 access=LOCAL_WRITE",
    "create_cq {0}.cq0 cqe=16",
    "create_qp {0}.qp0 pd={0}.pd0 qp_type=UD send_cq={0}.cq0 recv_cq={0}.cq0",
    "modify_qp {0}.qp0 state=INIT pkey_index=0 port_num=1 qkey=1",
    "modify_qp {0}.qp0 state=RTR",
    "modify_qp {0}.qp0 state=RTS sq_psn=0",
    "post_recv {0}.qp0 sg={0}.mr0[0:256]",
)
DATAGRAM = "post_send A.qp0 opcode=SEND sg=A.mr0[0:64] ah=A.ah0 remote_qpn={} remote_qkey=1"


def datagrams(infiniband: str) -> Lab:
    """A UD queue pair on each node; the port of one of them is InfiniBand."""
    lines = [line.format(node) for node in "AB" for line in UD]
    return lab_of(*lines, pair=f"port {infiniband} link_layer=InfiniBand")


def gone(lab: Lab) -> list[str]:
    """Why packets were lost or dropped."""
    fates = (Kind.PACKET_LOST, Kind.PACKET_DROPPED)
    return [str(r[B]) for r in lab.session.world.trace.records if kind_of(r) in fates]


@pytest.mark.parametrize(
    ("infiniband", "address", "qpn", "reason"),
    [
        ("A", "dlid=4", "B.qp0", "no port has the LID 4"),
        ("B", "is_global=1 dgid=10.0.0.2 sgid_index=1", "B.qp0", "no port has this address"),
        ("B", "is_global=1 dgid=fe80::200:aff:fe00:2", "B.qp0", "wrong-link-layer"),
        ("B", "is_global=1 dgid=224.0.0.9 sgid_index=1", "0xffffff", "wrong-link-layer"),
    ],
)
def test_what_is_sent_to_the_other_link_layer_is_lost_with_a_reason(
    infiniband: str, address: str, qpn: str, reason: str
) -> None:
    lab = datagrams(infiniband)
    well(lab, f"create_ah A.ah0 pd=A.pd0 port_num=1 hop_limit=64 {address}")
    well(lab, DATAGRAM.format(qpn))
    well(lab, "run")
    assert gone(lab) == [reason]
    assert lab.look("B.cq0.count == 0")


def test_a_raw_frame_does_not_enter_an_infiniband_port() -> None:
    lab = lab_of("alloc_pd A.pd0", pair="port B link_layer=InfiniBand")
    for line in (
        "reg_mr A.mr0 pd=A.pd0 length=64 access=LOCAL_WRITE",
        "create_cq A.cq0 cqe=16",
        "create_qp A.qp0 pd=A.pd0 qp_type=RAW_PACKET send_cq=A.cq0 recv_cq=A.cq0",
        "modify_qp A.qp0 state=INIT port_num=1",
        "modify_qp A.qp0 state=RTR",
        "modify_qp A.qp0 state=RTS",
        "post_send A.qp0 opcode=SEND sg=A.mr0[0:64]",
        "run",
    ):
        well(lab, line)
    assert gone(lab) == ["wrong-link-layer"]


@settings(max_examples=examples(60))
@given(
    st.sampled_from("AB"), st.integers(0, 9), st.integers(0, 1), st.integers(0, 1),
    st.sampled_from(["10.0.0.1", "10.0.0.2", "fe80::200:aff:fe00:2", "224.0.0.9", "::4"]),
    st.sampled_from(["B.qp0", "0xffffff", "0x99"]),
)  # fmt: skip
def test_whatever_the_address_nothing_crosses(
    infiniband: str, dlid: int, is_global: int, index: int, dgid: str, qpn: str
) -> None:
    lab = datagrams(infiniband)
    fields = f"is_global={is_global} dgid={dgid} sgid_index={index} hop_limit=64 dlid={dlid}"
    refused = lab.do(f"create_ah A.ah0 pd=A.pd0 port_num=1 {fields}")[-1].failed
    if not refused:
        well(lab, DATAGRAM.format(qpn))
        well(lab, "run")
    assert lab.look("B.cq0.count == 0")
    assert all(gone(lab))
