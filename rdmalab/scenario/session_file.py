"""Session files: a session that is too long for YAML, packed. `zcat` shows one.

gzip (RFC 1952), which many programs read, with one JSON object a line: the head, each step with the
keys that it has in a scenario, and at last the SHA-256 of all lines before. Of a step `at` is in
ns, `by` is the program that called and where in its source, and `bytes` is what `write` or `poke`
puts into memory, a character for a byte: escaped in a line it would be four. 1,000 iterations of
ibv_rc_pingpong take 50 KiB, as YAML 950 KiB. The lines are read by the grammar and nothing is
carried out before all were checked, so no file can do what a scenario cannot: that rules out
pickle.
"""

import gzip
import json
import zlib
from collections.abc import Iterable, Iterator
from hashlib import sha256

SUFFIX = ".rdmalab"
FORMAT = 1
MAGIC = b"\x1f\x8b"
MOST_PACKED = 16 << 20
MOST_OCTETS = 64 << 20
"""Bytes after unpacking; of a step about 40, so a million calls."""
_KEY, _SIZE, _SUM = "rdmalab_session", "octets", "sha256"
_GZIP = 16 + zlib.MAX_WBITS
_HEAD = 1 << 16  # bytes in which the first line ends
_DAMAGED = "the session file is damaged or incomplete"
Row = dict[str, object]


class Damaged(Exception):  # noqa: N818  (it says what the text or the file is)
    """Raised for a text or a file that is not a complete session."""


def packed(head: Row, rows: Iterable[Row]) -> bytes:
    """A session file; raises Damaged if it would be too large to be read again."""
    body = "".join(map(_line, rows)).encode()
    first = _line({_KEY: FORMAT, _SIZE: len(body), **head}).encode()
    last = _line({_SUM: sha256(first + body).hexdigest()}).encode()
    octets = gzip.compress(first + body + last, 9, mtime=0)
    for what, size, most in (("", len(body), MOST_OCTETS), ("packed ", len(octets), MOST_PACKED)):
        if size > most:
            raise Damaged(f"{size:,} {what}bytes; a session file has at most {most:,}")
    return octets


def unpacked(octets: bytes) -> str:
    """The lines of a session file without the last; raises Damaged with the reason.

    Its size is compared with the limit before it is unpacked, and no more than that is unpacked.
    """
    if len(octets) > MOST_PACKED:
        raise Damaged(f"the session file is too large: at most {MOST_PACKED:,} bytes")
    inflate = zlib.decompressobj(_GZIP)
    try:
        begin = inflate.decompress(octets, _HEAD)
        room = _HEAD + _size_of(begin)
        lines = begin + inflate.decompress(inflate.unconsumed_tail, room)
    except zlib.error:
        raise Damaged(_DAMAGED) from None
    if not inflate.eof or inflate.unused_data:
        raise Damaged(_DAMAGED)
    end = lines.rfind(b"\n", 0, -1) + 1
    if lines[end:] != _line({_SUM: sha256(lines[:end]).hexdigest()}).encode():
        raise Damaged(_DAMAGED)
    try:
        return lines[:end].decode()
    except UnicodeDecodeError:
        raise Damaged(_DAMAGED) from None


def rows_of(text: str) -> Iterator[Row]:
    """The head and the steps, one a line; raises Damaged for a line that is no JSON object."""
    for number, line in enumerate(text.split("\n"), 1):
        if line:
            yield _row(line, number)


def is_session(octets: bytes) -> bool:
    """Whether these bytes are a whole session file; its commands are not checked."""
    if not octets.startswith(MAGIC):
        return False
    try:
        unpacked(octets)
    except Damaged:
        return False
    return True


def _size_of(begin: bytes) -> int:
    """The number of bytes that the head announces, once its format and this size are allowed."""
    line, newline, _ = begin.partition(b"\n")
    try:
        head = _row(line.decode(), 1)
    except (UnicodeDecodeError, Damaged):
        head = {}
    size, form = head.get(_SIZE), head.get(_KEY)
    if not newline and len(begin) < _HEAD:
        raise Damaged(_DAMAGED)
    if not newline or type(form) is not int:
        raise Damaged("this is not a session file of rdmalab")
    if form != FORMAT:
        raise Damaged(f"format {form} of another rdmalab; this one reads {FORMAT}")
    if type(size) is not int or not 0 <= size <= MOST_OCTETS:
        raise Damaged(f"the session file is too large: at most {MOST_OCTETS:,} bytes unpacked")
    return size


def _row(line: str, number: int) -> Row:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):  # no JSON, a number of thousands of digits, [[[[…
        row = None
    if not isinstance(row, dict):
        raise Damaged(f"line {number} is not a JSON object")
    return row


def _line(row: Row) -> str:
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n"
