"""The wire as text: kept drawings, and what holds for every drawing at every width."""

from itertools import product

import pytest

from rdmalab.export.ladder_columns import Room
from rdmalab.export.ladder_text import TextLadder, fitted, most_together
from rdmalab.lab import Lab
from rdmalab.spec.records import Kind
from rdmalab.views.fates import Fate
from rdmalab.views.ladder import MarkerRow, PacketRow
from rdmalab.views.planned import PlannedRow
from tests.export.ladder_stories import (
    FOLDER,
    STORIES,
    Sort,
    drawn,
    ladder_of,
    page,
    played,
    rows_of,
)

WIDTHS = (50, 64, 72, 90, 120, 160)
SORTS = [
    Sort(width, tall, ascii_only, to_scale)
    for width, tall in product(WIDTHS, (1, 2, 3))
    for ascii_only, to_scale in product((False, True), repeat=2)
    if tall == 2 or not to_scale
]  # fmt: skip


@pytest.fixture(scope="module")
def labs() -> dict[str, Lab]:
    return {name: played(name) for name in STORIES}


def text_of(found: TextLadder) -> str:
    return "\n".join(drawn(found))


def words_of(text: str) -> list[str]:
    """The words of a drawing without its lines."""
    return text.replace("│", " ").replace("|", " ").split()


@pytest.mark.parametrize("name", STORIES)
def test_the_drawings_are_those_that_are_kept(name: str) -> None:
    assert page(name) == (FOLDER / f"{name}.txt").read_text()


@pytest.mark.parametrize("width", WIDTHS)
def test_below_the_nak_stands_the_request_that_it_ends(width: int, labs: dict[str, Lab]) -> None:
    rows = [*drawn(ladder_of(labs["wrong-rkey"], Sort(width, 1)))]
    below = next(at for at, row in enumerate(rows) if "✗◀" in row) + 1
    assert "✗ wr7 REM_ACCESS_ERR" in rows[below]


@pytest.mark.parametrize("name", STORIES)
def test_no_row_is_wider_than_the_room_at_any_width(name: str, labs: dict[str, Lab]) -> None:
    for sort in SORTS:
        for line in drawn(ladder_of(labs[name], sort)):
            assert len(line) <= sort.width, sort
            assert not sort.ascii_only or line.isascii(), line


@pytest.mark.parametrize("name", STORIES)
def test_each_row_belongs_to_what_is_drawn_in_it(name: str, labs: dict[str, Lab]) -> None:
    for sort in SORTS:
        found = ladder_of(labs[name], sort)
        for placed in found.placed:
            if isinstance(placed.item, PacketRow | MarkerRow | PlannedRow):
                assert found.item(placed.y) is placed.item
                assert placed.y in found.rows_of(placed.item)
        assert found.item(found.height) is None
        assert found.item(-1) is None


def test_the_whole_reason_is_there_at_every_width(labs: dict[str, Lab]) -> None:
    text = "refused: rkey 0xdead is the key of no MR or bound window on B"
    wanted = text.split(" ")
    for sort in SORTS:
        if sort.width < 64 or sort.to_scale:  # lines pass between the words
            continue
        words = words_of(text_of(ladder_of(labs["wrong-rkey"], sort)))
        start = words.index("refused:")
        found = [word for word in words[start : start + 30] if word in wanted]
        assert found[: len(wanted)] == wanted, sort


