"""`why` alone: everything that is wrong, each subject at its own moment; the first cause first."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import islice

from rdmalab.command import NotUnderstood, Noun, Thing, is_query
from rdmalab.doctor.asking.questions import examples
from rdmalab.doctor.asking.subjects import subjects
from rdmalab.doctor.asking.suspects import suspects, unreported
from rdmalab.doctor.case import Case
from rdmalab.doctor.check import ChecklistSection
from rdmalab.doctor.diagnosis.diagnose import origin, unique
from rdmalab.doctor.diagnosis.examination import (
    Examination,
    best_of,
    has_gone_on,
    is_over,
    looks_at,
    report_of_now,
)
from rdmalab.doctor.diagnosis.healthy_checks import looked_at, unread_errors
from rdmalab.doctor.evidence.components import Component
from rdmalab.doctor.evidence.finding import Evidence, fact
from rdmalab.doctor.evidence.log import Log
from rdmalab.doctor.evidence.made_good import is_made_good
from rdmalab.doctor.evidence.outcome import Status, SubjectOutcome
from rdmalab.doctor.evidence.subject import Sort, Subject
from rdmalab.doctor.evidence.work_of_queues import Wanted, latest, qps_of, under_way
from rdmalab.doctor.facts.thread_waits import event_waiter, of_program
from rdmalab.doctor.facts.vain_requests import vain_request
from rdmalab.doctor.moments.moments import (
    MOST_OLDER,
    Moment,
    Why,
    flushing_act,
    is_ordered,
    moments,
    teardowns,
    unlogged_moments,
    visit,
)
from rdmalab.doctor.moments.unreported import (
    done_unsignaled,
    doubtful,
    lost_receives,
    stopped_threads,
)
from rdmalab.doctor.moments.what_if import IDLE
from rdmalab.doctor.report.report import TOO_EARLY, UNKNOWN, Cause, Report
from rdmalab.grammar.nodes import Path
from rdmalab.grammar.trees import render
from rdmalab.hca.qp import QueuePair
from rdmalab.session.session import Session
from rdmalab.spec import records as rec
from rdmalab.spec.programs import BLOCKING
from rdmalab.spec.records import Kind
from rdmalab.spec.states import ERROR_STATES
from rdmalab.views.caption import last_act
from rdmalab.world.programs import Program, programs_of
from rdmalab.world.relations import exists


def plain(session: Session, log: Log, question: Path | None) -> Report:
    """Everything that is wrong, each subject at its own moment; the first cause first."""
    found = [*subjects(session, log, question), *_unreported_before(session, log, question)]
    chains = {each: plain_chain(session, log, each) for each in found}
    looks = best_looks(log, chains)
    known = frozenset(t for examination in looks if examination.report.causes
                      for t in log.component_of(examination.subject.thing))  # fmt: skip
    if unlogged := _unlogged(session, log, question, known):
        chains |= unlogged
        looks = best_looks(log, chains)
    looks = [each for each in looks
             if not (each.report.causes and _is_over(session, log, each))]  # fmt: skip
    explained = [at_the_act(session, log, each) for each in looks if each.report.causes]
    gone_on = [each for each in explained if has_gone_on(session, log, each)]
    explained = [each for each in explained if each not in gone_on]
    mild = _tolerated(log, explained, _endless(session))
    if len(mild) == len(explained):
        left = [examination for examination in looks if examination not in (*gone_on, *mild)
                if examination.report.outcome.rule or examination.moment.why is Why.ENDED
                or examination.moment in chains[examination.subject][-1:]
                if _is_trouble(session, log, examination)]  # fmt: skip
        report = _without_a_cause(session, log, question, left, gone_on, found)
        _join([report], [each.report for each in mild])
        return report
    # A success without a completion, or a thread that polls for nothing, may be as it is meant.
    loud = [each for each in explained if not each.report.outcome.done
            and each.report.slug not in IDLE] or explained  # fmt: skip
    aside = [*_aside(log, loud), *(each for each in explained if each not in loud)]
    # A thread that hangs because of a refused call stands before the call: the answer has both.
    hanging = {each.root for each in explained if each.subject.sort is Sort.PROGRAM
               and each.report.outcome.kind is Status.NEVER}  # fmt: skip
    newest = _refused_now(session, log, explained) or _failed_now(session, explained)
    aside = [each for each in aside if each.subject != newest]
    explained = sorted((examination for examination in explained if examination not in aside),
                       key=lambda each: (each.subject != newest, _of_unused(log, each),
                                         *origin(each.report.causes[0]),
                                         each.subject.sort is Sort.CALL and each.root in hanging),
                       )  # fmt: skip
    _join([each.report for each in explained], [each.report for each in (*aside, *gone_on)])
    return report_of_now(session, log, explained[0], [each.subject for each in explained])


def _refused_now(session: Session, log: Log, explained: Sequence[Examination]) -> Subject | None:
    """The call of the last event but queries, if it was refused: the user has just read of it.

    None for a call of a program, and where the root is older: what moved the queue pair to an
    error state, a call refused for the same reason that work waits for, or what was the end of
    other work, too.
    """
    last = last_act(session.world, session.world.event)
    call = next((each for each in log.refused()[-1:] if each.event == last), None)
    if call is None or call.program or session.caller_of(last):
        return None
    hca = session.world.nodes.get(call.thing[0])
    qp = hca.qps.items.get(call.thing[1]) if hca is not None else None
    own = [each.report.causes[0] for each in explained if each.subject == call.subject]
    others = [each.report.causes[0] for each in explained if each.subject.sort is not Sort.CALL]
    waited = any(one.check.slug == other.check.slug or one.finding.origin == other.finding.origin
                 for one in own for other in others)  # fmt: skip
    return None if waited or (qp is not None and qp.state in ERROR_STATES) else call.subject


def _failed_now(session: Session, explained: Sequence[Examination]) -> Subject | None:
    """The first request that failed since the last call but queries and polls: it is news.

    None where more than lost messages was wrong: then the first cause of all comes first.
    """
    verbs = ((call.event, call.invocation.name) for call in reversed(session.journal))
    last = next((event for event, verb in verbs if not is_query(verb) and verb != "poll_cq"), -1)
    ends = {each.subject: each.report.outcome.event or -1 for each in explained
            if each.subject.sort in (Sort.SEND, Sort.RECV)
            and each.report.outcome.kind is Status.FAILED}  # fmt: skip
    lost = [each.report.outcome.done or each.report.outcome.good
            for each in explained if each.subject not in ends]  # fmt: skip
    if not (lost and all(lost) and ends) or min(ends.values()) <= last:
        return None
    return min((each for each in explained if each.subject in ends),
               key=lambda each: origin(each.report.causes[0])).subject  # fmt: skip


def _without_a_cause(
    session: Session,
    log: Log,
    question: Path | None,
    left: Sequence[Examination],
    gone_on: Sequence[Examination],
    found: Sequence[Subject],
) -> Report:
    """The answer where no check explains a failure that is open: of what is left, or all is well.

    left: failures without a cause; gone_on: threads that hung at an earlier moment.
    """
    left = left or _outstanding(session, log, question)
    left = left or _silent(session, log, question, is_full=True)
    left = left or _lost(session, log, question) or gone_on
    if not left:
        return well(session, log, question)
    return report_of_now(session, log, left[0], found or [left[0].subject])


def _is_over(session: Session, log: Log, examination: Examination) -> bool:
    """Whether a thread that has gone on since, or that serves in a loop without end, had waited
    for work that was repaired since; of a stopped one whether this came.
    """
    subject, root = examination.subject, examination.report.causes[0].subject
    if subject.sort is not Sort.PROGRAM:
        return False
    if not exists(session.world, subject.thing):
        return _has_come(session, log, examination)
    goes_on = has_gone_on(session, log, examination)
    serves = 0 in session.world.find(subject.thing, Program).loops
    mended = is_made_good(session, log, root, examination.moment.event)
    return (goes_on and (mended or root == subject)) or (serves and mended)


def _has_come(session: Session, log: Log, examination: Examination) -> bool:
    """Whether what a stopped thread waited for came since: its condition is true, or a success is
    on its queue, after which the root has ended well or all other threads are done.
    """
    event, root = examination.moment.event, examination.report.causes[0].subject
    with visit(log, event) as then:
        case = Case(session, examination.subject, then, asked=True)
        waits = of_program(case, case.program) if case.program is not None else None
        if waits is None:
            return False
        question, queues = waits.line.question, {cq[1:] for cq in waits.cqs}
        others = [each.thing for each in programs_of(session.world)
                  if each is not waits.program and not each.state.is_over]  # fmt: skip
    if question is not None:
        with suppress(NotUnderstood):  # it may name what was destroyed since
            return session.holds(question)
        return False
    came = any(rec.place_of(r) in queues and not rec.cqe_of(r).status
               for r in log.since(event, Kind.CQE_ADDED))  # fmt: skip
    ending = Case(session, root, log, asked=True).ending
    mended = ending is not None and ending.event > event and not ending.status
    done = bool(others) and all(log.about(Kind.PROGRAM_DONE, each) for each in others)
    return came and (mended or done)


def _join(reports: list[Report], aside: list[Report]) -> None:
    """Put all causes into the first report, by their origin; those of `aside` are its warnings."""
    first = reports[0]
    others = sorted((cause for each in reports[1:] for cause in each.causes), key=origin)
    first.causes = unique([*first.causes, *others])
    first.stations = sorted(unique(c for each in reports for c in each.stations), key=origin)
    minor = (cause for each in aside for cause in each.causes if cause not in first.causes)
    first.warnings = unique([*(c for each in reports for c in each.warnings), *minor])


def _of_unused(log: Log, examination: Examination) -> bool:
    """Whether it is a refused modify_qp of a queue pair that nothing was posted on, or tried to."""
    if examination.subject.sort is not Sort.CALL:
        return False
    thing = Thing(Noun.QP, *examination.subject.thing[1:])
    refused = {call.verb for call in log.refused() if call.thing == thing[1:]}
    posted = (kind for kind in (Kind.SEND_POSTED, Kind.RECV_POSTED) if log.about(kind, thing))
    return refused == {"modify_qp"} and not any(posted)


def _is_trouble(session: Session, log: Log, examination: Examination) -> bool:
    """Whether a look without a cause shows a failure that no call ordered, and no idle server."""
    found, report = examination.report.outcome, examination.report
    serves = examination.subject.sort is Sort.PROGRAM and report.slug in _SERVES
    ordered = is_ordered(session, log, examination.subject)
    return not (ordered or serves or found.good or found.rule in BLOCKING)


_SERVES = ("silent-peer", "condition-false", "write-no-signal")
"""Without a cause these say that a thread in a loop without end waits for the next request."""


def _aside(log: Log, explained: Sequence[Examination]) -> list[Examination]:
    """Refused calls about what has failed otherwise: they changed nothing, and are no cause.

    Those that only their rule explains, or that a program tolerates, are aside where any other
    cause is known.
    """
    failed = {examination.subject.thing[1:] for examination in explained
              if examination.subject.sort is not Sort.CALL}  # fmt: skip
    calls = [examination for examination in explained if examination.subject.sort is Sort.CALL]
    awaited = {examination.root for examination in explained if examination not in calls}
    mild = _tolerated(log, explained)
    light = [examination for examination in explained if examination.report.causes[0].check.is_rule
             or examination in mild if examination.root not in awaited]  # fmt: skip
    bare = light if len(light) < len(explained) else []
    return [examination for examination in calls
            if examination.subject.thing[1:] in failed or examination in bare]  # fmt: skip


def _endless(session: Session) -> list[str]:
    """The names of the threads in a loop without end."""
    return [session.names.of(each.thing) for each in programs_of(session.world)
            if 0 in each.loops and not each.state.is_over]  # fmt: skip


def _tolerated(
    log: Log, explained: Sequence[Examination], endless: Sequence[str] = ()
) -> list[Examination]:
    """Those of refused calls in lines `try`, except of threads that repeat theirs without end."""
    calls = {each.subject.event: each for each in explained if each.subject.sort is Sort.CALL}
    return [calls[call.event] for call in log.refused()
            if call.event in calls and call.program not in endless and call.tolerated]  # fmt: skip


def _silent(
    session: Session, log: Log, question: Path | None, *, is_full: bool
) -> list[Examination]:
    """The newest send of each queue pair, if it was carried out and is not signaled.

    is_full: of queue pairs that have no free slot, or of the others.
    """
    qps = (qp for qp in _queue_pairs(session, question) if qp.sq.is_full() is is_full)
    found = [subject for qp in qps for subject in done_unsignaled(log, qp)]
    now = Moment(session.world.event, Why.NOW)
    return [examination for each in found for examination in looks_at(log, now, [each])
            if examination.report.causes]  # fmt: skip


def _lost(
    session: Session, log: Log, question: Path | None, *, spare: bool = False
) -> list[Examination]:
    """Receives that a call took before a message came for them; spare: no message was to come."""
    found = islice(lost_receives(session, log, _wanted(question), spare=spare), MOST_OLDER)
    chains = {each: moments(session, log, each) for each in found}
    return [examination for examination in best_looks(log, chains) if examination.report.causes]


def _wanted(question: Path | None) -> Wanted:
    """All things, or those of the node that is asked about."""
    asked = "" if question is None else str(question)
    return lambda thing: asked in ("", thing.node)


def _queue_pairs(session: Session, question: Path | None) -> list[QueuePair]:
    """All of them, or those of the node that is asked about."""
    return [qp for _, qp in qps_of(session, _wanted(question))]


def _outstanding(session: Session, log: Log, question: Path | None) -> list[Examination]:
    """Sends that still wait where nothing is wrong, first one that waits for more than time."""
    found = [each for qp in _queue_pairs(session, question) for each in under_way(qp)]
    now = Moment(session.world.event, Why.NOW)
    looks = [examination for each in found for examination in looks_at(log, now, [each])]
    waiting = [each for each in looks  # a cause of what still completes only delays it
               if _is_vain(each.report.outcome) or not each.report.is_trouble]  # fmt: skip
    return sorted(waiting, key=lambda examination: _says_little(examination.report))


def _says_little(report: Report) -> bool:
    """Whether it has no more on a request under way than that its time has not come."""
    return not (report.causes or report.waits) or report.slug in (TOO_EARLY, UNKNOWN)


def _is_vain(found: SubjectOutcome) -> bool:
    return found.kind is Status.NEVER or not found.ends_well


def plain_chain(session: Session, log: Log, subject: Subject) -> list[Moment]:
    """A flush that a call ordered is no failure; the wait of a send before it can be one."""
    chain, act = moments(session, log, subject), flushing_act(session, log, subject)
    if act is None:
        return chain
    sent = subject.sort is Sort.SEND  # a receive that waits is a failure only to who asks
    return [m for m in chain if sent and m.why is Why.BEFORE_TEARDOWN and m.event < act.event]


def at_the_act(session: Session, log: Log, examination: Examination) -> Examination:
    """Of a send that waited and that one end alone flushed: the look at that act."""
    subject = examination.subject
    chain = moments(session, log, subject) if is_ordered(session, log, subject) else []
    late = [m for m in chain[:1] if m.event > examination.moment.event]
    seen = [each for m in late for each in looks_at(log, m, [subject])]
    return next((each for each in seen if each.report.causes), examination)


def _unlogged(
    session: Session, log: Log, question: Path | None, known: Component
) -> dict[Subject, list[Moment]]:
    """Subjects that were wrong at the last event of things that the log no longer has.

    known: the things for which a cause is found already.
    """
    found: dict[Subject, list[Moment]] = {}
    node = str(question) if question is not None else ""
    things = [Thing(noun, name, number) for name, hca in session.world.nodes.items()
              for noun in (Noun.QP, Noun.PROGRAM) for number in hca.tables[noun].items
              if node in ("", name)]  # fmt: skip
    components = {log.component_of(thing): None for thing in things if thing not in known}
    for component in components if log.begins else ():
        for moment in unlogged_moments(session, log, next(iter(component))):
            with visit(log, moment.event) as then:
                for each in suspects(session, then, component.__contains__):
                    chain = plain_chain(session, then, each)
                    found[each] = [moment if m.why is Why.NOW else m for m in chain]
    return found


def _unreported_before(session: Session, log: Log, question: Path | None) -> list[Subject]:
    """Subjects that the last teardown ended without a failure: threads that waited, silent sends.

    Where an event that it raised let a thread go on, the teardown is two rows of acts.
    """
    found: list[Subject] = []
    rows = teardowns(log)[-2:]
    woken = bool(rows) and list(log.since(rows[0][0].event, Kind.ASYNC_TAKEN))
    for row in rows if woken else rows[-1:]:
        with visit(log, row[0].event - 1) as then:
            missed = list(unreported(session, then, _wanted(question)))
        found += (it for it in missed if not is_made_good(session, log, it, row[0].event - 1))
    return [*found, *stopped_threads(session, log, _wanted(question), _hangs_in_loop)]


def _hangs_in_loop(log: Log, thing: Thing) -> bool:
    """Whether a thread repeats a compare-and-swap or a READ in vain, or waits at rest for an event
    of a CQ that holds completions, at the moment of a log.
    """
    case = Case(log.session, Subject(Sort.PROGRAM, thing), log, asked=True)
    waiter = event_waiter(case) if case.at_rest else None
    unread = waiter is not None and any(cq.cqes for cq in waiter.cqs)
    return unread or (case.program is not None and vain_request(case, case.program) is not None)


def best_looks(log: Log, chains: Mapping[Subject, Sequence[Moment]]) -> list[Examination]:
    """The best look at each subject of chains; subjects of one moment share a visit."""
    best: dict[Subject, Examination] = {}
    left = list(chains)
    for step in range(max(map(len, chains.values()), default=0)):
        groups: dict[Moment, list[Subject]] = {}
        for subject in left:
            if step < len(chains[subject]):
                groups.setdefault(chains[subject][step], []).append(subject)
        for moment, group in sorted(groups.items(), key=lambda each: each[0].event):
            for examination in looks_at(log, moment, group):
                kept = best.get(examination.subject, examination)
                best[examination.subject] = best_of([kept, examination])
        left = [s for s in left if s not in best or not best[s].decides]
    return [best[subject] for subject in chains if subject in best]


def _is_idle_receive(cause: Cause) -> bool:
    """Whether it says why a receive waits: no failure unless the user asks about it."""
    return cause.subject.sort is Sort.RECV and cause.check.section is ChecklistSection.RECEIVE


def drained(session: Session, log: Log, found: Sequence[Subject]) -> list[Evidence]:
    """Of flushed work the calls that ordered it: no failure, if nothing was wrong before."""
    acts = [act for each in found if (act := flushing_act(session, log, each)) is not None]
    return [
        fact(f"{log.asked(event)[1] or 'a call'} moved {session.names.of(thing)} to ERR, "
             "which flushes its requests", event)
        for event, thing in dict.fromkeys(acts)
    ]  # fmt: skip


def _well_outcome(session: Session, log: Log, question: Path | None, node: str) -> SubjectOutcome:
    """WELL, with what a call has flushed. node: the one that is asked about; empty: both."""
    refused = any(node in ("", call.thing[0]) for call in log.refused())
    unread = unread_errors(session, node)
    over = refused or unread
    text = "is left that failed, was refused," if over else "has failed, was refused,"
    drains = drained(session, log, subjects(session, log, question))
    also = dict.fromkeys([*(each.text for each in drains), *unread])
    return SubjectOutcome(Status.WELL, "; ".join([f"nothing {text} or hangs", *also]),
                          drains[-1].event if drains else None)  # fmt: skip


def well(session: Session, log: Log, question: Path | None) -> Report:
    """Nothing is wrong anywhere, or on one node; at what one has looked to say so."""
    node = str(question.steps[0]) if question is not None else ""
    before = [Moment(row[0].event - 1, Why.BEFORE_TEARDOWN) for row in teardowns(log)[-1:]]
    warnings: list[Cause] = []
    for moment in (*before, Moment(session.world.event, Why.NOW)):
        with visit(log, moment.event) as then:
            left = (s for s in latest(session, then, node) if not is_ordered(session, log, s))
            found = list(dict.fromkeys([*doubtful(session, then, node), *left]))
        mended = [s for s in found if is_made_good(session, log, s, moment.event)]
        found = [s for s in found if s not in mended]
        seen = looks_at(log, moment, found) if found else []
        for late in (each for each in seen if each.report.outcome.kind is Status.LATE):
            return report_of_now(session, log, late, [late.subject])
        warnings += (cause for examination in seen for cause in examination.report.warnings
                     if not (_is_idle_receive(cause) or is_over(session, log, cause)))  # fmt: skip
    aside = _silent(session, log, question, is_full=False)
    aside += _lost(session, log, question, spare=True)
    warnings += (cause for examination in aside for cause in examination.report.causes)
    name = render(question) if question is not None else ""
    return Report(name, _well_outcome(session, log, question, node), session.world.event,
                  warnings=unique(warnings), looked=looked_at(session, log, node),
                  examples=examples(session, log, node))  # fmt: skip
