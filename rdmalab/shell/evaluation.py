"""One line that is carried out: its replies, its runs in slices, its requests to the face, its end.

A text that is pasted has one evaluation for each of its lines; they share the request to stop.
"""

import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextvars import copy_context
from enum import Enum, auto
from threading import Semaphore, Thread
from typing import TYPE_CHECKING, Generic, TypeVar

from rdmalab.command import UserError
from rdmalab.lab import Lab
from rdmalab.recovery.write_ahead_log import LoggedArrival, NullLog, place_of
from rdmalab.session.interruption import PROGRESS, Stopped, stoppable
from rdmalab.session.lines import Reply
from rdmalab.session.run_control import STOPPED, RunControl
from rdmalab.shell.face_requests import REQUEST_HANDLERS
from rdmalab.shell.output_format import OutputFormat
from rdmalab.shell.reply_text import closing, say
from rdmalab.shell.streams import Lost
from rdmalab.shell.styled_text import Line, plain, shown
from rdmalab.workbench.show import Leave

if TYPE_CHECKING:
    from rdmalab.classroom.lab_session import LabSession
    from rdmalab.shell.conversation import Conversation, SafeState
    from rdmalab.shell.lesson import Lesson

Emit = Callable[[Line], None]
Pause = Callable[[], Awaitable[None]]
T = TypeVar("T")


def discard(_line: Line) -> None:
    """Emit nothing."""


async def no_pause() -> None:
    """Run the next slice at once."""


_SLICE_S = 0.005  # how long time may run before keys and the screen are served
_FIRST, _LEAST, _MOST = 200, 1, 20_000  # events


class LineEnd(Enum):
    """The outcome of a line, which decides exit codes; of several commands that of the last one."""

    FINE = auto()
    FAILED = auto()  # a verb answered with an errno, or an expectation of a scenario failed
    NOT_UNDERSTOOD = auto()
    STOPPED = auto()  # ^C
    BUG = auto()  # an unexpected exception
    LEFT = auto()  # quit


class StopRequest:
    """The ^C of the user while a text is carried out. requested: runs stop between two events."""

    def __init__(self) -> None:
        self.requested = self._interrupted = self._handled = False

    def stop(self) -> None:
        """Stop the run or the computation."""
        self.requested = True

    def interrupt(self) -> None:
        """Stop the computation; a run continues. May be called from any thread."""
        self._interrupted = True

    def handle(self, travel: RunControl) -> None:
        """End the run if that is requested; what is computed about it then is not cancelled."""
        if self.requested:
            self._handled = True
            travel.stop()

    def is_pending(self) -> bool:
        """Whether a computation must end; False once a run was ended instead."""
        return (self.requested or self._interrupted) and not self._handled


