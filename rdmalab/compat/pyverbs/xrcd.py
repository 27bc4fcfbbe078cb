"""XRC domains."""

from rdmalab.command import Noun
from rdmalab.compat.pyverbs.base import LabObject
from rdmalab.compat.pyverbs.c_types import INT, UINT32
from rdmalab.compat.pyverbs.device import Context
from rdmalab.compat.pyverbs.struct import Number, Struct
from rdmalab.hca.objects import XrcDomain


class XRCDInitAttr(Struct):
    """`ibv_xrcd_init_attr`."""

    fd = Number(INT)
    comp_mask = Number(UINT32)
    oflags = Number(INT)

    def __init__(self, comp_mask: int, oflags: int, fd: int) -> None:
        self._set(locals())


class XRCD(LabObject[XrcDomain]):
    """`ibv_xrcd`. The lab knows a file by a number; here it is the inode, not the descriptor."""

    DESTROY, FAILS, RANK = "close_xrcd", "Failed to dealloc XRCD", 9

    def __init__(self, context: Context, init_attr: XRCDInitAttr) -> None:
        self._made(
            "Failed to allocate XRCD", "open_xrcd", Noun.XRCD, context.node,
            fd=_file(init_attr.fd), oflag=init_attr.oflags,
        )  # fmt: skip
        self._join(context)


_files: dict[tuple[int, int], int] = {}


def _file(fd: int) -> int:
    """One number a file, however often it was opened."""
    import os

    if fd < 0:
        return fd
    status = os.fstat(fd)
    return _files.setdefault((status.st_dev, status.st_ino), len(_files))
