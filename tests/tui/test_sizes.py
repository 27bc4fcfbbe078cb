"""What sizes must show at ten moments of a lesson: five limits, and others drawn by the seed."""

from __future__ import annotations

import re
from functools import partial

import pytest

from rdmalab.tui.screens.page import Page
from rdmalab.views.caption import caption
from tests.each import a_third
from tests.tui.stand import Stand, stand

SIZES = [
    (60, 16), (60, 18), (72, 20), (80, 24), (80, 40), (100, 24), (109, 34), (110, 34), (120, 24),
    (120, 40), (160, 48), (170, 50), (200, 60), (250, 80),
]  # fmt: skip
LIMITS = ((60, 16), (80, 24), (110, 34), (120, 40), (250, 80))  # in each run, others are drawn
MOMENTS = (
    "load err/rnr-retry-exceeded", "next", "back", "goto end", "step", "step", "next", "why",
    "goto @before-nak", "goto end",
)  # fmt: skip
_FEW, _LOW, _TALL, _MEDIUM, _ROOMY = 60, 18, 34, 110, 40
_SENTENCE = 24  # characters of the caption that are seen at any width


def seen_in_a_lesson(it: Stand, columns: int, rows: int) -> list[str]:
    """The parts that a size must show at any moment of a lesson."""
    session = it.app.main.model.session
    text = caption(session.world, session.names, session.world.event).text
    if it.app.main.view.is_asked:
        text = text.partition(", then ")[0]  # the rest is the answer
    wanted = ["rdmalab", f"ev {session.world.event}", text[:_SENTENCE], "A>", "F1 Help"]
    if columns >= _FEW and rows >= _LOW:
        wanted += ["A  ", "B  ", "qp0", "RESET"]
        beside = columns >= _MEDIUM and rows >= _TALL
        wanted += ["Wire", "Notes", "Why"] if beside else ["Wire", "Notes", "F8"]
    if columns >= _MEDIUM and rows >= _ROOMY and session.world.event >= _SENT:
        wanted.append("SEND_ONLY")
    return wanted


_SENT = 17  # the event in which the lesson's first packet leaves


def spelled(text: str, ascii_only: bool) -> str:
    """A text as the screen has it."""
    return re.sub(r"[^\x20-\x7e]", ".", text) if ascii_only else text


def shows(it: Stand, wanted: list[str], ascii_only: bool) -> bool:
    seen = spelled(it.text, ascii_only)
    return all(text in seen for text in wanted)


@pytest.mark.parametrize(
    ("size", "ascii_only"),
    [
        *((size, False) for size in dict.fromkeys((*LIMITS, *a_third(SIZES)))),
        *((size, True) for size in a_third(SIZES)),
    ],
)
async def test_a_lesson_is_seen_at_each_size(
    size: tuple[int, int], ascii_only: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RDMALAB_ASCII", "1" if ascii_only else "0")
    columns, rows = size
    async with stand(size) as it:
        for line in MOMENTS:
            await it.say(line)
            await it.pilot.pause(0.05)
            if isinstance(it.app.screen, Page):
                await it.sees("Esc Back")
                await it.press("escape")
            wanted = [spelled(text, ascii_only) for text in seen_in_a_lesson(it, columns, rows)]
            if line.startswith("load") and not it.app.prompt.is_vertical_scroll_end:
                wanted[wanted.index("A>")] = "below, PgDn"  # its text is read from the beginning
            await it.until(partial(shows, it, wanted, ascii_only))
            grid = it.grid
            assert len(grid) == rows
            assert {len(row) for row in grid} == {columns}
            assert "".join(grid).isascii() or not ascii_only


WRITE = "post_send A.qp{0} opcode=RDMA_WRITE wr_id=7 sg=A.mr{0}[0:5] remote_addr=0x1064 rkey=0xdead"


@pytest.mark.parametrize(
    ("size", "pairs"),
    [((80, 24), 2), ((80, 24), 40), ((120, 40), 1), ((120, 40), 5), ((200, 60), 40)],
    ids=str,
)
async def test_the_failure_is_seen_with_any_number_of_queue_pairs(
    size: tuple[int, int], pairs: int
) -> None:
    async with stand(size) as it:
        for _ in range(pairs - 1):
            it.app.main.model.lab.do("use rc_pair")
        await it.say(f"{WRITE.format(pairs - 1)} flags=SIGNALED", "run")
        await it.sees("wr7", "REM_ACCESS_ERR", "rkey 0xdead", f"qp{pairs - 1}", "ERR")

        def is_in_a_card() -> bool:  # the panes are drawn after the prompt
            rows = it.grid[: -size[1] // 3]
            return any("wr7" in row and "REM_ACCESS_ERR" in row for row in rows)

        await it.until(is_in_a_card)


async def test_the_tab_in_front_has_the_colour_of_the_focus_only_with_its_pane() -> None:
    async with stand((120, 40)) as it:
        assert not it.app.main.has_class("-side-focus")
        await it.pane("packet")
        await it.until(lambda: it.app.main.has_class("-side-focus"))
        await it.press("escape")
        await it.until(lambda: not it.app.main.has_class("-side-focus"))


RNR = "post_send A.qp0 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED"


async def test_a_large_screen_gives_the_wire_what_the_session_needs_and_no_step_takes_it_back() -> (
    None
):
    async with stand((200, 60)) as it:
        wire, middle = (it.app.main.query_one(name) for name in ("#wire", "#middle"))

        def share() -> int:
            return round(20 * wire.outer_size.height / middle.size.height) * 5

        async def settles_at(percent: int) -> None:
            await it.until(lambda: share() == percent)
            await it.pilot.pause(0.1)
            assert share() == percent

        await settles_at(40)
        await it.say(RNR, "run 5ms")
        await settles_at(60)
        await it.say("goto start")
        await settles_at(60)
        await it.say("new")
        await settles_at(40)


async def test_a_large_screen_says_all_that_an_event_did_below_its_sentence() -> None:
    async with stand((200, 60)) as it:
        await it.say(f"{WRITE.format(0)} flags=SIGNALED", "run")
        await it.until(lambda: "went to ERR" in it.grid[2])
        assert "A.cq0 added wr7 REM_ACCESS_ERR; A.qp0 went RTS → ERR" in it.grid[3]


async def test_at_80x24_the_menu_has_its_eight_rows() -> None:
    async with stand((80, 24)) as it:
        it.type("query_")
        await it.until(lambda: sum("query_" in row for row in it.grid) >= 8)
        await it.sees("A> query_")
