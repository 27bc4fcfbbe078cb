"""The timeline: one branch of time from start to end, and the current position on it.

Its cost depends on the number of cells and marks, not on the length of the branch.
"""

from collections.abc import Mapping
from enum import IntEnum, auto
from itertools import pairwise
from typing import Annotated

from rdmalab.session.branch import Branch, TimePoint, lineage
from rdmalab.session.history import History
from rdmalab.session.names import Names
from rdmalab.spec import records as rec
from rdmalab.spec.records import Kind, event_of, kind_of
from rdmalab.spec.row import dataclass
from rdmalab.spec.statuses import WCStatus
from rdmalab.views import fmt, planned
from rdmalab.views.columns import Meaning
from rdmalab.world.world import World

Checkpoints = Mapping[str, tuple[str, TimePoint]]


class Mark(IntEnum):
    """The kind of a marked moment."""

    CHECKPOINT = auto()
    FORK = auto()  # another branch leaves here, or this one left its parent


@dataclass(slots=True)
class MarkRow:
    """A moment of this branch that has a name."""

    event: Annotated[int, "after which event"]
    at_ns: Annotated[int, "when"]
    mark: Annotated[Mark, "CHECKPOINT or FORK"]
    name: Annotated[str, "of the checkpoint, or of the other branch"]
    branch: Annotated[str, "the branch that the checkpoint was made on"]

    @property
    def text(self) -> str:
        """`@before-nak at ev 24, 9.210 us`, `branch-1 and this branch part at ev 24`."""
        if self.mark is Mark.FORK:
            return f"{self.name} and this branch part at ev {self.event}"
        return f"@{self.name} at ev {self.event}, {fmt.clock(self.at_ns)}"


@dataclass(slots=True)
class TimelineRow:
    """A branch in `cells` of the same number of events; the first is the moment before event 0.

    asked: how many commands were given in each cell.
    """

    branch: str
    branches: int
    event: int
    end: int
    now_ns: int
    end_ns: int
    live: bool
    asked: list[int]
    marks: list[MarkRow]
    soon: str

    @property
    def here(self) -> int:
        """The cell in which we stand."""
        return self.cell(self.event)

    def cell(self, event: int) -> int:
        """The cell of an event."""
        return cell_of(event, self.end, len(self.asked))

    @property
    def text(self) -> str:
        """`ev 24 of 31, PAST, at 9.21 us of 10.23 us on main; …`."""
        stands = fmt.ev(self.event, "start")
        if self.live:
            stands += f", LIVE, at {fmt.exact(self.now_ns)}"
        else:
            stands += f" of {self.end}, PAST, at {fmt.exact(self.now_ns)}"
            stands += f" of {fmt.exact(self.end_ns)}"
        several = f", one of {self.branches} branches" if self.branches > 1 else ""
        return f"{stands}; on {self.branch}{several}; next: {self.soon}"


def cell_of(event: int, end: int, cells: int) -> int:
    """The beginning is in the first cell, the end in the last."""
    return (event + 1) * (cells - 1) // (end + 1) if end >= 0 else 0


def _first_event(cell: int, end: int, cells: int) -> int:
    """The smallest event of a cell."""
    return -(-cell * (end + 1) // max(1, cells - 1)) - 1


def tape_row(
    history: History, names: Names, checkpoints: Checkpoints, cells: int = 60
) -> TimelineRow:
    """The branch we are on."""
    here, end = history.here, history.end
    cells = max(1, min(cells, end.event + 2))
    return TimelineRow(
        branch=history.branch.name, branches=len(history.branches),
        event=here.event, end=end.event, now_ns=here.at_ns, end_ns=end.at_ns,
        live=history.live, asked=_asked(history, end.event, cells),
        marks=mark_rows(history, checkpoints), soon=_soon(history, names),
    )  # fmt: skip


def _asked(history: History, end: int, cells: int) -> list[int]:
    """Number of commands that were given in each cell."""
    journal = history.branch.journal
    bounds = [journal.before(_first_event(cell, end, cells)) for cell in range(cells)]
    bounds.append(journal.before(end + 1))
    return [later - first for first, later in pairwise(bounds)]


def mark_rows(history: History, checkpoints: Checkpoints) -> list[MarkRow]:
    """Checkpoints of this branch and of the past that it shares with others, and where it forks."""
    past = lineage(history.branches, history.branch, history.end)
    limits = {branch.name: last for branch, last in past}
    rows = [
        MarkRow(place.event, place.at_ns, Mark.CHECKPOINT, name, branch)
        for name, (branch, place) in checkpoints.items()
        if branch in limits and place <= limits[branch]
    ]
    rows += [fork for branch in history.branches.values() if (fork := _fork(history, branch))]
    return sorted(rows, key=lambda row: (row.event, row.at_ns, row.mark))


def trouble_events(world: World, _names: Names) -> dict[int, Meaning]:
    """Events in which something failed, was refused or lost, as far back as the trace is read."""
    found: dict[int, Meaning] = {}
    for _, record in world.trace.records.newest():
        meaning = _TROUBLES.get(kind_of(record))
        if meaning is Meaning.FAILED and rec.cqe_of(record).status == WCStatus.SUCCESS:
            continue
        if meaning is not None and found.get(event_of(record)) is not Meaning.FAILED:
            found[event_of(record)] = meaning
    return found


_TROUBLES = {
    Kind.CQE_ADDED: Meaning.FAILED,
    Kind.REQUEST_REFUSED: Meaning.REFUSED,
    Kind.PACKET_DROPPED: Meaning.REFUSED,
    Kind.PACKET_LOST: Meaning.LOST,
}


def _fork(history: History, branch: Branch) -> MarkRow | None:
    """Mark at which a branch leaves this one, or this one left its parent."""
    ours = history.branch
    if branch is ours and branch.parent:
        other = branch.parent
    elif branch.parent == ours.name:
        other = branch.name
    else:
        return None
    return MarkRow(branch.forked.event, branch.forked.at_ns, Mark.FORK, other, ours.name)


def _soon(history: History, names: Names) -> str:
    """Next entry: in the past, the command that was given then; else the first planned action."""
    world, journal = history.world, history.branch.journal
    if not history.live and history.entries < len(journal):
        entry = journal[history.entries]
        if entry.event == world.event + 1:
            return f"{fmt.clock(entry.at_ns)} {entry.invocation.name} again"
    rows = planned.planned_rows(world, names)
    if not rows:
        return "nothing is planned"
    row = rows[0]
    return f"{fmt.clock(row.at_ns)} {row.qp or row.node} {row.sentence}"
