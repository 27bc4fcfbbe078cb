"""The lesson browser: what is next is marked, words find, Enter loads as a typed line."""

from pathlib import Path

import pytest

from rdmalab.classroom.progress import mark_done
from rdmalab.recovery.user_paths import STATE
from rdmalab.tui.screens.lessons import Lessons
from tests.tui.stand import Stand, stand

SIZES = [(60, 18), (80, 24), (120, 40), (200, 60)]


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(STATE, str(tmp_path))


async def browse(it: Stand) -> None:
    it.app.say("lessons")
    await it.until(lambda: isinstance(it.app.screen, Lessons))
    await it.sees("basics: ")


@pytest.mark.parametrize("size", SIZES, ids=lambda size: "x".join(map(str, size)))
async def test_the_first_lesson_is_marked_and_described(size: tuple[int, int]) -> None:
    async with stand(size) as it:
        await browse(it)
        await it.sees("● ", "1  Tour: from two queue pairs", "Two nodes, A and B.", "0 of 14 done")
        assert max(map(len, it.grid)) == size[0]


async def test_what_is_done_has_its_sign_and_the_next_one_is_marked() -> None:
    mark_done("tour")
    async with stand((120, 40)) as it:
        await browse(it)
        rows = it.grid
        assert any(row.lstrip().startswith("✓   1  Tour") for row in rows)
        assert any(row.lstrip().startswith("●   2  ") for row in rows)
        await it.sees("1 of 14 done", "load rc/send")


async def test_words_of_title_name_and_tag_find() -> None:
    async with stand((120, 40)) as it:
        await browse(it)
        await it.pilot.press(*"rnr receive queue")
        await it.sees("A SEND meets an empty receive queue")
        await it.pilot.press("ctrl+u", *"nosuchword")
        await it.sees("no lesson has these words")
        await it.pilot.press("enter")
        assert isinstance(it.app.screen, Lessons)
        await it.pilot.press("ctrl+u")
        await it.sees("basics: ")


async def test_enter_loads_the_marked_lesson_as_a_typed_line() -> None:
    async with stand((120, 40)) as it:
        await browse(it)
        await it.pilot.press("down", "enter")
        await it.sees("A> load rc/send", "SEND, the message that needs a receive")


async def test_enter_on_a_lab_types_the_line_that_needs_the_id_of_the_student() -> None:
    async with stand((120, 40)) as it:
        await browse(it)
        await it.pilot.press(*"labs/access")
        await it.sees("load labs/access")
        await it.pilot.press("enter")
        await it.sees("A> load labs/access student=")
        assert it.app.main.model.exercise is None
        await it.pilot.press(*"me", "enter")
        await it.until(lambda: it.app.main.model.exercise is not None)
        await browse(it)
        await it.pilot.press(*"labs/access", "enter")
        await it.sees("A> load labs/access student=me")


async def test_a_click_loads_and_esc_leaves() -> None:
    async with stand((120, 40)) as it:
        await browse(it)
        await it.pilot.press("escape")
        await it.sees("A>")
        await browse(it)
        row = next(n for n, line in enumerate(it.grid) if "3  post_send queues a request" in line)
        await it.pilot.click(offset=(12, row))
        await it.sees("A> load posting/later")


async def test_a_lesson_walked_to_its_end_is_done_and_the_next_one_is_marked() -> None:
    async with stand((120, 40), path="scenarios/rc/send.rdmalab.yaml") as it:
        while it.app.main.model.is_walking:
            await it.press("f8")
        await it.sees("✓ The end.", "next    load posting/later  or  lessons")
        await browse(it)
        await it.until(lambda: any(row.strip().startswith("✓   2  SEND") for row in it.grid))
        await it.pilot.press("escape")
        await it.say("lessons srq")
        await it.sees("srq/example")
