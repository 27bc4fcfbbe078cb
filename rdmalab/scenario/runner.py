"""Run a scenario step by step, for the command line, the prompt and the app."""

import dataclasses
from collections.abc import Callable, Iterator
from functools import partial

from rdmalab.command import Invocation, NotUnderstood, Noun, Refused, Region
from rdmalab.doctor.consultation import consult
from rdmalab.doctor.evidence.finding import Fix
from rdmalab.doctor.moments.what_if import makes_true
from rdmalab.doctor.report.report import Cause, Report
from rdmalab.grammar.expressions import parse_expression
from rdmalab.grammar.quantities import whole
from rdmalab.hca.errors import errno_text
from rdmalab.scenario import yaml_tree
from rdmalab.scenario.expect import Failure, unmet
from rdmalab.scenario.loader import Scenario
from rdmalab.scenario.model import NodeOptions, link_line, port_lines
from rdmalab.scenario.planned_step import Call, LineSpot, Placed, PlannedStep
from rdmalab.scenario.result import StepOutcome, StepResult, Stop, ladder_text, stop_of
from rdmalab.scenario.source import FileError, Source
from rdmalab.scenario.wire import Comparison, Expected, resolve, seen
from rdmalab.session.branch import TimePoint
from rdmalab.session.lines import Reply, carried_out, replies
from rdmalab.session.run_control import RunControl
from rdmalab.session.session import CommandOutcome, Session
from rdmalab.spec.profiles import PROFILES, Profile
from rdmalab.spec.records import kind_of
from rdmalab.spec.rules import errno_name
from rdmalab.views import fmt, ladder
from rdmalab.views.device_warnings import records_of
from rdmalab.views.memory import with_key
from rdmalab.views.query_fields import PARTS
from rdmalab.views.transit_effects import PACKETS
from rdmalab.views.warnings import moment_warnings


def play(session: Session, calls: tuple[Call, ...], source: Source) -> None:
    """Run them; raises Stop where one ends otherwise than it did, FileError for a mistake in it.

    source: their file. Up to `session.max_events` events happen before a call.
    """
    history, world, perform = session.history, session.world, session.perform
    for call in calls:
        at_ns = call.at_ns
        if at_ns is not None:
            due_ns = world.agenda.next_ns()
            if due_ns is not None and due_ns <= at_ns:
                _happen(session, call, at_ns)
            if at_ns < world.now_ns:
                raise late(at_ns, world.now_ns, f"line {call.number}: at")
            history.advance(at_ns)
        try:
            outcome = perform(call.invocation)
            if isinstance(outcome.value, RunControl):
                _finish(call, outcome.value)
        except NotUnderstood as wrong:
            raise LineSpot(source, call.number).error(wrong) from None
        if call.by or call.errno or outcome.refusal is not None:
            _judge(session, call, outcome)


def _happen(session: Session, call: Call, at_ns: int) -> None:
    """Run the events that are due until then; raises Stop if there are more than max_events."""
    most = session.max_events
    if session.history.run(most, at_ns) == most:
        many = f"more than {most:,} events are due before it"
        raise Stop(Failure(f"line {call.number}: at", fmt.exact(at_ns), [many]))


def _finish(call: Call, travel: RunControl) -> None:
    """A run between two calls."""
    travel.finish()
    if not travel.met:
        raise Stop(Failure(f"line {call.number}: run", "it ends as before", [travel.over]))


def _judge(session: Session, call: Call, outcome: CommandOutcome) -> None:
    """Note who has called; raise Stop if the call returned another errno than it did."""
    if call.by and outcome.event is not None:
        session.callers.note(outcome.event, call.by)
    actual = outcome.refusal.errno if outcome.refusal is not None else 0
    if actual != call.errno:
        expected = errno_name(call.errno) if call.errno else "it succeeds"
        found = errno_text(outcome.refusal) if outcome.refusal is not None else "it succeeded"
        raise Stop(Failure(f"line {call.number}: errno", expected, [found]))


def late(at_ns: int, now_ns: int, what: str = "at") -> Stop:
    """The failure of a call whose time is over."""
    return Stop(Failure(what, fmt.exact(at_ns), [f"the steps above end at {fmt.exact(now_ns)}"]))


_NO_TROUBLE = ("no", False)  # as this program reads YAML, and as editors do


