"""Words: every value that a record can hold can be said."""

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdmalab.command import Noun, Thing, Unit
from rdmalab.grammar.quantities import whole
from rdmalab.spec.access import Access
from rdmalab.spec.records import Kind, event_of, kind_of
from rdmalab.spec.refusals import MALFORMED, Syndrome
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import SendFlags, WROpcode
from rdmalab.views import fmt
from rdmalab.wire.headers import AETH
from rdmalab.wire.roce import Reason
from rdmalab.world.relations import exists
from tests.pairs import Pair
from tests.raw import BROADCAST, MAC_A, MAC_B, raw_pair, tcp_frame
from tests.views.looking import MR, PEER_QP, names_of


@pytest.mark.parametrize(
    ("wait_ns", "text"),
    [(0, "0 ns"), (999, "999 ns"), (4_096, "4.096 us"), (640_000, "640 us"),
     (67_108_864, "67.11 ms"), (1_280_000, "1.28 ms"), (4_294_967_296, "4.295 s"),
     (86_400 * 10**9, "86400 s")],
)  # fmt: skip
def test_a_duration_has_the_unit_that_reads_best(wait_ns: int, text: str) -> None:
    assert fmt.duration(wait_ns) == text


@pytest.mark.parametrize(
    ("at_ns", "read", "exact"),
    [(7, "0.007 us", "0.007 us"), (650_230, "650.230 us", "650.230 us"),
     (67_753_394, "67.7534 ms", "67.753394 ms"), (655_400_000, "655.4000 ms", "655.4 ms"),
     (10**9, "1.000 s", "1 s"), (128_443_002_315, "128.443 s", "128.443002315 s")],
)  # fmt: skip
def test_a_moment_is_scaled_for_reading_and_exact_on_demand(
    at_ns: int, read: str, exact: str
) -> None:
    assert fmt.clock(at_ns) == read
    assert fmt.exact(at_ns) == exact


def test_neighbours_in_a_list_differ_also_after_a_second() -> None:
    read = [fmt.clock_in(10**9 + late_ns, 11) for late_ns in (0, 100, 1_110)]
    assert read == ["1.0000000 s", "1.0000001 s", "1.0000011 s"]
    assert fmt.clock_in(128_443_002_315, 11) == "128.44300 s"
    assert fmt.clock_in(655_400_000, 11) == fmt.clock(655_400_000)
    assert fmt.clock_in(10**18, 11) == fmt.clock(10**18)


@given(st.integers(0, 10**14))
def test_a_moment_can_be_typed_as_it_is_printed(at_ns: int) -> None:
    assert whole(fmt.exact(at_ns), Unit.NS) == at_ns
    assert abs(whole(fmt.clock(at_ns), Unit.NS) - at_ns) <= at_ns // 1_000


@pytest.mark.parametrize(
    ("bits_per_s", "text"),
    [(1, "1bps"), (9_600, "9.6Kbps"), (25 * 10**9, "25Gbps"), (10**15, "1000000Gbps")],
)
def test_rate_is_printed_as_link_reads_it(bits_per_s: int, text: str) -> None:
    assert fmt.rate(bits_per_s) == text
    assert whole(text, Unit.BITS_PER_S) == bits_per_s


def test_what_has_no_name_stays_a_number() -> None:
    assert fmt.member(WCStatus.SUCCESS, WCStatus) == "SUCCESS"
    assert fmt.member(77, WROpcode) == "77"
    assert fmt.member(0x6B6B6B6B, WROpcode) == "0x6b6b6b6b"
    assert fmt.flags(SendFlags.FENCE | SendFlags.SIGNALED | 0x80, SendFlags) == (
        "FENCE|SIGNALED|0x80"
    )
    assert fmt.flags(0, Access) == "0"
    assert fmt.errno_word(0) == "ok"
    assert fmt.errno_word(12) == "ENOMEM"


@pytest.mark.parametrize(
    ("answer", "text"),
    [(True, "yes"), (False, "no"), (7, "7"), (None, "nothing"), (b"hi", "68 69"),
     ("B.qp0", "B.qp0"), (WCStatus.SUCCESS, "SUCCESS"),
     (SendFlags.FENCE | SendFlags.SIGNALED, "FENCE|SIGNALED")],
)  # fmt: skip
def test_an_answer_is_read_by_a_person(answer: object, text: str) -> None:
    assert fmt.value(answer) == text


