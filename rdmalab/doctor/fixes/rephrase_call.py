"""A refused call again, with some of its arguments changed."""

from rdmalab.command import CallArguments, Invocation
from rdmalab.doctor.case import Case
from rdmalab.grammar.format import render


def arguments(case: Case, verbs: tuple[str, ...]) -> CallArguments:
    """The arguments of the call that is asked about; {} if it is none of these verbs."""
    call = case.call
    known = call is not None and call.verb in verbs and call.invocation is not None
    return dict(call.invocation.arguments) if known and call and call.invocation else {}


def otherwise(case: Case, said: CallArguments) -> list[str]:
    """The call with these arguments instead of the given ones."""
    call = case.call
    if call is None or call.invocation is None:
        return []
    changed = Invocation(call.verb, call.invocation.arguments | said)
    return [render(changed, case.session.vocabulary[call.verb])]


def with_at_most(said: CallArguments, most: dict[str, int]) -> CallArguments:
    """The same arguments, none of these beyond its limit; those in records, too."""
    return {
        name: with_at_most(value, most) if isinstance(value, dict)
        else min(value, most[name]) if name in most and isinstance(value, int)
        else value
        for name, value in said.items()
    }  # fmt: skip


def beyond(said: CallArguments, most: dict[str, int]) -> list[str]:
    """`max_inline_data=220, it has 101`: what asks for more than there is."""
    found = []
    for name, value in said.items():
        if isinstance(value, dict):
            found += beyond(value, most)
        elif name in most and isinstance(value, int) and value > most[name]:
            found.append(f"{name}={value}, it has {most[name]}")
    return found
