"""A call of a verb, as the log has it."""

from typing import TYPE_CHECKING

from rdmalab.command import Invocation
from rdmalab.spec import records as rec
from rdmalab.spec.records import Kind, Record
from rdmalab.verbs.suggestions import named

if TYPE_CHECKING:
    from rdmalab.doctor.log import Log
    from rdmalab.session.session import Session


class Call:
    """A call of a verb. refusal: the rule that refused it, empty if it was accepted.

    invocation: the typed call, None if the log no longer has it; program: the program that made
    the call, empty for the prompt.
    """

    __slots__ = ("_asked", "_log", "at_ns", "errno", "event", "message", "refusal", "thing", "verb")

    def __init__(self, log: "Log", found: Record, refused: Record | None) -> None:
        self._log = log
        self._asked: tuple[Invocation | None, str] | None = None
        self.event: int = rec.event_of(found)
        self.at_ns: int = rec.at_ns_of(found)
        self.verb = str(rec.verb_of(found))
        self.errno = int(rec.errno_of(found))
        self.refusal = str(rec.rule_of(refused)) if refused else ""
        self.message = str(rec.complaint_of(refused)) if refused else ""
        self.thing = (rec.node_of(found), rec.object_of(found))

    @property
    def invocation(self) -> Invocation | None:
        return self._said()[0]

    @property
    def program(self) -> str:
        return self._said()[1]

    def said(self, session: "Session") -> str:
        """Why it was refused, with the names of objects."""
        made = self.invocation
        return named(session, made, self.message) if made is not None else self.message

    @property
    def tolerated(self) -> bool:
        """Whether a program made the call in a line `try`, and went on after the refusal."""
        records = self._log.within(self.event) if self.program else []
        ran = [record for record in records if rec.kind_of(record) is Kind.PROGRAM_RAN]
        failed = any(rec.kind_of(record) is Kind.PROGRAM_FAILED for record in records)
        return not failed and any(rec.line_of(record).startswith("try ") for record in ran)

    def _said(self) -> tuple[Invocation | None, str]:
        """Read from the journal on first use: old parts of it are packed."""
        if self._asked is None:
            self._asked = self._log.asked(self.event)
        return self._asked
