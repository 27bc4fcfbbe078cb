"""Programs: the state of each, and its lines with the next one marked."""

from typing import Annotated

from rdmalab.command import Noun, Thing
from rdmalab.hca import channels
from rdmalab.hca.objects import CompChannel
from rdmalab.session.names import Names
from rdmalab.spec.programs import ProgramState
from rdmalab.spec.row import dataclass
from rdmalab.views import fmt
from rdmalab.views.columns import Col, Meaning, describe
from rdmalab.world.programs import Program, programs_of
from rdmalab.world.relations import exists
from rdmalab.world.world import World

_INDENT = "  "


@dataclass(slots=True)
class ProgramRow:
    """A program."""

    name: Annotated[str, "its name"]
    node: Annotated[str, "the host it runs on"]
    state: Annotated[ProgramState, "RUNNING, SLEEPING, WAITING, DONE or FAILED"]
    line: Annotated[int, "the next line, from 1; of a finished program its last line"]
    lines: Annotated[int, "how many lines it has"]
    doing: Annotated[str, "that line"]
    since_ns: Annotated[int, "when it came into its state"]
    why: Annotated[str, "why it failed, or what would end its wait"]

    @property
    def text(self) -> str:
        """`A.rx WAITING in line 2 since 1.300 us: get_cq_event A.ch0`."""
        since = fmt.clock(self.since_ns)
        if self.state is ProgramState.DONE:
            return f"{self.name} DONE at {since}"
        when = "at" if self.state is ProgramState.FAILED else "since"
        why = f": {self.why}" if self.why else ""
        where = "in" if self.state.is_stuck else "before"
        head = f"{self.name} {self.state.name} {where} line {self.line} {when} {since}"
        return f"{head}: {self.doing}{why}"


@dataclass(slots=True)
class LineRow:
    """A line of a program. comes: it is the next line, or the line that blocks."""

    number: int
    text: str
    comes: bool


MEANINGS = {
    ProgramState.RUNNING: Meaning.UNDER_WAY,
    ProgramState.SLEEPING: Meaning.WAITING,
    ProgramState.WAITING: Meaning.WAITING,
    ProgramState.DONE: Meaning.OK,
    ProgramState.FAILED: Meaning.FAILED,
}

describe(
    ProgramRow,
    Col("name", Meaning.NAME),
    Col("state", lambda row: MEANINGS[row.state], of=lambda row: row.state.name),
    Col("place", of=lambda row: row.text.removeprefix(f"{row.name} {row.state.name}").strip()),
)
describe(
    LineRow,
    Col("number", Meaning.DIM, "line {}", right=True),
    Col("comes", Meaning.CURRENT, of=lambda row: "next" if row.comes else None),
    Col("text"),
)


def program_row(world: World, names: Names, thing: Thing) -> ProgramRow:
    """One program."""
    program = world.find(thing, Program)
    line = program.line
    return ProgramRow(
        name=names.of(thing),
        node=thing.node,
        state=program.state,
        line=line.number,
        lines=len(program.lines),
        doing=line.text,
        since_ns=program.since_ns,
        why=program.why or _what_wakes(world, program),
    )


def _what_wakes(world: World, program: Program) -> str:
    """Event that ends the wait of a program on a completion channel, and whether it can occur."""
    if program.state is not ProgramState.WAITING or program.wants is None:
        return ""
    _, subject = program.wants
    if subject.noun is not Noun.CHANNEL or not exists(world, subject):
        return ""
    return channels.what_wakes(*world.at(subject, CompChannel))


def line_rows(world: World, thing: Thing) -> list[LineRow]:
    """Its lines, those in a loop or an if indented."""
    program = world.find(thing, Program)
    rows: list[LineRow] = []
    depth = 0
    for index, line in enumerate(program.lines):
        depth -= line.word in ("else", "end")
        comes = index == program.at and program.state is not ProgramState.DONE
        rows.append(LineRow(line.number, _INDENT * depth + line.text, comes))
        depth += line.word in ("loop", "if", "else")
    return rows


def stuck_rows(world: World, names: Names) -> list[ProgramRow]:
    """Programs that are not done and that no planned event lets continue."""
    things = [Thing(Noun.PROGRAM, p.node, p.number) for p in programs_of(world) if p.state.is_stuck]
    return [program_row(world, names, thing) for thing in things]
