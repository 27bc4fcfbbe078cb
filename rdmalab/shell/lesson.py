"""A scenario walked through in a conversation: its notes are read, its lines typed for one."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, NamedTuple

from rdmalab.session.branch import Place
from rdmalab.session.lines import Reply
from rdmalab.session.session import Session
from rdmalab.shell.reply_text import OutputFormat, say
from rdmalab.shell.styled_text import Line, paragraphs, plain
from rdmalab.views import fmt

if TYPE_CHECKING:
    from rdmalab.scenario.loader import PlannedStep
    from rdmalab.scenario.runner import Runner

Drive = Callable[[Reply], Awaitable[None]]
TITLE, NOTE, DIM, GOOD, WARN = "class:title", "class:note", "class:dim", "class:good", "class:warn"


class BranchMoment(NamedTuple):
    """A moment of a branch; live: its end, where new things happen."""

    branch: str
    place: Place
    live: bool


class Lesson:
    """One walk; stood: where in time its last step ended.

    `drive` brings the travel of a reply to its end, as the conversation does it.
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
        """To where the walk was, if somebody went elsewhere in time; what was done there is kept.

        What was only added where the walk stood belongs to it.
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
        return [plain(f"back to where the walk was: {where}", DIM)]

    async def begin(self, drive: Drive) -> AsyncIterator[Line]:
        """Title and setup: everything before the first stop."""
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
        """On to the next stop: its note, its lines and what they did."""
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
        """To its end in silence, unless somebody stops it between two steps; how it ended."""
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
        """What the step was expected to show, once it is done."""
        result = self.runner.results[-1]
        if not result.ok:
            text = result.text(self.runner.scenario.path)
            return [plain(line, WARN) for line in text.splitlines()]
        return [[(GOOD, f"✓ {placed.text}")] for placed in result.step.expect]

    def _outlook(self) -> Line:
        runner = self.runner
        done, total = runner.position, len(runner.scenario.steps)
        if not runner.over:
            return plain(f"{done}/{total}  next: goes on; or type anything else", DIM)
        if not runner.ok:
            return plain(f"{done}/{total}  the walk ends here", WARN)
        return plain(
            f"{done}/{total}  that was all; the world stays as it is: show, or type anything", DIM
        )


def _told(step: "PlannedStep") -> list[Line]:
    """The note, or the headline, and the line that is typed."""
    text = step.step.note or step.step.name or ""
    lines = [plain(line, NOTE) for line in paragraphs(text)]
    return lines + ([[(DIM, "> "), ("", step.line)]] if step.line else [])
