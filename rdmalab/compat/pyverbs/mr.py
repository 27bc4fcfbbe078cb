"""pyverbs.mr: kinds of memory regions; MR is in memory_region, windows are in mw."""

from errno import EINVAL, EOPNOTSUPP

from rdmalab.compat.pyverbs.base import PyverbsCM
from rdmalab.compat.pyverbs.c_types import U8, UINT32
from rdmalab.compat.pyverbs.device import Context
from rdmalab.compat.pyverbs.memory_region import *
from rdmalab.compat.pyverbs.mw import *
from rdmalab.compat.pyverbs.pd import PD
from rdmalab.compat.pyverbs.pyverbs_error import PyverbsRDMAError
from rdmalab.compat.pyverbs.struct import Number, Struct, expect
from rdmalab.spec.access import Access

HUGE_PAGE_SIZE = 0x200000


class DMMR(MR):
    """An MR of device memory, of which the lab's devices have none."""

    def __init__(self, pd: PD, length: int, access: int, dm: object, offset: int) -> None:
        del pd, dm, offset
        text = f"Failed to register a device MR. length: {length}, access flags: {access}"
        raise PyverbsRDMAError(text, EOPNOTSUPP)


class DmaBufMR(MR):
    """An MR of a dma-buf, which needs a graphics driver."""

    def __init__(
        self, pd: PD, length: int, access: int, dmabuf: object = None, offset: int = 0,
        gpu: int = 0, gtt: int = 0,
    ) -> None:  # fmt: skip
        del pd, dmabuf, offset, gpu, gtt
        text = f"Failed to register a dma-buf MR. length: {length}, access flags: {access}"
        raise PyverbsRDMAError(text, EOPNOTSUPP)

    @property
    def offset(self) -> int:
        return 0

    @property
    def dmabuf(self) -> object:
        return None


class DmaHandleInitAttr(Struct):
    """`ibv_dmah_init_attr`."""

    _HEAD = "DmaHandleInitAttr:\n"
    comp_mask = Number(UINT32, "comp_mask")
    cpu_id = Number(UINT32, "cpu_id")
    ph = Number(U8, "ph")
    tph_mem_type = Number(U8, "tph_mem_type")

    def __init__(
        self, comp_mask: int = 0, cpu_id: int = 0, ph: int = 0, tph_mem_type: int = 0
    ) -> None:
        self._set(locals())


class DMAHandle(PyverbsCM):
    """`ibv_dmah`: hints of PCI for the DMA of a region; the lab's devices take none."""

    def __init__(self, ctx: Context, init_attr: DmaHandleInitAttr) -> None:
        expect("init_attr", init_attr, DmaHandleInitAttr, null=False)
        del ctx
        raise PyverbsRDMAError("Failed to create DMA Handle", EOPNOTSUPP)


class BufMR(MR):
    """A region of a Buf, or of a part of it: `ibv_reg_buf_mr`."""

    def __init__(self, pd: PD, buf: Buf, length: int = 0, access: int = 0, offset: int = 0) -> None:
        expect("pd", pd, PD, null=False)
        expect("buf", buf, Buf, null=False)
        text = f"Failed to register a buf MR. length: {length}, access flags: {access}"
        self._place(text, pd, length, buf.addr + offset, buf)
        self._begin(text, pd, length, access)


class MREx(MR):
    """An MR by `ibv_reg_mr_ex`: at another address (iova) or of a Buf.

    A dma-buf (fd), a DMAHandle and an implicit region are refused with EOPNOTSUPP, as by a device
    without them; ADDR and FD together with EINVAL.
    """

    def __init__(
        self, pd: PD, length: int = 0, access: int = 0, address: int | None = None,
        iova: int | None = None, fd: int | None = None, fd_offset: int = 0, dmah: object = None,
        implicit: bool = False, buf: Buf | None = None, **kwargs: object,
    ) -> None:  # fmt: skip
        del fd_offset, kwargs
        expect("pd", pd, PD, null=False)
        expect("buf", buf, Buf)
        text = "Failed to register MR using extended API"
        if fd is not None and address:
            raise PyverbsRDMAError(text, EINVAL)
        if fd is not None or dmah is not None or implicit or access & Access.HUGETLB:
            raise PyverbsRDMAError(text, EOPNOTSUPP)
        self._place(text, pd, length, address, buf)
        self._begin(text, pd, length, access, iova)

    def __str__(self) -> str:
        return super().__str__().replace("MR:", "MREx:", 1)
