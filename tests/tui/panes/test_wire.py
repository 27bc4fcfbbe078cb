"""The wire pane: what is seen at which size, keys, clicks, find, filter, selection."""

from __future__ import annotations

import pytest
from textual import events
from textual.geometry import Offset
from textual.selection import Selection

from rdmalab.lab import Lab
from rdmalab.tui.panes.wire import WirePane
from rdmalab.tui.world_view import WorldView
from rdmalab.views import ladder
from rdmalab.views.ladder import PacketRow
from tests.export.ladder_stories import played
from tests.labs import well
from tests.tui.panes.alone import Bench, alone

SIZES = ((78, 6), (72, 14), (92, 24))


def wire(view):  # type: ignore[no-untyped-def]
    return WirePane(view, id="pane")


def pane_of(bench: Bench) -> WirePane:
    assert isinstance(bench.pane, WirePane)
    return bench.pane


def marked(bench: Bench) -> list[str]:
    """The rows that have the bar of the mark."""
    return [line for line in bench.grid if line.startswith("▌")]


def packets(bench: Bench) -> list[int]:
    """The records of the packets that the pane has."""
    return [row.number for row in pane_of(bench).rows if isinstance(row, PacketRow)]


def printed_packets(bench: Bench) -> list[int]:
    """The records of those that its command prints."""
    rows = bench.lab.do(pane_of(bench).twin)[-1].value.rows
    return [row.number for row in rows if isinstance(row, PacketRow)]


@pytest.mark.parametrize("size", SIZES)
async def test_the_newest_packet_and_its_reason_are_seen(size: tuple[int, int]) -> None:
    async with alone(wire, size, played("wrong-rkey")) as bench:
        assert "NAK_REMOTE_ACCESS psn=0" in bench.text
        assert "! refused: rkey 0xdead is the key" in bench.text
        assert all(len(line) == size[0] for line in bench.grid)


async def test_more_rows_are_used_where_there_is_room() -> None:
    lab = played("send-and-ack")
    for size, rows in (((78, 6), 1), ((72, 14), 2), ((92, 24), 3), ((92, 12), 2), ((62, 30), 1)):
        async with alone(wire, size, lab) as bench:
            assert pane_of(bench).ladder.room.tall == rows, size
            assert ("time" in bench.grid[0]) is (size[1] >= 9)


WRITES = "post_send A.qp0 opcode=RDMA_WRITE sg=A.mr0[0:3000] remote=B.mr0[0]"
SEND = "post_send A.qp0 opcode=SEND sg=A.mr0[0:8] flags=SIGNALED"
LONG_RUN = (
    "use rc_pair path_mtu=256 max_send_wr=64", "reg_mr A.big pd=A.pd0 length=65536 access=15",
    "reg_mr B.big pd=B.pd0 length=65536 access=15",
    *["post_send A.qp0 opcode=RDMA_READ sg=A.big[0:65536] remote=B.big[0] flags=SIGNALED"] * 3,
)  # fmt: skip


@pytest.mark.parametrize("size", [(70, 13), (78, 6), (98, 30)])
async def test_packets_in_flight_together_keep_their_psn(size: tuple[int, int]) -> None:
    lab = Lab()
    for line in LONG_RUN:
        well(lab, line)
    for lines in (("run 20us",), ("fault drop B->A every=9", "run 30us"), ("run 200us",)):
        for line in lines:
            well(lab, line)
        async with alone(wire, size, lab) as bench:
            rows = [row for row in bench.grid if "●" in row]
            assert rows
            assert not [row for row in rows if "psn=" not in row or "…" in row], bench.text
    assert lab.session.world.event > 1000


async def test_a_nak_keeps_its_psn_among_packets_in_flight() -> None:
    lab = Lab()
    send = "post_send A.qp0 wr_id={} opcode=SEND sg=A.mr0[0:64] flags=SIGNALED"
    for line in ("use rc_pair cqe=2", *["post_recv B.qp0 sg=B.mr0[0:64]"] * 3,
                 *map(send.format, (1, 2, 3)), "run"):  # fmt: skip
        lab.do(line)
    async with alone(wire, (70, 13), lab) as bench:
        assert "NAK_REMOTE_OPERATION psn=2" in bench.text
        assert "A.qp0" in bench.grid[0]
        assert not [row for row in bench.grid[1:] if "A.qp0" in row]


