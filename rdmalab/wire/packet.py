"""A packet as the engines use it: addresses, headers, payload; no bytes."""

from dataclasses import field
from ipaddress import IPv4Address, IPv6Address

from rdmalab.spec.opcodes import OPCODES, Opcode
from rdmalab.spec.row import dataclass
from rdmalab.wire.checksum import ICRC_LENGTH
from rdmalab.wire.header import Header
from rdmalab.wire.headers import (
    AETH,
    BTH,
    DETH,
    FETH,
    GRH,
    IETH,
    LRH,
    RETH,
    UDP,
    XRCETH,
    AtomicAckETH,
    AtomicETH,
    Ethernet,
    ImmDt,
    IPv4,
    IPv6,
)

MAPPED = 0xFFFF  # the upper 96 bits of ::ffff:a.b.c.d
VCRC_LENGTH = 2
MULTICAST_LID = 0xC000  # the first one; 0xffff is the permissive LID

# What stands before the BTH of a flow's packets.
IPV6, IPV4, LOCAL, GLOBAL = range(4)


@dataclass(slots=True, unsafe_hash=True)
class Flow:
    """Source, destination and header form that all packets of a QP or an address handle share.

    form: the headers before the BTH. Immutable, like a packet.
    """

    src: int  # GIDs; an IPv4 address is ::ffff:a.b.c.d; on InfiniBand LIDs
    dst: int
    sport: int
    hop_limit: int = 64
    traffic_class: int = 0
    flow_label: int = 0  # travels with IPv6 only
    src_mac: int = 0
    dst_mac: int = 0
    form: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self.form = IPV4 if self.dst >> 32 == self.src >> 32 == MAPPED else IPV6

    @property
    def has_grh(self) -> bool:
        """True if a datagram brings the addresses of its sender and its target."""
        return True

    @property
    def gids(self) -> tuple[int, int]:
        """The addresses of the network layer, source first."""
        return self.src, self.dst


@dataclass(slots=True, unsafe_hash=True)
class LidFlow(Flow):
    """A Flow on InfiniBand: src and dst are LIDs, sl is the service level.

    sgid, dgid: of the GRH, with hop_limit, traffic_class and flow_label; both 0: there is no GRH.
    """

    sport: int = 0
    sl: int = 0
    sgid: int = 0
    dgid: int = 0

    def __post_init__(self) -> None:
        self.form = GLOBAL if self.sgid or self.dgid else LOCAL

    @property
    def has_grh(self) -> bool:
        return self.form == GLOBAL

    @property
    def gids(self) -> tuple[int, int]:
        return self.sgid, self.dgid


@dataclass(slots=True)
class Packet:
    """Immutable by convention; a frozen dataclass takes four times as long to create."""

    flow: Flow
    opcode: int
    dest_qp: int
    psn: int
    payload: bytes = b""
    ack_req: bool = False
    solicited: bool = False
    pkey: int = 0xFFFF
    migrated: bool = False
    fecn: bool = False
    becn: bool = False
    reth: RETH | None = None
    atomiceth: AtomicETH | None = None
    aeth: AETH | None = None
    atomicacketh: AtomicAckETH | None = None
    immdt: ImmDt | None = None
    ieth: IETH | None = None
    deth: DETH | None = None
    xrceth: XRCETH | None = None
    feth: FETH | None = None

    @property
    def opcode_row(self) -> Opcode:
        return OPCODES[self.opcode]

    @property
    def size(self) -> int:
        """Bytes from the IP header to the ICRC."""
        return wire_length(self) - Ethernet.LENGTH


# An extended header has the name of its class in `Packet`, in the opcode table and in a capture.
EXTENDED: dict[str, type[Header]] = {
    kind.__name__.lower(): kind
    for kind in (RETH, AtomicETH, AETH, AtomicAckETH, ImmDt, IETH, DETH, XRCETH, FETH)
}

# Bytes of a packet with this opcode, from UDP on, that are neither payload nor pad.
OVERHEAD: dict[int, int] = {
    code: UDP.LENGTH + BTH.LENGTH + sum(EXTENDED[name].LENGTH for name in row.headers) + ICRC_LENGTH
    for code, row in OPCODES.items()
}


_LOCAL = LRH.LENGTH + VCRC_LENGTH - UDP.LENGTH

# Bytes of the frame that are neither payload nor pad, by form and opcode.
_FRAME: tuple[dict[int, int], ...] = tuple(
    {code: around + octets for code, octets in OVERHEAD.items()}
    for around in (
        Ethernet.LENGTH + IPv6.LENGTH, Ethernet.LENGTH + IPv4.LENGTH, _LOCAL, _LOCAL + GRH.LENGTH
    )
)  # fmt: skip


def wire_length(packet: Packet) -> int:
    """Bytes of the whole packet: from Ethernet to ICRC (no FCS), or from LRH to VCRC."""
    return _FRAME[packet.flow.form][packet.opcode] + (len(packet.payload) + 3 & ~3)


LINK_LOCAL = 0xFE80 << 112
"""The GID fe80:: without an interface id."""


def mapped_gid(address: int) -> int:
    """The GID of an IPv4 address given as a number."""
    return MAPPED << 32 | address


def ipv4_gid(address: str) -> int:
    """The GID ::ffff:a.b.c.d of a dotted IPv4 address; raises ValueError if malformed."""
    return mapped_gid(int(IPv4Address(address)))


def mac_of(gid: int) -> int:
    """A locally administered MAC made of the last octets of an address; of a group, the group's."""
    if not is_multicast(gid):
        return 0x02_00_00_00_00_00 | gid & 0xFFFFFFFF
    if gid >> 32 == MAPPED:
        return 0x01_00_5E_00_00_00 | gid & 0x7FFFFF
    return 0x33_33_00_00_00_00 | gid & 0xFFFFFFFF


def is_multicast(gid: int) -> bool:
    """True for IPv6 ff00::/8 or, mapped, IPv4 224.0.0.0/4."""
    if gid >> 32 == MAPPED:
        return gid >> 28 & 0xF == 0xE
    return gid >> 120 == 0xFF


def gid_text(gid: int) -> str:
    """A GID as text: ::ffff:a.b.c.d if it holds an IPv4 address, else IPv6."""
    if gid >> 32 == MAPPED:
        return f"::ffff:{IPv4Address(gid & 0xFFFFFFFF)}"
    return str(IPv6Address(gid))
