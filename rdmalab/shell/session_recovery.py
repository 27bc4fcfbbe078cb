"""Restore a session of an earlier process by running its lines again (`continue`).

Commands that move time stop at the logged event, so a run that ^C ended is restored exactly.
The restored session has its own log; the old log is removed only when that one is complete.
"""

from typing import TYPE_CHECKING

from rdmalab.lab import open_session
from rdmalab.recovery.recovered_sessions import (
    LockedRecording,
    LoggedLine,
    Recording,
    Reread,
    lines_again,
    taken,
    waiting,
)
from rdmalab.recovery.write_ahead_log import WriteAheadLog, place_of
from rdmalab.shell.lab_requests import in_lab
from rdmalab.shell.styled_text import Line, plain, text_of
from rdmalab.spec.profiles import PROFILES
from rdmalab.views import fmt
from rdmalab.workbench.files import Continue

if TYPE_CHECKING:
    from rdmalab.shell.evaluation import Emit, Evaluation

DIM, GOOD, WARN = "class:dim", "class:good", "class:warn"


async def continued(evaluation: "Evaluation", request: Continue) -> str:
    """Restore a session; returns the reason if that failed, else an empty text."""
    log = evaluation.log
    if not isinstance(log, WriteAheadLog):
        return "scripts keep no session: continue works at a prompt only"
    paths = waiting(log.folder)
    if request.number > len(paths):
        count = f"{len(paths)} of them" if paths else "none"
        return f"no session has number {request.number} to continue: there is {count}"
    volume = taken(paths[request.number - 1])
    if volume is None or volume.book is None:
        return "another process has continued that session already"
    try:
        await _Continuation(evaluation, log, volume.book).run(volume)
    finally:
        volume.close()
    return ""


class _Continuation:
    """Replay of one log, line by line."""

    def __init__(self, evaluation: "Evaluation", log: WriteAheadLog, book: Recording) -> None:
        self.evaluation = evaluation
        self.log = log
        self.book = book

    async def run(self, volume: LockedRecording) -> None:
        """Run the completed lines first; the unfinished one runs with output."""
        self._begin()
        lines = self.book.lines
        whole = lines[:-1] if lines[-1].end is None else lines
        done = 0
        while done < len(whole) and not (wrong := await self._again(whole[done])):
            done += 1
        self.log.whole()
        if done < len(whole):
            self._say(f"{wrong}  The other {len(lines) - done} of {len(lines)} lines are kept.")
            return
        volume.path.unlink(missing_ok=True)
        self._report(len(whole))
        if len(whole) < len(lines):
            await self._last(lines[-1])

    def _begin(self) -> None:
        head, lab = self.book.head, self.evaluation.lab
        lab.profiles = {node: PROFILES[name] for node, name in head.nodes.items()}
        lab.seed, node = head.seed, next(iter(head.nodes))
        session = open_session(lab.profiles, seed=head.seed, default_node=node)
        self.evaluation.conversation.start_over(session)
        for line in head.begin:
            lab.do(line)
        self.log.start_over(head)

    async def _again(self, typed: LoggedLine) -> str:
        """Run a completed line again; returns the reason if it ends elsewhere."""
        self.log.typed(typed.text)
        complaints: list[str] = []
        line, _ = await self._carry_out(typed, lambda row: complaints.append(text_of(row).strip()))
        place = place_of(self.evaluation.lab.session)
        self.log.ended(place, typed.commands or 0)
        if self.evaluation.stop.requested:
            return "Stopped."
        if place == typed.end:
            return ""
        because = f": {complaints[-1]}" if line.is_misread and complaints else ""
        return f"{typed.text} does not end at the same event as before{because}."

    async def _last(self, typed: LoggedLine) -> None:
        """Run the line in which the process ended, unless it did so twice.

        Its log entry is written first, so that no third process runs it.
        """
        if typed.again:
            self._say(f"skipped, because the lab ended in it twice: {typed.text}")
            return
        self.evaluation.emit(plain(f"> {typed.text}", DIM))
        self.log.typed(typed.text, again=True)
        printed: list[Line] = []
        line, halted = await self._carry_out(typed, printed.append)
        self.log.ended(place_of(self.evaluation.lab.session), line.commands)
        for row in printed:
            self.evaluation.emit(row)
        if halted:
            self._say("It had not finished when the lab ended: type it again to continue.")

    async def _carry_out(self, typed: LoggedLine, emit: "Emit") -> tuple["Evaluation", bool]:
        """Run a logged line; also returns whether a run was stopped at an unlogged place."""
        text, may_go_on = lines_again(self.evaluation.lab.session, typed)
        log = Reread(typed, self.log, may_go_on=may_go_on)
        line = self.evaluation.nested(emit, log)
        if text:
            await in_lab(line, text)
        return line, log.halted

    def _report(self, lines: int) -> None:
        world = self.evaluation.lab.session.world
        count = fmt.count(lines, "line")
        where = f"{fmt.clock(world.now_ns)}, {fmt.event(world.event)}"
        self._say(f"Continued: {count}; it is {where}.", GOOD)

    def _say(self, text: str, style: str = WARN) -> None:
        self.evaluation.tell([plain(text, style)])
