"""Drawings of what went wrong: the packets of a work, played again in a limited process."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from hashlib import sha256
from typing import NamedTuple

from rdmalab.classroom import submission
from rdmalab.classroom.grade_document import Grade
from rdmalab.classroom.grading import Item
from rdmalab.classroom.lab_file import LabFile, loads
from rdmalab.classroom.playing import BrokenLab, play
from rdmalab.export.ladder_svg import ladder
from rdmalab.jobs.limits import Limits, Pool
from rdmalab.scenario.source import FileError
from rdmalab.spec.row import dataclass

_SETTLE = "run 100us"
_MOST_RECORDS = 300
_MOST_ARROWS = 60  # more rows than these fill pages


class Drawing(NamedTuple):
    """A ladder as SVG and as text; both are empty if no packet was sent, or a limit ended it."""

    svg: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class Picture:
    """A work that is drawn. world: values of `vary` in which it failed, sorted."""

    item: Item
    world: tuple[tuple[str, str], ...] = ()

    @property
    def key(self) -> str:
        """SHA-256 that is equal for equal drawings."""
        return sha256(f"picture 2\0{self.item.key}\0{self.world}".encode()).hexdigest()


def picture_of(item: Item, grade: Grade) -> Picture | None:
    """The drawing for a grade: of the world in which the first task failed; None: none failed.

    The worlds of hidden tasks are not shown.
    """
    failed = [each for each in grade.results if each.passed is False]
    if not failed and grade.verdict != "cut":
        return None
    shown = next((each for each in failed if not each.hidden), None)
    world: Mapping[str, str] = shown.world if shown is not None else {}
    return Picture(item, tuple(sorted(world.items())))


def drawn(picture: Picture, _limits: Limits) -> Drawing:
    """The drawing; the work of a pool."""
    item = picture.item
    try:
        work = submission.loads(item.text, item.name)
        lab = loads(
            item.lab, item.lab_path, student=item.owner.drawn_for(work.student),
            salt=item.salt, world=dict(picture.world),
        )  # fmt: skip
        session = play(_soon_over(lab), work.lines).session
    except (FileError, BrokenLab):
        return Drawing()
    records = session.world.trace.records
    first = max(0, len(records) - _MOST_RECORDS)
    found = ladder(session.world, session.names, first)
    while len(found.plan.arrows) > _MOST_ARROWS and first < len(records):
        first += (len(records) - first) // 2 + 1
        found = ladder(session.world, session.names, first)
    return Drawing(found.svg, found.text) if found.plan.arrows else Drawing()


def _soon_over(lab: LabFile) -> LabFile:
    """The lab with little time after the last line: in all of it a retry is repeated for pages."""
    rules = lab.document.rules.model_copy(update={"settle": _SETTLE})
    return replace(lab, document=lab.document.model_copy(update={"rules": rules}))


def drawings(pictures: Iterable[Picture], pool: Pool) -> Iterator[tuple[Picture, Drawing]]:
    """Each picture with its drawing, in the order in which they end."""
    left = list(pictures)
    for outcome in pool.results(drawn, left):
        yield left[outcome.number], outcome.value or Drawing()
