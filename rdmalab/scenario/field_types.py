"""Types of values in a scenario file; the grammar of the prompt parses them, not YAML.

Each is an annotation for pydantic: the parser of the text, and its JSON schema.
"""

import re
from typing import Annotated
from unicodedata import combining, normalize

from pydantic import BaseModel, BeforeValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from rdmalab.command import NotUnderstood, Unit
from rdmalab.grammar.expressions import parse_expression
from rdmalab.grammar.hints import listed, quoted, suggest
from rdmalab.grammar.quantities import spelled, whole
from rdmalab.guide.sentences import statements
from rdmalab.spec.limits import LinkLayer
from rdmalab.spec.profiles import PROFILES
from rdmalab.spec.rules import ERRNO_NAMES
from rdmalab.spec.states import MTU

FORMAT = 1
MAX_REPEAT = 10_000
WRONG = "wrong"
"""The type of every error made here; its context has `message`, `hint` and perhaps a `key`."""

_DAY_NS = 86_400 * 10**9
_NODE = re.compile(r"[A-Z]", re.ASCII)
_OWNED = re.compile(r"[A-Z]\.[A-Za-z_]\w*", re.ASCII)
_PARAMETER = re.compile(r"[A-Za-z_]\w{0,31}", re.ASCII)
_INCLUDED = re.compile(r"(?:\w[\w.-]*/)*\w[\w.-]*\.yaml", re.ASCII)
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}", re.ASCII)


class Printed(BaseModel, extra="forbid", use_attribute_docstrings=True):
    """Base of all parts of the documents that commands print as JSON."""


_Parts = tuple[BeforeValidator, WithJsonSchema]
"""The annotations of a type: its validator and its schema."""


def wrong(message: str, hint: str = "", key: str = "") -> PydanticCustomError:
    """The error of a validator. key: the key of the mapping at fault; empty for the value."""
    context = {"message": message, "hint": hint, "key": key}
    return PydanticCustomError(WRONG, "{message}", context)


def _text(value: object, what: str, hint: str) -> str:
    if not isinstance(value, str):
        raise wrong(f"{what} is required here", hint)
    return value


def _number(unit: Unit, low: int, high: int, hint: str) -> BeforeValidator:
    def read(value: object) -> int:
        text = _text(value, "a number", hint)
        try:
            number = whole(text, unit)
        except NotUnderstood as complaint:
            raise wrong(complaint.message, complaint.hint) from None
        if not low <= number <= high:
            raise wrong(f"{text} is out of range", f"from {spelled(low, unit)} to "
                        f"{spelled(high, unit)}")  # fmt: skip
        return number

    return BeforeValidator(read)


def number(low: int, high: int, hint: str) -> BeforeValidator:
    """A validator of a plain number in a range."""
    return _number(Unit.NUMBER, low, high, hint)


def integer(low: int, high: int, hint: str) -> _Parts:
    """The annotations of a plain number in a range."""
    parts = {"type": "integer", "minimum": low, "maximum": high}
    return number(low, high, hint), WithJsonSchema(parts)


def _named(names: list[str], what: str) -> _Parts:
    def read(value: object) -> str:
        text = _text(value, what, listed(names))
        if text not in names:
            raise wrong(f"{quoted(text)} is not {what}", suggest(text, names))
        return text

    return BeforeValidator(read), _typed(enum=names)


def _matching(pattern: re.Pattern[str], what: str, hint: str) -> _Parts:
    def read(value: object) -> str:
        text = _text(value, what, hint)
        if not pattern.fullmatch(text):
            raise wrong(f"{quoted(text)} is not {what}", hint)
        return text

    return BeforeValidator(read), _schema(type="string", pattern=f"^{pattern.pattern}$")


def _value_text(value: object) -> str:
    text = _text(value, "a text", "write it after the key, or in separate lines below a |")
    if not text.strip():
        raise wrong("a text is missing here", "write one, or leave the key out")
    return text


def _mtu(value: object) -> int:
    sizes = [str(mtu.octets) for mtu in MTU]
    text = _text(value, "an MTU", listed(sizes))
    if text not in sizes:
        raise wrong(f"{quoted(text)} is not an MTU", listed(sizes))
    return int(text)


def _version(value: object) -> int:
    if str(value) != str(FORMAT):
        shown = quoted(value) if isinstance(value, str) else "this"
        message = f"{shown} is not a version of the format that this rdmalab reads"
        raise wrong(message, f"write rdmalab: {FORMAT}")
    return FORMAT


