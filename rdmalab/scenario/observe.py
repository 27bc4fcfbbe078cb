"""Observe a world: lines for `expect` and `wire` of a saved scenario."""

from collections.abc import Callable, Iterator

from rdmalab.command import Noun, Thing
from rdmalab.scenario.model import MAX_ASSERTIONS
from rdmalab.scenario.wire import SKIP, line_of, seen
from rdmalab.session.session import Session
from rdmalab.spec.records import kind_of
from rdmalab.views import completions, ladder, queues, srq
from rdmalab.views.transit_effects import PACKETS
from rdmalab.world.relations import exists

Facts = dict[str, str]
"""Expression → value: `A.qp0.state` → `RTS`."""


def facts(session: Session) -> Facts:
    """The states, queue sizes and completions of all objects."""
    found: Facts = {}
    for noun, look in _LOOKS.items():
        for name in session.names.all(noun):
            thing = session.names.thing_of[name]
            if not exists(session.world, thing):
                continue
            found |= {f"{name}.{field}": said for field, said in look(session, thing)}
    return found


def _queue_pair(session: Session, thing: Thing) -> Iterator[tuple[str, str]]:
    row = queues.qp_row(session.world, session.names, thing)
    yield "state", row.state.name
    yield "sq.used", str(row.sq.used)
    yield "rq.used", str(row.rq.used)


def _shared_queue(session: Session, thing: Thing) -> Iterator[tuple[str, str]]:
    row = srq.srq_row(session.world, session.names, thing)
    yield "count", str(row.count)
    yield "used", str(row.used)


def _completions(session: Session, thing: Thing) -> Iterator[tuple[str, str]]:
    rows = completions.wc_rows(session.world, session.names, thing)
    yield "count", str(len(rows))
    for number, row in enumerate(rows):
        yield f"cqes[{number}].wr_id", str(row.wr_id)
        yield f"cqes[{number}].status", row.status.name
        for field in ("byte_len", "imm_data"):
            if field not in row.undefined:
                yield f"cqes[{number}].{field}", str(getattr(row, field))


_LOOKS: dict[Noun, Callable[[Session, Thing], Iterator[tuple[str, str]]]] = {
    Noun.QP: _queue_pair,
    Noun.SRQ: _shared_queue,
    Noun.CQ: _completions,
}


def expectations(before: Facts, now: Facts) -> list[str]:
    """Conditions for all values that changed, as many as one step may have."""
    new = [f"{what} == {said}" for what, said in now.items() if before.get(what) != said]
    return new[:MAX_ASSERTIONS]


def wire_lines(session: Session, first_record: int) -> list[str]:
    """The wire lines of all packets sent since, with all fields."""
    world, records = session.world, session.world.trace.records
    sent = [n for n in range(first_record, len(records)) if kind_of(records[n]) in PACKETS]
    packets = seen(ladder.packet_rows(world, session.names, sent), records)
    lines = [line_of(packet) for packet in packets]
    return lines if len(lines) <= MAX_ASSERTIONS else [*lines[: MAX_ASSERTIONS - 1], SKIP]
