"""An entry: a word that can be explained, its other spellings, the function of its article."""

import enum
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

from rdmalab.guide.article import Article
from rdmalab.spec import work
from rdmalab.spec.access import Access, MWType, Rereg
from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.builders import InitMask
from rdmalab.spec.completions import WcEx
from rdmalab.spec.connections import CmEvent, RejectReason
from rdmalab.spec.limits import AtomicCap, DeviceCap, PortState
from rdmalab.spec.srq import SrqAttrMask, SrqType
from rdmalab.spec.states import MTU, Attr, MigState, QPState, QPType
from rdmalab.spec.statuses import WCStatus


class Sort(enum.Enum):
    """The kind of table that a word is in, for sessions that show it."""

    STATUS = enum.auto()
    STATE = enum.auto()
    MOVE = enum.auto()  # about a pair of states
    TYPE = enum.auto()
    ATTRIBUTE = enum.auto()
    OPCODE = enum.auto()
    FLAG = enum.auto()
    RIGHT = enum.auto()
    EVENT = enum.auto()
    SYNDROME = enum.auto()
    PACKET = enum.auto()  # about its label
    ERRNO = enum.auto()
    RULE = enum.auto()
    REFUSAL = enum.auto()
    DROP = enum.auto()
    PORT = enum.auto()
    PROFILE = enum.auto()
    CELL = enum.auto()
    LIMIT = enum.auto()
    RECORD = enum.auto()
    VERB = enum.auto()


class About(NamedTuple):
    """Subject to look for in a session: a member of an enum, a name of a table, an errno."""

    sort: Sort
    key: Any


class Entry(NamedTuple):
    """`name` means this and nothing else; `words` may mean other things too."""

    name: str
    kind: str
    words: tuple[str, ...]
    write: Callable[[], Article]
    about: About | None = None


# The prefix that C puts before the members of each enum.
PREFIX: dict[type[enum.IntEnum] | type[enum.IntFlag], str] = {
    QPState: "IBV_QPS_",
    QPType: "IBV_QPT_",
    Attr: "IBV_QP_",
    MTU: "IBV_MTU_",
    MigState: "IBV_MIG_",
    WCStatus: "IBV_WC_",
    work.WCOpcode: "IBV_WC_",
    work.WCFlags: "IBV_WC_",
    WcEx: "IBV_WC_EX_WITH_",
    work.WROpcode: "IBV_WR_",
    work.SendFlags: "IBV_SEND_",
    Access: "IBV_ACCESS_",
    MWType: "IBV_MW_",
    Rereg: "IBV_REREG_MR_",
    work.Placement: "IBV_FLUSH_",
    work.Selectivity: "IBV_FLUSH_",
    AsyncEvent: "IBV_EVENT_",
    CmEvent: "RDMA_CM_EVENT_",
    RejectReason: "IB_CM_REJ_",
    PortState: "IBV_PORT_",
    AtomicCap: "IBV_ATOMIC_",
    DeviceCap: "IBV_DEVICE_",
    SrqType: "IBV_SRQT_",
    SrqAttrMask: "IBV_SRQ_",
    work.SendOps: "IBV_QP_EX_WITH_",
    InitMask: "IBV_QP_INIT_ATTR_",
}


def full_name(member: enum.IntEnum | enum.IntFlag) -> str:
    """As C writes it: `IBV_WC_SUCCESS`; `IBV_MTU_1024`."""
    name = str(member.octets) if isinstance(member, MTU) else member.name
    return f"{PREFIX[type(member)]}{name}"


@lru_cache(maxsize=8_192)
def normal(text: str) -> str:
    """The form in which words are compared: no case, and blanks, hyphens and arrows alike."""
    loose = text.replace("->", " ").replace("→", " ").replace("-", " ").replace("_", " ")
    return "_".join(loose.casefold().split())
