"""Programs that run while the app shows their world: it serves them between its frames."""

import time

from rdmalab.compat.c.execute import Execution

_SLICE_S = 0.012  # of serving before the app draws and reads keys again
_LISTEN_S = 0.001
_MARGIN = 2  # columns of a page that its border takes


class LivePrograms:
    """An execution whose world a person can hold and step.

    In the past, on another branch or in another session their calls wait: a process cannot go back.
    """

    def __init__(self, execution: Execution) -> None:
        """Their output is kept for the app; the world is held until the app runs it."""
        self.execution = execution
        self.calls = execution.server.calls
        self.calls.is_held = True
        self.session = execution.lab.session
        self.session.caller_of = self._caller_of
        self._home = self.session.history.branch
        execution.in_app = True
        execution.outputs.show_by(self.write)
        self._text = b""
        self._lines: list[str] = []
        trouble = execution.server.trouble
        execution.tell = execution.server.tell = trouble.tell = self._lines.append
        trouble.margin = _MARGIN

    def _caller_of(self, event: int) -> str:
        is_theirs = self.session.history.is_event_of(self._home.name, event)
        return self.execution.caller_of(event) if is_theirs else ""

    @property
    def is_over(self) -> bool:
        """Whether all programs have ended; to an open lab others may come."""
        return self.execution.is_over and not self.execution.is_open

    @property
    def is_held(self) -> bool:
        """Whether events happen only by `step`."""
        return self.calls.is_held

    def hold(self, *, is_held: bool) -> None:
        """Hold the world, or let it run: from the present moment on."""
        self.calls.is_held = is_held
        self.execution.server.pace.begin_again()

    @property
    def is_served(self) -> bool:
        """Whether the session is where the programs are: at the end of their branch."""
        history = self.session.history
        is_shown = self.execution.lab.session is self.session
        return is_shown and history.live and history.branch is self._home

    def serve(self) -> bool:
        """Serve the programs for a slice of time; returns whether anything has happened."""
        until_s, has_happened = time.monotonic() + _SLICE_S, False
        while not self.is_over and self.is_served and time.monotonic() < until_s:
            if not self.execution.turn(_LISTEN_S):
                break
            has_happened = True
        return has_happened

    def step(self) -> bool:
        """The next event; False if nothing is planned."""
        return self.execution.server.step()

    def before_line(self) -> None:
        """A line of the user may let events happen: they see what the programs have done so far."""
        if self.is_served:
            self.calls.close_gates()
            self.calls.revoke()
            self.calls.memory.publish_all()

    def after_line(self) -> None:
        """Programs get what the events of a line have written and raised."""
        if self.is_served:
            self.execution.server.happened()

    def write(self, _: int, text: bytes) -> int:
        """Keep what programs print, up to the next look at it; as os.write."""
        self._text += text
        return len(text)

    def printed(self) -> list[str]:
        """The lines printed since the last call: by programs, and about them."""
        self.execution.outputs.copy()
        *lines, self._text = self._text.split(b"\n")
        found = [line.decode("utf-8", "replace") for line in lines]
        found += [row for text in self._lines for row in text.splitlines()]
        self._lines.clear()
        return found

    def leave(self) -> int:
        """End what still runs; returns the largest exit code."""
        self.execution.leave()
        return self.execution.code
