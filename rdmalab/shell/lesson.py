"""Step through a scenario at a prompt: print its notes, run its lines, stop at each note."""

from collections.abc import AsyncIterator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rdmalab.session.branch import TimePoint
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
    from rdmalab.shell.evaluation import Evaluation

TITLE = "class:title"


class BranchMoment(NamedTuple):
    """A moment of a branch. live: it is the end of the branch."""

    branch: str
    place: TimePoint
    live: bool


class Lesson:
    """One run through a scenario. stood: the moment at which its last step ended."""

    def __init__(self, runner: "Runner", output: OutputFormat) -> None:
        self.runner = runner
        self.output = output
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

    async def begin(self, evaluation: "Evaluation") -> None:
        """Print the title and run the setup."""
        scenario = self.runner.scenario
        about = [plain(text, PROSE) for text in paragraphs(scenario.document.about or "")]
        is_beside = self.output.is_beside(about)
        evaluation.tell([plain(scenario.title, TITLE), *([] if is_beside else about)])
        while (step := self.runner.coming) is not None and not step.is_stop:
            if step.line:
                evaluation.tell([plain(f"= {step.line}", DIM)])
            await self._run(evaluation, only_failed=True)
        evaluation.tell(self._coming())

    async def advance(self, evaluation: "Evaluation") -> None:
        """Run to the next stop, print the lines and the replies; then what stands there to read."""
        evaluation.tell(self._return())
        first = self.runner.position
        while (step := self.runner.coming) is not None:
            if step.is_stop and self.runner.position > first:
                break
            evaluation.tell(self._ran(step))
            await self._run(evaluation)
        evaluation.tell(self._coming())

    async def _run(self, evaluation: "Evaluation", *, only_failed: bool = False) -> None:
        """Run one step, print its replies (or those that failed) and its expectations."""
        async for reply in self._replies(evaluation):
            if reply.failed or not only_failed:
                evaluation.tell(list(say(self.output, reply)))
        evaluation.tell(self._judged())

    def _ran(self, step: "PlannedStep") -> list[Line]:
        """The line of a step, or the answer that it reveals."""
        if step.step.reveal is not None:
            is_on_page = self.output.notes_beside >= NOTE_PAGE
            return [] if is_on_page else answered(step.step.reveal)
        return [[(DIM, "> "), ("", step.line)]] if step.line else []

    async def through(self, evaluation: "Evaluation") -> None:
        """Run to the end, unless stopped between two steps; print a summary only."""
        runner = self.runner
        while runner.coming is not None and not evaluation.stop.requested:
            async for _reply in self._replies(evaluation):
                pass
            await evaluation.pause()
        evaluation.tell([self._summary()] if runner.ok else self._judged())

    def _summary(self) -> Line:
        runner, world = self.runner, self.session.world
        sizes = [len(step.calls) or 1 for step in runner.scenario.steps]
        done, total = sum(sizes[: runner.position]), sum(sizes)
        what = fmt.count(total, "call" if runner.scenario.is_session else "step")
        steps = what if runner.over else f"stopped after {done} of {what}"
        return plain(f"{steps}; it is {fmt.clock(world.now_ns)}, {fmt.event(world.event)}", GOOD)

    async def _replies(self, evaluation: "Evaluation") -> AsyncIterator[Reply]:
        for reply in self.runner.replies():
            await evaluation.drive(reply)
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
        return [*([] if self.output.is_beside(read) else read), *self._outlook()]

    def _outlook(self) -> list[Line]:
        """Lines on how to go on; none where another part of the screen says so."""
        from rdmalab.scenario.reading import open_letters

        runner = self.runner
        done, total = runner.position, len(runner.scenario.steps)
        if not runner.ok:
            return [plain(f"{done}/{total}  the scenario stops here: an expectation failed", WARN)]
        if not runner.over:
            if self.output.notes_beside:
                return []
            asks = runner.coming is not None and runner.coming.step.predict is not None
            does = "continues, and answers the question" if asks else "continues"
            if letters := open_letters(runner):
                how = f"{fmt.either(letters)} answers; next shows the answer"
            else:
                how = f"next: {does}"
            return [plain(f"{done}/{total}  {how}; any other command works too", DIM)]
        end = plain(f"{done}/{total}  end of the lesson; the session stays open", DIM)
        following = "" if self.output.notes_beside else following_lesson(runner.scenario.path)
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
    """Lines that `next` runs: `post_recv B.qp0 … and 2 more`."""
    first, *more = _coming_lines(runner) or ["to the end"]
    return f"{first} and {len(more)} more" if more else first


def _coming_lines(runner: "Runner") -> list[str]:
    """The lines up to the next stop; where these steps have none, the first line after them."""
    ahead = runner.scenario.steps[runner.position :]
    stop = next((at for at, step in enumerate(ahead) if at and step.is_stop), len(ahead))
    lines = [line for step in ahead[:stop] for line in step.line.splitlines()]
    return lines or [line for step in ahead[stop:] for line in step.line.splitlines()][:1]


def asked(step: "PlannedStep") -> list[Line]:
    """Lines to read before a step: its note, its headline, or its question with the choices."""
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
