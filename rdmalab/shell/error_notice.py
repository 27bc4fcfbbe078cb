"""The three rows after a run that ended badly, once for each new failure: what, cause, next."""

from collections.abc import Iterator
from dataclasses import field

from rdmalab.doctor.asking.subjects import subjects
from rdmalab.doctor.diagnosis.examination import Examination
from rdmalab.doctor.diagnosis.plain import at_the_act, best_looks, drained, plain_chain
from rdmalab.doctor.evidence.log import Log
from rdmalab.doctor.evidence.outcome import Status
from rdmalab.doctor.evidence.subject import Sort, Subject
from rdmalab.doctor.moments.moments import is_ordered
from rdmalab.doctor.report.rows import Row, RowPart, named
from rdmalab.render.meanings import APPEARANCES
from rdmalab.session.session import Session
from rdmalab.spec.records import Kind, event_of, kind_of, new_state_of, node_of, object_of
from rdmalab.spec.row import dataclass
from rdmalab.spec.states import QPState
from rdmalab.views.caption import endings
from rdmalab.views.columns import Meaning

_NEWEST = 2_000  # records: it is computed after every run, without being asked for
_MARGIN = 12  # columns of the sign and of the event
_MOMENTS = 2  # at which the cause is looked for
_ERRORS = (QPState.ERR, QPState.SQE)
CAUSE = "  cause  "
"""The lead of the row that names the cause."""
_ENDS = (Kind.WQE_COMPLETED, Kind.CQE_ADDED, Kind.STATE_CHANGED)


@dataclass(slots=True)
class ErrorNotice:
    """The failures of one world that were reported already.

    foreseen: those of them that were reported before they happened; harmless: what proved to be
    none.
    """

    session: Session | None = None
    reported: list[Subject] = field(default_factory=list)
    foreseen: list[Subject] = field(default_factory=list)
    harmless: list[Subject] = field(default_factory=list)

    def rows(self, session: Session, first: int, width: int) -> list[Row]:
        """Three rows about what has failed or hangs and was not reported yet, else none.

        first: the first event of the run. width: without room for them the states are left out.
        No fix is tried, and only the newest records are read.
        """
        if session is not self.session:
            self.session, self.reported, self.foreseen, self.harmless = session, [], [], []
        log = Log(session, newest=_NEWEST)
        ended = {(node_of(each), object_of(each)) for each in log.since(first, Kind.WQE_COMPLETED)}
        happened = [each for each in self.foreseen if each.thing[1:] in ended]
        self.reported = [each for each in self.reported if each not in happened]
        self.foreseen = [each for each in self.foreseen if each not in happened]
        every = subjects(session, log, None)
        found = [s for s in every if s not in self.reported]
        found = [s for s in found if s.sort is not Sort.CALL]  # its refusal was printed
        self.reported += found
        for subject in found:
            chain = plain_chain(session, log, subject)[:_MOMENTS]
            looks = best_looks(log, {subject: chain})[:1]
            if not session.history.live and _only_waits(looks):
                self.reported.remove(subject)  # what will come of it is known in the past
                continue
            if is_ordered(session, log, subject) and not any(each.report.causes for each in looks):
                self.harmless.append(subject)
                continue
            for style in (at_the_act(session, log, each) for each in looks):
                if style.report.causes or style.report.outcome.kind is not Status.COMPLETED:
                    # Else `why` alone may answer about an older one.
                    is_only = all(each in found or each in self.harmless for each in every)
                    if style.report.outcome.kind is Status.PENDING:
                        self.foreseen.append(subject)
                    return list(_rows(log, style, first, width, is_only=is_only))
                self.harmless.append(subject)
        sign = f"{APPEARANCES[Meaning.ATTENTION].sign} "
        drains = drained(session, log, found)
        return [Row(RowPart.STANDING, text, sign, event) for text, event in drains]


def _only_waits(looks: list[Examination]) -> bool:
    """Whether the subject has not ended at that moment."""
    return all(each.report.outcome.kind is Status.PENDING for each in looks)


def _rows(
    log: Log, examination: Examination, first: int, width: int, *, is_only: bool
) -> Iterator[Row]:
    outcome = examination.report.outcome
    since = sorted((each for kind in _ENDS for each in log.since(first, kind)), key=event_of)
    since.sort(key=lambda each: kind_of(each) in _ENDS[:2] and event_of(each) != outcome.event)
    ended = endings(log.session.names, since)  # first the one whose cause follows
    text = ". ".join(filter(None, (ended.text, ended.states)))
    text = ended.text if ended.text and len(text) > width - _MARGIN else text
    meaning = Meaning.ATTENTION if outcome.kind is Status.COMPLETED else Meaning.FAILED
    if not text and outcome.kind in (Status.PENDING, Status.NEVER):
        meaning = Meaning.WAITING
    text = text or named(examination.report.name, outcome.sentence)
    moved = (event_of(each) for each in since if kind_of(each) is Kind.STATE_CHANGED
             and new_state_of(each) in _ERRORS)  # fmt: skip
    is_move = ended.states and not ended.text
    event = next(moved, None) if is_move else outcome.event
    yield Row(RowPart.STANDING, text, f"{APPEARANCES[meaning].sign} ", event)
    name = examination.report.name
    for cause in [*examination.report.causes, *examination.report.waits][:1]:
        fact, event = (*cause.finding.evidence, (cause.check.row.rule, None))[0]
        yield Row(RowPart.NEXT, named(cause.name, fact), CAUSE, event)
        name = cause.name if cause.name and cause.subject.sort is not Sort.CALL else name
    asked = "why" if is_only else f"why {name}"
    offers = [] if log.session.refusal(asked) else [f"{asked} (evidence, tested fix)"]
    offers += [f"explain {status}" for _, status in ended.failed[:1]]
    if offers:
        yield Row(RowPart.NEXT, " · ".join(offers), "  next   ")
