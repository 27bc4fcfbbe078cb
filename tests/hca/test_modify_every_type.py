"""`modify_qp` for all six types, every (from, to), every attribute: missing, added, out of range.

What must come of it is read from the reference file, tests/data/qp_transitions.yaml, never from
`spec/states.py`. A type that no device makes yet is judged as well: the queue pair is given it.
"""

import re
from collections.abc import Iterator
from errno import EINVAL
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from rdmalab.command import Refused
from rdmalab.hca import lifecycle, modify, qp_lifecycle
from rdmalab.hca.attributes import AhAttr, Capacity, QpAttr
from rdmalab.hca.qp import QueuePair
from rdmalab.spec.limits import DeviceCaps
from rdmalab.spec.profiles import MLX5, STRICT, Profile
from rdmalab.spec.states import QPState, QPType
from rdmalab.world.world import World
from tests.pairs import image
from tests.tables import read_table

REFERENCE: dict[str, Any] = read_table(Path(__file__).parents[1] / "data" / "qp_transitions.yaml")
BITS = [name for name in REFERENCE["meta"]["numeric"]["attr_mask_bit"] if name != "STATE"]
FIELDS = {
    name: row["mask"]
    for name, row in REFERENCE["attributes"].items()
    if row["mask"] not in ("none", "STATE")
}
LEFT_OUT = {  # by uverbs_cmd.c of the kernel, before the table of the reference is asked
    QPType.XRC_SEND: {"MAX_DEST_RD_ATOMIC", "MIN_RNR_TIMER"},
    QPType.XRC_RECV: {"MAX_QP_RD_ATOMIC", "RETRY_CNT", "RNR_RETRY"},
}
CASES = [
    pytest.param(profile, QPType[name], id=f"{profile.name}-{name}")
    for profile in (STRICT, MLX5)
    for name in REFERENCE["transitions"]
]


class Range(NamedTuple):
    """The lowest and the highest legal value."""

    low: int
    high: int


def ranges(caps: DeviceCaps) -> dict[str, Range]:
    """What the reference says of each number; device limits by the names it uses."""
    found = {name: Range(0, (1 << 32) - 1) for name in ("rate_limit",)}
    for name, row in REFERENCE["attributes"].items():
        if (stated := _range(row, caps)) is not None and name in FIELDS:
            found[name] = stated
    return found


def _range(row: dict[str, Any], caps: DeviceCaps) -> Range | None:
    text = str(row.get("range", "")).replace("0,1", "0..1")
    if match := re.match(r"(\d+)\.\.(?:device )?(\w+)(-1)?", text):
        low, high, less = match.groups()
        highest = int(high) if high.isdigit() else int(getattr(caps, high))
        return Range(int(low), highest - bool(less))
    return Range(0, (1 << row["bits"]) - 1) if "bits" in row else None


MASKED = ("rq_psn", "sq_psn")  # above 24 bits they are cut, not refused
ADDRESS = AhAttr(is_global=1, dgid=0xFFFF0A000002, sgid_index=1, hop_limit=64, port_num=1)
RECORDS = {"ah_attr": ADDRESS, "alt_ah_attr": ADDRESS, "cap": Capacity(max_send_wr=3)}
RIGHTS = 1 | 2 | 4 | 8 | 256 | 512
NO_RIGHTS = (16, 32, 1 << 20, RIGHTS + 16)


