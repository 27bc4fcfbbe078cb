import pytest
from prompt_toolkit.styles import Style

from rdmalab.tui.console.paint import Paint
from rdmalab.tui.console.transcript import Transcript


def written(*lines: str, width: int = 10, limit: int = 100) -> Transcript:
    paint = Paint(Style([]), colour=True)
    transcript = Transcript(limit, paint.line)
    transcript.wrap(width)
    for line in lines:
        transcript.append([("", line)])
    return transcript


def rows(transcript: Transcript) -> list[str]:
    return [row.text for row in transcript.rows]


def test_a_long_line_is_cut_and_joined_again_when_there_is_room() -> None:
    transcript = written("0123456789abc", "", "x")
    assert rows(transcript) == ["0123456789", "abc", "", "x"]
    transcript.wrap(5)
    assert rows(transcript) == ["01234", "56789", "abc", "", "x"]
    transcript.wrap(20)
    assert rows(transcript) == ["0123456789abc", "", "x"]


def test_rows_wrap_after_a_word_if_half_a_row_is_left() -> None:
    assert rows(written("one two three", width=10)) == ["one two ", "three"]
    assert rows(written("one twothreefour", width=10)) == ["one twothr", "eefour"]


@pytest.mark.parametrize("width", [2, 3, 4, 5, 7])
def test_no_character_is_lost_and_no_row_is_too_wide(width: int) -> None:
    text = "漢字 and ASCII 混ぜる é"
    transcript = written(text, width=width)
    assert "".join(rows(transcript)) == text
    assert all(row.cell_length <= width for row in transcript.rows)


def test_the_oldest_lines_go() -> None:
    transcript = written("a" * 25, "b", limit=2)
    assert transcript.append([("", "c")]) == 3
    assert rows(transcript) == ["b", "c"]
    transcript.clear()
    assert rows(transcript) == []
