"""Sizes of the queues of a QP, in each struct that has them."""

from collections.abc import Sequence
from typing import Self, overload

from rdmalab.compat.pyverbs.c_types import U32
from rdmalab.compat.pyverbs.struct import NARROW, Number, Struct, expect, table

CAPS = ("max_send_wr", "max_recv_wr", "max_send_sge", "max_recv_sge", "max_inline_data")
_LABELS = ("send WR", "recv WR", "send SGE", "recv SGE", "inline data")


def cap_rows(struct: Struct, labels: Sequence[str] = _LABELS) -> list[tuple[str, int]]:
    """(label, size) of each queue of a struct."""
    sizes = struct.numbers(CAPS).values()
    return [(f"max {label}", size) for label, size in zip(labels, sizes, strict=True)]


class Capped(Struct):
    """A struct with the sizes of the queues as attributes."""

    __slots__ = ()
    max_send_wr = Number(U32)
    max_recv_wr = Number(U32)
    max_send_sge = Number(U32)
    max_recv_sge = Number(U32)
    max_inline_data = Number(U32)


class QPCap(Capped):
    """`ibv_qp_cap`: work requests and SGEs a queue, bytes of inline data."""

    __module__ = "rdmalab.compat.pyverbs.qp"
    __slots__ = ()

    def __init__(
        self, max_send_wr: int = 1, max_recv_wr: int = 10, max_send_sge: int = 1,
        max_recv_sge: int = 1, max_inline_data: int = 0,
    ) -> None:  # fmt: skip
        self._set(locals())

    def __str__(self) -> str:
        labels = ("send wrs", "recv wrs", "send sges", "recv sges", "inline data")
        return table(cap_rows(self, labels), NARROW)


class Cap:
    """The sizes as one attribute: read as a copy, written all at once. None is ignored."""

    @overload
    def __get__(self, struct: None, owner: type | None = None) -> Self: ...
    @overload
    def __get__(self, struct: Struct, owner: type | None = None) -> QPCap: ...
    def __get__(self, struct: Struct | None, owner: type | None = None) -> Self | QPCap:
        return self if struct is None else QPCap(**struct.numbers(CAPS))

    def __set__(self, struct: Struct, cap: QPCap | None) -> None:
        expect("src", cap, QPCap)
        if cap is not None:
            struct.c.update(cap.numbers(CAPS))