async def test_up_and_down_move_the_mark_and_the_end_follows_again() -> None:
    async with alone(wire, (72, 14), played("wrong-rkey")) as bench:
        pane_of(bench).focus()
        await bench.press("up")
        assert "NAK_REMOTE_ACCESS" in marked(bench)[0]
        await bench.press("up", "up", "up")
        assert "RDMA_WRITE_ONLY psn=0" in marked(bench)[0]
        assert pane_of(bench).view.packet == pane_of(bench).marked
        await bench.press("down")
        assert "RDMA_WRITE_ONLY psn=1" in marked(bench)[0]
        await bench.press("end")
        assert (marked(bench), pane_of(bench).marked) == ([], None)
        await bench.press("up", "down")
        assert pane_of(bench).marked is None


async def test_enter_opens_the_packet_and_of_a_timer_its_event() -> None:
    async with alone(wire, (72, 20), played("rnr-wait")) as bench:
        pane_of(bench).focus()
        await bench.press("enter", "up", "up", "enter", "up", "enter")
        assert bench.app.asked == [("packet", 23), ("packet", 21), ("event", 20)]


async def test_a_click_marks_and_two_clicks_open() -> None:
    async with alone(wire, (72, 14), played("wrong-rkey")) as bench:
        await bench.click("RDMA_WRITE_ONLY psn=1")
        assert "RDMA_WRITE_ONLY psn=1" in marked(bench)[0]
        assert bench.app.asked == []
        assert bench.app.focused is None  # a click does not take the keys from the prompt
    async with alone(wire, (72, 14), played("wrong-rkey")) as bench:
        await bench.click("RDMA_WRITE_ONLY psn=0", times=2)
        assert bench.app.asked == [("packet", 16)]
        assert not bench.app.screen.selections


async def test_events_and_reasons_can_be_clicked() -> None:
    async with alone(wire, (72, 14), played("wrong-rkey")) as bench:
        await bench.click("ev 20")
        await bench.click("! refused")
        await bench.click("✗ wr7")
        assert bench.app.asked == [("event", 20), ("explain", "refusal rkey"), ("event", 21)]
        assert pane_of(bench).marked is None


async def test_find_marks_the_newest_and_n_goes_on() -> None:
    async with alone(wire, (92, 24), played("two-queue-pairs")) as bench:
        pane_of(bench).focus()
        await bench.press("slash")
        await bench.type("psn >= 3")
        assert "find: psn >= 3▏  4 found" in bench.grid[-1]
        await bench.press("enter")
        assert "ACK psn=3" in marked(bench)[0]
        await bench.press("N", "N")
        assert "RDMA_WRITE_LAST psn=3" in marked(bench)[0]
        await bench.press("n")
        assert "RDMA_WRITE_LAST psn=3" not in marked(bench)[0]
        await bench.press("n", "n")  # after the newest comes the oldest
        assert "RDMA_WRITE_LAST psn=3" in marked(bench)[0]


async def test_a_filter_leaves_out_what_is_not_meant_and_esc_closes_in_order() -> None:
    async with alone(wire, (92, 24), played("two-queue-pairs")) as bench:
        pane = pane_of(bench)
        pane.focus()
        await bench.press("f")
        await bench.type("opcode=ACK")
        await bench.press("enter")
        assert [row.label for row in pane.rows if isinstance(row, PacketRow)] == ["ACK", "ACK"]
        await bench.press("up", "q")
        assert pane.follows == "B.qp1"
        assert "filter: opcode=ACK  1 found" in bench.grid[-1]
        assert "only B.qp1" in bench.grid[-1]
        await bench.press("escape")
        assert (pane.search.text, pane.follows) == ("", "B.qp1")
        await bench.press("escape")
        assert (pane.follows, pane.marked is None) == ("", False)
        await bench.press("escape")
        assert (pane.marked, bench.app.asked) == (None, [])
        await bench.press("escape")
        assert bench.app.asked == [("leave", "")]


