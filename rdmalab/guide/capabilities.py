"""List of what is emulated and what is not, from the tables and engines, with reasons."""

import dataclasses
import importlib
import pkgutil
from collections.abc import Callable, Collection, Iterator, Mapping
from enum import Enum
from functools import cache
from importlib.abc import InspectLoader
from textwrap import wrap
from types import CodeType, FunctionType
from typing import Any, NamedTuple

from rdmalab import hca as engines
from rdmalab import spec as book
from rdmalab.hca import admission, extended, requester, send_checks
from rdmalab.hca.qp import Capacity, QueuePair
from rdmalab.hca.wr import SendWR
from rdmalab.spec import absent, c_library, work
from rdmalab.spec.access import UNSUPPORTED, Access, MWType, Rereg
from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.builders import InitMask
from rdmalab.spec.completions import WcEx
from rdmalab.spec.limits import (
    NO_LIMIT,
    PHYS_STATES,
    QUERY_ONLY,
    AtomicCap,
    DeviceCap,
    LinkLayer,
    PhysState,
    PortState,
)
from rdmalab.spec.opcodes import BY_LABEL, OPCODES, Service
from rdmalab.spec.profiles import CELLS, PROFILES, STRICT, Profile
from rdmalab.spec.refusals import REQUESTER_STATUS, Syndrome
from rdmalab.spec.row import dataclass
from rdmalab.spec.rules import RULES, errno_name
from rdmalab.spec.srq import OpenFlag, SrqAttrMask, SrqType
from rdmalab.spec.states import ATTRIBUTES, MTU, STATES, Attr, MigState, QPState, QPType
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.transports import TRANSPORTS
from rdmalab.wire.packet import Flow, Packet
from rdmalab.world.world import World


@cache
def named_members() -> frozenset[tuple[type[Enum], str]]:
    """The enum members that the code of some engine names, in a function or a table."""
    found: set[tuple[type[Enum], str]] = set()
    known = _tables_of_the_book()
    for info in pkgutil.walk_packages(engines.__path__, f"{engines.__name__}."):
        content = [
            v for v in vars(importlib.import_module(info.name)).values() if id(v) not in known
        ]
        for value in content:
            found |= {(type(member), member.name) for member in _inside(value)}
        enums = [cls for cls in content if isinstance(cls, type) and issubclass(cls, Enum)]
        used = {name for value in content for code in _codes(value) for name in _names(code)}
        found |= {(cls, member.name) for cls in enums for member in cls if member.name in used}
    return frozenset(found)


@cache
def member_names() -> frozenset[str]:
    """All names in the code of the engines, also in code that runs when a module is loaded."""
    found: set[str] = set()
    for info in pkgutil.walk_packages(engines.__path__, f"{engines.__name__}."):
        # Not the loader of the module: inside pytest that is one which has no code to show.
        spec = info.module_finder.find_spec(info.name, None)
        loader = spec.loader if spec is not None else None
        if isinstance(loader, InspectLoader) and (code := loader.get_code(info.name)) is not None:
            found.update(_names(code))
    return frozenset(found)


def _tables_of_the_book() -> set[int]:
    """The tables of `spec/`: a row there does not show that an engine implements it."""
    modules = [importlib.import_module(i.name) for i in pkgutil.walk_packages(
        book.__path__, f"{book.__name__}.")]  # fmt: skip
    return {id(v) for m in modules for v in vars(m).values() if isinstance(v, dict | tuple)}


def _inside(value: object) -> Iterator[Enum]:
    if isinstance(value, Enum):
        yield value
    elif isinstance(value, tuple | frozenset | dict) and not hasattr(value, "_fields"):
        for item in value:
            yield from _inside(item)


def _codes(value: object) -> Iterator[CodeType]:
    if isinstance(value, FunctionType):
        yield value.__code__
    elif isinstance(value, type) and value.__module__.startswith(engines.__name__):
        for item in vars(value).values():
            yield from _codes(item)


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names(inner)


_NODE = "A"


# What a type cannot be used without.
_NEEDS = {QPType.XRC_SEND: "open_xrcd", QPType.XRC_RECV: "open_xrcd"}


class Device(NamedTuple):
    """A device profile, and the commands of the lab."""

    profile: Profile
    words: Collection[str]


Evidence = Callable[[Device, Any], bool]


