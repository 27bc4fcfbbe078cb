"""Offloads: checksums of IP packets, and segmentation of TCP streams (TSO)."""

from rdmalab.command import Refused
from rdmalab.hca import dma
from rdmalab.hca.adapter import Adapter
from rdmalab.hca.errors import refused
from rdmalab.hca.psn import MASK
from rdmalab.hca.qp import QueuePair
from rdmalab.hca.wr import SendWqe, SendWR
from rdmalab.spec.limits import DeviceCap
from rdmalab.spec.states import QPType
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import FLAG_TYPES, WORK, SendFlags, WROpcode
from rdmalab.wire import checksum
from rdmalab.wire.inside import Inside, inside_datagram, inside_frame
from rdmalab.wire.segments import Template, segment, template

_TSO = WROpcode.TSO
_IP_CSUM = int(SendFlags.IP_CSUM)
TSO_TYPES = WORK[_TSO].types

# What the device must be able to do so that it fills in, and looks at, a type's checksums.
_CHECKSUMS = {QPType.RAW_PACKET: DeviceCap.RAW_IP_CSUM, QPType.UD: DeviceCap.UD_IP_CSUM}


def headers_of(qp: QueuePair, octets: bytes) -> Inside:
    """The headers inside a frame, or inside an IPoIB datagram."""
    return inside_frame(octets) if qp.service is None else inside_datagram(octets)


# --------------------------------------------------------------------------- posting
def check_checksums(hca: Adapter, qp: QueuePair, flags: int) -> Refused | None:
    """Refuse IP_CSUM where the device does not compute checksums."""
    if not flags & _IP_CSUM or not hca.profile.refuses_unknown_flags:
        return None
    if qp.qp_type not in FLAG_TYPES[SendFlags.IP_CSUM] or _sums(hca, qp):
        return None
    legal = "leave IP_CSUM out"
    return refused(hca.profile, "ip-csum", qp.qp_type.name, argument="flags", legal=legal)


def _sums(hca: Adapter, qp: QueuePair) -> bool:
    needed = _CHECKSUMS.get(qp.qp_type, 0)
    return hca.profile.caps.device_cap_flags & needed != 0


def check_tso(hca: Adapter, qp: QueuePair, wr: SendWR, length: int) -> Refused | None:
    """The header is one, and as long as was asked for; there is a piece length."""
    profile = hca.profile
    if qp.qp_type not in TSO_TYPES:
        return None
    if not profile.caps.max_tso:
        if not profile.refuses_foreign_opcode:
            return None
        return refused(profile, "opcode-support", _TSO.name, argument="opcode")
    return _check_lengths(hca, qp, wr, length) or _check_header(hca, qp, wr)


def _check_lengths(hca: Adapter, qp: QueuePair, wr: SendWR, length: int) -> Refused | None:
    profile, caps = hca.profile, hca.profile.caps
    if not 1 <= wr.hdr_sz <= qp.max_tso_header:
        most = qp.max_tso_header
        legal = "" if most else "make the QP with max_tso_header=64"
        return refused(
            profile, "tso-header-length", most, wr.hdr_sz, argument="hdr_sz", legal=legal
        )
    if wr.mss < 1:
        return refused(profile, "tso-mss", argument="mss", legal="mss=1460")
    if length > caps.max_tso:
        return refused(profile, "tso-length", caps.max_tso, argument="sg")
    return None


def _check_header(hca: Adapter, qp: QueuePair, wr: SendWR) -> Refused | None:
    if not hca.memory.is_mapped(wr.hdr_addr, wr.hdr_sz):
        return refused(hca.profile, "crash-hdr", hex(wr.hdr_addr), argument="hdr")
    if header_of(hca, qp, wr) is None:
        before = "Ethernet" if qp.service is None else "4 bytes of IPoIB"
        legal = f"{before}, IPv4 or IPv6, TCP"
        return refused(hca.profile, "tso-headers", argument="hdr", legal=legal)
    return None


def header_of(hca: Adapter, qp: QueuePair, wr: SendWR) -> Template | None:
    """The header of a TSO, copied as the CPU copies it when the request is posted."""
    if qp.qp_type not in TSO_TYPES or not hca.profile.caps.max_tso:
        return None
    return template(hca.memory.read(wr.hdr_addr, wr.hdr_sz), is_frame=qp.service is None)


# --------------------------------------------------------------------------- sending
def longest(wqe: SendWqe) -> int:
    """The bytes of the longest message that this request sends."""
    if wqe.header is None:
        return wqe.length
    return len(wqe.header.octets) + min(wqe.length, wqe.wr.mss)


def next_message(hca: Adapter, qp: QueuePair, wqe: SendWqe) -> bytes | WCStatus:
    """The bytes of the request's next frame or datagram, or the status with which it fails."""
    if wqe.header is not None:
        return _next_piece(hca, qp, wqe, wqe.header)
    octets = dma.gather(hca, qp, wqe, 0, wqe.length)
    if isinstance(octets, bytes) and wqe.flags & _IP_CSUM and _sums(hca, qp):
        return checksum.filled(octets, headers_of(qp, octets))
    return octets


def _next_piece(hca: Adapter, qp: QueuePair, wqe: SendWqe, header: Template) -> bytes | WCStatus:
    psn, mss = qp.req.psn, wqe.wr.mss
    index = (psn - wqe.first_psn) & MASK
    octets = dma.gather(hca, qp, wqe, index * mss, min(mss, wqe.length - index * mss))
    if not isinstance(octets, bytes):
        return octets
    return segment(header, index, index * mss, octets, last=psn == wqe.last_psn)


# --------------------------------------------------------------------------- receiving
def sums_fit(hca: Adapter, qp: QueuePair, octets: bytes) -> bool:
    """True if the device has looked at the checksums and found them right."""
    return _sums(hca, qp) and checksum.is_right(octets, headers_of(qp, octets))
