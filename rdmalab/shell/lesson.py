"""Step through a scenario at a prompt: print its notes, run its lines, stop at each note."""

from collections.abc import AsyncIterator, Awaitable, Callable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rdmalab.session.branch import Place
from rdmalab.session.lines import Reply
from rdmalab.session.session import Session
from rdmalab.shell.output_format import NOTE_PAGE, OutputFormat
from rdmalab.shell.reply_text import say
from rdmalab.shell.styled_text import Line, paragraphs, plain, shown, text_of
from rdmalab.shell.tables import DIM, GOOD, NOTE, PROSE, WARN
from rdmalab.views import fmt

if TYPE_CHECKING:
    from rdmalab.scenario.planned_step import PlannedStep
    from rdmalab.scenario.runner import Runner

Drive = Callable[[Reply], Awaitable[None]]
TITLE = "class:title"


class BranchMoment(NamedTuple):
    """A moment of a branch. live: it is the end of the branch."""

    branch: str
    place: Place
    live: bool


class Lesson:
    """One run through a scenario. stood: the moment at which its last step ended.

    drive: runs the travel of a reply to its end.
    """

    def __init__(self, runner: "Runner", voice: OutputFormat) -> None:
        self.runner = runner
        self.voice = voice
        self.stood = self._stand

    @property
    def session(self) -> Session:
        return self.runner.session

    @property
    def _stand(self) -> BranchMoment:
        history = self.session.history
        return BranchMoment(history.branch.name, history.here, history.live)

    def _return(self) -> list[Line]:
        """Go back to the moment of the last step, if the user moved in time; branches are kept.

        Commands added at the end of its branch stay part of it.
        """
        now, then, history = self._stand, self.stood, self.session.history
        if (
            self.runner.over
            or now == then
            or (now.live and then.live and now.branch == then.branch)
        ):
            return []
        history.switch(history.branches[then.branch])
        history.seek(history.end if then.live else then.place)
        event, clock = self.session.world.event, fmt.clock(self.session.world.now_ns)
        where = f"{fmt.ev(event)}, {clock}"
        where += f", on {then.branch}" if now.branch != then.branch else ""
        return [plain(f"back to the last step of the scenario: {where}", DIM)]

    async def begin(self, drive: Drive) -> AsyncIterator[Line]:
        """Print the title and run the setup."""
        scenario = self.runner.scenario
        yield plain(scenario.title, TITLE)
        about = [plain(text, PROSE) for text in paragraphs(scenario.document.about or "")]
        for line in () if self.voice.is_beside(about) else about:
            yield line
        async for line in self._setup(drive):
            yield line
        for line in self._coming():
            yield line

    async def _setup(self, drive: Drive) -> AsyncIterator[Line]:
        while (step := self.runner.coming) is not None and not step.is_stop:
            if step.line:
                yield plain(f"= {step.line}", DIM)
            async for reply in self._replies(drive):
                if reply.failed:
                    for line in say(self.voice, reply):
                        yield line
            for line in self._judged():
                yield line

    async def advance(self, drive: Drive) -> AsyncIterator[Line]:
        """Run to the next stop, print the lines and the replies; then what stands there to read."""
        for line in self._return():
            yield line
        first = self.runner.position
        while (step := self.runner.coming) is not None:
            if step.is_stop and self.runner.position > first:
                break
            async for line in self._run(step, drive):
                yield line
        for line in self._coming():
            yield line

    async def _run(self, step: "PlannedStep", drive: Drive) -> AsyncIterator[Line]:
        for line in self._ran(step):
            yield line
        async for reply in self._replies(drive):
            for line in say(self.voice, reply):
                yield line
        for line in self._judged():
            yield line

    def _ran(self, step: "PlannedStep") -> list[Line]:
        """The line of a step, or the answer that it reveals."""
        if step.step.reveal is not None:
            is_on_page = self.voice.notes_beside >= NOTE_PAGE
            return [] if is_on_page else answered(step.step.reveal)
        return [[(DIM, "> "), ("", step.line)]] if step.line else []

    async def through(
        self, drive: Drive, pause: Callable[[], Awaitable[None]], stopping: Callable[[], bool]
    ) -> list[Line]:
        """Run to the end without output, unless stopped between two steps; returns a summary."""
        runner = self.runner
        while runner.coming is not None and not stopping():
            async for _reply in self._replies(drive):
                pass
            await pause()
        if not runner.ok:
            return self._judged()
        world, total = self.session.world, len(runner.scenario.steps)
        steps = f"{total} steps" if runner.over else f"stopped after {runner.position} of {total}"
        return [
            plain(
                f"{steps}; it is {fmt.clock(world.now_ns)}, {fmt.event(world.event)}",
                GOOD,
            )
        ]

    async def _replies(self, drive: Drive) -> AsyncIterator[Reply]:
        for reply in self.runner.replies():
            await drive(reply)
            yield reply
        self.stood = self._stand

    def _judged(self) -> list[Line]:
        """The expectations of a step, after it ran."""
        result = self.runner.results[-1]
        if not result.ok:
            text = result.text(self.runner.scenario.path)
            return [plain(line, WARN) for line in text.splitlines()]
        return [[(GOOD, f"✓ {placed.text}")] for placed in result.step.expect]

    def _coming(self) -> list[Line]:
        """The note, the question or the headline before what `next` runs, and how to go on."""
        step = self.runner.coming
        read = [] if step is None else asked(step)
        return [*([] if self.voice.is_beside(read) else read), *self._outlook()]

    def _outlook(self) -> list[Line]:
        """How to go on; nothing where another part of the screen says so."""
        from rdmalab.scenario.reading import open_letters

        runner = self.runner
        done, total = runner.position, len(runner.scenario.steps)
        if not runner.ok:
            return [plain(f"{done}/{total}  the scenario stops here: an expectation failed", WARN)]
        if not runner.over:
            if self.voice.notes_beside:
                return []
            asks = runner.coming is not None and runner.coming.step.predict is not None
            does = "continues, and answers the question" if asks else "continues"
            if letters := open_letters(runner):
                how = f"{fmt.either(letters)} answers; next shows the answer"
            else:
                how = f"next: {does}"
            return [plain(f"{done}/{total}  {how}; any other command works too", DIM)]
        end = plain(f"{done}/{total}  end of the lesson; the session stays open", DIM)
        following = "" if self.voice.notes_beside else following_lesson(runner.scenario.path)
        if not following:
            return [end]
        return [plain(f"the next lesson: load {following}   all lessons: lessons", DIM), end]


