"""A refused call, corrected by its rule, or as a cause with a legal line."""

from typing import NamedTuple

from rdmalab.command import CallArguments, Invocation
from rdmalab.doctor.case import Case
from rdmalab.doctor.check import Check, Finding, Fix, fact, fail
from rdmalab.doctor.facts.qp_error_cause import device_end
from rdmalab.doctor.moments.future import undone_trial
from rdmalab.grammar.format import render
from rdmalab.hca.context import CLOSED, DEAD
from rdmalab.repair import commands
from rdmalab.repair.by_rule import named, suggestion
from rdmalab.session.lines import replies
from rdmalab.spec.causes import CauseRow
from rdmalab.spec.programs import BLOCKING
from rdmalab.spec.rules import RULES
from rdmalab.spec.work import SendFlags


def with_flags(wr: CallArguments, flags: SendFlags) -> CallArguments:
    """Request with these flags as well."""
    return wr | {"flags": int(wr.get("flags") or 0) | int(flags)}


def arguments(case: Case, verbs: tuple[str, ...]) -> CallArguments:
    """The arguments of the call that is asked about; {} if it is none of these verbs."""
    call = case.call
    known = call is not None and call.verb in verbs and call.invocation is not None
    return dict(call.invocation.arguments) if known and call and call.invocation else {}


def call_with(case: Case, given: CallArguments) -> list[str]:
    """The call with these arguments instead of the given ones."""
    call = case.call
    if call is None or call.invocation is None:
        return []
    changed = Invocation(call.verb, call.invocation.arguments | given)
    return [render(changed, case.session.vocabulary[call.verb])]


def clamped(call: CallArguments, most: dict[str, int]) -> CallArguments:
    """Arguments with no value above its limit; those in records, too."""
    return {
        name: clamped(value, most) if isinstance(value, dict)
        else min(value, most[name]) if name in most and isinstance(value, int)
        else value
        for name, value in call.items()
    }  # fmt: skip


def values_above(call: CallArguments, most: dict[str, int]) -> list[str]:
    """`max_inline_data=220, it has 101`: what asks for more than there is."""
    found = []
    for name, value in call.items():
        if isinstance(value, dict):
            found += values_above(value, most)
        elif name in most and isinstance(value, int) and value > most[name]:
            found.append(f"{name}={value}, it has {most[name]}")
    return found


OF_STATES = ("transition", "send-state", "recv-state")
"""Rules that refuse a call for the state of its queue pair: an earlier refused move explains it."""

OF_USE = ("in-use", "mr-window-bound")
"""Rules that refuse to destroy a thing because another one uses it."""


class Advice(NamedTuple):
    """Legal values, in words, and a legal line; both may be empty."""

    legal: str = ""
    line: str = ""


def advice(case: Case) -> Advice:
    """The legal values and a legal line for the call that is asked about, if it is refused now."""
    for line in call_with(case, {}):
        with undone_trial(case.session):
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
    again = [] if line.startswith(f"{call.verb} ") else call_with(case, {})
    back = commands.addresses(case.world, case.node) if rule == "ah-sgid-empty" else []
    cure = Fix([*back, line, *again]) if line and not line.startswith("show ") else None
    if legal and not line:
        cure = Fix(program=f"give {call.verb} what is legal: {legal}")
    end = device_end(case) if rule in (CLOSED, DEAD) else None
    found = fail(
        *([fact(end.sentence, end.event)] if end is not None else []),
        fact(call.call_text(case.session), call.event), *([fact(legal)] if legal else []),
        cure=cure, since=call.event if end is None else end.event,
    )  # fmt: skip
    return [(Check(rule, row, lambda _case: found), found)]


def _rule(case: Case) -> str:
    return case.call.refusal if case.call is not None else ""