def only_strict(device: Device) -> str:
    """The reason of a row that the profile strict has and this device lacks."""
    return f"{STRICT.name} has it, {device.profile.name} does not"


def _named(_device: Device, member: Enum) -> bool:
    return (type(member), member.name) in named_members()


def _qp_type(device: Device, qp_type: QPType) -> bool:
    if (
        qp_type not in device.profile.qp_types
        or _NEEDS.get(qp_type, "create_qp") not in device.words
    ):
        return False
    return any(requester.BUILD.get(TRANSPORTS[qp_type].service, {}))


def _service(device: Device, service: Service) -> bool:
    return any(is_admitted(device, code) for code, row in OPCODES.items() if row.service is service)


def _work(device: Device, opcode: work.WROpcode) -> bool:
    row = work.WORK.get(opcode)
    return row is not None and any(_posted(device, t, opcode) for t in row.types)


def _posted(device: Device, qp_type: QPType, opcode: work.WROpcode) -> bool:
    """Whether a queue pair of this type accepts the opcode and its requester can execute it."""
    if not _qp_type(device, qp_type):
        return False
    hca = World({_NODE: device.profile}).nodes[_NODE]
    qp = QueuePair(_NODE, 0x11, qp_type, Capacity())
    if send_checks.check_opcode(hca, qp, SendWR(opcode=opcode), 0) is not None:
        return False
    message = work.WORK[opcode].message
    builders = requester.BUILD[TRANSPORTS[qp_type].service]
    sends = message is not None and message in builders
    if opcode is work.WROpcode.TSO:  # more than the SEND it looks like on the wire
        sends = False
    return sends or (work.WROpcode, opcode.name) in named_members()


def _completes(device: Device, opcode: work.WCOpcode) -> bool:
    does = {work.WORK[wr].wc_opcode for wr in work.WROpcode if _work(device, wr)}
    return opcode in does or (opcode >= work.WCOpcode.RECV and _named(device, opcode))


def _status(device: Device, status: WCStatus) -> bool:
    refusals = device.profile.refusals.values()
    if status in REQUESTER_STATUS.values():
        return True
    return _named(device, status) or any(row.status is status for row in refusals)


def _event(device: Device, event: AsyncEvent) -> bool:
    refusals = device.profile.refusals.values()
    if event in (AsyncEvent.PATH_MIG, AsyncEvent.PATH_MIG_ERR) and not has_infiniband(device):
        return False
    answers = device.profile.raises_responder_events
    return _named(device, event) or any(answers and row.event is event for row in refusals)


def _syndrome(device: Device, syndrome: Syndrome) -> bool:
    refusals = device.profile.refusals.values()
    return syndrome is Syndrome.ACK or any(row.syndrome is syndrome for row in refusals)


def _flag(device: Device, flag: work.WCFlags) -> bool:
    if flag is work.WCFlags.GRH:  # before every datagram
        return _qp_type(device, QPType.UD)
    if flag is work.WCFlags.IP_CSUM_OK and device.profile.caps.device_cap_flags & _CHECKSUMS:
        return True
    invalidates = flag is device.profile.with_inv_flag and _work(
        device, work.WROpcode.SEND_WITH_INV
    )
    return invalidates or (flag is not work.WCFlags.WITH_INV and _named(device, flag))


def _send_flag(device: Device, flag: work.SendFlags) -> bool:
    if flag is work.SendFlags.IP_CSUM:
        return bool(device.profile.caps.device_cap_flags & _CHECKSUMS)
    return flag.name in member_names()


def _right(device: Device, right: Access) -> bool:
    wanted = any(work.WORK[wr].remote & right for wr in work.WROpcode if _work(device, wr))
    return wanted or (_named(device, right) and not right & UNSUPPORTED)


def _window(device: Device, kind: MWType) -> bool:
    needed = DeviceCap.MEM_WINDOW if kind is MWType.TYPE_1 else DeviceCap.MEM_WINDOW_TYPE_2B
    return "alloc_mw" in device.words and _cap(device, needed) and _named(device, kind)


def _change(device: Device, change: Rereg) -> bool:
    return "rereg_mr" in device.words and bool(device.profile.rereg_changes & change)


def _srq(device: Device, kind: SrqType) -> bool:
    needs_xrc = kind is SrqType.XRC and not _cap(device, DeviceCap.XRC)
    creates = "create_srq" in device.words and not needs_xrc
    return creates and kind is not SrqType.TM and _named(device, kind)


