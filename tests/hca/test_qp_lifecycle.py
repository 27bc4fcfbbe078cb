"""create_qp: types and capacities of the device, and the state of a new queue pair."""

from dataclasses import replace
from errno import EINVAL, EOPNOTSUPP
from typing import Any

import pytest

from rdmalab.hca import qp_lifecycle
from rdmalab.hca.device import Hca
from rdmalab.hca.qp import Capacity
from rdmalab.spec.profiles import RXE
from rdmalab.spec.states import QPState, QPType
from rdmalab.world.world import World
from tests.hca.test_lifecycle import refusal


@pytest.mark.parametrize(
    ("qp_type", "rule", "errno"),
    [
        (1, "qp-type-unknown", EINVAL),
        (QPType.XRC_SEND, "qp-type-support", EOPNOTSUPP),
        (QPType.XRC_RECV, "qp-parts", EINVAL),  # no domain, and without XRC there can be none
    ],
)
def test_create_qp_of_a_type_that_the_device_lacks(qp_type: Any, rule: str, errno: int) -> None:
    hca = World({"A": RXE}).nodes["A"]
    got = refusal(
        hca, lambda: qp_lifecycle.create_qp(hca, qp_type, 1, 1, 1, Capacity(), sig_all=False)
    )
    assert got == (rule, errno, "xrcd" if rule == "qp-parts" else "qp_type")


@pytest.mark.parametrize(
    ("name", "most"),
    [
        ("max_send_wr", 1024),
        ("max_recv_wr", 1024),
        ("max_send_sge", 8),
        ("max_recv_sge", 8),
        ("max_inline_data", 256),
    ],
)
def test_create_qp_capacities_at_their_limits(name: str, most: int) -> None:
    hca = World().nodes["A"]
    for value in (-1, most + 1):
        cap = replace(Capacity(), **{name: value})
        got = refusal(hca, lambda cap=cap: _create(hca, cap))  # type: ignore[misc]
        assert got == ("qp-cap", EINVAL, name)
    for value in (0, most):
        assert getattr(_create(hca, replace(Capacity(), **{name: value})).cap, name) == value


def _create(hca: Hca, cap: Capacity) -> Any:
    return qp_lifecycle.create_qp(hca, QPType.RC, 1, 1, 1, cap, sig_all=False)


def test_a_new_qp_is_in_reset_with_empty_queues() -> None:
    hca = World().nodes["A"]
    qp = _create(hca, Capacity())
    assert qp.state is qp.known_state is qp.attr.qp_state is QPState.RESET
    assert qp.number == 0x11
    assert not qp.sq.wqes
    assert not qp.rq.wqes
    qp_lifecycle.destroy_qp(hca, qp)
    assert hca.qps.items == {}
