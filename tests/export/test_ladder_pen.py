"""Drawn items: what reacts to a click, and what looks how."""

from rdmalab.export.ladder_canvas import Piece
from rdmalab.render.meanings import APPEARANCES, Tone
from rdmalab.views.columns import Meaning
from tests.export.ladder_stories import Sort, ladder_of, played


def pieces(name: str, width: int = 70, tall: int = 2) -> list[Piece]:
    found = ladder_of(played(name), Sort(width, tall))
    return [piece for y in range(found.height) for piece in found.line(y)]


def one(found: list[Piece], text: str) -> Piece:
    return next(piece for piece in found if text in piece.text)


def test_events_reasons_and_timers_can_be_clicked() -> None:
    found = pieces("wrong-rkey")
    assert one(found, "ev 16").ink.click == ("event", 16)
    assert one(found, "! refused").ink.click == ("explain", "refusal rkey")
    assert one(found, "! dropped").ink.click == ("explain", "drop dying")
    assert one(pieces("lost-and-resent"), "╳ lost").ink.click == ("event", 16)
    assert one(pieces("rnr-wait"), "◷ RNR timer fires").ink.click == ("event", 20)
    flat = pieces("send-and-ack", 78, 1)
    assert (one(flat, "ev 16").ink.click, one(flat, "→17").ink.click) == (
        ("event", 16), ("event", 17),
    )  # fmt: skip


def test_kinds_have_their_tones() -> None:
    found = pieces("wrong-rkey")
    assert one(found, "RDMA_WRITE_ONLY").ink.tone is Tone.ODD
    assert one(found, "NAK_REMOTE_ACCESS").ink.tone is Tone.BAD
    assert one(found, "REM_ACCESS_ERR").ink.tone is Tone.BAD
    found = pieces("send-and-ack")
    assert one(found, "SEND_ONLY").ink.tone is Tone.BUSY
    assert one(found, "ACK psn=0").ink.tone is Tone.GOOD
    assert one(pieces("lost-and-resent"), "╳").ink.tone is Tone.BAD
    assert one(pieces("rnr-wait"), "◷").ink.tone is APPEARANCES[Meaning.WAITING].tone


def test_the_present_is_marked_where_its_event_stands() -> None:
    found = ladder_of(played("send-and-ack"), Sort(70, 2))
    marked = [y for y in range(found.height) if found.line(y)[0].text.startswith("▶")]
    assert marked == [3]
    assert found.line(3)[0].ink.bold


def test_a_packet_to_its_own_node_returns_to_its_lifeline() -> None:
    found = ladder_of(played("to-itself"), Sort(70, 2))
    upper, lower = ("".join(piece.text for piece in found.line(y)) for y in (0, 1))
    x = found.pen.left
    assert upper[x] == "●"
    assert upper.index("╮") == lower.index("╯")
    assert lower[x : x + 2] == "!◀"
