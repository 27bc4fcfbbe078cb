"""`ibv_modify_qp`: check against the table first, then change all or nothing."""

from collections.abc import Callable
from typing import Any

from rdmalab.command import Refused
from rdmalab.hca import completer, flush, migration, requester, responder
from rdmalab.hca.adapter import Adapter
from rdmalab.hca.ah import flow_label, flow_to, judge, lone_source_port, routed, source_port
from rdmalab.hca.attributes import AhAttr, Fields, QpAttr, mask_of
from rdmalab.hca.errors import check_useful, refused
from rdmalab.hca.psn import MASK
from rdmalab.hca.qp import Path, QueuePair
from rdmalab.spec import states
from rdmalab.spec.document_differences import DIFFERENCES, demanded, guide_note
from rdmalab.spec.records import Kind
from rdmalab.spec.row import dataclass
from rdmalab.spec.states import ATTRIBUTES, MTU, STATES, Attr, MigState, QPState
from rdmalab.spec.timers import answer_ns

_DEPTHS = ("max_rd_atomic", "max_dest_rd_atomic")
_U8 = 0xFF


# --------------------------------------------------------------------------- checks
PSNS = ("rq_psn", "sq_psn")  # the kernel core masks them to 24 bits instead of refusing


@dataclass(slots=True)
class ModifyCall:
    """One call: the given attributes and the transition that they mean."""

    hca: Adapter
    qp: QueuePair
    given: Fields
    mask: Attr
    now: QPState
    to: QPState

    def no(self, rule: str, *details: object, argument: str = "", legal: str = "") -> Refused:
        """The refusal by this rule, with the errno of the profile."""
        return refused(self.hca.profile, rule, *details, argument=argument, legal=legal)

    @property
    def is_tabled(self) -> bool:
        """True if the table of moves is asked: later kernels ask it only where the state is set."""
        return bool(Attr.STATE & self.mask) or self.hca.profile.checks_table_without_state

    @property
    def move(self) -> str:
        """The transition as text: `INIT → RTR`."""
        return f"{self.now.name} → {self.to.name}"


def check_states(asked: ModifyCall) -> Refused | None:
    """Refuse state values that do not exist."""
    for name in ("qp_state", "cur_qp_state"):
        if name in asked.given and asked.given[name] not in STATES:
            legal = "states: " + " ".join(state.name for state in QPState)
            value = f"{name}={asked.given[name]}"
            return asked.no("attr-range", value, argument=name, legal=legal)
    return None


def check_support(asked: ModifyCall) -> Refused | None:
    """Soft-RoCE looks at the mask before it looks into the table."""
    bits = asked.hca.profile.attr_mask_bits
    foreign = Attr(int(asked.mask) >> bits << bits)
    if not foreign:
        return None
    names = [name for name in states.fields_of(foreign) if name in asked.given]
    what = " ".join(names) or _bits(foreign)
    legal = "leave it out"
    return asked.no("attr-support", what, argument=names[0] if names else "attr_mask", legal=legal)


def _bits(mask: int) -> str:
    return f"mask bits {int(mask):#x}"


def check_claim(asked: ModifyCall) -> Refused | None:
    """IBA 11.2.5.2: cur_qp_state must be the state; Soft-RoCE and mlx5 do not check it (R4, R5)."""
    claim = asked.given.get("cur_qp_state")
    if claim is None:
        return None
    row = ATTRIBUTES["cur_qp_state"]
    true = asked.hca.profile.believes_cur_state or claim == asked.qp.state
    if not true or not row.low <= claim <= (row.high or 0):
        legal = f"the QP is in {asked.qp.state.name}"
        return asked.no("cur-state", QPState(claim).name, argument="cur_qp_state", legal=legal)
    return None


def check_transition(asked: ModifyCall) -> Refused | None:
    """Refuse a transition that the table does not have."""
    lacks = asked.hca.profile.lacks_moves
    nexts = states.legal_next(asked.qp.qp_type, asked.now, lacks)
    if asked.to in nexts or not asked.is_tabled:
        return None
    names = ", ".join(state.name for state in nexts)
    legal = f"The QP is in {asked.now.name}. Legal next states: {names}."
    return asked.no("transition", asked.move, argument="qp_state", legal=legal)


