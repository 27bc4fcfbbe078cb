"""pyverbs.dma_util: order between a program and a device of real memory."""

import errno

from rdmalab.compat.pyverbs.pyverbs_error import PyverbsRDMAError


def udma_to_dev_barrier() -> None:
    """Does nothing: the lab's device reads memory when a verb is called, never at the same time."""


def udma_from_dev_barrier() -> None:
    """Does nothing, for the same reason."""


def mmio_write64_as_be(addr: int, val: int) -> None:
    """Refused: the lab's devices have no registers in a program's memory."""
    raise _no_registers(addr, val, 64)


def mmio_write32_as_be(addr: int, val: int) -> None:
    """Refused: the lab's devices have no registers in a program's memory."""
    raise _no_registers(addr, val, 32)


def _no_registers(addr: int, val: int, bits: int) -> PyverbsRDMAError:
    what = f"Writing {val:#x} as {bits} bits to a register at {addr:#x}"
    return PyverbsRDMAError(f"{what}: the lab's devices have none", errno.EOPNOTSUPP)
