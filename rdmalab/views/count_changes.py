"""Counts that the records of an event made larger or smaller: used slots, completions, events."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from rdmalab.command import Thing
from rdmalab.session.names import Names
from rdmalab.spec import records as rec
from rdmalab.spec.records import Kind, Record, kind_of
from rdmalab.views.record_text import thing_of
from rdmalab.world.relations import exists
from rdmalab.world.world import World

_Key = tuple[Thing, str]


CountedRow = tuple[str, str, str, str]


# Field and step of the kinds that make a number larger or smaller.
COUNTED: dict[Kind, Callable[[Record], tuple[str, int]]] = {
    Kind.SEND_POSTED: lambda _r: ("sq.used", 1),
    Kind.RECV_POSTED: lambda _r: ("rq.used", 1),
    Kind.SRQ_POSTED: lambda _r: ("used", 1),
    Kind.SRQ_FREED: lambda r: ("used", -rec.count_of(r)),
    Kind.SLOTS_FREED: lambda r: (f"{rec.queue_of(r)}.used", -rec.slots_of(r)),
    Kind.QUEUE_DISCARDED: lambda r: (f"{rec.queue_of(r)}.used", -rec.slots_of(r)),
    Kind.CQE_ADDED: lambda _r: ("count", 1),
    Kind.CQE_POLLED: lambda _r: ("count", -1),
    Kind.CQ_EVENT_TAKEN: lambda _r: ("unacked", 1),
    Kind.CQ_EVENTS_ACKED: lambda r: ("unacked", -rec.count_of(r)),
}


_NOW: dict[str, Callable[[Any], int]] = {
    "sq.used": lambda qp: qp.sq.occupied,
    "rq.used": lambda qp: qp.rq.used,
    "used": lambda srq: srq.used,
    "count": lambda cq: len(cq.cqes),
    "unacked": lambda cq: cq.unacked,
}


def _steps(records: Iterable[Record]) -> "Counter[_Key]":
    steps: Counter[_Key] = Counter()
    for record in records:
        count, thing = COUNTED.get(kind_of(record)), None
        if count is not None and (thing := thing_of(record)) is not None:
            field, step = count(record)
            steps[thing, field] += step
    return steps


def counted_rows(world: World, names: Names, span: range) -> Iterator[CountedRow]:
    """Numbers before and after: those of now, less what later events added."""
    records = world.trace.records
    steps = _steps(records[span.start : span.stop])
    later = _steps(records[span.stop :]) if steps else Counter[_Key]()
    for key, step in steps.items():
        thing, field = key
        if exists(world, thing):
            after = _NOW[field](world.find(thing, object)) - later[key]
            old, new = str(after - step), str(after)
        else:
            old, new = "", f"{step:+}"
        if step:
            yield names.of(thing), field, old, new
