"""The keys and values that a verb accepts now, from the tables of `spec/`."""

import dataclasses
from collections.abc import Callable
from typing import Any

from rdmalab.command import EnumKind, New, Noun, Ref, Thing
from rdmalab.grammar.arguments import Slot, keys_of_command
from rdmalab.grammar.partial import Expected
from rdmalab.hca import extended, send_checks
from rdmalab.hca.attributes import QpAttr
from rdmalab.hca.qp import QueuePair
from rdmalab.hca.wr import SendWR
from rdmalab.session.session import Session
from rdmalab.spec.access import FOR_QP, Access
from rdmalab.spec.row import dataclass
from rdmalab.spec.states import ATTRIBUTES, MOVES, MTU, Attr, QPState, QPType, legal_next
from rdmalab.spec.transports import Transport
from rdmalab.spec.work import FLAG_TYPES, READ_BY_SOME, WORK, SendFlags, SendOps, Work, WROpcode
from rdmalab.views import fmt
from rdmalab.wire.packet import gid_text
from rdmalab.workbench.shortcuts import ConnectOptions
from rdmalab.world.relations import exists
from rdmalab.world.world import World

# Arguments that name something of the other side.
_PEERS = (
    *("remote", "rkey", "ah", "to", "dest_qp_num", "peer", "b"),
    *("remote_qpn", "remote_srqn", "invalidate_rkey"),
)


@dataclass(frozen=True, slots=True)
class Choice:
    """A candidate and its description. rank: smaller comes first."""

    text: str
    meta: str = ""
    rank: int = 0


@dataclass(slots=True)
class CompletionContext:
    """A session, what is expected at the cursor, and the line up to there."""

    session: Session
    expected: Expected
    before: str

    def given(self, *path: str) -> Any:
        """The value typed for a key (given by its path) elsewhere in the command.

        None if there is none.
        """
        part = self.expected.given.get(".".join(path))
        return None if part is None or part.wrong is not None else part.value

    @property
    def node(self) -> str:
        """The node of the command's object; empty while none is typed."""
        for part in self.expected.given.values():
            if part.argument.key is None and isinstance(part.value, Ref | New):
                return part.value.node
        return ""

    def object(self, key: str) -> object:
        """The existing object that a key names; None if there is none."""
        ref = self.given(key)
        thing = self.session.names.find(f"{ref.node}.{ref.name}") if isinstance(ref, Ref) else None
        world = self.session.world
        return world.find(thing, object) if thing is not None and exists(world, thing) else None

    @property
    def qp(self) -> QueuePair | None:
        """The existing queue pair that the key qp names; None if there is none."""
        found = self.object("qp")
        return found if isinstance(found, QueuePair) else None

    def things(self, noun: Noun | None, slot: Slot) -> list[Thing]:
        """The names of existing objects that fit here, the most likely first."""
        living = self.session.names.living(self.session.world, noun)
        is_peer = slot.parameter.name in _PEERS and noun is not Noun.AH
        node = self.node
        if noun is None or not node:
            own = self.session.default_node
            return sorted(living, key=lambda thing: thing.node != own)
        return [thing for thing in living if (thing.node != node) is is_peer]

    def is_near(self, slot: Slot) -> bool:
        """Whether the menu shows a key; optional fields of a record appear only once typed."""
        if (
            self.expected.partial
            or self.expected.record is not None
            or self.expected.command is None
        ):
            return True
        outer = [slot.path[:depth] for depth in range(2, len(slot.path))]
        keys = keys_of_command(self.expected.command)
        return not any(keys.at(path).kind.nullable for path in outer)

    def flags_before(self) -> set[str]:
        """The flags already typed in `A|B|`."""
        start = self.expected.place.start
        text = self.before[:start].replace(" ", "")
        words = text.rpartition("=")[2] if text.endswith("|") else ""
        return {word.upper() for word in words.split("|") if word}


def about(world: World, thing: Thing) -> str:
    """A short description of an object, for a menu."""
    say = _ABOUT.get(thing.noun)
    return "" if say is None else say(world.find(thing, object))


