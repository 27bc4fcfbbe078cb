"""Flow rules as data, and steering: which queue pairs get a frame that has arrived."""

from rdmalab.command import Refused
from rdmalab.hca.adapter import Adapter
from rdmalab.hca.errors import refused
from rdmalab.hca.lifecycle import check_limit, created, destroyed
from rdmalab.hca.objects import Flow, FlowAttr, FlowSpec
from rdmalab.hca.port import ETHERNET
from rdmalab.hca.qp import QueuePair
from rdmalab.spec.flows import DEFAULTS, FlowFlags, FlowType
from rdmalab.spec.limits import DeviceCap
from rdmalab.spec.states import QPType
from rdmalab.wire.frame import Frame
from rdmalab.wire.headers import IPv4
from rdmalab.wire.packet import gid_text, mapped_gid

_DONT_TRAP = int(FlowFlags.DONT_TRAP)


def spelled_field(name: str, value: int) -> str:
    """A value as a person writes it: `02:00:0a:00:00:02`, `10.0.0.2`, `0x800`, `80`."""
    if name.endswith("_mac"):
        return ":".join(f"{octet:02x}" for octet in value.to_bytes(6, "big"))
    if name.endswith("_ip"):
        return gid_text(value).removeprefix("::ffff:")
    return hex(value) if name == "ether_type" else str(value)


# --------------------------------------------------------------------------- steering
def steer(hca: Adapter, frame: Frame) -> list[int]:
    """The queue pairs that get this frame, each once."""
    rules = [flow for flow in hca.flows.items.values() if flow.attr.type == FlowType.NORMAL]
    fields = facts(frame)
    fitting = [flow for flow in rules if flow.spec.items() <= fields.items()]
    fitting.sort(key=lambda flow: flow.attr.priority)
    targets: list[int] = []
    for flow in fitting:
        targets += [same.qp for same in fitting if _is_twin(same, flow)]
        if not int(flow.attr.flags) & _DONT_TRAP:
            return _once(targets)
    return _once([*targets, *_by_default(hca, frame)])


def sniffers(hca: Adapter) -> list[int]:
    """The queue pairs that get a copy of every frame."""
    rules = hca.flows.items.values()
    return _once([flow.qp for flow in rules if flow.attr.type == FlowType.SNIFFER])


def _is_twin(one: Flow, other: Flow) -> bool:
    """True for two rules with the same fields; they share their frames."""
    return (one.attr.priority, one.spec) == (other.attr.priority, other.spec)


def _by_default(hca: Adapter, frame: Frame) -> list[int]:
    for kind in DEFAULTS:
        targets = [flow.qp for flow in hca.flows.items.values() if flow.attr.type == kind]
        if targets and (frame.is_group or kind is FlowType.ALL_DEFAULT):
            return targets
    return []


def _once(numbers: list[int]) -> list[int]:
    return list(dict.fromkeys(numbers))


def facts(frame: Frame) -> dict[str, int]:
    """The fields of a frame that a rule can ask for, by name; those that it has."""
    fields = {"dst_mac": frame.dst_mac, "src_mac": frame.src_mac, "ether_type": frame.ethertype}
    inside = frame.inside
    if (ip := inside.ip) is not None:
        is_old = isinstance(ip, IPv4)
        fields["src_ip"], fields["dst_ip"] = (
            mapped_gid(address) if is_old else address for address in (ip.src, ip.dst)
        )
        fields["protocol"] = inside.protocol
    if inside.transport is not None:
        fields["src_port"], fields["dst_port"] = inside.transport.sport, inside.transport.dport
    return fields


# --------------------------------------------------------------------------- rules come and go
_STEERED = frozenset({QPType.RAW_PACKET})
_STEERS = int(DeviceCap.MANAGED_FLOW_STEERING)


def create(hca: Adapter, qp: QueuePair, attr: FlowAttr, spec: FlowSpec) -> Flow:
    """Create a rule that applies from now on, or raise Refused."""
    refusal = _judge_device(hca) or _judge(hca, qp, attr, spec)
    if refusal is not None:
        raise refusal
    check_limit(hca, hca.flows)
    flow = Flow(hca.flows.next_number, qp.number, attr, spec.given())
    created(hca, hca.flows, flow)
    return flow


def _judge_device(hca: Adapter) -> Refused | None:
    caps = hca.profile.caps
    if hca.lids:
        return refused(hca.profile, "raw-ethernet", legal=f"port {hca.node} {ETHERNET}")
    if not caps.device_cap_flags & _STEERS:
        return refused(hca.profile, "flow-support")
    if not caps.cap_net_raw:
        return refused(hca.profile, "net-raw", legal="give the process CAP_NET_RAW")
    return None


def _judge(hca: Adapter, qp: QueuePair, attr: FlowAttr, spec: FlowSpec) -> Refused | None:
    profile = hca.profile
    if qp.qp_type not in _STEERED:
        return refused(profile, "flow-qp-type", qp.qp_type.name, argument="qp")
    if not 1 <= attr.port <= profile.caps.phys_port_cnt:
        return refused(profile, "flow-port", attr.port, argument="port", legal="port=1")
    if attr.type not in tuple(FlowType):
        legal = " ".join(kind.name for kind in FlowType)
        return refused(profile, "flow-type", int(attr.type), argument="type", legal=legal)
    parts = [*spec.given(), *(["flags"] if attr.flags else [])]
    if attr.type != FlowType.NORMAL and parts:
        return refused(profile, "flow-spec", parts[0], argument=parts[0], legal="type=NORMAL")
    return None


def destroy(hca: Adapter, flow: Flow) -> None:
    """Destroy the rule; its frames go where other rules send them, or are dropped."""
    destroyed(hca, hca.flows, flow)
