"""Commands out of thin air: each argument is drawn by its kind, so that every new word is said too.

Most draws make sense (a name that exists, a number near an edge); some do not.
"""

from random import Random
from typing import TYPE_CHECKING, Any

from rdmalab.command import (
    ArgumentKind,
    BooleanKind,
    Command,
    Direction,
    DirectionKind,
    EnumKind,
    IntegerKind,
    Lines,
    LinesKind,
    ListKind,
    New,
    NewKind,
    Noun,
    Parameter,
    ProseKind,
    RecordKind,
    Ref,
    TextKind,
    ThingKind,
    Unit,
    WordKind,
)
from rdmalab.grammar.line import parse
from rdmalab.session.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable

_WAYS = (Direction("A", "B"), Direction("B", "A"))
NUMBERS = (0, 1, 1, 2, 3, 7, 8, 14, 31, 64, 255, 2**16 - 1, 2**24 - 1, 2**31, 2**32 - 1)
LENGTHS = (0, 1, 8, 8, 40, 64, 256, 300, 1024, 2000, 4096, 5000)
PROGRAM_LINES = (
    *("poll_cq cq0", "sleep 1us", "wait cq0.count > 0", "get_cq_event channel0", "stop"),
    *("loop 3; try post_recv qp0; end", "if qp0.state == ERR; stop; else; sleep 100ns; end"),
    *("req_notify_cq cq0", "try post_send qp0 opcode=SEND", "destroy_qp qp0", "wait idle"),
)


class Nothing(Exception):  # noqa: N818  (there is nothing to name)
    """This command needs a thing that nobody has made yet."""


class Saying:
    """Draws commands for one session."""

    def __init__(self, session: Session, chance: Random) -> None:
        self.session = session
        self.chance = chance
        self.kinds: dict[type[ArgumentKind], Callable[[Any], Any]] = {
            IntegerKind: self._integer,
            EnumKind: self._member,
            ProseKind: lambda _kind: "psn",
            TextKind: lambda _kind: self.chance.choice(("hello", "", "00ff")),
            WordKind: lambda kind: self.chance.choice(kind.words),
            ThingKind: self._thing,
            NewKind: self._new,
            BooleanKind: lambda _kind: self.chance.random() < 0.5,
            DirectionKind: lambda _kind: self.chance.choice(_WAYS),
            ListKind: lambda kind: [
                self.value(kind.item) for _ in range(self.chance.randint(0, 3))
            ],
            RecordKind: self._record,
            LinesKind: self._lines,
        }

    def arguments(self, command: Command, given: dict[str, Any]) -> dict[str, Any]:
        """All that is required, some of the rest; what was `given` stays."""
        by_name = dict(given)
        for parameter in command.parameters:
            if parameter.name not in by_name and self._says(parameter):
                by_name[parameter.name] = self.value(parameter.kind)
        return by_name

    def _says(self, parameter: Parameter) -> bool:
        return parameter.required or self.chance.randint(0, 2) == 0

    def value(self, kind: ArgumentKind) -> Any:
        if kind.nullable and self.chance.randint(0, 9) == 0:
            return None
        if kind.short is not None and self.chance.randint(0, 9):
            return self._reference(kind.short.noun)
        return self.kinds[type(kind)](kind)

    # ------------------------------------------------------------------ one a kind
    def _integer(self, kind: IntegerKind) -> int:
        chosen: int
        if kind.range is not None:
            high = kind.range.high
            last = kind.range.low + 9 if high is None else high
            chosen = self.chance.randint(kind.range.low, last)
        elif kind.unit in (Unit.BYTES, Unit.NS, Unit.BITS_PER_S):
            chosen = self.chance.choice(LENGTHS) * (1 if kind.unit is Unit.BYTES else 1000)
        elif kind.unit is Unit.GID:
            gids = [*self.session.world.network.node_of_gid, 0, 0xFFFF_E000_0009]
            chosen = self.chance.choice(gids)
        else:
            chosen = self.chance.choice(NUMBERS)
        width = kind.bits.width if kind.bits is not None else 64
        return chosen & (1 << width) - 1

    def _member(self, kind: EnumKind) -> int:
        if self.chance.randint(0, 19) == 0:
            return int(self.chance.choice(NUMBERS))
        members: list[Any] = list(kind.enum)
        if not kind.is_flags:
            return int(self.chance.choice(members))
        return sum({int(self.chance.choice(members)) for _ in range(self.chance.randint(0, 3))})

    def _lines(self, _kind: LinesKind) -> Lines:
        """What a thread may do with whatever has these names; often nobody has."""
        node = self.chance.choice(list(self.session.world.nodes))
        text = "; ".join(
            self.chance.choice(PROGRAM_LINES) for _ in range(self.chance.randint(1, 5))
        )
        line = f"program {node}.p lines={{{text}}}"
        (invocation,) = parse(line, self.session.vocabulary, None, file=True)
        lines = invocation.arguments["lines"]
        assert isinstance(lines, Lines)
        return lines

    def _thing(self, kind: ThingKind) -> Ref:
        noun = kind.noun or self.chance.choice(list(Noun))
        ref = self._reference(noun)
        if not kind.ranged or noun is not Noun.MR:
            ref.start = ref.stop = None
        return ref

    def _reference(self, noun: Noun) -> Ref:
        names = self.session.names.all(noun)
        if not names:
            raise Nothing(noun)
        node, _, name = self.chance.choice(names).partition(".")
        if noun is not Noun.MR:
            return Ref(node, name)
        start = self.chance.choice((0, 0, 8, 100, 4000))
        length = self.chance.choice(LENGTHS)
        return Ref(node, name, start, start + length)

    def _new(self, kind: NewKind) -> New:
        node = self.chance.choice(("A", "B"))
        free = (n for n in range(10**6) if self.session.names.is_free(f"{node}.{kind.noun}{n}"))
        return New(kind.noun, node, f"{kind.noun}{next(free)}")

    def _record(self, kind: RecordKind) -> dict[str, Any]:
        by_name: dict[str, Any] = {}
        for spread in kind.spreads:
            if self.chance.randint(0, 3):
                try:
                    by_name[spread.key] = self._reference(spread.noun)
                except Nothing:
                    continue
        for parameter in kind.fields:
            if self._says(parameter):
                try:
                    by_name[parameter.name] = self.value(parameter.kind)
                except Nothing:
                    if parameter.required:
                        raise
        return by_name