async def test_a_packet_that_was_opened_stays_while_the_filter_changes() -> None:
    """The packet has a pane of its own: a filter of the wire does not touch it."""
    async with alone(wire, (92, 24), played("two-queue-pairs")) as bench:
        pane = pane_of(bench)
        pane.focus()
        await bench.press("up", "up", "up", "enter")
        opened = pane.view.packet
        await bench.press("slash")
        await bench.type("NAK")
        assert "0 found" in bench.grid[-1]
        await bench.press("enter", "escape", "escape")
        assert pane.view.packet == opened
        assert bench.app.asked == [("packet", pane.ladder.placed[-3].item.event)]  # type: ignore[union-attr]


async def test_a_mistake_in_a_filter_is_named_and_nothing_is_left_out() -> None:
    async with alone(wire, (92, 24), played("two-queue-pairs")) as bench:
        pane = pane_of(bench)
        pane.focus()
        await bench.press("f")
        await bench.type("opcode=FOO")
        assert '"FOO" is no opcode' in bench.grid[-1]
        assert len(pane.rows) == 10
        await bench.press("ctrl+u")
        await bench.type("reason")
        assert "1 found" not in bench.grid[-1]


async def test_letters_of_a_filter_are_no_commands() -> None:
    async with alone(wire, (92, 24), played("send-and-ack")) as bench:
        pane = pane_of(bench)
        pane.focus()
        await bench.press("slash")
        await bench.type("tqbnf")
        assert (pane.search.text, pane.to_scale, pane.follows) == ("tqbnf", False, "")
        await bench.press("backspace", "escape")
        assert (pane.search.text, pane.search.asks) == ("", False)


async def test_one_queue_pair_can_be_followed() -> None:
    async with alone(wire, (92, 30), played("two-queue-pairs")) as bench:
        pane = pane_of(bench)
        pane.focus()
        await bench.press("q")
        assert {row.qp for row in pane.rows} == {"A.qp1", "B.qp1"}
        await bench.press("q")
        assert len(pane.rows) == 10


async def test_t_draws_to_scale_and_back() -> None:
    async with alone(wire, (92, 24), played("send-and-ack")) as bench:
        pane = pane_of(bench)
        pane.focus()
        before = bench.text
        await bench.press("t")
        assert pane.ladder.placed[0].end == 4
        assert str(pane.border_title).startswith("Wire  to scale")
        await bench.press("t")
        assert bench.text == before


async def test_b_halts_at_the_next_packet_of_this_kind() -> None:
    async with alone(wire, (92, 24), played("send-and-ack")) as bench:
        pane_of(bench).focus()
        await bench.press("up", "up", "b")
        assert bench.app.asked == [("say", "break wire.last.opcode == SEND_ONLY")]


async def test_what_the_world_does_is_drawn_and_the_mark_is_left_then() -> None:
    lab = played("send-and-ack")
    async with alone(wire, (72, 14), lab) as bench:
        await bench.click("SEND_ONLY")
        assert marked(bench)
        write = "post_send A.qp0 opcode=RDMA_WRITE wr_id=8 sg=A.mr0[8:16] remote=B.mr0[8]"
        await bench.say(write, "step packet")
        assert "RDMA_WRITE_ONLY psn=1" in bench.text
        assert not marked(bench)
        await bench.say("back 2")
        assert "RDMA_WRITE_ONLY" not in bench.text


async def test_reading_back_does_not_move_when_packets_come() -> None:
    lab = Lab()
    for line in ("use rc_pair", "post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:8]"):
        well(lab, line)
    well(lab, "until now >= 20ms")
    async with alone(wire, (72, 14), lab) as bench:
        pane = pane_of(bench)
        pane.read_back(3)
        pane.go_to(3)
        await bench.pilot.pause()
        before = bench.grid[1:]
        await bench.say("step 1")
        assert bench.grid[1:4] == before[:3]
        pane.action_newest()
        await bench.pilot.pause()
        assert bench.grid[1:] != before


def turn(bench: Bench, kind: type[events.MouseEvent], y: int) -> None:
    """Turn the wheel over the pane by one step."""
    bench.pane.post_message(kind(bench.pane, 20, 2, 0, y, 0, False, False, False, 20, 2))


