"""Totals over the whole trace, carried on from where the last question ended.

A breakpoint asks after every event; to read the trace from its beginning each time would take ever
longer. What is kept here is only what could be computed again, and it is computed again as soon as
the past is another one: the last record read must still stand where it stood.
"""

from collections.abc import Callable
from typing import Any

from rdmalab.spec.records import Record

Step = Callable[[Any, Record], Any]


class Folds:
    """One running value a question."""

    __slots__ = ("kept",)

    def __init__(self) -> None:
        self.kept: dict[Any, tuple[int, Record | None, Any]] = {}

    def value(self, key: Any, records: list[Record], first: Callable[[], Any], step: Step) -> Any:
        """What `first` makes, carried on by `step` over all records."""
        read, last, value = self.kept.get(key, (0, None, None))
        if read == 0 or len(records) < read or records[read - 1] is not last:
            read, value = 0, first()
        for number in range(read, len(records)):
            value = step(value, records[number])
        self.kept[key] = (len(records), records[-1] if records else None, value)
        return value
