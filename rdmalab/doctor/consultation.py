"""A consultation: each subject is judged at its own moment; its state is that of now.

Findings of another moment are data: they keep no object of that world.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from rdmalab.command import Moment as MomentWord
from rdmalab.command import NotUnderstood, Noun
from rdmalab.doctor.asking.questions import normalised
from rdmalab.doctor.asking.subjects import subjects
from rdmalab.doctor.case import Case, Log, Session, Sort, Subject
from rdmalab.doctor.diagnosis.cures import as_allowed
from rdmalab.doctor.diagnosis.diagnose import followed, report_of, unique
from rdmalab.doctor.diagnosis.examination import Examination, as_at_event, best_of, report_of_now
from rdmalab.doctor.diagnosis.plain import plain, well
from rdmalab.doctor.evidence.made_good import is_made_good
from rdmalab.doctor.evidence.outcome import Status, SubjectOutcome, outcome_of
from rdmalab.doctor.evidence.work_of_queues import subject_of_cqe
from rdmalab.doctor.facts.undelivered import for_bytes, watcher
from rdmalab.doctor.moments.moments import (
    Moment,
    Why,
    is_ordered,
    moments,
    object_moments,
    visit_moment,
)
from rdmalab.doctor.report.report import NO_MESSAGE, Report
from rdmalab.grammar.nodes import Literal, Node, Path
from rdmalab.grammar.trees import render
from rdmalab.session.history import read_only_visit
from rdmalab.session.reverse import go_to_moment
from rdmalab.spec.records import Kind, cqe_of, event_of, object_of


def consult(session: Session, question: Node | None = None, at: MomentWord | None = None) -> Report:
    """The answer to `why`; NotUnderstood where the question is about nothing.

    at: the answer as of then.
    """
    if at is not None:
        with read_only_visit(session.history):
            go_to_moment(session, at, "at")
            report = consult(session, question)
            for root in report.chain[:1]:
                case = Case(session, root.subject, Log(session), asked=True)
                report.remedy = as_at_event(case, report.remedy, session.world.event)
            return report
    log = Log(session)
    question = normalised(session, log, question)
    is_plain = question is None or str(question) in session.world.nodes
    report = (plain if is_plain else _pointed)(session, log, question)
    if question is None and (session.unanswered or session.outside):
        report = _of_programs(session, report)
    report.question = render(question) if question is not None else ""
    report.applies = not session.refusal("apply")
    report.remedy = as_allowed(session, report.remedy)
    events = {row.event for row in report.rows if row.event is not None}
    report.callers = {event: text for event in events if (text := session.caller_of(event))}
    return report


def _of_programs(session: Session, report: Report) -> Report:
    """The answer with what the world does not know of programs of the host.

    Of a refused call, the wait of a program because of it. Where nothing is wrong, the wait of one
    that never ends, other trouble, or what befell programs outside of the adapters.
    """
    asked = [] if report.is_trouble and not _is_refusal(report) else session.unanswered
    reports = list[Report]()
    for question in asked:
        with suppress(NotUnderstood):  # the head of a file may name what no call of it has made
            reports.append(consult(session, question))
    reports.sort(key=lambda report: report.outcome.kind is not Status.NEVER)
    if report.is_trouble:
        root = _root(report)
        return next((each for each in reports if _root(each) == root), report)
    if found := next((each for each in reports if each.is_trouble), None):
        return found
    waits = (each for each in reports if each.outcome.kind is Status.PENDING and each.warnings)
    if found := next(waits, None):
        text = f"{found.outcome.sentence}, and none will come: its program hangs"
        found.outcome = replace(found.outcome, kind=Status.NEVER, sentence=text)
        return found
    return _befallen(session, report)


def _is_refusal(report: Report) -> bool:
    """Whether an answer is about a refused call that is its own root."""
    return report.outcome.kind is Status.REFUSED and bool(report.causes)


def _root(report: Report) -> tuple[str, Subject] | None:
    """The first cause, and what it is of; None without one."""
    return next(((each.check.slug, each.subject) for each in report.causes), None)


def _befallen(session: Session, report: Report) -> Report:
    """FAILED or NEVER with the verdicts on programs outside of the adapters, if there are any."""
    verdicts = [text.partition("  ") for text in session.outside]
    if verdicts:
        kind = Status.NEVER if verdicts[0][0] == Status.NEVER.name else Status.FAILED
        sentence = "; ".join(rest or first for first, _, rest in verdicts)
        report.outcome = SubjectOutcome(kind, sentence)
        report.looked, report.examples, report.is_outside = "", [], True
    return report


def cause(session: Session, what: Sequence[Any], keys: Mapping[str, Any]) -> str:
    """The root cause in a word: what `why(A.qp0.wr[7])` is worth in a question."""
    if len(what) > 1 or keys:
        raise NotUnderstood("why() takes one thing", hint="write why(A.qp0.wr[7])")
    question = next(iter(what), None)
    if isinstance(question, int | str):
        question = Literal(question, str(question))
    return consult(session, question).slug


# --------------------------------------------------------------------------- asked by name
def _pointed(session: Session, log: Log, question: Path | None) -> Report:
    found = subjects(session, log, question)
    if not found:
        return well(session, log, question)
    looks: list[Examination] = []
    for moment in chain_of(session, log, question, found):
        seen = _examined(log, question, found, moment)
        looks += [each for each in seen if not _is_mended(session, log, each)]
        if looks and looks[-1].decides:
            break
    looks = looks or _examined(log, question, found, Moment(session.world.event, Why.NOW))
    written = max((_written(examination) for examination in looks), default=-1)
    looks = [examination for examination in looks if examination.moment.event >= written]
    best = best_of(looks)
    earlier = [
        cause
        for examination in looks[: looks.index(best)]
        for cause in examination.report.warnings
        if not (cause.check.slug == NO_MESSAGE and is_ordered(session, log, cause.subject))
    ]
    best.report.warnings = unique([*earlier, *best.report.warnings])
    if question is not None and _is_drained(session, log, question, best):
        return well(session, log, question)
    return report_of_now(session, log, best, found)


def _is_mended(session: Session, log: Log, examination: Examination) -> bool:
    """Whether a CQ that is empty now waited at an earlier moment for work that was repaired."""
    subject, causes, moment = examination.subject, examination.report.causes, examination.moment
    if subject.sort is not Sort.CQ or not causes or moment.why is Why.NOW:
        return False
    waits = outcome_of(session, subject, log).kind is Status.PENDING
    return waits and is_made_good(session, log, causes[0].subject, moment.event)


def _is_drained(session: Session, log: Log, question: Path, best: Examination) -> bool:
    """Whether a call alone ended the work of a queue pair, or on a CQ, all of it polled."""
    thing = session.names.find(str(question)) if len(question.steps) == 2 else None
    if thing is None or thing.noun not in (Noun.QP, Noun.CQ) or best.report.slug != "own-err":
        return False
    is_cq, end = thing.noun is Noun.CQ, log.destroyed(thing)
    if (is_cq and best.report.warnings) or _is_awaited(session, log, best.subject):
        return False
    added, polled = (
        [cqe_of(r) for r in log.of(kind, thing.node) if (end is None or event_of(r) < end)
         and thing.number == (object_of(r) if is_cq else cqe_of(r).qp_num)]
        for kind in (Kind.CQE_ADDED, Kind.CQE_POLLED)
    )  # fmt: skip
    failed = (subject_of_cqe(thing.node, cqe) for cqe in added if cqe.status)
    return len(added) == len(polled) and all(is_ordered(session, log, each) for each in failed)


def _is_awaited(session: Session, log: Log, subject: Subject) -> bool:
    """Whether a thread of the peer waits for the message of a send."""
    case = Case(session, subject, log, asked=True)
    work = case.wqe.work if case.wqe is not None else None
    is_message = case.peer is not None and work is not None and work.consumes_receive
    return is_message and case.peer is not None and bool(watcher(case, case.peer))


def _written(examination: Examination) -> int:
    """The event in which the bytes that are asked about were written, as known at a moment."""
    found = examination.report.outcome
    wrote = examination.subject.sort is Sort.BYTES and found.good and found.event is not None
    return found.event if wrote and found.event is not None else -1


def chain_of(
    session: Session, log: Log, question: Path | None, found: Sequence[Subject]
) -> list[Moment]:
    """The moments of what is asked about; of an object its own before later ones of its work."""
    own: list[Moment] = []
    alone = found[0].sort is Sort.OBJECT  # nothing of it ends or waits
    own_name = question is not None and len(question.steps) == 2
    if own_name and not alone:
        thing = session.names.find(str(question))
        own = object_moments(session, log, thing) if thing is not None else []
    work = moments(session, log, found[0])
    about = list(found[:1])
    if own_name and found[0].sort is Sort.BYTES:
        about += for_bytes(Case(session, found[0], log, asked=True))
    chains = (moments(session, log, each) for each in about)
    ended = [moment for chain in chains for moment in chain if moment.why is Why.ENDED]
    chain = {moment.event: moment for moment in [*ended, *own, *work]}
    return list(chain.values())


def _examined(
    log: Log, question: Path | None, found: Sequence[Subject], moment: Moment
) -> list[Examination]:
    """The findings for the subjects as they were at a moment; [] where they did not exist yet."""
    session = log.session
    with visit_moment(log, moment) as then:
        if moment.why is not Why.NOW:
            found = _subjects_then(session, then, question, found)
        if not found:
            return []
        stories = followed(session, found, then, asked=True)
        return [Examination(moment, found[0], report_of(session, stories))]


def _subjects_then(
    session: Session, log: Log, question: Path | None, found: Sequence[Subject]
) -> Sequence[Subject]:
    """The subjects of the question at that moment; [] where its name meant another thing."""
    try:
        then = subjects(session, log, question)
    except NotUnderstood:
        return []
    if found[0].sort is not Sort.CALL:  # other calls that were refused then are made good now
        then = [each for each in then if each.sort is not Sort.CALL or each in found]
    same = bool(then) and then[0].sort is found[0].sort
    if not then or (same and found[0].serial >= 0 and then[0].serial < 0):
        return []  # it was not posted yet
    return then
