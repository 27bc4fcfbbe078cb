"""Textual's driver for a page, with a fake terminal: what is sent, what is heard."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from textual import events
from textual.geometry import Size

from rdmalab.page.driver import Glass, PageDriver, driver_of

if TYPE_CHECKING:
    from textual.message import Message


class App:
    """Keeps what is posted to it."""

    def __init__(self) -> None:
        self.posted: list[Message] = []

    def post_message(self, message: Message) -> None:
        self.posted.append(message)

    def keys(self) -> list[str]:
        return [each.key for each in self.posted if isinstance(each, events.Key)]


def made() -> tuple[App, PageDriver, list[str]]:
    app, sent = App(), list[str]()
    glass = Glass(sent.append, lambda: (91, 27))
    given: Any = app
    driver = driver_of(glass)(given)
    assert glass.driver is driver
    return app, driver, sent


async def turn() -> None:
    await asyncio.sleep(0)
    await asyncio.sleep(0)


async def test_what_a_turn_of_the_loop_writes_is_one_message() -> None:
    _, driver, sent = made()
    for part in ("a", "b", "c"):
        driver.write(part)
    assert sent == []
    await turn()
    assert sent == ["abc"]
    driver.write("d")
    driver.flush()
    await turn()
    assert sent == ["abc", "d"]


async def test_the_start_asks_for_the_size_that_is_there_now() -> None:
    app, driver, sent = made()
    driver.start_application_mode()
    await turn()
    for mode in ("?1049h", "?1000h", "?1003h", "?1006h", "?2004h", "?25l", "?2026$p"):
        assert mode in sent[0]
    (resize,) = (each for each in app.posted if isinstance(each, events.Resize))
    assert resize.size == Size(91, 27)


async def test_the_end_restores_the_terminal_at_once() -> None:
    _, driver, sent = made()
    driver.disable_input()
    driver.stop_application_mode()
    assert "\x1b[?1049l" in sent[0]
    assert "\x1b[?25h" in sent[0]
    assert driver.glass.driver is None
    assert driver.is_web
    assert not driver.is_headless


async def test_keys_pastes_mouse_and_focus_become_events() -> None:
    app, driver, _ = made()
    driver.receive("a\x1b[A\x03\r")
    driver.receive("\x1b[200~two\nlines\x1b[201~")
    driver.receive("\x1b[<0;11;3M")
    driver.focus(has=False)
    driver.focus(has=True)
    assert app.keys() == ["a", "up", "ctrl+c", "enter"]
    kinds = [type(each) for each in app.posted]
    assert kinds[4:] == [events.Paste, events.MouseDown, events.AppBlur, events.AppFocus]
    assert app.posted[4].text == "two\nlines"  # type: ignore[attr-defined]


async def test_an_escape_is_a_key_at_once_and_takes_nothing_of_what_follows() -> None:
    app, driver, _ = made()
    for data in ("\x1b", "\x1b", "\x15", "n", "\x1b[A", "\x1bn", "\r"):
        driver.receive(data)
    assert app.keys() == ["escape", "escape", "ctrl+u", "n", "up", "alt+n", "enter"]


async def test_an_unknown_sequence_becomes_its_letters() -> None:
    app, driver, _ = made()
    driver.receive("\x1b[1;")
    driver.receive("a")
    assert app.keys()[-3:] == ["1", "semicolon", "a"]
