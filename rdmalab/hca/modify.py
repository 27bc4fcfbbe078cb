"""`ibv_modify_qp`: check against the table first, then change all or nothing."""

from typing import TYPE_CHECKING, Any

from rdmalab.hca import completer, flush, migration, requester, responder
from rdmalab.hca.ah import flow_label, flow_to, lone_source_port, routed, source_port
from rdmalab.hca.attributes import AhAttr, QpAttr, mask_of
from rdmalab.hca.errors import check_useful, refused
from rdmalab.hca.modify_checks import CHECKS, PSNS, ModifyCall
from rdmalab.hca.psn import MASK
from rdmalab.hca.qp import Path, QueuePair
from rdmalab.spec import states
from rdmalab.spec.records import Kind
from rdmalab.spec.states import ATTRIBUTES, MTU, STATES, Attr, MigState, QPState
from rdmalab.spec.timers import answer_ns

if TYPE_CHECKING:
    from rdmalab.hca.device import Hca

_DEPTHS = ("max_rd_atomic", "max_dest_rd_atomic")
_U8 = 0xFF


def modify(hca: "Hca", qp: QueuePair, attr: QpAttr, mask: Attr | None = None) -> None:
    """Change attributes and state, or raise Refused and change nothing."""
    check_useful(hca)
    asked = ask(hca, qp, attr, mask)
    for check in CHECKS:
        if (refusal := check(asked)) is not None:
            raise refusal
    _apply(asked)


def ask(hca: "Hca", qp: QueuePair, attr: QpAttr, mask: Attr | None = None) -> ModifyCall:
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


def _stored(hca: "Hca", qp: QueuePair, name: str, value: Any) -> Any:
    """What the device keeps of a value that it took."""
    if name in PSNS:
        return value & MASK
    if name == "ah_attr" and qp.transport.connected:
        return routed(hca, value, "qp")
    if name in _DEPTHS and hca.profile.rounds_read_depths and value:
        return 1 << (value - 1).bit_length() & _U8
    return value


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


def _path(hca: "Hca", qp: QueuePair) -> Path:
    """What the attributes come to; Soft-RoCE stores values that no packet can carry."""
    attr, caps = qp.attr, hca.profile.caps
    pkey = _pkey(hca, attr.pkey_index)
    # IBA 17.2.8: every QP starts in MIGRATED, where MigReq is 1.
    migrated = hca.profile.sends_mig_req and attr.path_mig_state == MigState.MIGRATED
    lone = not qp.transport.connected or hca.profile.hashes_source_port
    label = flow_label(qp.number, attr.dest_qp_num or 0)
    sport = lone_source_port(qp.number) if lone else source_port(label)
    flow = flow_to(hca, attr.ah_attr or AhAttr(), sport)
    if not qp.transport.connected:
        return Path(flow, 0, caps.active_mtu, pkey, None, migrated)
    mtu = attr.path_mtu if attr.path_mtu in tuple(MTU) else MTU.B256
    wait_ns = _answer_ns(hca, attr.timeout)
    return Path(flow, (attr.dest_qp_num or 0) & MASK, MTU(mtu).octets, pkey, wait_ns, migrated)


def _alternate(hca: "Hca", qp: QueuePair) -> Path:
    """The path that the alt_ attributes describe; the peer and the MTU are those of the path.

    IBA 17.2.8: REARM without a loaded path is no error. Packets on such a path reach no port.
    """
    attr, path = qp.attr, qp.path
    assert path is not None
    flow = flow_to(hca, attr.alt_ah_attr or AhAttr(), path.flow.sport)
    pkey, wait_ns = _pkey(hca, attr.alt_pkey_index), _answer_ns(hca, attr.alt_timeout)
    return Path(flow, path.dest_qpn, path.mtu, pkey, wait_ns)


def _pkey(hca: "Hca", index: int | None) -> int:
    pkeys, index = hca.pkeys, index or 0
    return pkeys[index] if index < len(pkeys) else pkeys[0]


def _answer_ns(hca: "Hca", timeout: int | None) -> int | None:
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
