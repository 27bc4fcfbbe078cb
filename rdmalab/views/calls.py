"""Calls: which verb was called, on which node, and with which errno it came back."""

from collections.abc import Mapping
from typing import Annotated

from rdmalab.grammar.answers import fits
from rdmalab.spec import records as rec
from rdmalab.spec.records import Kind, Record, kind_of, node_of
from rdmalab.spec.row import dataclass
from rdmalab.views import fmt
from rdmalab.views.columns import Col, Meaning, describe
from rdmalab.world.world import World


@dataclass(slots=True)
class CallRow:
    """One call of a verb."""

    event: Annotated[int, "the event it was"]
    at_ns: Annotated[int, "when"]
    node: Annotated[str, "whose device was called"]
    verb: Annotated[str, "as in libibverbs, without ibv_"]
    errno: Annotated[fmt.Errno | int, "what it came back with; 0 is success"]

    @property
    def text(self) -> str:
        """The call in one line: node, verb, errno."""
        return f"{self.node or '-'}  {self.verb} {fmt.errno_word(self.errno)}"


describe(
    CallRow,
    Col("event", Meaning.EVENT, "ev {}"),
    Col("at_ns", Meaning.DIM, form=fmt.clock),
    Col("text", lambda row: Meaning.REFUSED if row.errno else Meaning.PLAIN),
)


def call_row(record: Record) -> CallRow:
    """One CALLED record."""
    code = int(rec.errno_of(record) or 0)
    errno = fmt.Errno(code) if code in fmt.ERRNOS else code
    event, at_ns = rec.event_of(record), rec.at_ns_of(record)
    return CallRow(event, at_ns, node_of(record), str(rec.verb_of(record)), errno)


def call_rows(world: World, last: int | None = None) -> list[CallRow]:
    """The newest calls, oldest first."""
    rows: list[CallRow] = []
    for record in reversed(world.trace.records):
        if len(rows) == last:
            break
        if kind_of(record) is Kind.CALLED:
            rows.append(call_row(record))
    rows.reverse()
    return rows


def matches(record: Record, wanted: Mapping[str, object]) -> bool:
    """Whether a record is a call with all these fields."""
    if kind_of(record) is not Kind.CALLED:
        return False
    row = call_row(record)
    return all(fits(getattr(row, name), value) for name, value in wanted.items())
