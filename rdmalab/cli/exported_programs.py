"""A scenario as a program: its notes become comments, a refusal names the step."""

from rdmalab.command import TimeMove
from rdmalab.export import program_in
from rdmalab.export.replay.calls import Chapter, NotExportable
from rdmalab.lab import open_session
from rdmalab.scenario.loader import Scenario
from rdmalab.scenario.planned_step import PlannedStep
from rdmalab.scenario.runner import Runner


class PlayedScenario:
    """A scenario that was played, with the entry of the journal at which each step began."""

    def __init__(self, scenario: Scenario, profile: str | None) -> None:
        self.scenario = scenario
        self.runner = Runner(scenario, open_session, profile=profile)
        self.begins: list[int] = []
        while (step := self.runner.coming) is not None:
            self._judge(step)
            self.begins.append(len(self.runner.session.journal))
            self.runner.next_step()

    def text(self, language: str) -> str:
        """The program; NotExportable with the step and its line."""
        document = self.scenario.document
        title = "\n\n".join(part.strip() for part in (document.title, document.about or "") if part)
        try:
            return program_in(language).write(self.runner.session, title, self._chapters())
        except NotExportable as wrong:
            if wrong.entry is None:
                raise
            at = max(
                (n for n, entry in enumerate(self.begins) if entry <= wrong.entry), default=None
            )
            if at is None:
                raise NotExportable(f"its nodes or its link: {wrong.reason}") from None
            raise self._of(self.scenario.steps[at], at + 1, wrong.reason) from None

    def _judge(self, step: PlannedStep) -> None:
        command = self.runner.session.vocabulary.get(step.line.partition(" ")[0])
        if command is not None and command.facts.moves_time is TimeMove.ANY:
            reason = f"{command.name} is a journey in time, which no program makes"
            raise self._of(step, self.runner.position + 1, reason)

    def _of(self, step: PlannedStep, number: int, reason: str) -> NotExportable:
        return NotExportable(f"step {number}, line {step.place.line}: {reason}")

    def _chapters(self) -> list[Chapter]:
        """The steps from one note to the next."""
        found: list[Chapter] = []
        title, runs = "", dict[int, str]()
        steps = self.scenario.steps[: len(self.begins)]
        for step, begin in zip(steps, self.begins, strict=True):
            if step.is_stop and (begin or title):
                found.append(Chapter(title, begin, runs))
                title, runs = "", {}
            title = step.text or title
            if step.step.run is not None:
                runs[begin] = step.line
        return [*found, Chapter(title, len(self.runner.session.journal), runs)]
