"""What is wrong around one object: refused calls that name it, requests that name its key."""

from collections.abc import Iterator

from rdmalab.command import New, Noun, Ref, Thing
from rdmalab.doctor.case import Call, Case, Log, Session, Sort, Subject
from rdmalab.doctor.facts import partners
from rdmalab.doctor.moments import moments, visit
from rdmalab.doctor.refused_calls import OF_USE
from rdmalab.doctor.suspects import subject_of, suspects
from rdmalab.hca.objects import region_number, window_number
from rdmalab.world.relations import exists, users_of


def trouble_with(session: Session, log: Log, thing: Thing) -> list[Subject]:
    """All suspects of the session in which an object has a part, the worst first."""
    found = suspects(session, log, lambda _thing: True)
    return [each for each in found if _has_part(Case(session, each, log, asked=True), thing)
            or _had_part(session, log, each, thing)]  # fmt: skip


def _had_part(session: Session, log: Log, subject: Subject, thing: Thing) -> bool:
    """Whether a thing had a part in a send whose queue pair was destroyed or has lost its peer."""
    case = Case(session, subject, log, asked=True)
    if case.send is None or partners.goes_to(case, case.send)[0]:
        return False
    with visit(log, moments(session, log, subject)[0].event) as then:
        return _has_part(Case(session, subject, then, asked=True), thing)


def never_made(log: Log, name: str) -> list[Subject]:
    """The refused calls that were to make an object of this name, oldest first."""
    return [subject_of(call) for call in log.refused()
            if call.invocation is not None and name in map(str, _new(call))]  # fmt: skip


def _new(call: Call) -> list[New]:
    made = call.invocation.arguments.values() if call.invocation is not None else ()
    return [value for value in made if isinstance(value, New)]


def _has_part(case: Case, thing: Thing) -> bool:
    subject = case.subject
    if subject.sort is Sort.CALL:
        return case.call is not None and _is_named(case, case.call, thing)
    if case.qp is not None and thing == Thing(Noun.SRQ, case.qp.node, case.qp.srq):
        return True
    return subject.thing == thing or (case.send is not None and _is_needed(case, thing))


def _is_named(case: Case, call: Call, thing: Thing) -> bool:
    """Whether a call names a thing, or was refused because the thing uses what the call names."""
    named = list(_names(call.invocation.arguments if call.invocation is not None else {}))
    if case.names.of(thing) in named:
        return True
    used = case.names.find(named[0]) if named and call.refusal in OF_USE else None
    if used is None or not exists(case.world, used):
        return False
    return thing in [user for user, _ in users_of(case.world, used)]


def _names(value: object) -> Iterator[str]:
    """The names in the arguments of a call, at any depth."""
    if isinstance(value, Ref | New):
        yield str(value)
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for each in inner:
        yield from _names(each)


def _is_needed(case: Case, thing: Thing) -> bool:
    """Whether a send names a key of a thing, its address handle, or its shared receive queue."""
    wqe = case.wqe
    if wqe is None or case.send is None:
        return False
    wr, number = wqe.wr, thing.number
    local, there = case.node == thing.node, partners.goes_to(case, case.send)[0] == thing.node
    match thing.noun:
        case Noun.MR:
            own = local and number in [region_number(sge.lkey) for sge in wr.sg]
            return own or (there and region_number(wr.rkey) == number)
        case Noun.MW:
            return (there and window_number(wr.rkey) == number) or (local and wr.mw == number)
        case Noun.AH:
            return local and wr.ah == number
        case Noun.SRQ:
            target = partners.target(case)
            srq = case.shared_by(target) if target is not None else None
            return there and srq is not None and srq.number == number
    return False
