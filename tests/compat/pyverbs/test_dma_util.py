"""Barriers and registers of real devices."""

import errno

import pytest

from rdmalab.compat.pyverbs import dma_util
from rdmalab.compat.pyverbs.pyverbs_error import PyverbsRDMAError
from tests.compat.real import needs_pyverbs, ours, real


@needs_pyverbs
def test_barriers_take_and_give_nothing() -> None:
    ask = ["calls", [["dma_util", f"udma_{way}_dev_barrier", []] for way in ("to", "from")]]
    assert ours(ask) == real(ask) == [[["", None], ["", None]]]


@pytest.mark.parametrize("bits", [32, 64])
def test_a_register_is_not_there_to_be_written(bits: int) -> None:
    write = getattr(dma_util, f"mmio_write{bits}_as_be")
    with pytest.raises(PyverbsRDMAError, match=f"{bits} bits to a register at 0x1000") as caught:
        write(0x1000, 7)
    assert caught.value.error_code == errno.EOPNOTSUPP
