"""Memory regions and windows."""

from errno import EINVAL, EOPNOTSUPP
from weakref import WeakSet

from rdmalab.compat.process import here
from rdmalab.compat.pyverbs.base import LabObject, PyverbsCM
from rdmalab.compat.pyverbs.c_types import SIZE, U8, UINT32, converted
from rdmalab.compat.pyverbs.memory_region import *
from rdmalab.compat.pyverbs.mw import *
from rdmalab.compat.pyverbs.pd import PD
from rdmalab.compat.pyverbs.pyverbs_error import PyverbsRDMAError
from rdmalab.compat.pyverbs.struct import Number, Struct, expect, table
from rdmalab.spec.access import Access

HUGE_PAGE_SIZE = 0x200000


class DMMR(MR):
    """An MR of device memory, of which the lab's devices have none."""

    __slots__ = ()

    def __init__(self, pd: PD, length: int, access: int, dm: object, offset: int) -> None:
        del pd, dm, offset
        text = f"Failed to register a device MR. length: {length}, access flags: {access}"
        raise PyverbsRDMAError(text, EOPNOTSUPP)


class DmaBufMR(MR):
    """An MR of a dma-buf, which needs a graphics driver."""

    __slots__ = ()

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

    __slots__ = ()
    comp_mask = Number(UINT32)
    cpu_id = Number(UINT32)
    ph = Number(U8)
    tph_mem_type = Number(U8)

    def __init__(
        self, comp_mask: int = 0, cpu_id: int = 0, ph: int = 0, tph_mem_type: int = 0
    ) -> None:
        self._set(comp_mask=comp_mask, cpu_id=cpu_id, ph=ph, tph_mem_type=tph_mem_type)

    def __str__(self) -> str:
        names = ("comp_mask", "cpu_id", "ph", "tph_mem_type")
        return "DmaHandleInitAttr:\n" + table((name, getattr(self, name)) for name in names)


class DMAHandle(PyverbsCM):
    """`ibv_dmah`: hints of PCI for the DMA of a region; the lab's devices take none."""

    __slots__ = ()

    def __init__(self, ctx: LabObject, init_attr: DmaHandleInitAttr) -> None:
        expect("init_attr", init_attr, DmaHandleInitAttr, null=False)
        del ctx
        raise PyverbsRDMAError("Failed to create DMA Handle", EOPNOTSUPP)


class Buf(PyverbsCM):
    """`ibv_buf`: memory that libibverbs allocates for a PD, page-aligned; of size bytes."""

    __slots__ = ("_pd", "addr", "regions", "size")

    def __init__(self, pd: PD, size: int) -> None:
        expect("pd", pd, PD, null=False)
        self.size = converted(size, SIZE)
        self.addr = here().buffers.allocate(self.size)
        self._pd: PD | None = pd
        self.regions: WeakSet[MR] = WeakSet()

    def expect_range(self, text: str, pd: PD, addr: int, length: int) -> None:
        """PyverbsRDMAError with EINVAL for another PD, or bytes outside of the buffer."""
        inside = self.addr <= addr and addr + length <= self.addr + self.size
        if pd is not self._pd or not inside:
            raise PyverbsRDMAError(text, EINVAL)

    def close(self) -> None:
        """Deregister its regions and free it."""
        if self._pd is None:
            return
        for region in list(self.regions):
            region.close()
        here().buffers.free(self.addr)
        self._pd, self.addr = None, 0

    def __str__(self) -> str:
        return "Buf:\n" + table((("addr", self.addr), ("size", self.size)))


class BufMR(MR):
    """A region of a Buf, or of a part of it: `ibv_reg_buf_mr`."""

    __slots__ = ("_backing",)

    def __init__(self, pd: PD, buf: Buf, length: int = 0, access: int = 0, offset: int = 0) -> None:
        expect("pd", pd, PD, null=False)
        expect("buf", buf, Buf, null=False)
        text = f"Failed to register a buf MR. length: {length}, access flags: {access}"
        buf.expect_range(text, pd, buf.addr + offset, length)
        self._own, self._buf, self._backing = False, buf.addr + offset, buf
        self._begin(text, pd, length, access)
        buf.regions.add(self)


class MREx(MR):
    """An MR by `ibv_reg_mr_ex`: at another address (iova) or of a Buf.

    A dma-buf (fd), a DMAHandle and an implicit region are refused with EOPNOTSUPP, as by a device
    without them; ADDR and FD together with EINVAL.
    """

    __slots__ = ("_backing",)

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
        self._backing = buf
        self._place(text, pd, length, address)
        self._begin(text, pd, length, access, iova)
        if buf is not None:
            buf.regions.add(self)

    def _place(self, text: str, pd: PD, length: int, address: int | None) -> None:
        """Whose bytes: of a Buf, of the program, or of a buffer of its own."""
        buf = self._backing
        self._own = buf is None and not address
        if buf is not None:
            self._buf = buf.addr if address is None else address
            buf.expect_range(text, pd, self._buf, length)
        elif address:
            lend(pd, address, length)
            self._buf = address
        else:
            self._buf = here().buffers.allocate(length) if length > 0 else 0

    def __str__(self) -> str:
        return super().__str__().replace("MR:", "MREx:", 1)
