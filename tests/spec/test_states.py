"""The state machine against the reference file, cell by cell."""

from pathlib import Path
from typing import Any

import pytest

from rdmalab.spec.access import Access
from rdmalab.spec.limits import RXE_CAPS, DeviceCaps
from rdmalab.spec.states import (
    ATTRIBUTES,
    AUTOMATIC,
    MOVES,
    MTU,
    STATES,
    USUAL,
    Attr,
    MigState,
    Mishap,
    Move,
    QPState,
    QPType,
    after_send_error,
    fields_of,
    legal_next,
    missing,
    surplus,
    usual_word,
)
from tests.tables import read_table

REFERENCE: dict[str, Any] = read_table(Path(__file__).parents[1] / "data" / "qp_transitions.yaml")
NUMBERS = REFERENCE["meta"]["numeric"]
ALL_TYPES = frozenset(QPType)


def _mask(names: list[str]) -> Attr:
    bits = NUMBERS["attr_mask_bit"]
    return Attr(sum(1 << bits[name] for name in names))


def _cells(qp_type: str) -> dict[tuple[QPState, QPState], Move]:
    cells = {}
    for pair, cell in REFERENCE["transitions"][qp_type].items():
        now, to = (QPState(NUMBERS["qp_state"][name]) for name in pair.split("->"))
        cells[now, to] = Move(_mask(cell["required"]), _mask(cell["optional"]))
    return cells


@pytest.mark.parametrize("qp_type", list(REFERENCE["transitions"]))
def test_every_transition_is_that_of_the_kernel(qp_type: str) -> None:
    number = QPType(NUMBERS["qp_type"][qp_type])
    ours = {key[1:]: move for key, move in MOVES.items() if key[0] is number}
    assert ours == _cells(qp_type)


def test_no_type_lacks_its_table() -> None:
    assert {qp_type.name for qp_type in QPType} == set(REFERENCE["transitions"])
    assert {key[0] for key in MOVES} == ALL_TYPES


def test_names_have_the_numbers_of_verbs_h() -> None:
    assert {a.name: a.value.bit_length() - 1 for a in Attr} == NUMBERS["attr_mask_bit"]
    assert {s.name: s.value for s in QPState} == _without(NUMBERS["qp_state"], "UNKNOWN")
    assert {t.name: t.value for t in QPType} == _without(NUMBERS["qp_type"], "DRIVER")
    assert {m.name: m.value for m in MigState} == NUMBERS["mig_state"]
    assert {m.value: m.octets for m in MTU} == NUMBERS["mtu_enum"]
    assert all(m.name == f"B{m.octets}" for m in MTU)


def _without(numbers: dict[str, int], name: str) -> dict[str, int]:
    return {key: value for key, value in numbers.items() if key != name}


def test_legal_next_lists_what_the_table_has() -> None:
    assert legal_next(QPType.RC, QPState.RESET) == (QPState.RESET, QPState.INIT)
    assert legal_next(QPType.RC, QPState.RTR) == (QPState.RESET, QPState.RTS, QPState.ERR)
    assert legal_next(QPType.UD, QPState.ERR) == (QPState.RESET, QPState.ERR)


def test_attr_mask_missing_is_what_is_required_and_not_given() -> None:
    move = (QPType.UC, QPState.INIT, QPState.RTR)
    given = Attr.STATE | Attr.AV | Attr.RQ_PSN | Attr.PKEY_INDEX
    assert missing(*move, given) == Attr.PATH_MTU | Attr.DEST_QPN
    assert not missing(*move, MOVES[move].required)


def test_attr_mask_surplus_leaves_out_state_required_and_optional_bits() -> None:
    move = (QPType.UC, QPState.INIT, QPState.RTR)
    allowed = MOVES[move].required | MOVES[move].optional | Attr.STATE
    assert not surplus(*move, allowed)
    assert surplus(*move, allowed | Attr.MIN_RNR_TIMER) == Attr.MIN_RNR_TIMER


@pytest.mark.parametrize("bit", [21, 24, 26, 30])
def test_attr_mask_bit_without_a_name_is_surplus(bit: int) -> None:
    given = Attr.STATE | Attr(1 << bit)
    assert surplus(QPType.RC, QPState.RTS, QPState.RTS, given) == 1 << bit


# ---------------------------------------------------------------- states


def _accepts(answer: str) -> bool:
    return answer != "EINVAL"


def _flushes(answer: str) -> bool:
    return "flush" in answer.lower()


@pytest.mark.parametrize("state", list(QPState))
def test_a_qp_state_does_what_the_reference_says(state: QPState) -> None:
    answer, row = REFERENCE["states"][state.name], STATES[state]
    assert row.posts_recv == _accepts(answer["post_recv"])
    assert row.posts_send == _accepts(answer["post_send"])
    assert row.flushes_recvs == _flushes(answer["post_recv"])
    assert row.flushes_sends == _flushes(answer["post_send"])
    assert row.receives == answer["receives_packets"].startswith("processed")
    assert row.starts_sends == (answer["sends_packets"] is True)
    assert row.note


def _origins(mishaps: set[Mishap], qp_type: QPType, to: QPState) -> set[QPState]:
    rows = [a for a in AUTOMATIC if a.mishap in mishaps and qp_type in a.types and a.to is to]
    return {state for row in rows for state in row.origins}


