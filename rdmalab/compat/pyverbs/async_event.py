"""Asynchronous events."""

from rdmalab.command import Ref, Refused, Thing
from rdmalab.compat.process import here
from rdmalab.compat.pyverbs.c_types import enum
from rdmalab.compat.pyverbs.struct import PORT_LINE, Number, Struct, members

__name__ = "rdmalab.compat.pyverbs.device"  # the module of pyverbs that has its names

_LAST_WQE_REACHED = 16  # of ibv_event_type


def translate_event_type(event_type: int, /) -> str:
    """The name of an ibv_event_type, `IBV_EVENT_QP_FATAL` and the like."""
    texts = members("ibv_event_type")
    texts[_LAST_WQE_REACHED] = f".{texts[_LAST_WQE_REACHED]}"  # pyverbs writes a dot before it
    return texts.get(event_type, f"Unknown event_type ({event_type})")


class AsyncEvent(Struct):
    """`ibv_async_event`: what `Context.get_async_event` returns."""

    __slots__ = ("_node", "_thing")
    _LINE = PORT_LINE
    event_type = Number(enum("ibv_event_type"), "Event Type", translate_event_type, fixed=True)

    def __init__(self, event_type: int = 0) -> None:
        self._set(locals())
        self.about("", None)

    def about(self, node: str, thing: Thing | None) -> None:
        """Set the node it comes from and the object it is about; None: the port."""
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