async def test_the_wheel_reads_back_and_the_pane_says_how_much_is_below() -> None:
    lab = Lab()
    for line in ("use rc_pair", *[WRITES, "run"] * 6):
        well(lab, line)
    async with alone(wire, (78, 6), lab) as bench:
        pane = pane_of(bench)
        newest = bench.text
        turn(bench, events.MouseScrollUp, -1)
        await bench.pilot.pause()
        assert "▼ 3 rows below" in bench.grid[-1]
        assert bench.grid[0] not in newest
        assert bench.grid[4][:70] in newest
        await bench.say(WRITES, "run")  # a new event does not move what is read
        assert "▼ 10 rows below" in bench.grid[-1]
        await bench.pilot.click(pane, offset=(4, 5))
        await bench.pilot.pause()
        assert "rows below" not in bench.text
        assert "ACK" in bench.grid[-1]
        for _ in range(3):
            turn(bench, events.MouseScrollUp, -1)
        for _ in range(3):
            turn(bench, events.MouseScrollDown, 1)
        await bench.pilot.pause()
        assert "rows below" not in bench.text
        assert "ACK" in bench.grid[-1]


async def test_a_mark_says_how_much_is_below_it() -> None:
    lab = Lab()
    for line in ("use rc_pair", *[WRITES, "run"] * 6):
        well(lab, line)
    async with alone(wire, (78, 6), lab) as bench:
        pane_of(bench).focus()
        await bench.press("pageup", "pageup")
        assert marked(bench)
        assert "rows below" in bench.grid[-1]
        await bench.press("end")
        assert "rows below" not in bench.text


async def test_a_long_run_is_read_only_as_far_as_one_looks_back() -> None:
    lab = Lab()
    for line in ("use rc_pair", "post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:8]"):
        well(lab, line)
    well(lab, "step 5000")
    async with alone(wire, (72, 14), lab) as bench:
        pane = pane_of(bench)
        assert len(pane.rows) <= 22
        pane.focus()
        await bench.press("up", "up")
        assert 100 < len(pane.rows) <= 202
        assert "sent again" in pane.shown.plain  # how often is not known
        await bench.press("home")
        assert "SEND_ONLY psn=0" in marked(bench)[0]
        assert pane._items[0].event < 30
        await bench.press("end")
        assert len(pane.rows) <= 22


def many_writes() -> Lab:
    """2,048 packets of WRITEs and 32 ACKs."""
    lab = Lab()
    for line in (
        "use rc_pair",
        *(f"reg_mr {n}.big pd={n}.pd0 length=1MiB access=15" for n in "AB"),
        "post_send A.qp0 wr_id=1 opcode=RDMA_WRITE sg=A.big remote=B.big[0] flags=SIGNALED",
        "run",
    ):
        well(lab, line)
    return lab


async def test_find_and_filter_know_each_packet_of_the_session() -> None:
    lab = many_writes()
    rows = ladder.rows(lab.session.world, lab.session.names, last=None)
    acks = [row.number for row in rows if isinstance(row, PacketRow) and row.label == "ACK"]
    async with alone(wire, (78, 12), lab) as bench:
        pane_of(bench).focus()
        await bench.press("slash", *"psn=64")
        assert "found  Enter" in bench.text
        await bench.press("enter")
        assert "psn=64 " in marked(bench)[0]
        await bench.press("escape")  # the find ends, what it has marked stays
        assert "psn=64 " in marked(bench)[0]
        await bench.press("up")
        assert "psn=64 " not in marked(bench)[0]
        await bench.press("end", "f", *"ACK", "enter")
        assert f"{len(acks)} found" in bench.text
        assert acks == packets(bench)
        await bench.press("escape", "escape", "home", "pageup")
        assert "psn=0 " in marked(bench)[0]


async def test_a_find_that_has_not_read_the_whole_past_says_how_far_it_looked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(WorldView, "has_all_packets", False)
    async with alone(wire, (78, 12), played("send-and-ack")) as bench:
        pane_of(bench).focus()
        await bench.press("slash", *"psn=64")
        assert "0 found in the last 2 rows" in bench.text
        await bench.press("enter")
        assert "0 found in the last 2 rows, R: earlier ones" in bench.text
        await bench.press("R")
        assert bench.app.asked == [("say", "break wire.last.psn == 64; rewind; delete 1")]


