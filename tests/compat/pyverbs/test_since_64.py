"""What pyverbs of rdma-core 64 has and that of 44 has not: it runs, or answers EOPNOTSUPP."""

from collections.abc import Iterator
from errno import EINVAL, EOPNOTSUPP
from typing import Any, NamedTuple

import pytest

from rdmalab.compat import process
from rdmalab.compat.pyverbs import mem_alloc
from rdmalab.compat.pyverbs.addr import AHAttr, GlobalRoute
from rdmalab.compat.pyverbs.cq import CQ
from rdmalab.compat.pyverbs.device import DM, Context, FdArr
from rdmalab.compat.pyverbs.libibverbs_enums import (
    IBV_FLUSH_GLOBAL,
    IBV_FLUSH_MR,
    IBV_FLUSH_PERSISTENT,
    IBV_FLUSH_RANGE,
    ibv_access_flags,
    ibv_qp_create_send_ops_flags,
    ibv_qp_init_attr_mask,
    ibv_wc_opcode,
    ibv_wc_status,
)
from rdmalab.compat.pyverbs.mr import MR, Buf, BufMR, DMAHandle, DmaHandleInitAttr, MREx
from rdmalab.compat.pyverbs.pd import PD, ParentDomainInitAttr
from rdmalab.compat.pyverbs.pyverbs_error import PyverbsRDMAError, PyverbsUserError
from rdmalab.compat.pyverbs.qp import QPAttr, QPCap, QPEx, QPInitAttrEx, QPRateLimitAttr
from rdmalab.compat.pyverbs.wr import SGE, RecvWR, SendWR

PAGE = 4096
_RIGHTS = ibv_access_flags
RIGHTS = int(
    _RIGHTS.IBV_ACCESS_LOCAL_WRITE | _RIGHTS.IBV_ACCESS_REMOTE_WRITE
    | _RIGHTS.IBV_ACCESS_FLUSH_GLOBAL
)  # fmt: skip
_OPS = ibv_qp_create_send_ops_flags
OPS = int(
    _OPS.IBV_QP_EX_WITH_RDMA_WRITE | _OPS.IBV_QP_EX_WITH_SEND | _OPS.IBV_QP_EX_WITH_FLUSH
    | _OPS.IBV_QP_EX_WITH_ATOMIC_WRITE
)  # fmt: skip
SIGNALED = 2


class End(NamedTuple):
    """One side of a connection, in RTS."""

    context: Context
    pd: PD
    cq: CQ
    mr: MR
    qp: QPEx


def end(device: str) -> End:
    context = Context(name=device)
    pd, cq = PD(context), CQ(context, 16)
    mask = ibv_qp_init_attr_mask
    asked = mask.IBV_QP_INIT_ATTR_PD | mask.IBV_QP_INIT_ATTR_SEND_OPS_FLAGS
    init = QPInitAttrEx(
        qp_type=2, scq=cq, rcq=cq, cap=QPCap(8, 8), pd=pd, comp_mask=int(asked), send_ops_flags=OPS
    )
    return End(context, pd, cq, MR(pd, PAGE, RIGHTS), QPEx(context, init))


def connect(one: End, other: End) -> None:
    for mine, theirs in ((one, other), (other, one)):
        route = GlobalRoute(dgid=theirs.context.query_gid(1, 1), sgid_index=1)
        attr = QPAttr(port_num=1)
        attr.ah_attr = AHAttr(is_global=1, gr=route)
        attr.dest_qp_num, attr.timeout, attr.retry_cnt, attr.rnr_retry = theirs.qp.qp_num, 14, 7, 7
        attr.max_rd_atomic = attr.max_dest_rd_atomic = 1
        attr.qp_access_flags = RIGHTS | int(_RIGHTS.IBV_ACCESS_FLUSH_PERSISTENT)
        mine.qp.to_rts(attr)


@pytest.fixture
def ends() -> Iterator[tuple[End, End]]:
    process.begin("strict")
    pair = end("rdmalab0"), end("rdmalab1")
    connect(*pair)
    yield pair
    for each in pair:
        each.context.close()


