"""Step through a scenario at a prompt: print its notes, run its lines, stop at each note."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, NamedTuple

from rdmalab.session.branch import Place
from rdmalab.session.lines import Reply
from rdmalab.session.session import Session
from rdmalab.shell.output_format import OutputFormat
from rdmalab.shell.reply_text import say
from rdmalab.shell.styled_text import Line, paragraphs, plain
from rdmalab.views import fmt

if TYPE_CHECKING:
    from rdmalab.scenario.planned_step import PlannedStep
    from rdmalab.scenario.runner import Runner

Drive = Callable[[Reply], Awaitable[None]]
TITLE, NOTE, DIM, GOOD, WARN = "class:title", "class:note", "class:dim", "class:good", "class:warn"


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
        for text in paragraphs(scenario.document.about or ""):
            yield plain(text)
        async for line in self._setup(drive):
            yield line
        yield self._outlook()

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
        """Run to the next stop: print its note, its lines and the replies."""
        for line in self._return():
            yield line
        first = self.runner.position
        while (step := self.runner.coming) is not None:
            if step.is_stop and self.runner.position > first:
                break
            for line in _told(step):
                yield line
            async for reply in self._replies(drive):
                for line in say(self.voice, reply):
                    yield line
            for line in self._judged():
                yield line
        yield self._outlook()

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

    def _outlook(self) -> Line:
        runner = self.runner
        done, total = runner.position, len(runner.scenario.steps)
        if not runner.over:
            return plain(f"{done}/{total}  next: continues; any other command works too", DIM)
        if not runner.ok:
            return plain(f"{done}/{total}  the scenario stops here: an expectation failed", WARN)
        return plain(
            f"{done}/{total}  end of the scenario; the session stays open",
            DIM,
        )


def _told(step: "PlannedStep") -> list[Line]:
    """The note or the headline of a step, and its line."""
    text = step.step.note or step.step.name or ""
    lines = [plain(line, NOTE) for line in paragraphs(text)]
    return lines + ([[(DIM, "> "), ("", step.line)]] if step.line else [])
