"""A completion queue without room, and events that were not acknowledged."""

from rdmalab.command import Noun, Thing
from rdmalab.doctor.case import Case
from rdmalab.doctor.finding import NA, Evidence, Finding, Fix, check, fact, fail, ok
from rdmalab.doctor.fixes import more_completions, recreate_cq, simple_fixes
from rdmalab.doctor.future import goes_on
from rdmalab.hca import async_events
from rdmalab.hca.cq import CompletionQueue
from rdmalab.hca.qp import QueuePair
from rdmalab.hca.wqe import Cqe
from rdmalab.spec.programs import ProgramState
from rdmalab.spec.records import Kind, cqe_of, event_of, send_wqe_of
from rdmalab.views import fmt
from rdmalab.world.relations import exists, find_qp


# ------------------------------------------------------------ cq-overrun
# cq-overrun: the completion came, and there was no room for it.
@check("cq-overrun")
def cq_overrun(case: Case) -> Finding:
    """Whether its completion, or any on the queue, was lost because the queue was full."""
    number, lost = _lost(case)
    if number is None:
        return NA
    if lost is None:
        return ok("no completion of it was lost")
    found = case.log.about(Kind.CQ_OVERRUN, Thing(Noun.CQ, case.node, number))
    name = case.name(Noun.CQ, case.node, number)
    cq = case.hca.cqs.items.get(number)
    evidence = [_full(case, number, event_of(found[0].record)), *_depth(case, cq)]
    ids = " ".join(dict.fromkeys(fmt.wr(cqe_of(each.record).wr_id) for each in found[:4]))
    more = " …" if len(found) > 4 else ""
    many = fmt.count(len(found), "completion")
    evidence.append(fact(f"{many} lost on {name}: {ids}{more}", event_of(found[0].record)))
    if cq is not None and cq.dead:
        evidence.append(fact(f"since then {name} is in error, and its queue pairs are in ERR"))
    cure = _cure(case, cq, lost) if cq is not None else None
    return fail(*evidence, cure=cure, since=event_of(found[0].record))


def _lost(case: Case) -> tuple[int | None, Cqe | None]:
    """The CQ, and the completion that is missed there."""
    work = case.send or case.receive
    if work is not None:
        place = work.overrun
        if place is not None:
            return place.cq, place.cqe
        return (work.added.cq, None) if work.added is not None else (None, None)
    if case.cq is None:
        return None, None
    found = case.log.about(Kind.CQ_OVERRUN, case.subject.thing)
    return case.cq.number, cqe_of(found[0].record) if found else None


def _full(case: Case, number: int, event: int) -> Evidence:
    """What lay there when it happened."""
    thing = Thing(Noun.CQ, case.node, number)
    before = [event_of(r) for _, r in case.log.about(Kind.CQE_ADDED, thing) if event_of(r) <= event]
    cq = case.hca.cqs.items.get(number)
    room = f" has room for {cq.capacity}" if cq is not None else ""
    return fact(f"{case.names.of(thing)}{room}, and was full from here",
                before[-1] if before else event)  # fmt: skip


def _depth(case: Case, cq: CompletionQueue | None) -> list[Evidence]:
    if cq is None:
        return []
    return [fact(f"the queues that complete there have {recreate_cq.needed(case, cq)} slots")]


def _cure(case: Case, cq: CompletionQueue, lost: Cqe) -> Fix:
    """Make room, and let what was lost come again."""
    qp = find_qp(case.world, cq.node, lost.qp_num)
    name = case.name(Noun.CQ, cq.node, cq.number)
    if qp is None:
        return Fix(program=f"make {name} for {recreate_cq.needed(case, cq)}, and poll in time")
    polls = [f"poll_cq {name} num_entries={len(cq.cqes)}"] if cq.cqes else []
    lines = (
        recreate_cq.recreate(case, cq, cqe=max(recreate_cq.needed(case, cq), cq.capacity + 1))
        if cq.dead
        else polls
    )
    return Fix([*lines, *_once_more(case, qp, lost, after_reset=cq.dead)])


def _once_more(case: Case, qp: QueuePair, lost: Cqe, *, after_reset: bool) -> list[str]:
    """The work whose completion was lost."""
    if not lost.is_send:
        wqe = case.receive.wqe if case.receive is not None else None
        rooms = [simple_fixes.post_recv(case, qp, wqe.wr)] if wqe is not None else []
        again = more_completions.message_again(case, qp, lost, after_reset=after_reset)
        return [*rooms, *again[-1:]] if rooms else again
    thing = Thing(Noun.QP, qp.node, qp.number)
    sent = [send_wqe_of(r).wr for _, r in case.log.about(Kind.SEND_POSTED, thing)
            if send_wqe_of(r).serial == lost.serial]  # fmt: skip
    return simple_fixes.again(case, qp, sent[-1], after_reset=after_reset) if sent else []


# ------------------------------------------------------------ unacked-events
# unacked-events: what is to be destroyed waits until its events are given back.
_OF_CQ, _ASYNC = "cq-events-unacked", "async-unacked"
_NOUNS = {"destroy_cq": Noun.CQ, "destroy_qp": Noun.QP, "destroy_srq": Noun.SRQ}


@check("unacked-events")
def unacked_events(case: Case) -> Finding:
    """Of a destruction that does not come back, how many events of the object are not acked."""
    wanted = _destroyed(case)
    if wanted is None:
        return NA
    many = unacked(case, wanted)
    if not many or not exists(case.world, wanted):
        return ok("its events are acknowledged by now")
    if case.program is not None and not case.at_rest and goes_on(case.session, case.subject.thing):
        return ok("later events of this run acknowledge them")
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
    who = case.log.asked(event)[1] if event is not None else ""
    return [
        fact(
            f"{what} taken{' by ' * bool(who)}{who} and not acknowledged, the first of them here",
            event,
        )
    ]


def _waiting(case: Case) -> list[Evidence]:
    if case.call is not None:
        return [fact(f"{case.call.verb} would wait without end", case.call.event)]
    waits = case.log.about(Kind.PROGRAM_WAITED, case.subject.thing)
    name = case.names.of(case.subject.thing)
    text = case.program.line.text if case.program is not None else ""
    return [fact(f"{name} waits in {text}", event_of(waits[-1].record) if waits else None)]


def _acks(case: Case, thing: Thing, many: int) -> list[str]:
    """The calls that give them back."""
    name = case.names.of(thing)
    taken = case.world.find(thing, CompletionQueue).unacked if thing.noun is Noun.CQ else 0
    acks = [f"ack_cq_events {name} nevents={taken}"] if taken else []
    return acks + [f"ack_async_event {name}"] * (many - taken)
