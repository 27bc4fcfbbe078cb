"""Commands of the past and of branches: back, rewind, goto, checkpoint, branches, switch, diff."""

from typing import Annotated

from rdmalab.command import (
    SCRIPTABLE,
    Facts,
    Moment,
    Nanoseconds,
    NotUnderstood,
    Range,
    Recovery,
    TimeMove,
    command,
)
from rdmalab.session.branch import Branch, TimePoint
from rdmalab.session.history import History, read_only_visit
from rdmalab.session.reverse import ReverseRun, Rewind, go_to_moment, jump_to
from rdmalab.session.run_control import UNITS, RunControl
from rdmalab.session.session import Session
from rdmalab.spec.row import dataclass
from rdmalab.views import changes, fmt
from rdmalab.workbench.time import Granularity
from rdmalab.workbench.view_requests import View

PositiveDuration = Annotated[Nanoseconds, Range(1)]


@dataclass(slots=True)
class BranchRow:
    """One branch. events, commands: from the beginning; here: whether it is the one we are on."""

    name: str
    parent: str
    from_event: int
    events: int
    commands: int
    here: bool

    @property
    def text(self) -> str:
        """`* branch-1  from main at ev 24: 31 events, 12 commands`."""
        left = f"from {self.parent} at {fmt.ev(self.from_event)}: " if self.parent else ""
        mark = "*" if self.here else " "
        held = f"{fmt.count(self.events, 'event')}, {fmt.count(self.commands, 'command')}"
        return f"{mark} {self.name}  {left}{held}"


@dataclass(slots=True)
class CheckpointRow:
    """A moment with a name."""

    name: str
    branch: str
    event: int
    at_ns: int

    @property
    def text(self) -> str:
        """`@before-nak  ev 24 at 9.210 us on main`."""
        return f"@{self.name}  {fmt.ev(self.event)} at {fmt.clock(self.at_ns)} on {self.branch}"


@command(Facts(in_scenarios=True, moves_time=TimeMove.ANY, is_repeated=True, short=(("rs", ""),)))
def back(
    session: Session, count: Annotated[int, Range(1)] = 1, unit: Granularity = "event"
) -> RunControl:
    """Go back one step, or `count` steps: the reverse of step.

    unit: event; packet, wr, cqe, state, timer: to the last moment at which such a step ended.
    Nothing is lost: step and run repeat the same events, up to the newest one. A command in the
    past opens a branch.

    Example: back cqe
    """
    return ReverseRun(session, count, UNITS[unit])


@command(Facts(in_scenarios=True, moves_time=TimeMove.ANY, is_repeated=True, short=(("rc", ""),)))
def rewind(session: Session, duration: PositiveDuration | None = None) -> RunControl:
    """Run backward to a breakpoint or a watch, else to the beginning.

    With a duration at most that far. ^C stops it and returns to where it started. After
    `watch B.mr0[100:105]` it halts at the event that wrote these bytes.

    Example: rewind
    """
    return Rewind(session, None if duration is None else session.world.now_ns - duration)


@command(Facts(in_scenarios=True, moves_time=TimeMove.ANY))
def goto(session: Session, moment: Moment) -> RunControl:
    """Go to any moment: after an event, at a time, to a checkpoint, to the start, or to the end.

    The end is the newest event. A checkpoint of another branch switches to that branch, and so does
    its name, which means its end. goto start
    goes to the empty world and keeps all events; new makes another empty world.

    Example: goto 9.2us
    Example: goto start
    """
    return jump_to(session, moment)


@command(SCRIPTABLE)
def checkpoint(session: Session, name: str) -> str:
    """Name this moment, for goto @NAME. An existing name moves here.

    Example: checkpoint before-nak
    """
    place = (session.history.branch.name, session.history.here)
    before = session.checkpoints.get(name, place)
    session.checkpoints[name] = place
    event, now = fmt.event(session.world.event), fmt.clock(session.world.now_ns)
    return f"@{name} is {event} at {now}{_no_longer(before, place)}"


def _no_longer(before: tuple[str, TimePoint], now: tuple[str, TimePoint]) -> str:
    """`, no longer event 12 of main`: the previous moment of a moved name."""
    if before == now:
        return ""
    branch, place = before
    elsewhere = "" if branch == now[0] else f" of {branch}"
    return f", no longer {fmt.event(place.event)}{elsewhere} at {fmt.clock(place.at_ns)}"


@command(Facts(in_scenarios=True, recovery=Recovery.SKIP))
def branches(session: Session) -> View:
    """List the branches of time and the checkpoints; * marks the current branch.

    Example: branches
    """
    history = session.history
    rows = [_branch_row(history, branch) for branch in history.branches.values()]
    marks = [CheckpointRow(n, branch, *place) for n, (branch, place) in session.checkpoints.items()]
    return View("branches", [*rows, *marks], "switch NAME goes to the end of one")


def _branch_row(history: History, branch: Branch) -> BranchRow:
    here = branch is history.branch
    end = history.end if here else branch.end
    entries = len(branch.journal)
    return BranchRow(branch.name, branch.parent, branch.forked.event, end.event + 1, entries, here)


@command(SCRIPTABLE)
def switch(session: Session, branch: str) -> str:
    """Go to the end of a branch of time; this branch is kept.

    Example: switch main
    """
    history = session.history
    if branch not in history.branches:
        there = f"there is: {' '.join(history.branches)}"
        raise NotUnderstood(f"no branch is called {branch}", hint=there, argument="branch")
    if branch == history.branch.name:
        history.seek(history.end)
    else:
        history.switch(history.branches[branch])
    world = session.world
    return f"on {branch}, at {fmt.event(world.event)}, {fmt.clock(world.now_ns)}"


@command(Facts(in_scenarios=True, recovery=Recovery.SKIP))
def diff(session: Session, one: Moment, other: Moment | None = None) -> View:
    """Show what differs between two moments, field by field and byte by byte; other: now.

    `diff main` or `diff @main` compares the end of the branch main with now.

    Example: diff ev12 ev13
    Example: diff main
    """
    world, names = session.world, session.names
    first, before = _visited(session, one, "one")
    last, after = _visited(session, other, "other")
    rows = changes.difference_rows(world, names, before, after)
    title = f"from {first} to {last}"
    return View(title, rows, "" if rows else "nothing differs")


def _visited(session: Session, moment: Moment | None, argument: str) -> tuple[str, changes.Facts]:
    """The name and the full state of a moment; None means now."""
    if moment is None:
        return _all_of_it(session)
    with read_only_visit(session.history):
        here = session.history.branch
        go_to_moment(session, moment, argument)
        called, found = _all_of_it(session)
        there = session.history.branch
        return (called if there is here else f"{called} of {there.name}"), found


def _all_of_it(session: Session) -> tuple[str, changes.Facts]:
    called = fmt.event(session.world.event)
    return called, changes.facts(session.world, session.names)
