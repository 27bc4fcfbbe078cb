"""Commands step, run and until: virtual time moves only by them."""

from typing import Annotated

from rdmalab.command import SPOKEN, Expression, Facts, Nanoseconds, OneOf, Range, TimeMove, command
from rdmalab.session.run_control import UNITS, Idle, RunControl, Steps, When
from rdmalab.session.session import Session

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

    ^C stops the run. Its limits are a million events and a day of virtual time.

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
