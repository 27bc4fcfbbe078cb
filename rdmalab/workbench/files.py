"""Files: lessons are loaded and walked through; the face that shows them opens them."""

from dataclasses import dataclass

from rdmalab.command import command
from rdmalab.session.session import Session


@dataclass(slots=True)
class Load:
    """Please open this scenario and walk through it."""

    path: str


@dataclass(slots=True)
class Next:
    """Please go on to the next stop of the scenario."""


@command
def load(session: Session, file: str) -> Load:
    """Open a scenario and walk through it with its notes; `next` goes on.

    The world begins anew. The setup is done at once, and the walk halts at each note.

    Example: load "scenarios/rc/send.rdmalab.yaml"
    """
    del session
    return Load(file)


@command
def next_(session: Session) -> Next:
    """Go on to the next note of the scenario that was loaded.

    Example: next
    """
    del session
    return Next()
