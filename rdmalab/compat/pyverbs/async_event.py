"""Asynchronous events."""

from rdmalab.command import Ref, Refused, Thing
from rdmalab.compat.process import here
from rdmalab.compat.pyverbs.c_types import enum
from rdmalab.compat.pyverbs.struct import PORT_LINE, Number, Struct, members, table

__name__ = "rdmalab.compat.pyverbs.device"  # the module of pyverbs that has its names


class AsyncEvent(Struct):
    """`ibv_async_event`."""

    __slots__ = ("_node", "_thing")
    event_type = Number(enum("ibv_event_type"), fixed=True)

    def __init__(self, event_type: int = 0) -> None:
        self._set(event_type=event_type)
        self.about("", None)

    def about(self, node: str, thing: Thing | None) -> None:
        """Where it happened, and to what."""
        self._node, self._thing = node, thing

    def ack(self) -> None:
        """`ibv_ack_async_event`, which returns nothing."""
        if not self._node:
            return
        name = here().session.names.of(self._thing) if self._thing else self._node
        node, _, inner = name.partition(".")
        try:
            here().call("ack_async_event", what=Ref(node, inner), event=self.event_type)
        except Refused:
            return

    def __str__(self) -> str:
        return table([("Event Type", translate_event_type(self.event_type))], PORT_LINE)


# --------------------------------------------------------------------------- as text
_LAST_WQE_REACHED = 16  # of ibv_event_type


def translate_event_type(event_type: int, /) -> str:
    texts = members("ibv_event_type")
    texts[_LAST_WQE_REACHED] = f".{texts[_LAST_WQE_REACHED]}"  # pyverbs writes a dot before it
    return texts.get(event_type, f"Unknown event_type ({event_type})")
