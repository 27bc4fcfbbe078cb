"""What a node's card shows: ten moments at the sizes of three screens, keys and clicks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rdmalab.tui.pane import fitted
from rdmalab.tui.panes.node import NodePane
from tests.tui.panes.cards import BAD_RKEY, MOMENTS, SEND, alone, at
from tests.tui.playing import first

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rdmalab.tui.world_view import WorldView

# What a card has inside: at 80x24 (today, and as it was asked for), at 120x40 and 200x60.
SIZES = {"80x24": (37, 6), "80x24 low": (38, 7), "120x40": (57, 11), "200x60": (52, 36)}
# moment, node, sizes (large: from 120x40 on, or one of them), what must be seen
SEEN = """
first | A | all | ●RTS; 1 of 8; ✓ 1 acked; ✓ wr1 SEND SUCCESS; hello
first | A | large | RESET → INIT → RTR → ●RTS ⇄ SQD
first | B | 80x24 low | PSN next 0  expected 1
first | A | 200x60 | PSN next 1  expected 0  unacknowledged from 1  MSN 0
first | B | all | ●RTS; ✓ 1 used; ✓ wr1 RECV; 64 B; hello
first | A | 120x40 | RTR → RTS  ev 12
first | A | 200x60 | RESET → INIT → RTR → ●RTS ⇄ SQD   ERR; ev 12
first | A | large | psn 0; rkey 0x326; PSN next 1; retries 7 of 7 left
wrong rkey | A | all | ●ERR; ✗ 2 failed; ✗ wr7 WRITE 5 B REM_ACCESS_ERR; 3 of 16
wrong rkey | A | all | ev 28
wrong rkey | A | large |  ✗ wr8 WR_FLUSH_ERR; ✓ 1 acked; ✗ wr8 WRITE 8 B WR_FLUSH_ERR
wrong rkey | A | large | poll_cq returns this one next
wrong rkey | B | all | ●ERR; ! ; QP_ACCESS_ERR; get_async_event B; ✓ wr1 RECV; hello
wrong rkey | B | large | not read: get_async_event B
rnr | A | all | ●RTS; ◷ 1 waiting; ◷ wr2 SEND 4 B RNR wait 640 us; ✓ wr1 SEND SUCCESS
rnr | B | all | ! no receive is posted; ✓ wr1 RECV; hello
lost | A | all | ▶ 1 under way; ▶ wr2 SEND 4 B under way; ✓ wr1 SEND SUCCESS
lost | B | all | 1 ready; ✓ 1 used; ✓ wr1 RECV
dead | A | all | ✗ dead: ; wr4 waits; ◷ wr4 SEND 64 B waits; ◷ 1 waiting; 2 QPs
dead | A | large | dead: nothing is planned and wr4 waits; timeout=0
sqd | A | all | ●SQD; ◷ wr2 SEND 4 B waits in SQD; ✓ wr1 SEND SUCCESS
sqd | B | all | ! wr2 needs a receive
five | A | all | 5 QPs: 3 RTS ✗ 2 ERR qp0 qp2; ✗ wr7 WRITE 5 B REM_ACCESS_ERR
five | A | all | ✗ wr7 REM_ACCESS_ERR; ✗ 2 failed
five | B | all | 5 QPs: 4 RTS ✗ 1 ERR qp0; QP_ACCESS_ERR; ✓ wr1 RECV
forty | A | all | 40 QPs: 38 RTS ✗ 2 ERR qp16 qp17; ✗ wr7 WRITE 5 B REM_ACCESS_ERR
forty | A | all | ✗ wr7 REM_ACCESS_ERR
forty | B | all | 40 QPs: 39 RTS ✗ 1 ERR qp17; QP_ACCESS_ERR
srq | B | all | ✓ 1 taken; ✓ wr500 RECV; 2 QPs; hello
srq | B | large | srq0; wr500 1024 B taken by qp1 ev 29
ud | A | all | SQE; ✓ 1 sent; ✓ wr500 SEND SUCCESS; hello
ud | A | large | ah0  to B; Q_Key 0x11111111
ud | B | all | ✓ 1 used; ✓ wr600
xrc | B | all | QP_LAST_WQE_REACHED; get_async_event; ✓ 3 taken; ✗ wr3 REM_INV_REQ_ERR
flushed | B | all | ✗ 1 failed  ✓ 1 used
init | A | 200x60 | initialized: packets are dropped
destroyed | A | all | no queue pair: type use rc_pair; ✗ wr8 WR_FLUSH_ERR qp0
destroyed | A | all | ✗ wr7 REM_ACCESS_ERR qp0
"""

# What must not be there: alarms where nothing is due, states of other types, a failure as done.
UNSEEN: list[tuple[str, int, tuple[str, ...]]] = [
    ("first", 0, ("!", "✗", "SQE", "EMPTY", "QPs")),
    ("first", 1, ("!", "✗", "SQE", "EMPTY", "none")),
    ("wrong rkey", 0, ("done", "3 acked", "2 acked")),
    ("dead", 0, ("under way", "▶")),
    ("lost", 1, ("!",)),
    ("forty", 0, ("mr39",)),
    ("srq", 0, ("!",)),
    ("ud", 0, ("!", "retries")),
]


def card(view: WorldView, position: int, size: tuple[int, int]) -> list[str]:
    pane = NodePane(view, id=f"node-{position}")
    with view.frame():
        return [line.plain for line in fitted(pane.lines(*size), size[1])]


@pytest.mark.parametrize("row", SEEN.strip().splitlines())
def test_what_must_be_seen(row: str) -> None:
    moment, node, sizes, words = (part.strip(" ") for part in row.split("|"))
    for name, size in SIZES.items():
        if sizes in ("all", name) or (sizes == "large" and not name.startswith("80")):
            shown = card(at(moment), "AB".index(node), size)
            missing = [w for w in words.split("; ") if not any(w in line for line in shown)]
            assert not missing, (name, missing, shown)


@pytest.mark.parametrize(("moment", "position", "words"), UNSEEN)
def test_what_must_not_be_seen(moment: str, position: int, words: tuple[str, ...]) -> None:
    for size in SIZES.values():
        text = "\n".join(card(at(moment), position, size))
        assert not [word for word in words if word in text], text


MANY = (
    "first",
    "wrong rkey",
    "rnr",
    "lost",
    "dead",
    "sqd",
    "five",
    "srq",
    "ud",
    "xrc",
    "destroyed",
)


@pytest.mark.parametrize("moment", MANY)
def test_no_line_is_wider_than_the_card_and_no_value_is_cut(moment: str) -> None:
    for position in (0, 1):
        whole = " ".join(card(at(moment), position, (200, 99)))
        for width in range(30, 90):
            for line in card(at(moment), position, (width, 30)):
                assert len(line) <= max(width, 34), (width, line)
                cut = [word for word in line.split() if "…" in word and word not in whole]
                assert not cut, line


def test_the_newest_completion_is_seen_after_it_was_polled() -> None:
    _, view = first(*BAD_RKEY, "poll_cq A.cq0 num_entries=8")
    shown = card(view, 0, SIZES["80x24"])
    assert any("0 of 16" in line and "wr8 WR_FLUSH_ERR polled" in line for line in shown)
    assert any("✗ wr7 WRITE 5 B REM_ACCESS_ERR" in line for line in shown)
    assert any("wr7" in line and "ev 28" in line for line in card(view, 0, SIZES["120x40"]))


def test_after_a_flush_the_queue_shows_the_failure_before_it() -> None:
    for size in SIZES.values():
        (line,) = (line for line in card(at("wrong rkey"), 0, size) if "3 of 16" in line)
        assert "✗ wr7 REM_ACCESS_ERR" in line
        assert "wr8" not in line


@pytest.mark.parametrize(("move", "style"), [("state=RESET", "reverse"), ("state=ERR", "on $bad")])
def test_the_current_state_is_filled_in_each_theme(move: str, style: str) -> None:
    _, view = first(f"modify_qp A.qp0 {move}")
    with view.frame():
        line = next(text for _, text in NodePane(view, id="node-0").lines(57, 11))
    (chip,) = (span for span in line.spans if "●" in line.plain[span.start : span.end])
    assert style in str(chip.style)


def test_the_oldest_request_that_waits_stays_among_many() -> None:
    posts = [SEND.replace("=2", f"={n}", 1) for n in range(2, 9)]
    _, view = first("modify_qp A.qp0 state=SQD", *posts)
    shown = card(view, 0, SIZES["80x24"])
    assert any("◷ wr2 SEND" in line for line in shown)
    assert any("8 of 8" in line and "! full" in line for line in card(view, 0, (57, 11)))


def test_events_that_wait_name_the_verb_that_reads_them() -> None:
    lab, view = first("use rc_pair channel=1", "req_notify_cq B.cq1")
    assert any("armed for the next completion" in line for line in card(view, 1, (57, 30)))
    sent = "post_send A.qp1 wr_id=9 opcode=SEND sg=A.mr1[0:4] flags=SIGNALED"
    for line in ("post_recv B.qp1 sg=B.mr1[0:64]", sent, "run"):
        lab.do(line)
    assert any("! 1 event not read: get_cq_event B.ch1" in line for line in card(view, 1, (57, 11)))


def test_card_has_an_inactive_port_and_waiting_programs() -> None:
    lab, view = first("link down")
    assert any("! port DOWN" in line for line in card(view, 0, SIZES["80x24"]))
    lab.start("A.rx", ["poll_cq A.cq0 num_entries=9", "get_async_event A"])
    lab.run()
    assert any("A.rx" in line for line in card(view, 0, (57, 30)))
    lab.start("A.e", ["get_async_event A"])
    lab.run()
    assert any("A.e ◷ WAITING 1: get_async_event A" in each for each in card(view, 0, (39, 30)))


def test_the_memory_is_that_of_the_region_used_last_from_the_bytes_used() -> None:
    lab, view = first("use rc_pair", 'write B.mr0[600:603] "abc"')
    view.choose("B.qp0")
    shown = card(view, 1, SIZES["80x24"])
    assert any(line.startswith("mr0+258 61 62 63") for line in shown), shown
    lab.do('write B.mr1[0:2] "zz"')  # of the protection domain of B.qp1
    view.choose("B.qp0")
    assert any(line.startswith("mr0+258") for line in card(view, 1, SIZES["80x24"]))
    view.choose("B.qp1")
    assert any(line.startswith("mr1+000 7a 7a") for line in card(view, 1, SIZES["80x24"]))


def test_an_empty_shared_queue_names_the_message_that_needs_a_receive() -> None:
    sends = [f"post_send A.qp{n} wr_id={n} opcode=SEND sg=A.mr1[0:64]" for n in (1, 2)]
    _, view = first(
        "use srq_pair", "post_srq_recv B.srq1 wr_id=100 sg=B.mr1[0:64]",
        sends[0], "run 100us", sends[1], "run 100us",
    )  # fmt: skip
    for qp in ("B.qp1", "B.qp2"):
        view.choose(qp)
        for size in SIZES.values():
            assert any("SRQ" in line or "srq1" in line for line in card(view, 1, size))
    assert any("wr100 64 B taken by qp1" in line for line in card(view, 1, SIZES["200x60"]))
    assert any("! no receive is posted" in line for line in card(view, 1, SIZES["80x24"]))


def test_a_send_whose_completion_was_lost_has_failed() -> None:
    sends = [SEND.replace("qp0", "qp1").replace("mr0", "mr1").replace("=2", f"={n}", 1)
             for n in (7, 8, 9)]  # fmt: skip
    lab, view = first("use rc_pair cqe=2", *["post_recv B.qp1 sg=B.mr1[0:64]"] * 3, *sends)
    lab.do("run")
    view.choose("A.qp1")
    for size in SIZES.values():
        shown = card(view, 0, size)
        assert any("✗ wr9 SEND 4 B REM_OP_ERR" in line for line in shown), shown
        assert not any("wr9 SEND 4 B acked" in line for line in shown)


# ---- in an App ---------------------------------------------------------------------------------
def nodes(view: WorldView) -> Iterator[NodePane]:
    yield NodePane(view, id="node-0")
    yield NodePane(view, id="node-1")


async def test_what_is_clicked_reacts() -> None:
    async with alone(lambda: nodes(at("wrong rkey")), (120, 12)) as seen:
        assert await seen.click("INIT") == [("explain", "state INIT")]
        assert await seen.click("●ERR") == [("explain", "state ERR")]
        assert await seen.click("send") == [("explain", "max_send_wr")]
        assert await seen.click("receive") == [("explain", "max_recv_wr")]
        assert await seen.click("completed") == [("explain", "cq")]
        assert await seen.click("wr7 WRITE") == [("ask", "A.qp0.wr[7]")]
        assert await seen.click("wr8 WR_FLUSH") == [("ask", "A.qp0.wr[8]")]
        assert await seen.click("wr1 RECV") == [("ask", "B.qp0.recv_wr[1]")]
        assert await seen.click("RTS → ERR") == [("event", 28)]
        assert await seen.click("QP_ACCESS_ERR") == [("explain", "QP_ACCESS_ERR")]
        assert await seen.click("get_async_event") == [("type_in", "get_async_event B")]
        assert await seen.click("68 65") == [("type_in", "show B.mr0")]


async def test_the_two_nodes_keep_together_and_a_later_command_wins() -> None:
    lab, view = first("use rc_pair", "use rc_pair")
    async with alone(lambda: nodes(view), (120, 14)) as seen:
        assert "qp2 0x13 RC ⇄ B.qp2  3 of 3" in seen.rows[0]
        seen.app.query_one("#node-0", NodePane).focus()
        await seen.pilot.press("down")
        assert ("qp0 0x11 RC ⇄ B.qp0" in seen.rows[0], "⇄ A.qp0" in seen.rows[0]) == (True, True)
        await seen.pilot.press("up", "up")
        assert ("qp1 0x12 RC ⇄ B.qp1" in seen.rows[0], "⇄ A.qp1" in seen.rows[0]) == (True, True)
        seen.app.query_one("#node-1", NodePane).focus()
        await seen.pilot.press("up")
        assert ("⇄ B.qp0" in seen.rows[0], "⇄ A.qp0" in seen.rows[0]) == (True, True)
        lab.do("query_qp A.qp2")
        await seen.read_rows()
        assert "⇄ B.qp2" in seen.rows[0]
        await seen.pilot.press("enter")
        assert seen.app.asked == [("open", "show B.qp2")]


async def test_a_queue_pair_that_is_held_stays_whatever_commands_name() -> None:
    lab, view = first("use rc_pair", "use rc_pair")
    async with alone(lambda: nodes(view), (120, 14)) as seen:
        seen.app.query_one("#node-0", NodePane).focus()
        await seen.pilot.press("up", "p")
        assert "⇄ B.qp1  2 of 3" in seen.rows[0]
        assert "held" in seen.rows[0]
        lab.do("query_qp A.qp2")
        await seen.read_rows()
        assert ("⇄ B.qp1" in seen.rows[0], "⇄ A.qp1" in seen.rows[0]) == (True, True)
        await seen.pilot.press("up")
        lab.do("query_qp A.qp2")
        await seen.read_rows()
        assert "⇄ B.qp0" in seen.rows[0]
        seen.app.query_one("#node-1", NodePane).focus()
        await seen.pilot.press("p")  # of the peer, too
        assert "held" not in seen.rows[0]
        assert "⇄ B.qp2" in seen.rows[0]


async def test_any_two_queue_pairs_are_held_side_by_side() -> None:
    lab, view = first("use rc_pair", "use rc_pair")
    async with alone(lambda: nodes(view), (120, 14)) as seen:
        seen.app.query_one("#node-0", NodePane).focus()
        await seen.pilot.press("up", "p")
        seen.app.query_one("#node-1", NodePane).focus()
        await seen.pilot.press("up")
        lab.do("query_qp A.qp2")
        await seen.read_rows()
        assert ("⇄ B.qp1" in seen.rows[0], "⇄ A.qp0" in seen.rows[0]) == (True, True)
        assert seen.rows[0].count("● held") == 2
        await seen.pilot.press("p")
        assert ("held" in seen.rows[0], "⇄ B.qp2" in seen.rows[0]) == (False, True)


async def test_two_queue_pairs_of_one_node_are_side_by_side() -> None:
    lab, view = first("use rc_pair", "use rc_pair")
    async with alone(lambda: nodes(view), (120, 14)) as seen:
        seen.app.query_one("#node-1", NodePane).focus()
        lab.do("query_qp A.qp0")
        await seen.pilot.press("o")
        assert ("⇄ B.qp0" in seen.rows[0], "⇄ B.qp1" in seen.rows[0]) == (True, True)
        assert seen.rows[0].count("● held") == 1
        await seen.pilot.press("down")
        assert ("⇄ B.qp0" in seen.rows[0], "⇄ B.qp2" in seen.rows[0]) == (True, True)
        lab.do("query_qp A.qp1")
        await seen.read_rows()
        assert ("⇄ B.qp1" in seen.rows[0], "⇄ B.qp2" in seen.rows[0]) == (True, True)
        await seen.pilot.press("o")
        assert ("⇄ B.qp1" in seen.rows[0], "⇄ A.qp1" in seen.rows[0]) == (True, True)
        assert "held" not in seen.rows[0]


async def test_a_pane_of_twenty_pairs_says_that_it_is_held() -> None:
    _, view = first(*["use rc_pair"] * 19)
    async with alone(lambda: nodes(view), (108, 36)) as seen:
        view.choose("A.qp12")
        seen.app.query_one("#node-0", NodePane).focus()
        await seen.pilot.press("p")
        assert seen.rows[0].count("● held") == 2, seen.rows[0]
        assert "qp12 0x1d RC ⇄ B.qp12" in seen.rows[0]


async def test_where_there_is_room_the_other_queue_pairs_have_a_row_each() -> None:
    _, five = first(*MOMENTS["five"])
    async with alone(lambda: nodes(five), (120, 40)) as seen:
        row = next(y for y, text in enumerate(seen.rows) if "qp2    ✗ ERR  SQ 0 of 8" in text)
        await seen.pilot.click(offset=(seen.rows[row].index("qp2") + 1, row))
        await seen.pilot.pause()
        assert "qp2 0x13 RC ⇄ B.qp2" in seen.rows[0]
        assert any("qp0    ✗ ERR  ✗ 2 failed  SQ 3 of 8" in text for text in seen.rows)
    async with alone(lambda: nodes(at("forty")), (120, 14)) as seen:
        assert not any("qp2    RTS" in text for text in seen.rows)


async def test_a_click_on_a_name_chooses_the_queue_pair() -> None:
    async with alone(lambda: nodes(at("five")), (120, 14)) as seen:
        await seen.click("ERR qp0 qp2")
        x = seen.rows[2].index("qp0 qp2") + 5
        await seen.pilot.click(offset=(x, 2))
        await seen.pilot.pause()
        assert "qp2 0x13 RC ⇄ B.qp2  3 of 5" in seen.rows[0]
    at("five").choose("A.qp0")
