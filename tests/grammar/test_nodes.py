"""Nodes are equal when they ask the same, wherever they stand."""

from rdmalab.command import Span
from rdmalab.grammar.nodes import Index, Literal, Path, Word


def test_places_and_spelling_do_not_matter() -> None:
    assert Word("RTS", Span(0, 3)) == Word("RTS", Span(7, 10))
    assert Literal(10_000, "10us") == Literal(10_000, "10000ns")
    assert Path(("now",)) != Path(("idle",))


def test_paths_are_written_as_they_are_typed() -> None:
    assert str(Path(("A", "qp0", "wr", Index(7), "status"))) == "A.qp0.wr[7].status"
    assert str(Path(("A", "mr0", Index(0, 5)))) == "A.mr0[0:5]"
