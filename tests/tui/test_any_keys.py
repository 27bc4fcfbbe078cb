"""Whatever is pressed, clicked and resized, at any speed: the app goes on, Esc leads back to it."""

import asyncio
from random import Random

import pytest
from textual import events
from textual.keys import _character_to_key

from tests.each import chance_of, drawn_numbers
from tests.tui.stand import Stand, stand

SIZES = [(80, 24), (120, 40), (200, 60), (60, 16)]
LINES = [
    "post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED", "run", "step", "back",
    "why", "why -v", "show qp", "show events", "help all", "help", "lessons rnr", "explain rnr",
    "post_recv B.qp0 wr_id=2 sg=B.mr0[0:64]", "new", "use rc_pair", "goto 5", "frobnicate",
    "checklist no-completion", "trace A.qp0.sq_psn", "load tour", "load err/rnr-retry-exceeded",
    "poll_cq A.cq0 num_entries=4", "load labs/by-hand student=x", "task",
]  # fmt: skip
KEYS = [
    "escape", "enter", "tab", "shift+tab", "f1", "f2", "f3", "f4", "f5", "f6", "shift+f6", "f7",
    "f8", "shift+f8", "f9", "up", "down", "left", "right", "pageup", "pagedown", "home", "end",
    "ctrl+u", "ctrl+r", "ctrl+c", "ctrl+p", "ctrl+l", "backspace", "delete", "space",
    *"qnNfos/:?1234567890abcdeghijklmprtuvwxyzSPELT",
]  # fmt: skip
WRITTEN = {"enter": "\r", "tab": "\t", "space": " "}
ACTS = 60


def key(name: str) -> events.Key:
    if len(name) == 1:
        return events.Key(_character_to_key(name), name)
    return events.Key(name, WRITTEN.get(name))


def typed(chance: Random) -> list[str]:
    """A line with its Enter, several keys, or one of them several times."""
    if chance.random() < 0.15:
        return [*chance.choice(LINES), "enter"]
    keys = chance.choices(KEYS, k=chance.choice([1, 1, 2, 2, 3, 5]))
    return keys if chance.random() < 0.7 else [keys[0]] * len(keys)


async def act(it: Stand, chance: Random) -> None:
    what = chance.random()
    if what < 0.7:
        for each in typed(chance):
            it.app.post_message(key(each))
    elif what < 0.9:
        x, y = (chance.randrange(side) for side in it.app.size)
        for event in (events.MouseMove, events.MouseDown, events.MouseUp):
            it.app.post_message(event(None, x, y, 0, 0, 1, False, False, False, x, y))
    else:
        await it.resize(chance.randint(30, 220), chance.randint(8, 60))
    if chance.random() < 0.5:
        await asyncio.sleep(chance.choice([0, 0, 0.01, 0.05, 0.2]))


@pytest.mark.slow
@pytest.mark.parametrize("number", drawn_numbers("keys", 2, 100))
async def test_any_keys_clicks_and_sizes_do_no_harm(number: int) -> None:
    chance = chance_of("keys", number)
    async with stand(chance.choice(SIZES)) as it:
        for _ in range(ACTS):
            await act(it, chance)
            assert it.app.main in it.app.screen_stack
        await it.resize(100, 30)
        for _ in range(12):
            it.app.post_message(key("escape"))
            await it.pilot.pause(0.05)
        await it.until(lambda: it.app.screen is it.app.main)