def completed(cq: CQ) -> tuple[int, int]:
    """Status and opcode of the next completion."""
    for _ in range(1000):
        count, found = cq.poll()
        if count:
            return found[0].status, found[0].opcode
    raise AssertionError("no completion")


def flushed(ends: tuple[End, End], ptype: int, level: int, length: int = 8) -> tuple[int, int]:
    here, there = ends
    here.qp.wr_start()
    here.qp.wr_id, here.qp.wr_flags = 1, SIGNALED
    here.qp.wr_flush(there.mr.rkey, there.mr.buf, length, ptype, level)
    here.qp.wr_complete()
    return completed(here.cq)


@pytest.mark.parametrize("level", [IBV_FLUSH_RANGE, IBV_FLUSH_MR])
def test_flush_runs(ends: tuple[End, End], level: int) -> None:
    done = (ibv_wc_status.IBV_WC_SUCCESS, ibv_wc_opcode.IBV_WC_FLUSH)
    assert flushed(ends, IBV_FLUSH_GLOBAL, level) == done


def test_a_flush_that_the_key_does_not_allow_is_a_remote_access_error(
    ends: tuple[End, End],
) -> None:
    status, _ = flushed(ends, IBV_FLUSH_PERSISTENT, IBV_FLUSH_RANGE)
    assert status == ibv_wc_status.IBV_WC_REM_ACCESS_ERR


@pytest.mark.parametrize(("ptype", "level"), [(0, 0), (4, 0), (1, 2)])
def test_wr_flush_of_an_unknown_type_or_level_is_refused(
    ends: tuple[End, End], ptype: int, level: int
) -> None:
    with pytest.raises(PyverbsUserError, match=f"ptype={ptype}, level={level}; write ptype=IBV_"):
        flushed(ends, ptype, level)


def test_atomic_write_runs(ends: tuple[End, End]) -> None:
    here, there = ends
    here.qp.wr_start()
    here.qp.wr_id, here.qp.wr_flags = 2, SIGNALED
    here.qp.wr_atomic_write(there.mr.rkey, there.mr.buf, b"12345678")
    here.qp.wr_complete()
    done = (ibv_wc_status.IBV_WC_SUCCESS, ibv_wc_opcode.IBV_WC_ATOMIC_WRITE)
    assert completed(here.cq) == done
    assert there.mr.read(8, 0) == b"12345678"


def test_a_receive_without_an_sge_takes_a_message_without_bytes(ends: tuple[End, End]) -> None:
    here, there = ends
    there.qp.post_recv(RecvWR(wr_id=5))
    here.qp.wr_start()
    here.qp.wr_flags = SIGNALED
    here.qp.wr_send()
    here.qp.wr_complete()
    assert completed(there.cq) == (ibv_wc_status.IBV_WC_SUCCESS, ibv_wc_opcode.IBV_WC_RECV)


def write(ends: tuple[End, End], source: MR, addr: int) -> None:
    """8 bytes that work requests find at `addr` go to the peer."""
    here, there = ends
    wr = SendWR(opcode=0, num_sge=1, sg=[SGE(addr, 8, source.lkey)])
    wr.set_wr_rdma(there.mr.rkey, there.mr.buf)
    assert (wr.rdma_rkey, wr.rdma_remote_addr) == (there.mr.rkey, there.mr.buf)
    here.qp.post_send(wr)
    assert completed(here.cq)[0] == ibv_wc_status.IBV_WC_SUCCESS


def test_a_region_by_the_extended_call_may_have_another_address(ends: tuple[End, End]) -> None:
    region = MREx(ends[0].pd, PAGE, RIGHTS, iova=0x7000)
    region.write(b"extended", 8)
    write(ends, region, 0x7000)
    assert ends[1].mr.read(8, 0) == b"extended"
    assert str(region).startswith("MREx:")


