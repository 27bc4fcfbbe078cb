"""Evaluate lines in a lab and emit styled lines, for every face; ^C is checked between slices.

goes_on = await Conversation(lab).evaluate("run", emit, pause)  # emit(line), await pause()
"""

import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from rdmalab.command import NotUnderstood, Recovery
from rdmalab.doctor.answers import Answer
from rdmalab.grammar.line import commands_of, parse
from rdmalab.lab import Lab
from rdmalab.session.branch import SafePoint
from rdmalab.session.interruption import Stopped, stoppable
from rdmalab.session.lines import Reply
from rdmalab.session.reverse import Jump
from rdmalab.session.run_control import STOPPED, RunControl
from rdmalab.session.session import Session
from rdmalab.shell.face_requests import WISHES
from rdmalab.shell.lab_requests import in_lab
from rdmalab.shell.line_end import LineEnd
from rdmalab.shell.output_format import OutputFormat
from rdmalab.shell.reply_text import closing, say
from rdmalab.shell.streams import Lost
from rdmalab.shell.styled_text import Line, plain, shown
from rdmalab.workbench.bug_reports import called, report
from rdmalab.workbench.show import Leave
from rdmalab.workbench.write_ahead_log import LoggedArrival, NullLog, place_of

if TYPE_CHECKING:
    from rdmalab.classroom.lab_session import LabSession
    from rdmalab.doctor.checklist_report import Walk
    from rdmalab.doctor.report import Report
    from rdmalab.shell.lesson import Lesson
    from rdmalab.workbench.screen_words import ScreenRequest

Emit = Callable[[Line], None]
Pause = Callable[[], Awaitable[None]]

_SLICE_S = 0.005  # how long time may run before keys and the screen are served
_TYPED = 20  # lines that a bug report has
_FIRST, _LEAST, _MOST = 200, 1, 20_000  # events


class Safe(NamedTuple):
    """What is restored when a command ends with an exception."""

    session: Session
    point: SafePoint
    lesson: "Lesson | None"
    diagnosis: "Report | None"


