"""The screen for a lecture: nothing to type, large, and two keys."""

import pytest

from rdmalab.tui.panes.wire import WirePane
from rdmalab.tui.screens.presenter import Presenter
from tests.tui.stand import Stand, stand

LESSON = "scenarios/err/rnr-retry-exceeded.rdmalab.yaml"


async def present(it: Stand) -> None:
    it.app.say("present")
    await it.until(
        lambda: isinstance(it.app.screen, Presenter) and bool(it.app.screen.query(WirePane))
    )


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=lambda size: "x".join(map(str, size)))
async def test_wire_and_notes_are_large_and_the_prompt_is_gone(size: tuple[int, int]) -> None:
    async with stand(size, path=LESSON) as it:
        await present(it)
        await it.sees("A SEND meets an empty", "step ", "PgDn next  PgUp back  s event  Esc leave")
        assert "A>" not in it.text
        wire = it.app.screen.query_one("#wire")
        assert wire.size.width * wire.size.height >= size[0] * size[1] * 0.3


@pytest.mark.parametrize(("columns", "last"), [(90, "2 right"), (80, "2 right"), (64, "F1 keys")])
async def test_no_key_of_a_lecture_is_cut(columns: int, last: str) -> None:
    async with stand((columns, 24), path=LESSON) as it:
        await present(it)
        await it.sees("PgDn next")
        assert it.grid[-1].rstrip().endswith(last)


async def test_a_clicker_goes_on_and_back() -> None:
    async with stand(path=LESSON) as it:
        await present(it)
        await it.press("pagedown")
        await it.sees("How does wr7 end?", "RNR_NAK")
        await it.press("space")
        await it.sees("b) The RNR timer expires")
        await it.press("pageup")
        await it.sees("How does wr7 end?")
        assert not it.app.main.model.session.history.live
        await it.press("escape")
        await it.sees("A>")


async def test_a_key_takes_one_event_and_the_clicker_goes_on_with_the_lesson() -> None:
    async with stand(path=LESSON) as it:
        await present(it)
        event = it.app.main.model.session.world.event
        await it.press("pagedown", "pageup", "s")
        await it.until(lambda: it.app.main.model.session.world.event == event + 1)
        await it.press("pagedown")
        await it.sees("How does wr7 end?", "RNR_NAK")


async def test_after_own_lines_in_the_past_the_clicker_goes_to_the_next_note_of_the_lesson() -> (
    None
):
    async with stand(path=LOST) as it:
        await present(it)
        await it.press("pagedown", "pagedown")
        await it.sees("PgDn  the next lesson")
        await it.press("pageup")
        await it.sees("step 7 of 10")
        session, walk = it.app.main.model.session, it.app.main.model.walk
        await it.press("pageup", "escape")
        await it.say("alloc_pd A.own")
        assert session.history.branch.name != "main"
        await present(it)
        await it.sees("PgDn  the next note")
        await it.press("pagedown")
        await it.sees("c) All four", "step 7 of 10")
        assert session.history.branch.name == "main"
        assert it.app.main.model.walk is walk


async def test_a_slide_has_the_answer_of_the_steps_that_have_run() -> None:
    async with stand((120, 40), path="scenarios/why/flush-only.rdmalab.yaml") as it:
        await present(it)
        assert "FAILED" not in it.text
        await it.press("pagedown")
        await it.sees(
            "A batch of four", "> why A.qp0.wr[4]", "FAILED  A.qp0.wr[4] ended with", "The end."
        )


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=lambda size: "x".join(map(str, size)))
async def test_an_answer_is_below_the_next_note_as_long_as_that_is_next(
    size: tuple[int, int],
) -> None:
    async with stand(size, path="scenarios/err/remote-access.rdmalab.yaml") as it:
        await present(it)
        await it.press("pagedown", "pagedown")
        await it.sees("an invented key", "> query_qp B.qp0", "qp_state", "ERR")
        await it.press("pageup")
        await it.sees("B has no completion to show.")
        assert "> query_qp" not in it.text
        await it.press("pagedown", "pagedown")
        await it.sees("A key without the right")
        assert "> query_qp" not in it.text


LOST = "scenarios/loss/lost-packet.rdmalab.yaml"
SIZES = [(80, 24), (120, 40), (170, 50), (200, 60)]


