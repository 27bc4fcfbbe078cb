"""Memory regions and windows."""

from errno import EINVAL, EOPNOTSUPP
from typing import Any
from weakref import WeakSet

from rdmalab.command import Noun, Ref
from rdmalab.compat.buffers import PAGE
from rdmalab.compat.process import here
from rdmalab.compat.pyverbs.base import LabObject, PyverbsCM, call, octets_at, put_octets
from rdmalab.compat.pyverbs.c_types import SIZE, U8, U32, U64, UINT32, UINT64, converted
from rdmalab.compat.pyverbs.pd import PD
from rdmalab.compat.pyverbs.pyverbs_error import PyverbsRDMAError, PyverbsUserError
from rdmalab.compat.pyverbs.struct import Number, Struct, expect, table
from rdmalab.compat.pyverbs.utils import rereg_error_to_str
from rdmalab.spec.access import Access, MWType, Rereg

HUGE_PAGE_SIZE = 0x200000
# Mapped in no node: so that reg_mr refuses what is not mapped here, after its other checks.
_NOWHERE = (1 << 64) - (1 << 33)
_NO_BUFFER = "The MR buffer isn't allocated or length {} is invalid"
_ERR_CMD, _ERR_INPUT = -4, -1  # of ibv_rereg_mr_err_code


