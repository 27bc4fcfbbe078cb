"""Articles about packets: wire opcodes, headers, AETH syndromes."""

from collections.abc import Iterator
from functools import partial

from rdmalab.guide.article import Article, Row, article
from rdmalab.guide.entry import About, Entry, Sort
from rdmalab.guide.sentences import note, sentence
from rdmalab.guide.work import packets_of
from rdmalab.spec.opcodes import BY_LABEL, OPCODES, Op, Opcode
from rdmalab.spec.refusals import REFUSALS, REQUESTER_STATUS, VALUE_MASK, Syndrome
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import WORK
from rdmalab.wire import headers
from rdmalab.wire.header import Field, Header

HEADERS: dict[str, type[Header]] = {
    name.lower(): cls
    for name, cls in vars(headers).items()
    if isinstance(cls, type) and issubclass(cls, Header) and cls is not Header
}
_ICRC_BYTES = 4
FIELD = "header field"

# The last status of a requester after syndromes that do not end its work request.
_GOES_ON = {
    Syndrome.ACK: WCStatus.SUCCESS,
    Syndrome.RNR_NAK: WCStatus.RNR_RETRY_EXC_ERR,
    Syndrome.NAK_SEQUENCE: WCStatus.RETRY_EXC_ERR,
}


def entries() -> Iterator[Entry]:
    """Wire opcodes by label and code, headers, syndromes by name and value."""
    for label, codes in BY_LABEL.items():
        words = (label, *(f"{code:#04x}" for code in codes), *(f"opcode {c:#04x}" for c in codes))
        about = About(Sort.PACKET, label)
        yield Entry(f"wire {label}", "wire opcode", words, partial(opcode_article, label), about)
    for cls in HEADERS.values():
        name = cls.__name__
        yield Entry(f"header {name}", "header", (name,), partial(header_article, cls))
    for syndrome in Syndrome:
        value = f"{syndrome:#04x}"
        words = (syndrome.name, value, f"syndrome {value}")
        name = f"syndrome {syndrome.name}"
        about = About(Sort.SYNDROME, syndrome)
        yield Entry(name, "AETH syndrome", words, partial(syndrome_article, syndrome), about)


def field_entries() -> Iterator[Entry]:
    """Every field of every header."""
    for name, users in _fields().items():
        write = partial(field_article, name, users)
        yield Entry(f"{FIELD} {name}", FIELD, (name,), write)


def opcode_article(label: str) -> Article:
    """One opcode of the BTH, for every service that has it."""
    rows_of = [OPCODES[code] for code in BY_LABEL[label]]
    first = rows_of[0]
    makers = [opcode.name for opcode, work in WORK.items() if label in packets_of(work)]
    rows: list[Row] = [
        ("", note(first.op)),
        ("codes", ", ".join(f"{o.service.name} {o.code:#04x}" for o in rows_of)),
        ("headers", [f"{o.service.name}: {_headers(o)}" for o in rows_of]),
        ("place", _place(first)),
        ("from", f"post_send {' '.join(makers)}" if makers else ""),
    ]
    see = [f"explain {HEADERS[name].__name__}" for name in ("bth", *first.headers)]
    kind = "request on the wire" if first.request else "response on the wire"
    return article(label, "notification on the wire" if first.op is Op.CNP else kind, rows, see)


def _headers(opcode: Opcode) -> str:
    """`BTH 12 + RETH 16 + payload + ICRC 4`, by the declared headers."""
    parts = [f"{HEADERS[n].__name__} {HEADERS[n].LENGTH}" for n in ("bth", *opcode.headers)]
    return " + ".join([*parts, "payload", f"ICRC {_ICRC_BYTES}"]) + " bytes"


def _place(opcode: Opcode) -> str:
    if opcode.starts and opcode.ends:
        return "the whole message"
    if opcode.starts:
        return "begins a message; exactly path_mtu bytes"
    return "ends a message" if opcode.ends else "inside a message; exactly path_mtu bytes"


def header_article(cls: type[Header]) -> Article:
    """One header, field by field."""
    rows: list[Row] = [("", cls.ABOUT)]
    rows += [(field.name, _place_of(field)) for field in cls.FIELDS]
    users = [label for label, codes in BY_LABEL.items() if _carries(codes[0], cls)]
    rows.append(("in", " ".join(users)))
    return article(cls.__name__, f"header, {cls.LENGTH} bytes", rows)


def _fields() -> dict[str, list[type[Header]]]:
    """The headers of each field name."""
    found: dict[str, list[type[Header]]] = {}
    for cls in HEADERS.values():
        for field in cls.FIELDS:
            found.setdefault(field.name, []).append(cls)
    return found


def field_article(name: str, users: list[type[Header]]) -> Article:
    """One field of the headers that have it."""
    places = [
        f"{cls.__name__}: {_place_of(next(f for f in cls.FIELDS if f.name == name))}"
        for cls in users
    ]
    rows: list[Row] = [("", sentence("header_field", name)), ("place", places)]
    see = [f"explain {cls.__name__}" for cls in users]
    return article(name, FIELD, rows, see)


def _carries(code: int, cls: type[Header]) -> bool:
    return any(HEADERS[name] is cls for name in OPCODES[code].headers)


def _place_of(field: Field) -> str:
    """`24 bits at byte 9`; within a byte also the bit, where 7 is the first on the wire."""
    byte, bit = divmod(field.offset, 8)
    width = "1 bit" if field.bits == 1 else f"{field.bits} bits"
    return f"{width} at byte {byte}" + (f", bit {7 - bit}" if bit or field.bits < 8 else "")


def syndrome_article(syndrome: Syndrome) -> Article:
    """One syndrome of an AETH."""
    asked = [row.name for row in REFUSALS.values() if row.syndrome is syndrome]
    last = f"{syndrome | VALUE_MASK:#04x}"
    codes = syndrome in (Syndrome.ACK, Syndrome.RNR_NAK)
    ends = REQUESTER_STATUS.get(syndrome)
    later = _GOES_ON.get(syndrome)
    rows: list[Row] = [
        ("", note(syndrome)),
        ("values", f"{syndrome:#04x} to {last}" if codes else ""),
        ("refusals", " ".join(asked)),
        ("sender", f"its request ends with {ends.name}" if ends else ""),
        ("sender", f"continues; finally {later.name}" if later else ""),
    ]
    see = ["explain AETH", "explain retry"]
    return article(syndrome.name, f"AETH syndrome {syndrome:#04x}", rows, see)
