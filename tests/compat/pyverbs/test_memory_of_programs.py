"""Memory as programs use it: pointers, overlapping regions, buffers of their own, large ones."""

import ctypes
import gc
import mmap
from typing import NamedTuple

import pytest

from rdmalab.compat import process
from rdmalab.compat.buffers import PAGE
from rdmalab.compat.pyverbs import mem_alloc
from rdmalab.compat.pyverbs.addr import AHAttr, GlobalRoute
from rdmalab.compat.pyverbs.cq import CQ
from rdmalab.compat.pyverbs.device import Context
from rdmalab.compat.pyverbs.mr import MR
from rdmalab.compat.pyverbs.pd import PD
from rdmalab.compat.pyverbs.pyverbs_error import PyverbsRDMAError
from rdmalab.compat.pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from rdmalab.compat.pyverbs.wr import SGE, SendWR
from rdmalab.doctor.consultation import consult
from rdmalab.spec.access import Access
from rdmalab.spec.states import QPType
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import SendFlags, WROpcode

ALL = int(Access.LOCAL_WRITE | Access.REMOTE_WRITE | Access.REMOTE_READ)
GIB = 1 << 30
WRITE, READ = int(WROpcode.RDMA_WRITE), int(WROpcode.RDMA_READ)
SIGNALED = int(SendFlags.SIGNALED)


class End(NamedTuple):
    context: Context
    pd: PD
    cq: CQ
    qp: QP

    def execute(self, opcode: int, local: SGE, key: int, addr: int, flags: int = SIGNALED) -> int:
        """One work request; the status it ends with."""
        wr = SendWR(1, opcode, 1, sg=[local], send_flags=flags)
        wr.set_wr_rdma(key, addr)
        self.qp.post_send(wr)
        while True:
            polled, wcs = self.cq.poll()
            if polled:
                return int(wcs[0].status)


@pytest.fixture(params=["strict", "rxe", "mlx5"])
def ends(request: pytest.FixtureRequest) -> tuple[End, End]:
    process.begin(request.param)
    pair = []
    for device in ("rdmalab0", "rdmalab1"):
        context = Context(name=device)
        pd, cq = PD(context), CQ(context, 8)
        init = QPInitAttr(qp_type=QPType.RC, scq=cq, rcq=cq, cap=QPCap(4, 4, 1, 1, 64))
        pair.append(End(context, pd, cq, QP(pd, init)))
    for end, other in zip(pair, reversed(pair), strict=True):
        attr = QPAttr()
        route = GlobalRoute(other.context.query_gid(1, 1), sgid_index=1)
        attr.ah_attr = AHAttr(is_global=1, gr=route)
        attr.dest_qp_num, attr.qp_access_flags = other.qp.qp_num, ALL
        attr.timeout, attr.retry_cnt, attr.rnr_retry = 14, 7, 7
        attr.max_rd_atomic = attr.max_dest_rd_atomic = 1
        end.qp.to_rts(attr)
    return pair[0], pair[1]


def test_a_write_lands_at_the_end_of_a_gibibyte_and_one_byte_later_it_does_not(
    ends: tuple[End, End],
) -> None:
    a, b = ends
    source, target = MR(a.pd, 64, ALL), MR(b.pd, GIB, ALL)
    source.write("the very end", 12)
    local = SGE(source.buf, 12, source.lkey)
    assert a.execute(WRITE, local, target.rkey, target.buf + GIB - 12) == WCStatus.SUCCESS
    assert target.read(12, GIB - 12) == b"the very end"
    beyond = target.buf + GIB - 11
    assert a.execute(WRITE, local, target.rkey, beyond) == WCStatus.REM_ACCESS_ERR


def test_what_was_written_through_a_pointer_is_read_by_the_peer(ends: tuple[End, End]) -> None:
    a, b = ends
    target = MR(b.pd, 4096, ALL)
    ctypes.memmove(target.buf + 100, b"by pointer", 10)
    source = MR(a.pd, 4096, ALL)
    local = SGE(source.buf, 10, source.lkey)
    assert a.execute(READ, local, target.rkey, target.buf + 100) == WCStatus.SUCCESS
    assert ctypes.string_at(source.buf, 10) == b"by pointer"


def test_a_buffer_that_the_program_has_made_itself(ends: tuple[End, End]) -> None:
    a, b = ends
    own = ctypes.create_string_buffer(b"made by ctypes", 64)
    source = MR(a.pd, 64, ALL, address=ctypes.addressof(own))
    target = MR(b.pd, 64, ALL)
    local = SGE(source.buf, 14, source.lkey)
    for each in (b"made by ctypes", b"and changed   "):
        own.value = each
        assert a.execute(WRITE, local, target.rkey, target.buf) == WCStatus.SUCCESS
        assert target.read(14, 0) == each


