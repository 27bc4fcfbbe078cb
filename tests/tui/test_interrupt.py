"""^C reaches whoever computes before the event loop has the key, and the loop all the same."""

from typing import Any

from textual import events
from textual.drivers.headless_driver import HeadlessDriver

from rdmalab.tui.driver import interrupting


class Keeping(HeadlessDriver):
    """It keeps what it was given to send on."""

    def __init__(self) -> None:
        self.given: list[Any] = []

    def process_message(self, message: Any) -> None:
        self.given.append(message)


def test_only_ctrl_c_interrupts_and_all_keys_are_passed_on() -> None:
    heard: list[int] = []
    made: Any = interrupting(Keeping, lambda: heard.append(1))
    driver = made()
    keys = [events.Key("a", "a"), events.Key("ctrl+c", "\x03"), events.Key("escape", None)]
    for key in keys:
        driver.process_message(key)
    assert driver.given == keys
    assert heard == [1]
