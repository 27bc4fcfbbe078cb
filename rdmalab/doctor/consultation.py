"""A consultation: each subject is judged at its own moment, and how it stands is told of now.

Findings of another moment are data: no object of that world leaves the journey.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rdmalab.command import Moment as MomentWord
from rdmalab.command import NotUnderstood
from rdmalab.doctor.case import Case
from rdmalab.doctor.cures import cured
from rdmalab.doctor.diagnose import Diagnosis, followed, origin, report_of, unique
from rdmalab.doctor.finding import Fix
from rdmalab.doctor.healthy_checks import coming, looked_at
from rdmalab.doctor.log import Log
from rdmalab.doctor.moments import (
    Moment,
    Why,
    is_ordered,
    moments,
    object_moments,
    teardowns,
    visit,
)
from rdmalab.doctor.outcome import Status, SubjectOutcome, standing
from rdmalab.doctor.question import asked as put_right
from rdmalab.doctor.report import Report, TriedFix
from rdmalab.doctor.subject import Sort, Subject
from rdmalab.doctor.subjects import subjects
from rdmalab.doctor.suspects import latest, stuck, undone
from rdmalab.doctor.topics import examples
from rdmalab.grammar.expressions import render
from rdmalab.grammar.nodes import Literal, Node, Path
from rdmalab.session.reverse import go_to_moment
from rdmalab.session.session import Session
from rdmalab.session.visits import read_only_visit
from rdmalab.spec.programs import BLOCKING
from rdmalab.world.programs import programs_of
from rdmalab.world.relations import exists


@dataclass(frozen=True, slots=True)
class Look:
    """What the checks said of a subject at a moment."""

    moment: Moment
    subject: Subject
    report: Report

    @property
    def decides(self) -> bool:
        """Whether a root was found; a station where nothing was still to come."""
        stations_do = self.moment.why is Why.BEFORE_TEARDOWN
        return any(stations_do or not cause.check.station for cause in self.report.causes)

    @property
    def rank(self) -> tuple[int, int]:
        """The lower the better: a root; many stations, few; a wait or a warning; nothing."""
        if self.decides:
            return 0, 0
        if self.report.causes:
            return 1, -len({cause.check.slug for cause in self.report.chain})
        return (2, 0) if self.report.waits or self.report.warnings else (3, 0)


def consult(session: Session, question: Node | None = None, at: MomentWord | None = None) -> Report:
    """The answer to `why`; NotUnderstood where the question is about nothing.

    at: the answer as of then.
    """
    if at is not None:
        with read_only_visit(session.history):
            go_to_moment(session, at, "at")
            report = consult(session, question)
            report.remedy = _told(report.remedy, session.world.event)
            return report
    log = Log(session)
    question = put_right(session, log, question)
    plain = question is None or str(question) in session.world.nodes
    report = (_plain if plain else _pointed)(session, log, question)
    report.question = render(question) if question is not None else ""
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
def _pointed(session: Session, log: Log, question: Node | None) -> Report:
    found = subjects(session, log, question)
    if not found:
        return _well(session, log, question)
    looks: list[Look] = []
    for moment in chain_of(session, log, question, found):
        looks += _look(log, question, found, moment)
        if looks and looks[-1].decides:
            break
    looks = looks or _look(log, question, found, Moment(session.world.event, Why.NOW))
    best = min(looks, key=lambda look: look.rank)
    earlier = [cause for look in looks[: looks.index(best)] for cause in look.report.warnings]
    best.report.warnings = unique([*earlier, *best.report.warnings])
    return _as_of_now(session, log, best, found)


def chain_of(
    session: Session, log: Log, question: Node | None, found: Sequence[Subject]
) -> list[Moment]:
    """The moments of what is asked about; of an object its own before those of its work."""
    own: list[Moment] = []
    if isinstance(question, Path) and len(question.steps) == 2:
        thing = session.names.find(str(question))
        own = object_moments(session, log, thing) if thing is not None else []
    chain = {moment.event: moment for moment in [*own, *moments(session, log, found[0])]}
    return list(chain.values())


def _look(log: Log, question: Node | None, found: Sequence[Subject], moment: Moment) -> list[Look]:
    """What is asked about, as it was at a moment; nothing where it was not there yet."""
    session = log.session
    with visit(log, moment.event) as then:
        if moment.why is not Why.NOW:
            found = _then(session, then, question, found)
        if not found:
            return []
        stories = followed(session, found, then, asked=True)
        return [Look(moment, found[0], report_of(session, stories))]


def _then(
    session: Session, log: Log, question: Node | None, found: Sequence[Subject]
) -> Sequence[Subject]:
    """What the question meant then, where its name meant the same thing."""
    try:
        then = subjects(session, log, question)
    except NotUnderstood:
        return []
    same = bool(then) and then[0].sort is found[0].sort
    if not then or (same and found[0].serial >= 0 and then[0].serial < 0):
        return []  # it was not posted yet
    return then


def _as_of_now(session: Session, log: Log, look: Look, found: Sequence[Subject]) -> Report:
    """The findings of a moment; the standing and the fix of now."""
    report = look.report
    if look.moment.why is Why.NOW:
        report.remedy = cured(session, report, Case(session, look.subject, log, asked=True))
    else:
        report.event = session.world.event
        report.standing = _standing(session, log, look)
        report.remedy = _remedy(session, log, look, found)
    if report.standing.kind is Status.PENDING:
        report.next = coming(session, look.subject)
    return report


def _standing(session: Session, log: Log, look: Look) -> SubjectOutcome:
    """How it stands now: what was destroyed without an error is well."""
    found = standing(session, look.subject, log)
    gone = not exists(session.world, look.subject.thing)
    then = look.report.standing
    if gone and not look.report.causes and (then.good or then.kind is Status.PENDING):
        work = look.subject.serial >= 0
        return found if work else replace(found, kind=Status.WELL)
    return found


# --------------------------------------------------------------------------- the fix
def _remedy(session: Session, log: Log, look: Look, found: Sequence[Subject]) -> TriedFix | None:
    """Lines made from the world of now and tried now; else those of then, for the program."""
    case = Case(session, look.subject, log, asked=True)
    lives = exists(session.world, look.subject.thing)
    tried = cured(session, look.report, case) if lives else None
    if tried is not None and not tried.works and not tried.cure.program:
        now = report_of(session, followed(session, found, log, asked=True))
        slugs = {cause.check.slug for cause in look.report.chain}
        now.causes = [cause for cause in now.causes if cause.check.slug in slugs]
        other = cured(session, now, case) if now.causes else None
        tried = other if other is not None and other.works else tried
    if lives and (tried is None or tried.works or tried.cure.program):
        return tried
    with visit(log, look.moment.event) as log_then:
        subject = look.subject
        then = cured(session, look.report, Case(session, subject, log_then, asked=True))
    return _told(then, look.moment.event) if then is not None and then.works else tried or then


def _told(remedy: TriedFix | None, event: int) -> TriedFix | None:
    """Lines that worked at an event of the past; typed now they would not."""
    if remedy is None or remedy.cure.program or not remedy.works:
        return remedy
    lines = "; ".join(remedy.cure.lines)
    return TriedFix(Fix(program=f"after event {event} this works: {lines}"))


# --------------------------------------------------------------------------- all that is wrong
def _plain(session: Session, log: Log, question: Node | None) -> Report:
    """Everything that is wrong, each subject at its own moment; the first cause first."""
    found = [*subjects(session, log, question), *_stuck_before(session, log, question)]
    chains = {each: _plain_chain(session, log, each) for each in found}
    looks = _looks(log, chains)
    told = [look for look in looks if look.report.causes]
    if not told:
        left = [look for look in looks if look.moment in chains[look.subject][-1:]]
        left = [look for look in left if not is_ordered(session, log, look.subject)]
        left = [look for look in left if look.report.standing.rule not in BLOCKING]
        left = [look for look in left if not look.report.standing.good]
        left = left or _outstanding(session, log, question)
        return _as_of_now(session, log, left[0], found) if left else _well(session, log, question)
    told = _in_order(told)
    report, every = told[0].report, [look.report for look in told]
    others = sorted((c for each in every[1:] for c in each.causes), key=origin)
    report.causes = unique([*report.causes, *others])
    report.stations = sorted(unique(c for each in every for c in each.stations), key=origin)
    report.warnings = unique(c for each in every for c in each.warnings)
    return _as_of_now(session, log, told[0], [look.subject for look in told])


def _in_order(told: Sequence[Look]) -> list[Look]:
    """By the event of the root; of one queue pair what failed before a call that was refused."""
    failed = {look.subject.thing[1:] for look in told if look.subject.sort is not Sort.CALL}
    return sorted(told, key=lambda look: (
        look.subject.sort is Sort.CALL and look.subject.thing[1:] in failed,
        origin(look.report.causes[0]),
    ))  # fmt: skip


def _outstanding(session: Session, log: Log, question: Node | None) -> list[Look]:
    """Where nothing is wrong, the oldest send of a queue pair that still waits for something."""
    node = str(question) if question is not None else ""
    qps = [qp for hca in session.world.nodes.values() for qp in hca.qps.items.values()]
    found = [each for qp in qps if node in ("", qp.node) for each in undone(qp)]
    looks = _seen(log, Moment(session.world.event, Why.NOW), found) if found else []
    return [look for look in looks if look.report.waits]


def _plain_chain(session: Session, log: Log, subject: Subject) -> list[Moment]:
    """A flush that somebody ordered is no trouble; what a send waited for before it may be."""
    chain = moments(session, log, subject)
    if not is_ordered(session, log, subject):
        return chain
    sent = subject.sort is Sort.SEND  # a receive that waits is no trouble unless somebody asks
    return [m for m in chain if sent and m.why is Why.BEFORE_TEARDOWN]


def _stuck_before(session: Session, log: Log, question: Node | None) -> list[Subject]:
    """Programs that waited in vain before the last teardown woke them, or made them fail."""
    rows = teardowns(log)
    if not rows or not programs_of(session.world):
        return []
    node = str(question) if question is not None else ""
    with visit(log, rows[-1][0].event - 1) as then:
        return list(stuck(session, then, lambda thing: node in ("", thing.node)))


def _looks(log: Log, chains: Mapping[Subject, Sequence[Moment]]) -> list[Look]:
    """The best look at each subject; subjects of one moment share a journey."""
    best: dict[Subject, Look] = {}
    left = list(chains)
    for step in range(max(map(len, chains.values()), default=0)):
        groups: dict[Moment, list[Subject]] = {}
        for subject in left:
            if step < len(chains[subject]):
                groups.setdefault(chains[subject][step], []).append(subject)
        for moment, group in sorted(groups.items(), key=lambda each: each[0].event):
            for look in _seen(log, moment, group):
                kept = best.get(look.subject)
                if kept is None or look.rank < kept.rank:
                    best[look.subject] = look
        left = [s for s in left if s not in best or not best[s].decides]
    return [best[subject] for subject in chains if subject in best]


def _seen(log: Log, moment: Moment, group: Sequence[Subject]) -> list[Look]:
    """A look at each subject of a group; of those of one story the same."""
    session = log.session
    with visit(log, moment.event) as then:
        stories: list[list[Diagnosis]] = followed(session, group, then, asked=True)
        return [
            Look(moment, diagnosis.case.subject, report_of(session, [story]))
            for story in stories
            for diagnosis in story
            if diagnosis.case.subject in group
        ]


def _well(session: Session, log: Log, question: Node | None) -> Report:
    """Nothing is wrong anywhere, or on one node; at what one has looked to say so."""
    node = str(question.steps[0]) if isinstance(question, Path) else ""
    well = SubjectOutcome(Status.WELL, "nothing has failed, was refused, or hangs")
    now, found = Moment(session.world.event, Why.NOW), latest(session, log, node)
    seen = _seen(log, now, found) if found else []
    warnings = unique(cause for look in seen for cause in look.report.warnings)
    return Report(
        node, well, session.world.event, warnings=warnings,
        looked=looked_at(session, log, node), examples=examples(session, log, node),
    )  # fmt: skip