class Bench:
    """One adapter, and as many queue pairs of one type as are wanted, each in the state wanted."""

    def __init__(self, profile: Profile, qp_type: QPType) -> None:
        self.world = World({"A": profile, "B": profile})
        self.hca = self.world.nodes["A"]
        self.qp_type = qp_type
        self.table: dict[str, dict[str, list[str]]] = REFERENCE["transitions"][qp_type.name]
        self.ranges = ranges(profile.caps)
        for name in profile.attribute_bits:  # libmlx5 and its kernel driver ask no range of these
            self.ranges[name] = Range(0, profile.attributes[name].high or 0)
        self.pd = lifecycle.alloc_pd(self.hca).number
        self.cq = lifecycle.create_cq(self.hca, 4, 0).number

    def qp(self, state: QPState) -> QueuePair:
        cap, cq = Capacity(), self.cq
        made = qp_lifecycle.create_qp(self.hca, QPType.RC, self.pd, cq, cq, cap, sig_all=False)
        made.qp_type, made.state, made.attr.port_num = self.qp_type, state, 1
        return made

    def value(self, field: str, now: QPState) -> Any:
        """A legal value; a claim is true."""
        if field == "cur_qp_state":
            return now
        if field == "qp_access_flags":
            return RIGHTS
        return RECORDS[field] if field in RECORDS else self.ranges[field].high

    def fields(self, bits: list[str], now: QPState) -> dict[str, Any]:
        return {name: self.value(name, now) for name, bit in FIELDS.items() if bit in bits}

    def answer(self, now: QPState, to: QPState, fields: dict[str, Any]) -> Refused | None:
        """What becomes of it; refused, nothing has changed."""
        qp = self.qp(now)
        before, recorded = image(qp), len(self.world.trace.records)
        refusal = None
        try:
            modify.modify(self.hca, qp, QpAttr(qp_state=to, **fields))
        except Refused as refused:
            refusal = refused
        if refusal is None:
            assert qp.state is to
            self.check_kept(qp, to, fields)
        else:
            assert refusal.errno == EINVAL
            assert image(qp) == before
            assert len(self.world.trace.records) == recorded
        qp_lifecycle.destroy_qp(self.hca, qp)
        return refusal

    def check_kept(self, qp: QueuePair, to: QPState, fields: dict[str, Any]) -> None:
        for name, value in fields.items():
            if FIELDS[name] in LEFT_OUT.get(self.qp_type, ()):
                assert not getattr(qp.attr, name), (to, name)
            elif name != "en_sqd_async_notify":  # that one is used up at once
                assert getattr(qp.attr, name) == self.kept(name, value), (to, name)

    def kept(self, name: str, value: Any) -> Any:
        """A value as the device stores it."""
        if name == "max_rd_atomic":
            return value or self.hca.profile.least_read_depth
        bits = 24 if name in MASKED else self.hca.profile.attribute_bits.get(name)
        return value if bits is None else value & (1 << bits) - 1

    def moves(self) -> Iterator[tuple[QPState, QPState, list[str], list[str]]]:
        """(from, to, required, optional) of each legal move."""
        for pair, row in self.table.items():
            now, to = (QPState[name] for name in pair.split("->"))
            if (now, to) not in self.hca.profile.lacks_moves:
                yield now, to, row["required"], row["optional"]


def rule(refusal: Refused | None) -> str:
    return refusal.rule if refusal is not None else ""


@pytest.mark.parametrize(("profile", "qp_type"), CASES)
def test_qp_transition_exists_as_in_the_reference(profile: Profile, qp_type: QPType) -> None:
    bench = Bench(profile, qp_type)
    required = {(now, to): bits for now, to, bits, _ in bench.moves()}
    for now in QPState:
        for to in QPState:
            if (now, to) in required:
                given = bench.fields(required[now, to], now)
                assert rule(bench.answer(now, to, given)) == "", (now, to)
                continue
            for bits in ([], *required.values()):  # no attributes make it legal
                given = bench.fields(bits, now)
                assert rule(bench.answer(now, to, given)) == "transition", (now, to)


@pytest.mark.parametrize(("profile", "qp_type"), CASES)
def test_qp_transition_names_each_missing_attribute(profile: Profile, qp_type: QPType) -> None:
    bench = Bench(profile, qp_type)
    for now, to, required, _ in bench.moves():
        for absent in required:
            given = bench.fields([bit for bit in required if bit != absent], now)
            refusal = bench.answer(now, to, given)
            assert rule(refusal) == "attr-missing", (now, to, absent)
            assert refusal
            named = [name for name, bit in FIELDS.items() if bit == absent]
            assert refusal.legal == f"{now.name} → {to.name} also needs: {' '.join(named)}"


