"""A refused `modify_qp`: the rule of its transition, and lines that are legal instead."""

from collections import deque
from itertools import pairwise

from rdmalab.command import CallArguments
from rdmalab.hca.attributes import AhAttr
from rdmalab.hca.qp import QueuePair
from rdmalab.repair.bring_up import partner
from rdmalab.repair.commands import address_words
from rdmalab.session.session import Session
from rdmalab.spec.access import Access
from rdmalab.spec.profiles import Profile
from rdmalab.spec.row import dataclass
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
    usual_word,
)
from rdmalab.views import fmt

_FROM_PEER = {"rq_psn": "sq_psn", "sq_psn": "rq_psn", "path_mtu": "path_mtu", "qkey": "qkey"}
_OF_MOVE = ("attr-missing", "attr-surplus")
_NEVER = ("cur_qp_state", "alt_ah_attr", "alt_pkey_index", "alt_port_num", "alt_timeout", "cap")
_RTS = (*BRING_UP, QPState.SQD)


@dataclass(slots=True)
class ModifyCall:
    """One modify_qp call: the state before it, the requested state, the given attributes."""

    qp: QueuePair
    now: QPState
    to: int
    given: CallArguments

    def is_undefined(self, profile: Profile, name: str) -> bool:
        """Whether the value that was given for an attribute is none that it can have."""
        value, row = self.given[name], profile.attributes[name]
        return isinstance(value, int) and row.is_undefined(value, profile.caps)


def rule_text(profile: Profile, call: ModifyCall, rule: str) -> list[str]:
    """The requirement that the call did not meet, as sentences; [] if the rule names a value."""
    if call.to not in tuple(QPState):
        return [f"there is no state {call.to}"]
    to = QPState(call.to)
    move = MOVES.get((call.qp.qp_type, call.now, to))
    if rule == "transition" or (move is None and rule in _OF_MOVE):
        names = ", ".join(state.name for state in legal_next(call.qp.qp_type, call.now))
        return [f"from {call.now.name} there is a way to {names}"]
    if move is not None and rule in _OF_MOVE:
        needs, may = (" ".join(fields_of(mask)) for mask in move)
        also = f"also allows {may}" if may else "allows nothing else"
        return [f"{call.now.name} to {to.name} requires {needs or 'nothing'}; it {also}"]
    rows = profile.attributes
    wrong = [name for name in call.given if name in rows and call.is_undefined(profile, name)]
    return [f"{name} takes {rows[name].takes(profile.caps)}" for name in wrong]


# --------------------------------------------------------------------------- the right lines
def legal_lines(session: Session, call: ModifyCall) -> list[str]:
    """The call, over the states between where there is no direct way; [] if a value is unknown."""
    if call.to not in tuple(QPState):
        return []
    lines = []
    for now, to in _legs(call.qp.qp_type, call.qp.state, QPState(call.to)):
        given = _attributes(session, call, MOVES[call.qp.qp_type, now, to])
        if given is None:
            return []
        lines.append(_line(session, call.qp, to, given))
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


def _attributes(session: Session, call: ModifyCall, move: Move) -> dict[str, str] | None:
    """Every attribute of this transition: as it was given, within its range, or the usual value."""
    required, optional = move.required, move.optional
    given: dict[str, str] = {}
    for name, row in ATTRIBUTES.items():
        if not row.mask & (required | optional) or name in _NEVER:
            continue
        if name in call.given or (name == "ah_attr" and "ah" in call.given):
            given[name] = _word(session, call, name)
        elif row.mask & required:
            usual = usual_value(session, call.qp, name)
            if usual is None:
                return None
            given[name] = usual
    return given


def usual_value(session: Session, qp: QueuePair, name: str) -> str | None:
    """The value of an attribute that was not given; None if only the program can choose it.

    What both ends must agree on is what the peer has. ah_attr: the name of the peer's node.
    """
    peer = partner(session.world, qp)
    if name in ("dest_qp_num", "ah_attr"):
        if peer is None:
            return None
        return session.names.of(peer.thing) if name == "dest_qp_num" else peer.node
    if peer is not None and (value := getattr(peer.attr, _FROM_PEER.get(name, ""), None)):
        return str(MTU.in_bytes(value) if name == "path_mtu" else value)
    return None if name == "qkey" else usual_word(name) or None


def _word(session: Session, call: ModifyCall, name: str) -> str:
    """A value in the syntax of `modify_qp`, clamped to its range."""
    if name == "ah_attr":
        return _address(session, call)
    value = call.given[name]
    if not isinstance(value, int):
        return str(value)
    profile = session.world.nodes[call.qp.node].profile
    row = profile.attributes[name]
    highest = row.highest(profile.caps)
    if call.is_undefined(profile, name) and highest is not None:
        flags = row.mask is Attr.ACCESS_FLAGS
        value = value & highest if flags else min(max(value, row.low), highest)
    if name == "path_mtu":
        return str(MTU(value).octets)
    if name == "qp_access_flags":
        return fmt.flags(value, Access)
    return MigState(value).name if name == "path_mig_state" else str(value)


def _address(session: Session, call: ModifyCall) -> str:
    """The address, by the port in use."""
    given = call.given.get("ah_attr")
    if not isinstance(given, dict):
        return str(call.given["ah"])
    port = call.given.get("port_num", call.qp.attr.port_num) or 1
    return address_words(session.world, AhAttr(**{**given, "port_num": port}))


def _line(session: Session, qp: QueuePair, to: QPState, given: dict[str, str]) -> str:
    if given.get("ah_attr") in session.world.nodes:
        given["ah"] = given.pop("ah_attr")
    keys = [f"{name}={value}" for name, value in given.items()]
    return " ".join([f"modify_qp {session.names.of(qp.thing)} state={to.name}", *keys])
