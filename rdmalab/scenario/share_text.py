"""A session as one word to be pasted anywhere: the saved scenario, compressed.

`rdmalab:2:` and base64url of a zlib stream, whose Adler-32 finds damage. White space inside comes
from a chat or mail program and is ignored. `rdmalab:1:`, made by older versions, is still read.
"""

import base64
import binascii
import pkgutil
import re
import zlib
from collections.abc import Callable, Mapping
from typing import NamedTuple

from rdmalab.scenario.session_file import Damaged
from rdmalab.scenario.source import MAX_OCTETS

__all__ = ["FORMAT", "HEAD", "LONGEST", "SESSION", "WORK", "Damaged", "packed", "scenario_of",
           "shared", "unpacked", "word_in"]  # fmt: skip

FORMAT = 2
LONGEST = 2 * MAX_OCTETS
"""Characters: a text that cannot be compressed is still shorter."""
HEAD = "rdmalab"


class WordKind(NamedTuple):
    """A kind of word. head: how it begins. what: its name in errors. format: that is written.

    readers: format → what a word of it is worth, in bytes.
    """

    head: str
    what: str
    format: int
    readers: Mapping[int, Callable[[bytes], bytes]]


def packed(text: str, kind: WordKind) -> str:
    """A text as one word without blanks; `unpacked` reads it."""
    return f"{kind.head}:{kind.format}:{_letters(zlib.compress(text.encode(), 9))}"


def unpacked(word: str, kind: WordKind) -> str:
    """The text in a word that `packed` made; raises Damaged with the reason."""
    found = _SHAPE.fullmatch("".join(word[:LONGEST].split()))
    if found is None or found[1] != kind.head:
        raise Damaged(_misshapen(word, kind))
    if (read := kind.readers.get(int(found[2]))) is None:
        known = " and ".join(map(str, sorted(kind.readers)))
        raise Damaged(f"format {int(found[2])} of another rdmalab; this one reads {known}")
    try:
        octets = base64.urlsafe_b64decode(found[3] + "=" * (-len(found[3]) % 4))
        text = read(octets).decode()
    except (binascii.Error, zlib.error, UnicodeDecodeError):
        raise Damaged(_DAMAGED) from None
    if _letters(octets) != found[3]:
        raise Damaged(_DAMAGED)
    return text


def shared(scenario: str) -> str:
    """The text of a scenario as one word without blanks; `scenario_of` reads it."""
    return packed(scenario, SESSION)


def scenario_of(word: str) -> str:
    """The text of the scenario in a word that `shared` made; raises Damaged with the reason.

    word: also a link that has it.
    """
    return unpacked(word_in(word), SESSION)


def word_in(text: str) -> str:
    """The word of a session in a text: in a link of the web page it stands after the `#`."""
    link, sign, fragment = text.partition("#")
    return fragment if sign and _LINK.match(link.strip()) is not None else text


_SHAPE = re.compile(r"([a-z-]+):([1-9][0-9]{0,8}):([A-Za-z0-9_-]*)", re.ASCII)
_LINK = re.compile(r"(?:https?|file)://", re.IGNORECASE)
_DAMAGED = "the text is damaged or incomplete"


def _misshapen(word: str, kind: WordKind) -> str:
    if word.split()[:1] and word.split()[0].startswith(f"{kind.head}:"):
        return _DAMAGED
    return f"{kind.what} begins with {kind.head}:{kind.format}:"


def _read_1(octets: bytes) -> bytes:
    """CRC-32, then a raw stream that was deflated with a dictionary of frequent lines."""
    words = pkgutil.get_data("rdmalab.scenario", "share_format_1.txt") or b""
    text = _inflated(zlib.decompressobj(-zlib.MAX_WBITS, words), octets[4:])
    if octets[:4] != zlib.crc32(text).to_bytes(4, "big"):
        raise Damaged(_DAMAGED)
    return text


def _read_2(octets: bytes) -> bytes:
    return _inflated(zlib.decompressobj(), octets)


def _inflated(inflate: "zlib._Decompress", octets: bytes) -> bytes:
    """At most as many bytes as a scenario may have, so that no stream can fill the memory."""
    text = inflate.decompress(octets, MAX_OCTETS + 1)
    if len(text) > MAX_OCTETS:
        raise Damaged(f"the session is too large: a scenario has at most {MAX_OCTETS:,} bytes")
    if not inflate.eof or inflate.unused_data:
        raise Damaged(_DAMAGED)
    return text


def _letters(octets: bytes) -> str:
    return base64.urlsafe_b64encode(octets).decode().rstrip("=")


SESSION = WordKind(HEAD, "a shared session", FORMAT, {1: _read_1, 2: _read_2})
WORK = WordKind("rdmalab-work", "a submission", 1, {1: _read_2})
"""A submission of a lab."""
