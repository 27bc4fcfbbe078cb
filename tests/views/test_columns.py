"""Every class of rows is described once, or has a drawing of its own and a reason for it."""

import dataclasses
import importlib
import pkgutil
from dataclasses import dataclass

import pytest

import rdmalab.views
from rdmalab.views.columns import COLUMNS, Col, Gauge, Meaning, cells, describe, fact, words
from rdmalab.workbench import view_requests

DRAWN = {
    "HexRow": "bytes in columns, with marks inside the text",
    "DecodedRow": "a tree of layers and fields, beside the bytes",
    "LayerRow": "part of DecodedRow",
    "DiagramRow": "the states of a queue pair as a drawing",
    "StateRow": "part of DiagramRow",
    "MoveRow": "part of DiagramRow",
    "NextRow": "part of DiagramRow",
    "TimelineRow": "marks in cells of time",
    "MarkRow": "part of TimelineRow",
    "CountersRow": "a table that is turned: a column is a node",
    "RepeatRow": "one sentence for many events, as EventRow is one for an event",
    "QpRow": "a block of lines; which exist depends on the type of the queue pair",
    "QueueRow": "part of QpRow",
    "RegionRow": "part of QpRow",
    "TimerRow": "part of QpRow",
    "CapRow": "part of QpRow",
    "EventsRow": "asked by conditions only, never shown",
    "RequestRow": "asked by conditions only, never shown",
    "OccurrenceRow": "a sentence in an article of explain",
    "QueryRow": "a class of rows and the function that makes them",
    "StalledRow": "a line in the card of a node and in the head, no view has it",
    "FailureRow": "a line in the card of a node, no view has it",
    "OpenRow": "a range of a region, drawn between its bytes",
}


def classes() -> dict[type, str]:
    modules = [
        importlib.import_module(f"{rdmalab.views.__name__}.{found.name}")
        for found in pkgutil.iter_modules(rdmalab.views.__path__)
    ]
    return {
        value: name
        for module in (*modules, view_requests)
        for name, value in vars(module).items()
        if isinstance(value, type) and name.endswith("Row") and value.__name__ == name
    }


def test_every_class_of_rows_is_described_or_drawn() -> None:
    found = classes()
    packet_field = importlib.import_module("rdmalab.views.packets").FieldRow  # part of DecodedRow
    lacking = [
        name
        for cls, name in found.items()
        if cls not in COLUMNS and name not in DRAWN and cls is not packet_field
    ]
    assert not lacking
    assert set(DRAWN) <= set(found.values())
    assert not [cls.__name__ for cls in COLUMNS if cls.__name__ in DRAWN]


@pytest.mark.parametrize(
    "cls", [each for each in classes() if each in COLUMNS], ids=lambda cls: cls.__name__
)
def test_titles_are_unique(cls: type) -> None:
    titles = [col.title for col in COLUMNS[cls]]
    assert len(titles) == len(set(titles))


@dataclass(slots=True)
class Sample:
    name: str
    size: int | None
    used: int


def test_a_row_in_words_and_as_a_fact() -> None:
    describe(
        Sample,
        Col("name", Meaning.NAME),
        Col("size", Meaning.NUMBER, "{} B"),
        Col("used", label="SQ {}", of=lambda row: Gauge(8, row.used), rank=1),
    )
    try:
        row = Sample("A.mr0", 64, 3)
        assert words(row) == "A.mr0 64 B"
        assert fact(row) == "A.mr0, 64 B, SQ 3 of 8"
        assert [c.meaning for c in cells(dataclasses.replace(row, size=None))] == [
            Meaning.NAME, Meaning.PLAIN,
        ]  # fmt: skip
    finally:
        del COLUMNS[Sample]


def test_a_column_without_a_field_is_an_error_at_import() -> None:
    with pytest.raises(AssertionError, match="has no field"):
        describe(Sample, Col("colour"))
