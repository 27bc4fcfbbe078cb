"""Events of rdma_cm and the numbers beside them: an errno, or the reason of a reject.

Sources: rdma/rdma_cma.h of rdma-core (events), include/rdma/ib_cm.h of Linux (reasons), and
drivers/infiniband/core/cma.c and cm.c of Linux: which number each event has, and the timers.
"""

from enum import Enum, IntEnum
from typing import NamedTuple


class CmEvent(IntEnum):
    """RDMA_CM_EVENT_*."""

    ADDR_RESOLVED = 0
    ADDR_ERROR = 1
    ROUTE_RESOLVED = 2
    ROUTE_ERROR = 3
    CONNECT_REQUEST = 4
    CONNECT_RESPONSE = 5
    CONNECT_ERROR = 6
    UNREACHABLE = 7
    REJECTED = 8
    ESTABLISHED = 9
    DISCONNECTED = 10
    DEVICE_REMOVAL = 11
    MULTICAST_JOIN = 12
    MULTICAST_ERROR = 13
    ADDR_CHANGE = 14
    TIMEWAIT_EXIT = 15
    ADDRINFO_RESOLVED = 16
    ADDRINFO_ERROR = 17


class RejectReason(IntEnum):
    """IB_CM_REJ_*, the reasons in a REJ message; 34 has no name."""

    NO_QP = 1
    NO_EEC = 2
    NO_RESOURCES = 3
    TIMEOUT = 4
    UNSUPPORTED = 5
    INVALID_COMM_ID = 6
    INVALID_COMM_INSTANCE = 7
    INVALID_SERVICE_ID = 8
    INVALID_TRANSPORT_TYPE = 9
    STALE_CONN = 10
    RDC_NOT_EXIST = 11
    INVALID_GID = 12
    INVALID_LID = 13
    INVALID_SL = 14
    INVALID_TRAFFIC_CLASS = 15
    INVALID_HOP_LIMIT = 16
    INVALID_PACKET_RATE = 17
    INVALID_ALT_GID = 18
    INVALID_ALT_LID = 19
    INVALID_ALT_SL = 20
    INVALID_ALT_TRAFFIC_CLASS = 21
    INVALID_ALT_HOP_LIMIT = 22
    INVALID_ALT_PACKET_RATE = 23
    PORT_CM_REDIRECT = 24
    PORT_REDIRECT = 25
    INVALID_MTU = 26
    INSUFFICIENT_RESP_RESOURCES = 27
    CONSUMER_DEFINED = 28
    INVALID_RNR_RETRY = 29
    DUPLICATE_LOCAL_COMM_ID = 30
    INVALID_CLASS_VERSION = 31
    INVALID_FLOW_LABEL = 32
    INVALID_ALT_FLOW_LABEL = 33
    VENDOR_OPTION_NOT_SUPPORTED = 35


class Number(Enum):
    """The meaning of `status` of an event."""

    ZERO = "always 0"
    ERRNO = "0, or an errno with a minus"
    SIDR = "an errno with a minus; positive on a UD id: the SIDR status of the peer's reply"
    REASON = "positive: the reason of the reject; with a minus: an errno, from iWARP"


class CmEventRow(NamedTuple):
    """The cause of an event, and the meaning of its `status`."""

    when: str
    number: Number = Number.ZERO


_E, _R = CmEvent, RejectReason

