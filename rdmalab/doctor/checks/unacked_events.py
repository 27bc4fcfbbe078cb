"""unacked-events: what is to be destroyed waits until its events are given back."""

from rdmalab.command import Noun, Thing
from rdmalab.doctor.case import Case
from rdmalab.doctor.finding import NA, Check, Evidence, Finding, Fix, Section, fail, ok, said
from rdmalab.doctor.what_if import goes_on
from rdmalab.hca import async_events
from rdmalab.hca.cq import CompletionQueue
from rdmalab.spec.programs import ProgramState
from rdmalab.spec.records import Kind, event_of
from rdmalab.views import fmt
from rdmalab.world.relations import exists

_OF_CQ, _ASYNC = "cq-events-unacked", "async-unacked"
_NOUNS = {"destroy_cq": Noun.CQ, "destroy_qp": Noun.QP, "destroy_srq": Noun.SRQ}


def examine(case: Case) -> Finding:
    """Of a destruction that does not come back, how many events of the object are not acked."""
    wanted = _destroyed(case)
    if wanted is None:
        return NA
    many = unacked(case, wanted)
    if not many or not exists(case.world, wanted):
        return ok("its events are acknowledged by now")
    if case.program is not None and not case.at_rest and goes_on(case.session, case.subject.thing):
        return ok("they will be acknowledged, if time goes on")
    evidence = [*_taken(case, wanted, many), *_waiting(case)]
    return fail(*evidence, cure=Fix(_acks(case, wanted, many)))


def _destroyed(case: Case) -> Thing | None:
    """What the program, or the call, wants to destroy and cannot."""
    program = case.program
    if program is not None and program.state is ProgramState.WAITING and program.wants is not None:
        rule, thing = program.wants
        return thing if rule in (_OF_CQ, _ASYNC) else None
    if case.call is not None and case.call.refusal in (_OF_CQ, _ASYNC):
        noun = _NOUNS.get(case.call.verb)
        return Thing(noun, *case.call.thing) if noun is not None else None
    return None


def unacked(case: Case, thing: Thing) -> int:
    """Events of an object that were taken and not given back."""
    hca = case.world.nodes[thing.node]
    raised = sum(async_events.names(each, thing.noun, thing.number) for each in hca.async_unacked)
    cq = hca.cqs.items.get(thing.number) if thing.noun is Noun.CQ else None
    return raised + (cq.unacked if cq is not None else 0)


def _taken(case: Case, thing: Thing, many: int) -> list[Evidence]:
    """When they were taken, and how many are left."""
    kinds = (Kind.CQ_EVENT_TAKEN, Kind.ASYNC_TAKEN)
    found = sorted(each for kind in kinds for each in case.log.about(kind, thing))
    event = event_of(found[-many].record) if len(found) >= many else None
    what = f"{fmt.count(many, 'event')} of {case.names.of(thing)}"
    return [said(f"{what} taken and not acknowledged, the first of them here", event)]


def _waiting(case: Case) -> list[Evidence]:
    if case.call is not None:
        return [said(f"{case.call.verb} would wait for ever", case.call.event)]
    waits = case.log.about(Kind.PROGRAM_WAITED, case.subject.thing)
    name = case.names.of(case.subject.thing)
    text = case.program.line.text if case.program is not None else ""
    return [said(f"{name} waits in {text}", event_of(waits[-1].record) if waits else None)]


def _acks(case: Case, thing: Thing, many: int) -> list[str]:
    """The calls that give them back."""
    name = case.names.of(thing)
    taken = case.world.find(thing, CompletionQueue).unacked if thing.noun is Noun.CQ else 0
    acks = [f"ack_cq_events {name} nevents={taken}"] if taken else []
    return acks + [f"ack_async_event {name}"] * (many - taken)


CHECK = Check(
    19, "unacked-events", Section.QUEUE,
    question="Are there events of it that were taken and never acknowledged?",
    rule="destroying waits until every event that was taken is acknowledged",
    source="ibv_get_cq_event(3)", examine=examine,
)  # fmt: skip
