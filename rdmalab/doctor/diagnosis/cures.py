"""The cures of a report: which are tried, in what order, and what they must make good."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from rdmalab.doctor.case import Case, Log, Session, Sort, Subject
from rdmalab.doctor.diagnosis.diagnose import diagnose
from rdmalab.doctor.evidence.finding import Fix, Verdict
from rdmalab.doctor.facts.receivers import RULE
from rdmalab.doctor.fixes.recovery import (
    Lost,
    not_among,
    receives_lost,
    reposted,
    sends_flushed,
    sends_lost,
    sends_taken,
)
from rdmalab.doctor.fixes.reposting import repost_flushed
from rdmalab.doctor.moments.future import undone_trial
from rdmalab.doctor.moments.moments import visit
from rdmalab.doctor.moments.what_if import attempt, carry_out
from rdmalab.doctor.report.report import Cause, Report, TriedFix
from rdmalab.session.lines import allowed_lines
from rdmalab.spec.programs import ProgramState
from rdmalab.views import fmt

MOST_CURES = 3
_MOST_AGAIN, _MOST_NAMED = 4, 3  # flushed sends that a fix posts again; of the others by name
NOT_POSTED = "that it does not post again"
"""In the note of a fix after the kind of work that it discards or leaves flushed."""
_POST = "post_send"
_CONNECTS = ("modify_qp", "connect", "to_rts")
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
        whole, fewer = _with_lost(cure, asked)
        measure, tries = _measure(asked, subject), list[TriedFix]()
        for each in (*whole, *fewer):
            outcome = attempt(session, each.lines, measure, asked.log, _causes_of)
            if outcome.works:
                return TriedFix(each, works=True, of=of)
            tries.append(TriedFix(each, False, outcome.failure, outcome.ends, of))
        last = tries[len(whole) - 1]
        if tried is None or (last.ends and not (tried.ends or tried.cure.program)):
            tried = last
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

    A receive that was refused for the SRQ of its queue pair is posted there, as its call says. A
    thread that waits for asynchronous events is right to wait on, and one that is done is over.
    """
    program = asked.program
    if program is not None and (program.awaits_async_event or program.state is ProgramState.DONE):
        return subject
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
    with undone_trial(asked.session):
        carry_out(asked.session, cure.lines)  # the bytes of these lines are not free for a receive
        more = [line for line in repost_flushed(asked) if line not in cure.lines]
    return Fix([*cure.lines, *more], note=cure.note)


def _with_lost(cure: Fix, asked: Case) -> tuple[list[Fix], list[Fix]]:
    """A fix with the work that it discards by a RESET, and that was flushed, posted again.

    All receives, and of the sends those for which the fix has receives to spare, or those that
    need none, or no sends; then one without the receives, if any are lost. Each names what it
    leaves out.
    """
    lines = cure.lines
    own = [_POST, asked.names.of(asked.subject.thing), f"wr_id={asked.subject.wr_id}"]
    mine = next((at for at, line in enumerate(lines) if line.split()[:3] == own), len(lines))
    begins = any(line.startswith("connect ") or " state=RESET" in line or " state=INIT" in line
                 for line in lines)  # fmt: skip
    flushed = not_among([*lines[:mine], *lines[mine + 1 :]], sends_taken(asked) if begins else [])
    flushed += sends_flushed(asked, lines)
    met = [each for each in flushed if each.needs_receive][: _spare_receives(lines, asked)]
    alone = [each for each in flushed if not each.needs_receive]
    every = [each for each in flushed if not each.needs_receive or any(each is one for one in met)]
    again = [some[:_MOST_AGAIN] for some in ((every, alone) if met else (alone,))]
    receives, sends = receives_lost(asked, lines), [*flushed, *sends_lost(asked, lines)]
    stocked = replace(cure, lines=_stocked(lines, receives))
    whole = [_leaving_out(stocked, more, sends, []) for more in (*filter(None, again), [])]
    return whole, [_leaving_out(cure, [], sends, receives)] if receives else []


def _spare_receives(lines: list[str], asked: Case) -> int:
    """Number of receives that these lines post on other queue pairs, and send no message for."""
    own = asked.qp_name(asked.qp) if asked.qp is not None else ""
    words = [line.split()[:2] for line in lines]
    receives = sum(line.count(" wr={") or 1 for line, word in zip(lines, words, strict=True)
                   if word[:1] == [_RECEIVES[0]] and own not in word)  # fmt: skip
    return max(receives - words.count([_POST, own]), 0)


