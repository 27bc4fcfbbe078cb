"""What is printed: nothing that a terminal obeys, nothing that its encoding lacks."""

import errno
import io
import json
import os
import sys
from typing import TextIO, cast
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdmalab.shell.streams import (
    Lost,
    Stream,
    detach_output,
    guarded,
    print_json,
    print_svg,
    progress_stream,
    unguarded,
)

ENCODINGS = ("utf-8", "cp1252", "latin-1", "cp437", "ascii", "koi8-r")


def written(text: str, encoding: str) -> str:
    octets = io.BytesIO()
    stream = Stream(io.TextIOWrapper(octets, encoding, newline=""), must=True)
    assert stream.write(text) == len(text)
    stream.flush()
    return octets.getvalue().decode(encoding)


@given(st.text(st.characters(codec=None)), st.sampled_from(ENCODINGS))
def test_any_text_can_be_written(text: str, encoding: str) -> None:
    words = written(text, encoding)
    assert all(c in "\n\t" or c.isprintable() for c in words)
    if text.isascii() and text.isprintable():
        assert words == text


@pytest.mark.parametrize(
    ("text", "encoding", "expected"),
    [
        ("A → B ≤ 3 µs …\n", "utf-8", "A → B ≤ 3 µs …\n"),
        ("A → B ≤ 3 µs …\n", "ascii", "A -> B <= 3 us ...\n"),
        ("A → B ≤ 3 µs …\n", "cp1252", "A -> B <= 3 µs …\n"),
        ("├─ “é” 漢", "ascii", '+- "e" ?'),
        ("├─ “é” 漢", "cp437", '├─ "é" ?'),
        ("\x1b[2J\x9b\u202e\udcff\r", "utf-8", "\\x1b[2J\\x9b\\u202e\\udcff\\x0d"),
    ],
)
def test_how_it_is_written(text: str, encoding: str, expected: str) -> None:
    assert written(text, encoding) == expected


class Failing(io.StringIO):
    def __init__(self, wrong: Exception) -> None:
        super().__init__()
        self.wrong = wrong

    def write(self, _text: str) -> int:
        raise self.wrong


def test_output_that_cannot_be_written_is_lost_and_talk_is_not_missed() -> None:
    for wrong in (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), ValueError("closed file")):
        with pytest.raises(Lost, match=r"No space left on device|closed file"):
            Stream(Failing(wrong), must=True).write("x")
        Stream(Failing(wrong), must=False).write("x")
    with pytest.raises(Lost, match="it is closed"):
        Stream(None, must=True).write("x")
    Stream(None, must=True).flush()
    Stream(None, must=False).write("x")
    with pytest.raises(BrokenPipeError):
        Stream(Failing(BrokenPipeError()), must=True).write("x")


def test_an_unknown_encoding_is_ascii() -> None:
    inner = io.StringIO()
    assert Stream(inner, must=True).encoding == "ascii"
    Stream(inner, must=True).write("→")
    assert inner.getvalue() == "->"


def test_the_streams_of_the_process_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    before = sys.stdout, sys.stderr
    with guarded():
        assert sys.stdin.read() == ""
        assert isinstance(sys.stdout, Stream)
        with unguarded():
            assert (sys.stdout, sys.stderr) == before
        assert isinstance(sys.stderr, Stream)
    assert (sys.stdin, sys.stdout, sys.stderr) == (None, *before)


def test_detach_output_without_a_descriptor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    detach_output()


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_documents_stay_what_they_say(monkeypatch: pytest.MonkeyPatch, encoding: str) -> None:
    meant = {"a": "→ é 𝟙 \u202e\x9b\x1b \n \ud800"}
    octets = io.BytesIO()
    stream = Stream(io.TextIOWrapper(octets, encoding, newline=""), must=True)
    monkeypatch.setattr(sys, "stdout", cast("TextIO", stream))
    print_json(json.dumps(meant, ensure_ascii=False))
    stream.flush()
    answer = octets.getvalue()
    assert json.loads(answer) == meant
    assert answer.isascii() == (encoding != "utf-8")
    octets.seek(0)
    octets.truncate()
    print_svg("<svg>→ é 𝟙</svg>")
    stream.flush()
    assert ET.fromstring(octets.getvalue()).text == "→ é 𝟙"


def test_a_line_of_progress_keeps_its_carriage_return(monkeypatch: pytest.MonkeyPatch) -> None:
    inner = io.StringIO()
    monkeypatch.setattr(sys, "stderr", Stream(inner, must=False))
    progress_stream().write("\r1/30 points")
    sys.stderr.write("\rx\n")
    assert inner.getvalue() == "\r1/30 points\\x0dx\n"
