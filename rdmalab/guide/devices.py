"""Devices: profiles and their cells, limits, capabilities, port states; and kinds of record."""

import dataclasses
import enum
from collections.abc import Iterator
from functools import partial
from typing import Any

from rdmalab.guide.article import Article, Row, article
from rdmalab.guide.entry import About, Entry, Sort, of_member, of_row
from rdmalab.guide.phrases import by_profile
from rdmalab.guide.sentences import note, read, sentence
from rdmalab.spec.c_names import PREFIX, full_name
from rdmalab.spec.limits import NO_LIMIT, PHYS_STATES, AtomicCap, DeviceCap, DeviceCaps, PortState
from rdmalab.spec.profiles import CELLS, PROFILES, STRICT
from rdmalab.spec.records import KINDS, MEANINGS, Kind
from rdmalab.spec.refusals import REFUSALS
from rdmalab.spec.rules import errno_name
from rdmalab.spec.states import ATTRIBUTES

_SHOWN = 24  # cells that an article names
_IN_HEX = ("device_cap_flags", "page_size_cap", "vendor_id")
LIMIT_NAMES = tuple(f.name for f in dataclasses.fields(DeviceCaps))


def entries() -> Iterator[Entry]:
    """Profiles, cells, limits, capabilities, port states, record kinds."""
    for name in PROFILES:
        yield of_row("profile", name, profile_article, Sort.PROFILE, "device profile")
    for name in CELLS:
        yield of_row("cell", name, cell_article, Sort.CELL, "profile cell")
    for name in LIMIT_NAMES:
        yield of_row("limit", name, limit_article, Sort.LIMIT, "device limit")
    for state in PortState:
        name = f"port {state.name}"
        yield of_member("port state", state, port_article, name, sort=Sort.PORT)
    for atomic in AtomicCap:
        yield of_member("atomic capability", atomic, atomic_article)
    for cap in DeviceCap:
        yield of_member("device capability", cap, cap_article)
    for kind in Kind:
        words = (kind.name,)
        about = About(Sort.RECORD, kind)
        yield Entry(f"record {kind.name}", "record", words, partial(record_article, kind), about)


def profile_article(name: str) -> Article:
    """One device profile: the cells in which it differs from strict."""
    profile = PROFILES[name]
    odd = [c for c in CELLS if getattr(profile, c) != getattr(STRICT, c)]
    errnos = [f"{rule} {errno_name(number)}" for rule, number in profile.errnos.items()]
    batch = [f"{rule} {errno_name(number)}" for rule, number in profile.batch_errnos.items()]
    refused = [n for n, row in profile.refusals.items() if row != REFUSALS.get(n)]
    ranges = [n for n, row in profile.attributes.items() if row != ATTRIBUTES[n]]
    rows: list[Row] = [
        ("", profile.about),
        ("cells", " ".join(odd[:_SHOWN])),
        ("", f"{len(odd)} in all: rdmalab capabilities --profile {name}" if odd[_SHOWN:] else ""),
        ("ranges", " ".join(ranges)),
        ("errnos", ", ".join(errnos)),
        ("wr_complete", ", ".join(batch)),
        ("refusals", " ".join(refused)),
        ("limits", "differ: explain max_qp_wr, …" if profile.caps != STRICT.caps else ""),
    ]
    see = [f"explain {odd[0]}"] if odd else ["explain rxe", "explain mlx5"]
    return article(name, "device profile", rows, see)


def cell_article(name: str) -> Article:
    """One difference between devices: what each profile does."""
    rows: list[Row] = [("", CELLS[name])]
    rows += [(p.name, _cell(getattr(p, name))) for p in PROFILES.values()]
    return article(name, "profile cell", rows, ["explain profile"])


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, frozenset):
        return " ".join(sorted(_words(item) for item in value)) or "none"
    if isinstance(value, enum.IntFlag) and value not in tuple(type(value)):
        return "|".join(str(flag.name) for flag in value)
    if isinstance(value, enum.IntEnum | enum.IntFlag):
        return full_name(value) if type(value) in PREFIX else value.name or ""
    return str(value.value if isinstance(value, enum.Enum) else value)


def _words(item: Any) -> str:
    """`UC`, and of several `UC:LOCAL_INV`."""
    return ":".join(part.name for part in item) if isinstance(item, tuple) else _cell(item)


def limit_article(name: str) -> Article:
    """One limit of the device, in every profile; DeviceCaps names it as the verb does."""
    users = [a for a, row in ATTRIBUTES.items() if row.limit == name]
    rows: list[Row] = [("", limit_sentence(name))]
    rows += [(p.name, _limit(name, getattr(p.caps, name))) for p in PROFILES.values()]
    rows.append(("limits", " ".join(users)))
    unqueried = name in read("sentences")["limit"]
    see = [] if unqueried else ["ibv_query_device(3)"]
    rows += [("look at", "explain profile")] if unqueried else []
    return article(name, "device limit", rows, ["explain limit", *see])


def limit_sentence(name: str) -> str:
    """Sentence that says what one limit of the device bounds, with its unit."""
    return str(sentence("limit", name) or sentence("queried_limit", name))


def _limit(name: str, value: int) -> str:
    if name == "atomic_cap":
        return full_name(AtomicCap(value))
    if value == NO_LIMIT:
        return "no limit"
    return hex(value) if name in _IN_HEX else f"{value:,}"


def port_article(state: PortState) -> Article:
    """One state of a port."""
    down = state is PortState.DOWN
    cable = by_profile(lambda p: (p.down_phys_state if down else PHYS_STATES[state]).text)
    rows: list[Row] = [("", note(state)), ("says", state.text), ("cable", cable)]
    kind = f"port state = {int(state)}"
    return article(full_name(state), kind, rows, ["explain port-down", "help link"])


def atomic_article(cap: AtomicCap) -> Article:
    """One value of atomic_cap."""
    rows: list[Row] = [
        ("", note(cap)),
        ("devices", by_profile(lambda p: full_name(AtomicCap(p.caps.atomic_cap)))),
    ]
    return article(full_name(cap), f"atomic capability = {int(cap)}", rows, ["explain atomic_cap"])


def cap_article(cap: DeviceCap) -> Article:
    """One bit of device_cap_flags."""
    having = [p.name for p in PROFILES.values() if p.caps.device_cap_flags & cap]
    rows: list[Row] = [
        ("bit", str(int(cap).bit_length() - 1)),
        ("set by", " ".join(having) or "no profile of the lab"),
    ]
    see = ["explain device_cap_flags", "ibv_query_device(3)"]
    return article(full_name(cap), "device capability", rows, see)


def record_article(kind: Kind) -> Article:
    """One kind of record in the trace."""
    row = KINDS[kind]
    a, b = MEANINGS[row.a], MEANINGS[row.b]
    about = {"any": "any object"}.get(row.noun, row.noun)
    rows: list[Row] = [
        ("reads", row.sentence.format(a=f"<{a}>", b=f"<{b}>")),
        ("about", about),
        ("a", a),
        ("b", b),
    ]
    return article(kind.name, f"record {int(kind)}", rows, ["help step"])