@pytest.mark.parametrize(("size", "rows"), [((78, 8), 1), ((72, 14), 0)])
async def test_a_packet_of_one_row_has_a_planned_row_for_its_arrival(
    size: tuple[int, int], rows: int
) -> None:
    lab = Lab()
    for line in ("use rc_pair", SEND, "step packet"):
        well(lab, line)
    async with alone(wire, size, lab) as bench:
        assert sum("receives SEND_ONLY psn=0" in row for row in bench.grid) == rows, bench.text
        assert sum("planned" in row for row in bench.grid) == 2


async def test_polls_of_a_program_push_no_packet_out() -> None:
    lab = Lab()
    well(lab, "use rc_pair max_send_wr=4")
    lab.start("A.tx", [f"{SEND} wr_id=7", "poll A.cq0"])
    async with alone(wire, (72, 14), lab) as bench:
        for _ in range(3):
            await bench.say("step 3000")
        assert len(lab.session.world.trace.records) > 9_000
        assert "RNR_NAK psn=0" in bench.text
        assert not [row for row in bench.grid if row.rstrip(" ┊│").endswith("╭")], bench.text
        before = packets(bench)
        assert before == printed_packets(bench)
        await bench.say("goto 300us")
        assert packets(bench) == before[:2]


async def test_a_selection_gives_the_drawn_text() -> None:
    async with alone(wire, (72, 14), played("send-and-ack")) as bench:
        pane = pane_of(bench)
        whole = Selection(None, None)
        assert pane.get_selection(whole) == (pane.shown.plain, "\n")
        x, y = bench.place("SEND_ONLY")
        part = Selection(Offset(x, y), Offset(x + 9, y))
        assert pane.get_selection(part) == ("SEND_ONLY", "\n")
        bench.app.screen.selections = {pane: part}
        await bench.pilot.pause()
        strip = pane.render_line(y)
        assert [s.text for s in strip if s.style is not None and s.style.reverse] == ["SEND_ONLY"]


async def test_without_a_packet_the_pane_says_what_to_type() -> None:
    async with alone(wire, (72, 14), Lab()) as bench:
        assert "no packet yet" in bench.text
        pane_of(bench).focus()
        await bench.press("up", "enter", "b", "q", "n", "t", "home", "end")
        assert bench.app.asked == []


async def test_the_twin_prints_the_same_rows() -> None:
    async with alone(wire, (72, 14), played("wrong-rkey")) as bench:
        pane = pane_of(bench)
        printed = [row for row in pane.view.view_of(pane.twin).rows if isinstance(row, PacketRow)]
        assert [row.number for row in printed] == [row.number for row in pane.rows]


@pytest.mark.parametrize(
    ("lines", "seen"),
    [
        (("use ud_pair", "post_recv B.qp0 sg=B.mr0[0:64]",
          "post_send A.qp0 opcode=SEND sg=A.mr0[0:8] ah=A.ah0 remote_qpn=B.qp0 remote_qkey=0x5",
          "run"), "Q_Key 0x5"),
        (("use rc_pair", "post_recv B.qp0 sg=B.mr0[0:64]", "fault duplicate A->B nth=1",
          "post_send A.qp0 opcode=SEND sg=A.mr0[0:8] flags=SIGNALED", "run"), "copied"),
    ],
)  # fmt: skip
async def test_accident_22_a_filter_finds_what_is_drawn(lines: tuple[str, ...], seen: str) -> None:
    lab = Lab()
    for line in lines:
        well(lab, line)
    async with alone(wire, (92, 24), lab) as bench:
        pane = pane_of(bench)
        pane.focus()
        assert seen in bench.text
        await bench.press("f")
        for letter in seen.lower():
            assert pane.search.take(letter, letter)
        pane.read_if_seen()
        assert pane.rows, bench.text
        assert all(seen in pane._seen_text(row) for row in pane.rows)
