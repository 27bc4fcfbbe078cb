"""`/` in each pane that has rows: what is looked through, and which place is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from textual.content import Content

from rdmalab.tui.finding import following, rows_with, with_marks
from rdmalab.tui.panes.memory import octets_of
from tests.tui.panes.cards import BAD_RKEY
from tests.tui.stand import stand

if TYPE_CHECKING:
    from tests.tui.stand import Stand

# pane, size, keys typed after `/`, the line that says what is searched, what is seen then
PANES = [
    ("story", "NAK", "find in these rows", "sent NAK_REMOTE_ACCESS"),
    ("log", "RTS → ERR", "find in these rows", "went RTS → ERR"),
    ("cq", "wr8", "find a completion: wr7", "WR_FLUSH_ERR"),
    ("memory", "hello", "find bytes in A.mr0: hello", "hello"),
    ("notes", "scenario", "find in these rows", "No lesson"),
    ("node-0", "qp3", "find a queue pair of A: qp7", "4 of 4"),
    ("packet", "ttl", "find a field of this packet", "ttl"),
    ("why", "rkey", "find in these rows", "rkey 0xdead"),
]


async def shown_in(it: Stand, name: str) -> None:
    if name == "node-0":
        await it.press("f6")
    else:
        await it.pane(name)


@pytest.mark.parametrize(("name", "text", "sought", "seen"), PANES, ids=[row[0] for row in PANES])
async def test_slash_says_what_is_searched_and_shows_it(
    name: str, text: str, sought: str, seen: str
) -> None:
    many = [*["use rc_pair"] * 3, "modify_qp A.qp3 state=ERR", "show A.qp0"]
    many = many if name == "node-0" else []
    async with stand((120, 40)) as it:
        await it.say(*BAD_RKEY, *many, *(["why"] if name == "why" else []))
        if len(it.app.screen_stack) > 2:
            await it.press("escape")
        await shown_in(it, name)
        await it.pilot.press("slash")
        await it.sees(sought)
        for letter in text:
            await it.pilot.press({" ": "space", "→": "→"}.get(letter, letter))
        await it.pilot.press("enter")
        await it.sees(seen)


async def test_n_goes_on_and_a_text_that_is_nowhere_is_reported() -> None:
    async with stand((120, 40)) as it:
        await it.say(*BAD_RKEY)
        await shown_in(it, "story")
        pane = it.app.main.query_one("#story")
        await it.pilot.press("slash", *"A.qp0", "enter")
        newest = pane.found  # type: ignore[attr-defined]
        await it.pilot.press("N")
        assert pane.found < newest  # type: ignore[attr-defined]
        await it.pilot.press("n")
        assert pane.found == newest  # type: ignore[attr-defined]
        await it.pilot.press("slash", "ctrl+u", *"nowhere", "enter")
        said = "find in these rows: none has 'nowhere'"
        await it.until(lambda: any(each.message == said for each in it.app._notifications))


async def test_the_bytes_that_were_found_are_on_the_screen() -> None:
    async with stand((120, 40)) as it:
        await it.say('write B.mr0[3000:3003] "xyz"', 'write B.mr0[0:5] "hello"')
        await shown_in(it, "memory")
        await it.pilot.press("slash", *"78 79".replace(" ", ""), "enter")
        await it.sees("+bb8 78 79 7a")
        (said,) = (each.message for each in it.app._notifications)
        assert said == "B.mr0[3000:3002]"


async def test_a_filter_of_the_story_ends_before_the_pane_is_left() -> None:
    async with stand((120, 40)) as it:
        await it.say(*BAD_RKEY)
        await shown_in(it, "story")
        await it.pilot.press("f", *"zz", "enter")
        await it.sees("no row contains zz, Esc: all")
        await it.pilot.press("escape")
        await it.sees("NAK_REMOTE_ACCESS")
        assert it.focused == "story"
        await it.pilot.press("escape")
        await it.until(lambda: it.focused == "prompt")


def test_rows_are_found_in_any_case_and_around_the_end() -> None:
    assert rows_with(["ACK", "nak", "x"], "aK") == [1]
    assert rows_with(["ACK"], "") == []
    assert [following([1, 4], at, 1) for at in (-1, 1, 4)] == [1, 4, 1]
    assert [following([1, 4], at, -1) for at in (9, 4, 1)] == [4, 1, 4]
    assert following([], 3, 1) is None


def test_each_place_of_a_row_is_marked() -> None:
    row = with_marks(Content("psn=1 PSN=2"), "psn", is_here=True)
    assert [(span.start, span.end) for span in row.spans] == [(0, 3), (6, 9)]


def test_bytes_are_typed_as_text_or_in_pairs_of_digits() -> None:
    assert octets_of("hello") == b"hello"
    assert octets_of("68 65 6c") == octets_of("0x68656c") == b"hel"
    assert octets_of("abc") == b"abc"
