"""Asynchronous events: their numbers, the object each names, and when the device raises them."""

from enum import Enum, IntEnum
from typing import NamedTuple


class AsyncEvent(IntEnum):
    """IBV_EVENT_*."""

    CQ_ERR = 0
    QP_FATAL = 1
    QP_REQ_ERR = 2
    QP_ACCESS_ERR = 3
    COMM_EST = 4
    SQ_DRAINED = 5
    PATH_MIG = 6
    PATH_MIG_ERR = 7
    DEVICE_FATAL = 8
    PORT_ACTIVE = 9
    PORT_ERR = 10
    LID_CHANGE = 11
    PKEY_CHANGE = 12
    SM_CHANGE = 13
    SRQ_ERR = 14
    SRQ_LIMIT_REACHED = 15
    QP_LAST_WQE_REACHED = 16
    CLIENT_REREGISTER = 17
    GID_CHANGE = 18
    WQ_FATAL = 19
    DEVICE_SPEED_CHANGE = 20


class EventKind(Enum):
    """AFFILIATED events name one object, whose destruction waits for the ack. Other events name
    none.
    """

    ERROR = "affiliated error"
    EVENT = "affiliated event"
    UNAFFILIATED = "unaffiliated"


class EventRow(NamedTuple):
    """The text of `ibv_event_type_str`, the kind of object it names, when it is raised, its kind."""

    text: str
    noun: str
    when: str
    kind: EventKind


_E = AsyncEvent
_ERROR, _EVENT, _LOOSE = EventKind

# fmt: off
EVENTS: dict[AsyncEvent, EventRow] = {
    _E.CQ_ERR:              EventRow("CQ error", "cq",
        "the CQ was full when a CQE arrived: the CQE is lost", _ERROR),
    _E.QP_FATAL:            EventRow("local work queue catastrophic error", "qp",
        "an error that no CQE can report, such as an overrun CQ; the QP is in ERR", _ERROR),
    _E.QP_REQ_ERR:          EventRow("invalid request local work queue error", "qp",
        "the peer sent an invalid request and no receive was posted to report the error", _ERROR),
    _E.QP_ACCESS_ERR:       EventRow("local access violation work queue error", "qp",
        "the peer's request failed the check of rkey or access rights; the QP is in ERR", _ERROR),
    _E.COMM_EST:            EventRow("communication established", "qp",
        "the first packet arrived while the QP was still in RTR", _EVENT),
    _E.SQ_DRAINED:          EventRow("send queue drained", "qp",
        "in SQD with en_sqd_async_notify=1: all started sends are finished", _EVENT),
    _E.PATH_MIG:            EventRow("path migrated", "qp",
        "the QP switched to its alternate path", _EVENT),
    _E.PATH_MIG_ERR:        EventRow("path migration request error", "qp",
        "the switch to the alternate path failed", _ERROR),
    _E.DEVICE_FATAL:        EventRow("local catastrophic error", "device",
        "the device failed; none of its objects works any more", _LOOSE),
    _E.PORT_ACTIVE:         EventRow("port active", "port",
        "the port became ACTIVE", _LOOSE),
    _E.PORT_ERR:            EventRow("port error", "port",
        "the port left ACTIVE", _LOOSE),
    _E.LID_CHANGE:          EventRow("LID change", "port",
        "InfiniBand only: the port got another LID", _LOOSE),
    _E.PKEY_CHANGE:         EventRow("P_Key change", "port",
        "the P_Key table of the port changed", _LOOSE),
    _E.SM_CHANGE:           EventRow("SM change", "port",
        "InfiniBand only: another subnet manager took over", _LOOSE),
    _E.SRQ_ERR:             EventRow("SRQ catastrophic error", "srq",
        "the SRQ is in its error state; no receive is taken from it any more", _ERROR),
    _E.SRQ_LIMIT_REACHED:   EventRow("SRQ limit reached", "srq",
        "fewer receives are left than the armed limit; raised once per arming", _EVENT),
    _E.QP_LAST_WQE_REACHED: EventRow("last WQE reached", "qp",
        "a QP on an SRQ is in ERR and takes no more receives from it", _EVENT),
    _E.CLIENT_REREGISTER:   EventRow("client reregistration", "port",
        "InfiniBand only: the subnet manager asks for registrations again", _LOOSE),
    _E.GID_CHANGE:          EventRow("GID table change", "port",
        "an address was added to the port or removed", _LOOSE),
    _E.WQ_FATAL:            EventRow("WQ fatal", "wq",
        "a work queue object failed", _ERROR),
    _E.DEVICE_SPEED_CHANGE: EventRow("Device link speed change", "port",
        "the link runs at another speed", _LOOSE),
}
# fmt: on
