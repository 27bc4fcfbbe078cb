"""The worlds in which a work is judged: a line is played once in each, however often one asks."""

from collections.abc import Callable, Mapping, Sequence

from rdmalab.classroom.goals import Watches
from rdmalab.classroom.lab_file import LabFile
from rdmalab.classroom.playing import Played, begun, run_lines
from rdmalab.classroom.work_lines import added

Reopen = Callable[[Mapping[str, str]], LabFile]
"""Loads the lab for the same student in another world of `vary`."""


class KeptWorld:
    """A world after some lines, before the time that settles it, and its goals over time."""

    def __init__(self, played: Played, lines: Sequence[str] | None = None) -> None:
        """lines: None, where they run at a prompt and not here."""
        self.played = played
        self.lines = None if lines is None else list(lines)
        self._watched()

    def _watched(self) -> None:
        session = self.played.session
        self.watches = Watches(session, self.played.start)
        self._branch = session.history.branch

    def watched_here(self) -> "KeptWorld":
        """This world, with nothing in its goals that is not in its past: it may have gone back."""
        history = self.played.session.history
        if history.branch is not self._branch or history.here < self.watches.at:
            self._watched()
        return self

    def goes_on(self, lines: Sequence[str]) -> bool:
        """Run what leads to the end of these lines; False if they do not begin as those here."""
        if self.lines is None:
            return True
        if (more := added(self.lines, lines)) is None:
            return False
        run_lines(self.played, more, after=len(lines) - len(more))
        self.lines = list(lines)
        return True


class KeptWorlds:
    """The worlds of one student. own: the world of a prompt, in which the lines have run."""

    def __init__(self, lab: LabFile, reopen: Reopen, own: Played | None = None) -> None:
        self.lab = lab
        self.reopen = reopen
        self.kept: dict[tuple[tuple[str, str], ...], KeptWorld] = {}
        if own is not None:
            self.kept[()] = KeptWorld(own)

    def after(self, lines: Sequence[str], values: Mapping[str, str]) -> KeptWorld:
        """The world of these values of `vary` after the lines; raises BrokenLab."""
        key = self.key(values)
        if key not in self.kept or not self.kept[key].goes_on(lines):
            self.kept[key] = KeptWorld(begun(self.reopen(values) if key else self.lab), [])
            self.kept[key].goes_on(lines)
        return self.kept[key].watched_here()

    def key(self, values: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
        """Key of the world that has these values; empty for the lab as it is."""
        return () if values.items() <= self.lab.world.items() else tuple(sorted(values.items()))
