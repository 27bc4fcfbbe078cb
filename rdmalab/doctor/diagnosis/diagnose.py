"""A consultation: every check of the list asked about every subject, roots before symptoms."""

import math
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import replace
from importlib import import_module
from pkgutil import iter_modules

from rdmalab.doctor import answers, checks
from rdmalab.doctor.case import Case, Log, Session, Sort, Subject
from rdmalab.doctor.check import Check, ChecklistSection, Finding, Verdict
from rdmalab.doctor.diagnosis.related_subjects import is_early, sources_of, unmade
from rdmalab.doctor.evidence.outcome import Status, SubjectOutcome, outcome_of
from rdmalab.doctor.evidence.subject import name_of
from rdmalab.doctor.facts.thread_waits import thread_wait
from rdmalab.doctor.facts.undelivered import unnoticed
from rdmalab.doctor.fixes.refused_calls import OF_STATES, by_rule
from rdmalab.doctor.moments.future import goes_on
from rdmalab.doctor.report.report import SLOW, TOO_EARLY, Cause, Report
from rdmalab.spec.row import dataclass
from rdmalab.views import fmt

_SECTIONS = tuple(ChecklistSection)


def _of_family(name: str) -> list[Check]:
    """The checks of one module of `checks/`."""
    module = import_module(f"{checks.__name__}.{name}")
    return [value for value in vars(module).values() if isinstance(value, Check)]


CHECKS: tuple[Check, ...] = tuple(
    sorted(
        (check for _, name, _ in iter_modules(checks.__path__) for check in _of_family(name)),
        key=lambda check: (_SECTIONS.index(check.section), check.row.item),
    )
)

BY_SLUG: dict[str, Check] = {check.slug: check for check in CHECKS}


LISTS: dict[str, tuple[Check, ...]] = {
    name: tuple(check for check in CHECKS if check.section.name in sections)
    for name, sections in answers.LISTS.items()
}
"""Checks by the names that `checklist` takes: the FAQs of the documents."""


MOST_SUBJECTS = 24


@dataclass(slots=True)
class Diagnosis:
    """The findings of all checks for one subject."""

    case: Case
    name: str
    outcome: SubjectOutcome
    findings: list[tuple[Check, Finding]]

    def causes(self, verdict: Verdict) -> list[Cause]:
        """Those with this verdict, in the order of the checklist."""
        return [Cause(check, finding, self.case.subject, self.name)
                for check, finding in self.findings
                if finding.verdict is verdict and not finding.told_by]  # fmt: skip

    @property
    def ruled_out(self) -> list[str]:
        """The causes that it has not."""
        return [check.slug for check, found in self.findings if found.verdict is Verdict.OK]


def followed(
    session: Session, subjects_: Sequence[Subject], log: Log, *, asked: bool
) -> list[list[Diagnosis]]:
    """Stories: each subject that is asked about, with the chain of subjects that led to it.

    Subjects whose chains meet are one story.
    """
    found: dict[Subject, Diagnosis] = {}
    story: dict[Subject, int] = {}
    first = {subject: number for number, subject in enumerate(subjects_)}
    waiting = deque[tuple[Subject, Subject | None, bool]]((each, None, False) for each in first)
    while waiting and len(found) < MOST_SUBJECTS:
        subject, parent, arrival = waiting.popleft()
        number = first[subject] if parent is None else story[parent]
        if subject in found:
            _join(story, story[subject], number)
            continue
        found[subject] = diagnose(session, subject, log, asked=asked, arrival=arrival)
        story[subject] = number
        receives = subject.sort in (Sort.RECV, Sort.BYTES)
        waiting.extend((each, subject, receives) for each in sources_of(found[subject].case))
    return [[found[subject] for subject in found if story[subject] == number]
            for number in dict.fromkeys(story.values())]  # fmt: skip


def _join(story: dict[Subject, int], one: int, other: int) -> None:
    """Two stories turn out to be one."""
    kept, gone = sorted((one, other))
    for subject, number in story.items():
        if number == gone:
            story[subject] = kept


