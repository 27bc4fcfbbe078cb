"""The model of the application: a lab, its conversation, and the first commands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from rdmalab.lab import Lab
from rdmalab.recovery.recovered_sessions import offer
from rdmalab.recovery.write_ahead_log import WriteAheadLog, head_of
from rdmalab.shell import kept_labs
from rdmalab.shell.conversation import Conversation
from rdmalab.shell.lesson import coming_line, following_lesson
from rdmalab.shell.output_format import OutputFormat
from rdmalab.views import timeline

if TYPE_CHECKING:
    from rdmalab.classroom.lab_session import LabSession
    from rdmalab.doctor.report.report import Report
    from rdmalab.scenario.runner import Runner
    from rdmalab.session.session import Session
    from rdmalab.shell.evaluation import Emit, Pause
    from rdmalab.shell.styled_text import Line

# What has happened when the first screen is seen: two connected QPs, one SEND from end to end.
FIRST = (
    "use rc_pair",
    'write A.mr0[0:5] "hello"',
    "post_recv B.qp0 wr_id=1 sg=B.mr0[0:64]",
    "post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED",
    "run",
)
_VERB = "class:pygments.keyword"
CARD: tuple[Line, ...] = (
    [("bold", "A has sent 64 bytes to B; both can poll a completion now."), ("", "  Try:")],
    [
        ("", "  "),
        (_VERB, "tour"),
        ("", "   nine tasks, ten minutes: from RESET to a message and an error"),
    ],
    [("", "  "), (_VERB, "post_send A.qp0 wr_id=2 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED")],
    [("", "  "), (_VERB, "step"), ("", "  or F8, then Enter repeatedly: B has no receive left")],
    [
        *(("", "  "), (_VERB, "help"), ("", "   "), (_VERB, "explain RTS"), ("", "   ")),
        *((_VERB, "load FILE"), ("", "  a scenario    F6: panes   ^D: quit")),
    ],
)


class LivePrograms(Protocol):
    """Programs of the host that run on the lab; between its frames the app serves them."""

    @property
    def is_over(self) -> bool:
        """Whether all have ended."""

    @property
    def is_held(self) -> bool:
        """Whether events happen only by `step`."""

    @property
    def is_served(self) -> bool:
        """Whether the world is where the programs are: not in the past."""

    def hold(self, *, is_held: bool) -> None:
        """Hold the world, or let it run."""

    def serve(self) -> bool:
        """Serve the programs for a slice of time; returns whether anything has happened."""

    def step(self) -> bool:
        """The next event; False if nothing is planned."""

    def before_line(self) -> None:
        """A line of the user is about to be evaluated."""

    def after_line(self) -> None:
        """A line of the user was evaluated."""

    def printed(self) -> list[str]:
        """The lines printed since the last call: by programs, and about them."""


class AppModel:
    """A lab and its conversation; a loaded scenario has its own world.

    busy: a command is running, and the world is at an intermediate moment. programs: None: none.
    """

    programs: LivePrograms | None = None
    is_interrupted = False  # by a ^C whose key the event loop has not had yet

    def __init__(self, lab: Lab | None = None, *, ascii_only: bool = False) -> None:
        self.lab = lab or Lab()
        self.conversation = Conversation(self.lab, OutputFormat(self.lab.session, ascii=ascii_only))
        self.offers: list[str] = []  # of the work of earlier sessions
        self.busy = False

    def keep(self) -> WriteAheadLog:
        """Start the write-ahead log, and find what of earlier sessions can be continued."""
        begin = FIRST if self.session.journal else ()
        self.conversation.log = log = WriteAheadLog(head_of(self.session, begin))
        self.offers = [each for each in (offer(), kept_labs.offer()) if each]
        return log

    @property
    def session(self) -> Session:
        return self.lab.session

    @property
    def walk(self) -> Runner | None:
        lesson = self.conversation.lesson
        return lesson.runner if lesson is not None else None

    @property
    def exercise(self) -> LabSession | None:
        """The lab that is open; None if none is."""
        return self.conversation.exercise

    @property
    def diagnosis(self) -> Report | None:
        """The last reply of `why`; None if there is none."""
        return self.conversation.diagnosis

    @property
    def is_walking(self) -> bool:
        """Whether a loaded scenario is not at its end."""
        return self.walk is not None and not self.walk.over

    @property
    def way_on(self) -> str:
        """The command of F8: one step, or next; at the end of a lesson that says what leads on."""
        is_idle = self.session.world.agenda.next_ns() is None
        is_next = self.walk is not None and (self.is_walking or is_idle)
        return "next" if is_next and not self.is_in_past else "step"

    @property
    def is_in_past(self) -> bool:
        """Whether the user went back; where a lesson goes to the past it goes on from there."""
        lesson = self.conversation.lesson
        return lesson.is_left if lesson is not None else not self.session.history.live

    def note_command(self, direction: int) -> str:
        """The command of a clicker: to the next note (1) or the one before (-1); empty: none.

        Without a lesson: one step. After commands of the user in the past: back on its branch.
        """
        walk = self.walk
        if walk is None or self.exercise is not None:
            return "step" if direction > 0 else "back"
        from rdmalab.scenario.reading import note_events, place_in_lesson

        branch, here = place_in_lesson(walk)
        if direction > 0 and not branch and not self.is_in_past:
            return "next" if self.is_walking else self._load_following(walk)
        switch = f"switch {branch}; " if branch else ""
        events = [each for each in note_events(walk) if (each - here) * direction > 0]
        if not events:
            return f"{switch}goto end" if direction > 0 else ""
        event = events[0] if direction > 0 else events[-1]
        return f"{switch}goto {event if event >= 0 else 'start'}"

    def _load_following(self, walk: Runner) -> str:
        """The command that loads the next lesson; empty if none follows, or this one has failed."""
        following = following_lesson(walk.scenario.path) if walk.ok else ""
        return f"load {following}" if following else ""

    @property
    def repeated(self) -> str:
        """The command of an empty line: the last command of time, in a scenario `next`."""
        again = self.conversation.repeated or "next"
        return "" if again == "next" and not self.is_walking else again

    def begin(self) -> None:
        """Run the first commands: an RC pair and one SEND."""
        for line in FIRST:
            self.lab.do(line)

    @property
    def offered(self) -> str:
        """The line for Tab at an empty prompt; or empty.

        What the open task shows, or F8 runs next; at the end of a lesson, what loads the next one.
        """
        if self.exercise is not None:
            from rdmalab.classroom.next_line import next_line  # with pydantic, half of the start

            return next_line(self.exercise)
        if self.walk is None or self.is_walking:
            return coming_line(self.walk) if self.walk is not None else ""
        return self._load_following(self.walk)

    def resize(self, width: int, note_rows: int = 0) -> None:
        """Set the width of printed lines in columns, at least 20.

        note_rows: where notes are shown beside the prompt: NOTE_STRIP, NOTE_PAGE; 0: nowhere.
        """
        output = self.conversation.output
        output.width, output.notes_beside = max(20, width), note_rows

    async def evaluate(self, text: str, emit: Emit, pause: Pause) -> bool:
        """Evaluate a line; an empty line repeats the last command of time, or runs `next`."""
        if not text.strip():
            text = self.repeated
        self.busy = True
        if self.programs is not None:
            self.programs.before_line()
        try:
            return await self.conversation.evaluate(text, emit, pause)
        finally:
            self.busy = False
            if self.programs is not None:
                self.programs.after_line()

    @property
    def running_programs(self) -> LivePrograms | None:
        """The programs that can go on now; None: there are none, they have ended, or they wait."""
        programs = self.programs
        return programs if programs is not None and not programs.is_over else None

    def stop(self) -> None:
        """Stop the current run between two events."""
        self.conversation.stop()

    def interrupt(self) -> None:
        """^C, in the thread that reads the terminal: cancel the computation."""
        if self.busy:
            self.is_interrupted = True
            self.conversation.interrupt()

    def take_interrupt(self) -> bool:
        """Whether the last ^C has cancelled what was carried out; False if asked again."""
        was, self.is_interrupted = self.is_interrupted, False
        return was


def checkpoint_command(session: Session, direction: int) -> str:
    """The command that goes to the next (1) or previous (-1) checkpoint, else to the end."""
    here, history = session.world.event, session.history
    marks = [
        mark
        for mark in timeline.mark_rows(history, session.checkpoints)
        if mark.mark is timeline.Mark.CHECKPOINT and (mark.event - here) * direction > 0
    ]
    if not marks:
        return "goto start" if direction < 0 else "goto end"
    nearest = marks[0] if direction > 0 else marks[-1]
    if nearest.branch == history.branch.name:
        return f"goto @{nearest.name}"
    return f"goto {nearest.event}"
