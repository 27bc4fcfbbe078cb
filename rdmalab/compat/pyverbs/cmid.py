"""pyverbs.cmid: the connection manager; the lab's queue pairs are connected by hand."""

from typing import TYPE_CHECKING

from rdmalab.compat.pyverbs.unsupported import Absent, stand_ins

if TYPE_CHECKING:

    def __getattr__(name: str) -> type[Absent]: ...


stand_ins(
    globals(),
    "the lab has no connection manager (librdmacm)",
    {None: "AddrInfo CMEvent CMEventChannel CMID ConnParam JoinMCAttrEx UDParam"},
)
