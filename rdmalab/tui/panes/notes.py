"""Notes: the loaded scenario with its note, next step and failure; or the tasks of a lab."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdmalab.shell.lab_requests import goal_lines, standing, task_lines
from rdmalab.shell.styled_text import fold, paragraphs, shown
from rdmalab.shell.tables import CURRENT, DIM, GOOD, NAME, WARN
from rdmalab.tui.pane import Pane

if TYPE_CHECKING:
    from rdmalab.scenario.runner import Runner
    from rdmalab.shell.styled_text import Line


class NotesPane(Pane):
    """The pane of a loaded scenario."""

    def title(self) -> Line:
        """The position in the loaded scenario, the points of a lab; empty if none is loaded."""
        if (lab := self.stage.exercise) is not None:
            return [(NAME, f"{lab.lab.document.id} {standing(lab)}")]
        walk = self.stage.walk
        return [(NAME, _place(walk))] if walk is not None else []

    def lines(self, width: int, height: int) -> list[Line]:
        """The current note and step of the scenario, or the tasks; a hint if none is loaded."""
        walk, lab = self.stage.walk, self.stage.exercise
        told = _NOTHING if walk is None else _walked(walk)
        if lab is not None:
            goals = [] if lab.lab.document.guided else [[], *goal_lines(lab)]
            told = [*task_lines(lab, lab.latest), *goals]
        lines: list[Line] = []
        for line in told:
            lines += fold(line, width, 2)
        if len(lines) > height:
            lines = [line for line in lines if line]
        return self.filter.lines(lines)


_NOTHING: list[Line] = [
    [("", "No scenario is loaded.")],
    [
        ("", "type "),
        (NAME, "load FILE"),
        ("", " steps through one; F8 continues to its next note."),
    ],
]


def _place(walk: Runner) -> str:
    return f"step {walk.position}/{len(walk.scenario.steps)}"


def _walked(walk: Runner) -> list[Line]:
    lines: list[Line] = [[(CURRENT, shown(walk.scenario.title))], []]
    lines += [[("class:note", shown(line))] for line in paragraphs(walk.note.strip())]
    lines.append([])
    lines += _failure(walk)
    coming = walk.coming
    if coming is not None:
        text = coming.line or coming.step.note or coming.step.name or ""
        first = shown(next(iter(paragraphs(text.strip())), ""))
        key = "next (F8): " if walk.session.history.live else "next: "
        lines.append([(DIM, key), ("", first)])
    elif walk.ok:
        steps = [result.step.step for result in walk.results]
        asked = sum(len(step.expect or ()) + len(step.wire or ()) for step in steps)
        lines.append([(GOOD, "The end."), ("", f" {asked} expectations were met.")])
    return lines


def _failure(walk: Runner) -> list[Line]:
    if walk.ok:
        return []
    text = walk.results[-1].text(walk.scenario.path)
    return [[(WARN, shown(line))] for line in text.splitlines()]
