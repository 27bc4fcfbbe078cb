"""query_qp of the skin returns what the queue pair was created with and modified to."""

import errno

import pytest

from rdmalab.compat import process
from rdmalab.compat.pyverbs.addr import AHAttr
from rdmalab.compat.pyverbs.cq import CQ
from rdmalab.compat.pyverbs.device import Context
from rdmalab.compat.pyverbs.mr import MR
from rdmalab.compat.pyverbs.pd import PD
from rdmalab.compat.pyverbs.pyverbs_error import PyverbsRDMAError
from rdmalab.compat.pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from rdmalab.compat.pyverbs.wr import SGE, RecvWR
from rdmalab.spec.states import QPState, QPType

SIZES = (3, 4, 2, 5, 64)


def queue_pair() -> QP:
    process.begin()
    context = Context(name="rdmalab0")
    cq = CQ(context, 16)
    init = QPInitAttr(qp_type=QPType.RC, scq=cq, rcq=cq, cap=QPCap(*SIZES), sq_sig_all=0)
    return QP(PD(context), init, QPAttr())


def sizes(cap: QPCap) -> tuple[int, ...]:
    return tuple(cap.numbers(("max_send_wr", "max_recv_wr", "max_send_sge", "max_recv_sge",
                              "max_inline_data")).values())  # fmt: skip


def test_a_query_returns_the_sizes_of_the_queues_in_both_structs() -> None:
    attr, init = queue_pair().query(0)
    assert sizes(attr.cap) == sizes(init.cap) == SIZES
    assert (init.qp_type, init.sq_sig_all) == (QPType.RC, 0)


def test_a_query_returns_the_state_and_an_empty_path_before_rtr() -> None:
    attr, _ = queue_pair().query(0)
    assert (attr.qp_state, attr.port_num, attr.sq_draining) == (QPState.INIT, 1, 0)
    assert str(attr.alt_ah_attr) == str(AHAttr(port_num=0))


def test_as_many_receives_as_a_query_returns_and_one_more() -> None:
    qp = queue_pair()
    region = MR(PD(Context(name="rdmalab0")), 64, 1)
    wr, bad_wr = RecvWR(7, 1, [SGE(region.buf, 8, region.lkey)]), RecvWR()
    for _ in range(qp.query(0)[0].cap.max_recv_wr):
        qp.post_recv(wr)
    with pytest.raises(PyverbsRDMAError) as caught:
        qp.post_recv(wr, bad_wr)
    assert (caught.value.error_code, bad_wr.wr_id) == (errno.ENOMEM, 7)
