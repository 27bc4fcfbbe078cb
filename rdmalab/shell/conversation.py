"""Evaluate lines in a lab and emit styled lines, for every face; ^C is checked between slices.

goes_on = await Conversation(lab).evaluate("run", emit, pause)  # emit(line), await pause()
"""

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from rdmalab.command import NotUnderstood, Recovery
from rdmalab.doctor.answers import Answer
from rdmalab.grammar.line import as_typed, commands_of, parse
from rdmalab.lab import Lab
from rdmalab.recovery.bug_reports import called, report
from rdmalab.recovery.recovered_sessions import restoring
from rdmalab.recovery.write_ahead_log import NullLog, place_of
from rdmalab.session.branch import SafePoint
from rdmalab.session.lines import Reply
from rdmalab.session.reverse import Jump
from rdmalab.session.run_control import RunControl
from rdmalab.session.session import Session
from rdmalab.shell.evaluation import Computation, Emit, Evaluation, LineEnd, Pause, SliceSize
from rdmalab.shell.lab_requests import in_lab, short_answer, whole_essay
from rdmalab.shell.output_format import OutputFormat
from rdmalab.shell.styled_text import plain
from rdmalab.shell.tables import DIM

if TYPE_CHECKING:
    from rdmalab.classroom.lab_session import LabSession
    from rdmalab.doctor.checklist_report import ChecklistReport
    from rdmalab.doctor.report.report import Report
    from rdmalab.shell.lesson import Lesson
    from rdmalab.workbench.screen_words import ScreenRequest

_TYPED = 20  # lines that a bug report has


class SafeState(NamedTuple):
    """State that is restored when a command ends with an exception."""

    session: Session
    point: SafePoint
    lesson: "Lesson | None"
    diagnosis: "Report | None"


