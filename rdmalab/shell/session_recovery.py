"""Restore a session of an earlier process by running its lines again (`continue`).

Commands that move time stop at the logged event, so a run that ^C ended is restored exactly.
The restored session has its own log; the old log is removed only when that one is complete.
"""

from typing import TYPE_CHECKING

from rdmalab.command import NotUnderstood, Recovery
from rdmalab.grammar.line import parse
from rdmalab.lab import open_session
from rdmalab.session.session import Session
from rdmalab.shell.lab_requests import in_lab
from rdmalab.shell.styled_text import Line, plain, text_of
from rdmalab.spec.profiles import PROFILES
from rdmalab.views import fmt
from rdmalab.workbench.files import Continue
from rdmalab.workbench.recovered_sessions import LockedRecording, Recording, taken, waiting
from rdmalab.workbench.recovered_sessions import LoggedLine as Typed
from rdmalab.workbench.write_ahead_log import (
    LoggedArrival,
    LoggedMoment,
    NullLog,
    WriteAheadLog,
    fingerprint,
    place_of,
)  # fmt: skip

if TYPE_CHECKING:
    from rdmalab.shell.evaluation import Emit, Evaluation

NOT_AGAIN = (Recovery.SKIP, Recovery.NEW_RECORDING)
DIM, GOOD, WARN = "class:dim", "class:good", "class:warn"


class Reread(NullLog):
    """The log while a logged line runs again: it supplies where the line stopped before."""

    is_kept = True

    def __init__(self, typed: Typed, log: NullLog, *, may_go_on: bool) -> None:
        self.log = log
        self.arrivals = list(typed.arrivals)
        self.loads = list(typed.loads)
        self.may_go_on = may_go_on  # journeys whose end is not known
        self.halted = False

    def known(self) -> LoggedArrival | None:
        """The next logged end of a run; without one a stop, or None if the run may go on."""
        if self.arrivals:
            return self.arrivals.pop(0)
        self.halted = not self.may_go_on
        return LoggedArrival(LoggedMoment(-1, 0), True) if self.halted else None

    def arrived(self, arrival: LoggedArrival) -> None:
        """Write the end of a run to the new log."""
        self.log.arrived(arrival)

    def path(self, typed: str, number: int = 0) -> str:
        """The logged path of the next file, or one after it; `typed` if none is logged."""
        return self.loads[number][0] if number < len(self.loads) else typed

    def loaded(self, path: str, text: str) -> str:
        """Log the scenario; returns an error text if it differs from the logged one."""
        if self.loads and self.loads.pop(0)[1] != fingerprint(text):
            return f"{path} has changed since the session was recorded"
        return self.log.loaded(path, text)


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

    async def _again(self, typed: Typed) -> str:
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

    async def _last(self, typed: Typed) -> None:
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

    async def _carry_out(self, typed: Typed, emit: "Emit") -> tuple["Evaluation", bool]:
        """Run a logged line; also returns whether a run was stopped at an unlogged place."""
        text, may_go_on = told_again(self.evaluation.lab.session, typed)
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


def told_again(session: Session, typed: Typed) -> tuple[str, bool]:
    """The commands of a line that must run again, and whether it steps through a scenario."""
    try:
        said = parse(typed.text, session.vocabulary, session.default_node, aliases=session.aliases)
    except NotUnderstood:
        return "", False
    recovery = {each.name: session.vocabulary[each.name].facts.recovery for each in said}
    again = [each for each in said[: typed.commands] if recovery[each.name] not in NOT_AGAIN]
    walks = any(recovery[each.name] is Recovery.REPEAT_WALK for each in again)
    return "\n".join(each.line for each in again), walks