class MR(LabObject):
    """`ibv_mr`, with a buffer of its own unless it is given an address."""

    __slots__ = ("_buf", "_own", "_pd")
    DESTROY, FAILS, RANK = "dereg_mr", "Failed to dereg MR", 4

    def __init__(
        self, creator: Any, length: int = 0, access: int = 0, address: int | None = None,
        implicit: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        if kwargs.get("handle") is not None:
            raise PyverbsRDMAError("Failed to import MR", EOPNOTSUPP)
        text = f"Failed to register a MR. length: {length}, access flags: {access}"
        if implicit or access & Access.HUGETLB:
            raise PyverbsRDMAError(text, EOPNOTSUPP)
        buffers = here().buffers
        self._own = not address
        if address:
            lend(creator, address, length)
        self._buf = address or (buffers.allocate(length) if length > 0 else 0)
        self._begin(text, creator, length, access)

    def _begin(self, text: str, pd: PD, length: int, access: int, iova: int | None = None) -> None:
        """Register what `_buf` points to."""
        try:
            self._register(text, pd, length, access, iova)
        except PyverbsRDMAError:
            self._release()
            raise
        self._join(pd)
        self._pd = pd

    def _register(
        self, text: str, pd: PD, length: int, access: int, iova: int | None = None
    ) -> None:
        """The buffer is known to the node from now on, if it was not before.

        iova: how work requests call its first byte; None: by the buffer's address.
        """
        process, word = here(), "reg_mr"
        known = process.buffers.covering(pd.node, self._buf, length)
        where = {} if known is None else {"addr": known.addr + self._buf - known.real}
        writable = bool(access & (Access.LOCAL_WRITE | Access.MW_BIND))
        if not self._own and not process.buffers.is_mapped(self._buf, length, writable=writable):
            where = {"addr": _NOWHERE + self._buf % PAGE}
        if iova not in (None, self._buf):
            word, where["hca_va"] = "reg_mr_iova", process.buffers.to_lab(iova)
        ref = self._made(
            text, word, Noun.MR, pd.node, pd=pd.ref, length=length, access=access, **where
        )
        if known is None:
            known = process.buffers.mirror(
                pd.node, self._buf, self.found.addr, length, unknown=not self._own
            )
        known.regions.append(ref)

    def _release(self) -> None:
        if self._own:
            here().buffers.free(self._buf)
        self._buf = 0

    def _destroy(self, ref: Ref) -> None:
        here().publish()
        super()._destroy(ref)
        here().buffers.forget(ref)
        self._release()

    def unimport(self) -> None:
        self.close()

    def write(self, data: str | bytes, length: int, offset: int = 0) -> None:
        if not self._buf or length < 0:
            raise PyverbsUserError(_NO_BUFFER.format(length))
        octets = data.encode() if isinstance(data, str) else bytes(data)
        put_octets(self._buf + offset, octets[:length])
        here().buffers.note(self._buf + offset, length)

    def read(self, length: int, offset: int) -> bytes:
        if offset < 0:
            raise PyverbsUserError(f"Invalid offset {offset}")
        if not self._buf or length < 0:
            raise PyverbsUserError(_NO_BUFFER.format(length))
        return octets_at(self._buf + offset, length)

    def rereg(
        self, flags: int, pd: PD | None = None, addr: int = 0, length: int = 0, access: int = 0
    ) -> None:
        given: dict[str, object] = {"flags": flags}
        if flags & Rereg.CHANGE_PD and pd is not None:
            given["pd"] = pd.ref
        if flags & Rereg.CHANGE_ACCESS:
            given["access"] = access
        scratch: MR | None = None
        if flags & Rereg.CHANGE_TRANSLATION:
            # a host of the lab maps memory by registering it
            if here().buffers.covering(self.node, addr, length) is None:
                scratch = MR(pd or self._pd, length, 0, address=addr)
            given |= {"addr": here().buffers.to_lab(addr), "length": length}
        self._rereg(given)
        if flags & Rereg.CHANGE_TRANSLATION:
            self._move(addr, length)
        if scratch is not None:
            scratch.close()
        if flags & Rereg.CHANGE_PD and pd is not None:
            self._pd = pd
            self._owners[0].children.discard(self)
            self._owners = (pd,)
            pd.children.add(self)

    def _rereg(self, given: dict[str, object]) -> None:
        try:
            call("", "rereg_mr", mr=self.ref, **given)
        except PyverbsRDMAError as refused:
            code = _ERR_CMD if refused.error_code == EOPNOTSUPP else _ERR_INPUT
            text = f"Failed to rereg MR: {rereg_error_to_str(code)}"
            raise PyverbsRDMAError(text, refused.error_code) from None

    def _move(self, addr: int, length: int) -> None:
        buffers, ref = here().buffers, self.ref
        buffers.forget(ref)
        self._release()
        self._buf, self._own = addr, False
        mirror = buffers.covering(ref.node, addr, length)
        if mirror is not None:
            mirror.regions.append(ref)

    @property
    def buf(self) -> int:
        return self._buf

    @property
    def lkey(self) -> int:
        return int(self.found.lkey)

    @property
    def rkey(self) -> int:
        return int(self.found.rkey)

    @property
    def length(self) -> int:
        return int(self.found.length)

    @property
    def handle(self) -> int:
        return int(self.found.number)

    def __str__(self) -> str:
        names = ("lkey", "rkey", "length", "buf", "handle")
        return "MR:\n" + table((name, getattr(self, name)) for name in names)


def lend(pd: PD, addr: int, length: int) -> None:
    """Memory of mem_alloc is known to a node as a whole, before a part of it is.

    Then parts that overlap are the same bytes there too, and INLINE can copy from what was never
    registered, as the CPU does. A host of the lab maps memory by registering it: without rights.
    """
    buffers = here().buffers
    block = buffers.block_at(addr)
    if block is None or (addr, length) == (block.addr, block.length):
        return
    if buffers.covering(pd.node, addr, length) is None:
        here().lent.append(MR(pd, block.length, 0, block.addr))


class MWBindInfo(Struct, PyverbsCM):
    """`ibv_mw_bind_info`."""

    __slots__ = ("_mr",)
    addr = Number(U64, fixed=True)
    length = Number(U64, fixed=True)
    mw_access_flags = Number(U32, fixed=True)

    def __init__(self, mr: MR, addr: int, length: int, mw_access_flags: int) -> None:
        expect("mr", mr, MR, null=False)
        self._set(addr=addr, length=length, mw_access_flags=mw_access_flags)
        self._mr = mr

    def told(self) -> dict[str, int]:
        """As the lab's words take it."""
        return {
            "bind_mr": self._mr.found.number,
            "bind_addr": here().buffers.to_lab(self.addr),
            "bind_length": self.length,
            "bind_access": self.mw_access_flags,
        }

    def __str__(self) -> str:
        flags = ("MW access flags", self.mw_access_flags)
        return "MWBindInfo:\n" + table((("Addr", self.addr), ("Length", self.length), flags))


class MWBind(Struct, PyverbsCM):
    """`ibv_mw_bind`."""

    __slots__ = ("_info",)
    _wr_id = Number(UINT64)
    _send_flags = Number(U32)

    def __init__(self, info: MWBindInfo, send_flags: int, wr_id: int = 0) -> None:
        expect("info", info, MWBindInfo, null=False)
        self._set(_wr_id=wr_id, _send_flags=send_flags)
        self._info = info

    def told(self) -> dict[str, int]:
        """As the lab's words take it."""
        return {**self._info.told(), "wr_id": self._wr_id, "flags": self._send_flags}

    def __str__(self) -> str:
        return "MWBind:\n" + table((("WR id", self._wr_id), ("Send flags", self._send_flags)))


class MW(LabObject):
    """`ibv_mw`."""

    __slots__ = ()
    DESTROY, FAILS, RANK = "dealloc_mw", "Failed to dealloc MW", 3

    def __init__(self, pd: PD, mw_type: int) -> None:
        expect("pd", pd, PD, null=False)
        self._made("Failed to allocate MW", "alloc_mw", Noun.MW, pd.node, pd=pd.ref, type=mw_type)
        self._join(pd)

    @property
    def handle(self) -> int:
        return int(self.found.number)

    @property
    def rkey(self) -> int:
        return int(self.found.rkey)

    @property
    def type(self) -> int:
        return int(self.found.type)

    def __str__(self) -> str:
        rows = (("Rkey", self.rkey), ("Handle", self.handle), ("MW Type", mwtype2str(self.type)))
        return "MW:\n" + table(rows)


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


def mwtype2str(mw_type: int, /) -> str:
    names = {int(each): f"IBV_MW_{each.name}" for each in MWType}
    return names.get(mw_type, f"Unknown MW type ({mw_type})")
