"""Destruction: refused because other objects use a thing, or carried out with work in it."""

from rdmalab.command import Ref, Thing
from rdmalab.doctor.case import Case
from rdmalab.doctor.finding import NA, Evidence, Finding, Fix, check, fact, fail, ok
from rdmalab.doctor.fixes.rephrase_call import otherwise
from rdmalab.world.relations import exists, users_of

_MOST, _LISTED = 3, 8  # users with a line of their own; those in the line after them
_RULES = ("in-use", "mr-window-bound")


@check("in-use")
def in_use(case: Case) -> Finding:
    """Of a refused destroy call, which objects use the thing, and the calls that made them."""
    call = case.call
    if call is None or call.refusal not in _RULES or call.invocation is None:
        return NA
    named = [value for value in call.invocation.arguments.values() if isinstance(value, Ref)]
    thing = case.names.find(str(named[0])) if named else None
    if thing is None or not exists(case.world, thing):
        return ok("it has been destroyed since")
    users = [user for user, _ in users_of(case.world, thing)]
    if not users:
        return ok("nothing uses it now")
    name = case.names.of(thing)
    others = [case.names.of(user) for user in users[_MOST:]]
    many = f" and {len(others) - _LISTED} more" if len(others) > _LISTED else ""
    rest = [fact(f"{name} is also used by {', '.join(others[:_LISTED])}{many}")] if others else []
    first = _held(case, users[0], name)
    return fail(
        *[_held(case, user, name) for user in users[:_MOST]], *rest,
        cure=Fix([*_release(case, thing), *otherwise(case, {})]), since=first.event,
    )  # fmt: skip


def _held(case: Case, user: Thing, name: str) -> Evidence:
    """`A.qp0, made by A.main, uses A.cq0`, and the event in which it was made."""
    event = case.log.created(user)
    maker = case.log.asked(event)[1] if event is not None else ""
    by = f", made by {maker}," if maker else ""
    return fact(f"{case.names.of(user)}{by} uses {name}", event)


def _release(case: Case, thing: Thing) -> list[str]:
    """The lines that destroy all users of a thing, those of the users first."""
    lines: dict[str, None] = {}
    for user, verb in users_of(case.world, thing):
        lines |= dict.fromkeys(_release(case, user))
        lines[f"{verb} {case.names.of(user)}"] = None
    return list(lines)


# ------------------------------------------------------------ destroyed-with-work
@check("destroyed-with-work")
def destroyed_with_work(case: Case) -> Finding:
    """Whether it had not ended when its queue pair, or its SRQ, was destroyed."""
    work, thing = case.send or case.receive, case.subject.thing
    if work is None or work.posted is None:
        return NA
    if work.ending is not None or case.lives(thing):
        return ok("its queue was not destroyed before it was done")
    event, name = case.log.destroyed(thing), case.names.of(thing)
    if event is None:
        return NA
    return fail(
        fact("it was posted", work.posted),
        fact(f"{name} was destroyed before it was done", event),
        cure=Fix(program=f"poll its completion before destroy_{thing.noun} {name}"), since=event,
    )  # fmt: skip
