"""`ibv_create_flow`, `ibv_destroy_flow`: required rights, and which rules are legal."""

from typing import TYPE_CHECKING

from rdmalab.hca.errors import refused
from rdmalab.hca.lifecycle import check_limit, created, destroyed
from rdmalab.hca.port import ETHERNET
from rdmalab.hca.steering import Flow, FlowAttr, FlowSpec
from rdmalab.spec.flows import FlowType
from rdmalab.spec.limits import DeviceCap
from rdmalab.spec.states import QPType

if TYPE_CHECKING:
    from rdmalab.command import Refused
    from rdmalab.hca.device import Hca
    from rdmalab.hca.qp import QueuePair

_STEERED = frozenset({QPType.RAW_PACKET})
_STEERS = int(DeviceCap.MANAGED_FLOW_STEERING)


def create(hca: "Hca", qp: "QueuePair", attr: FlowAttr, spec: FlowSpec) -> Flow:
    """Create a rule that applies from now on, or raise Refused."""
    refusal = _judge_device(hca) or _judge(hca, qp, attr, spec)
    if refusal is not None:
        raise refusal
    check_limit(hca, hca.flows)
    flow = Flow(hca.flows.next_number, qp.number, attr, spec.given())
    created(hca, hca.flows, flow)
    return flow


def _judge_device(hca: "Hca") -> "Refused | None":
    caps = hca.profile.caps
    if hca.lids:
        return refused(hca.profile, "raw-ethernet", legal=f"port {hca.node} {ETHERNET}")
    if not caps.device_cap_flags & _STEERS:
        return refused(hca.profile, "flow-support")
    if not caps.cap_net_raw:
        return refused(hca.profile, "net-raw", legal="give the process CAP_NET_RAW")
    return None


def _judge(hca: "Hca", qp: "QueuePair", attr: FlowAttr, spec: FlowSpec) -> "Refused | None":
    profile = hca.profile
    if qp.qp_type not in _STEERED:
        return refused(profile, "flow-qp-type", qp.qp_type.name, argument="qp")
    if not 1 <= attr.port <= profile.caps.phys_port_cnt:
        return refused(profile, "flow-port", attr.port, argument="port", legal="port=1")
    if attr.type not in tuple(FlowType):
        legal = " ".join(kind.name for kind in FlowType)
        return refused(profile, "flow-type", int(attr.type), argument="type", legal=legal)
    said = [*spec.given(), *(["flags"] if attr.flags else [])]
    if attr.type != FlowType.NORMAL and said:
        return refused(profile, "flow-spec", said[0], argument=said[0], legal="type=NORMAL")
    return None


def destroy(hca: "Hca", flow: Flow) -> None:
    """Destroy the rule; its frames go where other rules send them, or are dropped."""
    destroyed(hca, hca.flows, flow)
