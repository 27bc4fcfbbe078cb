"""Lines that every article adds: who does it, what the wire shows of it, what to look at.

In the commands A posted the work, B is its peer, and objects have the names of `use rc_pair`. A
session that knows its objects replaces these names.
"""

import re
from collections.abc import Callable
from enum import Enum
from typing import Any

from rdmalab.guide.article import Article, ArticleSection
from rdmalab.guide.entry import Entry, Sort
from rdmalab.guide.phrases import ranked
from rdmalab.guide.sentences import NOTHING, Usual, usual
from rdmalab.guide.sentences import wire as wire_of
from rdmalab.spec.access import Access
from rdmalab.spec.async_events import EVENTS, AsyncEvent
from rdmalab.spec.causes import Reason, reasons
from rdmalab.spec.opcodes import BY_LABEL, OPCODES
from rdmalab.spec.refusals import REFUSALS, Syndrome
from rdmalab.spec.rules import RULES, errno_name
from rdmalab.spec.states import AUTOMATIC, MOVES, STATES, QPState, QPType
from rdmalab.spec.transports import TRANSPORTS
from rdmalab.spec.work import BUILDERS, WORK, WROpcode

_LEADING = ("", "says", "when", "means", "wait")  # headings that say what it is


def kind_of(entry: Entry) -> str:
    """The kind of an entry without its number: `SRQ type = 0` is an `SRQ type`."""
    return re.sub(r"( = .*|, .*)$", "", entry.kind)


def complete(entry: Entry, article: Article) -> Article:
    """Add the rows that the article itself does not have: who and wire in front, then look at."""
    there = {section.heading for section in article.sections}
    known = usual(kind_of(entry))
    if known is None:
        return article
    front = [("who", who(entry, known)), ("wire", wire(entry, known))]
    headings = [section.heading for section in article.sections]
    at = next((n for n, name in enumerate(headings) if name not in _LEADING), len(headings))
    article.sections[at:at] = [ArticleSection(h, [t]) for h, t in front if t and h not in there]
    if "look at" not in there and (lines := command_lines(entry, known)):
        article.sections.append(ArticleSection("look at", lines))
    return article


def command_lines(entry: Entry, known: Usual) -> list[str]:
    """Ranked reasons where the table of causes has some, else the commands that show it."""
    if found := _reasons(entry):
        return ranked(found)
    if entry.about is not None and entry.about.sort in _LOOK:
        return [_LOOK[entry.about.sort](entry.about.key)]
    return [" · ".join(known.look)] if known.look else []


def _reasons(entry: Entry) -> list[Reason]:
    if entry.about is None or entry.about.sort is Sort.STATUS:  # its article has them
        return []
    sort, key = entry.about
    if isinstance(key, Enum):
        return reasons(type(key).__name__, str(key.name))
    return reasons(sort.name.lower(), str(key))


_LOOK: dict[Sort, Callable[[Any], str]] = {
    Sort.PACKET: lambda label: f"show wire opcode={label}",
    Sort.ERRNO: lambda number: f"why {errno_name(number)}",
    Sort.RULE: lambda name: f"why {errno_name(RULES[name].errno)}",
}


# --------------------------------------------------------------------------- who
def who(entry: Entry, known: Usual) -> str:
    """Sentence that says who raises, sets or sends the word of an entry."""
    if entry.about is not None and entry.about.sort in _WHO:
        return _WHO[entry.about.sort](entry.about.key)
    return known.who


def _state(state: QPState) -> str:
    by_call = any(to is state for _, _, to in MOVES)
    by_itself = any(row.to is state for row in AUTOMATIC)
    ways = ["the program, by modify_qp"] * by_call + ["the device, without a call"] * by_itself
    return "; ".join(ways)


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
def wire(entry: Entry, known: Usual) -> str:
    """Sentence on how packets show the word of an entry."""
    if entry.about is not None and entry.about.sort in _WIRE:
        return _WIRE[entry.about.sort](entry.about.key) or known.wire
    return known.wire


def _state_wire(state: QPState) -> str:
    return "packets are processed" if STATES[state].receives else "packets are dropped: not-ready"


def _type_wire(qp_type: QPType) -> str:
    row = TRANSPORTS[qp_type]
    if row.service is None:
        return "Ethernet frames without a BTH"
    answered = "acknowledged" if row.acknowledged else "never acknowledged"
    return f"BTH opcodes from {int(row.service):#04x} on; requests are {answered}"


def _event_wire(event: AsyncEvent) -> str:
    """Refusals that raise it are seen as their NAKs."""
    naks = [r.syndrome.name for r in REFUSALS.values() if r.event is event and r.syndrome]
    text = f"{' or '.join(dict.fromkeys(naks))} leaves" if naks else ""
    return text or wire_of("AsyncEvent", event.name) or "nothing: no packet shows it"


def _right_wire(right: Access) -> str:
    """Signs on the wire that it is missing: the refusals that need it."""
    if right is Access.LOCAL_WRITE:
        return _nak("receive-denied", "if the memory of a receive lacks it")
    if not any(row.remote & right for row in WORK.values()):
        return NOTHING
    key, pair = _nak("rkey", "if the key lacks it"), _nak("not-enabled", "if the QP lacks it")
    return f"{key}, {pair}"


def _nak(refusal: str, when: str) -> str:
    syndrome = REFUSALS[refusal].syndrome
    return f"{syndrome.name if syndrome is not None else 'no reply'} {when}"


def _syndrome_wire(syndrome: Syndrome) -> str:
    carriers = [label for label, codes in BY_LABEL.items() if "aeth" in OPCODES[codes[0]].headers]
    packets = carriers if syndrome is Syndrome.ACK else ["ACKNOWLEDGE"]
    return f"the AETH of {', '.join(packets)}"


_WIRE: dict[Sort, Callable[[Any], str]] = {
    Sort.STATE: _state_wire,
    Sort.TYPE: _type_wire,
    Sort.ATTRIBUTE: lambda name: wire_of("attribute", name),
    Sort.RIGHT: _right_wire,
    Sort.FLAG: lambda flag: wire_of("SendFlags", str(flag.name)),
    Sort.EVENT: _event_wire,
    Sort.SYNDROME: _syndrome_wire,
}
