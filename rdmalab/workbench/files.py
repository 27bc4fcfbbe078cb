"""Commands of files and sessions: load, lessons, next, continue, new, share, open, export, save.

They are commands of the prompt: a scenario touches no file.
"""

from pathlib import Path
from typing import Annotated, Literal

from rdmalab import disk
from rdmalab.command import SPOKEN, Facts, Moment, NotUnderstood, OneOf, Range, Recovery, command
from rdmalab.export import FORMATS, format_called
from rdmalab.export.texts import HELP_ROWS, TEXTS
from rdmalab.grammar.format import render
from rdmalab.session.history import read_only_visit
from rdmalab.session.lines import Request
from rdmalab.session.reverse import go_to_moment
from rdmalab.session.session import Session
from rdmalab.spec.profiles import PROFILES
from rdmalab.spec.row import dataclass
from rdmalab.views import fmt
from rdmalab.workbench.lab_words import MakeLab

Profile = Annotated[str, OneOf(PROFILES)]


@dataclass(slots=True)
class Load(Request):
    """Request: load this scenario or lab. profile: replaces those of the file; None keeps them.

    student: of a lab: the parameters of this student. work: a submission of it to be continued.
    again: work in the lab that is kept is not continued.
    """

    path: str
    profile: str | None = None
    student: str = ""
    work: str = ""
    again: bool = False


@dataclass(slots=True)
class ListLessons(Request):
    """Request: list the lessons of a path or folder, with a tag, of a level; empty: of any."""

    path: str = ""
    tag: str = ""
    level: int | None = None


@dataclass(slots=True)
class Next(Request):
    """Request: run to the next stop of the scenario."""


@dataclass(slots=True)
class Continue(Request):
    """Request: restore the session of an earlier process. number: 0: the first, if none is open."""

    number: int


@dataclass(slots=True)
class Empty(Request):
    """Request: start an empty world."""


@dataclass(slots=True)
class Open(Request):
    """Request: play this scenario to its end. profile: as in Load."""

    scenario: str
    profile: str | None = None


@dataclass(slots=True)
class Shared:
    """A session as one text."""

    text: str


@dataclass(slots=True)
class Exported:
    """A capture file. replaced: it existed before."""

    file: str
    frames: int
    never_left: int
    replaced: bool = False

    @property
    def text(self) -> str:
        """`x.pcapng: 12 frames, replaced the previous capture`."""
        frames = fmt.count(self.frames, "frame")
        instead = ", replaced the previous capture" if self.replaced else ""
        stayed = f"; {self.never_left} more were not sent, because the port was not ACTIVE"
        return f"{self.file}: {frames}{instead}{stayed if self.never_left else ''}"


@command(Facts(touches_files=True, recovery=Recovery.REPEAT_WALK))
def load(
    session: Session, file: str, start: Literal["", "again"] = "", *,
    profile: Profile | None = None, student: str = "", work: str = "",
) -> Load:  # fmt: skip
    """Open a scenario and step through it with its notes; `next` continues. Or open a lab.

    The session starts with a new world. The setup runs at once; then each note is a stop. A file
    of the folder scenarios has a short name: load err/rnr-retry-exceeded. profile: the device
    model of all nodes, instead of those in the file. student: the id under which you hand in a
    lab; it draws your parameters. Work in a lab is kept and continued; `again` starts over. work: a
    submission that you continue. The words of a lab are task, hint, answer, submit.

    Example: load "scenarios/rc/send.rdmalab.yaml"
    """
    del session
    return Load(file, profile, student, work, start == "again")


@command(Facts(recovery=Recovery.SKIP, short=(("labs", "labs"),)))
def lessons(
    session: Session, path: str = "", *, tag: str = "",
    level: Annotated[int, Range(1, 3)] | None = None,
) -> ListLessons:  # fmt: skip
    """List lessons and labs in the order of the learning paths: done, next, level, minutes.

    path: only this path or folder, or a word that is sought in titles, names and tags. tag and
    level also find lessons that are on no path. `load NAME` opens one. `labs` lists the labs alone.

    Example: lessons srq
    """
    del session
    return ListLessons(path, tag, level)


