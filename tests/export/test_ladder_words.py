"""The words of the ladder: times that fit their columns, labels, ordinals."""

import pytest

from rdmalab.export import ladder_words as words
from rdmalab.spec.opcodes import PACKETS
from rdmalab.views.columns import Meaning
from rdmalab.views.ladder import PacketRow
from tests.export.ladder_stories import played, rows_of
from tests.labs import lab_of


def packets(name: str) -> list[PacketRow]:
    return [row for row in rows_of(played(name)) if isinstance(row, PacketRow)]


@pytest.mark.parametrize(
    ("at_ns", "text"),
    [
        (0, "0.000 us"), (7, "0.007 us"), (2_315, "2.315 us"), (999_999, "999.999 us"),
        (1_296_088, "1.29609 ms"), (67_112_345, "67.1123 ms"), (999_999_999, "1000.00 ms"),
        (12_060_578_123, "12.06058 s"), (59_353_512_515, "59.35351 s"),
        (12_345_678_000_000, "12345.68 s"), (98_765_432_123_456_789, "98765432 s"),
    ],
)  # fmt: skip
def test_a_moment_has_a_unit_and_fits_its_column(at_ns: int, text: str) -> None:
    assert words.moment(at_ns) == text
    assert len(text) <= words.TIME


@pytest.mark.parametrize(
    ("wait_ns", "text"),
    [
        (7, "+7 ns"), (999, "+999 ns"), (1_010, "+1.010 us"), (10_100, "+10.10 us"),
        (640_000, "+640.0 us"), (67_108_864, "+67.11 ms"), (2_500_000_000, "+2.500 s"),
        (12_345_678_000_000, "+12346 s"),
    ],
)  # fmt: skip
def test_a_difference_has_four_digits_and_fits_its_column(wait_ns: int, text: str) -> None:
    assert words.since(wait_ns) == text
    assert len(text) <= words.SINCE


def test_each_kind_of_packet_has_its_meaning_and_sign() -> None:
    refused, dropped, nak = packets("wrong-rkey")
    assert [words.meaning(row) for row in (refused, dropped, nak)] == [
        Meaning.REFUSED, Meaning.REFUSED, Meaning.FAILED,
    ]  # fmt: skip
    assert words.label(nak) == "✗ NAK_REMOTE_ACCESS psn=0"
    assert words.reason(refused).startswith("! B.qp0 refused: rkey 0xdead")
    assert words.outcome(nak) == (
        ["wr7 REM_ACCESS_ERR, wr8 WR_FLUSH_ERR", "wr7 REM_ACCESS_ERR, 1 flushed"], Meaning.FAILED,
    )  # fmt: skip
    assert words.reason(refused, brief=True).startswith("! refused: rkey 0xdead")
    send, ack = packets("send-and-ack")
    assert (words.meaning(send), words.meaning(ack)) == (Meaning.UNDER_WAY, Meaning.OK)
    assert (words.label(send), words.label(ack)) == ("SEND_ONLY psn=0", "✓ ACK psn=0")
    assert (words.reason(send), words.outcome(send)) == ("", (["wr2 RECV"], Meaning.OK))
    lost = packets("lost-and-resent")[0]
    assert words.meaning(lost) is Meaning.LOST
    assert words.reason(lost) == "╳ lost: fault 1: drop A->B nth=1"
    rnr = packets("rnr-wait")[1]
    assert (words.meaning(rnr), words.label(rnr)) == (Meaning.REFUSED, "! RNR_NAK psn=0")


def test_labels_get_shorter_and_the_longest_says_all() -> None:
    for name in ("rnr-wait", "read", "two-queue-pairs"):
        for row in packets(name):
            flat = words.flat_labels(row)
            assert flat[0].startswith(words.label(row))
            assert flat[-1] == words.short_opcode(row.label)
            assert f"psn={row.psn}" in flat[-2]
    resent = packets("rnr-wait")[2]
    assert words.flat_labels(resent)[0] == "SEND_ONLY psn=0 64 B (2nd, first at ev 15)"
    assert words.facts(resent, 40)[0] == "2nd of psn=0, first at ev 15"
    assert words.facts(resent, 20)[0] == "2nd, first at ev 15"
    assert words.facts(resent, 10)[0] == "2nd, ev 15"


def test_no_two_packets_have_the_same_short_name() -> None:
    # NAK stands for any of them in a filter; no packet is shown by that name.
    short = {words.short_opcode(name): name for name in PACKETS if name != "ACKNOWLEDGE"}
    assert len(short) == len(PACKETS) - 1
    assert short["RESP_MIDDLE"] == "RDMA_READ_RESPONSE_MIDDLE"
    assert short["NAK_REM_OP"] == "NAK_REMOTE_OPERATION"
    assert short["WRITE_ONLY_IMM"] == "RDMA_WRITE_ONLY_WITH_IMMEDIATE"


def test_parts_are_left_out_where_there_is_no_room() -> None:
    assert [*words.spread(["one", "much longer", "two"], 8)] == ["one", "two"]


def test_an_rnr_nak_that_ends_the_request_asks_for_no_wait() -> None:
    send = "post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED"
    lab = lab_of(send, "run", pair="use rc_pair rnr_retry=1")
    naks = [row for row in rows_of(lab) if isinstance(row, PacketRow) and row.timer is not None]
    waits = [[text for text in words.facts(row, 40) if text.startswith("wait")] for row in naks]
    assert waits == [["wait 640 us"], []]
