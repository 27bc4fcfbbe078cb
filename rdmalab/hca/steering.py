"""Flow rules as data, and steering: which queue pairs get a frame that has arrived."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from rdmalab.command import Bits, Noun, RefShorthand, Unit
from rdmalab.hca.attributes import Gid
from rdmalab.spec.flows import DEFAULTS, FlowFlags, FlowType
from rdmalab.wire.headers import IPv4
from rdmalab.wire.packet import gid_text, mapped_gid

if TYPE_CHECKING:
    from rdmalab.hca.device import Hca
    from rdmalab.wire.frame import Frame

_NO_FLAGS = FlowFlags(0)
_DONT_TRAP = int(FlowFlags.DONT_TRAP)

U16 = Annotated[int, Bits(16)]
Mac = Annotated[
    int,
    Unit.MAC,
    Bits(48),
    RefShorthand(Noun.NODE, lambda world, thing, _a, _b: world.find(thing, object).mac),
]


@dataclass(slots=True)
class FlowSpec:
    """The fields that a frame must have: of its Ethernet, IP and TCP or UDP header."""

    dst_mac: Mac | None = None
    src_mac: Mac | None = None
    ether_type: U16 | None = None
    src_ip: Gid | None = None
    dst_ip: Gid | None = None
    protocol: Annotated[int, Bits(8)] | None = None
    src_port: U16 | None = None
    dst_port: U16 | None = None

    def given(self) -> dict[str, int]:
        """The fields that have a value, by name."""
        return {
            name: value for name in self.__slots__ if (value := getattr(self, name)) is not None
        }


@dataclass(slots=True)
class FlowAttr:
    """`ibv_flow_attr`; a lower number is a higher priority."""

    C_NAME = "ibv_flow_attr"

    type: FlowType = FlowType.NORMAL
    priority: U16 = 0
    port: Annotated[int, Bits(8)] = 1
    flags: FlowFlags = _NO_FLAGS


@dataclass(slots=True)
class Flow:
    """`ibv_flow`: a rule, and the queue pair it leads to."""

    number: int
    qp: int
    attr: FlowAttr
    spec: dict[str, int]


def spelled_field(name: str, value: int) -> str:
    """A value as a person writes it: `02:00:0a:00:00:02`, `10.0.0.2`, `0x800`, `80`."""
    if name.endswith("_mac"):
        return ":".join(f"{octet:02x}" for octet in value.to_bytes(6, "big"))
    if name.endswith("_ip"):
        return gid_text(value).removeprefix("::ffff:")
    return hex(value) if name == "ether_type" else str(value)


# --------------------------------------------------------------------------- steering
def steer(hca: "Hca", frame: "Frame") -> list[int]:
    """The queue pairs that get this frame, each once."""
    rules = [flow for flow in hca.flows.items.values() if flow.attr.type == FlowType.NORMAL]
    said = facts(frame)
    fitting = [flow for flow in rules if flow.spec.items() <= said.items()]
    fitting.sort(key=lambda flow: flow.attr.priority)
    targets: list[int] = []
    for flow in fitting:
        targets += [same.qp for same in fitting if _is_twin(same, flow)]
        if not int(flow.attr.flags) & _DONT_TRAP:
            return _once(targets)
    return _once([*targets, *_by_default(hca, frame)])


def sniffers(hca: "Hca") -> list[int]:
    """The queue pairs that get a copy of every frame."""
    rules = hca.flows.items.values()
    return _once([flow.qp for flow in rules if flow.attr.type == FlowType.SNIFFER])


def _is_twin(one: Flow, other: Flow) -> bool:
    """True for two rules with the same fields; they share their frames."""
    return (one.attr.priority, one.spec) == (other.attr.priority, other.spec)


def _by_default(hca: "Hca", frame: "Frame") -> list[int]:
    for kind in DEFAULTS:
        targets = [flow.qp for flow in hca.flows.items.values() if flow.attr.type == kind]
        if targets and (frame.is_group or kind is FlowType.ALL_DEFAULT):
            return targets
    return []


def _once(numbers: list[int]) -> list[int]:
    return list(dict.fromkeys(numbers))


def facts(frame: "Frame") -> dict[str, int]:
    """What a rule can ask of a frame; what the frame does not have is not there."""
    said = {"dst_mac": frame.dst_mac, "src_mac": frame.src_mac, "ether_type": frame.ethertype}
    inside = frame.inside
    if (ip := inside.ip) is not None:
        is_old = isinstance(ip, IPv4)
        said["src_ip"], said["dst_ip"] = (
            mapped_gid(address) if is_old else address for address in (ip.src, ip.dst)
        )
        said["protocol"] = inside.protocol
    if inside.transport is not None:
        said["src_port"], said["dst_port"] = inside.transport.sport, inside.transport.dport
    return said
