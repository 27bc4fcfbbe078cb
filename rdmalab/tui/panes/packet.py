"""One packet: a tree of its fields beside its bytes; the bytes of the field are marked."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from rich.text import Text
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Static, Tree

from rdmalab.tui.content import dim, event_link, linked
from rdmalab.tui.pane import Pane
from rdmalab.views import fmt, ladder, packets

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.style import Style
    from textual import events
    from textual.app import ComposeResult
    from textual.widgets.tree import TreeNode

    from rdmalab.tui.world_view import WorldView
    from rdmalab.views.packets import DecodedRow, FieldRow, LayerRow

_SLIM, _WIDE = 70, 110  # columns from which there are bytes, and 16 of them in a row
_CLOSED = ("Ethernet", "IPv4", "IPv6", "UDP", "LRH", "ICRC", "VCRC")  # what does not differ much
_QUIET = ("reserved", "pad_count", "tver", "fecn", "becn")  # they say nothing while they are 0


class PacketPart(NamedTuple):
    """A layer, or a field of it. start, stop: its bytes."""

    layer: str
    field: str
    text: str
    start: int
    stop: int
    bits: str = ""
    is_quiet: bool = False


class Layers(Tree[PacketPart], inherit_bindings=True):
    """The labels are Rich's Text, because a Tree takes no Content."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"layers--layer", "layers--value", "layers--quiet"}
    DEFAULT_CSS = """
    Layers { background: transparent; scrollbar-size: 0 1; overflow-x: hidden; }
    Layers > .layers--layer { color: $event; text-style: bold; }
    Layers > .layers--value { color: $key; }
    Layers > .layers--quiet { color: $dim; }
    """

    def render_label(self, node: TreeNode[PacketPart], base_style: Style, style: Style) -> Text:
        """`▾ BTH  12 B`, `psn  1`."""
        part = node.data
        if part is None:
            return Text()
        of = self.get_component_rich_style
        if not part.field:
            mark = "▾" if node.is_expanded else "▸"
            named = of("layers--quiet" if part.is_quiet else "layers--layer", partial=True)
            return Text.assemble((f"{mark} {part.layer}", style + named), (f"  {part.text}", style))
        quiet = of("layers--quiet", partial=True)
        value = quiet if part.is_quiet else of("layers--value", partial=True)
        name = style + quiet if part.is_quiet else style
        field = part.field.ljust(_widest(node))
        return Text.assemble((field, name), (f"  {part.text}", style + value))


def _widest(node: TreeNode[PacketPart]) -> int:
    """Columns of the names in a layer."""
    siblings = node.parent.children if node.parent is not None else ()
    return max((len(each.data.field) for each in siblings if each.data is not None), default=0)


