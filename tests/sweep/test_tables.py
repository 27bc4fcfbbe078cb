"""The known shapes: a small part here, all of them in `python -m tests.campaign --part sweeps`."""

from tests.each import each
from tests.sweep.tables import TABLE, Entry, is_right, measured

QUICK = [entry for entry in TABLE if entry.scenario in ("rnr-timer", "ack-coalescing")]
QUICK += [entry for entry in TABLE if entry.values.get("size") == "4096"][::3]
QUICK += [entry for entry in TABLE if entry.values == {"latency": "1us", "loss": "0.4%"}]


@each("entry", QUICK)
def test_a_number_of_the_tables(entry: Entry) -> None:
    value = measured(entry)
    assert is_right(entry, value), f"{entry.name}: {value:.4g}, the table has {entry.value:.4g}"


def test_the_part_has_a_number_of_each_table() -> None:
    assert {entry.scenario for entry in QUICK} == {entry.scenario for entry in TABLE}
    assert len(TABLE) == 34
