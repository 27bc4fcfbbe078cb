"""Commands step, run, until, and breakpoints: virtual time moves only by them."""

from typing import Annotated

from rdmalab.command import (
    SCRIPTABLE,
    SPOKEN,
    Expression,
    Facts,
    Nanoseconds,
    NotUnderstood,
    OneOf,
    Range,
    Recovery,
    TimeMove,
    command,
)
from rdmalab.session.breakpoints import Breakpoint
from rdmalab.session.reverse import HistoryQuery
from rdmalab.session.run_control import UNITS, Idle, RunControl, Steps, When
from rdmalab.session.session import Session


@command(Facts(in_scenarios=True, short=(("b", ""),)))
def break_(session: Session, question: Expression) -> str:
    """Halt after each event that makes a condition true.

    A condition on the last packet, completion or call is checked for each one:
    `break wire.last.opcode == ACKNOWLEDGE` halts at every ACK. `help expr` lists what can be asked.

    Example: break A.qp0.state == ERR
    """
    answer = session.ask(question.node)  # what means nothing is told now
    if not isinstance(answer, bool):
        hint = f"watch {question.text} halts when it changes; or compare: {question.text} == …"
        raise NotUnderstood(
            "this expression is not a condition", question.place, hint, argument="question"
        )
    return _set(session, question, watches=False)


@command(SCRIPTABLE)
def watch(session: Session, question: Expression) -> str:
    """Halt after each event that changes a value: bytes of memory, a field, any expression.

    `rewind` then goes back to the event that changed it last.

    Example: watch B.mr0[100:105]
    """
    session.ask(question.node)
    return _set(session, question, watches=True)


def _set(session: Session, question: Expression, *, watches: bool) -> str:
    made = session.breakpoints.add(question, watches=watches)
    return f"{made.number}: {made}"


@command(SCRIPTABLE)
def breaks(session: Session) -> list[Breakpoint]:
    """List the breakpoints and watches.

    Example: breaks
    """
    return list(session.breakpoints.by_number.values())


@command(SCRIPTABLE)
def delete(session: Session, which: int | None = None) -> str:
    """Delete a breakpoint or a watch by its number, or all of them.

    Example: delete
    """
    points = session.breakpoints.by_number
    if which is None:
        count = len(points)
        points.clear()
        return f"{count} deleted"
    if which not in points:
        there = f"there is: {' '.join(map(str, points))}" if points else "no breakpoint is set"
        raise NotUnderstood(f"no breakpoint has number {which}", hint=there, argument="which")
    return f"deleted {points.pop(which)}"


@command(Facts(in_scenarios=True, recovery=Recovery.SKIP))
def trace(session: Session, question: Expression) -> HistoryQuery:
    """Evaluate an expression after every past event, and show its value after each change.

    Example: trace A.qp0.sq_psn
    """
    session.ask(question.node)
    return HistoryQuery(session, question)


Duration = Annotated[Nanoseconds, Range(0)]
Granularity = Annotated[str, OneOf(UNITS)]


@command(
    Facts(
        in_scenarios=True,
        moves_time=TimeMove.FORWARD,
        is_repeated=True,
        short=(("s", ""), ("n", "packet")),
    )
)
def step(
    session: Session, count: Annotated[int, Range(1)] = 1, unit: Granularity = "event"
) -> RunControl:
    """Run one step, or `count` steps.

    unit: event; packet (one is sent), wr (one completes), cqe (one is added), state (a QP changes),
    timer (one fires).

    Example: step packet
    """
    return RunControl(session, Steps(count, UNITS[unit]))


@command(
    Facts(in_scenarios=True, moves_time=TimeMove.FORWARD, is_repeated=True, short=(("c", ""),))
)
def run(session: Session, duration: Duration | None = None) -> RunControl:
    """Run until no packet, timer or program is pending, or for a duration.

    Without a duration it also ends where all that is left are RNR retries without limit
    (rnr_retry=7), which only a call can end. ^C stops the run. Its limits are a million events and
    a day of virtual time.

    Example: run 100us
    """
    return RunControl(session, Idle(None if duration is None else session.world.now_ns + duration))


@command(Facts(in_scenarios=True, moves_time=TimeMove.FORWARD, is_repeated=True))
def until(
    session: Session, goal: Expression, *, within: Annotated[Duration | None, SPOKEN] = None
) -> RunControl:
    """Run until a condition is true, or until the time limit `within`.

    `until idle` runs until no packet, timer or program is pending. help expr lists the expressions.

    Example: until A.cq0.count == 1 within 2ms
    """
    until_ns = None if within is None else session.world.now_ns + within
    return RunControl(session, When(goal.text, goal.node, until_ns))
