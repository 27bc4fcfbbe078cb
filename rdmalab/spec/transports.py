"""Properties of each QP type on the wire: service, connection, acknowledgement, queues."""

from rdmalab.spec.opcodes import Service
from rdmalab.spec.row import Row, dataclass
from rdmalab.spec.states import QPType


@dataclass(frozen=True, slots=True)
class Transport(Row):
    """Properties of a QP type.

    service: the top bits of its opcodes; None: it sends Ethernet frames, which have no opcode.
    acknowledged: a request ends with the peer's answer, not when its last packet is sent.
    connected: `modify_qp` names the one peer; otherwise each work request or frame names its
    target. sends, receives: it has a send queue, it uses posted receives. names_srq: each request
    names the shared receive queue to use; the QP has none.
    """

    service: Service | None
    acknowledged: bool
    connected: bool
    sends: bool
    receives: bool
    names_srq: bool = False

    @property
    def addressed(self) -> bool:
        """True if each work request names its destination."""
        return self.service is not None and not self.connected

    @property
    def parts(self) -> tuple[str, ...]:
        """The objects that `create_qp` must be given; for XRC_RECV only its XRC domain."""
        if self.names_srq and self.receives:
            return ("xrcd",)
        return ("pd", "send_cq") if self.names_srq else ("pd", "send_cq", "recv_cq")


_ACKS = _PEER = _SENDS = _TAKES = _NAMES = True
_NO = False

# fmt: off
TRANSPORTS: dict[QPType, Transport] = {
    #                            service       acknowledged connected sends   receives
    QPType.RC:         Transport(Service.RC,   _ACKS,       _PEER,    _SENDS, _TAKES),
    QPType.UC:         Transport(Service.UC,   _NO,         _PEER,    _SENDS, _TAKES),
    QPType.UD:         Transport(Service.UD,   _NO,         _NO,      _SENDS, _TAKES),
    QPType.RAW_PACKET: Transport(None,         _NO,         _NO,      _SENDS, _TAKES),
    QPType.XRC_SEND:   Transport(Service.XRC,  _ACKS,       _PEER,    _SENDS, _NO,    _NAMES),
    QPType.XRC_RECV:   Transport(Service.XRC,  _ACKS,       _PEER,    _NO,    _TAKES, _NAMES),
}
# fmt: on