class Conversation:
    """Evaluates lines in a lab and emits the replies as styled lines."""

    exercise: "LabSession | None" = None  # the lab that is open
    lesson: "Lesson | None" = None
    diagnosis: "Report | None" = None  # the last answer of `why` in this world
    last_report: "Report | None" = None  # the answer of the last command, if that was `why`
    checklist: "ChecklistReport | None" = None  # the last answer of `checklist`
    copy: Callable[[str], str] | None = None  # to the clipboard; returns a message about it
    hand_out: Callable[[str], str] | None = None  # a file that was written; returns a message
    screen: "Callable[[ScreenRequest], str] | None" = None  # returns the app's message
    settings_changed: Callable[[], None] | None = None  # called after a setting was set
    repeated = ""  # what an empty line stands for
    run: RunControl | None = None  # the last run of the last text; None if time did not move
    running = False
    work: "Computation[Any] | None" = None  # what takes long; the world is not read now
    has_commands = False  # a call was typed in this world, not only time or a look at it

    def __init__(
        self, lab: Lab, output: OutputFormat | None = None, log: NullLog | None = None
    ) -> None:
        self.lab = lab
        self.output = output or OutputFormat(lab.session)
        self.log = log or NullLog()  # the write-ahead log of the lines
        self.slice_size = SliceSize()
        self.evaluation = Evaluation(self)  # of the last line
        self._typed: deque[str] = deque(maxlen=_TYPED)
        known = lab.session.vocabulary.values()
        self._apart = [c.name for c in known if c.facts.recovery is Recovery.NEW_RECORDING]

    def stop(self) -> None:
        """Stop the run or the computation, between two events."""
        self.evaluation.stop.stop()

    def interrupt(self) -> None:
        """Stop the computation; a run continues. May be called from any thread."""
        self.evaluation.stop.interrupt()

    @property
    def end(self) -> LineEnd:
        """The end of the last line."""
        return self.evaluation.end

    @property
    def last_typed(self) -> list[str]:
        """The last lines that were carried out, oldest first, for the report of a bug."""
        return list(self._typed)

    @property
    def can_be_continued(self) -> bool:
        """Whether there is a log with which `continue` restores what was typed here."""
        is_open = self.lesson is not None or self.exercise is not None
        return self.log.is_kept and (self.has_commands or is_open)

    @property
    def searching(self) -> bool:
        """Whether a command looks through the past: the world is at the moment it inspects."""
        return self.work is not None or (self.running and isinstance(self.run, Jump))

    @property
    def doing(self) -> str:
        """`running`, `searching`, or `working` and how far; empty if nothing takes long."""
        if self.work is not None:
            return f"working {self.work.progress}"
        return "searching" if self.searching else "running" if self.running else ""

    # ------------------------------------------------------------------ lines
    async def evaluate(self, text: str, emit: Emit, pause: Pause) -> bool:
        """Evaluate the lines of a text up to the first that fails; returns False after `quit`.

        An empty text repeats the last step or run.
        """
        lines = commands_of(as_typed(text.strip()) or self.repeated)
        self.run = None
        self.evaluation = Evaluation(self, emit, pause)
        stop = self.evaluation.stop
        parts = [(number, part) for number, line in lines for part in self._parts(line)]
        for number, line in parts:
            self.evaluation = Evaluation(self, emit, pause, stop=stop)
            await self._line(line, self.evaluation)
            if self.end is not LineEnd.FINE:
                if self.end is not LineEnd.LEFT and len(lines) > 1:
                    emit([("class:error", f"stopped at line {number} of {lines[-1][0]}.")])
                break
        return self.end is not LineEnd.LEFT

    def _parts(self, line: str) -> list[str]:
        """Split a line into its commands if one of them ends the log, else return it whole.

        The commands before and after it belong to different logs.
        """
        session, line = self.lab.session, whole_essay(self.evaluation, line)
        if not any(word in line for word in self._apart):
            return [line]
        try:
            parsed = parse(line, session.vocabulary, session.default_node, aliases=session.aliases)
        except NotUnderstood:
            return [line]
        is_whole = not any(each.name in self._apart for each in parsed)
        return [line] if is_whole else [each.line for each in parsed]

    async def _line(self, line: str, evaluation: Evaluation) -> None:
        """Write the line to the log, evaluate it, then write where it ended.

        A command that ends the recording stands neither in it nor in the next one.
        """
        self._typed.append(line)
        line = short_answer(evaluation, line)  # the log has a command, which can be repeated
        is_apart = (line.split() or [""])[0] in self._apart
        if not is_apart:
            self.log.typed(line)
        if trouble := self.log.trouble():
            evaluation.tell([[("class:warn", trouble)]])
        session, calls = self.lab.session, len(self.lab.session.journal)
        is_own = self.has_commands and self.exercise is None and self.lesson is None
        await in_lab(evaluation, line)
        if self.lab.session is session and len(session.journal) != calls:
            self.has_commands = True
        self.log.ended(place_of(self.lab.session), evaluation.commands)
        if is_own and not is_apart and self.lab.session is not session:
            self._tell_of_the_one_before(evaluation)

    def _tell_of_the_one_before(self, evaluation: Evaluation) -> None:
        """Give the line that replaced the typed session a log of its own: both can be restored."""
        if word := restoring(self.log.move_last_line(), newer=1):
            text = f"The session before is kept: new, then {word} restores it."
            evaluation.tell([plain(text, DIM)])

    # ------------------------------------------------------------------ the world
    def start_over(self, session: Session) -> None:
        """Start with another world and no output."""
        self.lab.session = self.output.session = session
        self.lesson = self.diagnosis = self.exercise = None
        self.has_commands = False

    def keep_answer(self, value: object) -> None:
        """Keep the answer of `why` or `checklist`."""
        self.last_report = None
        if isinstance(value, Answer):
            from rdmalab.doctor.checklist_report import ChecklistReport
            from rdmalab.doctor.report.report import Report

            if isinstance(value, Report):
                self.diagnosis = self.last_report = value
            elif isinstance(value, ChecklistReport):
                self.checklist = value

    def safe_state(self) -> SafeState:
        """The state before a command, for `bug_reply`."""
        session = self.lab.session
        return SafeState(session, session.history.safe_point(), self.lesson, self.diagnosis)

    def bug_reply(self, bug: Exception, line: str, safe: SafeState) -> Reply:
        """Restore the state from before the command; returns the reply about the exception."""
        self.lab.session = self.output.session = safe.session
        self.lesson, self.diagnosis = safe.lesson, safe.diagnosis
        try:
            safe.session.history.undo_to(safe.point)
            world = "the state before this command is restored"
        except Exception:  # noqa: BLE001  (the same bug may be on the way back)
            world = "the state before it could not be restored: save what you need, then type new"
        return Reply(line, bug=f"{called(bug)}; {world}; {report(bug, self.last_typed)}")
