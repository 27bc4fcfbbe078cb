"""The lab under the profile rxe does what Soft-RoCE did in two-QP experiments: wc_outcomes.json."""

import pytest

from tests.each import each
from tests.oracle.outcomes import (
    CAPTURED,
    EXPLAINED,
    MISSED,
    RECORDED,
    complaints,
    differences,
    packet_differences,
    played,
    report,
)

_MOST_EXPLAINED = 0.05  # of all experiments


def test_all_experiments_are_played() -> None:
    found = played("rxe")
    assert set(found) == set(RECORDED)
    assert {name for name, outcome in found.items() if outcome.rows is not None} == set(CAPTURED)


@each("name", [name for name in RECORDED if name not in EXPLAINED])
def test_as_recorded(name: str) -> None:
    assert complaints(name, played("rxe")[name]) == []


@pytest.mark.parametrize("name", MISSED)
def test_what_tcpdump_did_not_miss_is_as_recorded(name: str) -> None:
    found = played("rxe")[name]
    assert differences(RECORDED[name], found.result) == []
    assert found.rows is not None
    assert len(CAPTURED[name]) < len(found.rows)
    for sender in ("10.0.0.1", "10.0.0.2"):
        ours = iter([row for row in found.rows if row.sender == sender])
        theirs = [row for row in CAPTURED[name] if row.sender == sender]
        assert all(row in ours for row in theirs)  # in this order: each look goes on from the last


def test_few_need_an_explanation_and_none_in_vain() -> None:
    assert len(EXPLAINED) <= _MOST_EXPLAINED * len(RECORDED)
    for name in EXPLAINED:
        assert complaints(name, played("rxe")[name]), name


def test_one_experiment_alone_gives_the_same() -> None:
    """Each has a lab of its own, so those before it do not matter."""
    names = ("rc_every_packet_duplicated", "rc_link_down_then_up")
    alone = played("rxe", *names)
    for name in names:
        assert alone[name] == played("rxe")[name]


def test_the_report_has_a_line_for_each() -> None:
    lines = list(report(played("rxe")))
    heads = [line.split()[:2] for line in lines[:-1] if not line.startswith(" ")]
    assert [name for name, _ in heads] == list(RECORDED)
    assert {verdict for _, verdict in heads} == {"equal", "explained"}
    assert lines[-1] == f"{len(RECORDED) - len(EXPLAINED)} equal, {len(EXPLAINED)} explained"


# --------------------------------------------------------------------------- the comparison itself
def test_a_difference_is_found() -> None:
    recorded = RECORDED["rc_send_32"]
    assert differences(recorded, {**recorded, "state": {"A": "ERR", "B": "RTS"}}) == [
        "state.A: RTS, here ERR"
    ]
    first = recorded["wc"]["A.send"][0]
    later = {**recorded, "wc": {**recorded["wc"], "A.send": [{**first, "t_ms": 1.0}]}}
    assert differences(recorded, later) == []
    twice = {**recorded, "wc": {**recorded["wc"], "A.send": [first, first]}}
    assert differences(recorded, twice) == [
        "wc.A.send[1]: nothing, here 2 SUCCESS SEND 32 - 0x00000000 A 0"
    ]


def test_a_packet_that_differs_is_found() -> None:
    rows = CAPTURED["rc_send_32"]
    other = [rows[0], rows[1]._replace(msn=7)]
    assert packet_differences(rows, other) == [
        "packet 0 of 10.0.0.2: 10.0.0.2 opcode=17 psn=0x200 48 bytes syndrome=31 msn=1, "
        "here 10.0.0.2 opcode=17 psn=0x200 48 bytes syndrome=31 msn=7"
    ]
    assert packet_differences(rows, rows[:1])
    assert packet_differences(rows, rows[::-1]) == []
