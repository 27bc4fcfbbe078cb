"""XRC domains: they connect shared receive queues and the QPs that use them (IBA annex A14)."""

from typing import TYPE_CHECKING

from rdmalab.hca import srq

if TYPE_CHECKING:
    from rdmalab.hca.device import Hca
    from rdmalab.hca.dma import SrqUser
    from rdmalab.hca.qp import QueuePair
    from rdmalab.hca.srq import SharedReceiveQueue
    from rdmalab.wire.packet import Packet


class XrcDomain:
    """`ibv_xrcd`, one opening of a domain. fd: the file it hangs on, PRIVATE for none.

    domain: the number of the opening that made it; openings of one file share it.
    """

    __slots__ = ("domain", "fd", "number")

    def __init__(self, number: int, fd: int, domain: int) -> None:
        self.number = number
        self.fd = fd
        self.domain = domain


def domain_of(hca: "Hca", number: int) -> int:
    """The domain of an opening; 0 if there is none."""
    xrcd = hca.xrcds.items.get(number)
    return 0 if xrcd is None else xrcd.domain


def named_srq(hca: "Hca", qp: "QueuePair", srqn: int) -> "SharedReceiveQueue | None":
    """The SRQ that a request names, if it lies in the domain of this QP."""
    named = hca.srqs.items.get(srqn)
    if named is None or not named.xrcd:
        return None
    return named if domain_of(hca, named.xrcd) == domain_of(hca, qp.xrcd) else None


def borrower(hca: "Hca", qp: "QueuePair", packet: "Packet") -> "SrqUser":
    """Whose memory an XRC request may touch: that of the PD of the SRQ it names."""
    return srq.borrower(hca, qp, packet.xrceth.srqn if packet.xrceth is not None else 0)
