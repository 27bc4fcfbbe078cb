"""`why` alone: everything that is wrong, each subject at its own moment; the first cause first."""

from collections.abc import Mapping, Sequence

from rdmalab.command import Noun, Thing
from rdmalab.doctor.components import Component
from rdmalab.doctor.diagnose import origin, unique
from rdmalab.doctor.healthy_checks import looked_at
from rdmalab.doctor.log import Log
from rdmalab.doctor.look import Look, as_of_now, looks_at
from rdmalab.doctor.moments import (
    Moment,
    Why,
    is_ordered,
    moments,
    teardowns,
    unlogged_moments,
    visit,
)
from rdmalab.doctor.outcome import Status, SubjectOutcome
from rdmalab.doctor.outstanding import latest, under_way
from rdmalab.doctor.report import TOO_EARLY, Cause, Report
from rdmalab.doctor.subject import Sort, Subject
from rdmalab.doctor.subjects import subjects
from rdmalab.doctor.suspects import suspects, unreported
from rdmalab.doctor.topics import examples
from rdmalab.grammar.nodes import Node, Path
from rdmalab.grammar.trees import render
from rdmalab.session.session import Session
from rdmalab.spec.programs import BLOCKING


def plain(session: Session, log: Log, question: Node | None) -> Report:
    """Everything that is wrong, each subject at its own moment; the first cause first."""
    found = [*subjects(session, log, question), *_unreported_before(session, log, question)]
    chains = {each: _plain_chain(session, log, each) for each in found}
    looks = _looks(log, chains)
    known = frozenset(t for look in looks if look.report.causes
                      for t in log.component_of(look.subject.thing))  # fmt: skip
    if unlogged := _unlogged(session, log, question, known):
        chains |= unlogged
        looks = _looks(log, chains)
    explained = [look for look in looks if look.report.causes]
    if not explained:
        left = [look for look in looks
                if look.report.standing.rule or look.moment in chains[look.subject][-1:]
                if _is_trouble(session, log, look)]  # fmt: skip
        left = left or _outstanding(session, log, question)
        return as_of_now(session, log, left[0], found) if left else well(session, log, question)
    explained = _in_order(explained)
    report, every = explained[0].report, [look.report for look in explained]
    others = sorted((c for each in every[1:] for c in each.causes), key=origin)
    report.causes = unique([*report.causes, *others])
    report.stations = sorted(unique(c for each in every for c in each.stations), key=origin)
    report.warnings = unique(c for each in every for c in each.warnings)
    return as_of_now(session, log, explained[0], [look.subject for look in explained])


def _is_trouble(session: Session, log: Log, look: Look) -> bool:
    """Whether a look without a cause shows a failure that no call ordered."""
    found = look.report.standing
    ordered = is_ordered(session, log, look.subject)
    return not (ordered or found.good or found.rule in BLOCKING)


def _in_order(explained: Sequence[Look]) -> list[Look]:
    """By the event of the root; of one queue pair what failed before a call that was refused."""
    failed = {look.subject.thing[1:] for look in explained if look.subject.sort is not Sort.CALL}
    return sorted(explained, key=lambda look: (
        look.subject.sort is Sort.CALL and look.subject.thing[1:] in failed,
        origin(look.report.causes[0]),
    ))  # fmt: skip


def _outstanding(session: Session, log: Log, question: Node | None) -> list[Look]:
    """Where nothing is wrong, a send that still waits, first one that waits for more than time."""
    node = str(question) if question is not None else ""
    qps = [qp for hca in session.world.nodes.values() for qp in hca.qps.items.values()]
    found = [each for qp in qps if node in ("", qp.node) for each in under_way(qp)]
    now = Moment(session.world.event, Why.NOW)
    waiting = [look for each in found for look in looks_at(log, now, [each]) if look.report.waits]
    return sorted(waiting, key=lambda look: look.report.waits[0].check.slug == TOO_EARLY)


def _plain_chain(session: Session, log: Log, subject: Subject) -> list[Moment]:
    """A flush that a call ordered is no failure; the wait of a send before it can be one."""
    chain = moments(session, log, subject)
    if not is_ordered(session, log, subject):
        return chain
    sent = (
        subject.sort is Sort.SEND
    )  # a receive that waits is no failure unless the user asks about it
    return [m for m in chain if sent and m.why is Why.BEFORE_TEARDOWN]


def _unlogged(
    session: Session, log: Log, question: Node | None, known: Component
) -> dict[Subject, list[Moment]]:
    """What was wrong at the last event of things that the log no longer has.

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
                    chain = _plain_chain(session, then, each)
                    found[each] = [moment if m.why is Why.NOW else m for m in chain]
    return found


def _unreported_before(session: Session, log: Log, question: Node | None) -> list[Subject]:
    """What the last teardown took without a failure: threads that waited, sends without a word."""
    node = str(question) if question is not None else ""
    found: list[Subject] = []
    for row in teardowns(log)[-1:]:
        with visit(log, row[0].event - 1) as then:
            found += unreported(session, then, lambda thing: node in ("", thing.node))
    return found


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
            for look in looks_at(log, moment, group):
                kept = best.get(look.subject)
                if kept is None or look.rank < kept.rank:
                    best[look.subject] = look
        left = [s for s in left if s not in best or not best[s].decides]
    return [best[subject] for subject in chains if subject in best]


def well(session: Session, log: Log, question: Node | None) -> Report:
    """Nothing is wrong anywhere, or on one node; at what one has looked to say so."""
    node = str(question.steps[0]) if isinstance(question, Path) else ""
    standing = SubjectOutcome(Status.WELL, "nothing has failed, was refused, or hangs")
    before = [Moment(row[0].event - 1, Why.BEFORE_TEARDOWN) for row in teardowns(log)[-1:]]
    warnings: list[Cause] = []
    for moment in (*before, Moment(session.world.event, Why.NOW)):
        with visit(log, moment.event) as then:
            found = latest(session, then, node)
        seen = looks_at(log, moment, found) if found else []
        late = [look for look in seen if look.report.standing.kind is Status.LATE]
        for look in late[:1]:
            return as_of_now(session, log, look, [look.subject])
        warnings += (cause for look in seen for cause in look.report.warnings)
    name = render(question) if isinstance(question, Path) else ""
    return Report(
        name, standing, session.world.event, warnings=unique(warnings),
        looked=looked_at(session, log, node), examples=examples(session, log, node),
    )  # fmt: skip
