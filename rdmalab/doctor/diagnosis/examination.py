"""The findings of the checks for a subject at a moment, and which of them hold now.

Findings of another moment are data: they keep no object of that world.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice

from rdmalab.command import Noun, Ref, Thing
from rdmalab.doctor.case import Case, Log, Send, Session, Sort, Subject
from rdmalab.doctor.check import ChecklistSection
from rdmalab.doctor.diagnosis import diagnose
from rdmalab.doctor.diagnosis.cures import NOT_POSTED, cured
from rdmalab.doctor.diagnosis.healthy_checks import coming
from rdmalab.doctor.evidence.finding import Fix, Verdict
from rdmalab.doctor.evidence.outcome import Status, SubjectOutcome, outcome_of
from rdmalab.doctor.evidence.posting_calls import OF_THE_QUEUE
from rdmalab.doctor.evidence.subject import name_of
from rdmalab.doctor.evidence.time_spent import TimeSpent
from rdmalab.doctor.moments.future import undone_trial
from rdmalab.doctor.moments.moments import Moment, Why, before_stops, visit, visit_moment
from rdmalab.doctor.moments.what_if import carry_out
from rdmalab.doctor.report.report import TOO_EARLY, Cause, Report, TriedFix
from rdmalab.hca.qp import QueuePair
from rdmalab.repair.commands import attribute, post_recv, post_send
from rdmalab.spec import records as rec
from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.records import Kind
from rdmalab.spec.row import dataclass
from rdmalab.spec.states import QPState
from rdmalab.spec.statuses import WCStatus
from rdmalab.views import fmt
from rdmalab.world.relations import exists, find_qp

_BRINGS_UP = ("connect ", "to_rts ", "modify_qp ")
_AGAIN = ("post_recv", "post_srq_recv", "connect", "to_rts", "modify_qp")
"""Lines of a fix that only make queues ready once more, the likeliest change first."""


_NAME = re.compile(r"\b[A-Z]\.[a-z_]\w*")
_MADE = re.compile(r"^(?:create|alloc|reg|open|program)\w* (\S+)")
_POSTS, _MOST_POSTS = (Kind.SEND_POSTED, Kind.RECV_POSTED), 64  # of each queue pair, the newest
_MOST_POLLS = 64  # of the newest, among which the last of a thread is


@dataclass(frozen=True, slots=True)
class Examination:
    """The findings of the checks for a subject at a moment."""

    moment: Moment
    subject: Subject
    report: Report

    @property
    def decides(self) -> bool:
        """Whether a root was found; a station where nothing was still to come.

        The rule of a refused call is settled with the call, unless a queue held things up.
        """
        stations_do = self.moment.why in (Why.BEFORE_TEARDOWN, Why.QUIET)
        settled = self.moment.why is Why.ENDED and self.subject.sort is Sort.CALL
        return any(
            stations_do or not check.row.station
            or (settled and check.is_rule and check.slug not in OF_THE_QUEUE)
            for check in (cause.check for cause in self.report.causes)
        )  # fmt: skip

    @property
    def root(self) -> object:
        """The cause it found, and the object; None if it found none."""
        first = self.report.causes[:1]
        return (first[0].check.slug, first[0].subject) if first else None

    @property
    def rank(self) -> tuple[int, int]:
        """Lower is better: a root, then more stations, then a wait or a warning, then nothing."""
        if self.decides:
            return 0, 0
        if self.report.causes:
            return 1, -len({cause.check.slug for cause in self.report.chain})
        return (2, 0) if self.report.waits or self.report.warnings else (3, 0)


def best_of(looks: Iterable[Examination]) -> Examination:
    """The look that says most; of the looks with its root that of the earliest moment.

    Later the facts about the root may be others: a region is deregistered, a handle destroyed.
    """
    found = list(looks)
    best = min(found, key=lambda examination: examination.rank)
    same = [examination for examination in found if examination.root == best.root is not None]
    return min(same, key=lambda examination: examination.moment.event, default=best)


def looks_at(log: Log, moment: Moment, group: Sequence[Subject]) -> list[Examination]:
    """A look at each subject of a group; of those of one story the same."""
    session = log.session
    with visit_moment(log, moment) as then:
        stories = diagnose.followed(session, group, then, asked=True)
        return [
            Examination(moment, diagnosis.case.subject, diagnose.report_of(session, [story]))
            for story in stories
            for diagnosis in story
            if diagnosis.case.subject in group
        ]


def report_of_now(
    session: Session, log: Log, examination: Examination, found: Sequence[Subject]
) -> Report:
    """The findings of a moment; the outcome and the fix of now."""
    report = examination.report
    if examination.moment.why is Why.NOW:
        report.remedy = cured(session, report, Case(session, examination.subject, log, asked=True))
    else:
        report.event = session.world.event
        if examination.moment.why is not Why.QUIET:  # nothing has happened to it since
            report.outcome = _outcome_of_now(session, log, examination)
            report.name = name_of(session.names, examination.subject)
            report.warnings = [w for w in report.warnings if not is_over(session, log, w)]
        if report.outcome.good:
            report.waits = [wait for wait in report.waits if wait.check.slug != TOO_EARLY]
        report.remedy = _remedy(session, log, examination, found)
    if examination.report.outcome.kind is Status.LATE:
        report.waits = _waited_for(session, log, examination.subject)
    if report.outcome.kind is Status.PENDING:
        report.next = coming(session, examination.subject)
    return _consistent(report, examination.subject)


def is_over(session: Session, log: Log, warning: Cause) -> bool:
    """Whether a warning is of a state of the peer that its check rules out now."""
    case = Case(session, warning.subject, log, asked=True)
    of_peer = warning.check.section is ChecklistSection.PEER
    return of_peer and warning.check.examine(case).verdict is Verdict.OK


def _outcome_of_now(session: Session, log: Log, examination: Examination) -> SubjectOutcome:
    """The outcome of now of what was looked at in another moment, with what was found then."""
    report, subject = examination.report, examination.subject
    found = _outcome_at(session, log, examination)
    own = [c for c in report.causes if c.subject == subject and not c.check.row.fallback]
    if own and report.outcome.kind is Status.NEVER and found.kind is Status.WELL:
        # It went on: what had held it up gave it no wrong data.
        own = diagnose.diagnose(session, subject, log, asked=True).causes(Verdict.FAIL)
    return diagnose.spoiled(found, subject, own) if own else found


def has_gone_on(session: Session, log: Log, examination: Examination) -> bool:
    """Whether a thread that hung at another moment is done by now, and well."""
    if examination.subject.sort is not Sort.PROGRAM or examination.moment.why is Why.NOW:
        return False
    return _outcome_of_now(session, log, examination).kind is Status.WELL


def _consistent(report: Report, subject: Subject) -> Report:
    """Nothing is well beside a cause: a thread that is done was only held up by it."""
    if report.outcome.kind is not Status.WELL or not report.causes:
        return report
    if subject.sort is Sort.PROGRAM:
        report.warnings = diagnose.unique([*report.chain, *report.warnings])
        report.causes, report.stations, report.remedy = [], [], None
    elif report.slug == "qp-not-rts":
        text = f"{report.outcome.sentence}, and sends nothing without another call"
        report.outcome = replace(report.outcome, kind=Status.NEVER, sentence=text)
    return report


def _waited_for(session: Session, log: Log, subject: Subject) -> list[Cause]:
    """The causes of the longest wait of late work."""
    waits = TimeSpent(Send(session, subject, log)).waits
    during = waits[0].during if waits else None
    if during is None:
        return []
    with visit(log, during) as then:
        stories = diagnose.followed(session, [subject], then, asked=True)
        seen = [diagnosis for story in stories for diagnosis in story]
        found = [c for v in (Verdict.WAIT, Verdict.FAIL) for d in seen for c in d.causes(v)]
    return diagnose.unique(cause for cause in found if cause.check.slug != TOO_EARLY)


def _outcome_at(session: Session, log: Log, examination: Examination) -> SubjectOutcome:
    """Its outcome now: what was destroyed without an error is well."""
    found = outcome_of(session, examination.subject, log)
    gone = not exists(session.world, examination.subject.thing)
    then = examination.report.outcome
    if then.kind is Status.LATE:
        return then
    if examination.subject.sort is Sort.PROGRAM:
        return _thread(session, log, examination, found)
    unwritten = then.kind is Status.NEVER and examination.subject.sort is Sort.BYTES
    well = then.good or unwritten or then.kind is Status.PENDING
    if gone and well and not examination.report.causes:
        work = examination.subject.serial >= 0
        return found if work else replace(found, kind=Status.WELL)
    return found


def _thread(
    session: Session, log: Log, examination: Examination, found: SubjectOutcome
) -> SubjectOutcome:
    """Of a thread that hangs that it never goes on; of one that was stopped how it stood then."""
    if exists(session.world, examination.subject.thing):
        ended = _ended_by_a_teardown(session, log, examination.subject)
        if examination.report.outcome.kind is Status.NEVER and ended:
            text = f"{examination.report.outcome.sentence}; {ended} ended the wait"
            return replace(examination.report.outcome, sentence=text)
        hangs = found.kind is Status.PENDING and examination.report.causes
        if not hangs or not log.rests(examination.subject.thing):
            return found
        return diagnose.never_without_a_call(found, examination.subject)
    then, event = examination.report.outcome, log.destroyed(examination.subject.thing)
    kind = Status.WELL if then.kind is Status.PENDING else then.kind
    if event is None or then.event is not None:
        return replace(then, kind=kind)
    name = session.names.of(examination.subject.thing)
    text = f"{then.sentence}; {log.who(event)} stopped {name}"
    return replace(then, kind=kind, sentence=text, event=event)


def _ended_by_a_teardown(session: Session, log: Log, subject: Subject) -> str:
    """The last that a thread got, if a drain made it; else empty. `a flushed completion`."""
    name, last = session.names.of(subject.thing), AsyncEvent.QP_LAST_WQE_REACHED
    events = (r for r in log.of(Kind.ASYNC_TAKEN, subject.thing.node)[-1:])
    if any(rec.async_event_of(r) is last and log.asked(rec.event_of(r))[1] == name for r in events):
        return last.name
    polls = (r for r in reversed(log.of(Kind.CQE_POLLED, subject.thing.node)))
    newest = islice(polls, _MOST_POLLS)
    own = (rec.cqe_of(r).status for r in newest if log.asked(rec.event_of(r))[1] == name)
    if next(own, None) == WCStatus.WR_FLUSH_ERR:
        return "a flushed completion"
    reads = islice(reversed(log.of(Kind.CQ_EVENT_TAKEN, subject.thing.node)), _MOST_POLLS)
    read = next((r for r in reads if log.asked(rec.event_of(r))[1] == name), None)
    if read is None:
        return ""
    added = reversed(log.of(Kind.CQE_ADDED, subject.thing.node, rec.object_of(read)))
    status = next(
        (rec.cqe_of(r).status for r in added if rec.event_of(r) < rec.event_of(read)), None
    )
    return "the event of a flushed completion" if status == WCStatus.WR_FLUSH_ERR else ""


# --------------------------------------------------------------------------- the fix
def _remedy(
    session: Session, log: Log, examination: Examination, found: Sequence[Subject]
) -> TriedFix | None:
    """Lines made from the world of now and tried now; else those of then, for the program."""
    case = Case(session, examination.subject, log, asked=True)
    lives = exists(session.world, examination.subject.thing)
    tried = _tried_now(session, log, examination, found, case) if lives else None
    if lives and (tried is None or tried.helps or tried.cure.program):
        return tried
    event = before_stops(log, examination.moment.seen)
    if examination.moment.world is not None:  # a NAK under way would reach the fix's request, too
        with visit(log, event) as log_then:
            work = Case(session, examination.subject, log_then, asked=True).work
        if work is None or not work.posted:
            return _for_what_lives(session, tried)
        event = work.posted - 1
    with visit(log, event) as log_then:
        case = Case(session, examination.subject, log_then, asked=True)
        then = cured(session, examination.report, case)
        found_then = as_at_event(case, then, event)
    if then is not None and then.helps:
        return found_then
    return _for_what_lives(session, tried or then)


def _for_what_lives(session: Session, remedy: TriedFix | None) -> TriedFix | None:
    """A fix that does not help, unless its lines need what was destroyed: then the call to change.

    None if none of them creates a queue with other values.
    """
    if remedy is None or remedy.helps or not destroyed_names(session, remedy.cure.lines):
        return remedy
    made = next((line for line in remedy.cure.lines if line.startswith("create_cq ")), "")
    return TriedFix(Fix(program=f"begin with {made}"), of=remedy.of) if made else None


def destroyed_names(session: Session, lines: Sequence[str]) -> list[str]:
    """The names in these lines of objects that were destroyed, and that no line creates before."""
    found: list[str] = []
    made: set[str] = set()
    for line in lines:
        made.update(_MADE.findall(line))
        for name in _NAME.findall(line):
            thing = session.names.find(name)
            gone = thing is not None and not exists(session.world, thing)
            found += [name] if gone and name not in made else []
    return found


def _tried_now(
    session: Session, log: Log, examination: Examination, found: Sequence[Subject], case: Case
) -> TriedFix | None:
    """The fix made from the world of now; else the one made then, if only that helps now."""
    stories = diagnose.followed(session, found, log, asked=True)
    if not any(stories):  # the subject was destroyed, and its program says nothing now
        return cured(session, examination.report, case)
    now = diagnose.report_of(session, stories)
    slugs = {cause.check.slug for cause in examination.report.chain}
    now.causes = [cause for cause in now.causes if cause.check.slug in slugs]
    tried = cured(session, now, case) if now.causes else None
    if tried is not None and tried.works:
        return tried
    return cured(session, examination.report, case) or tried


def _as_posted(case: Case, lines: Sequence[str]) -> list[str]:
    """The lines that post what the queue pairs which these lines name were given before."""
    found: list[str] = []
    names = {line.split()[1] for line in lines if line.startswith(("post_send", "post_recv"))}
    with undone_trial(case.session):  # as they are connected then a region has its name
        carry_out(case.session, [line for line in lines if line.startswith(_BRINGS_UP)])
        for thing in filter(case.exists, filter(None, map(case.names.find, names))):
            qp = case.world.find(thing, QueuePair)
            sent, received = (case.log.about(kind, thing)[-_MOST_POSTS:] for kind in _POSTS)
            found += [post_send(case, qp, rec.send_wqe_of(r).wr) for r in sent]
            found += [post_recv(case, qp, rec.recv_wqe_of(r).wr) for r in received]
    return found


def as_at_event(case: Case, remedy: TriedFix | None, event: int) -> TriedFix | None:
    """Lines that worked at an event of the past; typed now they would not.

    Named are the attributes of a bring-up that they change, else the line that differs most from
    what was typed. case: of then.
    """
    if remedy is None or remedy.cure.program or not remedy.helps:
        return remedy
    lines = remedy.cure.lines
    if change := _bring_up_to_change(case, lines):
        return TriedFix(Fix(program=change), of=remedy.of)
    same = _as_posted(case, lines)
    first = min(lines, key=lambda line: (line in same, line.endswith(" state=RESET"),
                                         _rank(case, line)))  # fmt: skip
    lost = (note for note in remedy.cure.note.split("; ") if NOT_POSTED in note)
    notes = "; ".join(filter(None, (remedy.ends, *lost)))
    does = ("works" if remedy.works else "helps") + (f" ({notes})" if notes else "")
    place = f", as line {lines.index(first) + 1} of {len(lines)}," if len(lines) > 1 else ""
    return TriedFix(Fix(lines, f"after event {event}{place} this {does}: {first}"), of=remedy.of)


def for_program(session: Session, report: Report) -> Report:
    """The answer for a program of the host, with the call that it has to change as the fix.

    Such a program has no prompt to type at; its author changes its source.
    """
    report.applies, report.in_program, remedy = False, True, report.remedy
    if remedy is None or remedy.cure.program or not remedy.helps or not report.chain:
        return report
    text = _call_to_change(session, report.chain[0], remedy.cure.lines)
    if notes := [note for note in (remedy.ends, remedy.cure.note) if note]:
        text += f" ({'; '.join(notes)})"
    report.remedy = TriedFix(Fix(program=text), of=remedy.of)
    return report


def _call_to_change(session: Session, root: Cause, lines: Sequence[str]) -> str:
    """The line of a fix that differs most from what was called, and the event of that call."""
    case = Case(session, root.subject, Log(session), asked=True)
    same = _as_posted(case, lines)
    line = min(
        lines, key=lambda line: (line in same, line.endswith(" state=RESET"), _rank(case, line))
    )
    verb, name, *words = line.split()
    thing, work = case.names.find(name), case.work
    event = work.posted if work is not None else case.call.event if case.call is not None else None
    if change := _change_by_verb(case, line, thing, event) or _bring_up_to_change(case, lines):
        return change
    events = [each.event for each in root.finding.evidence if each.event is not None]
    calls = {event: case.log.asked(event)[0] for event in events}
    moves = [
        event for event, call in calls.items() if call is not None and call.name == "modify_qp"
    ]
    if moves and verb in ("connect", "modify_qp"):  # both ends are only brought up once more
        which = " or ".join(map(str, moves))
        return f"the modify_qp of event {which}, so that the attributes of both ends fit"
    if event is None:
        return line
    own = thing == case.queue_of_subject and line.startswith("post_") and (
        case.call is not None or f"wr_id={case.subject.wr_id}" in words)  # fmt: skip
    # Where a queue is full no other call finds a slot: its slots were given before.
    is_full = case.call is not None and case.call.refusal in OF_THE_QUEUE
    where = "in place of the call of" if own and not is_full else "before"
    return f"{where} event {event}: {line}"


def _change_by_verb(case: Case, line: str, thing: Thing | None, event: int | None) -> str:
    """The change where the line stands for another call, or for one at another time; else empty.

    thing: the object of the line; event: that of the call it is about.
    """
    verb, name, *words = line.split()
    work, call = case.work, case.call
    if verb == "poll_cq" and work is not None and work.added is not None:
        return f"after event {work.added.event}: {line}"
    if verb == "rereg_mr" and thing is not None:
        line = " ".join(["reg_mr", name, *words[1:]])
        return f"in place of the call of event {case.log.created(thing)}: {line}"
    if call is not None and call.verb == verb == "modify_qp":
        return f"in place of the call of event {call.event}: {line}"
    gone = case.log.destroyed(thing) if thing is not None and verb == "reg_mr" else None
    if work is None or gone is None or event is None or gone < event:
        return ""
    done = f"after {fmt.wr(case.subject.wr_id)} is complete, not before it"
    return f"{done}, call the dereg_mr of event {gone}"


def _bring_up_to_change(case: Case, lines: Sequence[str]) -> str:
    """`give the modify_qp of event 9 timeout=14`: attributes that lines change; empty if none.

    PSNs are left out: a bring-up that is made again begins at 0, whatever they were. Empty, too,
    where it is about a refused call, or a call would have to name what was made after it.
    """
    moves = [line for line in lines if line.startswith(_BRINGS_UP) and case.call is None]
    things = {case.names.find(name) for line in moves for name in _NAME.findall(line)}
    called = {thing: _attributes_given(case, thing) for thing in things if thing is not None}
    changes = dict[int, list[str]]()
    with undone_trial(case.session):
        if not moves or carry_out(case.session, moves):
            return ""
        for thing, given in called.items():
            qp = find_qp(case.world, *thing[1:]) if thing.noun is Noun.QP else None
            if qp is None or qp.state is QPState.RESET:
                continue
            for name, (event, value) in given.items():
                if getattr(qp.attr, name) != value:
                    changes.setdefault(event, []).append(f"{name}={attribute(case, qp, name)}")
    calls = (f"the modify_qp of event {at} {' '.join(to)}" for at, to in sorted(changes.items()))
    early = any(_is_made_after(case, name, at) for at, to in changes.items()
                for name in _NAME.findall(" ".join(to)))  # fmt: skip
    return f"give {' and '.join(calls)}" if changes and not early else ""


def _is_made_after(case: Case, name: str, event: int) -> bool:
    thing = case.names.find(name)
    return thing is not None and (case.log.created(thing) or 0) > event


_NUMBERS = (
    "path_mtu", "qkey", "dest_qp_num", "qp_access_flags", "pkey_index", "port_num", "max_rd_atomic",
    "max_dest_rd_atomic", "min_rnr_timer", "timeout", "retry_cnt", "rnr_retry",
)  # fmt: skip


def _attributes_given(case: Case, thing: Thing) -> dict[str, tuple[int, int]]:
    """The attributes that calls of modify_qp gave a queue pair in its present life: the last event,
    the value.
    """
    found = dict[str, tuple[int, int]]()
    born = case.log.born(thing)
    for event in case.log.called(thing, "modify_qp", after=born):  # INIT → INIT, too
        call, _ = case.log.asked(event)
        attr = call.arguments.get("attr", {}) if call is not None else {}
        for name in _NUMBERS if isinstance(attr, dict) else ():
            value = attr.get(name)
            named = case.names.find(str(value)) if isinstance(value, Ref) else None
            value = named.number if named is not None else value
            found |= {name: (event, value)} if isinstance(value, int) else {}
    return found


def _rank(case: Case, line: str) -> int:
    """Lower is the likelier change: neither a receive nor a step of a bring-up.

    Where no program has read an event, the limit of an SRQ is not the likely change either.
    """
    again = _AGAIN if case.log.of(Kind.ASYNC_TAKEN) else (*_AGAIN, "modify_srq")
    return next((n for n, text in enumerate(again, 1) if line.startswith(text)), 0)