def judge_report(session: Session, planned: PlannedStep, report: Report) -> None:
    """Raise Stop at the first expectation about the reply that is not met."""
    step = planned.step
    if step.cause is None:
        return
    warns = step.verdict == "warning"
    found = report.warnings if warns else report.causes
    names = _slugs(found) or [report.slug]
    if step.cause not in (names if warns else names[:1]):
        what = "warning" if warns else "cause"
        raise Stop(Failure(what, step.cause, [", then ".join(names)], report.lines))
    named = next((each for each in found if each.check.slug == step.cause), None)
    if named is not None:
        _judge_evidence(named)
    if step.station is not None and step.station not in (chain := _slugs(report.chain))[1:]:
        raise Stop(Failure("station", step.station, [" -> ".join(chain)], report.lines))
    _judge_plain(session, planned)
    remedy = report.remedy.cure if report.remedy is not None else None
    offered = named.finding.cure if warns and named is not None else remedy
    _judge_cure(session, planned, offered or Fix())


def _judge_plain(session: Session, planned: PlannedStep) -> None:
    """Compare the cause that `why` names now with `plain:`; raises Stop if they differ."""
    expected = planned.step.plain
    if expected is None:
        return
    report = consult(session)
    if report.is_trouble if expected in _NO_TROUBLE else report.slug != expected:
        raise Stop(Failure("plain", str(expected), [report.slug], report.lines))


def _slugs(causes: list[Cause]) -> list[str]:
    return [cause.check.slug for cause in causes]


def _judge_evidence(cause: Cause) -> None:
    """Check that the cause names its events."""
    if all(each.event is None for each in cause.finding.evidence):
        parts = [each.text for each in cause.finding.evidence] or ["nothing"]
        raise Stop(Failure("evidence", f"{cause.check.slug} names an event", parts))


def _judge_cure(session: Session, planned: PlannedStep, cure: Fix) -> None:
    """The fix offered for the causes, or for a warning."""
    if planned.step.cure == "program":
        if not cure.program:
            offered = cure.lines or ["no fix"]
            raise Stop(Failure("cure", "the fix is a change of the program", offered))
        return
    if not planned.goal:
        return
    if not cure.lines:
        raise Stop(Failure("cure", "commands that reach the goal", [cure.program or "no fix"]))
    for placed, so in zip(planned.goal, _reached(session, planned, cure), strict=True):
        if not so:
            raise Stop(Failure("goal", placed.text, ["false after the fix:", *cure.lines]))


def _reached(session: Session, planned: PlannedStep, cure: Fix) -> list[bool]:
    """The lines of the goal that the fix makes true."""
    questions = [placed.expectation.expression.node for placed in planned.goal]
    try:
        return makes_true(session, cure.lines, questions)
    except NotUnderstood:
        for placed, question in zip(planned.goal, questions, strict=True):
            try:
                makes_true(session, cure.lines, [question])
            except NotUnderstood as wrong:
                raise placed.spot.error(wrong) from None
        raise


class Since:
    """first_record: packets and rows of the step begin here.

    After a jump in time only events after the arrival belong to the step. A run in the past
    counts.
    """

    __slots__ = ("_jumps", "_session", "_stood", "first_record")

    def __init__(self, session: Session) -> None:
        self._session = session
        self.first_record = len(session.world.trace.records)
        self._jumps = session.history.jumps
        self._stood = self._stand

    @property
    def _stand(self) -> tuple[str, TimePoint]:
        history = self._session.history
        return history.branch.name, history.here

    def notice(self) -> None:
        """Update after a command; one that only looked at other moments changes nothing."""
        jumps, stand = self._session.history.jumps, self._stand
        if jumps != self._jumps and stand != self._stood:
            self.first_record = len(self._session.world.trace.records)
        self._jumps, self._stood = jumps, stand


OpenSession = Callable[..., Session]
"""`open_session(profiles, seed=7)`: a new session."""

MAX_EVENTS = 20_000  # of one journey: a lesson that repeats for ever fails soon
_TAIL = 6
_DEFAULT_PROFILE = "strict"


