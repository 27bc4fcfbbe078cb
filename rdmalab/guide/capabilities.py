"""List of what is emulated and what is not, from the tables and engines, with reasons."""

import dataclasses
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from textwrap import wrap

from rdmalab.guide.evidence import AREAS, Device, Evidence, has_infiniband, is_admitted, only_strict
from rdmalab.spec import absent, c_library
from rdmalab.spec.limits import NO_LIMIT, QUERY_ONLY
from rdmalab.spec.opcodes import BY_LABEL, OPCODES, Service
from rdmalab.spec.profiles import CELLS, STRICT, Profile
from rdmalab.spec.rules import RULES, errno_name
from rdmalab.spec.states import ATTRIBUTES


@dataclass(slots=True)
class CapabilityRow:
    """One thing a device may do. text: the reason why not, or a remark."""

    area: str
    name: str
    emulated: bool
    text: str = ""


def rows(profile: Profile, words: Collection[str]) -> list[CapabilityRow]:
    """Everything, area by area."""
    device = Device(profile, words)
    found = [row for area in AREAS for row in _members(device, *area)]
    found += [CapabilityRow("packets", label, _arrives(device, label), _label_reason(device, label))
              for label in BY_LABEL]  # fmt: skip
    found += [*_verbs(words), *_c_functions(), *_families(device), *_infiniband_ports(device)]
    found += [*_limits(profile), *_differences(profile)]
    for row in found:
        row.text = "" if row.emulated and row.area in _PLAIN else row.text
    return found


def lines(found: list[CapabilityRow], width: int = 80) -> Iterator[str]:
    """The rows on a page: emulated ones as a list, the others with the reason."""
    for area in dict.fromkeys(row.area for row in found):
        here = [row for row in found if row.area == area]
        yield area
        plain = " ".join(row.name for row in here if row.emulated and not row.text)
        yield from wrap(plain, width, initial_indent="  ", subsequent_indent="  ")
        for row in here:
            if row.text:
                mark = "  " if row.emulated else "- "
                text = f"{mark}{row.name}: {row.text}"
                yield from wrap(text, width, initial_indent="  ", subsequent_indent="      ")
        yield ""


# --------------------------------------------------------------------------- members of enums
def _members(
    device: Device, area: str, cls: type[Enum], evidence: Evidence
) -> Iterator[CapabilityRow]:
    for member in cls:
        there = evidence(device, member)
        reason = absent.REASONS.get(cls, {}).get(member, "")
        if evidence(Device(STRICT, device.words), member):
            reason = only_strict(device)
        yield CapabilityRow(area, member.name, there, "" if there else reason)


_PLAIN = (*(title for title, *_ in AREAS), "packets", "verbs")


# --------------------------------------------------------------------------- packets, verbs
def _arrives(device: Device, label: str) -> bool:
    return any(is_admitted(device, code) for code in BY_LABEL[label])


def _label_reason(device: Device, label: str) -> str:
    if _arrives(Device(STRICT, device.words), label):
        return only_strict(device)
    row = OPCODES[BY_LABEL[label][0]]
    return absent.REASONS[Service].get(row.service, "")


def _verbs(words: Collection[str]) -> Iterator[CapabilityRow]:
    for name in words:
        yield CapabilityRow("verbs", name, emulated=True)
    for name, reason in absent.VERBS.items():
        if name not in words:
            yield CapabilityRow("verbs", name, emulated=False, text=reason)


def _c_functions() -> Iterator[CapabilityRow]:
    """Functions that compiled programs find under `rdmalab exec`."""
    area = "functions of C programs"
    for name in c_library.present():
        yield CapabilityRow(area, name, emulated=True)
    for name, row in c_library.REFUSED.items():
        yield CapabilityRow(area, name, emulated=False, text=row.reason)


# What verbs do not do on an InfiniBand port: the rule that says so, and a name.
_ETHERNET_ONLY = {"raw-ethernet": "RAW_PACKET, create_flow", "mcast-lid": "attach_mcast"}


def _infiniband_ports(device: Device) -> Iterator[CapabilityRow]:
    """Rows for the features missing on the InfiniBand ports of a device that has such ports."""
    if has_infiniband(device):
        for rule, name in _ETHERNET_ONLY.items():
            text = RULES[rule].general
            yield CapabilityRow("InfiniBand ports", name, emulated=False, text=text)


def _families(device: Device) -> Iterator[CapabilityRow]:
    for name in ("RoCEv2/IPv4", "RoCEv2/IPv6"):
        yield CapabilityRow("address families", name, emulated=True)
    there = has_infiniband(device)
    reason = "" if there else only_strict(device)
    yield CapabilityRow("address families", "InfiniBand (LRH)", there, reason)
    for name, reason in absent.FAMILIES.items():
        yield CapabilityRow("address families", name, emulated=False, text=reason)


# --------------------------------------------------------------------------- limits, profiles
def _limits(profile: Profile) -> Iterator[CapabilityRow]:
    for field in dataclasses.fields(profile.caps):
        value = getattr(profile.caps, field.name)
        reason = QUERY_ONLY.get(field.name)
        text = ("no limit" if value == NO_LIMIT else f"{value:,}") + (
            f"; nothing is refused: {reason}" if reason else ""
        )
        yield CapabilityRow("device limits", field.name, emulated=True, text=text)


def _differences(profile: Profile) -> Iterator[CapabilityRow]:
    area = f"differences of {profile.name} from {STRICT.name}"
    for name in ("batch_errnos", *CELLS):
        ours, theirs = getattr(profile, name), getattr(STRICT, name)
        if name != "qp_types" and ours != theirs:  # these have an area of their own
            words = f"{_word(ours)}, not {_word(theirs)}"
            yield CapabilityRow(area, name, emulated=True, text=words)
    for rule, errno in profile.errnos.items():
        yield CapabilityRow(area, f"rule {rule}", emulated=True, text=errno_name(errno))
    for name, row in profile.attributes.items():
        if row != ATTRIBUTES[name]:
            text = f"takes {row.takes(profile.caps)}"
            yield CapabilityRow(area, name, emulated=True, text=text)


def _word(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Enum) and isinstance(value, int):
        return str(value.name).replace("|", " ")
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {errno_name(errno)}" for key, errno in value.items()) or "none"
    if isinstance(value, frozenset):
        return ", ".join(sorted(map(_word, value))) or "none"
    if isinstance(value, tuple):
        return " ".join(map(_word, value))
    return str(value.value if isinstance(value, Enum) else value)
