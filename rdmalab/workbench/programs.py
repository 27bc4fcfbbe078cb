"""Commands program, stop and programs: small applications in virtual time, one thread each."""

from typing import Annotated

from rdmalab.command import SCRIPTABLE, Facts, Lines, Nanoseconds, Noun, Range, Thing, command
from rdmalab.session.session import Session
from rdmalab.spec.programs import PACE_NS
from rdmalab.verbs.nouns import NewProgram, Program
from rdmalab.workbench.view_requests import View, ViewRequest
from rdmalab.workbench.view_rows import program_view
from rdmalab.world.programs import Program as Thread
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
    """Start a program: a thread of a host that runs its lines in virtual time.

    A line is a verb, or one of the words of `help lines`; lines are separated by `;` or a new line.
    Each is one event and takes `pace` ns. Events due at the same time run in the order in which
    they were planned; `sleep` changes it. Two programs of one node are two threads of that host.
    get_cq_event, get_async_event and destroy verbs block as in C. Any other refusal ends the
    program; `try` continues after it.
    `show A.rx` prints the lines and the current one; `until A.rx.state == DONE` waits for it.

    Example: program A.rx lines={loop 2; poll_cq A.cq0; sleep 1us; end}
    """
    made = start(world, program.node, lines.parsed, pace)
    return Thing(Noun.PROGRAM, program.node, made.number)


@command(Facts(in_scenarios=True, in_programs=False))
def stop(world: World, program: Program) -> None:
    """Stop a program, or remove one that has ended; its name is free again.

    Its posted work requests are still executed.

    Example: stop A.tx
    """
    end(world, world.find(program, Thread))


@command(SCRIPTABLE)
def programs(session: Session) -> View:
    """List the programs: current line, since when, blocking call or error.

    Example: programs
    """
    return program_view(ViewRequest(session))