def diagnose(
    session: Session, subject: Subject, log: Log, *, asked: bool, arrival: bool = False
) -> Diagnosis:
    """All checks, in their order."""
    case = Case(session, subject, log, asked=asked, arrival=arrival)
    findings = [(check, check.examine(case)) for check in CHECKS]
    if not any(finding.verdict is Verdict.FAIL for _, finding in findings):
        findings += by_rule(case)
    found = _foreseen(case, _of_thread(case, outcome_of(session, subject, log)), findings)
    return Diagnosis(case, name_of(session.names, subject), found, findings)


def _of_thread(case: Case, found: SubjectOutcome) -> SubjectOutcome:
    """The outcome; FAILED of a thread that is done, and whose work failed with no poll of it."""
    failed = unnoticed(case)
    if not failed:
        return found
    name = name_of(case.names, failed[0])
    text = f"{found.sentence}; {name} failed, and no poll returned its completion"
    return replace(found, kind=Status.FAILED, sentence=text)


def _foreseen(
    case: Case, found: SubjectOutcome, findings: Sequence[tuple[Check, Finding]]
) -> SubjectOutcome:
    """Late, pending, or never: what waits in vain will never come."""
    verdicts = {check.slug: finding.verdict for check, finding in findings}
    if found.kind is Status.COMPLETED and verdicts.get(SLOW) is Verdict.WARN:
        took = next(f.evidence[-1].text for check, f in findings if check.slug == SLOW)
        text = found.sentence.replace("SUCCESS", f"SUCCESS after {took}", 1)
        return replace(found, kind=Status.LATE, sentence=text)
    if found.kind is not Status.PENDING:
        return found
    if verdicts.get(TOO_EARLY) is Verdict.WAIT:
        return found
    if Verdict.FAIL in verdicts.values():
        return _without_a_call(case, found)
    waits = thread_wait(case)
    is_polled = waits is not None and waits.cqs and 0 not in waits.program.loops
    if is_polled and Verdict.WAIT not in verdicts.values():
        return never_without_a_call(found, case.subject)  # no check knows why
    doubts = (check for check, finding in findings if finding.verdict is Verdict.WARN)
    # How a program reads completions does not decide whether one comes.
    late = any(check.section is not ChecklistSection.QUEUE for check in doubts)
    return _doubted(case, found) if late else found


def _doubted(case: Case, found: SubjectOutcome) -> SubjectOutcome:
    """Of what waits beside a warning, as far as a run on a branch has shown it."""
    if case.subject.sort is Sort.SEND and case.has_future:
        return _without_a_call(case, found)
    if case.needs_new_call:
        return replace(found, sentence=f"{found.sentence}, and {never_text(case.subject)}")
    return found


def _without_a_call(case: Case, found: SubjectOutcome) -> SubjectOutcome:
    """The outcome if time goes on: it ends then, it may end later, it never ends."""
    future = case.future
    if future.settled:
        end = future.outcome.sentence.replace("it ended", "it ends").partition(";")[0]
        if future.outcome.done and not future.outcome.good:
            end = "it is carried out, unsignaled and so without a CQE,"
        when = f"without another call {end} at {fmt.clock(future.end_ns)}"
        well = future.outcome.good or future.outcome.done
        return replace(found, sentence=f"{found.sentence}; {when}", ends_well=well)
    if case.subject.sort is Sort.SEND and not (future.idle or future.repeats) and _counts(case):
        text = f"{found.sentence}, and will have none for a long time"
        return replace(found, sentence=text, ends_well=False)
    return never_without_a_call(found, case.subject)


def never_without_a_call(found: SubjectOutcome, subject: Subject) -> SubjectOutcome:
    """The outcome, once it is known to be the last one without another call."""
    remark = f", and {never_text(subject)}"
    text = found.sentence.removesuffix(remark) + remark
    return replace(found, kind=Status.NEVER, sentence=text)


