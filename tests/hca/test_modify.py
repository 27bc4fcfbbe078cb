"""`modify_qp`: every move with every attribute left out or added, ranges, and all or nothing."""

from errno import EINVAL, ENODATA
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdmalab.command import Refused
from rdmalab.hca import modify
from rdmalab.hca.ah import flow_label, source_port
from rdmalab.hca.attributes import AhAttr, Capacity, QpAttr, mask_of
from rdmalab.spec.access import FOR_QP, Access
from rdmalab.spec.profiles import MLX5, RXE
from rdmalab.spec.records import Kind
from rdmalab.spec.states import (
    ATTRIBUTES,
    MOVES,
    MTU,
    Attr,
    MigState,
    Move,
    QPState,
    QPType,
    fields_of,
)
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import WROpcode
from tests.each import examples
from tests.pairs import End, Pair, image

RESET, INIT, RTR, RTS, SQD, SQE, ERR = QPState
ADDRESS = AhAttr(is_global=1, dgid=0xFFFF0A000002, sgid_index=1, hop_limit=64, port_num=1)

# A legal value of every field, other than that of a new QP.
LEGAL: dict[str, Any] = {
    "cur_qp_state": RTS,
    "path_mtu": MTU.B1024,
    "path_mig_state": MigState.REARM,
    "qkey": 0x11,
    "rq_psn": 0x123456,
    "sq_psn": 0x654321,
    "dest_qp_num": 0x99,
    "qp_access_flags": Access.REMOTE_READ,
    "ah_attr": ADDRESS,
    "pkey_index": 0,
    "en_sqd_async_notify": 1,
    "max_rd_atomic": 3,
    "max_dest_rd_atomic": 5,
    "min_rnr_timer": 13,
    "port_num": 1,
    "timeout": 12,
    "retry_cnt": 6,
    "rnr_retry": 5,
    "alt_ah_attr": ADDRESS,
    "alt_pkey_index": 0,
    "alt_port_num": 1,
    "alt_timeout": 3,
    "rate_limit": 9,
    "cap": Capacity(max_send_wr=3),
}
BITS = [bit for bit in Attr if bit is not Attr.STATE]
RC = {(now, to): move for (kind, now, to), move in MOVES.items() if kind is QPType.RC}


def given_for(mask: Attr, now: QPState = RTS) -> dict[str, Any]:
    fields = {name: LEGAL[name] for name in fields_of(mask) if name in LEGAL}
    return fields | ({"cur_qp_state": now} if "cur_qp_state" in fields else {})


def in_state(state: QPState, **options: Any) -> End:
    """A QP brought there by legal moves; into a state without such a move it is put."""
    end = Pair(**options).end("A")
    for step in (INIT, RTR, RTS):
        if step <= state:
            end.modify(qp_state=step, **given_for(RC[QPState(step - 1), step].required))
    if state is SQE or (RTS, state) in end.hca.profile.lacks_moves:
        end.qp.enter(end.hca.trace, state)
    elif state > RTS:
        end.modify(qp_state=state)
    assert end.qp.state is state
    return end


def refusal_of(end: End, **attributes: Any) -> str:
    """The rule it is refused by, having changed nothing; empty if it was accepted."""
    end.world.begin_event()
    before = image(end.world)
    try:
        end.modify(**attributes)
    except Refused as refused:
        assert image(end.world) == before
        assert end.world.trace.records[-1][0] != end.world.event  # and nothing was recorded
        return refused.rule
    return ""


# --------------------------------------------------------------------------- the table
@pytest.mark.parametrize("now", list(QPState), ids=lambda state: state.name)
@pytest.mark.parametrize("to", list(QPState), ids=lambda state: state.name)
def test_modify_qp_every_transition_with_every_attribute(now: QPState, to: QPState) -> None:
    if (now, to) not in RC:
        assert refusal_of(in_state(now), qp_state=to) == "transition"
        return
    move = RC[now, to]
    required = given_for(move.required)
    for bit in BITS:
        end = in_state(now)
        if bit & move.required:
            less = {n: v for n, v in required.items() if n not in given_for(bit)}
            assert refusal_of(end, qp_state=to, **less) == "attr-missing", bit
            continue
        rule = rule_for(now, move, bit)
        more = required | given_for(bit, now)
        assert refusal_of(end, qp_state=to, **more) == rule, bit
        assert end.qp.state is (now if rule else to)
        if not rule and bit is not Attr.EN_SQD_ASYNC_NOTIFY:  # that one is used up at once
            assert {name: getattr(end.qp.attr, name) for name in more} == more


