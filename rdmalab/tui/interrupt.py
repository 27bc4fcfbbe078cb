"""Detect ^C in the thread that reads the terminal, while the event loop is busy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import events

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.driver import Driver
    from textual.message import Message


def interrupting(driver: type[Driver], interrupt: Callable[[], None]) -> type[Driver]:
    """A driver that also calls `interrupt` for each ^C, before the event loop has the key.

    `interrupt` runs in the thread that reads the terminal, so it must only set a flag.
    """

    class Interrupting(driver):  # type: ignore[valid-type, misc]
        """The driver class extended by the call of `interrupt`."""

        def process_message(self, message: Message) -> None:
            if isinstance(message, events.Key) and message.key == "ctrl+c":
                interrupt()
            super().process_message(message)

    return Interrupting