@command(Facts(is_repeated=True, recovery=Recovery.REPEAT_WALK))
def next_(session: Session) -> Next:
    """Go on to the next note of the scenario that was loaded.

    Example: next
    """
    del session
    return Next()


@command(Facts(touches_files=True, recovery=Recovery.NEW_RECORDING))
def continue_(session: Session, number: Annotated[int, Range(0)] = 0) -> Continue:
    """Restore an earlier session: the one just left, or one that a crash has ended.

    Its lines run again in a new world, up to the last reply that was printed. Of several sessions
    1 is the one that was used last, 2 the one before it; Tab after `continue` lists them.

    Without a number it is refused where you have typed commands: the debugger's `continue` is `run`
    here. `continue 1` closes this session, as `new` does, and restores that one.

    Example: continue
    """
    del session
    return Continue(number)


@command(Facts(recovery=Recovery.NEW_RECORDING))
def new(session: Session) -> Empty:
    """Start an empty world: two nodes, a cable, no objects, time 0.

    The previous session is closed as by quit; continue restores it. goto start instead goes to
    the beginning of this session and keeps its events.

    Example: new
    """
    del session
    return Empty()


@command(Facts(recovery=Recovery.SKIP))
def share(session: Session) -> Shared:
    """Print this session as one text, to be pasted into a mail or a chat.

    `rdmalab open TEXT`, and `open TEXT` at a prompt, replay it anywhere, without a network.

    Example: share
    """
    from rdmalab.scenario.saving import Unsavable, saved
    from rdmalab.scenario.share_text import shared

    try:
        return Shared(shared(saved(session, "shared")))
    except Unsavable as why:
        raise NotUnderstood(f"this session cannot be shared: {why}") from None


@command(Facts(touches_files=True, recovery=Recovery.REPEAT_WALK))
def open_(session: Session, text: str, *, profile: Profile | None = None) -> Open | Load:
    """Open a shared session: replay it in a new world, to the same moment.

    To step through it, write it to a file: rdmalab open TEXT > FILE.rdmalab.yaml
    The name of a file that ends with .rdmalab or .yaml: as load.

    Example: open rdmalab:1:rwczWyOzXhkE1QUA
    """
    from rdmalab.scenario.share_text import Damaged, scenario_of

    del session
    if text.endswith((".rdmalab", ".yaml")):
        return Load(text, profile)
    try:
        return Open(scenario_of(text), profile)
    except Damaged as why:
        hint = "copy the whole text"
        raise NotUnderstood(f"this cannot be opened: {why}", hint=hint, argument="text") from None


@dataclass(slots=True)
class Written:
    """A text that was exported. kind: drawing, recording, …; replaced: it existed before."""

    file: str
    kind: str
    lines: int
    replaced: bool = False

    @property
    def text(self) -> str:
        """`x.c: exported program of 300 lines, replaced the previous one`."""
        instead = ", replaced the previous one" if self.replaced else ""
        return f"{self.file}: {self.kind} of {fmt.count(self.lines, 'line')}{instead}"


@command(Facts(touches_files=True, recovery=Recovery.SKIP, help_rows=HELP_ROWS))
def export(
    session: Session, what: Annotated[str, OneOf((*FORMATS, *TEXTS))], file: str
) -> Exported | Written:
    """Write this session to a file: its frames, a drawing, a recording or a program.

    {rows}

    A file of the same kind is replaced, any other file is not.

    Example: export c run.c
    """
    if what in TEXTS:
        return _text_export(session, what, file)
    form = format_called(what)
    capture = form.capture(session.world, session.names)
    replaced = _write(file, capture.octets, form.is_capture, "capture")
    return Exported(file, capture.frames, capture.never_left, replaced)


