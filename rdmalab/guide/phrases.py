"""Texts that many articles share: times, errnos, access flags, differences of profiles."""

import enum
from collections.abc import Callable, Iterable, Sequence

from rdmalab.spec.access import Access
from rdmalab.spec.causes import Reason
from rdmalab.spec.profiles import PROFILES, STRICT, Profile
from rdmalab.spec.rules import RULES, errno_name
from rdmalab.spec.states import ATTRIBUTES, Attr, QPType, fields_of

_SCALES = ((3_600_000_000_000, "h"), (1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us"))


def duration(time_ns: int) -> str:
    """`67.109 ms`: three decimals at most."""
    for scale, unit in _SCALES:
        if time_ns >= scale:
            return f"{time_ns / scale:.3f}".rstrip("0").rstrip(".") + f" {unit}"
    return f"{time_ns} ns"


def by_profile(value_of: Callable[[Profile], str]) -> str:
    """The value in `strict`, and in parentheses those of profiles that differ."""
    plain = value_of(STRICT)
    others = [(p.name, value_of(p)) for p in PROFILES.values()]
    odd = [f"{name}: {value}" for name, value in others if value != plain]
    return f"{plain} ({'; '.join(odd)})" if odd else plain


def errno_of(rule: str) -> str:
    """The errno of a rule, with the profiles that return another."""
    return by_profile(lambda p: errno_name(p.errnos.get(rule, RULES[rule].errno)))


def sentence_of(rule: str) -> str:
    """A rule's sentence without a case."""
    return RULES[rule].general


def named(flags: enum.IntFlag) -> str:
    """`REMOTE_WRITE or REMOTE_READ`."""
    return " or ".join(flag.name or "" for flag in flags)


def right_words(right: Access) -> str:
    """The rights of a mask, or none."""
    return named(right) or "none"


def type_names(types: Iterable[QPType]) -> str:
    """RC first; all six are `every type`."""
    wanted = set(types)
    ordered = [qp_type.name for qp_type in QPType if qp_type in wanted]
    if len(ordered) == len(QPType):
        return "every type"
    return " ".join(ordered) or "no type"


def attribute_names(mask: Attr) -> str:
    """The struct fields of a mask; the four of the alternate path as one word."""
    plain = [name for name in fields_of(mask) if ATTRIBUTES[name].mask is not Attr.ALT_PATH]
    return " ".join(plain + ["alt_*"] * bool(mask & Attr.ALT_PATH))


def ranked(reasons: Sequence[Reason]) -> list[str]:
    """`1. sentence (cause): command`, likeliest first; one alone has no number."""
    parts = [
        f"{reason.sentence}{f' ({reason.cause})' * bool(reason.cause)}: {reason.test}"
        for reason in reasons
    ]
    return parts if len(parts) == 1 else [f"{n}. {text}" for n, text in enumerate(parts, 1)]