def _wanted(trigger: str) -> set[Mishap]:
    """The mishaps which a sentence of the reference is about."""
    if "CQ overrun" in trigger:
        return {Mishap.CQ_OVERRUN}
    if "any send or receive" in trigger:
        return {Mishap.SEND_ERROR, Mishap.RECEIVE_ERROR}
    return {Mishap.RECEIVE_ERROR if "receive WQE" in trigger else Mishap.SEND_ERROR}


@pytest.mark.parametrize("row", [r for r in REFERENCE["automatic"] if r["to"] in ("ERR", "SQE")])
def test_errors_lead_to_the_state_of_the_reference(row: dict[str, Any]) -> None:
    types = list(QPType) if row["types"] == ["ALL"] else [QPType[name] for name in row["types"]]
    names = {QPState[name] for name in row.get("from", QPState.__members__)}
    for qp_type in types:
        ours = _origins(_wanted(row["trigger"]), qp_type, QPState[row["to"]])
        # SQE hears too, but no reliable QP is ever in it: the rule need not name an exception.
        assert ours - {QPState.SQE} == names - {QPState.SQE}
        assert names <= ours


def test_only_unreliable_types_ever_reach_sqe() -> None:
    to_sqe = {t for t in QPType if after_send_error(t) is QPState.SQE}
    assert to_sqe == {QPType[name] for name in REFERENCE["states"]["SQE"]["applies_to"]}
    assert {after_send_error(t) for t in ALL_TYPES - to_sqe} == {QPState.ERR}


# ---------------------------------------------------------------- attributes


def test_every_field_has_a_row_and_its_mask_bit() -> None:
    by_name = {name: row["mask"] for name, row in REFERENCE["attributes"].items()}
    rows = {name: row.mask.name for name, row in ATTRIBUTES.items()}
    assert rows | {"sq_draining": "none"} == by_name  # query_qp tells it beside the state


def test_the_types_that_take_a_field_are_those_of_the_reference() -> None:
    by_name = {
        name: row["types"] for name, row in REFERENCE["attributes"].items() if "types" in row
    }
    assert by_name
    for name, types in by_name.items():
        assert {t.name for t in ATTRIBUTES[name].types} == set(types), name
    assert ATTRIBUTES["qp_state"].types == ALL_TYPES
    assert ATTRIBUTES["cap"].types == frozenset()  # R15: in no row of the table


def test_a_bit_width_and_a_range_agree() -> None:
    by_name = {name: row["bits"] for name, row in REFERENCE["attributes"].items() if "bits" in row}
    assert by_name
    for name, bits in by_name.items():
        assert (ATTRIBUTES[name].low, ATTRIBUTES[name].high) == (0, 2**bits - 1), name


@pytest.mark.parametrize(
    ("name", "low", "lab", "rxe"),
    [
        ("qp_state", QPState.RESET, QPState.ERR, QPState.ERR),
        ("cur_qp_state", QPState.RTR, QPState.SQE, QPState.SQE),
        ("path_mtu", MTU.B256, MTU.B4096, MTU.B4096),
        ("path_mig_state", 0, 2, 2),
        ("pkey_index", 0, 3, 0),  # a table of one entry: the index ends one below the length
        ("alt_pkey_index", 0, 3, 0),
        ("en_sqd_async_notify", 0, 1, 1),
        ("max_rd_atomic", 0, 7, 128),
        ("max_dest_rd_atomic", 0, 5, 128),
        ("port_num", 1, 2, 1),
        ("alt_port_num", 1, 2, 1),
        ("alt_timeout", 0, 31, 31),
        ("ah_attr", 0, None, None),
    ],
)
def test_ranges_end_where_the_device_does(name: str, low: int, lab: int, rxe: int) -> None:
    caps = DeviceCaps(max_qp_init_rd_atom=7, max_qp_rd_atom=5, phys_port_cnt=2)
    row = ATTRIBUTES[name]
    assert (row.low, row.highest(caps), row.highest(RXE_CAPS)) == (low, lab, rxe)


def test_a_limit_names_a_device_limit() -> None:
    for name, row in ATTRIBUTES.items():
        assert not row.limit or (row.high is None and hasattr(DeviceCaps(), row.limit)), name
        assert row.sentence, name


def test_defaults_are_what_query_qp_shows_after_reset() -> None:
    spoken = {"RESET": 0, "MIGRATED": 0, "n/a": 0}
    for name, row in REFERENCE["attributes"].items():
        if "default" in row and name in ATTRIBUTES:
            answer = spoken.get(row["default"], row["default"])
            ours = ATTRIBUTES[name].default
            assert ours == answer, name


def test_access_flags_of_a_qp_go_to_the_sum_of_their_bits() -> None:
    allowed = Access(1 | 2 | 4 | 8 | 256 | 512)
    assert ATTRIBUTES["qp_access_flags"].high == allowed


def test_one_mask_bit_may_stand_for_several_fields() -> None:
    assert fields_of(Attr.ALT_PATH | Attr.MAX_QP_RD_ATOMIC) == (
        "alt_ah_attr",
        "alt_pkey_index",
        "max_rd_atomic",
        "alt_port_num",
        "alt_timeout",
    )


def test_they_lie_in_their_ranges() -> None:
    for name, value in USUAL.items():
        assert ATTRIBUTES[name].low <= value <= (ATTRIBUTES[name].high or value), name


def test_words_are_those_of_modify_qp() -> None:
    words = [usual_word(name) for name in ("path_mtu", "qp_access_flags", "qkey", "timeout", "cap")]
    assert words == ["512", "REMOTE_WRITE", "0x11111111", "14", ""]
