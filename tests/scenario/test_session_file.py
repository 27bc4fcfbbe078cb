"""A session file holds what was packed, and anything else is one sentence."""

import gzip
import json
import zlib
from hashlib import sha256
from random import Random

import pytest

from rdmalab.scenario import session_file
from rdmalab.scenario.session_file import (
    MOST_OCTETS,
    MOST_PACKED,
    Damaged,
    is_session,
    packed,
    rows_of,
    unpacked,
)
from tests.each import chance_of, drawn_numbers

HEAD: session_file.Row = {"title": "a session", "seed": "7", "nodes": {}}
ROWS: list[session_file.Row] = [
    {"do": "alloc_pd A.pd0", "at": 100},
    {"do": 'write A.mr0[0:4] ""', "bytes": "\x00\x85\u2028\xff"[:4], "at": 1 << 60},
    {"run": "until idle"},
]


def lines(*texts: str) -> bytes:
    """A file with these lines and the right sum."""
    octets = "".join(f"{text}\n" for text in texts).encode()
    last = json.dumps({"sha256": sha256(octets).hexdigest()}, separators=(",", ":"))
    return gzip.compress(octets + last.encode() + b"\n")


def reason(octets: bytes) -> str:
    with pytest.raises(Damaged) as wrong:
        list(rows_of(unpacked(octets)))
    return str(wrong.value)


def test_what_was_packed_comes_back_and_the_bytes_depend_on_nothing_else() -> None:
    octets = packed(HEAD, ROWS)
    head, *rows = rows_of(unpacked(octets))
    assert rows == ROWS
    assert {key: head[key] for key in HEAD} == HEAD
    assert packed(HEAD, ROWS) == octets
    assert is_session(octets)


def test_zcat_and_any_json_reader_show_it() -> None:
    texts = gzip.decompress(packed(HEAD, ROWS)).decode().split("\n")
    assert json.loads(texts[1]) == ROWS[0]
    assert list(json.loads(texts[4])) == ["sha256"]


@pytest.mark.parametrize("cut", [0, 1, 2, 9, 30, -9, -1])
def test_a_truncated_file_is_damaged(cut: int) -> None:
    assert "damaged" in reason(packed(HEAD, ROWS)[:cut])


@pytest.mark.parametrize(
    ("octets", "text"),
    [
        (b"", "damaged"),
        (b"rdmalab: 1", "damaged"),
        (gzip.compress(b""), "damaged"),
        (gzip.compress(b"hello\n"), "not a session file"),
        (gzip.compress(b"x" * (1 << 17)), "not a session file"),
        (lines('{"rdmalab_session":true,"octets":0}'), "not a session file"),
        (lines("[" * 50_000), "not a session file"),
        (lines('{"rdmalab_session":' + "9" * 5_000 + "}"), "not a session file"),
        (lines('{"rdmalab_session":2,"octets":0}'), "format 2 of another rdmalab"),
        (lines('{"rdmalab_session":1,"octets":-1}'), "too large"),
        (lines(f'{{"rdmalab_session":1,"octets":{MOST_OCTETS + 1}}}'), "too large"),
        (lines('{"rdmalab_session":1}'), "too large"),
        (lines('{"rdmalab_session":1,"octets":9}', "[1]"), "line 2 is not a JSON object"),
        (lines('{"rdmalab_session":1,"octets":9}', "[" * 50_000), "line 2 is not a JSON object"),
        (lines('{"rdmalab_session":1,"octets":9}') + b"more", "damaged"),
        (lines('{"rdmalab_session":1,"octets":9}') * 2, "damaged"),
        (gzip.compress(b'{"rdmalab_session":1,"octets":9}\n{"sha256":"0"}\n'), "damaged"),
        (b"\x1f\x8b" + bytes(MOST_PACKED), "too large"),
    ],
    ids=range(18),
)  # fmt: skip
def test_what_is_no_session_file_is_one_sentence(octets: bytes, text: str) -> None:
    assert text in reason(octets)
    assert is_session(octets) == text.startswith("line 2")  # whole, though wrong


def test_what_is_larger_than_its_head_says_is_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bomb: 64 MiB that pack to 64 KiB."""
    bomb = lines('{"rdmalab_session":1,"octets":10}', "x" * (64 << 20))
    asked: list[int] = []

    class Counted:
        def __init__(self, wbits: int) -> None:
            self.inner = real(wbits)

        def __getattr__(self, name: str) -> object:
            return getattr(self.inner, name)

        def decompress(self, octets: bytes, room: int) -> bytes:
            found = self.inner.decompress(octets, room)
            asked.append(len(found))
            return found

    real = zlib.decompressobj
    monkeypatch.setattr(zlib, "decompressobj", Counted)
    assert "damaged" in reason(bomb)
    assert sum(asked) < 1 << 18


def test_a_session_that_could_not_be_read_again_is_not_written() -> None:
    with pytest.raises(Damaged, match="a session file has at most"):
        packed(HEAD, [{"do": "x" * (MOST_OCTETS + 1)}])


def mutated(octets: bytes, chance: Random) -> bytes:
    """A few bytes changed, left out or added."""
    made = bytearray(octets)
    for _ in range(chance.choice((1, 1, 2, 5))):
        at = chance.randrange(len(made))
        match chance.randrange(4):
            case 0:
                made[at] ^= 1 << chance.randrange(8)
            case 1:
                made[at] = chance.randrange(256)
            case 2:
                del made[at : at + chance.randrange(1, 9)]
            case _:
                made[at:at] = chance.randbytes(chance.randrange(1, 9))
    return bytes(made)


def test_a_file_with_mutated_bytes_is_the_same_session_or_one_sentence() -> None:
    """The fields of the gzip head for a name or a time mean nothing; all else is noticed."""
    octets = packed(HEAD, [*ROWS, *({"do": f"poll_cq A.cq{n}", "at": n} for n in range(200))])
    whole, damaged = unpacked(octets), list[str]()
    numbers = drawn_numbers("mutated session files", 2_000, 50_000)
    for number in numbers:
        try:
            assert unpacked(mutated(octets, chance_of("mutated session files", number))) == whole
        except Damaged as wrong:
            damaged.append(str(wrong))
    assert all(damaged)
    assert len(damaged) > len(numbers) * 0.95