_ABOUT: dict[Noun, Callable[[Any], str]] = {
    Noun.QP: lambda qp: f"{qp.qp_type.name} {qp.number:#x} {qp.state.name}",
    Noun.MR: lambda mr: (
        f"{mr.length} bytes, lkey {mr.lkey:#x}, rkey {mr.rkey:#x}, {rights(mr.access)}"
    ),
    Noun.MW: lambda mw: f"{mw.type.name}, {'free' if mw.binding is None else 'bound'}",
    Noun.CQ: lambda cq: f"{len(cq.cqes)}/{cq.capacity} completions",
    Noun.SRQ: lambda srq: f"{srq.srq_type.name} {srq.number:#x}, {len(srq.wqes)} receives posted",
    Noun.XRCD: lambda xrcd: f"domain {xrcd.domain}",
    Noun.AH: lambda ah: f"to {gid_text(ah.attr.dgid).removeprefix('::ffff:')}",
    Noun.CHANNEL: lambda channel: fmt.count(len(channel.events), "event"),
    Noun.PROGRAM: lambda program: f"{program.state.name}: {program.line.text}",
    Noun.NODE: lambda hca: f"profile {hca.profile.name}",
}


def rights(access: int) -> str:
    """`LOCAL_WRITE|REMOTE_WRITE`."""
    return (
        "|".join(flag.name or "" for flag in Access if flag & access) or "read by its own HCA only"
    )


REQUIRED_FIRST, THEN_OPTIONAL, THEN_THE_REST = range(3)


@dataclass(frozen=True, slots=True)
class ArgumentVerdict:
    """A key that may be given. word: `required RESET→INIT`. values: listed if there are few."""

    rank: int = THEN_OPTIONAL
    word: str = ""
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PendingMove:
    """The transition that an incomplete modify_qp asks for."""

    qp: QueuePair
    to: QPState

    @property
    def name(self) -> str:
        return f"{self.qp.state.name}→{self.to.name}"


def judge_key(here: CompletionContext, slot: Slot) -> ArgumentVerdict | None:
    """Required or optional for a key; None if the verb refuses or ignores it."""
    command = here.expected.command
    judge = _KEY_JUDGES.get(command.name) if command is not None else None
    if judge is not None:
        return judge(here, slot)
    required = slot.parameter.required
    return ArgumentVerdict(REQUIRED_FIRST if required else THEN_OPTIONAL)


# --------------------------------------------------------------------------- modify_qp
def asked_move(here: CompletionContext) -> PendingMove | None:
    """The transition; None while the QP is unknown or the transition is illegal."""
    qp = here.qp
    if qp is None:
        return None
    state = here.given("attr", "qp_state")
    to = qp.state if state is None else state
    if to not in _onward(here, qp):
        return None
    return PendingMove(qp, QPState(to))


def attribute_of(slot: Slot) -> str:
    """The attribute of modify_qp that a key sets or is part of."""
    if slot.path[0] != "attr" or len(slot.path) < 2:
        return ""
    return slot.spread.fills[0] if slot.spread is not None else slot.path[1]


def judge_attribute(here: CompletionContext, slot: Slot) -> ArgumentVerdict | None:
    """Required or optional for an attribute of modify_qp; None if it is refused or given."""
    name = attribute_of(slot)
    if name not in ATTRIBUTES:
        return ArgumentVerdict(THEN_THE_REST) if here.expected.partial else None
    mask = ATTRIBUTES[name].mask
    qp = here.qp
    if mask is Attr.STATE:
        return _judge_state(here)
    move = asked_move(here)
    given = _given_mask(here) & ~Attr.ALT_PATH  # one bit, four attributes
    if move is None or mask & given or _has_no_alternate(here, mask):
        return ArgumentVerdict() if qp is None else None
    return _judge_for(move, mask, slot)


def _has_no_alternate(here: CompletionContext, mask: Attr) -> bool:
    """Whether an attribute is of an alternate path and no port is InfiniBand."""
    hca = here.session.world.nodes.get(here.node)
    return mask is Attr.ALT_PATH and (hca is None or not hca.lids)


def _judge_state(here: CompletionContext) -> ArgumentVerdict:
    qp = here.qp
    if qp is None:
        return ArgumentVerdict(REQUIRED_FIRST, "the state to enter")
    nexts = _onward(here, qp)
    word = f"from {qp.state.name}"
    return ArgumentVerdict(REQUIRED_FIRST, word, tuple(state.name for state in nexts))


