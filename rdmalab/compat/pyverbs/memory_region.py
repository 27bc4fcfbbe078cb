"""Memory regions of reg_mr."""

from errno import EINVAL, EOPNOTSUPP
from functools import partial
from weakref import WeakSet

from rdmalab.command import Noun, Ref
from rdmalab.compat.buffers import PAGE
from rdmalab.compat.process import here
from rdmalab.compat.pyverbs.base import LabObject, PyverbsCM, call, octets_at, put_octets
from rdmalab.compat.pyverbs.c_types import SIZE, converted
from rdmalab.compat.pyverbs.pd import PD
from rdmalab.compat.pyverbs.pyverbs_error import PyverbsRDMAError, PyverbsUserError
from rdmalab.compat.pyverbs.struct import expect, table
from rdmalab.compat.pyverbs.utils import rereg_error_to_str
from rdmalab.hca.memory import NOT_MAPPED, READ_ONLY
from rdmalab.hca.objects import MemoryRegion
from rdmalab.spec.access import Access, Rereg

__name__ = "rdmalab.compat.pyverbs.mr"  # the module of pyverbs that has its names

_NO_BUFFER = "The MR buffer isn't allocated or length {} is invalid"
_ERR_CMD, _ERR_INPUT = -4, -1  # of ibv_rereg_mr_err_code


class MR(LabObject[MemoryRegion]):
    """`ibv_mr`, with a buffer of its own unless it is given an address."""

    __slots__ = ("_backing", "_buf", "_own", "_pd")
    DESTROY, FAILS, RANK = "dereg_mr", "Failed to dereg MR", 4

    def __init__(
        self, creator: PD, length: int = 0, access: int = 0, address: int | None = None,
        implicit: bool = False, **kwargs: object,
    ) -> None:  # fmt: skip
        if kwargs.get("handle") is not None:
            raise PyverbsRDMAError("Failed to import MR", EOPNOTSUPP)
        text = f"Failed to register a MR. length: {length}, access flags: {access}"
        if implicit or access & Access.HUGETLB:
            raise PyverbsRDMAError(text, EOPNOTSUPP)
        self._place(text, creator, length, address)
        self._begin(text, creator, length, access)

    def _place(
        self, text: str, pd: PD, length: int, address: int | None, buf: "Buf | None" = None
    ) -> None:
        """Set `_buf`: into a Buf, to memory of the program, or to a new buffer of its own."""
        self._backing, self._own = buf, buf is None and not address
        if buf is not None:
            self._buf = buf.addr if address is None else address
            buf.expect_range(text, pd, self._buf, length)
        elif address:
            lend(pd, address, length)
            self._buf = address
        else:
            self._buf = here().buffers.allocate(length) if length > 0 else 0

    def _begin(self, text: str, pd: PD, length: int, access: int, iova: int | None = None) -> None:
        """Register what `_buf` points to."""
        try:
            self._register(text, pd, length, access, iova)
        except PyverbsRDMAError:
            self._release()
            raise
        self._join(pd)
        self._pd = pd
        if self._backing is not None:
            self._backing.regions.add(self)

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
        has = partial(process.buffers.is_mapped, self._buf, length)
        if not self._own and not has(writable=writable):
            # reg_mr refuses it there after its other checks, as the kernel does
            area = READ_ONLY if has(writable=False) else NOT_MAPPED
            where = {"addr": area + self._buf % PAGE}
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
        """`ibv_unimport_mr`: the same as close."""
        self.close()

    def write(self, data: str | bytes, length: int, offset: int = 0) -> None:
        """Write at most `length` bytes of data into the buffer. PyverbsUserError: no buffer."""
        if not self._buf or length < 0:
            raise PyverbsUserError(_NO_BUFFER.format(length))
        octets = data.encode() if isinstance(data, str) else bytes(data)
        put_octets(self._buf + offset, octets[:length])
        here().buffers.note(self._buf + offset, length)

    def read(self, length: int, offset: int) -> bytes:
        """Bytes of the buffer. PyverbsUserError: no buffer, or a negative offset or length."""
        if offset < 0:
            raise PyverbsUserError(f"Invalid offset {offset}")
        if not self._buf or length < 0:
            raise PyverbsUserError(_NO_BUFFER.format(length))
        return octets_at(self._buf + offset, length)

    def rereg(
        self, flags: int, pd: PD | None = None, addr: int = 0, length: int = 0, access: int = 0
    ) -> None:
        """`ibv_rereg_mr`: change the address range, PD or access that the flags name.

        PyverbsRDMAError with the ibv_rereg_mr_err_code in its text.
        """
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
        return self.found.lkey

    @property
    def rkey(self) -> int:
        return self.found.rkey

    @property
    def length(self) -> int:
        return self.found.length

    @property
    def handle(self) -> int:
        return self.found.number

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
