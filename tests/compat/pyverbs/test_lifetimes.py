"""Objects close each other in order, and never touch a lab that is not theirs."""

import gc

import pytest

from rdmalab.compat import process
from rdmalab.compat.pyverbs.cq import CQ, CompChannel
from rdmalab.compat.pyverbs.device import Context
from rdmalab.compat.pyverbs.mr import MR
from rdmalab.compat.pyverbs.pd import PD
from rdmalab.compat.pyverbs.pyverbs_error import PyverbsRDMAError, PyverbsUserError
from rdmalab.compat.pyverbs.qp import QP, QPCap, QPInitAttr
from rdmalab.spec.states import QPType

NOUNS = ("pd", "mr", "cq", "qp", "channel")


def left() -> dict[str, int]:
    tables = process.here().world.nodes["A"].tables
    return {noun: len(tables[noun].items) for noun in NOUNS if tables[noun].items}


def everything() -> tuple[Context, list[object]]:
    context = Context(name="rdmalab0")
    pd, channel = PD(context), CompChannel(context)
    cq = CQ(context, 4, None, channel)
    init = QPInitAttr(qp_type=QPType.RC, scq=cq, rcq=cq, cap=QPCap())
    return context, [pd, channel, cq, MR(pd, 64, 1), QP(pd, init)]


def test_the_last_reference_takes_the_object_with_it() -> None:
    process.begin()
    context, objects = everything()
    assert left() == dict.fromkeys(NOUNS, 1)
    while objects:
        objects.pop()
    gc.collect()
    assert not left()
    context.close()


@pytest.mark.parametrize("first", range(5))
def test_close_in_any_order_leaves_no_object(first: int) -> None:
    process.begin()
    context, objects = everything()
    objects[first].close()  # type: ignore[attr-defined]  # all of them can
    context.close()
    context.close()
    assert not left()


def test_a_refused_object_is_garbage_collected() -> None:
    process.begin()
    context = Context(name="rdmalab0")
    with pytest.raises(PyverbsRDMAError):
        CQ(context, 0)
    gc.collect()
    assert not left()


def test_objects_of_a_lab_that_is_over_leave_the_next_alone() -> None:
    process.begin()
    old_context, old = everything()
    process.begin()
    context, objects = everything()
    before = left(), len(process.here().session.journal)
    with pytest.raises(PyverbsUserError, match="the lab of this MR is over"):
        assert old[3].lkey  # type: ignore[attr-defined]  # an MR has one
    old_context.close()
    del old
    gc.collect()
    assert (left(), len(process.here().session.journal)) == before
    context.close()
    assert objects
