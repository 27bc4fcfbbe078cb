"""The columns of the ladder: lifelines, names, what is cut."""

from rdmalab.export.ladder_canvas import UNICODE
from rdmalab.export.ladder_columns import Columns, Gap, Placed, Room, fitting
from tests.export.ladder_stories import played, rows_of


def columns(name: str, width: int, tall: int) -> Columns:
    lab = played(name)
    return Columns(rows_of(lab), Room(width, tall, list(lab.session.world.nodes)))


def test_lifelines_stand_in_the_order_of_the_names_with_room_between() -> None:
    for width in range(50, 161, 10):
        for tall in (1, 2, 3):
            found = columns("send-and-ack", width, tall)
            assert [*found.x] == ["A", "B"]
            assert found.margin < found.x["A"] < found.x["B"] < width - found.events
            assert found.x["B"] - found.x["A"] >= 16


def test_three_nodes_have_three_lifelines_where_there_is_room() -> None:
    assert [*columns("three-nodes", 120, 2).x] == ["A", "B", "C"]
    narrow = columns("three-nodes", 60, 2)
    assert [*narrow.x] == ["A", "B"]
    assert narrow.short("C.qp0") == "C.qp0"  # the header does not name its node
    assert narrow.short("B.qp0") == "qp0"


def test_the_only_pair_of_queue_pairs_is_named_in_the_header() -> None:
    assert columns("send-and-ack", 70, 2).title == {"A": "A.qp0", "B": "B.qp0"}
    assert columns("two-queue-pairs", 70, 2).title == {}
    assert columns("two-queue-pairs", 70, 2).has_names


def test_timers_stand_at_the_outer_side() -> None:
    found = columns("send-and-ack", 70, 2)
    assert found.bracket_column("A") == found.x["A"] - 1
    assert found.bracket_column("B") == found.x["B"] + 1
    assert found.bracket_column("Z") is None


def test_the_first_form_that_fits_and_the_last_one_is_cut() -> None:
    assert fitting(["a long one", "short"], 6, UNICODE) == "short"
    assert fitting(["a long one", "short"], 4, UNICODE) == "sho…"


def test_the_bottom_of_an_item_is_below_its_reasons() -> None:
    assert Placed(Gap(1, is_past=True), 3, 4).bottom == 5
    note = ("text", columns("send-and-ack", 70, 2).notes(rows_of(played("wrong-rkey"))[0], 2)[0][1])
    assert Placed(Gap(1, is_past=True), 3, 4, notes_at=5, notes=[note, note]).bottom == 7
