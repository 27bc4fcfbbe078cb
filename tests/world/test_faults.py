"""Faults: which packets they hit, what they do to them, and how they say it."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdmalab.lab import Lab
from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.opcodes import BY_LABEL
from rdmalab.spec.records import Kind
from rdmalab.views import story
from rdmalab.wire.packet import Flow, Packet, ipv4_gid
from rdmalab.wire.roce import Malformed
from rdmalab.world.faults import (
    MILLION,
    Chance,
    Corrupt,
    Delay,
    Drop,
    Duplicate,
    Mark,
    Match,
    Rate,
    Reorder,
    mix64,
)
from rdmalab.world.transit import Transit
from tests.labs import everything, lab_of, misread, played_again, refusal, seen, status, well

FLOW = Flow(ipv4_gid("10.0.0.1"), ipv4_gid("10.0.0.2"), 0xC001, traffic_class=2)


def packet(label: str = "SEND_ONLY", psn: int = 5, payload: bytes = b"") -> Packet:
    return Packet(FLOW, BY_LABEL[label][0], 0x11, psn, payload)


def way(one: Packet | None = None, **given: Any) -> Transit:
    return Transit("A", "B", one or packet(), **{"sender": 0x22, **given})


def hits(match: Match, count: int) -> list[int]:
    """Which of so many packets that all fit."""
    return [number for number in range(1, count + 1) if match.hits(way())]


# --------------------------------------------------------------------------- which packets
@pytest.mark.parametrize(
    ("fields", "fits"),
    [
        ({}, True),
        ({"source": "A"}, True),
        ({"source": "B"}, False),
        ({"target": "B"}, True),
        ({"target": "A"}, False),
        ({"opcode": "SEND_ONLY"}, True),
        ({"opcode": "SEND_LAST"}, False),
        ({"psn": 5}, True),
        ({"psn": 0}, False),
        ({"nth": 1}, True),
        ({"nth": 2}, False),
        ({"gid": FLOW.src}, True),
        ({"gid": FLOW.dst}, True),
        ({"gid": FLOW.dst + 1}, False),
        ({"gid": FLOW.src, "qp": ("A", 0x33)}, False),
        ({"qp": ("A", 0x22)}, True),
        ({"qp": ("B", 0x11)}, True),
        ({"qp": ("", 0x11)}, True),
        ({"qp": ("", 0x22)}, True),
        ({"qp": ("B", 0x22)}, False),
        ({"qp": ("A", 0x11)}, False),
        ({"qp": ("", 0x33)}, False),
        ({"source": "A", "opcode": "SEND_ONLY", "psn": 5, "nth": 1, "qp": ("B", 0x11)}, True),
    ],
)
def test_fault_filter_needs_every_field_to_match(fields: dict[str, Any], fits: bool) -> None:
    assert Match(**fields).hits(way()) is fits


def test_fault_nth_counts_the_packets_that_match() -> None:
    match = Match(opcode="SEND_ONLY", nth=2)
    packets = [packet(), packet("SEND_FIRST"), packet(), packet()]
    assert [match.hits(way(each)) for each in packets] == [False, False, True, False]


@pytest.mark.parametrize(
    ("fields", "met"),
    [
        ({"every": 3}, [3, 6, 9]),
        ({"every": 3, "nth": 1}, [1, 4, 7, 10]),
        ({"every": 2, "nth": 5}, [5, 7, 9]),
        ({"every": 1}, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]),
        ({"count": 2}, [1, 2]),
        ({"every": 4, "count": 1}, [4]),
    ],
)
def test_fault_nth_every_and_count(fields: dict[str, Any], met: list[int]) -> None:
    assert hits(Match(**fields), 10) == met


def test_fault_longer_counts_the_whole_frame() -> None:
    one = packet(payload=bytes(1000))
    size = len(way(one).octets)
    assert size == 14 + 20 + 8 + 12 + 1000 + 4
    assert [Match(longer=limit).hits(way(one)) for limit in (size - 1, size)] == [True, False]


def test_fault_chance_is_drawn_for_matching_packets_only() -> None:
    match = Match(opcode="SEND_ONLY", every=2, chance=Chance(MILLION, 0, 1))
    packets = [packet(), packet(), packet("SEND_FIRST"), packet(), packet()]
    assert [match.hits(way(each)) for each in packets] == [False, True, False, False, True]
    assert match.chance is not None
    assert match.chance.drawn == 2


def test_fault_count_counts_the_packets_hit() -> None:
    never, half = Chance(0, 0, 1), Chance(MILLION // 2, 0, 1)
    assert hits(Match(chance=never, count=3), 50) == []
    assert len(hits(Match(chance=half, count=3), 50)) == 3


def test_fault_opcode_filter_and_an_unknown_opcode() -> None:
    strange = Packet(FLOW, 0xFE, 0x11, 5)
    assert not Match(opcode="SEND_ONLY").hits(way(strange))
    assert Match().hits(way(strange))


def test_fault_as_text() -> None:
    match = Match(source="A", target="B", opcode="SEND_ONLY", psn=0, nth=3)
    assert str(match) == "A->B opcode=SEND_ONLY psn=0 nth=3"
    assert str(Match()) == "every packet"
    full = Match(qp=("A", 17), qp_text="A.0x11", every=2, chance=Chance(20_000, 0, 1), count=4)
    assert str(full) == "qp=A.0x11 every=2 p=2% count=4"
    assert str(Match(longer=1514, nth=1)) == "longer=1514 nth=1"
    assert str(Match(gid=FLOW.src)) == "gid=::ffff:10.0.0.1"
    assert str(Drop(1, Match(psn=0))) == "drop psn=0"
    assert str(Corrupt(1, Match(), 7, 2)) == "corrupt every packet byte=7 bit=2"
    assert str(Duplicate(1, match, 3_000)).endswith("nth=3 after=3us")
    assert str(Delay(1, Match(), 1_500)) == "delay every packet by=1.5us"
    assert str(Reorder(1, Match())) == "reorder every packet behind=1 limit=100us"
    assert str(Rate(1, Match(), 10**9)) == "rate every packet rate=1Gbps"
    assert str(Mark(1, Match())) == "mark every packet"


# --------------------------------------------------------------------------- what they do
def test_fault_drop_loses_and_names_itself() -> None:
    one = way()
    Drop(3, Match()).apply(one)
    assert one.lost == "fault 3: drop every packet"
    assert one.frame == b""


def test_fault_corrupt_flips_one_bit() -> None:
    one, good = way(), way().octets
    Corrupt(1, Match(), byte=-1, bit=7).apply(one)
    assert one.corrupted
    assert not one.lost
    assert one.octets == good[:-1] + bytes([good[-1] ^ 0x80])
    assert isinstance(one.read(), Malformed)
    other = way()
    Corrupt(1, Match(), byte=len(good) + 2).apply(other)  # beyond the end: again
    assert other.octets == good[:2] + bytes([good[2] ^ 1]) + good[3:]


def test_fault_mark_changes_ecn_outside_the_icrc() -> None:
    one = way()
    Mark(1, Match()).apply(one)
    read = one.read()
    assert isinstance(read, Packet)
    assert read.flow.traffic_class == 3
    assert (one.marked, one.corrupted) == (True, False)
    assert one.octets[16:24] + one.octets[26:] == way().octets[16:24] + way().octets[26:]


def test_fault_mark_leaves_a_marked_packet() -> None:
    twice = way()
    for _ in range(2):
        Mark(1, Match()).apply(twice)
    once = way()
    Mark(1, Match()).apply(once)
    assert twice == once


def test_fault_delays_add_up_and_duplicates_come_after() -> None:
    one = way()
    for fault in (Delay(1, Match(), 300), Delay(2, Match(), 50), Duplicate(3, Match(), 7)):
        fault.apply(one)
    Duplicate(4, Match()).apply(one)
    assert (one.late_ns, one.copies_after_ns) == (350, [7, 0])


# --------------------------------------------------------------------------- what is held
def passing(faults: list[Reorder], numbers: list[int]) -> Iterator[list[int]]:
    """What each packet lets go; those with a number in it are let through, in both directions."""
    for sent in numbers:
        one = way(sent=sent)
        for fault in faults:
            if fault.match.hits(one):
                fault.apply(one)
        for fault in faults:
            fault.passed_through(one)
        yield [held.sent for held in one.released]


def test_fault_reorder_waits_for_so_many_packets() -> None:
    fault = Reorder(1, Match(nth=2), behind=2)
    assert list(passing([fault], [10, 20, 30, 40, 50])) == [[], [], [], [20], []]
    assert fault.held == []


def test_fault_reorder_of_a_held_packet() -> None:
    fault = Reorder(1, Match(count=2), behind=1)
    assert list(passing([fault], [10, 20, 30, 40])) == [[], [], [10, 20], []]


def test_fault_reorder_holds_only_what_it_matched() -> None:
    first, second = Reorder(1, Match(nth=1), 1), Reorder(2, Match(nth=9), 1)
    assert list(passing([first, second], [10, 20])) == [[], [10]]
    assert second.held == []


def test_fault_reorder_counts_its_own_direction() -> None:
    fault = Reorder(1, Match(source="A"), behind=1)
    one, back = way(sent=10), Transit("B", "A", packet(), sent=20)
    fault.match.hits(one)
    fault.apply(one)
    fault.passed_through(one)
    assert one.held_ns == fault.limit_ns
    fault.passed_through(back)
    assert back.released == []


# --------------------------------------------------------------------------- the narrow place
def test_fault_rate_of_a_single_packet() -> None:
    """58 bytes at 1 Gbit/s are 464 ns."""
    one = way(left_ns=1_000, busy_ns=5)
    Rate(1, Match(), 10**9).apply(one)
    assert one.left_ns + one.busy_ns + one.late_ns == 1_464


def test_fault_rate_queues_packets_of_its_direction() -> None:
    fault = Rate(1, Match(), 10**9)
    first, second = way(left_ns=0, busy_ns=5), way(left_ns=5, busy_ns=5)
    back = Transit("B", "A", packet(), left_ns=5, busy_ns=5)
    for each in (first, second, back):
        fault.apply(each)
    ends = [each.left_ns + each.busy_ns + each.late_ns for each in (first, second, back)]
    assert ends == [464, 928, 469]


def test_fault_rate_above_the_link_rate_delays_nothing() -> None:
    one = way(left_ns=0, busy_ns=5_000)
    Rate(1, Match(), 10**9).apply(one)
    assert one.late_ns == 0


# --------------------------------------------------------------------------- all of them
FAULTS = [
    Drop(1, Match()), Corrupt(2, Match(), 40), Duplicate(3, Match(), 5), Delay(4, Match(), 9),
    Reorder(5, Match()), Rate(6, Match(), 10**6), Mark(7, Match()),
]  # fmt: skip


@given(st.permutations(FAULTS), st.binary(max_size=64))
def test_any_faults_in_any_order_meet_any_packet(faults: list[Any], payload: bytes) -> None:
    one = way(packet(payload=payload))
    for fault in faults:
        fault.apply(one)
    for fault in faults:
        fault.passed_through(one)
    assert one.lost
    assert one.corrupted
    assert one.marked
    assert one.late_ns >= 9


_WRITE = "post_send A.qp0 wr_id=1 opcode=RDMA_WRITE sg=A.mr0[0:2000] remote=B.mr0 flags=SIGNALED"


def struck(lab: Lab) -> list[tuple[int, str]]:
    return [(at_ns, why_not) for at_ns, _, why_not in seen(lab, Kind.FAULT_TRIGGERED)]


def test_a_region_goes_while_packets_are_under_way_to_it() -> None:
    """The key is looked at when the first packet arrives; by then it is gone."""
    lab = lab_of("fault dereg B.mr0 A->B nth=2", _WRITE, "run")
    assert len(struck(lab)) == 1
    assert status(lab) == "REM_ACCESS_ERR"
    assert lab.session.names.is_free("B.mr0")
    assert refusal(lab, "dereg_mr B.mr0").errno
    assert well(lab, "fault list").value == []


def test_timed_fault_happens_at_its_time() -> None:
    lab = lab_of("fault dereg B.mr0 at=9.2us", _WRITE, "run 9.1us")
    assert struck(lab) == []
    assert status(lab) == "SUCCESS"
    well(lab, "run")
    assert struck(lab) == [(9_200, "")]
    assert refusal(lab, _WRITE).rule == "use-after-destroy"


def test_a_killed_queue_pair_raises_an_event_and_is_flushed() -> None:
    lab = lab_of("post_recv B.qp0 wr_id=7 sg=B.mr0[0:64]", "fault kill B.qp0 at=1us", "run")
    assert lab.look("B.qp0.state == ERR")
    assert [event for _, event, _ in seen(lab, Kind.ASYNC_RAISED, "B")] == [AsyncEvent.QP_FATAL]
    assert lab.look("B.cq0.next.status == WR_FLUSH_ERR")
    well(lab, f"{_WRITE}; run")
    assert status(lab) == "RETRY_EXC_ERR"


def test_timed_fault_without_time_happens_next() -> None:
    lab = lab_of("run 3us", "fault kill A.qp0", "step")
    assert struck(lab) == [(3_000, "")]


def test_timed_fault_happens_once_and_counts_lost_packets() -> None:
    lab = lab_of("fault drop A->B", "fault kill A.qp0 A->B opcode=RDMA_WRITE_LAST", _WRITE, "run")
    assert len(struck(lab)) == 1
    assert status(lab) == "WR_FLUSH_ERR"


def test_timed_fault_is_triggered_by_one_packet_only() -> None:
    lab = lab_of("fault dereg B.mr0 A->B", _WRITE, _WRITE, "run")
    assert len(struck(lab)) == 1


@pytest.mark.parametrize(
    ("before", "why_not"),
    [("dereg_mr A.mr0", "there is no mr any more"), ("device_fatal A", "the device is gone")],
)
def test_timed_fault_that_cannot_happen_says_why(before: str, why_not: str) -> None:
    lab = lab_of("fault dereg A.mr0 at=1us", before, "run")
    assert struck(lab) == [(1_000, why_not)]


def test_a_region_with_a_window_on_it_is_refused_as_to_a_program() -> None:
    lab = lab_of(
        "alloc_mw A.mw0 pd=A.pd0 type=TYPE_2",
        "reg_mr A.mr1 pd=A.pd0 length=64 access=LOCAL_WRITE|MW_BIND",
        "post_send A.qp0 opcode=BIND_MW mw=A.mw0 bind=A.mr1[0:64] bind_access=REMOTE_READ",
        "run", "fault dereg A.mr1", "run",
    )  # fmt: skip
    ((_, why_not),) = struck(lab)
    assert "window" in why_not
    assert not lab.session.names.is_free("A.mr1")


def test_a_queue_pair_in_err_is_not_killed_again() -> None:
    lab = lab_of("modify_qp A.qp0 state=ERR", "fault kill A.qp0", "run")
    assert struck(lab) == [(0, "the QP is in ERR")]
    assert seen(lab, Kind.ASYNC_RAISED, "A") == []


def test_what_is_cleared_does_not_happen_and_is_no_event() -> None:
    lab = lab_of("fault kill A.qp0 at=1us", "fault dereg A.mr0 at=2us", "fault clear 1")
    before = lab.session.world.event
    well(lab, "run")
    assert lab.session.world.event == before + 1
    assert lab.look("A.qp0.state == RTS")


@pytest.mark.parametrize(
    ("line", "under", "message"),
    [
        ("fault dereg A.qp0", "A.qp0", "this fault does not apply to a qp"),
        ("fault kill A.mr0", "A.mr0", "this fault does not apply to a mr"),
        ("fault kill", "kill", "which queue pair?"),
        ("fault dereg at=1us", "dereg", "which memory region?"),
        ("fault kill A.qp0 at=1us", "1us", "this time is in the past"),
        ("fault kill A.qp0 at=9us nth=2", "9us", "at a time, or at a packet?"),
        ("fault kill A.qp0 count=2", "2", "kill takes no count"),
        ("fault drop A.qp0", "A.qp0", "drop takes no victim"),
        ("fault drop at=1us", "1us", "drop takes no at"),
    ],
)
def test_timed_fault_mistakes(line: str, under: str, message: str) -> None:
    lab = lab_of("run 2us")
    error = misread(lab, line)
    assert error.message == message
    assert line[error.place.start : error.place.stop] == under
    assert lab.session.world.network.cable.faults == []


def test_timed_fault_is_listed_by_name() -> None:
    lab = lab_of("fault kill A.qp0 at=1us")
    (row,) = well(lab, "show agenda").value.rows
    assert row.text == "1.000 us A fault 1 is applied: kill A.qp0 at=1us (planned)"
    well(lab, "run")
    session = lab.session
    text = story.event_row(session.world, session.names, session.world.event).text
    assert "timed fault applied: kill A.qp0 at=1us" in text
    assert "raised QP_FATAL" in text


def test_timed_fault_in_the_history() -> None:
    """Names too: what is destroyed on the way is retired on each way there."""
    lab = lab_of("fault dereg B.mr0 A->B nth=2", _WRITE, "run", "reg_mr B.mr0 pd=B.pd0 length=64 "
                 "access=LOCAL_WRITE", "fault kill B.qp0 at=9ms", "run")  # fmt: skip
    assert everything(played_again(lab)) == everything(lab)


def draws(ppm: int, seed: int, stream: int, count: int) -> list[bool]:
    chance = Chance(ppm, seed, stream)
    return [chance.happens() for _ in range(count)]


@pytest.mark.parametrize("ppm", [0, 1_000, 20_000, 250_000, 500_000, 999_000, MILLION])
@pytest.mark.parametrize("seed", [0, 7, 1 << 63])
def test_probability_is_met_within_five_standard_deviations(ppm: int, seed: int) -> None:
    """Of 20 000 cases, within five standard deviations."""
    count = 20_000
    expected = count * ppm / MILLION
    spread = (count * ppm * (MILLION - ppm)) ** 0.5 / MILLION
    assert abs(sum(draws(ppm, seed, 1, count)) - expected) <= 5 * spread


def test_a_seed_and_a_stream_decide_everything() -> None:
    one = draws(MILLION // 2, 1, 1, 200)
    assert one == draws(MILLION // 2, 1, 1, 200)
    others = [draws(MILLION // 2, *other, 200) for other in ((2, 1), (1, 2), (0, 0))]
    assert all(other != one for other in others)
    assert len({tuple(other) for other in others}) == len(others)


def test_streams_and_seeds_do_not_overlap_shifted() -> None:
    """Else rule 2 of one seed would lose what rule 1 of another loses, some packets later."""
    one = "".join("01"[hit] for hit in draws(MILLION // 2, 5, 1, 400))
    for seed, stream in ((5, 2), (6, 1), (5, 3), (4, 2)):
        other = "".join("01"[hit] for hit in draws(MILLION // 2, seed, stream, 400))
        assert other[:40] not in one
        assert one[:40] not in other


def test_chance_state_is_the_number_of_draws() -> None:
    whole = draws(MILLION // 3, 9, 4, 100)
    resumed = Chance(MILLION // 3, 9, 4, drawn=60)
    assert [resumed.happens() for _ in range(40)] == whole[60:]


def test_a_higher_probability_hits_whenever_the_lower_one_does() -> None:
    rare, often = draws(MILLION // 10, 3, 1, 500), draws(MILLION // 2, 3, 1, 500)
    assert all(o for r, o in zip(rare, often, strict=True) if r)


def test_chance_hash_is_a_bijection() -> None:
    assert len({mix64(number) for number in range(10_000)}) == 10_000
    assert all(0 <= mix64(number) < 1 << 64 for number in (1, 1 << 63, (1 << 64) - 1))


def test_probability_as_text_in_percent() -> None:
    lines = [str(Chance(ppm, 0, 0)) for ppm in (0, 1, 20_000, 125_000, 100_500, MILLION)]
    assert lines == ["0%", "0.0001%", "2%", "12.5%", "10.05%", "100%"]