def check_missing(asked: ModifyCall) -> Refused | None:
    """Refuse a transition without its required attributes."""
    missing = states.missing(asked.qp.qp_type, asked.now, asked.to, asked.mask)
    if not missing or not asked.is_tabled:
        return None
    names = " ".join(states.fields_of(missing))
    legal = f"{asked.move} also needs: {names}"
    if missing & Attr.SQ_PSN and not asked.qp.transport.connected:
        legal += f"; {DIFFERENCES['sq-psn-of-ud'].sentence}"
    return asked.no("attr-missing", names, argument="qp_state", legal=legal)


def check_surplus(asked: ModifyCall) -> Refused | None:
    """Refuse attributes that the transition does not allow."""
    surplus = states.surplus(asked.qp.qp_type, asked.now, asked.to, asked.mask)
    if not surplus or not asked.is_tabled:
        return None
    names = [name for name in states.fields_of(surplus) if name in asked.given]
    what = " ".join(names) or _bits(surplus)
    legal = "; ".join(filter(None, (_takes(asked), _guide_note(asked, surplus))))
    return asked.no("attr-surplus", what, argument=names[0] if names else "attr_mask", legal=legal)


def _guide_note(asked: ModifyCall, surplus: Attr) -> str:
    """The reason the bring-up guide lists attributes that this type does not have; "" if none."""
    qp_type = asked.qp.qp_type
    return guide_note([qp_type], demanded(qp_type, asked.now, asked.to) & surplus)


def _takes(asked: ModifyCall) -> str:
    move = states.MOVES[asked.qp.qp_type, asked.now, asked.to]
    names = " ".join(states.fields_of(move.required | move.optional))
    return f"{asked.move} takes: {names or 'nothing but the state'}"


def check_ranges(asked: ModifyCall) -> Refused | None:
    """Refuse values outside their range."""
    profile = asked.hca.profile
    for name, value in asked.given.items():
        row = profile.attributes[name]
        if isinstance(value, int) and name not in PSNS and row.is_undefined(value, profile.caps):
            legal = f"{name} takes {row.takes(profile.caps)}"
            number = MTU.in_bytes(value) if name == "path_mtu" else int(value)
            return asked.no("attr-range", f"{name}={number}", argument=name, legal=legal)
    return None


def check_draining(asked: ModifyCall) -> Refused | None:
    """IBA 10.3.1.5: until the send queue has drained only ERR and RESET are possible."""
    if asked.now is not QPState.SQD or not asked.qp.has_begun_sends:
        return None
    if asked.to not in (QPState.ERR, QPState.RESET):
        return asked.no(
            "draining", argument="qp_state", legal="it has drained when its sq_draining is 0"
        )
    return None


def check_address(asked: ModifyCall) -> Refused | None:
    """R10, R16: what the kernel asks of an address vector on a RoCE port."""
    av = asked.given.get("ah_attr")
    if av is None:
        return None
    port = asked.given.get("port_num", asked.qp.attr.port_num)
    return judge(asked.hca, av, port or 0, _judged(asked))


def _judged(asked: ModifyCall) -> frozenset[str]:
    """The fields of an address whose range this device looks at."""
    return asked.hca.profile.modify_judges_address


def check_alternate(asked: ModifyCall) -> Refused | None:
    """Refuse an alternate path that the kernel refuses; a port of RoCE has none."""
    if not asked.mask & Attr.ALT_PATH:
        return None
    names = [name for name in states.fields_of(Attr.ALT_PATH) if name in asked.given]
    if not asked.hca.lids:
        return asked.no("alt-path", argument=names[0], legal="omit the alternate path")
    port, ports = asked.given.get("alt_port_num", 0), asked.hca.profile.caps.phys_port_cnt
    if not 1 <= port <= ports:  # kernel uverbs: rdma_is_port_valid; a field left out is 0
        legal = f"an alternate path needs alt_port_num=1..{ports}; left out, it is 0"
        return asked.no("attr-range", f"alt_port_num={port}", argument=names[0], legal=legal)
    refusal = judge(asked.hca, asked.given.get("alt_ah_attr", AhAttr()), port, _judged(asked))
    if refusal is not None:
        refusal.argument = names[0]
    return refusal