class Conversation:
    """Evaluates lines in a lab and emits the replies as styled lines."""

    exercise: "LabSession | None" = None  # the lab that is open
    stopped_after: int | None = None  # events of a run that ^C or the limit ended
    follow: Callable[[Reply], None] | None = None  # gets each reply when its run is over

    def __init__(
        self, lab: Lab, voice: OutputFormat | None = None, diary: NullLog | None = None
    ) -> None:
        self.lab = lab
        self.voice = voice or OutputFormat(lab.session)
        self.diary = diary or NullLog()  # the write-ahead log of the lines
        self.running = False
        self.searching = False  # through the past: the world is at the moment under inspection
        self.end = LineEnd.FINE  # of the last text
        self.at_line = 0  # at which it ended
        self.lesson: Lesson | None = None
        self.diagnosis: Report | None = None  # the last answer of `why` in this world
        self.checklist: Walk | None = None  # the last answer of `checklist`
        self.copy: Callable[[str], str] | None = None  # to the clipboard; what came of it
        self.screen: Callable[[ScreenRequest], str] | None = None  # what the app says to it
        self.settings_changed: Callable[[], None] | None = None  # what a face does then
        self.stopping = False  # ^C was typed
        self._interrupted = self._answered = False  # answered: ^C has ended something already
        self._halted, self._commands = False, 0  # commands of the line, done or failed
        self.repeated = ""  # what an empty line stands for
        self.has_run = False  # the last text moved time
        self._events = _FIRST
        self._typed: deque[str] = deque(maxlen=_TYPED)
        known = lab.session.vocabulary.values()
        self._apart = [c.name for c in known if c.facts.recovery is Recovery.NEW_RECORDING]

    def stop(self) -> None:
        """Stop the run or the computation, between two events."""
        self.stopping = True

    def interrupt(self) -> None:
        """Stop the computation; a run continues. May be called from any thread."""
        self._interrupted = True

    def _is_over(self) -> bool:
        return (self.stopping or self._interrupted) and not self._answered

    async def evaluate(self, text: str, emit: Emit, pause: Pause) -> bool:
        """Evaluate the lines of a text up to the first that fails; returns False after `quit`.

        An empty text repeats the last step or run.
        """
        lines = commands_of(text.strip() or self.repeated)
        self.end, self.stopping, self.has_run = LineEnd.FINE, False, False
        self._interrupted = self._answered = False
        parts = [(number, part) for number, line in lines for part in self._parts(line)]
        for self.at_line, line in parts:
            await self._line(line, emit, pause)
            if self.end is not LineEnd.FINE:
                break
        if self.end not in (LineEnd.FINE, LineEnd.LEFT) and len(lines) > 1:
            emit([("class:error", f"stopped at line {self.at_line} of {lines[-1][0]}.")])
        return self.end is not LineEnd.LEFT

    def _parts(self, line: str) -> list[str]:
        """Evaluate a line; where a command of it ends the log, each command alone.

        The commands before and after it belong to different logs.
        """
        session = self.lab.session
        if not any(word in line for word in self._apart):
            return [line]
        try:
            said = parse(line, session.vocabulary, session.default_node, aliases=session.aliases)
        except NotUnderstood:
            return [line]
        is_whole = not any(each.name in self._apart for each in said)
        return [line] if is_whole else [each.line for each in said]

    async def _line(self, line: str, emit: Emit, pause: Pause) -> None:
        """Write the line to the log, evaluate it, then write where it ended.

        A command that ends the recording stands neither in it nor in the next one.
        """
        self._typed.append(line)
        if (line.split() or [""])[0] not in self._apart:
            self.diary.typed(line)
        if trouble := self.diary.trouble():
            self.tell([[("class:warn", trouble)]], emit)
        carry_out = partial(self.carry_out, emit=emit, pause=pause)
        commands = await in_lab(self, line, emit, carry_out)
        self.diary.ended(place_of(self.lab.session), commands)

    async def carry_out(self, line: str, emit: Emit, pause: Pause) -> int:
        """Evaluate one line and emit its replies.

        Returns how many of its commands ran or failed.
        """
        self.end, self._halted, self._commands = LineEnd.FINE, False, 0
        try:
            with stoppable(self._is_over):
                await self._carry_out(line, emit, pause)
        except Stopped:
            self.end = LineEnd.STOPPED
            self.tell([plain("stopped: the command changed and wrote nothing", "class:warn")], emit)
        return self._commands

    async def _carry_out(self, line: str, emit: Emit, pause: Pause) -> None:
        short: list[Reply] = []
        safe = self._safe()
        async for reply in self.replies(line, pause):
            self._commands += not reply.depth and not reply.bug
            try:
                await self._answer(reply, emit, pause)
                if self.follow is not None:
                    self.follow(reply)
            except (BrokenPipeError, Lost):
                raise
            except Exception as bug:  # noqa: BLE001  (no word may end a session)
                self._commands -= not reply.depth
                for said in say(self.voice, self._bug(bug, line, safe)):
                    emit(said)
                return
            short += [reply] if reply.depth else []
            safe = self._safe()
        for said in closing(self.voice, short) if short else ():
            emit(said)

    async def _answer(self, reply: Reply, emit: Emit, pause: Pause) -> None:
        """Emit the reply to a command, and carry out its request to the face."""
        if isinstance(reply.value, Answer):
            from rdmalab.doctor.checklist_report import Walk
            from rdmalab.doctor.report import Report

            if isinstance(reply.value, Report):
                self.diagnosis = reply.value
            elif isinstance(reply.value, Walk):
                self.checklist = reply.value
        for said in say(self.voice, reply):
            emit(said)
        await self._grant(reply, emit, pause)

    async def _grant(self, reply: Reply, emit: Emit, pause: Pause) -> None:
        if (grant := WISHES.get(type(reply.value))) is not None:
            await grant(self, reply.value, emit, pause)

    async def granted(self, reply: Reply, emit: Emit, pause: Pause) -> Reply | None:
        """Carry out a command's request to the face.

        Returns the bug reply if an exception was raised.
        """
        safe = self._safe()
        try:
            await self._grant(reply, emit, pause)
        except Exception as bug:  # noqa: BLE001  (no word may end a session)
            return self._bug(bug, reply.text, safe)
        return None

    def start_over(self, session: Session) -> None:
        """Start with another world and no output."""
        self.lab.session = self.voice.session = session
        self.lesson = self.diagnosis = self.exercise = None

    def _safe(self) -> Safe:
        session = self.lab.session
        return Safe(session, session.history.safe_point(), self.lesson, self.diagnosis)

    def _bug(self, bug: Exception, line: str, safe: Safe) -> Reply:
        """The reply about an exception; the world is that from before the command."""
        self.end = LineEnd.BUG
        self.lab.session = self.voice.session = safe.session
        self.lesson, self.diagnosis = safe.lesson, safe.diagnosis
        try:
            safe.session.history.undo_to(safe.point)
            world = "the state before this command is restored"
        except Exception:  # noqa: BLE001  (the same bug may be on the way back)
            world = "the state before it could not be restored: save what you need, then type new"
        return Reply(line, bug=f"{called(bug)}; {world}; {report(bug, list(self._typed))}")

    def tell(self, lines: Sequence[Line], emit: Emit) -> None:
        """Emit lines in the width and the character set of this face."""
        for row in self.voice.set(lines):
            emit(row)

    def report_error(self, text: str, emit: Emit) -> None:
        """Emit an error for a line that parsed but cannot be carried out."""
        self.end = LineEnd.NOT_UNDERSTOOD
        for line in text.splitlines():
            emit([("class:error", shown(line))])

    def judge(self, *, ok: bool) -> None:
        """How a request to the face ended."""
        self.end, self._halted = LineEnd.FINE if ok else LineEnd.FAILED, False

    async def replies(self, line: str, pause: Pause) -> AsyncIterator[Reply]:
        """The replies to one line, each after its travel has ended."""
        coming = self.lab.replies(line)
        while True:
            safe = self._safe()
            try:
                reply = next(coming, None)
                if reply is not None and reply.travel is not None:
                    await self.go(reply.travel, pause)
            except Exception as bug:  # noqa: BLE001  (no word may end a session)
                reply = self._bug(bug, line, safe)
            if reply is None:
                return
            self._judge(reply, line)
            yield reply
            if self.end is not LineEnd.FINE:
                return

    def _judge(self, reply: Reply, line: str) -> None:
        if reply.bug:
            self.end = LineEnd.BUG
        elif reply.error is not None:
            self.end = LineEnd.NOT_UNDERSTOOD
        elif reply.refusal is not None:
            self.end = LineEnd.FAILED
        elif self.stopping or self._halted:
            self.end = LineEnd.STOPPED
        elif reply.travel is not None and reply.travel.missed:
            self.end = LineEnd.FAILED
        elif isinstance(reply.value, Leave):
            self.end = LineEnd.LEFT
        if reply.invocation is not None:
            command = self.lab.session.vocabulary[reply.invocation.name]
            self.repeated = line if command.facts.is_repeated else ""

    async def go(self, travel: RunControl, pause: Pause) -> None:
        """Run in slices, short enough that ^C and the screen are served in between."""
        known = self.diary.known()
        self.running, self.searching = True, isinstance(travel, Jump)
        self.has_run = True
        try:
            while not self._slice(travel, known):
                await pause()
                if self.stopping:
                    self._answered = True
                    travel.stop()
        finally:
            self.running = self.searching = False
        is_cut = travel.over == STOPPED or travel.at_limit
        self.stopped_after = travel.events if is_cut else None
        self.diary.arrived(LoggedArrival(place_of(self.lab.session), travel.over == STOPPED))

    def _slice(self, travel: RunControl, known: LoggedArrival | None) -> bool:
        """Whether the travel is over.

        A recovered run goes exactly as far as in the lost session.
        """
        started = time.perf_counter()
        left = self.lab.session.max_events - travel.events
        if known is not None and known.stopped:
            left = min(left, known.place.event - self.lab.session.world.event)
            if left <= 0:
                self._halted = True
                travel.stop()
                return True
        over = travel.go(max(_LEAST, min(self._events, left)))
        took = time.perf_counter() - started
        if took > _SLICE_S:
            self._events = max(_LEAST, self._events // 2)
        elif took < _SLICE_S / 2:
            self._events = min(_MOST, self._events * 2)
        return over
