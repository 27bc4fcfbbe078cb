"""Whole numbers with their units, read and written exactly: no float ever touches them."""

import ipaddress
import re
from fractions import Fraction

from rdmalab.command import NOWHERE, NotUnderstood, Span, Unit
from rdmalab.grammar.hints import quoted

SCALES: dict[Unit, dict[str, int]] = {
    Unit.NUMBER: {},
    Unit.PSN: {},
    Unit.GID: {},
    Unit.MAC: {},
    Unit.BYTES: {"b": 1, "kib": 2**10, "mib": 2**20, "gib": 2**30},
    Unit.NS: {"ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": 10**9},
    Unit.BITS_PER_S: {"bps": 1, "kbps": 10**3, "mbps": 10**6, "gbps": 10**9},
    Unit.PPM: {"%": 10**4},
}
_BARE = {Unit.PPM: 10**6}  # what a number without a unit is worth, where that is not 1
_SPELLINGS = {
    Unit.NS: ((10**9, "s"), (10**6, "ms"), (10**3, "us"), (1, "ns")),
    Unit.BITS_PER_S: ((10**9, "Gbps"), (10**6, "Mbps"), (10**3, "Kbps"), (1, "bps")),
    Unit.PPM: ((10**4, "%"),),
}
_EXAMPLES = {
    Unit.NUMBER: "12 or 0x1f",
    Unit.PSN: "12 or 0x1f",
    Unit.GID: "fe80::1 or 0x1f",
    Unit.MAC: "02:00:0a:00:00:01",
    Unit.BYTES: "4096 or 4KiB",
    Unit.NS: "10us or 2ms",
    Unit.BITS_PER_S: "100Gbps",
    Unit.PPM: "0.02 or 2%",
}
_NUMBER = re.compile(
    r"(?P<sign>-?)"
    r"(?P<digits>0x[0-9a-f][0-9a-f_]*|0b[01][01_]*|[0-9][0-9_]*(?:\.[0-9]+)?)"
    r"(?:[ \t]+(?=[a-zµμ]))?(?P<unit>%|[a-zµμ]*)",
    re.IGNORECASE | re.ASCII,
)
_HTONL = re.compile(r"(?:htonl|htobe32)\(([^()]*)\)")
_MAC = re.compile(r"[0-9a-f]{1,2}(:[0-9a-f]{1,2}){5}", re.IGNORECASE | re.ASCII)
_LONGEST = 60
_HEX_FROM = 0x10000  # addresses, keys and immediates are read in hex, counts in decimal


def whole(text: str, unit: Unit = Unit.NUMBER, place: Span = NOWHERE) -> int:
    """The integer that a literal of this unit says: `0.64ms` is 640000."""
    if unit in (Unit.NUMBER, Unit.BYTES) and (match := _HTONL.fullmatch(text)):
        return swapped(whole(match[1].strip(), unit, place), 4, place)
    if unit is Unit.GID and (":" in text or text.count(".") == 3):
        return _gid(text, place)
    if unit is Unit.MAC and _MAC.fullmatch(text):
        return int("".join(part.zfill(2) for part in text.split(":")), 16)
    match = _NUMBER.fullmatch(text) if len(text) <= _LONGEST else None
    scales = SCALES[unit]
    if match is None or (match["unit"] and match["unit"].lower() not in scales):
        raise NotUnderstood(f"{quoted(text)} is not {_noun(unit)}", place, _example(unit))
    if not match["unit"] and unit is Unit.NS:
        raise NotUnderstood(f"{quoted(text)} has no unit", place, f"did you mean {text}us?")
    return _scaled(match, scales.get(match["unit"].lower(), _BARE.get(unit, 1)), unit, place)


def any_quantity(text: str, place: Span) -> int:
    """A number that carries whatever unit it likes, as in an expression."""
    match = _NUMBER.fullmatch(text)
    named = match["unit"].lower() if match else ""
    unit = next((u for u, scales in SCALES.items() if named in scales), Unit.NUMBER)
    return whole(text, unit, place)


def spelled(value: int, unit: Unit) -> str:
    """The canonical text of a number: `2ms`, `100Gbps`, `4096`."""
    if unit is Unit.GID and 0 <= value < 2**128:
        return _spelled_gid(ipaddress.IPv6Address(value))
    if unit is Unit.MAC and 0 <= value < 2**48:
        return ":".join(f"{octet:02x}" for octet in value.to_bytes(6, "big"))
    spellings = _SPELLINGS.get(unit, ())
    for scale, name in spellings:
        if abs(value) >= scale or scale == spellings[-1][0]:
            return f"{_decimal(value, scale)}{name}"
    return hex(value) if unit is Unit.NUMBER and value >= _HEX_FROM else str(value)


def _decimal(value: int, scale: int) -> str:
    """`value / scale` with all its digits and no more."""
    count, rest = divmod(abs(value), scale)
    digits = f"{rest:0{len(str(scale)) - 1}d}".rstrip("0") if rest else ""
    return f"{'-' * (value < 0)}{count}{'.' * bool(digits)}{digits}"


def _scaled(match: re.Match[str], scale: int, unit: Unit, place: Span) -> int:
    digits = match["digits"].replace("_", "")
    is_decimal = digits[1:2].lower() not in ("x", "b")
    number = Fraction(digits if is_decimal else int(digits, 0)) * scale
    if number.denominator != 1:
        what = "finer than one in a million" if unit is Unit.PPM else "not a whole number"
        raise NotUnderstood(f"{quoted(match[0])} is {what}", place, _example(unit))
    return -int(number) if match["sign"] else int(number)


def _gid(text: str, place: Span) -> int:
    """An IPv4 address stands for the GID of RoCE v2 that maps it."""
    try:
        return int(ipaddress.IPv6Address(text if ":" in text else f"::ffff:{text}"))
    except ValueError:
        raise NotUnderstood(f"{quoted(text)} is not a GID", place, _example(Unit.GID)) from None


def _spelled_gid(gid: ipaddress.IPv6Address) -> str:
    return f"::ffff:{gid.ipv4_mapped}" if gid.ipv4_mapped else str(gid)


def swapped(value: int, octets: int, place: Span) -> int:
    """The number with its bytes in the other order, as htonl on a little-endian host."""
    if not 0 <= value < 1 << 8 * octets:
        name = {2: "htons", 4: "htonl", 8: "htonll"}[octets]
        raise NotUnderstood(f"{name} takes {8 * octets} bits", place, f"{name}(0x1234)")
    return int.from_bytes(value.to_bytes(octets, "big"), "little")


_NOUNS = {
    Unit.NS: "a time",
    Unit.BITS_PER_S: "a rate",
    Unit.GID: "a GID",
    Unit.MAC: "a MAC address",
    Unit.PPM: "a probability",
}


def _noun(unit: Unit) -> str:
    return _NOUNS.get(unit, "a number")


def _example(unit: Unit) -> str:
    return f"write {_EXAMPLES[unit]}"
