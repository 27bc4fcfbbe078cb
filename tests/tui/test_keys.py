"""Each key: a command that does the same, a row of the help, a row of the palette."""

import asyncio
import re

import pytest
from prompt_toolkit.key_binding.key_processor import KeyPress
from prompt_toolkit.keys import Keys
from textual import events

from rdmalab.tui.app import Rdmalab
from rdmalab.tui.keys import AT_PROMPT, EVERYWHERE, IN_PANES, shown
from rdmalab.tui.palette import offers
from rdmalab.tui.panes.node import NodePane
from rdmalab.tui.panes.wire import WirePane
from rdmalab.vocabulary import VOCABULARY
from tests.tui.stand import stand

KEYS = (*EVERYWHERE, *IN_PANES, *AT_PROMPT)
# Moves of the focus and of the text at the cursor, and the job of a shell: no command has them.
NO_WORD = {
    "leave",
    "leave(True)",
    "suspend_process",
    "press('tab')",
    "press('ctrl+r')",
    "press('ctrl+c')",
}
# tmux, screen, flow control; the menu and the full screen of a desktop, an editor, a browser.
EATEN = {"ctrl+b", "ctrl+a", "ctrl+s", "f10", "f11", "f12", "ctrl+w", "ctrl+t", "ctrl+n"}


@pytest.mark.parametrize("key", KEYS, ids=lambda key: f"{key.keys}-{key.action}")
def test_a_command_does_the_same(key) -> None:  # type: ignore[no-untyped-def]
    if key.action in NO_WORD:
        assert not key.word
    elif key.word.startswith("settings"):
        return  # a word of the settings
    else:
        assert key.word.split()[0] in {*VOCABULARY, "quit"}
        assert callable(getattr(Rdmalab, f"action_{key.action.partition('(')[0]}", None)) or (
            key in AT_PROMPT
        )


def test_none_is_eaten_before_it_arrives() -> None:
    names = {name for key in KEYS for name in key.keys.split(",")}
    assert not names & EATEN
    assert {"f1", "f2", "f8", "f9"} <= names | {Rdmalab.COMMAND_PALETTE_BINDING}


async def test_each_key_is_in_the_help_and_in_the_palette() -> None:
    async with stand((120, 40)) as it:
        rows = " ".join(f"{offer.text.lower()} {offer.help}" for offer in offers(it.app))
        for key in (*EVERYWHERE, *IN_PANES):
            same = [each.meaning for each in EVERYWHERE if each.action == key.action]
            assert any(text.lower() in rows for text in (*same, key.meaning)), key
        await it.press("f6", "f1")
        await it.until(lambda: hasattr(it.app.screen, "heading"))
        text = it.app.screen.text  # type: ignore[attr-defined]
        for key in (*EVERYWHERE, *IN_PANES):
            name = re.escape(shown(key.keys.partition(",")[0]))
            assert re.search(rf"(?m)^ *{name} +{re.escape(key.meaning)}", text), key


SENDS = ["post_recv B.qp0 sg=B.mr0[0:64]", "post_send A.qp0 opcode=SEND sg=A.mr0[0:64]", "run"]


async def test_a_mistake_that_is_too_long_for_its_row_is_shown_whole_with_enter() -> None:
    async with stand() as it:
        await it.pane("wire")
        await it.pilot.press("f", *"count(x)>3", "enter")
        await it.until(lambda: any("count(A.mr)" in n.message for n in it.app._notifications))
        await it.pilot.press("ctrl+u", *"qp=A.qp0", "enter")
        await it.sees("filter: qp=A.qp0  1 found")


async def test_esc_in_the_wire_ends_what_was_begun_before_it_leaves() -> None:
    async with stand() as it:
        await it.say(*SENDS)
        await it.pane("wire")
        wire = it.app.screen.query_one(WirePane)
        await it.pilot.press("f", *"psn=1 3")
        assert (it.focused, wire.search.text) == ("wire", "psn=1 3")  # 1 and 3 are tabs otherwise
        footer = it.grid[-1]
        assert "Filter" not in footer
        assert "F8 Step" in footer
        await it.pilot.press("backspace", "backspace", "enter", "up", "q")
        await it.sees("only B.qp0")
        for left in ("filter", "pair", "mark"):
            assert wire.is_begun, left
            await it.pilot.press("escape")
            assert it.focused == "wire"
        assert not wire.is_begun
        await it.pilot.press("escape")
        await it.until(lambda: it.focused == "prompt")


async def test_a_filter_does_not_outlive_its_world() -> None:
    async with stand() as it:
        await it.say(*SENDS)
        await it.pane("wire")
        await it.pilot.press("q", "f", *"ACK", "enter")
        await it.say("new")
        wire = it.app.screen.query_one(WirePane)
        await it.until(lambda: not wire.is_begun)


async def test_find_finds_what_is_drawn() -> None:
    async with stand() as it:
        await it.say(*SENDS)
        await it.pane("wire")
        await it.pilot.press("slash", *"ack")
        wire = it.app.screen.query_one(WirePane)
        drawn = [wire.line(number).plain.lower() for number in range(wire.lines)]
        assert len(wire._hits) == sum("ack" in text for text in drawn) > 0
        await it.sees(f"{len(wire._hits)} found")


async def test_a_line_that_is_typed_after_pane_goes_to_the_prompt() -> None:
    async with stand((120, 40)) as it:
        await it.say("pane memory")
        await it.until(lambda: it.app.main.tab == "memory" and bool(it.app.main.query("#memory")))
        await it.press(*"next")
        assert (it.focused, it.app.prompt.text) == ("prompt", "next")