def _stocked(lines: list[str], receives: list[Lost]) -> list[str]:
    """These lines with receives after the last one that connects, or posts a receive."""
    if not receives:
        return lines
    before = (at for at, line in enumerate(lines)
              if line.partition(" ")[0] in (*_CONNECTS, *_RECEIVES))  # fmt: skip
    place = max(before, default=-1) + 1
    return [*lines[:place], *(each.post for each in receives), *lines[place:]]


def _leaving_out(cure: Fix, more: list[Lost], sends: list[Lost], receives: list[Lost]) -> Fix:
    """A fix with more lines; its note names the other work that was flushed or is discarded."""
    notes = [cure.note]
    for noun, work in (("sends", sends), ("receives", receives)):
        lost = (each.name for each in work if not any(each is one for one in more))
        names = fmt.listed(list(dict.fromkeys(lost)), _MOST_NAMED)
        notes += [f"{noun} {NOT_POSTED}: {names}"] if names else []
    return replace(
        cure, lines=[*cure.lines, *(each.post for each in more)],
        note="; ".join(filter(None, notes)),
    )  # fmt: skip


def _candidates(report: Report, asked: Subject) -> list[_Candidate]:
    """Cures of the first cause, the smallest first, each with what it must make good.

    Of several roots it is cured alone, or all of them are. Where it lies in another work than the
    one asked about, that one's own cure may do; else both are needed. A refused call changed
    nothing: what else is wrong is mended before it, or all that its refusal led to after it.
    """
    roots = _with_cure(report.causes)
    if not roots:
        waits = (cause for cause in report.waits if cause.subject == asked)
        beside = _with_cure([*report.stations, *(() if report.causes else
                                                 (*report.warnings, *waits))])  # fmt: skip
        return [(cure, cause.subject, cause.check.slug) for cause, cure in beside]
    (first, cure), *others = roots[:MOST_CURES]
    if first is not report.causes[0]:
        return []
    of, more = first.check.slug, [each for _, each in others]
    effects = _with_cure(report.stations) if first.subject.sort is Sort.CALL else []
    every = _together([cure, *(each for _, each in effects)], asked, of) if effects else []
    if any(cause.subject == asked for cause, _ in roots) or not cure.lines:
        last = roots[-1][0].subject
        both = [_together(all_, last, of) for all_ in ([cure, *more], [*more, cure])]
        return [(cure, first.subject, of), *both[0], *both[1], *every]
    refused = asked.serial < 0  # its post was: it is made again after what the root needs
    own = [(cause, each) for cause, each in _with_cure(report.stations) if cause.subject == asked
           or (refused and cause.subject.sort is Sort.CALL)]  # fmt: skip
    alone = [(each, asked, cause.check.slug) for cause, each in own if each.lines]
    together = _together([cure, *(each for _, each in own)], asked, of)
    return [*together, (cure, first.subject, of), *alone, *every]


def _with_cure(causes: Iterable[Cause]) -> list[tuple[Cause, Fix]]:
    return [(cause, cause.finding.cure) for cause in causes if cause.finding.cure is not None]


def _together(cures: Sequence[Fix], subject: Subject, of: str) -> list[_Candidate]:
    """All of them as one, without repeated lines; first with the receives of only one of them."""
    if len(cures) < 2 or any(cure.program for cure in cures):
        return []
    every = list(dict.fromkeys(line for cure in cures for line in cure.lines))
    note = ", ".join(dict.fromkeys(cure.note for cure in cures if cure.note))
    fewer = _filled_once(cures)
    return [(Fix(_after_resets(lines), note=note), subject, of)
            for lines in ([fewer, every] if len(fewer) < len(every) else [every])]  # fmt: skip


def _after_resets(lines: list[str]) -> list[str]:
    """Put what is posted on a queue pair before its RESET after the lines that connect."""
    words = [line.split() for line in lines]
    resets = {word[1]: at for at, word in enumerate(words) if word[2:] == ["state=RESET"]}
    early = [at for at, word in enumerate(words) if word[0] in (_POST, *_RECEIVES)
             and at < resets.get(word[1], -1)]  # fmt: skip
    if not early:
        return lines
    last = max(at for at, word in enumerate(words) if word[0] in _CONNECTS)
    kept = [[line for at, line in enumerate(lines) if at not in early and (at <= last) is before]
            for before in (True, False)]  # fmt: skip
    return [*kept[0], *(lines[at] for at in early), *kept[1]]


def _filled_once(cures: Sequence[Fix]) -> list[str]:
    """The lines of all, with the receives of the first one that posts any on a queue."""
    lines: dict[str, None] = {}
    filled: set[tuple[str, ...]] = set()
    for cure in cures:
        lines |= dict.fromkeys(x for x in cure.lines if tuple(x.split()[:2]) not in filled)
        filled |= {tuple(x.split()[:2]) for x in cure.lines if x.startswith(_RECEIVES)}
    return list(lines)