@lru_cache(maxsize=8)  # it is asked in each frame
def following_lesson(path: str) -> str:
    """The name for `load` of the next lesson on its path, else in its folder; or empty."""
    from rdmalab.scenario.files import SUFFIX, short_name
    from rdmalab.scenario.lessons import following

    if (after := following(short_name(path))) is not None:
        return after.name
    here = Path(path)
    later = [each for each in here.parent.glob(f"*{SUFFIX}") if each.name > here.name]
    return short_name(str(min(later))) if later else ""


def coming_line(runner: "Runner") -> str:
    """The first line that `next` runs; empty if only text is left."""
    return next(iter(_coming_lines(runner)), "")


def coming_text(runner: "Runner") -> str:
    """What `next` runs: `post_recv B.qp0 … and 2 more`."""
    first, *more = _coming_lines(runner) or ["to the end"]
    return f"{first} and {len(more)} more" if more else first


def _coming_lines(runner: "Runner") -> list[str]:
    """The lines up to the next stop; where these steps have none, the first line after them."""
    ahead = runner.scenario.steps[runner.position :]
    stop = next((at for at, step in enumerate(ahead) if at and step.is_stop), len(ahead))
    lines = [line for step in ahead[:stop] for line in step.line.splitlines()]
    return lines or [line for step in ahead[stop:] for line in step.line.splitlines()][:1]


def asked(step: "PlannedStep") -> list[Line]:
    """What to read before a step: its note, its headline, or its question with the choices."""
    from rdmalab.scenario.reading import choices, question

    before, ask = question(step)
    lines = [plain(line, NOTE) for line in paragraphs(before)]
    if ask:
        last = lines.pop() if lines and lines[-1] else []
        lines.append([*last, *([(NOTE, " ")] if last else []), ("bold", shown(ask))])
    for letter, choice in choices(step):
        lines += [plain(f"  {letter}) {line}", NOTE) for line in paragraphs(choice.strip())]
    return lines


def read_so_far(runner: "Runner") -> tuple[list[Line], int]:
    """The notes of a lesson up to this moment, and the number of the line where the newest begins.

    Each begins after an empty line. Of a question whose answer is there the choices are left out.
    """
    from rdmalab.scenario.reading import question, reading

    found, lines, newest = reading(runner), list[Line](), 1
    for text in filter(None, (found.about, *found.revealed)):
        lines += [[], *answered(text)]
    if found.stop is not None:
        newest = len(lines) + 1
        ask = question(found.stop)[1] if found.after else ""
        lines += [[], *([plain(ask, DIM)] if ask else asked(found.stop))]
    for text in found.after:
        newest = len(lines) + 1
        lines += [[], *answered(text)]
    return lines, newest


def answered(text: str) -> list[Line]:
    """A note that was read, or the answer to a question, with a sign before the right letter."""
    from rdmalab.scenario.reading import right_letter

    lines = [plain(line, NOTE) for line in paragraphs(text)]
    if letter := right_letter(text):
        first = text_of(lines[0]).strip()
        lines[0] = [(GOOD, f"✓ {letter}) "), (NOTE, first.removeprefix(f"{letter}) "))]
    return lines