class Runner:
    """One run of a scenario, in its own world, or in that of a session.

    profile: of all nodes, replaces those in the file; None: those of the file, else
    `default`. session: runs the steps in it; None: in a new one with the nodes of the file.
    max_events: the limit of one run. `results` has one entry for each step done. wrong: letters
    of wrong answers that a reader has chosen, by the number of the step that asked.
    """

    def __init__(
        self, scenario: Scenario, open_session: OpenSession, *,
        profile: str | None = None, default: str = _DEFAULT_PROFILE,
        session: Session | None = None, max_events: int = MAX_EVENTS,
    ) -> None:  # fmt: skip
        self.scenario = scenario
        self.results: list[StepResult] = []
        self.wrong: dict[int, str] = {}
        self.replaced = ""
        self._max_events = max_events
        self._unready: Reply | None = None  # a port that the device of `--profile` cannot have
        if session is not None:
            self.session = session
            return
        document = scenario.document
        self.replaced = _replaced(scenario, profile)
        profiles = {
            name: _profile(node, profile or node.profile or default)
            for name, node in document.nodes.items()
        }
        self.session = open_session(profiles, seed=document.seed)
        for line in [*port_lines(document.nodes), *link_line(document.link)]:
            for reply in replies(self.session, line, file=True):
                self._unready = self._unready or (reply if reply.failed else None)

    @property
    def position(self) -> int:
        """The number of finished steps."""
        return len(self.results)

    @property
    def over(self) -> bool:
        """Whether all steps are done, or one failed."""
        return self.position == len(self.scenario.steps) or not self.ok

    @property
    def ok(self) -> bool:
        return not self.results or self.results[-1].ok

    @property
    def outcome(self) -> StepOutcome:
        return self.results[-1].outcome if self.results else StepOutcome.PASSED

    @property
    def coming(self) -> PlannedStep | None:
        """The step that `next_step` runs."""
        return None if self.over else self.scenario.steps[self.position]

    def wrong_at(self, step: PlannedStep | None) -> str:
        """The letter of a wrong answer to the question of a step; empty if there is none."""
        numbers = (at for at in self.wrong if self.scenario.steps[at] is step)
        return self.wrong[at] if (at := next(numbers, None)) is not None else ""

    # ------------------------------------------------------------------ going on
    def next_step(self) -> StepResult | None:
        """Run one step; None if the scenario is over."""
        if self.over:
            return None
        for _ in self.replies():
            pass
        return self.results[-1]

    def run(self) -> list[StepResult]:
        """Run all steps."""
        while self.next_step() is not None:
            pass
        return self.results

    def replies(self) -> Iterator[Reply]:
        """Run one step and yield every reply; the caller may run its travel, else this does.

        The result is in `results` when the iteration ends.
        """
        step = self.coming
        if step is None:
            return
        since = Since(self.session)
        result = StepResult(step, self.position + 1)
        limit = self.session.max_events
        self.session.max_events = min(limit, self._max_events)
        try:
            report: Report | None = None
            if self._unready is not None:
                raise stop_of(self._unready)
            for reply in self._act(step, since):
                report = reply.value if isinstance(reply.value, Report) else report
                result.answer = reply if reply.is_answer else result.answer
                if reply.event is not None:
                    posted = records_of(self.session, reply.event)
                    result.warnings += moment_warnings(self.session, posted)
                yield reply
            self._judge(step, since.first_record)
            if report is not None:
                judge_report(self.session, step, report)
        except Stop as stop:
            result.outcome, result.failure = StepOutcome.FAILED, stop.failure
        except FileError as error:
            result.outcome, result.error = StepOutcome.ERROR, error
        finally:
            self.session.max_events = limit
        self._keep(result, since)

    def _keep(self, result: StepResult, since: Since) -> None:
        """Store the result of the step."""
        world = self.session.world
        result.first_record = since.first_record
        result.branch = self.session.history.branch.name
        result.event, result.now_ns = world.event, world.now_ns
        if result.failure is not None:
            rows = ladder.rows(world, self.session.names, last=_TAIL)
            result.tail = [ladder_text(row) for row in rows]
        self.results.append(result)
        if self.position == len(self.scenario.steps) and self.ok:
            document = self.scenario.document
            self.session.outside += document.outside
            self.session.unanswered += [parse_expression(text).node for text in document.awaited]

    def _act(self, step: PlannedStep, since: Since) -> Iterator[Reply]:
        """Run the action, `repeat` times; raises Stop at the first failure."""
        if step.calls:
            play(self.session, step.calls, step.spot.source)
        if step.step.at is not None:
            yield from self._wait(step, step.step.at, since)
        for _ in range(step.step.repeat or 1) if step.line else ():
            refusal: Refused | None = None
            for reply in carried_out(self.session, step.invocations):
                self._bound(step, reply)
                yield reply
                self._arrive(step, reply, since)
                if reply.error is not None:
                    raise step.spot.error(reply.error) if not reply.depth else stop_of(reply)
                if reply.refusal is not None and not step.errno:
                    raise stop_of(reply)
                refusal = reply.refusal or refusal
            if step.errno and (refusal is None or refusal.errno != step.errno):
                actual = errno_text(refusal) if refusal else "it succeeded"
                raise Stop(Failure("errno", errno_name(step.errno), [actual]))

    def _wait(self, step: PlannedStep, at_ns: int, since: Since) -> Iterator[Reply]:
        """Run to a time, with all events due by then."""
        world = self.session.world
        if at_ns < world.now_ns:
            raise late(at_ns, world.now_ns)
        due_ns = world.agenda.next_ns()
        if due_ns is None or due_ns > at_ns:
            self.session.history.advance(at_ns)  # before most calls nothing happens
            return
        wait = Invocation("run", {"duration": at_ns - world.now_ns})
        for reply in carried_out(self.session, [wait]):
            yield reply
            self._arrive(step, reply, since)

    def _bound(self, step: PlannedStep, reply: Reply) -> None:
        """The end of `within` in ns."""
        if reply.travel is not None and step.step.within is not None:
            until_ns = self.session.world.now_ns + step.step.within
            goal = reply.travel.goal
            goal.until_ns = until_ns if goal.until_ns is None else min(goal.until_ns, until_ns)

    def _arrive(self, step: PlannedStep, reply: Reply, since: Since) -> None:
        travel = reply.travel
        try:
            if travel is not None:
                travel.finish()
        except NotUnderstood as wrong:
            raise step.spot.error(wrong) from None
        since.notice()
        if travel is not None and not travel.met:
            within = f" within {fmt.duration(step.step.within)}" if step.step.within else ""
            raise Stop(Failure("run", f"{reply.text}{within}", [travel.over]))

    # ------------------------------------------------------------------ judging
    def _judge(self, step: PlannedStep, first_record: int) -> None:
        self._judge_wire(step, first_record)
        for number, placed in enumerate(step.expect, 1):
            expectation = placed.expectation
            self._known(placed)
            try:
                failure = unmet(expectation, self.session.ask, f"expect line {number}")
            except NotUnderstood as wrong:
                raise placed.spot.error(wrong) from None
            if failure is not None:
                line = yaml_tree.place_of(placed.spot.node).line
                raise Stop(dataclasses.replace(failure, line=line))

    def _known(self, placed: Placed) -> None:
        """Check that every name in the expression exists."""
        for ref in placed.expectation.refs:
            try:
                self.session.binder.thing(ref, None)
            except NotUnderstood as wrong:
                if ref.node in self.session.world.nodes and ref.name in PARTS:
                    continue
                raise placed.spot.error(wrong) from None

    def _judge_wire(self, step: PlannedStep, first_record: int) -> None:
        if step.wire is None:
            return
        world, names = self.session.world, self.session.names
        records = world.trace.records
        sent = [n for n in range(first_record, len(records)) if kind_of(records[n]) in PACKETS]
        packets = seen(ladder.packet_rows(world, names, sent), records)
        comparison = Comparison(step.wire, packets, self._values(step))
        if comparison.bad is not None:
            line = min(comparison.bad[0] + 1, len(step.wire) + 1)
            what = f"wire line {line}"
            failure = Failure(what, comparison.expected_text(), [comparison.actual_text()])
            raise Stop(failure)

    def _values(self, step: PlannedStep) -> dict[Expected, object]:
        """The values of the fields of wire lines, with names resolved."""
        values: dict[Expected, object] = {}
        for line, spot in zip(step.wire or (), step.wire_spots, strict=True):
            try:
                values.update(resolve([line], self._locate, partial(with_key, self.session.world)))
            except NotUnderstood as wrong:
                raise spot.error(wrong) from None
            except Refused as gone:
                raise spot.error(NotUnderstood(gone.message)) from None
        return values

    def _locate(self, name: str) -> Region:
        """The thing of a name, and where in it: `B.mr0[100]`."""
        bare, _, index = name.partition("[")
        thing = self.session.names.find(bare)
        if thing is None:
            known = " ".join(self.session.names.all())
            raise NotUnderstood(f"nothing is called {bare}", hint=f"there is: {known}")
        if thing.noun not in (Noun.MR, Noun.MW, Noun.QP):
            raise NotUnderstood(f"{bare} has no key and no number on the wire")
        return Region(thing, whole(index.rstrip("]")) if index else None, None)


class Through(Runner):
    """Run a scenario to its end, past failing steps, for `why`."""

    @property
    def over(self) -> bool:
        """Whether all steps are done, or a line is invalid."""
        return self.position == len(self.scenario.steps) or self.outcome is StepOutcome.ERROR


def _replaced(scenario: Scenario, profile: str | None) -> str:
    """A sentence about the profiles of the file that are replaced; empty if none."""
    nodes = scenario.document.nodes.items()
    named = [
        f"{name}: {node.profile}" for name, node in nodes if node.profile not in (None, profile)
    ]
    if profile is None or not named:
        return ""
    return f"profile {profile} replaces the profiles in {scenario.path} ({', '.join(named)})"


def _profile(node: NodeOptions, name: str) -> Profile:
    profile = PROFILES[name]
    return dataclasses.replace(profile, caps=dataclasses.replace(profile.caps, **node.caps()))


__all__ = ["FileError", "Runner", "StepOutcome", "StepResult", "Through"]
