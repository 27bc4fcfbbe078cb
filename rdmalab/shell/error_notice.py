"""Whether something new is wrong: who asks why then gets an answer, and is told so once."""

from dataclasses import dataclass, field

from rdmalab.doctor.log import Log
from rdmalab.doctor.subject import Subject
from rdmalab.doctor.subjects import subjects
from rdmalab.session.session import Session

_NEWEST = 2_000  # records: asked after every reply, and it is only a hint


@dataclass(slots=True)
class ErrorNotice:
    """What somebody was told of, in one world."""

    session: Session | None = None
    told: list[Subject] = field(default_factory=list)

    def is_new(self, session: Session) -> bool:
        """Whether there is something to complain of that was not spoken of yet; now it was."""
        if session is not self.session:
            self.session, self.told = session, []
        log = Log(session, newest=_NEWEST)
        found = [s for s in subjects(session, log, None) if s not in self.told]
        self.told += found
        return bool(found)
