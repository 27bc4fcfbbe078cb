"""A `modify_qp` that was refused: what was asked, what is the law, and the right lines."""

from collections import deque
from dataclasses import dataclass
from itertools import pairwise

from rdmalab.command import CallArguments
from rdmalab.doctor.case import Call, Case, QueuePair
from rdmalab.hca.attributes import AhAttr
from rdmalab.repair import commands
from rdmalab.repair.by_rule import USUAL
from rdmalab.spec.access import Access
from rdmalab.spec.records import Kind, event_of, new_state_of
from rdmalab.spec.states import (
    ATTRIBUTES,
    BRING_UP,
    MOVES,
    MTU,
    Attr,
    MigState,
    Move,
    QPState,
    QPType,
    fields_of,
    legal_next,
)
from rdmalab.views import fmt
from rdmalab.world.relations import find_qp, partner_of

_OF_MOVE = ("attr-missing", "attr-surplus")
_NEVER = ("cur_qp_state", "alt_ah_attr", "alt_pkey_index", "alt_port_num", "alt_timeout", "cap")
_RTS = (*BRING_UP, QPState.SQD)


@dataclass(slots=True)
class ModifyCall:
    """One modify_qp call: the state before it, the requested state, the given attributes."""

    qp_type: QPType
    now: QPState
    to: int
    given: CallArguments


def asked_of(case: Case, call: Call) -> ModifyCall | None:
    """The transition that a modify_qp asked for; None if its arguments or the QP are gone."""
    qp = find_qp(case.world, *call.thing)
    if call.invocation is None or qp is None:
        return None
    given = dict(call.invocation.arguments.get("attr") or {})
    moves = [new_state_of(r) for r in case.log.about(Kind.STATE_CHANGED, qp.thing)
             if event_of(r) < call.event]  # fmt: skip
    now = moves[-1] if moves else QPState.RESET
    if case.profile.believes_cur_state and given.get("cur_qp_state") in tuple(QPState):
        now = QPState(given["cur_qp_state"])
    to = given.pop("qp_state", None)
    return ModifyCall(qp.qp_type, now, int(now if to is None else to), given)


def takes(case: Case, asked: ModifyCall, rule: str) -> list[str]:
    """The law that the call met, in a sentence."""
    if asked.to not in tuple(QPState):
        return [f"there is no state {asked.to}"]
    to = QPState(asked.to)
    move = MOVES.get((asked.qp_type, asked.now, to))
    if rule == "transition" or (move is None and rule in _OF_MOVE):
        names = ", ".join(state.name for state in legal_next(asked.qp_type, asked.now))
        return [f"from {asked.now.name} there is a way to {names}"]
    if move is not None and rule in _OF_MOVE:
        needs, may = (" ".join(fields_of(mask)) or "nothing" for mask in move)
        return [f"{asked.now.name} to {to.name} requires {needs}; it allows {may}"]
    rows, caps = case.profile.attributes, case.profile.caps
    wrong = [name for name in asked.given if name in rows and _is_strange(case, asked, name)]
    return [f"{name} takes {rows[name].takes(caps)}" for name in wrong]


def _is_strange(case: Case, asked: ModifyCall, name: str) -> bool:
    value, row = asked.given[name], case.profile.attributes[name]
    return isinstance(value, int) and row.is_undefined(value, case.profile.caps)


# --------------------------------------------------------------------------- the right lines
def corrected(case: Case, qp: QueuePair, asked: ModifyCall) -> list[str]:
    """Lines of the move, over the states between if there is no direct one; empty if unknown."""
    if asked.to not in tuple(QPState):
        return []
    lines = []
    legs = _legs(asked.qp_type, qp.state, QPState(asked.to))
    for now, to in legs:
        given = _given_attributes(case, qp, asked, MOVES[asked.qp_type, now, to])
        if given is None:
            return []
        lines.append(_line(case, qp, to, given))
    return lines


def _legs(qp_type: QPType, now: QPState, to: QPState) -> list[tuple[QPState, QPState]]:
    """The shortest way along transitions that modify_qp can request."""
    ways = deque([[now, to]] if (qp_type, now, to) in MOVES else [[now]])
    while ways:
        way = ways.popleft()
        if len(way) > 1 and way[-1] is to:
            return list(pairwise(way))
        ways.extend([*way, state] for state in legal_next(qp_type, way[-1])
                    if state not in way and (state in _RTS or state is to))  # fmt: skip
    return []


def _given_attributes(
    case: Case, qp: QueuePair, asked: ModifyCall, move: Move
) -> dict[str, str] | None:
    """Every attribute of this transition: as it was given, within its range, or the usual value."""
    required, optional = move.required, move.optional
    given: dict[str, str] = {}
    for name, row in ATTRIBUTES.items():
        if not row.mask & (required | optional) or name in _NEVER:
            continue
        if name in asked.given or (name == "ah_attr" and "ah" in asked.given):
            given[name] = _word(case, qp, asked, name)
        elif row.mask & required:
            usual = _usual(case, qp, name)
            if usual is None:
                return None
            given[name] = usual
    return given


def _usual(case: Case, qp: QueuePair, name: str) -> str | None:
    """The value of an attribute that was not given; None if only the program can choose it."""
    peer = partner_of(case.world, qp)
    if name in ("dest_qp_num", "ah_attr"):
        if peer is None:
            return None
        return case.qp_name(peer) if name == "dest_qp_num" else peer.node
    if peer is not None and name in _FROM_PEER:
        value = int(getattr(peer.attr, _FROM_PEER[name]) or 0)
        return str(MTU(value).octets) if name == "path_mtu" and value in tuple(MTU) else str(value)
    return USUAL.get(name)


_FROM_PEER = {"rq_psn": "sq_psn", "sq_psn": "rq_psn", "path_mtu": "path_mtu", "qkey": "qkey"}


def _word(case: Case, qp: QueuePair, asked: ModifyCall, name: str) -> str:
    """A value in the syntax of `modify_qp`, clamped to its range."""
    if name == "ah_attr":
        return _address(case, qp, asked)
    value = asked.given[name]
    if not isinstance(value, int):
        return str(value)
    row, caps = case.profile.attributes[name], case.profile.caps
    highest = row.highest(caps)
    if row.is_undefined(value, caps) and highest is not None:
        flags = row.mask is Attr.ACCESS_FLAGS
        value = value & highest if flags else min(max(value, row.low), highest)
    if name == "path_mtu":
        return str(MTU(value).octets)
    if name == "qp_access_flags":
        return fmt.flags(value, Access)
    return MigState(value).name if name == "path_mig_state" else str(value)


def _address(case: Case, qp: QueuePair, asked: ModifyCall) -> str:
    """The address, by the port in use."""
    given = asked.given.get("ah_attr")
    if not isinstance(given, dict):
        return str(asked.given["ah"])
    port = asked.given.get("port_num", qp.attr.port_num) or 1
    return commands.address_words(case, AhAttr(**{**given, "port_num": port}))


def _line(case: Case, qp: QueuePair, to: QPState, given: dict[str, str]) -> str:
    if given.get("ah_attr") in case.world.nodes:
        given["ah"] = given.pop("ah_attr")
    keys = [f"{name}={value}" for name, value in given.items()]
    return " ".join([f"modify_qp {case.qp_name(qp)} state={to.name}", *keys])