def rule_for(now: QPState, move: Move, bit: Attr) -> str:
    """Why a legal move with one attribute more than it requires is refused."""
    if bit is Attr.CUR_STATE and not RTR <= now <= SQE:
        return "cur-state"
    if not bit & move.optional:
        return "attr-surplus"
    return "alt-path" if bit is Attr.ALT_PATH else ""  # on RoCE there is none


@pytest.mark.parametrize("state", list(QPState), ids=lambda state: state.name)
def test_modify_qp_without_state_is_to_the_same_state(state: QPState) -> None:
    """R1, R7, R8: the table is asked all the same; an empty mask is a legal nothing."""
    legal = (state, state) in RC
    assert refusal_of(in_state(state)) == ("" if legal else "transition")
    for bit in BITS:
        end = in_state(state)
        rule = refusal_of(end, **given_for(bit, state))
        if legal:
            assert rule == rule_for(state, RC[state, state], bit), bit
        else:
            assert rule, bit
        assert end.qp.state is state


def test_modify_qp_unknown_state() -> None:
    assert refusal_of(in_state(INIT), qp_state=7) == "attr-range"
    assert refusal_of(in_state(RTS), cur_qp_state=9) == "attr-range"


# --------------------------------------------------------------------------- ranges
def move_with(name: str) -> tuple[QPState, QPState]:
    """A move of RC that takes this field."""
    bit = ATTRIBUTES[name].mask
    return next(pair for pair, move in RC.items() if bit & (move.required | move.optional))


RANGED = [
    name
    for name, row in ATTRIBUTES.items()
    if QPType.RC in row.types
    and name in LEGAL
    and not isinstance(LEGAL[name], AhAttr)
    and not name.startswith(("alt", "cur"))
]


@pytest.mark.parametrize("name", RANGED)
def test_modify_qp_attribute_ranges(name: str) -> None:
    now, to = move_with(name)
    required = given_for(RC[now, to].required)
    row = ATTRIBUTES[name]
    end = in_state(now)
    highest = row.highest(end.hca.profile.caps)
    assert highest is not None
    masked = name.endswith("_psn")
    for value, legal in (
        (row.low - 1, masked),
        (row.low, True),
        (highest, name != "qp_access_flags" or highest == FOR_QP),
        (highest + 1, masked),
    ):
        end = in_state(now)
        rule = refusal_of(end, qp_state=to, **required | {name: value})
        assert rule == ("" if legal else "attr-range"), (name, value)
        if legal and name != "en_sqd_async_notify":
            assert getattr(end.qp.attr, name) == (value & 0xFFFFFF if masked else value)


@pytest.mark.parametrize("bit", [16, 32, 64, 128, 1 << 20, 1 << 30])
def test_qp_access_flags_that_a_qp_does_not_have(bit: int) -> None:
    required = given_for(RC[RESET, INIT].required)
    assert refusal_of(in_state(RESET), qp_state=INIT, **required | {"qp_access_flags": bit}) == (
        "attr-range"
    )


def test_the_path_mtu_may_not_exceed_the_active_mtu() -> None:
    end = in_state(INIT)
    end.world.network.tune_link("mtu", 1024)
    required = given_for(RC[INIT, RTR].required)
    big = required | {"path_mtu": MTU.B2048}
    assert refusal_of(end, qp_state=RTR, **big) == "attr-range"
    assert refusal_of(end, qp_state=RTR, **required) == ""


# --------------------------------------------------------------------------- address vectors
@pytest.mark.parametrize(
    ("change", "rule", "errno"),
    [
        ({"port_num": 0}, "ah-port", EINVAL),
        ({"port_num": 2}, "ah-port", EINVAL),
        ({"is_global": 0}, "ah-global", EINVAL),
        ({"sgid_index": 8}, "ah-sgid-index", EINVAL),
        ({"sgid_index": -1}, "ah-sgid-index", EINVAL),
        ({"sgid_index": 2}, "ah-sgid-empty", ENODATA),
        ({"dgid": 0}, "ah-dgid", EINVAL),
        ({"dgid": 0xFE80 << 112 | 7}, "ah-dgid", EINVAL),
        ({"sgid_index": 0}, "ah-dgid", EINVAL),
        ({"sgid_index": 0, "dgid": 0xFE80 << 112 | 7}, "", 0),
        ({"hop_limit": 0, "dlid": 5, "sl": 15}, "", 0),
    ],
)
def test_roce_ah_attr_is_checked(change: dict[str, int], rule: str, errno: int) -> None:
    end = in_state(INIT)
    fields = {name: getattr(ADDRESS, name) for name in AhAttr.__dataclass_fields__}
    required = given_for(RC[INIT, RTR].required) | {"ah_attr": AhAttr(**fields | change)}
    assert refusal_of(end, qp_state=RTR, **required) == rule
    if rule:
        with pytest.raises(Refused) as caught:
            end.modify(qp_state=RTR, **required)
        assert caught.value.errno == errno
        assert caught.value.argument == "ah_attr"


