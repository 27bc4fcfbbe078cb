"""Completions on another CQ, polled already, or with a wr_id that is not unique."""

from rdmalab.command import Noun, Thing
from rdmalab.doctor.call import Call
from rdmalab.doctor.case import Case
from rdmalab.doctor.facts import event_waiters
from rdmalab.doctor.facts.event_waiters import EventWaiter
from rdmalab.doctor.facts.thread_waits import ThreadWait, looked_at, of_program, thread_wait
from rdmalab.doctor.finding import (
    NA,
    Evidence,
    Finding,
    Fix,
    check,
    fact,
    fail,
    ok,
    unknown,
    warn,
)
from rdmalab.doctor.fixes import simple_fixes
from rdmalab.doctor.future import goes_on
from rdmalab.doctor.subject import Sort, Subject
from rdmalab.doctor.work.receive import Receive
from rdmalab.doctor.work.send import CqePlace, Send
from rdmalab.hca.cq import CompletionQueue
from rdmalab.hca.wqe import Cqe
from rdmalab.spec.completions import Arm
from rdmalab.spec.programs import ProgramState
from rdmalab.spec.records import Kind, Record, event_of, kind_of, wqe_of
from rdmalab.spec.statuses import WCStatus
from rdmalab.views import fmt
from rdmalab.world.program_state import Program
from rdmalab.world.programs import programs_of


# ------------------------------------------------------------ wrong-cq
# wrong-cq: the completion lies on another completion queue than the one that is polled.
@check("wrong-cq")
def wrong_cq(case: Case) -> Finding:
    """Whether others were polled since the completion came, in vain, and this one never was."""
    work = case.send or case.receive
    if work is None or work.added is None or not case.asked:
        return NA
    if work.polled is not None:
        return ok("its completion was polled", work.polled.event)
    place, node = work.added, case.node
    if place.event < case.log.begins:
        return unknown("the log does not keep the polls since then")
    polls = [c for c in case.log.calls("poll_cq", node) if c.event > place.event]
    if any(c.thing[1] == place.cq for c in polls):
        return ok("its queue is polled")
    empty_polls = [
        c for c in polls if _found_nothing(case, c) and _is_meant(case, place, c.thing[1])
    ]
    name = case.name(Noun.CQ, node, place.cq)
    if not empty_polls or not case.at_rest:
        return _slept(case, place, name)
    polled = case.name(Noun.CQ, node, empty_polls[-1].thing[1])
    many = f" for the {len(empty_polls)}th time" if len(empty_polls) > 3 else ""
    succeeded = place.cqe.status is WCStatus.SUCCESS
    return (fail if succeeded else warn)(  # of what failed, that is the trouble
        fact(f"its completion is on {name}", place.event),
        fact(
            f"{empty_polls[-1].program or 'a call'} polled {polled}{many} and got none",
            empty_polls[-1].event,
        ),
        fact(f"no call has polled {name} since then"),
        cure=Fix([f"poll_cq {name}"]),
    )


def _slept(case: Case, place: CqePlace, name: str) -> Finding:
    """Of a completion that was not polled for whether a thread sleeps for it elsewhere."""
    for waits in _blocked_threads(case, place) if case.at_rest else ():
        return fail(fact(f"its completion is on {name}", place.event), waits.words(),
                    cure=Fix([f"poll_cq {name}"]))  # fmt: skip
    return ok("nothing polls another queue for it")


def _blocked_threads(case: Case, place: CqePlace) -> list[ThreadWait]:
    """The threads that wait for another completion queue, and can only mean this work."""
    others = {Thing(Noun.CQ, case.node, number) for number in case.hca.cqs.items
              if number != place.cq and _is_meant(case, place, number)}  # fmt: skip
    waiting = (of_program(case, program) for program in programs_of(case.world))
    return [waits for waits in waiting if waits is not None and others.intersection(waits.cqs)]


def _found_nothing(case: Case, call: Call) -> bool:
    return all(kind_of(record) is not Kind.CQE_POLLED for record in case.log.within(call.event))