def moments_of(found: TextLadder) -> list[float]:
    """The column of times, in ns."""
    units = {"us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
    columns = (line[:12].replace("▶", " ").replace(">", " ").split() for line in drawn(found))
    return [float(each[0]) * units[each[1]] for each in columns if each[1:] and each[1] in units]


@pytest.mark.parametrize("name", STORIES)
def test_time_never_runs_back_from_row_to_row(name: str, labs: dict[str, Lab]) -> None:
    for sort in SORTS:
        moments = moments_of(ladder_of(labs[name], sort))
        assert moments, sort
        assert moments == sorted(moments), sort


def test_packets_in_flight_together_cross_and_are_named_where_they_arrive(
    labs: dict[str, Lab],
) -> None:
    found = ladder_of(labs["two-queue-pairs"], Sort(90, 2))
    first, second, third, fourth = found.placed[:4]
    assert first.y < second.y < third.y < fourth.y < first.end < second.end
    assert "psn=0" in "".join(piece.text for piece in found.line(first.end))


def test_both_events_stand_beside_each_packet(labs: dict[str, Lab]) -> None:
    for sort in SORTS:
        if sort.tall == 1 and sort.width < 64:
            continue
        found = ladder_of(labs["send-and-ack"], sort)
        arrow = ">" if sort.ascii_only else "→"
        lines = ["ev 16", f"{arrow}17"] if sort.tall == 1 else ["ev 16", "ev 17"]
        assert all(text in text_of(found) for text in lines), sort


def test_queue_pairs_are_named_at_both_ends_where_there_are_several(labs: dict[str, Lab]) -> None:
    for tall, width in ((1, 78), (2, 70), (3, 90)):
        lines = [*drawn(ladder_of(labs["two-queue-pairs"], Sort(width, tall)))]
        for name in ("qp0", "qp1"):
            assert sum(name in line for line in lines) >= 4
    lines = [*drawn(ladder_of(labs["send-and-ack"], Sort(70, 2)))]
    assert "A.qp0" in lines[0]
    assert "B.qp0" in lines[0]


def test_a_packet_in_flight_stops_where_it_is_now(labs: dict[str, Lab]) -> None:
    lab = labs["in-flight"]
    for tall, width in ((2, 70), (3, 90)):
        found = ladder_of(lab, Sort(width, tall))
        now_ns = lab.session.world.now_ns
        for placed in found.placed:
            row = placed.item
            if isinstance(row, PacketRow) and row.fate is Fate.IN_FLIGHT:
                assert row.arrives_ns is not None
                tip = max("".join(p.text for p in found.line(y)).rfind("▶")
                          for y in range(placed.y, placed.end + 1))  # fmt: skip
                left, right = found.pen.left, found.pen.right
                gone = (now_ns - row.at_ns) / (row.arrives_ns - row.at_ns)
                assert abs((tip - left) / (right - left) - gone) < 0.1


def test_a_lost_packet_ends_in_mid_way_and_an_arrow_reaches_the_other_side(
    labs: dict[str, Lab],
) -> None:
    found = ladder_of(labs["lost-and-resent"], Sort(90, 3))
    lost, arrived = ("".join(p.text for p in found.line(y)) for y in (0, 6))
    assert found.pen.left < lost.index("╳") < found.pen.right - 5
    assert arrived.index("▶") == found.pen.right - 1


def test_a_retransmission_names_the_event_of_its_first_time(labs: dict[str, Lab]) -> None:
    for sort, answer in ((Sort(90, 3), "2nd, first at ev 15"), (Sort(70, 2), "2nd, ev 15")):
        found = ladder_of(labs["rnr-wait"], sort)
        pieces = [piece for y in range(found.height) for piece in found.line(y)]
        (piece,) = (piece for piece in pieces if answer in piece.text)
        assert piece.ink.click == ("event", 15)


def test_the_bracket_of_a_timer_spans_its_wait(labs: dict[str, Lab]) -> None:
    for name, kind in (("rnr-wait", Kind.TIMER_ARMED), ("lost-and-resent", None)):
        found = ladder_of(labs[name], Sort(70, 2))
        fired = next(p for p in found.placed if isinstance(p.item, MarkerRow)
                     and p.item.kind is Kind.TIMER_FIRED)  # fmt: skip
        begun = next(p for p in found.placed if kind is None or getattr(p.item, "kind", 0) is kind)
        x = found.pen.left - 1
        column = ["".join(p.text for p in found.line(y))[x] for y in range(begun.y, fired.y + 1)]
        assert column == ["╭", *"│" * (len(column) - 2), "╰"]


@pytest.mark.parametrize("tall", [1, 2])
def test_a_timer_that_began_above_has_no_corner_and_none_stands_below_the_drawing(
    tall: int, labs: dict[str, Lab]
) -> None:
    lab = labs["rnr-wait"]
    rows = rows_of(lab)
    fired = next(
        at for at, row in enumerate(rows)
        if isinstance(row, MarkerRow) and row.kind is Kind.TIMER_FIRED
    )  # fmt: skip
    found = TextLadder(rows[fired:], Room(78, tall, ["A", "B"]))
    lines = [*drawn(found)]
    assert "╭" not in "".join(lines)
    assert sum("╰" in line for line in lines) == 1
    below = "".join(piece.text for piece in found.line(found.height))
    assert "╭" not in below


def test_a_long_wait_is_one_row_that_says_how_long(labs: dict[str, Lab]) -> None:
    for to_scale in (False, True):
        lines = [*drawn(ladder_of(labs["rnr-wait"], Sort(90, 2, to_scale=to_scale)))]
        assert sum("┄ 640 us pass ┄" in line for line in lines) == 1


def test_to_scale_the_distance_of_rows_is_the_time(labs: dict[str, Lab]) -> None:
    found = ladder_of(labs["send-and-ack"], Sort(90, 2, to_scale=True))
    send, ack = found.placed
    assert (send.y, send.end, ack.y, ack.end) == (0, 4, 5, 9)
    crossing = ladder_of(labs["two-queue-pairs"], Sort(90, 2, to_scale=True))
    first, second = crossing.placed[:2]
    assert first.y < second.y < first.end < second.end


def test_what_is_planned_is_dim_and_comes_last(labs: dict[str, Lab]) -> None:
    found = ladder_of(labs["nak-and-go-back"], Sort(70, 2))
    rows = [p.y for p in found.placed if isinstance(p.item, PlannedRow)]
    assert found.past == min(rows)
    for y in rows:
        assert {piece.ink.tone.value for piece in found.line(y) if piece.text.strip()} <= {
            "dim", "plain", "key",
        }  # fmt: skip
        assert "planned" in "".join(piece.text for piece in found.line(y))


def test_packets_are_as_high_as_the_room_allows(labs: dict[str, Lab]) -> None:
    rows = rows_of(labs["send-and-ack"])
    chosen = {
        (width, height, to_scale): fitted(
            rows, Room(width, 1, ["A", "B"]), height, to_scale=to_scale
        ).room.tall
        for width, height, to_scale in ((78, 6, False), (70, 13, False), (90, 22, False),
                                        (62, 40, False), (78, 6, True), (90, 22, True))
    }  # fmt: skip
    assert [*chosen.values()] == [1, 2, 3, 1, 2, 2]
    two = rows_of(labs["wrong-rkey"])
    assert fitted(two, Room(90, 1, ["A", "B"]), 12).room.tall == 2
    many = rows_of(labs["two-queue-pairs"])  # their lines would cover the labels
    assert most_together(many) > 2
    assert fitted(many, Room(90, 1, ["A", "B"]), 20).room.tall == 1
    assert fitted(many, Room(90, 1, ["A", "B"]), 20, to_scale=True).room.tall == 2


def test_the_facts_of_a_packet_are_one_text_that_no_line_crosses(labs: dict[str, Lab]) -> None:
    for width in (64, 70, 90):
        text = "\n".join(drawn(ladder_of(labs["wrong-rkey"], Sort(width, 2))))
        assert "│ psn=0  5 B  " in text
        assert "│ psn=1  8 B  ack_req  " in text
        assert " window on B " in text or " window on B│" in text


def test_below_the_last_row_the_lifelines_go_on(labs: dict[str, Lab]) -> None:
    found = ladder_of(labs["send-and-ack"], Sort(70, 2))
    text = "".join(piece.text for piece in found.line(found.height + 3))
    assert [text[x] for x in found.pen.x.values()] == ["┊", "┊"]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("to_scale", [False, True])
def test_the_failed_completion_of_a_ladder_is_written_once(
    labs: dict[str, Lab], width: int, to_scale: bool
) -> None:
    text = text_of(ladder_of(labs["wrong-rkey"], Sort(width, 2, to_scale=to_scale)))
    assert text.count("REM_ACCESS_ERR") == 1
