"""The page and the strip of a lesson: both follow the session, neither says too much."""

from pathlib import Path

import pytest

from rdmalab.recovery.user_paths import STATE
from rdmalab.tui.panes.notes import NotesPane, StripPane
from rdmalab.tui.world_view import WorldView
from tests.shell.test_kept_labs import shown_lines
from tests.tui.pane_host import hosted

LESSON = "load err/rnr-retry-exceeded"
INIT = "modify_qp {}.qp0 state=INIT pkey_index=0 port_num=1 qp_access_flags=0"


def page(view: WorldView) -> NotesPane:
    return NotesPane(view, id="notes")


def strip(view: WorldView) -> StripPane:
    return StripPane(view, id="strip")


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(STATE, str(tmp_path))


async def test_the_page_follows_the_session_into_the_past() -> None:
    async with hosted(page, LESSON, "next", "next") as it:
        assert "step 9 of 14" in it.text
        assert "b) The RNR timer expires" in it.text
        assert "F8 runs  post_send A.qp0 opcode=SEND wr_id=8" in it.text
        await it.do("back 5")
        assert "How does wr7 end?" in it.text
        assert "c) wr7 fails when the RNR timer expires." in it.text
        assert "step 6 of 14" in it.text  # as when it was asked
        assert "b) The RNR timer expires" not in it.text
        assert "goto end returns to the lesson" in it.text


async def test_a_lesson_that_failed_says_what_was_expected(tmp_path: Path) -> None:
    file = tmp_path / "wrong.rdmalab.yaml"
    file.write_text(
        "rdmalab: 1\ntitle: t\nsteps:\n  - note: n\n"
        "  - do: alloc_pd A.pd0\n    expect: [now == 5]\n"
    )
    async with hosted(page, f'load "{file}"', "next") as it:
        assert "now == 5" in it.text
        assert "The end." not in it.text
    async with hosted(strip, f'load "{file}"', "next", size=(80, 2)) as it:
        assert it.text.startswith("failed")


async def test_the_end_offers_the_next_lesson_and_the_list() -> None:
    ends = ("load loss/corrupted", *["next"] * 9)
    async with hosted(page, *ends) as it:
        assert "✓ The end." in it.text
        row = next(n for n, line in enumerate(it.text.splitlines()) if line.startswith("next"))
        await it.pilot.click(offset=(12, row))
        assert it.asked == ["say load time/there-and-back"]
        await it.pilot.click(offset=(it.text.splitlines()[row].index("lessons") + 1, row))
        assert it.asked[-1] == "lessons"
    async with hosted(strip, *ends, size=(80, 2)) as it:
        assert "load time/there-and-back  or  lessons" in it.text


async def test_the_strip_says_what_was_seen_and_what_comes() -> None:
    async with hosted(strip, LESSON, size=(80, 2)) as it:
        seen, comes = it.text.splitlines()
        assert seen.startswith("seen    B never posts a receive.")
        assert comes == "F8      Nothing is posted on B. Post a SEND on A."
        await it.do("next")
        assert it.text.splitlines()[1] == "asked   How does wr7 end? a, b or c answers, F8 goes on"
        await it.do("next", "back 5")
        assert it.text.splitlines()[1] == "now     How does wr7 end?"


async def test_a_note_that_was_seen_is_read_to_its_last_word() -> None:
    lines = (LESSON, "next", "next", "next")
    async with hosted(strip, *lines, size=(78, 3)) as it:
        seen, goes_on, comes = it.text.splitlines()
        assert seen == "seen    In ERR work may still be posted. It is not sent, it comes back"
        assert goes_on == "        flushed."
        assert comes.startswith("F8      B.qp0 is still in RTS.")
    async with hosted(page, *lines, size=(48, 14)) as it:
        assert "It is not sent, it comes back flushed." in " ".join(it.text.split())
        assert "B.qp0 is still in RTS." in it.text
    async with hosted(page, *lines, size=(48, 9)) as it:  # what is to be read now goes first
        assert "step 12 of 14" in it.text
        assert "In ERR work" not in it.text