def _counts(case: Case) -> bool:
    """Whether a timer of its queue pair runs, whose end brings it nearer to its own."""
    return case.qp is not None and case.qp.timer.at_ns is not None


def never_text(subject: Subject) -> str:
    """The remark that a subject needs another call."""
    if subject.sort is Sort.PROGRAM:
        return "will not get past it without another call"
    return "none will come without another call"


def report_of(session: Session, stories: Sequence[Sequence[Diagnosis]]) -> Report:
    """The first is what was asked about; of the others only what they have to do with it."""
    seen = [diagnosis for story in stories for diagnosis in story]
    first, threads = seen[0], [d for d in seen if d.case.subject.sort is Sort.PROGRAM]
    explained = [d for d in seen if d.causes(Verdict.FAIL)] or [first]
    chains = [_chain(story, story[0].outcome) for story in stories]
    about = (c for found, _ in chains for c in found if _is_about(first, c))
    # Of what came about in one event the request that is asked about has its own reason first.
    roots = sorted(unique(about), key=lambda c: (c.finding.origin, c.subject != first.case.subject,
                                                 *origin(c)))  # fmt: skip
    stations = sorted(unique(c for _, found in chains for c in found), key=origin)
    return Report(
        first.name, _waits_for(first, roots, seen), session.world.event, roots, stations,
        warnings=unique(c for d in [first, *threads, *explained] for c in d.causes(Verdict.WARN)),
        waits=waits(explained) or _waits_of_work(first, seen),
        ruled_out=first.ruled_out,
        unknown=first.causes(Verdict.UNKNOWN),
    )  # fmt: skip


def _waits_of_work(first: Diagnosis, seen: Sequence[Diagnosis]) -> list[Cause]:
    """The waits of the work that a thread waits for; that their time has not come says nothing."""
    of_thread = first.case.subject.sort is Sort.PROGRAM and not first.case.at_rest
    return [c for c in waits(seen) if c.check.slug != TOO_EARLY] if of_thread else []


def _is_about(first: Diagnosis, cause: Cause) -> bool:
    """Whether a cause has to do with what was asked: of a message other bytes may be wrong."""
    of_bytes = first.case.subject.sort is Sort.BYTES
    wrong = of_bytes and cause.check.section is ChecklistSection.WRONG
    return not wrong or cause.check.slug not in first.ruled_out


_WAITING = (Sort.PROGRAM, Sort.CQ, Sort.RECV)  # what another one's failure lets wait in vain


def _waits_for(
    first: Diagnosis, roots: Sequence[Cause], seen: Sequence[Diagnosis]
) -> SubjectOutcome:
    """Its outcome; never, where a thread or a queue waits at rest, or for what never comes.

    Bytes wait as long as a send that is to write them has not ended; they are wrong where a check
    says so although they came.
    """
    found, case = first.outcome, first.case
    if found.kind is Status.NEVER and case.content is not None and not first.causes(Verdict.WARN):
        filled = case.content.filled_by_program
        text = "the program has filled these bytes, and no message"
        if filled is not None and not (roots or case.content.receives or sources_of(case)):
            return replace(found, kind=Status.WELL, sentence=text, event=filled)
    own = first.causes(Verdict.FAIL) or (roots if case.subject.sort is Sort.BYTES else [])
    if own and (bad := spoiled(found, case.subject, own)) is not found:
        return bad
    if case.subject.sort is Sort.BYTES and found.kind is Status.NEVER:
        writers = {each for each in sources_of(case) if each.sort is Sort.SEND}
        open_ = [d for d in seen if d.case.subject in writers and d.outcome.kind is Status.PENDING]
        text = f"nothing is written there yet; {open_[0].name} has no completion" if open_ else ""
        return replace(found, kind=Status.PENDING, sentence=text) if open_ else found
    waits = found.kind is Status.PENDING and case.subject.sort in _WAITING
    lost = {d.case.subject for d in seen if d.outcome.kind is Status.NEVER}
    if not waits or not roots or not (case.at_rest or roots[0].subject in lost):
        return found
    if not case.at_rest and _may_go_on(case):
        return found
    return never_without_a_call(found, case.subject)