class SliceSize:
    """Number of events that run at once: so many that a slice takes about half of _SLICE_S."""

    def __init__(self) -> None:
        self.events = _FIRST

    def go(self, travel: RunControl, limit: int) -> bool:
        """Run one slice of at most `limit` events; returns whether the run is over."""
        started = time.perf_counter()
        over = travel.go(max(_LEAST, min(self.events, limit)))
        self.adapt(time.perf_counter() - started)
        return over

    def adapt(self, took_s: float) -> None:
        """Halve or double the next slice after one that took so many seconds."""
        if took_s > _SLICE_S:
            self.events = max(_LEAST, self.events // 2)
        elif took_s < _SLICE_S / 2:
            self.events = min(_MOST, self.events * 2)


HAS_THREADS = sys.platform != "emscripten"  # a web page has none


class Computation(Generic[T]):
    """A computation in slices: it has a thread, which runs only while `go` waits for it.

    So a face is served between two slices, and no two threads are ever in the world at once.
    is_unwanted: asked at each `check` of the computation, which ends with Stopped once it is True.
    """

    def __init__(self, compute: Callable[[], T], is_unwanted: Callable[[], bool]) -> None:
        self._compute, self._is_unwanted = compute, is_unwanted
        self._began_s, self._until_s = time.monotonic(), 0.0
        self._turn, self._pause = Semaphore(0), Semaphore(0)
        self._context = copy_context()
        self._thread = Thread(target=self._context.run, args=(self._run,), daemon=True)
        self._is_over = self._is_cancelled = False
        self._error: BaseException | None = None

    def go(self, slice_s: float) -> bool:
        """Compute for so long, up to the next `check`; True when it is over."""
        self._until_s = time.monotonic() + slice_s
        if self._thread.ident is None:
            self._thread.start()
        else:
            self._turn.release()
        self._pause.acquire()
        return self._is_over

    def cancel(self) -> None:
        """End it at its next `check`."""
        self._is_cancelled = True
        while not self._is_over:
            self.go(0)

    def result(self) -> T:
        """The value; raises what the computation has raised."""
        if self._error is not None:
            raise self._error
        return self._value

    @property
    def progress(self) -> str:
        """`120,000 of 373,723, 12 s`: steps of this pass, if they are known, and the time."""
        done, many = self._context.get(PROGRESS) or (0, 0)
        steps = f"{done:,} of {many:,}, " if many else ""
        return f"{steps}{time.monotonic() - self._began_s:.0f} s"

    def _run(self) -> None:
        try:
            with stoppable(self._must_end):
                self._value = self._compute()
        except BaseException as error:  # noqa: BLE001  (it is raised in the thread that waits)
            self._error = error
        self._is_over = True
        self._pause.release()

    def _must_end(self) -> bool:
        if time.monotonic() > self._until_s and not self._is_cancelled:
            self._pause.release()
            self._turn.acquire()
        return self._is_cancelled or self._is_unwanted()


class Evaluation:
    """One line that is carried out in a conversation.

    end, commands: how it ended, and how many of its commands ran or failed. stop: ^C.
    log: of what is typed; while a session is restored, of what was logged.
    follow: gets each reply when its run is over.
    """

    follow: Callable[[Reply], None] | None = None

    def __init__(
        self, conversation: "Conversation", emit: Emit = discard, pause: Pause = no_pause,
        *, stop: StopRequest | None = None, log: NullLog | None = None,
    ) -> None:  # fmt: skip
        self.conversation = conversation
        self.emit = emit
        self.pause = pause
        self.stop = stop or StopRequest()
        self.log = log or conversation.log
        self.end = LineEnd.FINE
        self.commands = 0
        self._is_halted = False  # a run that is restored, where the log has no end of it

    def nested(self, emit: Emit, log: NullLog) -> "Evaluation":
        """The evaluation of a line that this one runs again; ^C stops both."""
        return Evaluation(self.conversation, emit, self.pause, stop=self.stop, log=log)

    @property
    def lab(self) -> Lab:
        return self.conversation.lab

    @property
    def output(self) -> OutputFormat:
        return self.conversation.output

    @property
    def exercise(self) -> "LabSession | None":
        """The lab that is open; None if none is."""
        return self.conversation.exercise

    @property
    def lesson(self) -> "Lesson | None":
        """The scenario that is loaded; None if none is."""
        return self.conversation.lesson

    @property
    def is_misread(self) -> bool:
        """Whether a command was not understood, or its request was refused by the face."""
        return self.end is LineEnd.NOT_UNDERSTOOD

    # ------------------------------------------------------------------ commands
    async def carry_out(self, line: str) -> None:
        """Evaluate one line and emit its replies; the next line of a lesson is its step."""
        lesson = self.lesson if self.exercise is None else None
        is_step = lesson is not None and lesson.is_next(line)
        try:
            with stoppable(self.stop.is_pending):
                await (lesson.take_line(self) if lesson and is_step else self._carry_out(line))
        except Stopped:
            self.end = LineEnd.STOPPED
            self.tell([plain("stopped: the command changed and wrote nothing", "class:warn")])

    async def _carry_out(self, line: str) -> None:
        short: list[Reply] = []
        safe = self.conversation.safe_state()
        async for reply in self.replies(line):
            self.commands += not reply.depth and not reply.bug
            try:
                await self._answer(reply)
                if self.follow is not None:
                    self.follow(reply)
            except (BrokenPipeError, Lost):
                raise
            except Exception as bug:  # noqa: BLE001  (no word may end a session)
                self.commands -= not reply.depth
                self._say(self._bug(bug, line, safe))
                return
            short += [reply] if reply.depth else []
            safe = self.conversation.safe_state()
        for row in closing(self.output, short) if short else ():
            self.emit(row)

    async def _answer(self, reply: Reply) -> None:
        """Emit the reply to a command, and carry out its request to the face."""
        self._say(reply)
        await self._handle(reply)

    def _say(self, reply: Reply) -> None:
        for row in say(self.output, reply):
            self.emit(row)

    async def _handle(self, reply: Reply) -> None:
        self.conversation.keep_answer(reply.value)
        if (handler := REQUEST_HANDLERS.get(type(reply.value))) is not None:
            try:
                await handler(self, reply.value)
            except UserError as wrong:
                self.report_error(str(wrong))

    async def handle(self, reply: Reply) -> Reply | None:
        """Carry out a command's request to the face.

        Returns the bug reply if an exception was raised.
        """
        safe = self.conversation.safe_state()
        try:
            await self._handle(reply)
        except Exception as bug:  # noqa: BLE001  (no word may end a session)
            return self._bug(bug, reply.text, safe)
        return None

    async def replies(self, line: str) -> AsyncIterator[Reply]:
        """The replies to the line, each after its travel has ended, up to one that failed."""
        coming = self.lab.replies(line)
        while True:
            safe = self.conversation.safe_state()
            try:
                reply = await self._computed(lambda: next(coming, None))
                if reply is not None:
                    await self.drive(reply)
            except Exception as bug:  # noqa: BLE001  (no word may end a session)
                reply = self._bug(bug, line, safe)
            if reply is None:
                return
            self.end = self._end_of(reply)
            if reply.invocation is not None:
                command = self.lab.session.vocabulary[reply.invocation.name]
                self.conversation.repeated = line if command.facts.is_repeated else ""
            yield reply
            if self.end is not LineEnd.FINE:
                return

    def _end_of(self, reply: Reply) -> LineEnd:
        if reply.bug:
            return LineEnd.BUG
        if reply.error is not None:
            return LineEnd.NOT_UNDERSTOOD
        if reply.refusal is not None:
            return LineEnd.FAILED
        if self.stop.requested or self._is_halted:
            return LineEnd.STOPPED
        if reply.travel is not None and reply.travel.missed:
            return LineEnd.FAILED
        return LineEnd.LEFT if isinstance(reply.value, Leave) else LineEnd.FINE

    def _bug(self, bug: Exception, line: str, safe: "SafeState") -> Reply:
        """The reply about an exception; the world is that from before the command."""
        self.end = LineEnd.BUG
        return self.conversation.bug_reply(bug, line, safe)

    # ------------------------------------------------------------------ what a handler says
    def tell(self, lines: Sequence[Line]) -> None:
        """Emit lines in the width and the character set of this face."""
        for row in self.output.set(lines):
            self.emit(row)

    def report_error(self, text: str) -> None:
        """Emit an error for a line that parsed but cannot be carried out."""
        self.end = LineEnd.NOT_UNDERSTOOD
        for line in text.splitlines():
            self.emit([("class:error", shown(line))])

    def judge(self, *, ok: bool) -> None:
        """Set how a request to the face ended."""
        self.end = LineEnd.FINE if ok else LineEnd.FAILED
        self._is_halted = False

    # ------------------------------------------------------------------ runs
    async def _computed(self, compute: Callable[[], T]) -> T:
        """Compute; an app is served meanwhile, and shows how far it is."""
        conversation = self.conversation
        if conversation.screen is None or not HAS_THREADS:
            return compute()
        work = Computation(compute, self.stop.is_pending)
        try:
            while not work.go(_SLICE_S):
                conversation.work, conversation.running = work, True
                await self.pause()
        finally:
            work.cancel()
            conversation.work, conversation.running = None, False
        return work.result()

    async def drive(self, reply: Reply) -> None:
        """Run the travel of a reply, if it has one, to its end."""
        if reply.travel is not None:
            await self._go(reply.travel)

    async def _go(self, travel: RunControl) -> None:
        """Run in slices, short enough that ^C and the screen are served in between."""
        conversation, known = self.conversation, self.log.known()
        conversation.run, conversation.running = travel, True
        try:
            while not self._slice(travel, known):
                await self.pause()
                self.stop.handle(travel)
        finally:
            conversation.running = False
        self.log.arrived(LoggedArrival(place_of(self.lab.session), travel.over == STOPPED))

    def _slice(self, travel: RunControl, known: LoggedArrival | None) -> bool:
        """Whether the travel is over.

        A recovered run goes exactly as far as in the lost session.
        """
        session = self.lab.session
        left = session.max_events - travel.events
        if known is not None and known.stopped:
            left = min(left, known.place.event - session.world.event)
            if left <= 0:
                self._is_halted = True
                travel.stop()
                return True
        return self.conversation.slice_size.go(travel, left)