def _srq_change(device: Device, change: SrqAttrMask) -> bool:
    fixed = change is SrqAttrMask.MAX_WR and not _cap(device, DeviceCap.SRQ_RESIZE)
    return "modify_srq" in device.words and not fixed


def _open(device: Device, _flag: OpenFlag) -> bool:
    return "open_xrcd" in device.words and _cap(device, DeviceCap.XRC)


def _flushes(device: Device, _part: work.Placement | work.Selectivity) -> bool:
    return _work(device, work.WROpcode.FLUSH)


def _builds(device: Device, flag: work.SendOps) -> bool:
    """Whether the builder exists and a QP type may have it."""
    hca = World({_NODE: device.profile}).nodes[_NODE]
    verb = next(verb for opcode, verb in work.BUILDERS.items() if opcode.name == flag.name)
    types = device.profile.qp_types
    return verb in device.words and any(extended.supported(hca, t) & flag for t in types)


def has_infiniband(device: Device) -> bool:
    """Whether the ports of the device can be InfiniBand."""
    return LinkLayer.INFINIBAND in device.profile.link_layers


def _migrates(device: Device, state: MigState) -> bool:
    """Whether a path can be in this state: only InfiniBand ports leave MIGRATED."""
    return state is MigState.MIGRATED or has_infiniband(device)


def _cap(device: Device, cap: DeviceCap) -> bool:
    if cap is DeviceCap.AUTO_PATH_MIG and has_infiniband(device):  # query_device of such a port
        return True
    return bool(device.profile.caps.device_cap_flags & cap)


# (title, enum, what shows that a member is there)
_PHYSICAL = {*PHYS_STATES.values(), *(each.down_phys_state for each in PROFILES.values())}

AREAS: tuple[tuple[str, type[Enum], Evidence], ...] = (
    ("queue pair types", QPType, _qp_type),
    ("transport services", Service, _service),
    ("queue pair states", QPState, lambda _d, state: state in STATES),
    ("queue pair attributes", Attr, lambda _d, a: any(r.mask & a for r in ATTRIBUTES.values())),
    ("path MTUs", MTU, lambda device, mtu: mtu.octets <= device.profile.caps.max_mtu),
    ("path migration states", MigState, _migrates),
    ("work requests", work.WROpcode, _work),
    ("send flags", work.SendFlags, _send_flag),
    ("completion opcodes", work.WCOpcode, _completes),
    ("completion statuses", WCStatus, _status),
    ("completion flags", work.WCFlags, _flag),
    ("acknowledge syndromes", Syndrome, _syndrome),
    ("access rights", Access, _right),
    ("asynchronous events", AsyncEvent, _event),
    ("port states", PortState, lambda _d, state: state is not PortState.NOP),
    ("physical port states", PhysState, lambda _d, s: s is not PhysState.SLEEP and s in _PHYSICAL),
    ("link layers", LinkLayer, lambda device, layer: layer in device.profile.link_layers),
    ("atomic_cap", AtomicCap, lambda device, cap: cap == device.profile.caps.atomic_cap),
    ("device_cap_flags", DeviceCap, _cap),
    ("memory window types", MWType, _window),
    ("changes of rereg_mr", Rereg, _change),
    ("shared receive queue types", SrqType, _srq),
    ("changes of modify_srq", SrqAttrMask, _srq_change),
    ("flags of open_xrcd", OpenFlag, _open),
    ("placements of FLUSH", work.Placement, _flushes),
    ("selections of FLUSH", work.Selectivity, _flushes),
    ("builders of wr_*", work.SendOps, _builds),
    ("masks of create_qp_ex", InitMask, lambda _d, bit: bool(extended.KNOWN_MASK & bit)),
    ("fields of create_cq_ex", WcEx, lambda d, f: bool(d.profile.extended_fields & f)),
)


_CHECKSUMS = DeviceCap.UD_IP_CSUM | DeviceCap.RAW_IP_CSUM


def is_admitted(device: Device, code: int) -> bool:
    """Whether the port of the device accepts packets with this opcode."""
    hca = World({_NODE: device.profile}).nodes[_NODE]
    gid = hca.gids[1]
    return admission.at_port(hca, Packet(Flow(gid, gid, 0), code, 0, 0)) is None


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
