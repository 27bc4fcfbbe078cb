"""The QP state diagram: all states, the current one, legal next states and their attributes."""

from rdmalab.command import Thing
from rdmalab.hca.qp import QueuePair
from rdmalab.spec import records as rec
from rdmalab.spec import states as spec_states
from rdmalab.spec.records import Kind, node_of, object_of
from rdmalab.spec.row import dataclass
from rdmalab.spec.states import QPState, legal_next
from rdmalab.views import fmt
from rdmalab.world.world import World


@dataclass(slots=True)
class StateRow:
    """One box of the diagram. possible: a QP of this type can ever be in it."""

    state: spec_states.QPState
    current: bool
    possible: bool
    legal_next: bool
    came_from: bool
    note: str

    @property
    def text(self) -> str:
        """`[RTS]` where it is, `·sqe·` where it can never be."""
        if self.current:
            return f"[{self.state.name}]"
        return self.state.name if self.possible else f"·{self.state.name.lower()}·"


@dataclass(slots=True)
class MoveRow:
    """The newest arrow: the event in which the QP went from `before` to `after`."""

    before: spec_states.QPState
    after: spec_states.QPState
    event: int
    at_ns: int

    @property
    def text(self) -> str:
        """The transition: `INIT → RTR in ev 12`."""
        return f"{self.before.name} → {self.after.name}"


@dataclass(slots=True)
class NextRow:
    """A legal next state, and the attributes that `modify_qp` must and may be given."""

    to: spec_states.QPState
    required: tuple[str, ...]
    optional: tuple[str, ...]


@dataclass(slots=True)
class DiagramRow:
    """The whole diagram of one QP."""

    qp_type: spec_states.QPType
    current: spec_states.QPState
    states: list[StateRow]
    nexts: list[NextRow]
    taken: MoveRow | None


def diagram_row(world: World, thing: Thing) -> DiagramRow:
    """The diagram of one QP, with the move just taken."""
    qp = world.find(thing, QueuePair)
    taken = move_row(world, thing)
    lacks = world.nodes[thing.node].profile.lacks_moves
    nexts = [next_row(qp, to) for to in legal_next(qp.qp_type, qp.state, lacks)]
    return DiagramRow(qp.qp_type, qp.state, state_rows(world, thing, taken), nexts, taken)


def state_rows(world: World, thing: Thing, taken: MoveRow | None = None) -> list[StateRow]:
    """All states, in the order of the enum."""
    qp = world.find(thing, QueuePair)
    profile = world.nodes[thing.node].profile
    nexts = legal_next(qp.qp_type, qp.state, profile.lacks_moves)
    return [
        StateRow(
            state=state,
            current=state is qp.state,
            possible=is_possible(qp.qp_type, state, gives_sqe=profile.send_error_gives_sqe),
            legal_next=state in nexts,
            came_from=taken is not None and taken.before is state and taken.after is qp.state,
            note=row.note if state is not QPState.RESET else _of_reset(world, thing, taken),
        )
        for state, row in spec_states.STATES.items()
    ]


def _of_reset(world: World, thing: Thing, taken: MoveRow | None) -> str:
    """That its queues are empty, and how many work requests the move into RESET discarded."""
    empty = spec_states.STATES[QPState.RESET].note.partition(";")[0]
    count = 0
    for _, record in world.trace.records.of_kind(Kind.QUEUE_DISCARDED):
        if taken is None or rec.event_of(record) < taken.event:
            break
        if object_of(record) == thing.number and node_of(record) == thing.node:
            count += rec.requests_of(record)
    text = f"; {fmt.count(count, 'work request')} discarded without completions"
    return empty + text * bool(count)


def is_possible(
    qp_type: spec_states.QPType, state: spec_states.QPState, *, gives_sqe: bool = True
) -> bool:
    """Whether some move, asked for or automatic, leads there."""
    asked = any(kind is qp_type and to is state for kind, _, to in spec_states.MOVES)
    automatic = any(
        qp_type in row.types and row.to is state
        for row in spec_states.AUTOMATIC
        if gives_sqe or row.mishap is not spec_states.Mishap.SEND_ERROR
    )
    return asked or automatic


def next_row(qp: QueuePair, to: spec_states.QPState) -> NextRow:
    """Attributes that the transition to `to` requires and allows."""
    move = spec_states.MOVES[qp.qp_type, qp.state, to]
    return NextRow(to, spec_states.fields_of(move.required), spec_states.fields_of(move.optional))


def move_row(world: World, thing: Thing) -> MoveRow | None:
    """The QP's newest change of state."""
    for _, record in world.trace.records.of_kind(Kind.STATE_CHANGED):
        if object_of(record) == thing.number and node_of(record) == thing.node:
            event, at_ns = rec.event_of(record), rec.at_ns_of(record)
            return MoveRow(rec.old_state_of(record), rec.new_state_of(record), event, at_ns)
    return None