def _judge_for(move: PendingMove, mask: Attr, slot: Slot) -> ArgumentVerdict | None:
    row = MOVES[move.qp.qp_type, move.qp.state, move.to]
    if mask & row.required:
        if attribute_of(slot) == "ah_attr" and slot.spread is None:  # `ah=B` says all of it
            return ArgumentVerdict(THEN_THE_REST, f"required {move.name}")
        return ArgumentVerdict(REQUIRED_FIRST, f"required {move.name}")
    return ArgumentVerdict(THEN_OPTIONAL, f"optional {move.name}") if mask & row.optional else None


def _given_mask(here: CompletionContext) -> Attr:
    mask = Attr(0)
    for part in here.expected.given.values():
        name = attribute_of(part.slot) if part.slot else ""
        if name in ATTRIBUTES and len(part.slot.path if part.slot else ()) == 2:
            mask |= ATTRIBUTES[name].mask
    return mask


# --------------------------------------------------------------------------- post_send
def judge_work(here: CompletionContext, slot: Slot) -> ArgumentVerdict | None:
    """The fields that opcode and QP type read; none if the QP accepts no work."""
    name = slot.path[-1]
    qp = here.qp
    if qp is not None and not _posts(here, qp):
        return None
    if slot.parameter.required:
        return ArgumentVerdict(REQUIRED_FIRST)
    if name in _PITFALLS and not here.expected.partial:
        return None
    if name in _OF_TYPE and qp is not None:
        return ArgumentVerdict(REQUIRED_FIRST, _ADDRESS) if _OF_TYPE[name](qp.transport) else None
    opcode = here.given("wr", "opcode")
    row = WORK.get(WROpcode(opcode)) if opcode in _OPCODES else None
    fields = set(slot.spread.fills if slot.spread is not None else (name,)) & READ_BY_SOME
    if row is None or not fields:
        return ArgumentVerdict()
    rank = REQUIRED_FIRST if name == "remote" else THEN_OPTIONAL
    return ArgumentVerdict(rank) if fields & row.reads else None


def _posts(here: CompletionContext, qp: QueuePair) -> bool:
    """Whether the verb can post in this state and type."""
    command = here.expected.command
    if command is None or command.name != "post_send":
        return qp.state_row.posts_recv
    hca = here.session.world.nodes[qp.node]
    return send_checks.check_state(hca, qp, SendWR(WROpcode.SEND), 0) is None


_OPCODES = frozenset(WROpcode)
_PITFALLS = ("num_sge", "next", "rest", "bad_wr")  # for those who look for them
_ADDRESS = "destination"

# What only some types of queue pairs read in a work request.
_OF_TYPE: dict[str, Callable[[Transport], bool]] = {
    "ah": lambda transport: transport.addressed,
    "remote_qpn": lambda transport: transport.addressed,
    "remote_qkey": lambda transport: transport.addressed,
    "remote_srqn": lambda transport: transport.names_srq,
}

_KEY_JUDGES: dict[str, Callable[[CompletionContext, Slot], ArgumentVerdict | None]] = {
    "modify_qp": judge_attribute,
    "post_send": judge_work,
    "post_recv": judge_work,
}


# --------------------------------------------------------------------------- enum values
def legal_members(here: CompletionContext, slot: Slot, kind: EnumKind) -> dict[int, str] | None:
    """The legal members with a description; None if all of them are legal."""
    judge = _MEMBER_JUDGES.get((kind.enum, slot.parameter.name)) or _MEMBER_JUDGES.get(
        (kind.enum, "")
    )
    return judge(here) if judge is not None else None


def _next_states(here: CompletionContext) -> dict[int, str] | None:
    qp = here.qp
    if qp is None:
        return None
    return {int(to): f"from {qp.state.name}" for to in _onward(here, qp)}


def _onward(here: CompletionContext, qp: QueuePair) -> list[QPState]:
    """The legal next states; last those that do not lead on: RESET, ERR, the present one."""
    last = (QPState.RESET, QPState.ERR, qp.state)
    nexts = legal_next(qp.qp_type, qp.state, here.session.world.nodes[qp.node].profile.lacks_moves)
    return sorted(nexts, key=lambda to: to in last and 1 + last.index(to))