def _is_meant(case: Case, place: CqePlace, polled: int) -> bool:
    """Whether a poll of that CQ can only be meant for this work: it is the other CQ of the queue
    pair, or no other work completes there.
    """
    qp = case.qp
    if qp is not None and polled in (qp.send_cq, qp.recv_cq):
        return True
    return not case.log.about(Kind.CQE_ADDED, Thing(Noun.CQ, case.node, polled)) and not any(
        polled in (other.send_cq, other.recv_cq) and other.number != place.cqe.qp_num
        for other in case.hca.qps.items.values()
    )


# ------------------------------------------------------------ already-polled
# already-polled: another thread polled the completion that its thread waits for.
@check("already-polled")
def already_polled(case: Case) -> Finding:
    """Whether the program that posted it still waits where another one has polled it away."""
    work = case.send or case.receive
    if case.program is not None:
        return _taken_before(case)
    if work is None or work.polled is None or work.posted is None:
        return NA
    poster = case.log.asked(work.posted)[1]
    thing = case.names.find(poster) if poster else None
    taker = work.polled.program
    if thing is None or poster == taker:
        return ok("the program that posted it has polled it", work.polled.event)
    program = _waiting(case, thing, work.polled.cq)
    if program is None or goes_on(case.session, thing):
        return ok(f"{poster} does not wait for it")
    name = case.name(Noun.CQ, case.node, work.polled.cq)
    return fail(
        fact(f"{taker or 'a call'} polled it from {name}", work.polled.event),
        fact(f"{poster}, which posted it, waits in {program.line.text}", work.posted),
        cure=_already_polled_cure(case),
        since=work.polled.event,
    )


def _taken_before(case: Case) -> Finding:
    """Of a thread that only waits, at rest, whether others took all that came to its queue."""
    waits = thread_wait(case)
    posts = waits is not None and any("post_" in line.text for line in waits.program.lines)
    for cq in waits.cqs if waits is not None and not posts else ():
        begun = case.log.created(case.subject.thing)
        since = case.log.begins if begun is None else begun
        taken = [event_of(r) for _, r in case.log.about(Kind.CQE_POLLED, cq) if event_of(r) > since]
        by = [(event, case.log.asked(event)[1]) for event in taken]
        if waits is not None and by and waits.name not in (name for _, name in by):
            event, name = by[-1]
            return fail(
                fact(f"{name or 'a call'} polled the last of "
                     f"{fmt.count(len(by), 'completion')} from {case.names.of(cq)}", event),
                waits.words(), since=event,
                cure=Fix(program="let one thread poll the queue, and notify the others by wr_id"),
            )  # fmt: skip
    return ok("no other thread polled the completion it waits for")


def _waiting(case: Case, thing: Thing, cq: int) -> Program | None:
    """The program, if it waits for a completion of this queue."""
    program = case.world.nodes[thing.node].tables[Noun.PROGRAM].items.get(thing.number)
    if program is None or program.state in (ProgramState.DONE, ProgramState.FAILED):
        return None
    asked = Case(case.session, Subject(Sort.PROGRAM, thing), case.log, asked=case.asked)
    looks = program.line.word == "poll" or program.state is ProgramState.WAITING
    return program if looks and Thing(Noun.CQ, thing.node, cq) in looked_at(asked) else None


def _already_polled_cure(case: Case) -> Fix:
    """The same work once more, for its thread to poll. The program must keep only one poller."""
    program = "let one thread poll the queue, and notify the others by wr_id"
    if case.send is not None and case.send.wqe is not None and case.qp is not None:
        return Fix(simple_fixes.again(case, case.qp, case.send.wqe.wr))
    return Fix(program=program)


# ------------------------------------------------------------ wr-id-ambiguous
# wr-id-ambiguous: several requests go by the same number, and so will their completions.
@check("wr-id-ambiguous")
def wr_id_ambiguous(case: Case) -> Finding:
    """Whether other requests of its queue that are not polled yet have the same wr_id."""
    work = case.send or case.receive
    if work is None or work.wqe is None or work.polled is not None or not case.asked:
        return NA
    serials = _outstanding(case, work)
    if len(serials) < 2:
        return ok("no other that is outstanding has its wr_id")
    return warn(*_evidence(case, work, serials), cure=_wr_id_ambiguous_cure(case))