def test_thing_at_an_address_is_a_place_in_its_mr() -> None:
    pair = Pair()
    names, addr = names_of(pair), pair.a.mr.addr
    assert fmt.thing_at(pair.world, names, "A", addr + 64) == "A.mr0[64]"
    assert fmt.thing_at(pair.world, names, "A", addr - 1) == hex(addr - 1)


def test_a_thing_exists_until_it_is_destroyed() -> None:
    pair = Pair()
    assert exists(pair.world, MR)
    assert exists(pair.world, Thing(Noun.NODE, "A", 0))
    assert not exists(pair.world, PEER_QP._replace(number=99))
    assert not exists(pair.world, PEER_QP._replace(node="C"))


@pytest.mark.parametrize(
    ("code", "answer"),
    [(0x1F, Syndrome.ACK), (0x2C, Syndrome.RNR_NAK), (0x60, Syndrome.NAK_SEQUENCE), (0x7F, None),
     (0x40, None)],
)  # fmt: skip
def test_a_syndrome_is_a_class_or_a_code(code: int, answer: Syndrome | None) -> None:
    packet = Pair().a.incoming("ACKNOWLEDGE", 3, aeth=AETH(code, 1))
    assert fmt.syndrome(packet) is answer
    assert fmt.timer_code(packet) == (12 if code == 0x2C else None)


def test_packet_words_of_payload_and_nak() -> None:
    incoming = Pair().a.incoming
    assert fmt.packet_words(incoming("SEND_ONLY", 3, bytes(64))) == "SEND_ONLY psn=3 64 B"
    nak = incoming("ACKNOWLEDGE", 3, aeth=AETH(0x2C, 1))
    assert fmt.packet_words(nak) == "RNR_NAK psn=3 timer=12 (640 us)"
    reserved = incoming("ACKNOWLEDGE", 3, aeth=AETH(0x7F, 1))
    assert fmt.packet_words(reserved) == "ACKNOWLEDGE psn=3"


def test_the_records_of_an_event_are_found_without_reading_the_trace() -> None:
    pair = Pair()
    records = pair.world.trace.records
    for event in range(-1, pair.world.event + 2):
        found = [n for n, record in enumerate(records) if event_of(record) == event]
        assert list(records.span(event)) == found


def test_name_of_an_unknown_qp_is_its_number() -> None:
    assert fmt.qp_name(names_of(Pair()), "", 0x12) == "0x12"


def test_who_a_frame_meets() -> None:
    pair = raw_pair()
    for dst, target in ((MAC_B, "B"), (BROADCAST, "B"), (MAC_A, "B")):
        pair.a.poke(0, tcp_frame(dst=dst))
        pair.a.issue(WROpcode.SEND, 54)
        pair.run()
        sent = [r for r in pair.world.trace.records if kind_of(r) is Kind.PACKET_SENT][-1]
        assert fmt.target_of(pair.world, sent) == target


def test_a_moment_is_an_event_or_the_start() -> None:
    assert (fmt.event(0), fmt.event(-1)) == ("event 0", "the start")
    assert (fmt.ev(0), fmt.ev(-1), fmt.ev(-1, "start")) == ("ev 0", "the start", "start")


def test_one_is_no_plural() -> None:
    assert (fmt.count(1, "line"), fmt.count(2, "line")) == ("1 line", "2 lines")
    assert (fmt.count(1, "try"), fmt.count(8, "try")) == ("1 try", "8 tries")
    assert fmt.count(2, "key") == "2 keys"


def test_ordinals() -> None:
    numbers = (1, 2, 3, 4, 11, 12, 13, 21, 22, 101, 111)
    assert [fmt.nth(n) for n in numbers] == [
        "1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "22nd", "101st", "111th",
    ]  # fmt: skip


def test_a_drop_of_a_malformed_frame_has_a_sentence() -> None:
    assert set(MALFORMED) == set(get_args(Reason))
    for slug, answer in MALFORMED.items():
        assert fmt.reason(f"malformed: {slug}") == answer


def test_a_large_wr_id_has_one_spelling() -> None:
    """An event, a pane and `why` name it alike, so that one is found by the other."""
    pointer = 0xDEADBEEFCAFE
    assert fmt.work_name("A.qp0", pointer, is_send=True) == "A.qp0.wr[0xdeadbeefcafe]"
    assert fmt.wr(pointer) == "wr0xdeadbeefcafe"
    assert fmt.work_name("A.qp0", 7, is_send=False) == "A.qp0.recv_wr[7]"
