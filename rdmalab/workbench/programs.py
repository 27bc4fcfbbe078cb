"""Programs: small applications that run in virtual time, one thread of a host each."""

from typing import Annotated

from rdmalab.command import SCRIPTABLE, Facts, Lines, Nanoseconds, Noun, Range, Thing, command
from rdmalab.session.session import Session
from rdmalab.spec.programs import PACE_NS
from rdmalab.verbs.nouns import NewProgram, Program
from rdmalab.workbench.view_requests import Request, View
from rdmalab.workbench.view_rows import program_view
from rdmalab.world import programs as threads
from rdmalab.world.programs import end, start
from rdmalab.world.world import World


@command(SCRIPTABLE)
def program(
    world: World,
    program: NewProgram,
    *,
    lines: Lines,
    pace: Annotated[Nanoseconds, Range(1)] = PACE_NS,
) -> Thing:
    """Start a program: a thread of a host that carries out its lines while time runs.

    A line is a verb, or one of the words that `help lines` tells; between two of them `;` or a new
    line. Each is an event of its own and takes `pace` ns; of two that are due at the same time the
    one that was planned first comes first, and `sleep` moves them. Two programs of one node are two
    threads of that host.
    get_cq_event, get_async_event and destroy verbs block where C would. Any other refusal ends the
    program, as a careful one would end itself: `try` goes on all the same.
    `show A.rx` has the lines and where it stands; `until A.rx.state == DONE` waits for it.

    Example: program A.rx lines={loop 2; poll_cq A.cq0; sleep 1us; end}
    """
    made = start(world, program.node, lines.parsed, pace)
    return Thing(Noun.PROGRAM, program.node, made.number)


@command(Facts(in_scenarios=True, in_programs=False))
def stop(world: World, program: Program) -> None:
    """Stop a program where it stands, or forget one that has ended; its name is free again.

    What it has posted goes on: the adapter does not know who asked.

    Example: stop A.tx
    """
    end(world, world.find(program, threads.Program))


@command(SCRIPTABLE)
def programs(session: Session) -> View:
    """List the programs: where each stands, since when, what it waits for or failed of.

    Example: programs
    """
    return program_view(Request(session))
