"""What the type of a queue pair means for the wire: whom it talks to, and who says that it is done."""

from dataclasses import dataclass

from rdmalab.spec.opcodes import Service
from rdmalab.spec.row import Row
from rdmalab.spec.states import QPType


@dataclass(frozen=True, slots=True)
class Transport(Row):
    """How a QP type moves messages.

    service: the top bits of its opcodes; None: it moves Ethernet frames, and no opcode at all.
    acknowledged: a request ends when the peer answers it, not when its last packet has left.
    connected: `modify_qp` names the one peer; otherwise every work request, or frame, does.
    sends, receives: it has a send queue, it takes receives for messages.
    names_srq: each request names the shared receive queue it is for; none is tied to the QP.
    """

    service: Service | None
    acknowledged: bool
    connected: bool
    sends: bool
    receives: bool
    names_srq: bool = False

    @property
    def addressed(self) -> bool:
        """Each work request names where its packet goes."""
        return self.service is not None and not self.connected

    @property
    def parts(self) -> tuple[str, ...]:
        """What `create_qp` must be given: XRC_RECV lives in its domain and has nothing else."""
        if self.names_srq and self.receives:
            return ("xrcd",)
        return ("pd", "send_cq") if self.names_srq else ("pd", "send_cq", "recv_cq")


_ACKS = _PEER = _SENDS = _TAKES = _NAMES = True
_no = False

# fmt: off
TRANSPORTS: dict[QPType, Transport] = {
    #                            service       acknowledged connected sends   receives
    QPType.RC:         Transport(Service.RC,   _ACKS,       _PEER,    _SENDS, _TAKES),
    QPType.UC:         Transport(Service.UC,   _no,         _PEER,    _SENDS, _TAKES),
    QPType.UD:         Transport(Service.UD,   _no,         _no,      _SENDS, _TAKES),
    QPType.RAW_PACKET: Transport(None,         _no,         _no,      _SENDS, _TAKES),
    QPType.XRC_SEND:   Transport(Service.XRC,  _ACKS,       _PEER,    _SENDS, _no,    _NAMES),
    QPType.XRC_RECV:   Transport(Service.XRC,  _ACKS,       _PEER,    _no,    _TAKES, _NAMES),
}
# fmt: on
