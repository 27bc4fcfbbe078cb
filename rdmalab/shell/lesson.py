"""Step through a scenario at a prompt: print its notes, run its lines, stop at each note."""

from collections.abc import AsyncIterator, Sequence
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
_TEXT = frozenset({"", "bold", DIM, NOTE, PROSE, TITLE})  # styles of what is to be read


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

    @property
    def is_left(self) -> bool:
        """Whether the user went to the past; a lesson that goes there itself is not left."""
        return not self.session.history.live and self._stand != self.stood

    @property
    def _has_own(self) -> bool:
        """Whether the user has gone on from the last step, with commands or in time."""
        now, then = self._stand, self.stood
        return now.live and then.live and now.branch == then.branch and now != then

    def _return(self) -> list[Line]:
        """Go back to the moment of the last step, if the user moved in time; branches are kept.

        Commands added at the end of its branch stay part of it.
        """
        if self.runner.over or self._stand == self.stood or self._has_own:
            return []
        then = self.stood
        place = None if then.live else then.place
        return self._go_back(then.branch, place, "back to the last step of the scenario")

    def _go_back(self, branch: str, place: TimePoint | None, why: str) -> list[Line]:
        """Go to a moment of a branch, None: to its end; returns the sentence about it."""
        now, history = self._stand, self.session.history
        history.switch(history.branches[branch])
        history.seek(place or history.end)
        event, clock = self.session.world.event, fmt.clock(self.session.world.now_ns)
        where = f"{fmt.ev(event)}, {clock}"
        where += f", on {branch}" if now.branch != branch else ""
        return [plain(f"{why}: {where}", DIM)]

    async def begin(self, evaluation: "Evaluation") -> None:
        """Print the title and run the setup."""
        scenario = self.runner.scenario
        about = [plain(text, PROSE) for text in paragraphs(scenario.document.about or "")]
        is_beside = self.output.is_beside(about)
        gap: list[Line] = [[]] if about and not is_beside else []
        evaluation.tell([plain(scenario.title, TITLE), *gap, *([] if is_beside else about)])
        while (step := self.runner.coming) is not None and not step.is_stop:
            if step.line:
                evaluation.tell([plain(f"= {step.line}", DIM)])
            await self._run(evaluation, only_failed=True)
        evaluation.tell(self._coming())

    async def advance(self, evaluation: "Evaluation") -> None:
        """Run to the next stop, print the lines and the replies; then what stands there to read."""
        if self.runner.over and self.runner.ok:
            evaluation.tell(self._end())
            return
        evaluation.tell(self._return())
        if not (self._has_own and self.runner.coming):
            await self._to_stop(evaluation)
            return
        printed: list[Line] = []
        point, stood, first = self.session.history.safe_point(), self.stood, self.runner.position
        await self._to_stop(evaluation.nested(printed.append, evaluation.log))
        if self.runner.ok or evaluation.stop.requested:
            for row in printed:
                evaluation.emit(row)
            return
        # What the user did is no part of what the scenario expects: without it the step is true.
        self.session.history.undo_to(point)
        del self.runner.results[first:]
        why = f"your own steps stay on {stood.branch}; the lesson goes on from its last step"
        evaluation.tell(self._go_back(stood.branch, stood.place, why))
        self.session.history.fork()
        await self._to_stop(evaluation)

    async def _to_stop(self, evaluation: "Evaluation") -> None:
        first = self.runner.position
        while (step := self.runner.coming) is not None:
            if step.is_stop and self.runner.position > first:
                break
            evaluation.tell(self._ran(step))
            await self._run(evaluation)
        evaluation.tell(self._coming())

    def is_next(self, line: str) -> bool:
        """Whether a typed line is the one that the lesson runs next.

        Only where the last step ended: elsewhere the same line is one of the user's own.
        """
        wanted = coming_line(self.runner)
        return bool(wanted) and self._stand == self.stood and " ".join(line.split()) == wanted

    async def take_line(self, evaluation: "Evaluation") -> None:
        """Run the steps up to that of the next line, then those without a line to the next stop."""
        is_done = False
        while (step := self.runner.coming) is not None and not (
            is_done and (step.is_stop or step.line)
        ):
            is_done = is_done or bool(step.line)
            if step.step.reveal is not None:
                evaluation.tell(self._ran(step))
            await self._run(evaluation)
        if self.runner.over or (step is not None and step.is_stop):
            evaluation.tell(self._coming())
        self.end(evaluation)

    def end(self, evaluation: "Evaluation") -> None:
        """Set how the line ended that ran steps; keep that the lesson is done."""
        if self.runner.over and self.runner.ok:
            from rdmalab.classroom.progress import mark_done
            from rdmalab.scenario.files import short_name

            mark_done(short_name(self.runner.scenario.path))
        evaluation.judge(ok=self.runner.ok)

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
        return self._end()[-1:] if self.output.notes_beside else self._end()

    def _end(self) -> list[Line]:
        """The lines after the last step: what leads on, and that this is the end."""
        total = len(self.runner.scenario.steps)
        end = plain(f"{total}/{total}  end of the lesson; the session stays open", DIM)
        if not (following := following_lesson(self.runner.scenario.path)):
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
    """The first line that `next` runs; empty if that is text or a step of several lines."""
    step = next((step for step in _before_stop(runner) if step.line), None)
    line = " ".join(step.line.split()) if step is not None else ""
    return "" if step is None or "\n" in step.line.strip() else line