# IBA 17.2.8, as rdmavt of the kernel asks it: what software may set, from which states, and in
# which states of the queue pair.
_MIGRATIONS = {
    MigState.REARM: ((MigState.MIGRATED, MigState.REARM), (QPState.RTS,)),
    MigState.MIGRATED: ((MigState.MIGRATED, MigState.ARMED), (QPState.RTS, QPState.SQD)),
}


def check_migration(asked: ModifyCall) -> Refused | None:
    """Only the device sets ARMED, and only it leaves REARM."""
    wanted = asked.given.get("path_mig_state")
    if wanted is None or not asked.hca.lids:
        return None
    now = MigState(asked.qp.attr.path_mig_state or 0)
    froms, tos = _MIGRATIONS.get(wanted, ((), ()))
    if now in froms and asked.to in tos:
        return None
    legal = (
        "from MIGRATED to REARM in RTS, from ARMED to MIGRATED in RTS or SQD; "
        "only the device sets ARMED"
    )
    return asked.no(
        "mig-state", now.name, MigState(wanted).name, argument="path_mig_state", legal=legal
    )


CHECKS: tuple[Callable[[ModifyCall], Refused | None], ...] = (
    check_states, check_support, check_claim, check_transition, check_missing, check_surplus,
    check_ranges, check_draining, check_address, check_alternate, check_migration,
)  # fmt: skip


# --------------------------------------------------------------------------- the call
def modify(hca: Adapter, qp: QueuePair, attr: QpAttr, mask: Attr | None = None) -> None:
    """Change attributes and state, or raise Refused and change nothing."""
    check_useful(hca)
    asked = ask(hca, qp, attr, mask)
    for check in CHECKS:
        if (refusal := check(asked)) is not None:
            raise refusal
    _apply(asked)


def ask(hca: Adapter, qp: QueuePair, attr: QpAttr, mask: Attr | None = None) -> ModifyCall:
    """The call as the table sees it: only masked fields count; R1, R7: no state means the same."""
    given = attr.given()
    own_mask = mask_of(given)
    if mask is None:
        mask = own_mask
    elif names := states.fields_of(mask & ~own_mask):
        raise refused(hca.profile, "mask-mismatch", " ".join(names), argument="attr_mask")
    mask = Attr(int(mask) & ~int(states.IGNORED.get(qp.qp_type, 0)))
    masked = {name: value for name, value in given.items() if ATTRIBUTES[name].mask & mask}
    if hca.profile.address_sets_port and mask & Attr.AV and masked.get("qp_state") != QPState.RTR:
        masked.setdefault("port_num", masked["ah_attr"].port_num)  # R11
        mask |= Attr.PORT
    now = qp.state
    if hca.profile.believes_cur_state and masked.get("cur_qp_state") in STATES:
        now = QPState(masked["cur_qp_state"])
    to = masked.get("qp_state", now)
    return ModifyCall(hca, qp, masked, mask, now, QPState(to) if to in STATES else to)


def current_state(hca: Adapter, qp: QueuePair) -> QPState:
    """The state that query_qp returns in cur_qp_state."""
    return qp.state if hca.profile.returns_cur_state else QPState.RESET


def _apply(asked: ModifyCall) -> None:
    hca, qp, to = asked.hca, asked.qp, asked.to
    moves = bool(Attr.STATE & asked.mask)
    if moves and to is QPState.RESET:
        flush.discard(hca, qp)
    if migration.is_armed(qp) and asked.given.get("path_mig_state") == MigState.MIGRATED:
        migration.migrate(hca, qp)
    for name, value in asked.given.items():
        setattr(qp.attr, name, _stored(hca, qp, name, value))
    if moves:
        qp.known_state = to
    hca.trace.record(Kind.ATTRIBUTES_SET, hca.node, qp.number, int(asked.mask))
    _begin(asked)
    if moves and to is not qp.state:
        _enter(asked)