def _text_export(session: Session, what: str, file: str) -> Written:
    from rdmalab.export.replay.calls import NotExportable

    form = TEXTS[what]
    try:
        text = form.write(session, "A session of rdmalab", 0)
    except NotExportable as wrong:
        place = ""
        if wrong.entry is not None:
            entry = session.journal[wrong.entry].invocation
            place = f"{render(entry, session.vocabulary[entry.name])}: "
        raise NotUnderstood(f"no program does the same: {place}{wrong.reason}") from None
    replaced = _write(file, text.encode(), form.is_one, form.kind)
    return Written(file, form.kind, text.count("\n"), replaced)


@dataclass(slots=True)
class Saved:
    """A scenario or a session file. note: why it is no scenario. replaced: it existed before."""

    file: str
    steps: int
    kind: str = "scenario"
    note: str = ""
    replaced: bool = False

    @property
    def text(self) -> str:
        """`x.rdmalab.yaml: 12 steps, replaced the previous scenario`."""
        instead = f", replaced the previous {self.kind}" if self.replaced else ""
        packed = f", a {self.kind}, because it has {self.note}" if self.note else ""
        return f"{self.file}: {fmt.count(self.steps, 'step')}{packed}{instead}"


@command(Facts(touches_files=True, recovery=Recovery.SKIP))
def save(
    session: Session, file: str, *, since: Annotated[Moment | None, SPOKEN] = None,
    until: Annotated[Moment | None, SPOKEN] = None, expect: Literal["none", "all"] = "none",
) -> Saved | MakeLab:  # fmt: skip
    """Write this session as a scenario: `load` steps through it, `rdmalab run` tests it.

    It has each verb as typed, the verbs of short forms, refusals with their errno, and the runs
    between them. A name without a dot gets .rdmalab.yaml. A file that save has written is replaced;
    one that was edited since, and any other file, is not. expect=all: also writes expectations for
    each run: its packets with their fields, and the changed states, queues and completions. A name
    that ends with .lab.yaml: writes a lab, whose tasks ask for what has happened here. A name that
    ends with .rdmalab, or a session that is too long for a scenario: writes a session file, which
    is packed. since, until: a part of the session, from a moment to a moment; what was before is
    the setup of the scenario.

    Example: save rnr.rdmalab.yaml
    Example: save cut.rdmalab.yaml since 5 until 12
    """
    from rdmalab.scenario.files import LAB_SUFFIX, SUFFIX
    from rdmalab.scenario.keeping import kept
    from rdmalab.scenario.saving import Cut, Expect, Unsavable

    before, last = _event_at(session, since, "since"), _event_at(session, until, "until")
    if before is not None and last is not None and before > last:
        raise NotUnderstood("until is before since", argument="until")
    cut = Cut(None if before is None else before + 1, last)
    name = Path(file).name
    named = f"{file}{SUFFIX}" if name and "." not in name else file
    try:
        made = kept(session, named, "", Expect[expect.upper()], cut=cut)
    except Unsavable as why:
        raise NotUnderstood(f"this session cannot be saved: {why}") from None
    if file.endswith(LAB_SUFFIX):
        if made.note:
            raise NotUnderstood(f"this session cannot be saved: {made.note}")
        return MakeLab(file, made.octets.decode())
    replaced = _write(made.file, made.octets, made.may_replace, made.replaces)
    return Saved(made.file, made.steps, made.kind, made.note, replaced)


def _event_at(session: Session, moment: Moment | None, argument: str) -> int | None:
    """The number of the last event before a moment of this branch."""
    if moment is None:
        return None
    branch = session.history.branch
    with read_only_visit(session.history):
        go_to_moment(session, moment, argument)
        if session.history.branch is not branch:
            raise NotUnderstood("this moment is on another branch of time", argument=argument)
        return session.world.event


_WAY_OUT = "name a file in an existing directory with write permission"


def _write(file: str, octets: bytes, may_replace: disk.Recognise, kind: str) -> bool:
    """Write the file; returns whether it replaced one. Raises NotUnderstood if that failed.

    The path is relative to the directory in which the lab was started.
    """
    try:
        return disk.write(file, octets, may_replace)
    except (OSError, ValueError) as wrong:
        message, way_out = disk.complaint(file, wrong, kind)
        raise NotUnderstood(message, hint=way_out or _WAY_OUT, argument="file") from None
