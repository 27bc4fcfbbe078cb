"""A refused call that no check explains: its rule as a cause, what is legal, and the line to type.

What is legal is known when the call is refused, and is not in the log: the call is made again on a
copy of the session.
"""

from typing import NamedTuple

from rdmalab.command import Noun
from rdmalab.doctor.case import Case
from rdmalab.doctor.finding import Check, Evidence, Finding, Fix, fact, fail
from rdmalab.doctor.fixes.changed_calls import otherwise
from rdmalab.doctor.future import untouched
from rdmalab.session.lines import replies
from rdmalab.spec.causes import CauseRow
from rdmalab.spec.programs import BLOCKING
from rdmalab.spec.records import Kind, channel_of, event_of
from rdmalab.spec.rules import RULES
from rdmalab.verbs.suggestions import named, suggestion

OF_STATES = ("transition", "send-state", "recv-state")
"""Rules that refuse a call for the state of its queue pair: an earlier refused move explains it."""

OF_USE = ("in-use", "mr-window-bound")
"""Rules that refuse to destroy a thing because another one uses it."""


class Advice(NamedTuple):
    """What would be legal, in words, and a line that is; both may be empty."""

    legal: str = ""
    line: str = ""


def advice(case: Case) -> Advice:
    """The legal values and a legal line for the call that is asked about, if it is refused now."""
    for line in otherwise(case, {}):
        with untouched(case.session):
            for reply in replies(case.session, line, file=True):
                refusal, made = reply.refusal, reply.invocation
                if refusal is not None and made is not None and refusal.rule == _rule(case):
                    legal = named(case.session, made, refusal.legal)
                    return Advice(legal, suggestion(case.session, reply))
    return Advice()


def by_rule(case: Case) -> list[tuple[Check, Finding]]:
    """The rule that refused the call, as a check that says so; of calls that wait nothing.

    It is the root only of a story in which no check of the list finds one.
    """
    call, rule = case.call, _rule(case)
    if call is None or rule not in RULES or rule in BLOCKING:
        return []
    legal, line = advice(case)
    row = CauseRow(
        0, "LOCAL", RULES[rule].general, f"rule of {RULES[rule].source} (explain rule {rule})",
        RULES[rule].source, station=True,
    )  # fmt: skip
    again = [] if line.startswith(f"{call.verb} ") else otherwise(case, {})
    cure = Fix([line, *again]) if line and not line.startswith("show ") else None
    if legal and not line:
        cure = Fix(program=f"give {call.verb} what is legal: {legal}")
    found = fail(
        fact(call.said(case.session), call.event), *([fact(legal)] if legal else []),
        *(_unacknowledged(case) if rule == "cq-events-ack" else []),
        cure=cure, since=call.event,
    )  # fmt: skip
    return [(Check(rule, row, lambda _case: found), found)]


def _unacknowledged(case: Case) -> list[Evidence]:
    """The completion queues of the node whose events were read and not acknowledged."""
    found = []
    for number, cq in case.hca.cqs.items.items():
        read = case.log.of(Kind.CQ_EVENT_TAKEN, case.node, number)
        if cq.unacked and read:
            name = case.name(Noun.CQ, case.node, number)
            channel = case.name(Noun.CHANNEL, case.node, channel_of(read[-1]))
            said = f"get_cq_event {channel} returned {name}, whose event is unacknowledged"
            found.append(fact(said, event_of(read[-1])))
    return found


def _rule(case: Case) -> str:
    return case.call.refusal if case.call is not None else ""