@pytest.mark.parametrize("size", SIZES, ids=lambda size: "x".join(map(str, size)))
async def test_the_answer_is_read_beside_the_wire(size: tuple[int, int]) -> None:
    async with stand(size, path=LOST) as it:
        await present(it)
        await it.press("pagedown", "pagedown")
        await it.sees("✓ b) B has dropped PSN 2 and PSN 3", "seven packets")
        await it.sees("PgDn  the next lesson: loss/lost-ack", "ACK psn=3")
        shown = it.text
        assert "load " not in shown
        assert "F8" not in shown
        wire, notes = (it.app.screen.query_one(f"#{name}").region for name in ("wire", "notes"))
        assert not wire.overlaps(notes)
        assert wire.height >= (size[1] - 4) // 2
        has_nodes = size[0] >= 110 and size[1] >= 34
        assert ("RTR → RTS  ev 12" in shown) == has_nodes


async def test_no_pane_of_a_lecture_takes_the_keys_that_leave() -> None:
    for key in ("escape", "q"):
        async with stand(path=LOST) as it:
            await present(it)
            await it.press("tab", "tab", key)
            assert not isinstance(it.app.screen, Presenter)


async def test_the_clicker_goes_from_note_to_note_both_ways() -> None:
    async with stand(path=LOST) as it:
        await present(it)
        await it.press("pagedown")
        await it.sees("c) All four", "PgDn  the answer", "step 7 of 10")
        await it.press("pagedown")
        await it.sees("✓ b)")
        await it.press("pageup")
        await it.sees("c) All four", "PgDn  the answer", "step 7 of 10")
        assert "✓ b)" not in it.text
        await it.press("pageup")
        await it.sees("Four packets.")
        await it.press("f8")
        await it.sees("c) All four")
        assert "✓ b)" not in it.text
        await it.press("pagedown")
        await it.sees("✓ b)")
        await it.press("pagedown")
        await it.until(lambda: it.app.main.model.walk is not None and
                       "lost-ack" in it.app.main.model.walk.scenario.path)  # fmt: skip


async def test_pgup_in_a_lesson_that_pgdn_has_loaded_returns_to_the_end_before() -> None:
    async with stand(path=LESSON) as it:
        await present(it)
        for _ in range(4):
            await it.press("pagedown")
        await it.sees("PgDn  the next lesson: err/retry-exceeded", "step 14 of 14")
        shown = it.text
        await it.press("pagedown")
        await it.sees("PgUp back", "step 2 of 8")
        await it.press("pageup")
        await it.sees("PgDn  the next lesson: err/retry-exceeded", "step 14 of 14")
        assert it.text == shown


async def test_f1_names_the_keys_of_a_lecture() -> None:
    async with stand(path=LOST) as it:
        await present(it)
        await it.press("f1")
        await it.sees("PgDn runs a lesson from note to note", "PgUp Left b F7")


async def test_no_message_covers_the_notes_of_a_lecture() -> None:
    async with stand(path=LOST) as it:
        await present(it)
        it.app.notify("a message over the notes")
        await it.pilot.pause(0.3)
        assert "a message over" not in it.text


async def test_what_is_typed_in_the_help_of_a_lecture_is_not_kept_for_the_prompt() -> None:
    async with stand(path=LESSON) as it:
        await present(it)
        await it.press("h")
        await it.sees("runs a lesson from note to note")
        assert "letters go" not in it.text
        await it.press("e", "x", "escape", "escape")
        await it.until(lambda: it.app.screen is it.app.main)
        assert it.app.prompt.text == ""


async def test_without_a_lesson_the_wire_has_the_whole_height() -> None:
    async with stand() as it:
        await present(it)
        await it.until(lambda: any(w.size.height > 16 for w in it.app.screen.query("#wire")))
        assert not it.app.screen.query("#notes")


async def test_t_draws_the_wire_to_scale() -> None:
    async with stand(path=LESSON) as it:
        await present(it)
        wire = it.app.screen.query_one(WirePane)
        await it.press("t")
        assert wire.to_scale
        await it.press("t")
        assert (wire.to_scale, it.app.prompt.text) == (False, "")


async def test_two_queue_pairs_are_chosen_and_held_in_a_lecture() -> None:
    async with stand((120, 40)) as it:
        await it.say("use rc_pair", "use rc_pair")
        await present(it)
        await it.sees("1 left  2 right", "⇄ B.qp2")
        await it.press("1", "2", "2")
        await it.sees("● held", "qp0 0x11 RC ⇄ B.qp0", "qp1 0x12 RC ⇄ A.qp1")