@pytest.mark.parametrize(("profile", "qp_type"), CASES)
def test_qp_transition_takes_optional_attributes_only(profile: Profile, qp_type: QPType) -> None:
    bench = Bench(profile, qp_type)
    for now, to, required, optional in bench.moves():
        for added in BITS:
            if added in required:
                continue
            refusal = bench.answer(now, to, bench.fields([*required, added], now))
            answer = rule(refusal)
            if added == "ALT_PATH" and added in optional:
                assert answer == "alt-path", (now, to)  # R12: every port here is RoCE
            elif added in optional or added in LEFT_OUT.get(qp_type, ()):
                assert answer == "", (now, to, added)
            elif added == "CUR_STATE" and not QPState.RTR <= now <= QPState.SQE:
                assert answer == "cur-state", (now, to)  # R4: no such claim at all
            else:
                assert answer == "attr-surplus", (now, to, added)
                assert refusal
                assert refusal.argument in [n for n, bit in FIELDS.items() if bit == added]


def _strange(bench: Bench, field: str) -> list[Any]:
    """Values of a field that are out of range."""
    if field == "qp_access_flags":
        return list(NO_RIGHTS)
    low, high = bench.ranges[field]
    return [low - 1, high + 1, 1 << 40]


@pytest.mark.parametrize(("profile", "qp_type"), CASES)
def test_qp_attribute_ranges(profile: Profile, qp_type: QPType) -> None:
    bench = Bench(profile, qp_type)
    asked = set()
    for now, to, required, optional in bench.moves():
        for field, bit in FIELDS.items():
            takes = bit in required or (bit in optional and bit != "ALT_PATH")
            if not takes or field in RECORDS or field == "cur_qp_state":
                continue
            asked.add(field)
            given = bench.fields([*required, bit], now)
            for value in () if field in MASKED else _strange(bench, field):
                refusal = bench.answer(now, to, given | {field: value})
                assert (rule(refusal), refusal and refusal.argument) == ("attr-range", field)
            edges = (0, RIGHTS) if field == "qp_access_flags" else bench.ranges[field]
            for value in (*edges, *[0x1FF_FFFF] * (field in MASKED)):
                assert rule(bench.answer(now, to, given | {field: value})) == "", (field, value)
    numbers = {n for n, bit in FIELDS.items() if bit not in ("CAP", "AV", "ALT_PATH", "CUR_STATE")}
    names = {n for n in numbers if qp_type.name in _types(FIELDS[n])}
    assert asked == names - ({"en_sqd_async_notify"} if profile.lacks_moves else set())


def _types(bit: str) -> set[str]:
    """The types that have a move for this attribute."""
    return {
        name
        for name, rows in REFERENCE["transitions"].items()
        if any(bit in row["required"] + row["optional"] for row in rows.values())
    }


@pytest.mark.parametrize(("profile", "qp_type"), CASES)
def test_ah_attr_is_checked_field_by_field(profile: Profile, qp_type: QPType) -> None:
    bench = Bench(profile, qp_type)
    for now, to, required, optional in bench.moves():
        if "AV" not in required + optional:
            continue
        given = bench.fields([*required, "AV"], now)
        for wrong, why in WRONG_ADDRESSES:
            strange = AhAttr(**{**_parts(ADDRESS), **wrong})
            assert rule(bench.answer(now, to, given | {"ah_attr": strange})) == why, wrong


WRONG_ADDRESSES: tuple[tuple[dict[str, int], str], ...] = (
    ({"is_global": 0}, "ah-global"),
    ({"port_num": 0}, "ah-port"),
    ({"port_num": 2}, "ah-port"),
    ({"sgid_index": 0}, "ah-dgid"),
    ({"dgid": 0}, "ah-dgid"),
    ({"sgid_index": 300}, "ah-sgid-index"),
)


def _parts(address: AhAttr) -> dict[str, int]:
    return {name: getattr(address, name) for name in AhAttr.__slots__}


def test_the_reference_of_qp_transitions_is_parsed() -> None:
    found = ranges(STRICT.caps)
    assert found["retry_cnt"] == (0, 7)
    assert found["dest_qp_num"] == (0, 0xFFFFFF)
    assert found["port_num"] == (1, 1)
    assert found["pkey_index"] == (0, 3)
    assert found["max_rd_atomic"] == (0, 16)
    assert found["path_mtu"] == (1, 5)
    assert found["en_sqd_async_notify"] == (0, 1)
    numbers = set(FIELDS) - set(RECORDS) - {"cur_qp_state", "qp_access_flags"}
    assert set(found) == numbers