async def test_a_note_that_is_too_long_for_the_strip_says_so() -> None:
    async with hosted(strip, LESSON, "next", "next", size=(30, 2)) as it:
        assert it.text.rstrip().endswith("…")
        assert max(map(len, it.text.splitlines())) <= 30


async def test_the_strip_of_the_tour_has_the_task_and_the_line_for_tab() -> None:
    async with hosted(strip, "tour", size=(80, 2)) as it:
        assert it.text.splitlines() == [
            "task    0 %  ●········  1. RESET to INIT", f"Tab     {INIT.format('A')}"
        ]  # fmt: skip
        await it.do(INIT.format("A"))
        assert it.text.splitlines()[1] == f"Tab     {INIT.format('B')}"
        await it.do(INIT.format("B"))
        assert "11 %  ✓●·······  2. A receive for B" in it.text


async def test_the_strip_of_a_question_has_its_answers_where_they_fit() -> None:
    lines = shown_lines()
    async with hosted(strip, "tour", *lines[: lines.index("goto @before")]) as it:
        assert "asked   What does B answer? a) an ACK, b) an RNR NAK, c) nothing" in it.text


async def test_the_page_of_the_tour_ticks_the_tasks() -> None:
    async with hosted(page, "tour", *map(INIT.format, "AB")) as it:
        assert "1 of 9 tasks" in it.text
        assert "✓ 1. RESET to INIT" in it.text
        assert "● 2. A receive for B" in it.text
        assert "· 3. INIT to RTR: ready to receive" in it.text
        assert "Tab writes  post_recv B.qp0 wr_id=1 sg=B.mr0[0:64]" in it.text


async def test_where_only_the_answer_is_missing_the_page_shows_just_the_question() -> None:
    lines = shown_lines()
    async with hosted(page, "tour", *lines[: lines.index("goto @before") - 1]) as it:
        assert "What does B answer?" in " ".join(it.text.split())
        assert "Send once more without a new receive" in " ".join(it.text.split())
    async with hosted(page, "tour", *lines[: lines.index("goto @before")]) as it:
        assert "Send once more" not in " ".join(it.text.split())
        question = it.text[it.text.index("What does B answer?") :].splitlines()
        assert question[1].strip() == "a) an ACK   b) an RNR NAK   c) nothing"


async def test_a_wrong_answer_has_its_sign_and_its_words() -> None:
    async with hosted(page, "tour", size=(100, 40)) as it:
        for _ in range(16):
            await it.do(it.model.offered or "step")
        await it.do("answer no-receive 1")
        assert "✗ 7. A message without a receive" in it.text
        assert "An ACK came for the first message." in it.text


async def test_a_lab_shows_its_points_and_goals() -> None:
    async with hosted(page, "load labs/sq-full student=s1") as it:
        assert "sq-full  0 of 7 points, 3 hidden" in it.text
        assert "not yet  deliver:" in it.text


async def test_without_a_lesson_the_page_says_how_to_load_one() -> None:
    async with hosted(page) as it:
        assert "load NAME loads a lesson" in it.text
    async with hosted(strip, size=(80, 2)) as it:
        assert it.text.strip() == ""


async def test_in_the_strip_a_question_is_not_cut_by_the_way_to_answer() -> None:
    async with hosted(strip, "load labs/by-hand student=anna", size=(80, 2)) as it:
        question = "Which attribute is needed for INIT to RTR, and not for RTR to RTS?"
        assert f"asked   {question}" in it.text
        assert "…" not in it.text


async def test_on_an_own_branch_a_lesson_that_is_over_has_not_ended() -> None:
    async with hosted(page, "load err/rnr-retry-exceeded", *["next"] * 4) as it:
        assert "✓ The end." in it.text
        await it.do("goto 20", "alloc_pd A.pd7")
        assert "The end." not in it.text
        assert "switch main  returns to the lesson" in it.text
        await it.do("switch main")
        assert "✓ The end." in it.text
