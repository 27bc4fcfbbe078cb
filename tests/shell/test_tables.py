from rdmalab.shell.styled_text import text_of
from rdmalab.shell.tables import bar, bracketed, cut, drawn, table
from rdmalab.views.columns import Gauge
from rdmalab.views.queues import QueueRow


def test_columns_stand_under_each_other() -> None:
    rows = table([[("", "a"), ("", "10")], [("", "long"), ("", "5"), ("", "x")]], "<>")
    assert [text_of(row) for row in rows] == ["a     10", "long   5  x"]
    assert table([]) == []


def test_a_bar_has_a_cell_for_each_slot_or_is_scaled() -> None:
    row = QueueRow(8, used=4, free=4, posted=9, waiting=1, on_wire=1, acked=2, failed=1, name="")
    assert bar(row) == "✗■▶▪□□□□"
    row = QueueRow(
        1000, used=3, free=997, posted=3, waiting=1, on_wire=1, acked=1, failed=0, name=""
    )
    assert bar(row) == "■▶▪" + "□" * 13
    assert drawn(Gauge(4, 0)).split()[0] == "□□□□"
    assert drawn(Gauge(1000, 1)).split()[0] == "■" + "□" * 15


def test_what_was_touched_is_its_own_fragment() -> None:
    assert bracketed("+000[68 65]00") == [("", "+000"), ("class:touched", "[68 65]"), ("", "00")]


def test_cutting() -> None:
    assert cut("abcdef", 4) == "abc…"
    assert cut("abc", 3) == "abc"
