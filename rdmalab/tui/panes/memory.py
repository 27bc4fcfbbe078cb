"""Memory: bytes of one region a node, touched bytes in brackets, and the owner of each range."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdmalab.command import Noun, Thing
from rdmalab.hca.mr import MemoryRegion
from rdmalab.shell.tables import DIM, NAME, WARN
from rdmalab.tui.frame import cropped, width_of
from rdmalab.tui.hexview import hex_lines, per_row
from rdmalab.tui.pane import Pane
from rdmalab.views.memory import READS, WRITES, HexRow, MrRow, OwnedRow, touched

if TYPE_CHECKING:
    from rdmalab.shell.styled_text import Line
    from rdmalab.tui.pane import Appearance
    from rdmalab.tui.world_view import WorldView

_ROW = 16


class MemoryPane(Pane):
    """`positions`: which nodes it shows, side by side."""

    def __init__(
        self, name: str, stage: WorldView, look: Appearance, positions: tuple[int, ...]
    ) -> None:
        super().__init__(name, stage, look)
        self.positions = positions
        self.chosen: dict[str, Thing] = {}
        self.start: int | None = None  # None: where the last event was

    # ---- which bytes ----------------------------------------------------------------------------

    def region_of(self, node: str) -> Thing | None:
        """The chosen MR of a node, else a default one; None if the node has none."""
        things = self.stage.things(node, Noun.MR)
        chosen = self.chosen.get(node)
        return chosen if chosen in things else self.stage.meant(node, Noun.MR)

    def _regions(self) -> list[Thing]:
        nodes = [self.stage.node(position) for position in self.positions]
        return [region for node in nodes if node and (region := self.region_of(node)) is not None]

    def action_other(self, noun: str, direction: int) -> None:
        """Show the next (1) or previous (-1) MR of each node."""
        del noun
        for position in self.positions:
            node = self.stage.node(position)
            things, now = self.stage.things(node, Noun.MR), self.region_of(node)
            if now in things:
                self.chosen[node] = things[(things.index(now) + direction) % len(things)]
        self.redraw()

    def action_move(self, rows: int) -> None:
        """Move the first byte shown by `rows` rows of bytes."""
        longest = max((self._length(region) for region in self._regions()), default=0)
        last = max(0, (longest - 1) // _ROW)
        now = (self.start or 0) // _ROW
        self.start = _ROW * max(0, min(last, now + rows))
        self.redraw()

    def escape(self) -> bool:
        """Follow the last event again; False if the pane follows it already."""
        was, self.start = self.start, None
        return was is not None

    def _length(self, region: Thing) -> int:
        return int(self.stage.session.world.find(region, MemoryRegion).length)

    def _window(self, region: Thing, rows: int) -> tuple[int, int]:
        """Bytes to show: those that were chosen, else the first, else where the last event was."""
        count = max(1, rows) * _ROW
        start = self.start
        if start is None:
            world = self.stage.session.world
            first = min((at for at, _ in touched(world, region, READS + WRITES)), default=0)
            start = 0 if first < self._seen(rows) else first - first % _ROW
        start = min(start, max(0, self._length(region) - 1) // _ROW * _ROW)
        return start, min(start + count, self._length(region))

    def _seen(self, rows: int) -> int:
        """How many bytes surely are on the screen: owners, and a head, take rows as well."""
        share = self._share(self.place.width - 2 if self.place else 80, len(self.positions))
        return max(1, rows - rows // 3 - 1) * per_row(share)

    def _share(self, width: int, columns: int) -> int:
        return (width - 3 * (columns - 1)) // columns

    def sentences(self) -> list[str]:
        """A `show` command for the visible bytes of each MR."""
        rows = max(1, self.body_height)
        found = []
        for region in self._regions():
            start, stop = self._window(region, rows)
            found.append(f"show {self.stage.name(region)}[{start}:{stop}]")
        return found

    # ---- drawing --------------------------------------------------------------------------------

    def title(self) -> Line:
        """Name and attributes of the MR; empty if the pane shows two nodes."""
        line: Line = []
        if len(self.positions) == 1:
            for region in self._regions():
                row: MrRow = self.stage.look(f"show {self.stage.name(region)}").rows[0]
                line += [("", "Memory "), *_about(row, self.place.width - 16 if self.place else 80)]
        return line

    def hint(self) -> str:
        """The keys of this pane."""
        return "j k: bytes  o: other region  Esc: follow"

    def lines(self, width: int, height: int) -> list[Line]:
        """The bytes of each MR, side by side; a hint if there is no MR."""
        regions = self._regions()
        if not regions:
            return [[(DIM, "no memory region yet: reg_mr A.mr0 pd=A.pd0 length=4096 access=0")]]
        share = self._share(width, len(regions))
        columns = [self._column(region, share, height) for region in regions]
        return [self._beside(columns, at, share) for at in range(max(map(len, columns)))]

    def _beside(self, columns: list[list[Line]], at: int, share: int) -> Line:
        line: Line = []
        for number, column in enumerate(columns):
            part = cropped(column[at], share) if at < len(column) else []
            line += [(DIM, " │ ")] if number else []
            line += [*part, ("", " " * (share - width_of(part)))]
        return line

    def _column(self, region: Thing, width: int, height: int) -> list[Line]:
        start, stop = self._window(region, height)
        rows = self.stage.look(f"show {self.stage.name(region)}[{start}:{stop}]").rows
        owners = [row for row in rows if isinstance(row, OwnedRow)]
        head = self._head(rows[0], width) if len(self.positions) > 1 else []
        told = self._owners(owners, height - len(head))
        room = max(1, height - len(head) - len(told))
        octets = [row for row in rows if isinstance(row, HexRow)]
        lines = [
            line
            for row in octets[: 1 + room * per_row(width) // _ROW]
            for line in hex_lines(row, width)
        ]
        return [*head, *lines[:room], *told]

    def _head(self, row: MrRow, width: int) -> list[Line]:
        return [cropped(_about(row, width), width)]

    def _owners(self, owners: list[OwnedRow], height: int) -> list[Line]:
        if not owners:
            return [[(DIM, "owner: the application")]] if height > 4 else []
        room = max(0, min(len(owners), height // 3))
        told: list[Line] = [[(WARN, f"! {row.text}")] for row in owners[:room]]
        if room < len(owners) and room:
            told[-1] = [(WARN, f"! {len(owners) - room + 1} parts more belong to the HCA")]
        return told


def _about(row: MrRow, width: int) -> Line:
    said = f"  {row.length} B at {row.addr:#x}"
    keys = f"  lkey {row.lkey:#x} rkey {row.rkey:#x}"
    fits = len(row.name + said + keys) <= width
    return [(NAME, row.name), (DIM, said + keys if fits else said)]