_SPOILED = {Sort.BYTES: "and they are wrong", Sort.PROGRAM: "and it used wrong data"}


def spoiled(found: SubjectOutcome, subject: Subject, causes: Sequence[Cause]) -> SubjectOutcome:
    """The outcome of bytes or of a thread that is done, if a check has found causes on them."""
    text = _SPOILED.get(subject.sort, "") if found.kind is Status.WELL else ""
    if subject.sort is Sort.BYTES and {each.check.slug for each in causes} == {"cas-mismatch"}:
        text = text and "and a compare-and-swap since has not changed them"
    bad = replace(found, kind=Status.FAILED, sentence=f"{found.sentence}, {text}")
    return bad if text else found


def _may_go_on(case: Case) -> bool:
    """Whether a thread or a queue gets what it waits for from somewhere else."""
    if case.program is not None:
        return goes_on(case.session, case.subject.thing)
    return case.future.settled


def _chain(story: Sequence[Diagnosis], found: SubjectOutcome) -> tuple[list[Cause], list[Cause]]:
    """Roots and stations; a station is the root of a story that has no other.

    What came into the world after the failure that the story is about is not its cause.
    """
    last = found.event if found.kind is Status.FAILED and found.event is not None else math.inf
    causes = [cause for diagnosis in story for cause in diagnosis.causes(Verdict.FAIL)
              if cause.finding.origin <= last]  # fmt: skip
    without = {d.case.subject: call for d in story for call in unmade(d.case)}
    late = {*_followed_refusal(story), *without}
    roots = [c for c in causes if c.subject not in late
             and (c.subject in without.values() or not c.check.row.station)]  # fmt: skip
    stations = sorted((cause for cause in causes if cause not in roots),
                      key=lambda c: (c.subject in late, c.check.is_rule, origin(c)))  # fmt: skip
    stations = [cause for cause in stations if not (roots and cause.check.row.fallback)]
    return (roots, stations) if roots else (stations[:1], stations[1:])


def _followed_refusal(story: Sequence[Diagnosis]) -> set[Subject]:
    """Calls that were refused for the state in which an earlier refused call left a thing.

    A send that a device has in its ring although it refused the call is such a call, too.
    """
    failed = [d for d in story if d.causes(Verdict.FAIL)]
    calls = [d.case.subject for d in failed if d.case.call is not None]
    return {
        later.case.subject for later in failed for first in calls
        if (later.case.call.refusal in OF_STATES and first.event < later.case.subject.event
            if later.case.call is not None else is_early(later.case))
        and first.thing[1:] == later.case.subject.thing[1:]
    }  # fmt: skip


def waits(explained: Sequence[Diagnosis]) -> list[Cause]:
    """Causes that are waits, specific ones before the general one that it is too early."""
    found = unique(c for d in explained for c in d.causes(Verdict.WAIT))
    return sorted(found, key=lambda cause: cause.check.slug == TOO_EARLY)


def origin(cause: Cause) -> tuple[int, int]:
    """The event in which a cause came into the world, and its item of the checklist."""
    return cause.finding.origin, cause.check.row.item


def unique(causes: Iterable[Cause]) -> list[Cause]:
    """Each cause once per thing: several work requests can fail of the same.

    Findings on a request, its bytes and its refused post since one event are one story.
    """
    found: dict[tuple[str, object], Cause] = {}
    for cause in causes:
        found.setdefault((cause.check.slug, cause.subject.thing), cause)
    first: dict[tuple[str, int], Cause] = {}
    for cause in found.values():
        first.setdefault((cause.check.slug, cause.finding.origin), cause)
    explained = (first[cause.check.slug, cause.finding.origin] for cause in found.values())
    return [cause for cause, other in zip(found.values(), explained, strict=True)
            if cause is other or cause.subject.sort is other.subject.sort]  # fmt: skip
