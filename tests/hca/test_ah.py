"""Addresses: what makes one, and the flow that it gives to packets."""

from dataclasses import replace
from errno import EINVAL, ENODATA

import pytest

from rdmalab.command import Refused
from rdmalab.hca import ah, objects
from rdmalab.hca.attributes import AhAttr
from rdmalab.lab import Lab
from rdmalab.spec.states import QPType
from rdmalab.spec.work import WROpcode
from rdmalab.wire.packet import ipv4_gid
from tests.labs import refusal, well
from tests.pairs import Pair

GOOD = AhAttr(is_global=1, dgid=ipv4_gid("10.0.0.2"), sgid_index=1, hop_limit=64, port_num=1)


@pytest.mark.parametrize(
    ("bad", "rule", "errno"),
    [
        ({"port_num": 2}, "ah-port", EINVAL),
        ({"is_global": 0}, "ah-global", EINVAL),
        ({"sgid_index": 200}, "ah-sgid-index", EINVAL),
        ({"sgid_index": 7}, "ah-sgid-empty", ENODATA),
        ({"sgid_index": 0}, "ah-dgid", EINVAL),
        ({"dgid": 0}, "ah-dgid", EINVAL),
    ],
)
def test_what_is_no_address(bad: dict[str, int], rule: str, errno: int) -> None:
    pair = Pair()
    with pytest.raises(Refused) as caught:
        objects.create_ah(pair.a.hca, pair.a.pd.number, replace(GOOD, **bad))
    assert (caught.value.rule, caught.value.errno) == (rule, errno)
    assert pair.a.hca.ahs.items == {}


def test_a_pd_is_needed_by_its_handles() -> None:
    pair = Pair()
    hca = pair.a.hca
    pd = objects.alloc_pd(hca)
    handle = objects.create_ah(hca, pd.number, GOOD)
    with pytest.raises(Refused, match="in-use"):
        objects.dealloc_pd(hca, pd)
    objects.destroy_ah(hca, handle)
    objects.dealloc_pd(hca, pd)


@pytest.mark.parametrize(("qpn", "sport"), [(0xE1, 64591)])
def test_a_lone_qp_sends_from_the_port_that_its_number_hashes_to(qpn: int, sport: int) -> None:
    """As Soft-RoCE was seen to do in a capture."""
    assert ah.lone_source_port(qpn) == sport


def test_all_of_the_address_is_on_the_wire() -> None:
    pair = Pair(qp_type=QPType.UD)
    av = replace(GOOD, hop_limit=3, traffic_class=0x20, flow_label=0x12345)
    pair.a.ah = objects.create_ah(pair.a.hca, pair.a.pd.number, av).number
    pair.a.issue(WROpcode.SEND)
    pair.run()
    flow = pair.packets("A")[0].flow
    assert (flow.hop_limit, flow.traffic_class) == (3, 0x20)
    assert flow.sport == ah.source_port(0x12345)


_BAD = [("static_rate", 173), ("static_rate", 1), ("sl", 16), ("flow_label", 1 << 20)]
_GID = "is_global=1 dgid=::ffff:10.0.0.2 sgid_index=1 hop_limit=64"


@pytest.mark.parametrize("profile", ["strict", "rxe", "mlx5"])
@pytest.mark.parametrize(("name", "value"), _BAD)
def test_a_field_out_of_range(profile: str, name: str, value: int) -> None:
    """strict: all; mlx5: the rate, in modify_qp; rxe: none, as recorded (R16)."""
    lab = Lab(profile=profile)
    for line in ("use rc_pair", "reset A.qp0", "modify_qp A.qp0 state=INIT pkey_index=0 port_num=1"
                 " qp_access_flags=0"):  # fmt: skip
        well(lab, line)
    move = "modify_qp A.qp0 state=RTR path_mtu=512 dest_qp_num=B.qp0 rq_psn=0 max_dest_rd_atomic=1"
    move += f" min_rnr_timer=12 ah_attr={{{_GID} port_num=1 {name}={value}}}"
    refuses = profile == "strict" or (profile == "mlx5" and name == "static_rate")
    if refuses:
        told = refusal(lab, move)
        assert (told.rule, told.errno) == ("ah-range", 22)
        assert told.message.startswith(f"{name}={value} ")
        assert told.legal.startswith(f"{name} takes 0")
    else:
        well(lab, move)
    make = f"create_ah A.ah5 pd=A.pd0 {_GID} port_num=1 {name}={value}"
    if profile == "strict":
        assert refusal(lab, make).rule == "ah-range"
    else:
        well(lab, make)
