"""The result of a step, and the report of a failure: place, expected, actual, last packets."""

from dataclasses import field
from enum import StrEnum

from rdmalab.hca.errors import errno_text
from rdmalab.scenario.expect import Failure
from rdmalab.scenario.planned_step import PlannedStep
from rdmalab.scenario.source import FileError
from rdmalab.session.history import MAIN
from rdmalab.session.lines import Reply
from rdmalab.spec.row import dataclass
from rdmalab.views import fates, ladder


class StepOutcome(StrEnum):
    """The outcome of a step or of a scenario."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"


@dataclass(slots=True)
class StepResult:
    """The result of one step.

    first_record: its first record in the trace; after a jump in time the first one there. error: an
    error in the file. branch: the branch of time on which it ended. tail: the last rows of the
    ladder before a failure. warnings: deviations between devices and documents. answer: the last
    reply with a value to read; None if there is none.
    """

    step: PlannedStep
    number: int
    first_record: int = 0
    outcome: StepOutcome = StepOutcome.PASSED
    failure: Failure | None = None
    error: FileError | None = None
    branch: str = MAIN
    event: int = -1
    now_ns: int = 0
    tail: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    answer: Reply | None = None

    @property
    def ok(self) -> bool:
        return self.outcome is StepOutcome.PASSED

    def text(self, path: str) -> str:
        """The report of a failure: place, expected and actual, the end of the ladder."""
        if self.error is not None:
            return f"ERROR {self.error}"
        if self.failure is None:
            return ""
        title = f"  step {self.step.step.title}" if self.step.step.title else ""
        path = self.step.spot.source.path or path  # of the file that it is included from
        line = self.failure.line or self.step.place.line
        head = f"FAIL {path}:{line}{title}  {self.failure.what}"
        lines = [f"  {line}" for line in self.failure.lines]
        if self.tail:
            lines += ["", "  last on the wire:", *(f"    {row}" for row in self.tail)]
        return "\n".join([head, *lines])


class Stop(Exception):  # noqa: N818
    """Raised when a step fails."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure)
        self.failure = failure


def ladder_text(row: ladder.PacketRow | ladder.MarkerRow) -> str:
    """A row of the ladder as a line, with the fate of a packet that was not received."""
    if isinstance(row, ladder.PacketRow) and (row.fate is not fates.Fate.RECEIVED or row.troubles):
        return f"{row.text}  ({row.fate_text})"
    return row.text


def stop_of(reply: Reply) -> Stop:
    """The failure of a step whose command was refused or not understood."""
    refusal = reply.refusal
    text = errno_text(refusal) if refusal is not None else str(reply.error)
    text += f"; {refusal.legal}" if refusal is not None and refusal.legal else ""
    return Stop(Failure("do", f"{reply.text} succeeds", [text]))
