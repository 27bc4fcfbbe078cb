"""Restore a session of an earlier process by running its lines again (`continue`).

Commands that move time stop at the logged event, so a run that ^C ended is restored exactly.
The restored session has its own log; the old log is removed only when that one is complete.
"""

from functools import partial
from typing import TYPE_CHECKING

from rdmalab.command import NotUnderstood, Recovery
from rdmalab.grammar.line import parse
from rdmalab.lab import open_session
from rdmalab.session.session import Session
from rdmalab.shell.lab_requests import in_lab
from rdmalab.shell.line_end import LineEnd
from rdmalab.shell.styled_text import Line, plain
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
    from rdmalab.shell.conversation import Conversation, Emit, Pause

NOT_AGAIN = (Recovery.SKIP, Recovery.NEW_RECORDING)
DIM, GOOD, WARN = "class:dim", "class:good", "class:warn"


class Reread(NullLog):
    """The log while a logged line runs again: it supplies where the line stopped before."""

    is_kept = True

    def __init__(self, typed: Typed, diary: NullLog, *, may_go_on: bool) -> None:
        self.diary = diary
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
        self.diary.arrived(arrival)

    def path(self, typed: str, number: int = 0) -> str:
        """The logged path of the next file, or one after it; `typed` if none is logged."""
        return self.loads[number][0] if number < len(self.loads) else typed

    def loaded(self, path: str, text: str) -> str:
        """Log the scenario; returns an error text if it differs from the logged one."""
        if self.loads and self.loads.pop(0)[1] != fingerprint(text):
            return f"{path} has changed since the session was recorded"
        return self.diary.loaded(path, text)


async def continued(talk: "Conversation", wish: Continue, emit: "Emit", pause: "Pause") -> str:
    """Restore a session; returns the reason if that failed, else an empty text."""
    diary = talk.diary
    if not isinstance(diary, WriteAheadLog):
        return "scripts keep no session: continue works at a prompt only"
    paths = waiting(diary.folder)
    if wish.number > len(paths):
        count = f"{len(paths)} of them" if paths else "none"
        return f"no session has number {wish.number} to continue: there is {count}"
    volume = taken(paths[wish.number - 1])
    if volume is None or volume.book is None:
        return "another process has continued that session already"
    try:
        await _Continuation(talk, diary, volume.book, emit).run(volume, pause)
    finally:
        volume.close()
    return ""


class _Continuation:
    """Replay of one log, line by line."""

    def __init__(
        self, talk: "Conversation", diary: WriteAheadLog, book: Recording, emit: "Emit"
    ) -> None:
        self.talk = talk
        self.diary = diary
        self.book = book
        self.emit = emit

    async def run(self, volume: LockedRecording, pause: "Pause") -> None:
        """Run the completed lines first; the unfinished one runs with output."""
        self._begin()
        lines = self.book.lines
        whole = lines[:-1] if lines[-1].end is None else lines
        done = 0
        while done < len(whole) and not (wrong := await self._again(whole[done], pause)):
            done += 1
        self.diary.whole()
        if done < len(whole):
            self._say(f"{wrong}  The other {len(lines) - done} of {len(lines)} lines are kept.")
            return
        volume.path.unlink(missing_ok=True)
        self._report(len(whole))
        if len(whole) < len(lines):
            await self._last(lines[-1], pause)

    def _begin(self) -> None:
        head = self.book.head
        profiles = {node: PROFILES[name] for node, name in head.nodes.items()}
        node = next(iter(head.nodes))
        self.talk.lab.profiles, self.talk.lab.seed = profiles, head.seed
        self.talk.start_over(open_session(profiles, seed=head.seed, default_node=node))
        for line in head.begin:
            self.talk.lab.do(line)
        self.diary.start_over(head)

    async def _again(self, typed: Typed, pause: "Pause") -> str:
        """Run a completed line again; returns the reason if it ends elsewhere."""
        self.diary.typed(typed.text)
        complaints: list[str] = []
        await self._carry_out(typed, pause, lambda line: complaints.append(_said(line)))
        place = place_of(self.talk.lab.session)
        self.diary.ended(place, typed.commands or 0)
        if self.talk.stopping:
            return "Stopped."
        if place == typed.end:
            return ""
        is_misread = self.talk.end is LineEnd.NOT_UNDERSTOOD
        because = f": {complaints[-1]}" if is_misread and complaints else ""
        return f"{typed.text} does not end at the same event as before{because}."

    async def _last(self, typed: Typed, pause: "Pause") -> None:
        """Run the line in which the process ended, unless it did so twice.

        Its log entry is written first, so that no third process runs it.
        """
        if typed.again:
            self._say(f"skipped, because the lab ended in it twice: {typed.text}")
            return
        self.emit(plain(f"> {typed.text}", DIM))
        self.diary.typed(typed.text, again=True)
        said: list[Line] = []
        halted, commands = await self._carry_out(typed, pause, said.append)
        self.diary.ended(place_of(self.talk.lab.session), commands)
        for line in said:
            self.emit(line)
        if halted:
            self._say("It had not finished when the lab ended: type it again to continue.")

    async def _carry_out(self, typed: Typed, pause: "Pause", emit: "Emit") -> tuple[bool, int]:
        """Whether it was stopped at an unlogged place, and how many of its commands ran."""
        text, may_go_on = told_again(self.talk.lab.session, typed)
        if not text:
            return False, 0
        reread = self.talk.diary = Reread(typed, self.diary, may_go_on=may_go_on)
        try:
            carry_out = partial(self.talk.carry_out, emit=emit, pause=pause)
            commands = await in_lab(self.talk, text, emit, carry_out)
        finally:
            self.talk.diary = self.diary
        return reread.halted, commands

    def _report(self, lines: int) -> None:
        world = self.talk.lab.session.world
        count = fmt.count(lines, "line")
        where = f"{fmt.clock(world.now_ns)}, {fmt.event(world.event)}"
        self._say(f"Continued: {count}; it is {where}.", GOOD)

    def _say(self, text: str, style: str = WARN) -> None:
        for row in self.talk.voice.set([plain(text, style)]):
            self.emit(row)


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


def _said(line: Line) -> str:
    return "".join(part[1] for part in line).strip()