def _outstanding(case: Case, work: Send | Receive) -> list[int]:
    """Serials of those with its wr_id that will have a completion, or whose completion waits."""
    wr_id = case.subject.wr_id
    waiting = {cqe.serial for cq in case.hca.cqs.items.values() for cqe in cq.cqes
               if cqe.wr_id == wr_id and _is_of(case, cqe)}  # fmt: skip
    return sorted(waiting | {serial for serial, named in _queued(work) if named == wr_id})


def _queued(work: Send | Receive) -> list[tuple[int, int]]:
    """Serial and wr_id of what is on its queue and will have a completion."""
    if isinstance(work, Receive):
        return [(w.serial, w.wr.wr_id) for w in (work.queue.wqes if work.queue is not None else ())]
    if work.qp is None:
        return []
    done, wqes = work.qp.comp.serial, work.qp.sq.wqes.values()
    return [(w.serial, w.wr.wr_id) for w in wqes if w.signaled and w.serial >= done]


def _is_of(case: Case, cqe: Cqe) -> bool:
    """It is of the same queue."""
    if cqe.is_send is not (case.send is not None):
        return False
    shared = case.receive is not None and case.receive.shared
    return (cqe.srq if shared else cqe.qp_num) == case.subject.thing.number


def _evidence(case: Case, work: Send | Receive, serials: list[int]) -> list[Evidence]:
    kind = Kind.SEND_POSTED if isinstance(work, Send) else Kind.RECV_POSTED
    kind = Kind.SRQ_POSTED if isinstance(work, Receive) and work.shared else kind
    posts: list[Record] = [r for _, r in case.log.about(kind, case.subject.thing)
                           if wqe_of(r).serial in serials]  # fmt: skip
    asked = fmt.wr(case.subject.wr_id)
    many = f"{len(serials)} requests that are not polled yet have {asked}"
    first = event_of(posts[0]) if posts else None
    last = [fact("the newest of them was posted here", event_of(posts[-1]))] if posts else []
    return [fact(f"{many}: a completion does not tell which", first), *last]


def _wr_id_ambiguous_cure(case: Case) -> Fix:
    """Wait for all of them: then it does not matter which is which."""
    if case.at_rest:
        return Fix(program="give each work request a wr_id of its own")
    return Fix(["run"])


# ------------------------------------------------------------ polled-once
# polled-once: one poll an event, several completions an event; the others raise none.
@check("polled-once")
def polled_once(case: Case) -> Finding:
    """Of a program blocked in get_cq_event, whether its last poll left completions in the CQ."""
    waiter = event_waiters.event_waiter(case)
    if waiter is None:
        return NA
    for cq in waiter.cqs:
        added = event_waiters.added(case, cq, cq.cqes[0]) if cq.cqes else None
        poll = _last_poll(case, cq)
        if added is None or poll is None or poll < added or cq.armed is Arm.NONE:
            continue
        if event_waiters.stays(case):
            return _found(case, waiter, cq, added)
    return ok("the last poll left no completion")


def _found(case: Case, waiter: EventWaiter, cq: CompletionQueue, added: int) -> Finding:
    name, many, poll = event_waiters.cq_name(case, cq), len(cq.cqes), _last_poll(case, cq) or 0
    polled = case.log.of(Kind.CQE_POLLED, cq.node, cq.number)
    took = fmt.count(sum(event_of(record) == poll for _, record in polled), "completion")
    _, who = case.log.asked(poll)
    return fail(
        fact(f"{fmt.count(many, 'completion')} on {name}, the oldest from here", added),
        fact(f"the last poll, of {who or 'a call'}, returned {took} and left the others", poll),
        event_waiters.wait_evidence(case, waiter),
        fact(f"{name} is armed; completions already in it raise no event",
             event_waiters.armed(case, cq)),
        cure=Fix([f"poll_cq {name} num_entries={many}"]), since=poll,
    )  # fmt: skip


def _last_poll(case: Case, cq: CompletionQueue) -> int | None:
    """The event in which a completion was handed out last."""
    found = case.log.about(Kind.CQE_POLLED, Thing(Noun.CQ, cq.node, cq.number))
    return event_of(found[-1].record) if found else None
