"""What can be asked is what the rows have, and each of it can be asked."""

import dataclasses

import pytest

from rdmalab.grammar.program import Line
from rdmalab.hca import lifecycle, qp_lifecycle, srq_lifecycle, steering
from rdmalab.hca.ah import ah_attr_of
from rdmalab.hca.objects import FlowAttr, FlowSpec
from rdmalab.hca.qp import Capacity, Parts
from rdmalab.hca.srq import SrqCapacity
from rdmalab.hca.wr import RecvWR
from rdmalab.spec.records import Kind
from rdmalab.spec.srq import OpenFlag, SrqType
from rdmalab.spec.states import QPType
from rdmalab.spec.work import WROpcode
from rdmalab.views import query_fields
from rdmalab.views.query_fields import FieldRow, continuations, fields
from rdmalab.world.programs import start
from tests.each import each
from tests.pairs import Pair
from tests.views.looking import ask, names_of

_PATHS = [row for row in fields() if "(" not in row.path]


@pytest.fixture(scope="module")
def busy() -> Pair:
    """A pair in which every row is there."""
    pair = Pair()
    pair.b.recv(64)
    for _ in range(8):
        pair.a.recv(64, wr_id=7)
        pair.a.issue(WROpcode.RDMA_WRITE, 8, wr_id=7)
    raw = qp_lifecycle.create_qp(pair.a.hca, QPType.RAW_PACKET, 1, 1, 1, Capacity(), sig_all=True)
    steering.create(pair.a.hca, raw, FlowAttr(), FlowSpec(dst_port=80))
    lifecycle.create_ah(pair.a.hca, 1, ah_attr_of(pair.b.hca))
    start(pair.world, "A", [Line("stop", 1, "stop")], 1)
    xrcd = srq_lifecycle.open_xrcd(pair.a.hca, -1, OpenFlag.O_CREAT)
    parts = Parts(pair.a.pd.number, SrqType.XRC, xrcd.number, pair.a.recv_cq.number)
    srq = srq_lifecycle.create_srq(pair.a.hca, parts, SrqCapacity(8))
    srq_lifecycle.post_srq_recv(pair.a.hca, srq, [RecvWR(7)])
    pair.run()
    lifecycle.create_comp_channel(pair.a.hca)
    lifecycle.alloc_td(pair.a.hca)
    lifecycle.alloc_mw(pair.a.hca, pair.a.pd.number, 2)
    pair.world.trace.record(Kind.CALLED, "A", 0, "post_send", 0)
    return pair


@each("row", _PATHS)
def test_everything_listed_can_be_asked(busy: Pair, row: FieldRow) -> None:
    value = ask(busy, row.path)
    if value is None:
        assert row.type.endswith("or nothing")
    assert row.sentence


def test_every_row_class_lists_the_fields_that_have_a_sentence() -> None:
    paths = {row.path for row in fields()}
    for noun, sight in query_fields.OBJECTS.items():
        for field in dataclasses.fields(sight.row):
            inner = query_fields.row_class(query_fields.field_hints(sight.row)[field.name])
            path = f"A.{noun}0.{field.name}"
            assert path in paths or (inner and any(p.startswith(path + ".") for p in paths))


def test_no_path_is_listed_twice() -> None:
    paths = [row.path for row in fields()]
    assert len(paths) == len(set(paths))


def test_a_half_typed_path_goes_on_with_the_fields_of_its_thing() -> None:
    pair = Pair()
    found = continuations(names_of(pair), "B.qp0.sq.")
    assert "B.qp0.sq.used" in found
    assert all(path.startswith("B.qp0.sq.") for path in found)
    assert "wire.last.psn" in continuations(names_of(pair), "wire.")