def _current_state(here: CompletionContext) -> dict[int, str] | None:
    qp = here.qp
    return {int(qp.state): "current state"} if qp is not None else None


def _opcodes(here: CompletionContext) -> dict[int, str] | None:
    qp = here.qp
    if qp is None:
        return None
    hca = here.session.world.nodes[qp.node]
    if send_checks.check_state(hca, qp, SendWR(WROpcode.SEND), 0) is not None:
        return {}  # every request would be refused
    able = [o for o in WROpcode if send_checks.check_opcode(hca, qp, SendWR(o), 0) is None]
    return {int(o): _needs(WORK[o]) for o in able}


def _needs(row: Work) -> str:
    parts = ["consumes a receive at the peer"] if row.consumes_receive else []
    parts += [f"needs {row.remote.name} at the peer"] if row.remote else []
    return ", ".join(parts)


def _send_flags(here: CompletionContext) -> dict[int, str] | None:
    qp = here.qp
    if qp is None:
        return None
    opcode = here.given("wr", "opcode")
    row = WORK.get(WROpcode(opcode)) if opcode in _OPCODES else None
    return {
        int(flag): ""
        for flag, types in FLAG_TYPES.items()
        if qp.qp_type in types and (flag is not SendFlags.INLINE or row is None or row.inline)
    }


def _next_flags(here: CompletionContext) -> dict[int, str] | None:
    """The flags of wr_flags; INLINE is set by wr_set_inline_data."""
    legal = _send_flags(here)
    return {f: word for f, word in (legal or {}).items() if f != SendFlags.INLINE} or None


def _builders(here: CompletionContext) -> dict[int, str] | None:
    """The builders (send_ops_flags) that the device has for the given type."""
    qp_type = here.given("init_attr", "qp_type")
    if qp_type not in tuple(QPType):
        return None
    hca = here.session.world.nodes[here.node or here.session.default_node]
    able = extended.supported(hca, QPType(qp_type))
    return {int(flag): "" for flag in SendOps if flag & able}


def can_be_meant(here: CompletionContext, thing: Thing) -> bool:
    """Whether a wr_* command can take this object: only QPs of create_qp_ex have them."""
    command = here.expected.command
    if command is None or not command.name.startswith("wr_") or here.given("qp"):
        return True
    return thing.noun is not Noun.QP or here.session.world.find(thing, QueuePair).ex is not None


def _mtus(here: CompletionContext) -> dict[int, str] | None:
    node = here.node or here.session.default_node
    profile = here.session.world.nodes[node].profile
    highest = profile.attributes["path_mtu"].highest(profile.caps)
    return {int(mtu): "" for mtu in MTU if highest is None or mtu <= highest}


def _qp_types(here: CompletionContext) -> dict[int, str] | None:
    """The QP types that this device supports."""
    node = here.node or here.session.default_node
    return {int(t): "" for t in sorted(here.session.world.nodes[node].profile.qp_types)}


_MEMBER_JUDGES: dict[tuple[type, str], Callable[[CompletionContext], dict[int, str] | None]] = {
    (QPState, "qp_state"): _next_states,
    (QPState, "cur_qp_state"): _current_state,
    (WROpcode, ""): _opcodes,
    (SendFlags, ""): _send_flags,
    (SendFlags, "wr_flags"): _next_flags,
    (SendOps, ""): _builders,
    (QPType, ""): _qp_types,
    (Access, "qp_access_flags"): lambda _here: {int(a): "" for a in Access if a & FOR_QP},
    (MTU, ""): _mtus,
}


# --------------------------------------------------------------------------- values that work
_DEFAULTS = {f.name: f.default for f in dataclasses.fields(ConnectOptions)}
_PROVEN: dict[str, object] = {
    **_DEFAULTS,
    "sq_psn": _DEFAULTS["psn"],
    "rq_psn": _DEFAULTS["psn"],
    "pkey_index": 0,
    "port_num": 1,
}


def recommended(slot: Slot) -> int | None:
    """The value that `connect` sets for this attribute."""
    if attribute_of(slot) not in {f.name for f in dataclasses.fields(QpAttr)}:
        return None
    value = _PROVEN.get(slot.parameter.name)
    return int(value) if isinstance(value, int) else None