def _stored(hca: Adapter, qp: QueuePair, name: str, value: Any) -> Any:
    """The value that the device stores: bits cut off, routed addresses, rounded depths."""
    profile = hca.profile
    if name in PSNS:
        return value & MASK
    if name == "ah_attr" and qp.transport.connected:
        return routed(hca, value, "qp")
    if name == "max_rd_atomic":
        value = value or profile.least_read_depth
    # rxe_qp_from_attr: roundup_pow_of_two, stored in a u8, so that 129 and more become 0.
    if name in _DEPTHS and profile.rounds_read_depths and value:
        return 1 << (value - 1).bit_length() & _U8
    bits = profile.attribute_bits.get(name)
    return value if bits is None else value & (1 << bits) - 1


def _begin(asked: ModifyCall) -> None:
    """Each engine takes from the attributes what concerns it."""
    qp, mask = asked.qp, asked.mask
    if STATES[asked.to].receives:
        qp.path = _path(asked.hca, qp)
        if asked.hca.lids and mask & (Attr.ALT_PATH | Attr.PATH_MIG_STATE):
            qp.alternate = _alternate(asked.hca, qp)
    if mask & Attr.RQ_PSN:
        responder.begin(qp)
    if mask & Attr.SQ_PSN:
        qp.sq.next_psn = qp.attr.sq_psn or 0
        requester.begin(qp)
        completer.begin(qp)
    elif qp.state_row.flushes_sends:  # SQE, or a believed cur_qp_state: all was flushed
        requester.begin(qp)
        completer.begin(qp)
    elif mask & (Attr.RETRY_CNT | Attr.RNR_RETRY):
        completer.reset_retry_counters(qp)


def _path(hca: Adapter, qp: QueuePair) -> Path:
    """The path that the attributes give; Soft-RoCE stores values that no packet can carry."""
    attr, caps = qp.attr, hca.profile.caps
    pkey = _pkey(hca, attr.pkey_index)
    # IBA 17.2.8: every QP starts in MIGRATED, where MigReq is 1.
    migrated = hca.profile.sends_mig_req and attr.path_mig_state == MigState.MIGRATED
    av = attr.ah_attr or AhAttr()
    label = av.flow_label or flow_label(qp.number, attr.dest_qp_num or 0)
    sport = source_port(label) if qp.transport.connected else lone_source_port(qp.number)
    flow = flow_to(hca, av, sport)
    if not qp.transport.connected:
        return Path(flow, 0, caps.active_mtu, pkey, None, migrated)
    mtu = attr.path_mtu if attr.path_mtu in tuple(MTU) else MTU.B256
    wait_ns = _answer_ns(hca, attr.timeout)
    return Path(flow, (attr.dest_qp_num or 0) & MASK, MTU(mtu).octets, pkey, wait_ns, migrated)


def _alternate(hca: Adapter, qp: QueuePair) -> Path:
    """The path that the alt_ attributes describe; the peer and the MTU are those of the path.

    IBA 17.2.8: REARM without a loaded path is no error. Packets on such a path reach no port.
    """
    attr, path = qp.attr, qp.path
    assert path is not None
    flow = flow_to(hca, attr.alt_ah_attr or AhAttr(), path.flow.sport)
    pkey, wait_ns = _pkey(hca, attr.alt_pkey_index), _answer_ns(hca, attr.alt_timeout)
    return Path(flow, path.dest_qpn, path.mtu, pkey, wait_ns)


def _pkey(hca: Adapter, index: int | None) -> int:
    pkeys, index = hca.pkeys, index or 0
    return pkeys[index] if index < len(pkeys) else pkeys[0]


def _answer_ns(hca: Adapter, timeout: int | None) -> int | None:
    return answer_ns(timeout or 0, hca.profile.timer_tick_ns, hca.profile.ack_timeout_factor)


def _enter(asked: ModifyCall) -> None:
    hca, qp, to = asked.hca, asked.qp, asked.to
    if to is QPState.ERR:
        flush.fail(hca, qp)
        return
    qp.enter(hca.trace, to)
    if to is QPState.SQD:
        completer.settle_drain(hca, qp)
    elif to is QPState.RTS and hca.profile.resumes_after_sqd:
        hca.wake(qp)
