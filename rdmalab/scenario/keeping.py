"""The file in which a session is kept: a scenario, or packed where that is named or needed."""

import re
from hashlib import sha256
from pathlib import Path

from rdmalab import disk
from rdmalab.scenario import session_file
from rdmalab.scenario.files import LAB_SUFFIX, SUFFIX
from rdmalab.scenario.saving import WHOLE, Cut, Expect, TooLong, Unsavable, saved_session
from rdmalab.session.session import Session
from rdmalab.spec.row import dataclass


@dataclass(frozen=True, slots=True)
class Kept:
    """A file to be written. kind: what it is; may_replace: an older one is; note: why not YAML."""

    file: str
    octets: bytes
    steps: int
    kind: str
    may_replace: disk.Recognise
    note: str = ""

    @property
    def replaces(self) -> str:
        """The kind of file that may be replaced, for a complaint."""
        return self.kind if self.may_replace is session_file.is_session else as_saved(self.kind)


def kept(
    session: Session, file: str, title: str = "", expect: Expect = Expect.NONE, *,
    timed: bool = False, cut: Cut = WHOLE,
) -> Kept:  # fmt: skip
    """The file for a session; raises Unsavable if none can hold it.

    One that ends with .rdmalab is a session file, and so is a session without expectations that is
    too long for a scenario; any other is a scenario. title: empty for the name of the file. The
    other arguments are those of `saved_session`.
    """
    name = Path(file).name
    bare, own = _bare(name), name.removesuffix(SUFFIX).removesuffix(LAB_SUFFIX)
    is_packed = file.endswith(session_file.SUFFIX)
    found = saved_session(
        session, title or own or "this session", expect, timed=timed or is_packed, cut=cut,
    )  # fmt: skip
    count, note = len(found.begun) + len(found.steps), ""
    if not is_packed:
        try:
            octets = marked(found.as_yaml(_MARK_OCTETS))
            return Kept(file, octets, count + 1, "scenario", is_unedited)
        except TooLong as why:
            if expect is not Expect.NONE or found.begun:
                raise
            file, note = f"{file.removesuffix(name)}{bare}{session_file.SUFFIX}", str(why)
    if found.begun:
        raise Unsavable(f"a cut that begins later is a scenario: name it {bare}{SUFFIX}")
    if expect is not Expect.NONE:
        raise Unsavable(f"expectations are in a scenario only: name it {bare}{SUFFIX}")
    return Kept(file, found.packed(), count, "session file", session_file.is_session, note)


# --------------------------------------------------------------------------- files that were edited
_MARK = "# save replaces this file as long as it is not edited: {}\n"
_DIGITS = 16
_MARK_OCTETS = len(_MARK.format("")) + _DIGITS
_MARKED = re.compile(f"(.*\n){_MARK.format('([0-9a-f]+)')}", re.DOTALL)


def marked(text: str) -> bytes:
    """The bytes of a text that ends with a line, and below it a comment with its digest."""
    return (text + _MARK.format(_digest(text))).encode()


def is_unedited(octets: bytes) -> bool:
    """Whether a file is as `marked` made it: it holds nothing that was written by hand."""
    found = _MARKED.fullmatch(octets.decode("utf-8", "replace"))
    return found is not None and _digest(found[1]) == found[2]


def as_saved(kind: str) -> str:
    """The kind of a file that may be replaced: `scenario as save wrote it`."""
    return f"{kind} as save wrote it"


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:_DIGITS]


# --------------------------------------------------------------------------- names
def _bare(name: str) -> str:
    """The name of a file without what says of which kind it is."""
    for suffix in (SUFFIX, LAB_SUFFIX, session_file.SUFFIX, ".yaml", ".yml"):
        name = name.removesuffix(suffix)
    return name