async def test_a_letter_without_a_meaning_in_a_pane_begins_a_line() -> None:
    async with stand((120, 40)) as it:
        await it.pane("memory")
        await it.press(*"help")
        assert (it.focused, it.app.prompt.text) == ("prompt", "help")
        await it.press("ctrl+c")
        await it.pane("memory")
        await it.press("n", "left", "f", "0")  # keys of the pane, and the number of none, stay
        assert (it.focused, it.app.prompt.text) == ("memory", "")


_IN = {
    "a": ["post_send A.qp0", "pane wire", "zoom"],
    "wire": ["find SEND", "quit", "tour", "break wire.last.psn == 3", "info", "new", "nn"],
    "why": ["apply", "alloc_pd A.pd9", "answer b", "ack_async_event B", "get_cq_event", "explain"],
    "memory": ["fault drop A->B", "fill"],
}


@pytest.mark.parametrize(("pane", "line"), [(pane, line) for pane in _IN for line in _IN[pane]])
async def test_a_line_that_begins_with_a_key_of_the_pane_is_typed_whole(
    pane: str, line: str
) -> None:
    async with stand((120, 40)) as it:
        await it.say(
            "post_send A.qp0 opcode=RDMA_WRITE sg=A.mr0[0:8] remote=B.mr0[0] rkey=1 flags=SIGNALED"
        )
        await it.say("run", "why")
        await (it.press("f6") if pane == "a" else it.pane(pane))
        here, seen = it.app.main.model.session.history.here, it.app.screen
        nodes = it.app.main.query(NodePane)
        for number, key in enumerate(line):  # as fast as a hand, on a machine of any speed
            event = events.Key("space" if key == " " else key, key)
            event.time += 0.15 * number
            it.app.post_message(event)
        await it.pilot.pause()
        if line == "nn":  # a key that is pressed again is no line
            assert (it.focused, it.app.prompt.text) == ("wire", "")
            return
        await it.until(lambda: it.app.prompt.text == line)
        assert (it.app.main.model.session.history.here, it.app.screen) == (here, seen)
        await it.until(lambda: not any("held" in str(node.border_title) for node in nodes))
        wire = it.app.screen.query_one(WirePane)
        assert (wire.to_scale, wire.follows, wire.search.text) == (False, "", "")


async def test_a_key_that_carries_out_a_command_waits_whether_a_line_follows() -> None:
    async with stand((120, 40)) as it:
        await it.say(
            "post_send A.qp0 opcode=RDMA_WRITE sg=A.mr0[0:8] remote=B.mr0[0] rkey=1 flags=SIGNALED"
        )
        await it.say("run", "why")
        await it.pane("why")
        lines = it.app.main.model.session.history.here
        await it.press("a")
        assert it.app.main.model.session.history.here == lines
        await it.until(lambda: it.app.main.model.session.history.here != lines)
        await it.say("goto 25", "why")
        await it.pane("why")
        await it.press("g", "down")  # no letter: the first one counts at once
        await it.sees("A> goto")


@pytest.mark.parametrize("line", ["pane wire", "show qp A.qp0 i kinds of things"])
async def test_no_key_of_a_line_is_lost_that_comes_at_once_in_a_pane(line: str) -> None:
    async with stand((120, 40)) as it:
        await it.pane("wire")
        for key in line:
            it.app.post_message(events.Key("space" if key == " " else key, key))
        await it.until(lambda: it.app.prompt.text == line)


async def test_a_text_pasted_in_a_pane_is_at_the_prompt() -> None:
    async with stand((120, 40)) as it:
        await it.pane("wire")
        it.app.post_message(events.Paste("pane wire"))
        await it.until(lambda: (it.focused, it.app.prompt.text) == ("prompt", "pane wire"))


async def test_no_line_is_lost_when_a_smaller_window_has_hidden_the_focused_pane() -> None:
    async with stand((120, 40)) as it:
        await it.pane("wire")
        await it.resize(96, 63)
        await it.until(lambda: it.app.main.has_class("-wire-in-front"))
        await it.press(*"show")
        assert (it.focused, it.app.prompt.text) == ("prompt", "show")


async def test_esc_after_a_typed_zoom_gives_the_keys_back() -> None:
    async with stand((120, 40)) as it:
        await it.say("zoom story")
        await it.until(lambda: it.app.screen.maximized is not None)
        await it.press("escape")
        assert (it.focused, it.app.screen.maximized) == ("prompt", None)
        await it.press("f5", "escape")  # the prompt alone
        assert (it.focused, it.app.screen.maximized) == ("prompt", None)


@pytest.mark.parametrize("last", [Keys.ControlU, Keys.ControlM], ids=["cleared", "sent"])
async def test_a_line_whose_keys_come_at_once_leaves_no_menu(last: Keys) -> None:
    async with stand((120, 40)) as it:
        it.app.prompt.live.feed([*(KeyPress(letter, letter) for letter in "new"), KeyPress(last)])
        await it.settled()
        await asyncio.sleep(0.3)  # the menu opens later than the keys are handled
        assert not it.app.prompt.live.menu_is_open, it.text


async def test_a_key_of_why_that_has_nothing_to_do_is_not_typed() -> None:
    async with stand((120, 40)) as it:
        await it.pane("why")
        await it.sees("WELL")
        await it.press("e")
        await it.pilot.pause(0.5)
        assert (it.focused == "prompt", it.app.prompt.text) == (False, "")
