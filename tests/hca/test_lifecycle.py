"""Making and destroying objects: limits, who still uses what, and refusals that change nothing."""

from collections.abc import Callable
from dataclasses import replace
from errno import EBUSY, EINVAL, ENOMEM
from typing import Any

import pytest

from rdmalab.command import Refused
from rdmalab.hca import lifecycle, mr, qp_lifecycle
from rdmalab.hca.device import Hca
from rdmalab.hca.qp import Capacity
from rdmalab.spec.limits import DeviceCaps
from rdmalab.spec.profiles import STRICT
from rdmalab.spec.records import A, Kind, kind_of, object_of
from rdmalab.spec.states import QPType
from rdmalab.world.world import World
from tests.pairs import Pair, image

TINY = replace(
    STRICT, caps=DeviceCaps(max_pd=1, max_cq=1, max_qp=1, max_mr=1, max_cqe=10, num_comp_vectors=2)
)


def node() -> Hca:
    """One of each, and no room for more."""
    hca = World({"A": TINY}).nodes["A"]
    lifecycle.alloc_pd(hca)
    lifecycle.create_cq(hca, 10, 1)
    mr.register(hca, 1, 64, 1, None)
    qp_lifecycle.create_qp(hca, QPType.RC, 1, 1, 1, Capacity(), sig_all=False)
    return hca


def refusal(hca: Hca, call: Callable[[], Any]) -> tuple[str, int, str]:
    before = image(hca)
    with pytest.raises(Refused) as caught:
        call()
    assert image(hca) == before
    return caught.value.rule, caught.value.errno, caught.value.argument


def test_create_beyond_the_device_limit() -> None:
    hca = node()
    for call in (
        lambda: lifecycle.alloc_pd(hca),
        lambda: lifecycle.create_cq(hca, 1, 0),
        lambda: mr.register(hca, 1, 64, 1, None),
        lambda: qp_lifecycle.create_qp(hca, QPType.RC, 1, 1, 1, Capacity(), sig_all=False),
    ):
        assert refusal(hca, call) == ("limit", ENOMEM, "")


@pytest.mark.parametrize(
    ("cqe", "vector", "rule"),
    [
        (0, 0, "cqe-range"),
        (11, 0, "cqe-range"),
        (-1, 0, "cqe-range"),
        (1, 2, "comp-vector"),
        (1, -1, "comp-vector"),
    ],
)
def test_what_create_cq_refuses(cqe: int, vector: int, rule: str) -> None:
    hca = World({"A": TINY}).nodes["A"]
    got = refusal(hca, lambda: lifecycle.create_cq(hca, cqe, vector))
    assert got[:2] == (rule, EINVAL)


def test_destroy_of_an_object_in_use_is_ebusy() -> None:
    pair = Pair()
    end = pair.a
    hca = end.hca
    busy = ("in-use", EBUSY, "")
    assert refusal(hca, lambda: lifecycle.dealloc_pd(hca, end.pd)) == busy
    assert refusal(hca, lambda: lifecycle.destroy_cq(hca, end.send_cq)) == busy
    assert refusal(hca, lambda: lifecycle.destroy_cq(hca, end.recv_cq)) == busy
    qp_lifecycle.destroy_qp(hca, end.qp)
    lifecycle.destroy_cq(hca, end.send_cq)
    lifecycle.destroy_cq(hca, end.recv_cq)
    assert refusal(hca, lambda: lifecycle.dealloc_pd(hca, end.pd)) == busy  # the MR is still there
    mr.deregister(hca, end.mr)
    lifecycle.dealloc_pd(hca, end.pd)
    assert not any(table.items for table in hca.tables.values())


def test_ebusy_names_the_users() -> None:
    pair = Pair()
    mr.register(pair.a.hca, pair.a.pd.number, 8, 1, None)
    with pytest.raises(Refused, match="2 MRs and 1 QP"):
        lifecycle.dealloc_pd(pair.a.hca, pair.a.pd)


def test_object_numbers_are_unique_and_creation_is_recorded() -> None:
    world = World()
    hca = world.nodes["A"]
    first = lifecycle.alloc_pd(hca)
    lifecycle.dealloc_pd(hca, first)
    second = lifecycle.alloc_pd(hca)
    assert second.number == first.number + 1
    assert hca.pds.find(second.number) is second
    lines = [(kind_of(r), object_of(r), r[A]) for r in world.trace.records]
    assert lines == [(Kind.CREATED, 1, "pd"), (Kind.DESTROYED, 1, "pd"), (Kind.CREATED, 2, "pd")]