# --------------------------------------------------------------------------- masks
def test_attr_mask_selects_the_attributes() -> None:
    end = in_state(RESET)
    attr = QpAttr(qp_state=INIT, **given_for(RC[RESET, INIT].required), qkey=5)
    mask = mask_of(attr.given()) & ~Attr.QKEY
    modify.modify(end.hca, end.qp, attr, Attr(mask))
    assert end.qp.state is INIT
    assert end.qp.attr.qkey == 0


@pytest.mark.parametrize("extra", [Attr.QKEY, Attr.CAP])
def test_attr_mask_names_an_attribute_that_was_not_given(extra: Attr) -> None:
    end = in_state(RESET)
    attr = QpAttr(qp_state=INIT, **given_for(RC[RESET, INIT].required))
    before = image(end.world)
    with pytest.raises(Refused) as caught:
        modify.modify(end.hca, end.qp, attr, mask_of(attr.given()) | extra)
    assert caught.value.rule == "mask-mismatch"
    assert image(end.world) == before


def test_attr_mask_bit_without_a_name_is_refused() -> None:
    end = in_state(INIT)
    for bit in (21, 22, 26, 30):
        with pytest.raises(Refused) as caught:
            modify.modify(end.hca, end.qp, QpAttr(port_num=1), Attr.PORT | Attr(1 << bit))
        assert caught.value.rule == "attr-surplus"
        assert hex(1 << bit) in caught.value.message


# --------------------------------------------------------------------------- cur_qp_state
def test_cur_qp_state_that_is_wrong_is_refused() -> None:
    assert refusal_of(in_state(RTS), cur_qp_state=SQD) == "cur-state"
    assert refusal_of(in_state(INIT), cur_qp_state=INIT) == "cur-state"
    assert refusal_of(in_state(RTS), cur_qp_state=RTS, min_rnr_timer=3) == ""
    assert refusal_of(in_state(SQD), qp_state=RTS, cur_qp_state=SQD) == ""


@pytest.mark.parametrize("profile", [RXE, MLX5], ids=lambda profile: profile.name)
@pytest.mark.parametrize("now", [RESET, INIT, RTR, RTS, SQD, ERR], ids=lambda state: state.name)
@pytest.mark.parametrize("claim", list(QPState), ids=lambda state: state.name)
def test_cur_qp_state_is_believed_by_drivers(profile: Any, now: QPState, claim: QPState) -> None:
    """R5: INIT claimed RTR → RTS and ERR claimed RTS → RTS succeed; nothing breaks afterwards."""
    end = in_state(now, profile=profile)
    required = given_for(RC.get((claim, RTS), RC[RTS, RTS]).required)
    rule = refusal_of(end, qp_state=RTS, cur_qp_state=claim, **required)
    if claim in (RTR, RTS, SQD):
        assert rule == ""
        assert end.qp.state is RTS
    elif claim is SQE:
        assert rule == "attr-surplus"
    else:
        assert rule == "cur-state"
    if end.qp.state is RTS:
        end.recv()
        end.peer = end
        for opcode in (WROpcode.SEND, WROpcode.RDMA_READ):
            end.issue(opcode)
        end.world.run(100, end.world.now_ns + 10_000)


@pytest.mark.parametrize("profile", [RXE, MLX5], ids=lambda profile: profile.name)
def test_cur_qp_state_alone_changes_nothing(profile: Any) -> None:
    end = in_state(ERR, profile=profile)
    end.modify(cur_qp_state=RTS)
    assert end.qp.state is ERR


def test_cur_qp_state_out_of_err_continues_after_what_was_flushed() -> None:
    pair = Pair(profile=MLX5)
    pair.a.issue(WROpcode.RDMA_WRITE, wr_id=1)
    pair.a.modify(qp_state=ERR)
    pair.a.modify(qp_state=RTS, cur_qp_state=RTS)
    pair.a.issue(WROpcode.RDMA_WRITE, wr_id=2)
    pair.run(until_ns=10_000)
    assert pair.a.sent() == [(1, WCStatus.WR_FLUSH_ERR)]
    assert pair.sent_by("A") == ["RDMA_WRITE_ONLY psn=1 8 bytes of 8"]