def coming_text(runner: "Runner") -> str:
    """The effect of `next`: `runs post_recv B.qp0 … and 2 more`, `asks a question`."""
    first, *more = [line for step in _before_stop(runner) for line in step.line.splitlines()] or [
        ""
    ]
    if first:
        return f"runs  {first} and {len(more)} more" if more else f"runs  {first}"
    stop = next(iter(runner.scenario.steps[runner.position + len(_before_stop(runner)) :]), None)
    if stop is None:
        return "goes on to the end"
    return "asks a question" if stop.step.predict is not None else "shows the next note"


def _before_stop(runner: "Runner") -> "Sequence[PlannedStep]":
    """The steps that `next` runs."""
    ahead = runner.scenario.steps[runner.position :]
    stop = next((at for at, step in enumerate(ahead) if at and step.is_stop), len(ahead))
    return ahead[:stop]


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


def read_so_far(runner: "Runner", *, brief: bool = False) -> tuple[list[Line], int]:
    """The notes of a lesson up to this moment, and the number of the line where the newest begins.

    Each begins after an empty line. Of a question whose answer is there the choices are left out.
    brief: without a note that was read before.
    """
    from rdmalab.scenario.reading import question, reading

    found, lines, newest = reading(runner), list[Line](), 1
    for text in filter(None, (found.about, *found.revealed)):
        lines += [[], *answered(text, runner.wrong_at(found.before))]
    if found.before is not None and not (found.revealed or brief):
        lines += [[], *(plain(line, DIM) for line in paragraphs(found.before.text))]
    if found.stop is not None:
        newest = len(lines) + 1
        ask = question(found.stop)[1] if found.after else ""
        lines += [[], *([plain(ask, DIM)] if ask else asked(found.stop))]
    for text in found.after:
        newest = len(lines) + 1
        lines += [[], *answered(text, runner.wrong_at(found.stop))]
    return lines, newest


def answered(text: str, wrong: str = "") -> list[Line]:
    """A note that was read, or the answer to a question, with a sign before the right letter.

    wrong: the letter that the reader has chosen; empty: a right one, or none.
    """
    from rdmalab.scenario.reading import right_letter

    lines = [plain(line, NOTE) for line in paragraphs(text)]
    if letter := right_letter(text):
        first = text_of(lines[0]).strip()
        lines[0] = [(GOOD, f"✓ {letter}) "), (NOTE, first.removeprefix(f"{letter}) "))]
        lines[:0] = [judged(wrong, is_right=False)] if wrong else []
    return lines


def judged(letter: str, *, is_right: bool) -> Line:
    """A row about the answer that was chosen."""
    if is_right:
        return plain(f"✓ {letter}) is right.", GOOD)
    return plain(f"✗ {letter}) is not the answer.", WARN)


def rows_to_read(printed: "Sequence[Line]") -> int:
    """The number of rows of the note or task at the end of an answer: prose, and lines to type."""
    others = (at for at, line in enumerate(reversed(printed)) if {part[0] for part in line} - _TEXT)
    return next(others, len(printed))
