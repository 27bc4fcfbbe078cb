"""The place in which the app is shown, if it is not the terminal of its process: a web page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdmalab.spec.row import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.driver import Driver

    from rdmalab.recovery.write_ahead_log import Listener


@dataclass(frozen=True, slots=True)
class Face:
    """A terminal driver, and how texts and files reach the user; None: as in a terminal.

    copy: takes a text to the clipboard, hand_out: gives a file that was written to the user; both
    return a sentence about it. listen: gets each line that is typed or printed. record: gets each
    record of the session log before the line runs that it announces.
    """

    driver_class: type[Driver] | None = None
    copy: Callable[[str], str] | None = None
    hand_out: Callable[[str], str] | None = None
    listen: Callable[[str], None] | None = None
    record: Listener | None = None