# --------------------------------------------------------------------------- draining
def test_sqd_before_drained_goes_only_to_err_and_reset() -> None:
    for to, rule in ((RTS, "draining"), (SQD, "draining"), (ERR, ""), (RESET, "")):
        pair = Pair()
        pair.a.issue(WROpcode.SEND)
        pair.run(until_ns=500)
        pair.a.modify(qp_state=SQD)
        assert refusal_of(pair.a, qp_state=to) == rule
    pair = Pair()
    pair.a.issue(WROpcode.RDMA_WRITE)
    pair.run(until_ns=500)
    pair.a.modify(qp_state=SQD)
    pair.run()
    assert refusal_of(pair.a, qp_state=SQD, timeout=3) == ""
    assert refusal_of(pair.a, qp_state=RTS) == ""


# --------------------------------------------------------------------------- effects
def test_modified_attributes_apply_from_the_next_packet() -> None:
    """SQD → SQD may change the path, the retries, the depths."""
    pair = Pair(retry_cnt=0, timeout=20, rd_atomic=0)
    pair.a.modify(qp_state=SQD)
    other = pair.end("B")
    away = AhAttr(is_global=1, dgid=other.hca.gids[1] + 5, sgid_index=1, port_num=1)
    pair.a.modify(timeout=1, retry_cnt=2, max_rd_atomic=1, ah_attr=away, port_num=1)
    pair.a.modify(qp_state=RTS)
    pair.a.issue(WROpcode.RDMA_READ)
    pair.run()
    assert len(pair.packets("A")) == 3
    assert {packet.flow.dst for packet in pair.packets("A")} == {away.dgid}
    assert pair.reasons(Kind.PACKET_LOST) == ["no port has this address"] * 3


def test_sqd_to_rts_resumes_the_send_queue() -> None:
    pair = Pair()
    pair.a.modify(qp_state=SQD)
    pair.a.issue(WROpcode.RDMA_WRITE)
    pair.run()
    assert pair.wire_lines() == []
    pair.a.modify(qp_state=RTS)
    pair.run()
    assert len(pair.a.sent()) == 1


def test_the_state_in_libibverbs_is_that_of_the_last_modify_qp() -> None:
    """R18."""
    pair = Pair()
    pair.a.issue(WROpcode.RDMA_WRITE, rkey=5)
    pair.run()
    assert (pair.a.qp.state, pair.a.qp.known_state) == (ERR, RTS)
    pair.a.modify(qp_state=ERR)
    assert pair.a.qp.known_state is ERR
    assert len(pair.records(Kind.STATE_CHANGED, node="A")) == 4


def test_udp_source_port_is_the_same_at_both_ends() -> None:
    assert source_port(flow_label(0x11, 0x23)) == source_port(flow_label(0x23, 0x11))
    assert 0xC000 <= source_port(0xFFFFF) <= 0xFFFF
    end = in_state(INIT)
    required = given_for(RC[INIT, RTR].required)
    flow_ah = AhAttr(1, ADDRESS.dgid, 1, 64, traffic_class=7, flow_label=0x4001, port_num=1)
    end.modify(qp_state=RTR, **required | {"ah_attr": flow_ah})
    assert end.qp.path
    assert (end.qp.path.flow.sport, end.qp.path.flow.traffic_class) == (0xC000, 7)


# --------------------------------------------------------------------------- anything at all
values: dict[str, Any] = {
    name: st.sampled_from([value, 0, -1, 7, 0x1FFFFFF])
    if not isinstance(value, AhAttr)
    else st.builds(AhAttr, *[st.integers(-1, 9)] * 3, port_num=st.integers(0, 2)) | st.just(value)
    for name, value in LEGAL.items()
}


@settings(max_examples=examples(300), derandomize=True)
@given(
    now=st.sampled_from([RESET, INIT, RTR, RTS, SQD, ERR]),
    profile=st.sampled_from([None, RXE, MLX5]),
    to=st.sampled_from([None, *QPState, 7]),
    extra=st.fixed_dictionaries({}, optional=values),
    whole=st.booleans(),
)
def test_modify_qp_applies_all_attributes_or_none(
    now: QPState, profile: Any, to: Any, extra: dict[str, Any], whole: bool
) -> None:
    end = in_state(now, **{"profile": profile} if profile else {})
    move = RC.get((now, to if isinstance(to, QPState) else now))
    required = given_for(move.required) if move and whole else {}
    rule = refusal_of(end, qp_state=to, **required | extra)
    if not rule and profile is None:
        assert move
        mask = mask_of(required | extra)
        assert not move.required & ~mask
        assert not mask & ~(move.required | move.optional)
        assert end.qp.state is (now if to is None else to)
