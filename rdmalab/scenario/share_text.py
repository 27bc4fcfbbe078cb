"""A session as one word to be pasted anywhere: the saved scenario, compressed.

`rdmalab:2:` and base64url of a zlib stream, whose Adler-32 finds damage. White space inside comes
from a chat or mail program and is ignored. `rdmalab:1:`, made by older versions, is still read.
"""

import base64
import binascii
import pkgutil
import re
import zlib
from collections.abc import Callable

from rdmalab.scenario.yaml_tree import MAX_OCTETS

FORMAT = 2
LONGEST = 2 * MAX_OCTETS
"""Characters: a text that cannot be compressed is still shorter."""
HEAD = "rdmalab"
_SHAPE = re.compile(r"rdmalab:([1-9][0-9]{0,8}):([A-Za-z0-9_-]*)", re.ASCII)


class Damaged(Exception):  # noqa: N818  (it says what the text is)
    """Raised for a text that is not a complete shared session."""


def shared(scenario: str) -> str:
    """The text of a scenario as one word without blanks; `scenario_of` reads it."""
    return f"{HEAD}:{FORMAT}:{_letters(zlib.compress(scenario.encode(), 9))}"


def scenario_of(word: str) -> str:
    """The text of the scenario in a word that `shared` made; raises Damaged with the reason."""
    found = _SHAPE.fullmatch("".join(word[:LONGEST].split()))
    if found is None:
        raise Damaged(_misshapen(word))
    if (read := _READERS.get(int(found[1]))) is None:
        known = " and ".join(map(str, sorted(_READERS)))
        raise Damaged(f"format {int(found[1])} of another rdmalab; this one reads {known}")
    try:
        octets = base64.urlsafe_b64decode(found[2] + "=" * (-len(found[2]) % 4))
        text = read(octets).decode()
    except (binascii.Error, zlib.error, UnicodeDecodeError):
        raise Damaged(_DAMAGED) from None
    if _letters(octets) != found[2]:
        raise Damaged(_DAMAGED)
    return text


_DAMAGED = "the text is damaged or incomplete"


def _misshapen(word: str) -> str:
    if word.split()[:1] and word.split()[0].startswith(f"{HEAD}:"):
        return _DAMAGED
    return f"a shared session begins with {HEAD}:{FORMAT}:"


def _read_1(octets: bytes) -> bytes:
    """CRC-32, then a raw stream that was deflated with a dictionary of frequent lines."""
    words = pkgutil.get_data("rdmalab.scenario", "share_format_1.txt") or b""
    text = _inflated(zlib.decompressobj(-zlib.MAX_WBITS, words), octets[4:])
    if octets[:4] != zlib.crc32(text).to_bytes(4, "big"):
        raise Damaged(_DAMAGED)
    return text


def _read_2(octets: bytes) -> bytes:
    return _inflated(zlib.decompressobj(), octets)


_READERS: dict[int, Callable[[bytes], bytes]] = {1: _read_1, 2: _read_2}


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
