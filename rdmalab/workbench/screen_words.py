"""Commands of the screen: copy, snapshot, zoom, pane."""

from pathlib import Path
from typing import Annotated

from rdmalab.command import Facts, NotUnderstood, OneOf, Recovery, command
from rdmalab.session.lines import Request
from rdmalab.session.session import Session
from rdmalab.spec.row import dataclass
from rdmalab.views.fmt import either

PANES = ("left", "right", "wire", "why", "notes", "packet", "memory", "cq", "story", "log")
SUFFIXES = (".svg", ".png", ".txt")
_FACTS = Facts(recovery=Recovery.SKIP)
What = Annotated[str, OneOf(("screen", "ladder", "answer", *PANES))]


@dataclass(slots=True)
class ScreenRequest(Request):
    """Request to the app. word: the command. what: its object. file: where it is written."""

    word: str
    what: str = ""
    file: str = ""


@command(_FACTS)
def copy(session: Session, what: What = "answer") -> ScreenRequest:
    """Copy the last answer, a pane, the ladder or the screen as text.

    The text is sent to the terminal (OSC 52), which may refuse it, and is written to a file.

    Example: copy wire
    """
    del session
    return ScreenRequest("copy", what)


@command(_FACTS)
def snapshot(session: Session, what: What = "screen", file: str = "") -> ScreenRequest:
    """Write the screen, a pane or the ladder to a file: SVG, PNG or text, by its suffix.

    The suffix is .svg, .png or .txt. Without a name the file is an SVG in the current directory.
    PNG needs rsvg-convert, inkscape or magick.

    Example: snapshot ladder ladder.svg
    """
    del session
    if file and (suffix := Path(file).suffix) not in SUFFIXES:
        message = f"snapshot writes no {suffix} file" if suffix else "the file has no suffix"
        raise NotUnderstood(message, hint=f"end its name with {either(SUFFIXES)}", argument="file")
    return ScreenRequest("snapshot", what, file)


@command(_FACTS)
def zoom(
    session: Session, what: Annotated[str, OneOf(("prompt", *PANES))] = "prompt"
) -> ScreenRequest:
    """Enlarge the prompt or a pane (F5); Esc makes it small again.

    Example: zoom wire
    """
    del session
    return ScreenRequest("zoom", what)


@command(_FACTS)
def pane(session: Session, what: Annotated[str, OneOf(PANES)]) -> ScreenRequest:
    """Show a pane; F6 gives a pane the keys, and there 1 to 8 are the tabs.

    Example: pane memory
    """
    del session
    return ScreenRequest("pane", what)


@command(_FACTS)
def present(session: Session) -> ScreenRequest:
    """Show only the caption, the nodes, the wire and the notes, for a lecture: PgDn, PgUp, Esc.

    Example: present
    """
    del session
    return ScreenRequest("present")