@pytest.mark.parametrize("extended", [False, True])
def test_a_buffer_of_the_device_is_registered_in_part(
    ends: tuple[End, End], extended: bool
) -> None:
    pd = ends[0].pd
    buf = Buf(pd, 2 * PAGE)
    assert buf.size == 2 * PAGE
    assert buf.addr % PAGE == 0
    there = buf.addr + PAGE
    region: MR
    if extended:
        region = MREx(pd, PAGE, RIGHTS, address=there, buf=buf)
    else:
        region = BufMR(pd, buf, PAGE, RIGHTS, PAGE)
    mem_alloc.write(there, b"buffered", 8)
    write(ends, region, there)
    assert ends[1].mr.read(8, 0) == b"buffered"
    buf.close()
    assert region.buf == 0


def refused(errno: int, make: Any, *given: Any, **named: Any) -> None:
    with pytest.raises(PyverbsRDMAError) as caught:
        make(*given, **named)
    assert caught.value.error_code == errno


def test_of_a_buffer_only_its_own_bytes_are_registered_and_in_its_pd(ends: tuple[End, End]) -> None:
    pd, buf = ends[0].pd, Buf(ends[0].pd, PAGE)
    refused(EINVAL, BufMR, pd, buf, PAGE + 1)
    refused(EINVAL, BufMR, pd, buf, 8, 0, PAGE - 4)
    refused(EINVAL, BufMR, PD(ends[0].context), buf, 8)


def test_what_the_devices_lack_is_refused_as_by_a_device_without_it(ends: tuple[End, End]) -> None:
    context, pd, *_ = ends[0]
    refused(EOPNOTSUPP, DMAHandle, context, DmaHandleInitAttr(ph=1))
    refused(EOPNOTSUPP, MREx, pd, PAGE, RIGHTS, dmah=object())
    refused(EOPNOTSUPP, MREx, pd, PAGE, RIGHTS, fd=3, iova=0)
    refused(EOPNOTSUPP, MREx, pd, implicit=True)
    refused(EINVAL, MREx, pd, PAGE, RIGHTS, address=0x1000, fd=3)
    refused(EOPNOTSUPP, context.query_port_speed, 1)
    refused(EOPNOTSUPP, ends[0].qp.modify_rate_limit, QPRateLimitAttr(rate_limit=5))
    refused(EOPNOTSUPP, DM.__new__(DM).export_dmabuf_fd)


def test_a_pkey_is_found_in_the_table_of_the_port(ends: tuple[End, End]) -> None:
    context = ends[0].context
    assert context.get_pkey_index(1, context.query_pkey(1, 0)) == 0
    with pytest.raises(PyverbsRDMAError, match=r"pkey index of pkey = 4660 of port 1"):
        context.get_pkey_index(1, 0x1234)


def test_pages_that_are_not_needed_read_as_zeros_here_and_at_the_adapter(
    ends: tuple[End, End],
) -> None:
    addr = mem_alloc.mmap(length=PAGE)
    region = MR(ends[0].pd, PAGE, RIGHTS, address=addr)
    region.write(b"to be forgotten", 15)
    write(ends, region, addr)
    mem_alloc.madvise(addr, PAGE)
    assert region.read(8, 0) == bytes(8)
    write(ends, region, addr)
    assert ends[1].mr.read(8, 0) == bytes(8)
    refused(EINVAL, mem_alloc.madvise, addr + 1, PAGE)


def test_plain_records() -> None:
    assert (FdArr([3, 4, 5], 2).arr, FdArr().count) == ([3, 4], 0)
    assert "Number of fd in arr : 1" in str(FdArr([3], 1))
    rate = QPRateLimitAttr(1, 2, 3, 4)
    assert (rate.rate_limit, rate.max_burst_sz, rate.typical_pkt_sz, rate.comp_mask) == (1, 2, 3, 4)
    hints = DmaHandleInitAttr(1, 2, 3, 1)
    assert (hints.comp_mask, hints.cpu_id, hints.ph, hints.tph_mem_type) == (1, 2, 3, 1)


def test_bits_of_a_parent_domain_that_need_a_context_are_refused_without_one(
    ends: tuple[End, End],
) -> None:
    assert ParentDomainInitAttr(ends[0].pd, comp_mask=4).comp_mask == 4
    with pytest.raises(PyverbsUserError, match="need a pd_context"):
        ParentDomainInitAttr(ends[0].pd, comp_mask=1)
