"""Values of the lab as C writes them: constants of verbs.h, strings, and names of variables."""

import errno
import re
from enum import IntEnum, IntFlag

from rdmalab.spec.c_names import ANY_PREFIX, full_name

_DECIMAL = 1 << 16  # numbers from here on are written in hexadecimal digits
_PRINTABLE = {ord(sign) for sign in map(chr, range(32, 127))} - {ord('"'), ord("\\"), ord("?")}
_LINE = 64  # bytes of a string in a line


def number(value: int) -> str:
    """An integer: `64`, `0x11111111`."""
    if value < 0 or value < _DECIMAL:
        return str(value)
    return hex(value) if value < 1 << 32 else f"UINT64_C({value:#x})"


def constant(value: int) -> str:
    """An enum's member, flags joined by |; a plain number where verbs.h has no name."""
    prefix = ANY_PREFIX.get(type(value))
    if prefix is None:
        return number(int(value))
    if isinstance(value, IntFlag):
        return _flags(int(value), value.__class__, prefix)
    return full_name(value) if isinstance(value, IntEnum) else number(int(value))


def _flags(value: int, kind: type[IntFlag], prefix: str) -> str:
    names = []
    for name, member in kind.__members__.items():
        if member.value.bit_count() == 1 and value & member.value:
            names.append(prefix + name)
            value &= ~member.value
    if value:
        names.append(hex(value))
    return " | ".join(names) or "0"


_IN_8_BITS = frozenset({
    "port_num", "timeout", "retry_cnt", "rnr_retry", "min_rnr_timer", "max_rd_atomic",
    "max_dest_rd_atomic", "en_sqd_async_notify", "alt_port_num", "alt_timeout",
})  # fmt: skip
_IN_16_BITS = frozenset({"pkey_index", "alt_pkey_index"})


def attribute_width(name: str) -> int:
    """The bits of a number in `ibv_qp_attr`."""
    return 8 if name in _IN_8_BITS else 16 if name in _IN_16_BITS else 32


def errno_name(code: int) -> str:
    """`EINVAL`."""
    return errno.errorcode.get(code, str(code))


def string(octets: bytes) -> str:
    """A string literal with these bytes; the zero that C appends is one more."""
    return f'"{_escaped(octets)}"'


def string_lines(octets: bytes) -> list[str]:
    """C string literals of these bytes, one a line."""
    return [string(octets[at : at + _LINE]) for at in range(0, len(octets), _LINE)]


def _escaped(octets: bytes) -> str:
    return "".join(chr(o) if o in _PRINTABLE else f"\\{o:03o}" for o in octets)


def variable(name: str) -> str:
    """The variable of an object: `A.qp0` is `A_qp0`."""
    return re.sub(r"\W", "_", name)
