"""Find and filter: what is typed, what it means, what is said about it."""

from rdmalab.tui.finding import PacketSearch
from rdmalab.views.ladder import PacketRow
from tests.export.ladder_stories import played, rows_of


def typed(text: str, use: str = "find") -> PacketSearch:
    search = PacketSearch()
    search.ask(use)
    for letter in text:
        assert search.take(letter, letter)
    return search


def drawn(row) -> str:  # type: ignore[no-untyped-def]
    return f"{row.text} {getattr(row, 'fate_text', '')} {getattr(row, 'remark', '')} ev {row.event}"


def test_texts_and_fields_find_rows() -> None:
    rows = rows_of(played("rnr-wait"))
    found = {text: [row.text.split()[1] for row in rows if typed(text).finds(row, drawn(row))]
             for text in ("rnr_nak", "timer=12", "psn == 0 and from == B", "receive WQE", "EV 15",
                          "RNR timer", "nothing of it")}  # fmt: skip
    assert {text: len(lines) for text, lines in found.items()} == {
        "rnr_nak": 1, "timer=12": 1, "psn == 0 and from == B": 2, "receive WQE": 1, "EV 15": 1,
        "RNR timer": 2, "nothing of it": 0,
    }  # fmt: skip


def test_a_word_in_capitals_is_found_in_capitals_only() -> None:
    rows = rows_of(played("send-and-ack"))
    texts = {"ACK": ["ACK"], "SEND": ["SEND_ONLY"], "ack": ["SEND_ONLY", "ACK"]}
    for text, labels in texts.items():
        packets = [row for row in rows if isinstance(row, PacketRow)]
        search = typed(text, "filter")
        found = [row.label for row in packets if search.finds(row, f"{row.text} ack_req")]
        assert found == labels, text


def test_a_filter_by_fields_means_packets_and_find_leaves_all_rows() -> None:
    rows = rows_of(played("rnr-wait"))
    search = typed("psn >= 0", "filter")
    assert all(isinstance(row, PacketRow) for row in rows if search.lets_pass(row))
    assert all(typed("psn >= 0").lets_pass(row) for row in rows)


def test_keys_of_a_line() -> None:
    search = typed("acks")
    assert search.take("backspace", None)
    assert search.text == "ack"
    assert not search.take("f6", None)
    assert search.take("enter", "\r")
    assert (search.asks, search.is_on) == (False, True)
    assert search.end()
    assert not search.end()
    search = typed("ack")
    assert search.take("ctrl+u", "\x15")
    assert search.text == ""
    assert search.take("escape", "\x1b")
    assert not search.asks


def test_an_invalid_filter_passes_all_and_shows_the_error() -> None:
    search = typed("opcode=FOO", "filter")
    assert not search.is_on
    assert search.lets_pass(rows_of(played("send-and-ack"))[0])
    assert '"FOO" is no opcode' in search.found_text(0)
    assert "Enter keeps" in search.found_text(0)
    assert typed("ack").found_text(2) == "find: ack▏  2 found  Enter keeps  Esc ends"
