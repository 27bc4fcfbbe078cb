"""TCP segmentation: one header before each segment of a stream, with its fields advanced."""

from dataclasses import replace
from typing import NamedTuple

from rdmalab.wire import checksum
from rdmalab.wire.headers import TCP, IPv4, IPv6
from rdmalab.wire.inside import Inside, inside_datagram, inside_frame

_FIN, _PSH, _CWR = 0x01, 0x08, 0x80


class Template(NamedTuple):
    """The headers of a stream, up to and including TCP."""

    octets: bytes
    inside: Inside


def template(octets: bytes, *, is_frame: bool) -> Template | None:
    """The headers of a stream; None unless they are all up to and including TCP, and no more."""
    style = inside_frame if is_frame else inside_datagram
    inside = style(octets, is_template=True)
    is_one = isinstance(inside.transport, TCP) and inside.payload_at == len(octets)
    return Template(octets, inside) if is_one else None


def pieces(length: int, mss: int) -> int:
    """The number of segments of a stream of `length` bytes; 1 for a stream without data."""
    return max(1, -(-length // mss))


def segment(header: Template, index: int, offset: int, octets: bytes, *, last: bool) -> bytes:
    """Piece `index` of a stream, whose bytes are those from `offset` on."""
    hdr, inside = header
    whole = bytearray(hdr + octets)
    ip, tcp = _ip(header, index, len(whole)), TCP.unpack(hdr, inside.transport_at)
    tcp.seq = tcp.seq + offset & 0xFFFFFFFF
    # As tcp_gso_segment of Linux: CWR in the first piece only, FIN and PSH in the last only.
    tcp.flags &= ~(_CWR if index else 0) & ~(0 if last else _FIN | _PSH)
    for made, at in ((ip, inside.ip_at), (tcp, inside.transport_at)):
        whole[at : at + made.LENGTH] = made.pack()
    sent = replace(inside, ip=ip, transport=tcp, end=len(whole))
    return checksum.filled(bytes(whole), sent)


def _ip(header: Template, index: int, end: int) -> IPv4 | IPv6:
    """With the length of this piece and, in IPv4, an identification of its own."""
    at = header.inside.ip_at
    if isinstance(header.inside.ip, IPv4):
        ip = IPv4.unpack(header.octets, at)
        ip.total_length = end - at
        # As inet_gso_segment of Linux: each piece has the next identification.
        ip.identification = ip.identification + index & 0xFFFF
        return ip
    longer = IPv6.unpack(header.octets, at)
    longer.payload_length = end - at - IPv6.LENGTH
    return longer
