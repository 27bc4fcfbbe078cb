"""What every article says besides: who does it, what the wire shows of it, what to look at.

In the commands A posted the work, B is its peer, and objects have the names of `use rc_pair`;
whoever knows the session puts the names of today in their place.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from rdmalab.guide.article import Article, Section
from rdmalab.guide.causes import (
    DROP_CAUSES,
    EVENT_CAUSES,
    REFUSAL_CAUSES,
    SYNDROME_CAUSES,
    Cause,
)
from rdmalab.guide.entry import Entry, Sort
from rdmalab.guide.phrases import ranked
from rdmalab.spec.access import Access
from rdmalab.spec.async_events import EVENTS, AsyncEvent
from rdmalab.spec.builders import BUILDERS
from rdmalab.spec.opcodes import BY_LABEL, OPCODES
from rdmalab.spec.refusals import REFUSALS, Syndrome
from rdmalab.spec.rules import RULES, errno_name
from rdmalab.spec.states import AUTOMATIC, STATES, QPState, QPType
from rdmalab.spec.transports import TRANSPORTS
from rdmalab.spec.work import WORK, SendFlags, WROpcode

_NOTHING = "nothing: the peer is not told"
_NO_PACKET = "nothing: the call returns before a packet leaves"


class Usual(NamedTuple):
    """What is the same for a whole kind of words. look: commands."""

    who: str
    wire: str
    look: tuple[str, ...]


KINDS: dict[str, Usual] = {
    "QP state": Usual("", "", ("show qp A.qp0", "query_qp A.qp0")),
    "QP type": Usual("the program, by create_qp qp_type=, for good", "", ("show qp A.qp0",)),
    "move": Usual("the program, by modify_qp", _NOTHING, ("show qp A.qp0", "query_qp A.qp0")),
    "QP attribute": Usual(
        "the program, by modify_qp", _NOTHING, ("query_qp A.qp0", "show qp A.qp0")
    ),
    "timer code": Usual(
        "the program, by modify_qp",
        "the same PSN once more, so long after the first",
        ("show qp A.qp0", "show agenda"),
    ),
    "RNR timer code": Usual("", "", ("show qp B.qp0", "show wire opcode=ACKNOWLEDGE")),
    "path MTU": Usual(
        "the program, by modify_qp path_mtu=",
        "the payload of FIRST and MIDDLE packets",
        ("show qp A.qp0", "query_port A"),
    ),
    "migration state": Usual(
        "the program sets REARM and MIGRATED, the device ARMED and MIGRATED",
        "MigReq of the BTH (`migrated`): 1 in MIGRATED, which every QP starts in; rxe sends 0",
        ("query_qp A.qp0",),
    ),
    "send opcode": Usual("", "", ("show sq A.qp0", "show wire")),
    "send flag": Usual("the program, by flags= of post_send", _NOTHING, ("show sq A.qp0",)),
    "right": Usual(
        "the program, by access= of reg_mr or bind",
        _NOTHING,
        ("show mr A.mr0", "query_qp B.qp0"),
    ),
    "completion opcode": Usual("the HCA, on a CQE", "", ("show cq A.cq0",)),
    "completion flag": Usual("the HCA, on a CQE", "", ("show cq B.cq0",)),
    "wc_flags flag": Usual(
        "the program, by wc_flags= of create_cq_ex", _NOTHING, ("show cq A.cq0",)
    ),
    "async event": Usual("the device, to whoever calls get_async_event", "", ("show events",)),
    "AETH syndrome": Usual("the responder at the peer", "", ("show wire opcode=ACKNOWLEDGE",)),
    "errno": Usual("the verb, as what it returns, at once", _NO_PACKET, ("show log last=20",)),
    "rule": Usual("", _NO_PACKET, ("show log last=20",)),
    "refusal": Usual(
        "the responder, before it executes the request",
        "",
        ("show story last=20", "show wire last=10"),
    ),
    "drop": Usual("the HCA that got the packet", "", ("show counters", "show story last=20")),
    "wire opcode": Usual("", "", ()),
    "header": Usual("", "", ("show wire last=5",)),
    "device profile": Usual(
        "whoever opens the lab: --profile, or nodes: of a scenario", "", ("show device A",)
    ),
    "profile cell": Usual("the maker of the device", "", ("show device A",)),
    "device limit": Usual("the device", _NOTHING, ("query_device A", "query_port A")),
    "device capability": Usual("the device, in device_cap_flags", _NOTHING, ("query_device A",)),
    "atomic capability": Usual("the device, in atomic_cap", _NOTHING, ("query_device A",)),
    "port state": Usual(
        "the cable, by link and port",
        "packets move in ACTIVE and in no other state",
        ("query_port A", "show port A"),
    ),
    "record": Usual("", "", ("show log last=20",)),
    "SRQ type": Usual("the program, by srq_type= of create_srq_ex", _NOTHING, ("show srq B.srq0",)),
    "SRQ attribute": Usual(
        "the program, by modify_srq", _NOTHING, ("show srq B.srq0", "query_srq B.srq0")
    ),
    "type of memory window": Usual("the program, by alloc_mw type=", _NOTHING, ("show mw B.mw0",)),
    "flag of rereg_mr": Usual("the program, by flags= of rereg_mr", _NOTHING, ("show mr A.mr0",)),
    "flush_type of FLUSH": Usual(
        "the program, by flush_type= of post_send",
        "placement of the FETH",
        ("show wire opcode=FLUSH",),
    ),
    "flush_level of FLUSH": Usual(
        "the program, by flush_level= of post_send",
        "selectivity of the FETH",
        ("show wire opcode=FLUSH",),
    ),
    "builder flag": Usual(
        "the program, by send_ops_flags= of create_qp_ex", _NOTHING, ("show qp A.qp0",)
    ),
    "creation mask": Usual(
        "the program, by comp_mask= of create_qp_ex", _NOTHING, ("show qp A.qp0",)
    ),
    "service": Usual("the type of the queue pair", "", ("show wire",)),
    "operation": Usual("requester and responder, in each packet", "", ("show wire",)),
    "place": Usual("the requester, as it cuts a message", "", ("show wire",)),
    "buffers": Usual("the opcode of the request", _NOTHING, ("show sq A.qp0", "show mr A.mr0")),
    "event kind": Usual("the table of events", _NOTHING, ("show events",)),
    "mishap": Usual("the device, by itself", _NOTHING, ("show qp A.qp0", "show story last=20")),
    "rounding": Usual(
        "the driver, in create_qp, create_cq and create_srq", _NOTHING, ("query_qp A.qp0",)
    ),
    "slots freed": Usual("the driver", _NOTHING, ("show sq A.qp0",)),
    "arming": Usual("the program, by req_notify_cq", _NOTHING, ("show cq A.cq0",)),
    "phys state": Usual(
        "the cable", "packets move in LINK_UP and in no other state", ("query_port A",)
    ),
    "link layer": Usual(
        "the port", "Ethernet frames, or InfiniBand packets from LRH to VCRC", ("query_port A",)
    ),
    "oflag": Usual("the program, by oflag= of open_xrcd", _NOTHING, ("show xrcd B.xrcd0",)),
    "flow type": Usual("the program, by type= of create_flow", _NOTHING, ("show flow B.flow0",)),
    "flow flag": Usual("the program, by flags= of create_flow", _NOTHING, ("show flow B.flow0",)),
    "program state": Usual("the program itself", _NOTHING, ("programs",)),
}

# What an attribute does to the packets; all others do nothing to them.
ATTRIBUTE_WIRE: dict[str, str] = {
    "path_mtu": "the payload of FIRST and MIDDLE packets",
    "path_mig_state": "MigReq of the BTH (`migrated`): 1 in MIGRATED, the first state; rxe sends 0",
    "qkey": "the qkey of a DETH must equal it",
    "rq_psn": "the psn of the first request that comes must equal it",
    "sq_psn": "the psn of the first request that leaves",
    "dest_qp_num": "the dest_qp of every BTH",
    "qp_access_flags": "NAK_INVALID_REQUEST answers what it does not allow",
    "ah_attr": "RoCE: MACs, IP addresses, hop limit; InfiniBand: slid, dlid, sl of the LRH",
    "pkey_index": "the pkey of every BTH",
    "max_rd_atomic": "so many READ requests leave before the first answer",
    "max_dest_rd_atomic": "NAK_INVALID_REQUEST answers a READ too many",
    "min_rnr_timer": "the timer of each RNR_NAK",
    "timeout": "so long until the same PSN leaves again",
    "retry_cnt": "the same PSN leaves retry_cnt + 1 times",
    "rnr_retry": "so many RNR_NAKs are obeyed",
    "rate_limit": "the time between two packets",
}
_FLAG_WIRE: dict[SendFlags, str] = {
    SendFlags.SOLICITED: "the bit `solicited` of the last packet",
    SendFlags.FENCE: "a pause until the answers of earlier READs are in",
    SendFlags.IP_CSUM: "the checksums of IPv4, TCP and UDP in the frame",
}
_EVENT_WIRE: dict[AsyncEvent, str] = {
    AsyncEvent.COMM_EST: "the first packet of the peer",
    AsyncEvent.PORT_ERR: "nothing leaves or comes any more",
    AsyncEvent.PORT_ACTIVE: "packets move again",
    AsyncEvent.DEVICE_FATAL: "nothing leaves, nothing is answered",
}


_LEADING = ("", "says", "when", "means", "wait")  # headings that say what it is


def kind_of(entry: Entry) -> str:
    """The kind of an entry without its number: `SRQ type = 0` is an `SRQ type`."""
    return re.sub(r"( = .*|, .*)$", "", entry.kind)


def complete(entry: Entry, said: Article) -> Article:
    """Add the rows that the article itself does not have: who and wire in front, then look at."""
    there = {section.heading for section in said.sections}
    usual = KINDS.get(kind_of(entry))
    if usual is None:
        return said
    front = [("who", who(entry, usual)), ("wire", wire(entry, usual))]
    headings = [section.heading for section in said.sections]
    at = next((n for n, name in enumerate(headings) if name not in _LEADING), len(headings))
    said.sections[at:at] = [Section(h, [t]) for h, t in front if t and h not in there]
    if "look at" not in there and (lines := look_lines(entry, usual)):
        said.sections.append(Section("look at", lines))
    return said


def look_lines(entry: Entry, usual: Usual) -> list[str]:
    """Ranked causes where the table of causes has some, else the commands that show it."""
    key = entry.about.key if entry.about else None
    causes: tuple[Cause, ...] = ()
    if entry.about is not None:
        causes = _CAUSES.get(entry.about.sort, {}).get(key, ())
    if causes:
        return ranked(causes)
    if entry.about is not None and entry.about.sort in _LOOK:
        return [_LOOK[entry.about.sort](key)]
    return [" · ".join(usual.look)] if usual.look else []


_LOOK: dict[Sort, Callable[[Any], str]] = {
    Sort.PACKET: lambda label: f"show wire opcode={label}",
    Sort.ERRNO: lambda number: f"why {errno_name(number)}",
    Sort.RULE: lambda name: f"why {errno_name(RULES[name].errno)}",
}
_CAUSES: dict[Sort, Mapping[Any, tuple[Cause, ...]]] = {
    Sort.EVENT: EVENT_CAUSES,
    Sort.SYNDROME: SYNDROME_CAUSES,
    Sort.REFUSAL: REFUSAL_CAUSES,
    Sort.DROP: DROP_CAUSES,
}


# --------------------------------------------------------------------------- who
def who(entry: Entry, usual: Usual) -> str:
    """Who raises, sets or sends it."""
    if entry.about is not None and entry.about.sort in _WHO:
        return _WHO[entry.about.sort](entry.about.key)
    return usual.who


def _state(state: QPState) -> str:
    by_itself = any(row.to is state for row in AUTOMATIC)
    return "the program, by modify_qp" + "; the device, by itself" * by_itself


def _opcode(opcode: WROpcode) -> str:
    builder = BUILDERS.get(opcode)
    return "the program, by post_send" + (f" or {builder}" if builder else "")


def _packet(label: str) -> str:
    request = OPCODES[BY_LABEL[label][0]].request
    return "the requester, for a work request" if request else "the responder, to a request"


_NOUNS = {"qp": "a QP", "cq": "a CQ", "srq": "an SRQ", "wq": "a WQ", "port": "its port"}


def _event(event: AsyncEvent) -> str:
    about = _NOUNS.get(EVENTS[event].noun, "itself")
    return f"the device, about {about}; get_async_event fetches it"


_WHO: dict[Sort, Callable[[Any], str]] = {
    Sort.STATE: _state,
    Sort.OPCODE: _opcode,
    Sort.PACKET: _packet,
    Sort.EVENT: _event,
}


# --------------------------------------------------------------------------- the wire
def wire(entry: Entry, usual: Usual) -> str:
    """What packets show of it."""
    if entry.about is not None and entry.about.sort in _WIRE:
        return _WIRE[entry.about.sort](entry.about.key) or usual.wire
    return usual.wire


def _state_wire(state: QPState) -> str:
    return "packets are processed" if STATES[state].receives else "packets are dropped: not-ready"


def _type_wire(qp_type: QPType) -> str:
    row = TRANSPORTS[qp_type]
    if row.service is None:
        return "Ethernet frames without a BTH"
    answered = "answered" if row.acknowledged else "answered by nobody"
    return f"BTH opcodes from {int(row.service):#04x} on; requests are {answered}"


def _event_wire(event: AsyncEvent) -> str:
    """Refusals that raise it are seen as their NAKs."""
    naks = [r.syndrome.name for r in REFUSALS.values() if r.event is event and r.syndrome]
    said = f"{' or '.join(dict.fromkeys(naks))} leaves" if naks else ""
    return said or _EVENT_WIRE.get(event, "nothing: no packet tells of it")


def _right_wire(right: Access) -> str:
    """How the peer sees that it is lacking: by the refusals that ask for it."""
    if right is Access.LOCAL_WRITE:
        return _nak("receive-denied", "where the memory of a receive lacks it")
    if not any(row.remote & right for row in WORK.values()):
        return _NOTHING
    key, pair = _nak("rkey", "where the key lacks it"), _nak("not-enabled", "where the QP does")
    return f"{key}, {pair}"


def _nak(refusal: str, when: str) -> str:
    syndrome = REFUSALS[refusal].syndrome
    return f"{syndrome.name if syndrome is not None else 'silence'} {when}"


def _syndrome_wire(syndrome: Syndrome) -> str:
    carriers = [label for label, codes in BY_LABEL.items() if "aeth" in OPCODES[codes[0]].headers]
    said = carriers if syndrome is Syndrome.ACK else ["ACKNOWLEDGE"]
    return f"the AETH of {', '.join(said)}"


_WIRE: dict[Sort, Callable[[Any], str]] = {
    Sort.STATE: _state_wire,
    Sort.TYPE: _type_wire,
    Sort.ATTRIBUTE: lambda name: ATTRIBUTE_WIRE.get(name, ""),
    Sort.RIGHT: _right_wire,
    Sort.FLAG: lambda flag: _FLAG_WIRE.get(flag, ""),
    Sort.EVENT: _event_wire,
    Sort.SYNDROME: _syndrome_wire,
}
