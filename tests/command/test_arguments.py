"""How references are written and compared."""

import pytest

from rdmalab.command import Invocation, Ref, Span


@pytest.mark.parametrize(
    ("ref", "text"),
    [
        (Ref("A", "mr0"), "A.mr0"),
        (Ref("B"), "B"),
        (Ref("A", "mr0", 7), "A.mr0[7]"),
        (Ref("A", "mr0", 0, 64), "A.mr0[0:64]"),
    ],
)
def test_a_reference_reads_as_it_is_written(ref: Ref, text: str) -> None:
    assert str(ref) == text


def test_where_it_stood_is_no_part_of_what_was_asked() -> None:
    here, there = Span(0, 3), Span(9, 12)
    assert Ref("A", "qp0", place=here) == Ref("A", "qp0", place=there)
    assert Invocation("step", {}, "step", {"": here}) == Invocation(
        "step", {}, "  step", {"": there}
    )
