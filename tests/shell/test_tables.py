from rdmalab.shell.styled_text import text_of
from rdmalab.shell.tables import bar, bracketed, cut, gauge, table
from rdmalab.views.queues import QueueRow


def test_columns_stand_under_each_other() -> None:
    rows = table([[("", "a"), ("", "10")], [("", "long"), ("", "5"), ("", "x")]], "<>")
    assert [text_of(row) for row in rows] == ["a     10", "long   5  x"]
    assert table([]) == []


def test_a_bar_has_a_cell_for_each_slot_or_is_scaled() -> None:
    row = QueueRow(capacity=8, used=4, free=4, posted=9, waiting=1, on_wire=1, acked=2)
    assert bar(row) == "■■▶▪□□□□"
    row = QueueRow(capacity=1000, used=3, free=997, posted=3, waiting=1, on_wire=1, acked=1)
    assert bar(row) == "■▶▪" + "□" * 13
    assert gauge(0, 4) == "□□□□"
    assert gauge(1, 1000) == "■" + "□" * 15


def test_what_was_touched_is_its_own_fragment() -> None:
    assert bracketed("+000[68 65]00") == [("", "+000"), ("class:touched", "[68 65]"), ("", "00")]


def test_cutting() -> None:
    assert cut("abcdef", 4) == "abc…"
    assert cut("abc", 3) == "abc"
