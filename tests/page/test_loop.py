"""What Pyodide's loop lacks, on a fake of it: WebLoop 314.0.7 as far as it is used."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from rdmalab.page.loop import complete

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine


class WebLoop:
    """Hands each callback to the browser, which runs one of them a `task`."""

    call_soon: Any = None
    call_soon_threadsafe: Any = None
    create_task: Any
    add_signal_handler: Any
    remove_signal_handler: Any
    slow_callback_duration: float

    def __init__(self) -> None:
        self.create_task = self._create_task
        self.add_signal_handler = self.remove_signal_handler = self._refuse
        self.tasks: list[Callable[[], None]] = []
        self.factory: Any = None

    def call_later(self, delay: float, callback: Callable[[], None]) -> None:
        assert delay == 0
        self.tasks.append(callback)

    def task(self) -> None:
        self.tasks.pop(0)()

    def get_task_factory(self) -> Any:
        return self.factory

    def _create_task(self, coroutine: Coroutine[Any, Any, Any], *, name: str = "") -> str:
        coroutine.close()
        if self.factory is not None:
            raise AttributeError("asyncio.tasks has no attribute _set_task_name")
        return f"task {name}"

    def _refuse(self, *_given: object) -> None:
        raise NotImplementedError

    def get_debug(self) -> bool:
        return False

    def call_exception_handler(self, context: dict[str, object]) -> None:
        raise AssertionError(context)


@pytest.fixture
def loop() -> WebLoop:
    made = WebLoop()
    complete(made)
    return made


def test_callbacks_that_are_ready_share_one_task_of_the_browser(loop: WebLoop) -> None:
    done: list[int] = []
    for number in range(3):
        loop.call_soon(done.append, number)
    assert len(loop.tasks) == 1
    loop.task()
    assert (done, loop.tasks) == ([0, 1, 2], [])


def test_what_a_callback_asks_for_waits_until_messages_were_delivered(loop: WebLoop) -> None:
    done: list[str] = []

    def again() -> None:
        done.append("run")
        loop.call_soon(again)

    loop.call_soon(again)
    loop.tasks.append(lambda: done.append("message"))  # it arrives during the first turn
    loop.task()
    loop.task()
    loop.task()
    assert done == ["run", "message", "run"]


def test_a_cancelled_callback_is_not_called(loop: WebLoop) -> None:
    done: list[int] = []
    loop.call_soon_threadsafe(done.append, 1).cancel()
    loop.call_soon(done.append, 2)
    loop.task()
    assert done == [2]


async def test_a_factory_makes_tasks_with_their_names(loop: WebLoop) -> None:
    async def nothing() -> None:
        """End."""

    assert loop.create_task(nothing(), name="x") == "task x"

    def factory(used: Any, coroutine: Coroutine[Any, Any, None], **named: Any) -> Any:
        assert used is loop
        return asyncio.ensure_future(coroutine), named

    loop.factory = factory
    task, named = loop.create_task(nothing(), name="y")
    await task
    assert named == {"name": "y"}


def test_signals_are_accepted_and_never_come(loop: WebLoop) -> None:
    loop.add_signal_handler(28, print)
    loop.remove_signal_handler(28)
    assert loop.slow_callback_duration > 0
