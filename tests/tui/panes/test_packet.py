"""The packet pane: the tree of fields, the bytes of a field, what the guide says about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdmalab.lab import Lab
from rdmalab.tui.panes.packet import Layers, Octets, PacketPane
from tests.export.ladder_stories import played
from tests.tui.panes.alone import Bench, alone

if TYPE_CHECKING:
    from textual.widgets import Tree
    from textual.widgets.tree import TreeNode

    from rdmalab.tui.panes.packet import PacketPart


def packet(view):  # type: ignore[no-untyped-def]
    return PacketPane(view, id="pane")


def pane_of(bench: Bench) -> PacketPane:
    assert isinstance(bench.pane, PacketPane)
    return bench.pane


def nodes(bench: Bench) -> dict[str, TreeNode[PacketPart]]:
    tree: Tree[PacketPart] = bench.app.query_one(Layers)
    found: dict[str, TreeNode[PacketPart]] = {}
    waiting = [*tree.root.children]
    while waiting:
        node = waiting.pop()
        waiting += node.children
        assert node.data is not None
        found[f"{node.data.layer}.{node.data.field}".rstrip(".")] = node
    return found


async def choose(bench: Bench, name: str) -> None:
    tree = bench.app.query_one(Layers)
    node = nodes(bench)[name]
    if node.parent is not None and not node.parent.is_expanded:
        node.parent.expand()
        await bench.pilot.pause()
    tree.move_cursor(node)
    await bench.pilot.pause()


def marked(bench: Bench) -> str:
    """The bytes that are marked."""
    content = bench.app.query_one(Octets).content
    spans = [span for span in content.spans if "on $busy" in str(span.style)]  # type: ignore[union-attr]
    return " ".join(str(content)[span.start : span.end] for span in spans)


async def test_the_newest_packet_is_shown_and_the_marked_one_if_there_is_one() -> None:
    async with alone(packet, (84, 40), played("wrong-rkey")) as bench:
        pane = pane_of(bench)
        assert "NAK_REMOTE_ACCESS" in bench.grid[0]
        assert pane.twin == "show packet 20"
        pane.view.packet = next(
            row.number for row in pane.view.view_of("show wire").rows if row.event == 16
        )
        pane.read_if_seen()
        await bench.pilot.pause()
        assert "RDMA_WRITE_ONLY psn=0" in bench.grid[0]
        assert "rkey        0xdead" in bench.text
        pane.view.packet = 10_000  # of another branch of time
        pane.read_if_seen()
        assert pane.twin == "show packet 20"


async def test_the_bytes_of_the_field_under_the_cursor_are_marked() -> None:
    async with alone(packet, (84, 20), played("send-and-ack")) as bench:
        pane = pane_of(bench)
        assert pane.packet is not None
        for name, at in (("BTH.psn", slice(51, 54)), ("BTH.pkey", slice(44, 46)),
                         ("AETH.msn", slice(55, 58)), ("BTH.ack_req", slice(50, 51)),
                         ("BTH", slice(42, 54))):  # fmt: skip
            await choose(bench, name)
            assert marked(bench).split() == pane.packet.raw[at].hex(" ").split(), name
        assert "BTH  bytes 42 to 53" in bench.text
        await choose(bench, "BTH.psn")
        assert "psn  3 B at byte 9 of BTH" in bench.text
        await choose(bench, "BTH.ack_req")
        assert "1 bit" in bench.text


async def test_reserved_fields_that_are_zero_come_last_and_are_dim() -> None:
    async with alone(packet, (84, 40), played("send-and-ack")) as bench:
        *_, zeros = nodes(bench)["BTH"].children
        assert not zeros.is_expanded
        quiet = [node.data.field for node in zeros.children if node.data is not None]
        assert {"reserved6", "reserved7", "tver"} <= set(quiet)
        assert not {"psn", "opcode", "ack_req", "dest_qp"} & set(quiet)
        assert not nodes(bench)["Ethernet"].is_expanded
        assert nodes(bench)["AETH"].is_expanded


async def test_enter_and_a_click_on_a_field_explain_it() -> None:
    async with alone(packet, (84, 40), played("wrong-rkey")) as bench:
        bench.app.query_one(Layers).focus()
        await choose(bench, "BTH.psn")
        await bench.press("enter")
        await choose(bench, "AETH.syndrome")
        await bench.press("enter")
        await choose(bench, "BTH.tver")
        await bench.press("enter")
        assert bench.app.asked == [
            ("explain", "BTH.psn"), ("explain", "NAK_REMOTE_ACCESS"), ("explain", "BTH.tver"),
        ]  # fmt: skip
        bench.app.asked.clear()
        await bench.click("msn")
        assert bench.app.asked == [("explain", "AETH.msn")]


async def test_a_click_on_a_layer_opens_it() -> None:
    async with alone(packet, (84, 40), played("send-and-ack")) as bench:
        await bench.click("▸ Ethernet, IPv4, UDP")
        await bench.pilot.pause()
        await bench.click("▸ IPv4")
        assert nodes(bench)["IPv4"].is_expanded
        assert "ttl" in bench.text
        assert bench.app.asked == []


async def test_a_click_on_a_byte_chooses_its_field() -> None:
    async with alone(packet, (84, 40), played("send-and-ack")) as bench:
        octets = bench.app.query_one(Octets)
        await bench.pilot.click(octets, offset=(5 + 3 * 3, 6))  # byte 6 * 8 + 3
        await bench.pilot.pause()
        await bench.pilot.pause()
        part = pane_of(bench).part
        assert part is not None
        assert (part.layer, part.field) == ("BTH", "psn")


async def test_wide_panes_have_sixteen_bytes_in_a_row() -> None:
    lab = played("send-and-ack")
    for width, count in ((84, 8), (120, 16)):
        async with alone(packet, (width, 20), lab) as bench:
            row = next(line for line in bench.grid if "+000 " in line)
            assert len(row.partition("+000 ")[2].split()) == count


async def test_where_room_is_short_the_values_are_whole_and_the_syndrome_is_seen() -> None:
    for size in ((46, 16), (80, 7), (46, 13)):
        async with alone(packet, size, played("wrong-rkey")) as bench:
            assert "0x62 (NAK_REMOTE_ACCESS)" in bench.text
            assert ("+030 " in bench.text) is (size[0] >= 70)
            assert "B->A NAK_REMOTE_ACCESS" in bench.grid[0]


async def test_the_header_after_the_bth_is_open_and_its_bytes_are_seen() -> None:
    for size in ((48, 13), (80, 7)):
        async with alone(packet, size, played("wrong-rkey")) as bench:
            pane = pane_of(bench)
            pane.view.packet = next(
                row.number for row in pane.view.view_of("show wire").rows if row.event == 16
            )
            pane.read_if_seen()
            await bench.pilot.pause()
            assert "rkey        0xdead" in bench.text
            if size[0] >= 70:  # the bytes of va and rkey, not those of Ethernet
                assert "+040 de ad 00" in bench.text


async def test_without_a_packet_the_pane_is_empty() -> None:
    async with alone(packet, (84, 20), Lab()) as bench:
        assert pane_of(bench).twin == "show packet"
        assert "+000" not in bench.text


async def test_the_text_has_all_layers_and_bytes() -> None:
    async with alone(packet, (84, 20), played("send-and-ack")) as bench:
        text = " ".join(pane_of(bench).text().split())
        assert "BTH opcode=0x11 (RC ACKNOWLEDGE)" in text
        assert "+000 02 00 0a" in text


async def test_the_fields_that_say_nothing_are_one_row_that_is_not_cut() -> None:
    async with alone(packet, (47, 20), played("wrong-rkey")) as bench:
        await bench.pilot.pause()
        assert any("▸ 6 fields with the value 0" in row for row in bench.grid), bench.grid


async def test_without_a_packet_the_pane_says_so() -> None:
    async with alone(packet, (47, 20), Lab()) as bench:
        assert bench.grid[0].startswith("no packet yet")
