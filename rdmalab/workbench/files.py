"""Files: lessons are loaded and walked through by the face that shows them; what was done is kept.

Their words are words of the prompt: a scenario touches no file.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from rdmalab import disk
from rdmalab.command import Facts, NotUnderstood, OneOf, Range, Recovery, command
from rdmalab.export import FORMATS, format_called
from rdmalab.session.session import Session
from rdmalab.spec.profiles import PROFILES
from rdmalab.views import fmt

Profile = Annotated[str, OneOf(PROFILES)]


@dataclass(slots=True)
class Load:
    """Please open this scenario and walk through it; profile: instead of those that it names."""

    path: str
    profile: str | None = None


@dataclass(slots=True)
class Next:
    """Please go on to the next stop of the scenario."""


@dataclass(slots=True)
class Continue:
    """Please bring back a session that a process left behind."""

    number: int


@dataclass(slots=True)
class Empty:
    """Please begin an empty world."""


@dataclass(slots=True)
class Open:
    """Please open this scenario, and play it to its end; profile: as in Load."""

    scenario: str
    profile: str | None = None


@dataclass(slots=True)
class Shared:
    """A session as one word."""

    text: str


@dataclass(slots=True)
class Exported:
    """A capture that was written. replaced: another one was there."""

    file: str
    frames: int
    never_left: int
    replaced: bool = False

    @property
    def text(self) -> str:
        """`x.pcapng: 12 frames, in place of the capture that was there`."""
        frames = fmt.count(self.frames, "frame")
        instead = ", in place of the capture that was there" if self.replaced else ""
        stayed = f"; {self.never_left} more never left a port that was not ACTIVE"
        return f"{self.file}: {frames}{instead}{stayed if self.never_left else ''}"


@command(Facts(touches_files=True, recovery=Recovery.REPEAT_WALK))
def load(session: Session, file: str, *, profile: Profile | None = None) -> Load:
    """Open a scenario and walk through it with its notes; `next` goes on.

    The world begins anew. The setup is done at once, and the walk halts at each note. One of the
    folder scenarios may be called by its short name: load err/rnr-retry-exceeded. profile: the
    device model of all nodes, instead of those that the file names.

    Example: load "scenarios/rc/send.rdmalab.yaml"
    """
    del session
    return Load(file, profile)


@command(Facts(is_repeated=True, recovery=Recovery.REPEAT_WALK))
def next_(session: Session) -> Next:
    """Go on to the next note of the scenario that was loaded.

    Example: next
    """
    del session
    return Next()


@command(Facts(touches_files=True, recovery=Recovery.NEW_RECORDING))
def continue_(session: Session, number: Annotated[int, Range(1)] = 1) -> Continue:
    """Bring back the session that was cut off, by a crash or a closed terminal.

    The world begins anew, and what was typed then is done again up to the last answer that was
    given. Of several sessions 1 is the newest that was cut off; those that were left are behind.

    Example: continue
    """
    del session
    return Continue(number)


@command(Facts(recovery=Recovery.NEW_RECORDING))
def new(session: Session) -> Empty:
    """Begin an empty world: two nodes, a cable, nothing created, time at zero.

    The session before it is left, as quit leaves it: continue brings it back. goto start goes to
    the beginning of this session and keeps what happened.

    Example: new
    """
    del session
    return Empty()


@command(Facts(recovery=Recovery.SKIP))
def share(session: Session) -> Shared:
    """Print what was done so far as one word, to be pasted into a mail or a chat.

    `rdmalab open TEXT`, and `open TEXT` at a prompt, bring it back anywhere, without a network.

    Example: share
    """
    from rdmalab.scenario.saving import Unsavable, saved
    from rdmalab.scenario.share_text import shared

    try:
        return Shared(shared(saved(session, "shared")))
    except Unsavable as why:
        raise NotUnderstood(f"this session cannot be shared: {why}") from None


@command(Facts(recovery=Recovery.REPEAT_WALK))
def open_(session: Session, text: str, *, profile: Profile | None = None) -> Open:
    """Open what somebody shared: the world begins anew, and stands where it stood then.

    To walk through it, write it into a file: rdmalab open TEXT > FILE.rdmalab.yaml

    Example: open rdmalab:1:rwczWyOzXhkE1QUA
    """
    from rdmalab.scenario.share_text import Damaged, scenario_of

    del session
    try:
        return Open(scenario_of(text), profile)
    except Damaged as why:
        hint = "copy all of it"
        raise NotUnderstood(f"this cannot be opened: {why}", hint=hint, argument="text") from None


@command(Facts(touches_files=True, recovery=Recovery.SKIP))
def export(session: Session, what: Annotated[str, OneOf(FORMATS)], file: str) -> Exported:
    """Write what was sent so far into a file that another program reads.

    pcapng: for Wireshark and tshark, every frame that left a port, on the interface of its node, in
    virtual time; a comment names its event, its work request and what became of it. A capture that
    is there already is replaced, any other file is not. Packets of InfiniBand ports have link type
    247; a tshark that does not know this number reads them as USER0 with the dissector infiniband.

    Example: export pcapng run.pcapng
    """
    form = format_called(what)
    capture = form.capture(session.world, session.names)
    replaced = _write(file, capture.octets, form.is_capture, "capture")
    return Exported(file, capture.frames, capture.never_left, replaced)


@dataclass(slots=True)
class Saved:
    """A scenario that was written. replaced: another one was there."""

    file: str
    steps: int
    replaced: bool = False

    @property
    def text(self) -> str:
        """`x.rdmalab.yaml: 12 steps, in place of the scenario that was there`."""
        instead = ", in place of the scenario that was there" if self.replaced else ""
        return f"{self.file}: {fmt.count(self.steps, 'step')}{instead}"


@command(Facts(touches_files=True, recovery=Recovery.SKIP))
def save(session: Session, file: str, *, expect: Literal["none", "all"] = "none") -> Saved:
    """Write what was done so far as a scenario: `load` walks through it, `rdmalab run` tests it.

    Each verb as it was typed, short forms as the verbs they stand for, refusals with their errno,
    and between them the time that passed. A name without a dot gets .rdmalab.yaml; a scenario that
    is there already is replaced, any other file is not. expect=all: also what was to be seen
    wherever time passed, as expectations: each packet with its fields, and what was new of states,
    queues and completions.

    Example: save rnr.rdmalab.yaml
    """
    from rdmalab.scenario.loader import is_scenario
    from rdmalab.scenario.saving import Expect, Unsavable, saved

    name = Path(file).name
    named = f"{file}{SUFFIX}" if name and "." not in name else file
    title = name.removesuffix(SUFFIX)
    try:
        text = saved(session, title or "this session", Expect[expect.upper()])
    except Unsavable as why:
        raise NotUnderstood(f"this session cannot be saved: {why}") from None
    replaced = _write(named, text.encode(), is_scenario, "scenario")
    return Saved(named, text.count("\n  - "), replaced)


SUFFIX = ".rdmalab.yaml"
_WAY_OUT = "name a file in a directory that is there and may be written"


def _write(file: str, octets: bytes, may_replace: disk.Recognise, kind: str) -> bool:
    """Whether it replaced another file of its kind; NotUnderstood where it was not written.

    Relative to the directory in which the lab was started.
    """
    try:
        return disk.write(file, octets, may_replace)
    except disk.FileExistsAsOther:
        wrong, hint = f"{file} is there, and is no {kind}", "choose another name"
        raise NotUnderstood(wrong, hint=hint, argument="file") from None
    except (OSError, ValueError) as wrong:
        raise NotUnderstood(_complaint(file, wrong), hint=_WAY_OUT, argument="file") from None


def _complaint(file: str, wrong: OSError | ValueError) -> str:
    if not file:
        return "the file has no name"
    reason = wrong.strerror if isinstance(wrong, OSError) else "no such path"
    return f"{file} cannot be written: {reason or wrong}"