class Octets(Static, can_focus=False):
    """The bytes; a click chooses the field."""

    def on_click(self, event: events.Click) -> None:
        """Choose the field of a byte."""
        pane = next((each for each in self.ancestors if isinstance(each, PacketPane)), None)
        offset = event.get_content_offset(self)
        if pane is not None and offset is not None and offset.x >= _LEFT:
            pane.choose_byte(offset.y * pane.bytes_a_row + (offset.x - _LEFT) // 3)


_LEFT = 5  # columns before the bytes
_NONE = dim("no packet yet")


class PacketPane(Pane, Horizontal, can_focus=False):
    """The marked packet of the wire, else the newest one."""

    BORDER_TITLE = "Packet"
    sought = "find a field of this packet: psn, dest_qp, 0x11, a text"
    DEFAULT_CSS = """
    PacketPane { layout: horizontal; }
    PacketPane > Layers { width: 1fr; height: 1fr; }
    PacketPane > Vertical { width: 31; height: 1fr; }
    PacketPane.-wide > Vertical { width: 55; }
    PacketPane VerticalScroll { height: 1fr; scrollbar-size: 0 1; }
    PacketPane > #title { dock: top; width: 100%; height: 1; text-wrap: nowrap; }
    PacketPane.-slim > Vertical { display: none; }
    PacketPane #about { height: auto; max-height: 2; color: $dim; }
    """

    def __init__(self, view: WorldView, *, id: str) -> None:  # noqa: A002 (Textual's word)
        super().__init__(id=id)
        self.view = view
        self.packet: DecodedRow | None = None
        self.part: PacketPart | None = None
        self._first: PacketPart | None = None  # the first open header: its bytes are seen

    def compose(self) -> ComposeResult:
        """The packet in words, the tree at the left, the bytes at the right."""
        yield Static(_NONE, id="title")
        tree = Layers("")
        tree.show_root, tree.guide_depth, tree.auto_expand = False, 2, True
        yield tree
        with Vertical():
            yield VerticalScroll(Octets(), can_focus=False)
            yield Static(id="about")

    @property
    def twin(self) -> str:
        """The command that prints the same."""
        return f"show packet {self.packet.event}" if self.packet else "show packet"

    @property
    def bytes_a_row(self) -> int:
        """Bytes in a row: 16 where there is room."""
        return 16 if self.size.width >= _WIDE else 8

    def read_rows(self) -> None:
        """Read the marked packet."""
        session = self.view.session
        found = None
        if self.view.packet is not None:
            found = packets.decoded_row(session.world, self.view.packet)
        if found is None and (newest := ladder.last_packet(session.world, session.names)):
            found = packets.decoded_row(session.world, newest.number)
        if found != self.packet:
            self.packet, self.part = found, None
            self._fill()
        self.set_class(self.bytes_a_row == 16, "-wide")
        self.set_class(self.size.width < _SLIM, "-slim")
        self._draw_bytes()

    def _fill(self) -> None:
        """Make the tree of the packet; what differs from packet to packet is open."""
        tree = self.query_one(Layers)
        tree.clear()
        title = _NONE
        if (packet := self.packet) is not None:
            event = event_link(packet.event)
            title = Content.assemble((packet.text, "bold"), "  ", event)
        self.query_one("#title", Static).update(linked(title))
        layers = packet.layers if packet is not None else []
        outer = list(takewhile(lambda layer: layer.name in _CLOSED, layers))
        if len(outer) > 1:
            names = ", ".join(layer.name for layer in outer)
            stop = outer[-1].offset + outer[-1].length
            whole = PacketPart(names, "", f"{stop - outer[0].offset} B", outer[0].offset, stop)
            group = tree.root.add(names, whole)
            for layer in outer:
                self._add(group, layer, opened=False)
            layers = layers[len(outer) :]
        nodes = [self._add(tree.root, layer, opened=layer.name not in _CLOSED) for layer in layers]
        opened = [node for node in nodes if node.is_expanded]
        if 0 < self.size.height < tree.last_line + 2 and len(opened) > 1:
            opened.pop(0).collapse()  # the headers after the BTH are read first
        self._first = next((node.data for node in opened), None)
        self.call_after_refresh(tree.scroll_home, animate=False)

    def _add(
        self, parent: TreeNode[PacketPart], layer: LayerRow, *, opened: bool
    ) -> TreeNode[PacketPart]:
        """A layer with its fields; those that are reserved and 0 are one row, which opens."""
        stop = layer.offset + layer.length
        whole = PacketPart(layer.name, "", f"{layer.length} B", layer.offset, stop)
        node, parts = parent.add(layer.name, whole, expand=opened), list(_parts(layer))
        for part in parts:
            if not part.is_quiet:
                node.add_leaf(part.field, part)
        if quiet := [part for part in parts if part.is_quiet]:
            first, last = min(part.start for part in quiet), max(part.stop for part in quiet)
            named = f"{fmt.count(len(quiet), 'field')} with the value 0"
            zeros = node.add(named, PacketPart(named, "", "", first, last, is_quiet=True))
            for part in quiet:
                zeros.add_leaf(part.field, part)
        return node

    # ---- choosing -------------------------------------------------------------------------------
    def on_tree_node_highlighted(self, event: Tree.NodeHighlighted[PacketPart]) -> None:
        """Mark the bytes of the field under the cursor."""
        event.stop()
        self.part = event.node.data
        self._draw_bytes()

    def on_tree_node_selected(self, event: Tree.NodeSelected[PacketPart]) -> None:
        """Enter, or a click: what the guide says about the field."""
        event.stop()
        part = event.node.data
        if part is not None and part.field and (word := self._word(part)):
            self.act("explain", word)

    def _word(self, part: PacketPart) -> str:
        """The first word for a field that the guide explains; empty if there is none."""
        from rdmalab.guide.explain import lookup  # here, because the first frame needs no guide

        vocabulary = self.view.session.vocabulary
        inside = part.text.partition("(")[2].rstrip(")").rpartition(" ")[2]
        own = f"{part.layer}.{part.field}"
        value = inside if inside.isupper() else ""  # the name of an opcode or a syndrome
        words = (value, own, part.field, f"header {part.layer}", part.layer)
        return next((word for word in words if word and lookup(word, vocabulary)), "")

    def choose_byte(self, number: int) -> None:
        """Move the cursor to the field that a byte belongs to."""
        for at, part in enumerate(self._fields):
            if part.start <= number < part.stop:
                self.show_found(at)
                return

    @property
    def _fields(self) -> list[PacketPart]:
        return [node.data for node in _leaves(self.query_one(Layers).root) if node.data is not None]

    @property
    def sought_in(self) -> list[str]:
        """The fields of all layers, also of closed ones."""
        return [f"{part.layer}.{part.field}  {part.text}" for part in self._fields]

    @property
    def found(self) -> int:
        """The field that is marked."""
        return self._fields.index(self.part) if self.part in self._fields else -1

    def show_found(self, number: int) -> None:
        """Open the layer of the field, and move the cursor there."""
        tree = self.query_one(Layers)
        node = [*_leaves(tree.root)][number]
        above = node.parent
        while above is not None:
            above.expand()
            above = above.parent
        self.call_after_refresh(tree.move_cursor, node)

    # ---- bytes ----------------------------------------------------------------------------------
    def _draw_bytes(self) -> None:
        """All bytes, those of the chosen part marked, and where it stands."""
        raw = self.packet.raw if self.packet is not None else b""
        self.query_one(Octets).update(Content("\n").join(self._rows(raw)))
        text = ""
        if (part := self.part) is not None:
            place = part.bits or f"bytes {part.start} to {part.stop - 1}"
            text = f"{part.field or part.layer}  {place}"
        if (seen := part or self._first) is not None:
            row = seen.start // self.bytes_a_row
            self.query_one(VerticalScroll).scroll_to(
                y=max(0, row - 2 * bool(part)), animate=False, force=True
            )
        self.query_one("#about", Static).update(Content(text))

    def _rows(self, raw: bytes) -> Iterator[Content]:
        step, part = self.bytes_a_row, self.part
        for start in range(0, len(raw), step):
            pieces: list[tuple[str, str]] = [(f"+{start:03x} ", "$dim")]
            for at in range(start, min(start + step, len(raw))):
                is_in = part is not None and part.start <= at < part.stop
                goes_on = is_in and part is not None and at + 1 < min(part.stop, start + step)
                style = "bold $on on $busy" if is_in else "$plain" if raw[at] else "$dim"
                pieces += [(f"{raw[at]:02x}", style), (" ", style if goes_on else "")]
            yield Content.assemble(*pieces)


def _leaves(node: TreeNode[PacketPart]) -> Iterator[TreeNode[PacketPart]]:
    """The fields below a node."""
    for each in node.children:
        yield from _leaves(each) if each.children else (each,)


def _parts(layer: LayerRow) -> Iterator[PacketPart]:
    """The fields of a layer with their bytes."""
    for field in layer.fields:
        start = layer.offset + field.offset_bits // 8
        stop = layer.offset + -(-(field.offset_bits + field.bits) // 8)
        bits, is_quiet = _bits(layer, field), _is_quiet(field)
        yield PacketPart(layer.name, field.name, field.text, start, stop, bits, is_quiet)


def _is_quiet(field: FieldRow) -> bool:
    return field.value == 0 and field.name.startswith(_QUIET)


def _bits(layer: LayerRow, field: FieldRow) -> str:
    """`24 bits at byte 9 of BTH`."""
    byte, bit = divmod(field.offset_bits, 8)
    if field.bits % 8 or bit:
        return f"{field.bits} bits at byte {byte}, bit {7 - bit} of {layer.name}"
    return f"{field.bits // 8} B at byte {byte} of {layer.name}"
