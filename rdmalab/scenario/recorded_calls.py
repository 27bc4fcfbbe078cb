"""Run the calls of a session file, one after the other; each at its time, with its errno."""

from rdmalab.command import NotUnderstood
from rdmalab.hca.errors import errno_text
from rdmalab.scenario.expect import Failure
from rdmalab.scenario.planned_step import Call, LineSpot
from rdmalab.scenario.result import Stop
from rdmalab.scenario.source import Source
from rdmalab.session.run_control import RunControl
from rdmalab.session.session import CommandOutcome, Session
from rdmalab.spec.rules import errno_name
from rdmalab.views import fmt


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
