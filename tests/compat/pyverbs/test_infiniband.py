"""Programs on InfiniBand ports: what a port says, and addresses by LID."""

import pytest

from rdmalab.command import NotUnderstood
from rdmalab.compat import process
from rdmalab.compat.pyverbs.addr import AH, AHAttr, GlobalRoute
from rdmalab.compat.pyverbs.cq import CQ, WC
from rdmalab.compat.pyverbs.device import Context
from rdmalab.compat.pyverbs.mr import MR
from rdmalab.compat.pyverbs.pd import PD
from rdmalab.compat.pyverbs.pyverbs_error import PyverbsRDMAError
from rdmalab.compat.pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from rdmalab.compat.pyverbs.wr import SGE, RecvWR, SendWR
from rdmalab.spec.limits import LinkLayer
from rdmalab.spec.states import Attr, MigState, QPType
from rdmalab.spec.work import WCFlags

GRH, ROOM, QKEY = 40, 128, 0x1111
INFINIBAND = LinkLayer.INFINIBAND


class End:
    """A UD queue pair in RTS with a receive posted."""

    def __init__(self, device: str) -> None:
        self.context = Context(name=device)
        self.pd = PD(self.context)
        self.cq = CQ(self.context, 8)
        self.mr = MR(self.pd, 2 * ROOM, 1)
        attr = QPAttr(port_num=1)
        attr.qkey = QKEY
        init = QPInitAttr(qp_type=QPType.UD, scq=self.cq, rcq=self.cq, cap=QPCap(4, 4))
        self.qp = QP(self.pd, init, attr)
        self.qp.post_recv(RecvWR(1, 1, [SGE(self.mr.buf, ROOM, self.mr.lkey)]))

    def send(self, ah: AH, qpn: int) -> None:
        wr = SendWR(2, num_sge=1, sg=[SGE(self.mr.buf + ROOM, 8, self.mr.lkey)])
        wr.set_wr_ud(ah, qpn, QKEY)
        self.qp.post_send(wr)
        self.poll()

    def poll(self) -> WC:
        while True:
            count, found = self.cq.poll()
            if count:
                assert found[0].status == 0
                wc: WC = found[0]
                return wc


def ends() -> tuple[End, End]:
    process.begin(link_layer=INFINIBAND)
    return End("rdmalab0"), End("rdmalab1")


def test_a_port_says_what_it_is() -> None:
    a, b = ends()
    lines = [end.context.query_port(1) for end in (a, b)]
    assert [(p.link_layer, p.lid, p.lmc, p.sm_lid) for p in lines] == [(1, 2, 1, 1), (1, 4, 1, 1)]
    assert a.context.query_gid_type(1, 0) == 0
    assert [entry.gid_type for entry in a.context.query_gid_table(8)] == [0]


def test_on_roce_a_port_has_no_lid() -> None:
    process.begin()
    context = Context(name="rdmalab0")
    answer = context.query_port(1)
    assert (answer.link_layer, answer.lid, answer.lmc) == (2, 0, 0)
    assert context.query_gid_type(1, 1) == 1


def test_a_profile_without_such_ports_says_so() -> None:
    with pytest.raises(NotUnderstood, match="profile rxe has no InfiniBand port"):
        process.begin("rxe", link_layer=INFINIBAND)
    process.begin()


def test_an_address_needs_a_lid() -> None:
    a, _ = ends()
    with pytest.raises(PyverbsRDMAError, match="Failed to create AH"):
        AH(a.pd, attr=AHAttr(port_num=1))


def test_a_completion_names_the_lids_and_leads_back() -> None:
    a, b = ends()
    a.send(AH(a.pd, attr=AHAttr(dlid=5, sl=3, src_path_bits=1, port_num=1)), b.qp.qp_num)
    wc = b.poll()
    assert (wc.slid, wc.sl, wc.dlid_path_bits) == (3, 3, 1)
    assert not wc.wc_flags & WCFlags.GRH
    b.send(AH(b.pd, wc=wc, grh=b.mr.buf, port_num=1), wc.src_qp)
    back = a.poll()
    assert (back.slid, back.sl, back.dlid_path_bits) == (5, 3, 1)


def test_a_completion_with_a_grh_leads_back_with_one() -> None:
    a, b = ends()
    route = GlobalRoute(dgid=b.context.query_gid(1, 0), flow_label=0x12345, traffic_class=7)
    a.send(AH(a.pd, attr=AHAttr(dlid=4, is_global=1, gr=route, port_num=1)), b.qp.qp_num)
    wc = b.poll()
    assert wc.wc_flags & WCFlags.GRH
    ah = AH(b.pd, wc=wc, grh=b.mr.buf, port_num=1)
    kept = ah.found.attr
    assert (kept.dlid, kept.is_global, kept.sgid_index) == (2, 1, 0)
    assert (kept.flow_label, kept.traffic_class) == (0x12345, 7)
    b.send(ah, wc.src_qp)
    assert a.poll().wc_flags & WCFlags.GRH


def test_over_ipv6_on_roce_a_completion_leads_back_too() -> None:
    process.begin()
    a, b = End("rdmalab0"), End("rdmalab1")
    route = GlobalRoute(dgid=b.context.query_gid(1, 0), sgid_index=0)
    a.send(AH(a.pd, attr=AHAttr(is_global=1, gr=route, port_num=1)), b.qp.qp_num)
    wc = b.poll()
    b.send(AH(b.pd, wc=wc, grh=b.mr.buf, port_num=1), wc.src_qp)
    assert a.poll().src_qp == b.qp.qp_num


def test_the_attributes_of_an_alternate_path_are_set_and_read() -> None:
    process.begin(link_layer=INFINIBAND)
    context = Context(name="rdmalab0")
    cq = CQ(context, 8)
    qp = QP(PD(context), QPInitAttr(qp_type=QPType.RC, scq=cq, rcq=cq, cap=QPCap(4, 4)))
    attr = QPAttr(port_num=1)
    attr.ah_attr = AHAttr(dlid=4, port_num=1)
    attr.dest_qp_num = 17
    qp.to_rts(attr)
    attr.alt_ah_attr = AHAttr(dlid=5, sl=2, src_path_bits=1, port_num=1)
    attr.alt_port_num, attr.alt_timeout, attr.alt_pkey_index = 1, 12, 0
    attr.path_mig_state = MigState.REARM
    qp.modify(attr, Attr.ALT_PATH | Attr.PATH_MIG_STATE)
    answer, _ = qp.query(Attr.ALT_PATH | Attr.PATH_MIG_STATE)
    kept = answer.alt_ah_attr
    assert (kept.dlid, kept.sl, kept.src_path_bits, kept.port_num) == (5, 2, 1, 1)
    assert (answer.alt_port_num, answer.alt_timeout, answer.path_mig_state) == (
        1,
        12,
        MigState.REARM,
    )
