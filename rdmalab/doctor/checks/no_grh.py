"""no-grh: an address without a global routing header, where only such addresses exist."""

from typing import Any

from rdmalab.command import Ref
from rdmalab.doctor.case import Case
from rdmalab.doctor.finding import NA, Check, Finding, Fix, Section, fail, ok, said
from rdmalab.doctor.log import Call
from rdmalab.spec.access import Access
from rdmalab.spec.states import MTU, QPState
from rdmalab.views import fmt


def examine(case: Case) -> Finding:
    """Whether a call was refused because its address has is_global=0."""
    call = case.call
    if call is None or call.verb not in ("modify_qp", "create_ah"):
        return NA
    if call.refusal != "ah-global":
        return ok("that its address is global was not in question")
    given = call.invocation.arguments.get("attr", {}) if call.invocation is not None else {}
    address = given.get("ah_attr", given)
    return fail(
        said(f"{call.verb} was given is_global=0 dlid={address.get('dlid', 0)}", call.event),
        said(f"the port of {call.thing[0]} is Ethernet, where a LID leads nowhere"),
        cure=_cure(case, call, given),
    )


def _cure(case: Case, call: Call, given: dict[str, Any]) -> Fix | None:
    """The same call, with the address of the node that must have been meant."""
    node = _meant(case, call.thing[0], given)
    if not node or call.invocation is None:
        return None
    arguments = call.invocation.arguments
    if call.verb == "create_ah":
        return Fix([f"create_ah {arguments['ah']} pd={arguments['pd']} to={node}"])
    words_ = [_word(name, value) for name, value in given.items() if name != "ah_attr"]
    return Fix([" ".join(["modify_qp", str(arguments["qp"]), *words_, f"ah={node}"])])


def _meant(case: Case, own: str, given: dict[str, Any]) -> str:
    """The node of the queue pair that is named as the peer, or the only one it can be.

    A LID is likely to be the last octet of the address.
    """
    peer = given.get("dest_qp_num")
    if isinstance(peer, Ref):
        return peer.node
    nodes, lid = case.world.nodes, given.get("ah_attr", given).get("dlid")
    others = [name for name in nodes if name != own]
    having = [name for name in others if peer in nodes[name].qps.items]
    chosen = having or [name for name in others if nodes[name].host == lid] or others
    return chosen[0] if len(chosen) == 1 else ""


def _word(name: str, value: Any) -> str:
    """One attribute of a call as it is typed."""
    if name == "qp_state":
        return f"state={fmt.member(value, QPState)}"
    if name == "path_mtu" and value in tuple(MTU):
        return f"path_mtu={MTU(value).octets}"
    if name == "qp_access_flags":
        return f"{name}={fmt.flags(value, Access)}"
    return f"{name}={value}"


CHECK = Check(
    46, "no-grh", Section.PEER,
    question="Was an address given without is_global=1, on an Ethernet port?",
    rule="RoCE has no LIDs: every address needs is_global=1, a dgid and a sgid_index",
    source="ibv_create_ah(3)", examine=examine,
)  # fmt: skip