def test_regions_that_overlap_are_the_same_bytes(ends: tuple[End, End]) -> None:
    a, b = ends
    block = mem_alloc.malloc(10_000)
    regions = [MR(b.pd, length, ALL, address=block + at) for at, length in ((0, 64), (32, 9_000))]
    source = MR(a.pd, 64, ALL)
    source.write("across", 6)
    local = SGE(source.buf, 6, source.lkey)
    assert a.execute(WRITE, local, regions[1].rkey, block + 40) == WCStatus.SUCCESS
    assert regions[0].read(6, 40) == regions[1].read(6, 8) == mem_alloc.read(block, 6, 40)
    assert mem_alloc.read(block, 6, 40) == b"across"


def test_inline_data_may_lie_in_memory_that_was_never_registered(ends: tuple[End, End]) -> None:
    a, b = ends
    block, target = mem_alloc.malloc(64), MR(b.pd, 64, ALL)
    mem_alloc.write(block, b"unknown to the device", 21)
    flags = SIGNALED | int(SendFlags.INLINE)
    status = a.execute(WRITE, SGE(block, 21, 0), target.rkey, target.buf, flags)
    assert status == WCStatus.SUCCESS
    assert target.read(21, 0) == b"unknown to the device"


def test_memory_freed_too_early_does_not_kill_the_process(ends: tuple[End, End]) -> None:
    a, _ = ends
    block = mem_alloc.malloc(100_000)
    region = MR(a.pd, 100_000, ALL, address=block)
    region.write("still there", 11)
    mem_alloc.free(block)
    gc.collect()
    other = PD(a.context)  # any call looks at all mirrored memory
    assert region.read(11, 0) == b"still there"
    region.close()
    other.close()


@pytest.mark.parametrize("length", [4 * PAGE, 3 << 20])
def test_a_device_keeps_the_pages_that_a_program_unmaps(ends: tuple[End, End], length: int) -> None:
    """It has pinned them; the program has nothing there any more, and what is left is mirrored."""
    a, b = ends
    memory = mmap.mmap(-1, length)
    memory[:5], memory[-5:] = b"first", b"final"
    addr = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    target, local = MR(b.pd, length, ALL, address=addr), MR(a.pd, 64, ALL)
    pd = PD(b.context)  # any call looks at all mirrored memory
    unmapped = ctypes.CDLL(None).munmap(ctypes.c_void_p(addr), ctypes.c_size_t(PAGE))
    assert unmapped == 0
    sge = SGE(local.buf, 5, local.lkey)

    def at_both_ends(opcode: int) -> list[tuple[int, bytes]]:
        places = (addr, addr + length - 5)
        done = [(a.execute(opcode, sge, target.rkey, place), local.read(5, 0)) for place in places]
        PD(b.context).close()
        return done

    local.write("other", 5)
    with pytest.warns(process.DeviceWarning, match="B.mr0: the program has unmapped memory"):
        assert at_both_ends(WRITE) == [(WCStatus.SUCCESS, b"other")] * 2
    assert memory[-5:] == b"other"
    local.write("clear", 5)
    assert at_both_ends(READ) == [(WCStatus.SUCCESS, b"other")] * 2
    target.close()
    pd.close()
    _KEPT.append(memory)


@pytest.mark.parametrize(
    ("protection", "slug", "text"),
    [
        (mmap.PROT_READ, "mr-read-only", "mapped without write permission, which LOCAL_WRITE"),
        (0, "unmapped", "nothing is mapped at the address that the program gave"),
    ],
)
def test_why_separates_read_only_memory_from_unmapped_memory(
    ends: tuple[End, End], protection: int, slug: str, text: str
) -> None:
    memory = mmap.mmap(-1, PAGE)
    addr = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    ctypes.CDLL(None).mprotect(ctypes.c_void_p(addr), ctypes.c_size_t(PAGE), protection)
    if protection:
        MR(ends[0].pd, PAGE, 0, address=addr).close()
    with pytest.raises(PyverbsRDMAError, match="Bad address"):
        MR(ends[0].pd, PAGE, ALL, address=addr)
    report = consult(process.here().session)
    assert report.slug == slug
    assert text in report.text
    assert "0xff" not in report.text
    _KEPT.append(memory)


_KEPT: list[mmap.mmap] = []  # never closed: munmap would take what was mapped there since


def test_closing_a_context_takes_everything_with_it(ends: tuple[End, End]) -> None:
    a, _ = ends
    region = MR(a.pd, 1 << 31, ALL)
    a.context.close()
    lab = process.here().world.nodes["A"]
    assert not any(lab.tables[noun].items for noun in ("qp", "cq", "mr", "pd"))
    with pytest.raises(Exception, match="MR is closed"):
        assert region.lkey