def _statement(value: object) -> str:
    known = statements()
    hint = f"{min(known)} to {max(known)}"
    text = _text(value, "a statement", hint)
    if text not in known:
        raise wrong(f"{quoted(text)} is not a statement", hint)
    return text


def _subject(value: object) -> str:
    text = _text(value, "what why is asked about", "write A.cq0 or A.qp0.wr[7]")
    try:
        parse_expression(text)
    except NotUnderstood as wrong_there:
        raise wrong(wrong_there.message, wrong_there.hint) from None
    return text


def _schema(**parts: object) -> WithJsonSchema:
    return WithJsonSchema(parts)


def _typed(**parts: object) -> WithJsonSchema:
    """The schema of a value that may also be a parameter, `${name}`."""
    return WithJsonSchema({"anyOf": [parts, {"type": "string", "pattern": r"\$\{"}]})


_WHOLE = {"type": ["integer", "string"]}

Version = Annotated[int, BeforeValidator(_version), _schema(const=FORMAT)]
Sentence = Annotated[str, BeforeValidator(_value_text), _schema(type="string", minLength=1)]
Subject = Annotated[str, BeforeValidator(_subject), _schema(type="string", minLength=1)]
Scalar = Annotated[
    str, BeforeValidator(_value_text), _schema(type=["string", "number", "boolean"], minLength=1)
]  # fmt: skip
Number = Annotated[int, _number(Unit.NUMBER, 0, 2**64 - 1, "write 12 or 0x1f"), _schema(**_WHOLE)]
Level = Annotated[int, _number(Unit.NUMBER, 1, 3, "write 1, 2 or 3"), _schema(enum=[1, 2, 3])]
Repeat = Annotated[
    int, _number(Unit.NUMBER, 1, MAX_REPEAT, "write 8"),
    _typed(type="integer", minimum=1, maximum=MAX_REPEAT),
]  # fmt: skip
Time = Annotated[
    int, _number(Unit.NS, 0, _DAY_NS, "write 10us or 2ms"),
    _typed(type="string", pattern=r"^[0-9.]+ ?(ns|us|µs|ms|s)$", examples=["10us", "2ms"]),
]  # fmt: skip
Instant = Annotated[
    int, _number(Unit.NS, 0, 2**63 - 1, "write 12.3us, as the clock of the lab shows it"),
    _typed(type="string", pattern=r"^[0-9.]+ ?(ns|us|µs|ms|s)$", examples=["12.3us"]),
]  # fmt: skip
Rate = Annotated[
    int, _number(Unit.BITS_PER_S, 1, 10**15, "write 100Gbps"),
    _schema(type=["string", "integer"], examples=["100Gbps"]),
]  # fmt: skip
Mtu = Annotated[int, BeforeValidator(_mtu), _typed(enum=[mtu.octets for mtu in MTU])]
ProfileName = Annotated[str, *_named(list(PROFILES), "a profile")]
LayerName = Annotated[str, *_named([layer.text for layer in LinkLayer if layer], "a link layer")]
ErrnoName = Annotated[str, *_named(sorted(set(ERRNO_NAMES.values())), "an errno")]
NodeName = Annotated[str, *_matching(_NODE, "a node", "nodes are called A, B, …")]
ProgramName = Annotated[
    str, *_matching(_OWNED, "the name of a program", "write it with its node: A.tx")
]
ParameterName = Annotated[
    str, *_matching(_PARAMETER, "the name of a parameter", "letters, digits and _")
]
IncludePath = Annotated[
    str, *_matching(_INCLUDED, "a file in this folder", "write parts/pair.yaml: no .. and no /")
]
StatementId = Annotated[
    str, BeforeValidator(_statement),
    _schema(type="string", pattern="^S[0-9]{3}$", examples=["S042"]),
]  # fmt: skip


def is_word(text: str) -> bool:
    """Whether a text can be an id: letters, digits, - _ and ., at most 64 of them."""
    return _WORD.fullmatch(text) is not None


def as_word(text: str) -> str:
    """The id that a name gives: `My-Lab` of `My Lab`; `lab` if it has no letter for one."""
    plain = "".join(c for c in normalize("NFKD", text) if not combining(c))
    return re.sub(r"[^A-Za-z0-9_.]+", "-", plain).lstrip("-_.")[:64].rstrip("-") or "lab"


Word = Annotated[str, *_matching(_WORD, "a word", "letters, digits, - _ and .")]