# fmt: off
EVENTS: dict[CmEvent, CmEventRow] = {
    _E.ADDR_RESOLVED:     CmEventRow("rdma_resolve_addr has found the device and the address of the peer"),
    _E.ADDR_ERROR:        CmEventRow("rdma_resolve_addr failed: ENODEV: no RDMA device has the route to this address; ETIMEDOUT or EHOSTUNREACH: no host answers there", Number.ERRNO),
    _E.ROUTE_RESOLVED:    CmEventRow("rdma_resolve_route has found the path to the peer"),
    _E.ROUTE_ERROR:       CmEventRow("rdma_resolve_route failed: on InfiniBand the subnet manager does not answer or knows no path; on RoCE the device or its GID is not there any more", Number.ERRNO),
    _E.CONNECT_REQUEST:   CmEventRow("a client asks a listening id for a connection; accept or reject it"),
    _E.CONNECT_RESPONSE:  CmEventRow("the server has accepted; comes only to an id without a QP of rdma_create_qp, whose program moves its QP itself and calls rdma_establish"),
    _E.CONNECT_ERROR:     CmEventRow("the server has accepted, but the QP on this side could not be moved to RTR and RTS", Number.ERRNO),
    _E.UNREACHABLE:       CmEventRow("no reply to the connect request or to its answer after all retries: the host or its link is down, or the path is wrong; UD: the server refused", Number.SIDR),
    _E.REJECTED:          CmEventRow("the peer has refused the connect request or its answer", Number.REASON),
    _E.ESTABLISHED:       CmEventRow("the connection is there on this side: requests can be posted"),
    _E.DISCONNECTED:      CmEventRow("rdma_disconnect of this side or of the peer, or the peer has ended; ETIMEDOUT: the peer did not answer it", Number.ERRNO),
    _E.DEVICE_REMOVAL:    CmEventRow("the device was removed: destroy the id and all that was made on the device"),
    _E.MULTICAST_JOIN:    CmEventRow("rdma_join_multicast is done: its address, QPN and Q_Key are in the event"),
    _E.MULTICAST_ERROR:   CmEventRow("rdma_join_multicast failed, or the group does not exist any more", Number.ERRNO),
    _E.ADDR_CHANGE:       CmEventRow("the network device of the address has changed, as in a failover of bonding"),
    _E.TIMEWAIT_EXIT:     CmEventRow("after a disconnect no packet of the old connection can arrive any more: the QP may be reused"),
    _E.ADDRINFO_RESOLVED: CmEventRow("rdma_resolve_addrinfo has resolved the name through the IB service"),
    _E.ADDRINFO_ERROR:    CmEventRow("rdma_resolve_addrinfo failed", Number.ERRNO),
}
REASONS: dict[RejectReason, str] = {
    _R.NO_QP:                       "the peer has no QP for the connection",
    _R.NO_EEC:                      "the peer has no EE context (RD)",
    _R.NO_RESOURCES:                "the peer has no memory or QP left for the connection",
    _R.TIMEOUT:                     "an answer came too late or never: the peer has stopped waiting for it",
    _R.UNSUPPORTED:                 "the peer does not support the request",
    _R.INVALID_COMM_ID:             "the peer does not know this communication ID: its side is already gone",
    _R.INVALID_COMM_INSTANCE:       "the peer does not know this pair of communication IDs",
    _R.INVALID_SERVICE_ID:          "no program listens at this port: wrong port or address, other port space, or the server does not run",
    _R.INVALID_TRANSPORT_TYPE:      "the types of the two QPs differ",
    _R.STALE_CONN:                  "the peer still holds a connection with this QPN, of a program that ended or of a host that has booted again; connect again",
    _R.RDC_NOT_EXIST:               "the RD channel does not exist",
    _R.INVALID_GID:                 "the peer does not accept the GIDs of the path",
    _R.INVALID_LID:                 "the peer does not accept the LIDs of the path",
    _R.INVALID_SL:                  "the peer does not accept the service level",
    _R.INVALID_TRAFFIC_CLASS:       "the peer does not accept the traffic class",
    _R.INVALID_HOP_LIMIT:           "the peer does not accept the hop limit",
    _R.INVALID_PACKET_RATE:         "the peer does not accept the packet rate",
    _R.INVALID_ALT_GID:             "the peer does not accept the GIDs of the alternate path",
    _R.INVALID_ALT_LID:             "the peer does not accept the LIDs of the alternate path",
    _R.INVALID_ALT_SL:              "the peer does not accept the service level of the alternate path",
    _R.INVALID_ALT_TRAFFIC_CLASS:   "the peer does not accept the traffic class of the alternate path",
    _R.INVALID_ALT_HOP_LIMIT:       "the peer does not accept the hop limit of the alternate path",
    _R.INVALID_ALT_PACKET_RATE:     "the peer does not accept the packet rate of the alternate path",
    _R.PORT_CM_REDIRECT:            "the connection manager of another port is responsible",
    _R.PORT_REDIRECT:               "the connection must go to another port",
    _R.INVALID_MTU:                 "the peer does not accept the path MTU",
    _R.INSUFFICIENT_RESP_RESOURCES: "the peer can serve fewer READs and atomics at once than it was asked for: lower initiator_depth or responder_resources",
    _R.CONSUMER_DEFINED:            "the program at the peer has refused by rdma_reject, or destroyed the id or ended before it accepted; the private data may say why",
    _R.INVALID_RNR_RETRY:           "the peer does not accept rnr_retry_count",
    _R.DUPLICATE_LOCAL_COMM_ID:     "the communication ID is already in use",
    _R.INVALID_CLASS_VERSION:       "the peer has another version of the connection manager's messages",
    _R.INVALID_FLOW_LABEL:          "the peer does not accept the flow label",
    _R.INVALID_ALT_FLOW_LABEL:      "the peer does not accept the flow label of the alternate path",
    _R.VENDOR_OPTION_NOT_SUPPORTED: "the peer does not support an option of the vendor (ECE)",
}
# enum ib_cm_sidr_status without its 0: the reply to a connect request of a UD id.
SIDR: dict[int, str] = {
    1: "no program listens at this port",
    2: "the program at the peer has refused",
    3: "the peer has no QP for it",
    4: "another port is responsible",
    5: "the peer does not support the version",
}
# fmt: on

# cma.c of Linux 6.1: CMA_IBOE_PACKET_LIFETIME, CMA_CM_RESPONSE_TIMEOUT, CMA_MAX_CM_RETRIES, and
# CMA_CM_MRA_SETTING: who has got a request twice asks by MRA for so much time. Timer codes.
PACKET_LIFETIME, RESPONSE_TIMEOUT, RETRIES, SERVICE_TIMEOUT = 18, 20, 15, 24


def code_ms(code: int) -> int:
    """Milliseconds of a timer code, as `cm_convert_to_ms` rounds them."""
    return int(1 << max(code - 8, 0))


def ack_timeout(ca_ack_delay: int, lifetime: int) -> int:
    """The timer code of a QP for the delay of the device and the lifetime of packets on the path."""
    code = lifetime + 1
    if code >= ca_ack_delay:
        code += ca_ack_delay >= code - 1
    else:
        code = ca_ack_delay + (code >= ca_ack_delay - 1)
    return min(31, code)


SIDR_SILENCE_MS = (RETRIES + 1) * code_ms(RESPONSE_TIMEOUT)
"""After so long a connect request of a UD id without an answer has failed."""


def silence_ms(lifetime: int) -> int:
    """Milliseconds after which a connect request or a disconnect that gets no answer has failed."""
    return (RETRIES + 1) * (2 * code_ms(lifetime) + code_ms(RESPONSE_TIMEOUT))


def unanswered_ms(lifetime: int, timeout: int) -> int:
    """Milliseconds after which a request that the peer's program does not answer has failed.

    timeout: the ack timeout of the QP, a code.
    """
    first = 2 * code_ms(lifetime) + code_ms(RESPONSE_TIMEOUT)
    return first + RETRIES * (code_ms(SERVICE_TIMEOUT) + code_ms(timeout))
