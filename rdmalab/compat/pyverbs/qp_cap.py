"""Sizes of the queues of a QP, in each struct that has them."""

from typing import Any

from rdmalab.compat.pyverbs.c_types import U32
from rdmalab.compat.pyverbs.struct import Number, Struct, expect, table

CAPS = ("max_send_wr", "max_recv_wr", "max_send_sge", "max_recv_sge", "max_inline_data")
NARROW = "{:20}: {:<20}\n"  # a line of their tables


class Sized(Struct):
    """A struct with the sizes of the queues in it."""

    __slots__ = ()

    def sizes(self) -> dict[str, int]:
        return {name: self.c.get(name, 0) for name in CAPS}


class Capped(Sized):
    """The same, each of them an attribute."""

    __slots__ = ()
    max_send_wr = Number(U32)
    max_recv_wr = Number(U32)
    max_send_sge = Number(U32)
    max_recv_sge = Number(U32)
    max_inline_data = Number(U32)


class QPCap(Capped):
    """`ibv_qp_cap`."""

    __module__ = "rdmalab.compat.pyverbs.qp"
    __slots__ = ()

    def __init__(
        self, max_send_wr: int = 1, max_recv_wr: int = 10, max_send_sge: int = 1,
        max_recv_sge: int = 1, max_inline_data: int = 0,
    ) -> None:  # fmt: skip
        self._set(
            max_send_wr=max_send_wr, max_recv_wr=max_recv_wr, max_send_sge=max_send_sge,
            max_recv_sge=max_recv_sge, max_inline_data=max_inline_data,
        )  # fmt: skip

    def __str__(self) -> str:
        labels = ("send wrs", "recv wrs", "send sges", "recv sges", "inline data")
        rows = zip(labels, self.sizes().values(), strict=True)
        return table(((f"max {label}", value) for label, value in rows), NARROW)


class Cap:
    """The sizes as one attribute: read as a copy, written all at once."""

    def __get__(self, struct: "Sized | None", owner: type | None = None) -> Any:
        return self if struct is None else QPCap(**struct.sizes())

    def __set__(self, struct: "Sized", cap: QPCap | None) -> None:
        expect("src", cap, QPCap)
        if cap is not None:
            struct.c.update(cap.sizes())
