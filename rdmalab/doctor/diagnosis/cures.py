"""The cures of a report: which are tried, in what order, and what they must make good."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from rdmalab.doctor.case import Case, Log, Session, Sort, Subject
from rdmalab.doctor.diagnosis.diagnose import diagnose
from rdmalab.doctor.evidence.finding import Fix, Verdict
from rdmalab.doctor.facts.receivers import RULE
from rdmalab.doctor.fixes.recovery import reposted, sends_taken
from rdmalab.doctor.fixes.reposting import repost_flushed
from rdmalab.doctor.moments.future import undone_trial
from rdmalab.doctor.moments.moments import visit
from rdmalab.doctor.moments.what_if import TrialOutcome, attempt, carry_out
from rdmalab.doctor.report.report import Cause, Report, TriedFix
from rdmalab.hca.wr import SendWR
from rdmalab.repair.commands import needs_receive, post_send
from rdmalab.session.lines import allowed_lines
from rdmalab.views import fmt

MOST_CURES = 3
_MOST_AGAIN, _MOST_NAMED = 4, 3  # flushed sends that a fix posts again; of the others by name
_RECEIVES = ("post_recv", "post_srq_recv")
_Candidate = tuple[Fix, Subject, str]


def cured(session: Session, report: Report, asked: Case) -> TriedFix | None:
    """The first cure that works.

    What is asked about was perhaps only flushed with it: then it is posted once more, too.
    """
    tried: TriedFix | None = None
    alone = [(Fix(lines), asked.subject, "") for lines in [reposted(asked)] if lines]
    for found, subject, of in (*alone, *_candidates(report, asked.subject)):
        cure = found if found.program or subject == asked.subject else _with(found, asked)
        if cure.program:
            tried = tried or TriedFix(_proved(session, cure, asked), of=of)
            continue
        outcome = TrialOutcome(works=False)
        for each in _with_flushed(cure, asked):
            measure = _measure(asked, subject)
            outcome = attempt(session, each.lines, measure, asked.log, _causes_of)
            if outcome.works:
                return TriedFix(each, works=True, of=of)
        if tried is None or (outcome.ends and not (tried.ends or tried.cure.program)):
            tried = TriedFix(each, False, outcome.failure, outcome.ends, of)
    return tried


def _causes_of(session: Session, subject: Subject, log: Log) -> list[str]:
    """The names of the causes that the checks find on a subject itself."""
    causes = diagnose(session, subject, log, asked=True).causes(Verdict.FAIL)
    return [cause.check.slug for cause in causes]


def as_allowed(session: Session, remedy: TriedFix | None) -> TriedFix | None:
    """The fix in lines that the rules of an open lab allow; without lines where they allow none."""
    lines = [] if remedy is None or remedy.cure.program else remedy.cure.lines
    if remedy is None or not any(map(session.refusal, lines)):
        return remedy
    allowed: list[str] = []
    with undone_trial(session):  # a short form means other verbs in another state
        for line in lines:
            verbs = allowed_lines(session, line)
            if not verbs:
                why = f"{line}: {session.refusal(line)}"
                return replace(remedy, cure=Fix(), works=False, failure=why, ends="")
            carry_out(session, verbs)
            allowed += verbs
    return replace(remedy, cure=replace(remedy.cure, lines=allowed))


def _proved(session: Session, cure: Fix, asked: Case) -> Fix:
    """A change of the program, with what it does on a copy from before the call it replaces."""
    if cure.before is None or cure.before > session.world.event:
        return cure
    with visit(asked.log, cure.before - 1) as then:
        if not attempt(session, cure.lines, asked.subject, then, _causes_of).works:
            return Fix(program=cure.program)
    works = f"after event {cure.before - 1} this works: {cure.lines[0]}"
    return Fix(program=f"{cure.program}: {works}")


def _measure(asked: Case, subject: Subject) -> Subject:
    """The subject that a fix must repair: the work or thread asked about, else the cause's.

    A receive that was refused for the SRQ of its queue pair is posted there, as its call says.
    """
    if asked.receive is not None and subject.sort is Sort.CALL and asked.subject.serial < 0:
        calls = [call for call in asked.log.refused() if call.subject == subject]
        if any(call.refusal == RULE for call in calls):
            return subject
    if (asked.program is not None or asked.call is not None) and asked.asked:
        return asked.subject
    work = asked.asked and asked.subject.sort in (Sort.SEND, Sort.RECV)
    posted = asked.subject.serial >= 0 or subject.sort is Sort.CALL
    return asked.subject if work and posted else subject


def _with(cure: Fix, asked: Case) -> Fix:
    more = [line for line in repost_flushed(asked) if line not in cure.lines]
    return Fix([*cure.lines, *more], note=cure.note)


def _with_flushed(cure: Fix, asked: Case) -> list[Fix]:
    """Of a fix with a RESET two: the taken sends that need no receive are posted again, or none.

    Each names those that it leaves out.
    """
    reset = any(line.endswith(" state=RESET") for line in cure.lines)
    taken = sends_taken(asked) if reset and asked.qp is not None else []
    posts = [(wr, post_send(asked, asked.qp, wr)) for wr in taken if asked.qp is not None]
    known = {tuple(line.split()[:3]) for line in cure.lines}  # wr_id=1 A.qp0 post_send, changed
    posts = [(wr, line) for wr, line in posts if tuple(line.split()[:3]) not in known]
    again = [line for wr, line in posts if not needs_receive(wr)][:_MOST_AGAIN]
    return [_leaving_out(cure, more, [wr for wr, line in posts if line not in more])
            for more in ([again, []] if again else [[]])]  # fmt: skip


def _leaving_out(cure: Fix, more: list[str], left: list[SendWR]) -> Fix:
    """A fix with more lines; its note names what was flushed or lost and is not among them."""
    names = fmt.listed([fmt.wr(wr.wr_id) for wr in left], _MOST_NAMED)
    text = f"sends that it does not post again: {names}" if left else ""
    return Fix([*cure.lines, *more], note="; ".join(filter(None, (cure.note, text))))


def _candidates(report: Report, asked: Subject) -> list[_Candidate]:
    """Cures of the first cause, the smallest first, each with what it must make good.

    Of several roots it is cured alone, or all of them are. Where it lies in another work than the
    one asked about, that one's own cure may do; else both are needed. A refused call changed
    nothing: what else is wrong is mended before it.
    """
    roots = _with_cure(report.causes)
    if not roots:
        beside = _with_cure([*report.stations, *(() if report.causes else
                                                 (*report.warnings, *report.waits))])  # fmt: skip
        return [(cure, cause.subject, cause.check.slug) for cause, cure in beside]
    (first, cure), *others = roots[:MOST_CURES]
    if first is not report.causes[0]:
        return []
    of, more = first.check.slug, [each for _, each in others]
    if any(cause.subject == asked for cause, _ in roots) or not cure.lines:
        last = roots[-1][0].subject
        both = [_together(all_, last, of) for all_ in ([cure, *more], [*more, cure])]
        return [(cure, first.subject, of), *both[0], *both[1]]
    refused = asked.serial < 0  # its post was: it is made again after what the root needs
    own = [(cause, each) for cause, each in _with_cure(report.stations) if cause.subject == asked
           or (refused and cause.subject.sort is Sort.CALL)]  # fmt: skip
    alone = [(each, asked, cause.check.slug) for cause, each in own if each.lines]
    together = _together([cure, *(each for _, each in own)], asked, of)
    return [*together, (cure, first.subject, of), *alone]


def _with_cure(causes: Iterable[Cause]) -> list[tuple[Cause, Fix]]:
    return [(cause, cause.finding.cure) for cause in causes if cause.finding.cure is not None]


def _together(cures: Sequence[Fix], subject: Subject, of: str) -> list[_Candidate]:
    """All of them as one, without repeated lines; first with the receives of only one of them."""
    if len(cures) < 2 or any(cure.program for cure in cures):
        return []
    every = list(dict.fromkeys(line for cure in cures for line in cure.lines))
    note = ", ".join(dict.fromkeys(cure.note for cure in cures if cure.note))
    fewer = _filled_once(cures)
    return [(Fix(lines, note=note), subject, of)
            for lines in ([fewer, every] if len(fewer) < len(every) else [every])]  # fmt: skip


def _filled_once(cures: Sequence[Fix]) -> list[str]:
    """The lines of all, with the receives of the first one that posts any on a queue."""
    lines: dict[str, None] = {}
    filled: set[tuple[str, ...]] = set()
    for cure in cures:
        lines |= dict.fromkeys(x for x in cure.lines if tuple(x.split()[:2]) not in filled)
        filled |= {tuple(x.split()[:2]) for x in cure.lines if x.startswith(_RECEIVES)}
    return list(lines)
