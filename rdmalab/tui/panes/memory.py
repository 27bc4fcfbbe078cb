"""Memory: the bytes of a region of each node, those that were used last marked, and their owner."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.visual import Visual

from rdmalab.command import Noun, Thing
from rdmalab.tui.content import click, dim, filled, first_fit, hex_line, linked, piece
from rdmalab.tui.pane import Pane
from rdmalab.views import fmt
from rdmalab.views.columns import Meaning
from rdmalab.views.memory import READS, WRITES, HexRow, MrRow, OwnedRow, octets, touched
from rdmalab.views.memory_use import Use, latest_use

if TYPE_CHECKING:
    from collections.abc import Iterator

    from textual.strip import Strip

    from rdmalab.tui.world_view import WorldView

_BETWEEN = dim(" │ ")
_WIDTHS = {16: 69, 8: 37, 4: 21}  # columns of a line of so many bytes
_HEAD = 3  # rows above the bytes, which stay
_ROW = 16  # bytes of a row of the view
_APART = 1 << 48  # of the places of two regions in a search: no region is longer


class MemoryPane(ScrollView, Pane, can_focus=True):
    """Regions side by side, or the one used last. Of the bytes only those on the screen are read.

    chosen: regions that were chosen with a key, by node.
    """

    ALLOW_MAXIMIZE: ClassVar[bool] = True
    SWITCHES = "fz"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "other(0)", "Other region", tooltip="Another region of the left node"),
        Binding("right", "other(-1)", "Other region", tooltip="Another region of the right node"),
        Binding("f", "follow", "Follow", tooltip="Follow the bytes that are used last"),
    ]
    DEFAULT_CSS = "MemoryPane { overflow-x: hidden; scrollbar-gutter: stable; }"

    def __init__(self, view: WorldView, *, id: str) -> None:  # noqa: A002 (Textual's word)
        super().__init__(id=id)
        self.view = view
        self.chosen: dict[str, Thing] = {}
        self._uses: list[Use] = []
        self._heads: list[list[Content]] = []
        self._place = -1  # a place of `places`

    @property
    def twin(self) -> str:
        """The command that prints the same."""
        return f"show {self.view.name(self._uses[0].region)}" if self._uses else "show mr"

    # ---- which bytes ----------------------------------------------------------------------------

    def _shown_uses(self) -> list[Use]:
        """For each node the chosen region, the one used last, or the one that is meant."""
        found = []
        for node in filter(None, map(self.view.node, (0, 1))):
            use, chosen = self.view.ask(latest_use, node), self.chosen.get(node)
            if chosen not in self.view.things(node, Noun.MR):
                chosen = use.region if use is not None else self.view.meant(node, Noun.MR)
            if chosen is not None:
                found.append(use if use and use.region == chosen else Use(chosen, 0, -1))
        both = 2 * _WIDTHS[8] + len(_BETWEEN)
        return found if self._width >= both else sorted(found, key=lambda use: use.event)[-1:]

    def action_other(self, side: int) -> None:
        """Show the next region of the left (0) or right (-1) of the nodes that are shown."""
        if self._uses:
            shown = self._uses[side].region
            things = self.view.things(shown.node, Noun.MR)
            self.chosen[shown.node] = things[(things.index(shown) + 1) % len(things)]
            self.read_if_seen()

    def action_follow(self) -> None:
        """Show what is used last."""
        self._uses, self.chosen = [], {}
        self.read_if_seen()

    # ---- find -----------------------------------------------------------------------------------

    @property
    def sought(self) -> str:
        """Hint for the line in which one types."""
        names = " and ".join(self.view.name(use.region) for use in self._uses)
        return f"find bytes in {names or 'memory'}: hello, or 68 65 6c"

    @property
    def found(self) -> int:
        """The place that was found last."""
        return self._place

    def places(self, wanted: str) -> list[int]:
        """Offsets of these bytes in the regions that are shown, one region after the other."""
        world, sought = self.view.session.world, octets_of(wanted)
        return [index * _APART + at for index, use in enumerate(self._uses)
                for at in offsets(octets(world, use.region, 0, _APART), sought)]  # fmt: skip

    def show_found(self, number: int) -> None:
        """Scroll to the bytes, and mark their row."""
        self._place = number
        start = number % _APART
        self.scroll_to(y=start // self._share[1] - (self.size.height - _HEAD) // 2, animate=False)
        name = self.view.name(self._uses[number // _APART].region)
        self.notify(f"{name}[{start}:{start + len(octets_of(self.wanted))}]", timeout=3)
        self.refresh()

    # ---- what is drawn --------------------------------------------------------------------------

    @property
    def _width(self) -> int:
        return self.scrollable_content_region.width

    @property
    def _share(self) -> tuple[int, int]:
        """Columns of one region, and bytes in its lines."""
        many = max(1, len(self._uses))
        width = (self._width - len(_BETWEEN) * (many - 1)) // many
        return width, next((count for count, least in _WIDTHS.items() if width >= least), 4)

    def read_rows(self) -> None:
        """Find the regions; scroll to the bytes that were used if others are used now."""
        before, self._uses = self._uses, self._shown_uses()
        width, count = self._share
        self._heads = [self._head(use, width) for use in self._uses]
        longest = max((-(-self._row(use).length // count) for use in self._uses), default=0)
        self.virtual_size = Size(self._width, longest + _HEAD)
        if self._uses and self._uses != before:
            newest = max(self._uses, key=lambda use: use.event).start // count
            self.scroll_to(y=newest - (self.size.height - _HEAD) // 2, animate=False)
        self.refresh()

    def _row(self, use: Use) -> MrRow:
        return self.view.rows(f"show {self.view.name(use.region)}[0:0]", MrRow)[0]

    def _head(self, use: Use, width: int) -> list[Content]:
        """Name and size, keys and what the last event touched, and the owner of the bytes."""
        row, world = self._row(use), self.view.session.world
        about = click("type_in", f"show {row.name}")
        marks = [Content.styled(f"{word} [{start}:{stop}] ev {world.event}", "$busy")
                 for word, kinds in (("read", READS), ("written", WRITES))
                 for start, stop in touched(world, use.region, kinds)]  # fmt: skip
        name, keys = Content.styled(row.name, f"bold {about}"), (row.rkey, row.lkey)
        named = (dim(f"{word} {key:#x}") for word, key in zip(("rkey", "lkey"), keys, strict=True))
        owners = self.view.rows(f"show {row.name}[0:0]", OwnedRow)
        return [filled(width, [name, Content(f"{row.length} B"), dim(f"at {row.addr:#x}")]),
                linked(filled(width, [*named, *marks])), _owner(owners, width)]  # fmt: skip

    def render_line(self, y: int) -> Strip:
        """The head, or a row of bytes."""
        way = self.view.session.names.way_to(Noun.MR)
        parts = [Content(f"no memory region; {way}" if y == 0 else "")]
        with self.view.frame():
            if is_known := bool(self._uses) and all(map(self._exists, self._uses)):
                parts = [self._part(index, y) for index in range(len(self._uses))]
        width = self._share[0] if is_known else self._width
        padded = (part.pad_right(max(0, width - part.cell_length)) for part in parts)
        line, style = _BETWEEN.join(padded), self.visual_style
        strips = Visual.to_strips(self, line, self._width, 1, style, apply_selection=False)
        return strips[0].apply_offsets(0, y)

    def _exists(self, use: Use) -> bool:
        """False while a pane that comes back has not read the world of another session yet."""
        return use.region in self.view.things(use.region.node, Noun.MR)

    def _part(self, index: int, y: int) -> Content:
        """Line `y` of one region."""
        if y < _HEAD:
            return self._heads[index][y]
        row, count = self._row(self._uses[index]), self._share[1]
        start = (y - _HEAD + self.scroll_offset.y) * count
        if start >= row.length:
            return Content()
        first = start // _ROW * _ROW
        part = f"{row.name}[{first}:{min(row.length, first + _ROW)}]"
        line = hex_line(self.view.rows(f"show {part}", HexRow)[0], start - first, count)
        is_found = 0 <= self._place - index * _APART - start < count
        return line.stylize("bold $on on $busy") if is_found else line


def octets_of(text: str) -> bytes:
    """The bytes of a text; of two and more hexadecimal digits in pairs these bytes."""
    digits = "".join(text.removeprefix("0x").split())
    is_hex = len(digits) % 2 == 0 and re.fullmatch("[0-9a-fA-F]+", digits) is not None
    return bytes.fromhex(digits) if is_hex else text.encode()


def offsets(whole: bytes, wanted: bytes) -> Iterator[int]:
    """Offsets at which these bytes begin in others."""
    at = whole.find(wanted) if wanted else -1
    while at >= 0:
        yield at
        at = whole.find(wanted, at + 1)


def _owner(rows: list[OwnedRow], width: int) -> Content:
    """The bytes that the application must leave alone, and until when."""
    if not rows:
        return dim("owner: the application")
    row, more = rows[0], f"  {len(rows) - 1} more" if len(rows) > 1 else ""
    about = click("ask", fmt.work_name(row.qp, row.wr_id, is_send=row.queue == "sq"))
    span, name = f"[{row.start}:{row.stop}]", fmt.wr(row.wr_id)
    forms = (row.text, f"{span} HCA until {name} completes", f"{span} until {name}", span)
    return first_fit(width, *(piece(form + more, Meaning.ATTENTION, about) for form in forms))
