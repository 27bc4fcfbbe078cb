"""Decides when to suggest `why`: once for each new error."""

from dataclasses import dataclass, field

from rdmalab.doctor.log import Log
from rdmalab.doctor.subject import Subject
from rdmalab.doctor.subjects import subjects
from rdmalab.session.session import Session

_NEWEST = 2_000  # records: asked after every reply, and it is only a hint


@dataclass(slots=True)
class ErrorNotice:
    """The errors of one world for which `why` was suggested already."""

    session: Session | None = None
    told: list[Subject] = field(default_factory=list)

    def is_new(self, session: Session) -> bool:
        """Whether there is a new error; marks it as reported."""
        if session is not self.session:
            self.session, self.told = session, []
        log = Log(session, newest=_NEWEST)
        found = [s for s in subjects(session, log, None) if s not in self.told]
        self.told += found
        return bool(found)
