"""Errors of the shape of a file: all of them, in its order, up to a bound."""

import time

from rdmalab.scenario.shape_errors import MOST_MISTAKES
from tests.scenario.test_loader import H, wrong


def test_all_mistakes_of_a_shape_and_no_consequences() -> None:
    text = "rdmalab: 2\ntitel: t\nsteps:\n  - do: run\n    xpect: [now == 1]\n  - note: ''\n"
    lines = [str(error).split("\n")[0].partition(": ")[2] for error in wrong(text).all]
    assert lines == [
        '"2" is not a version of the format that this rdmalab reads',
        'no key "titel" here',
        'no key "xpect" here',
        "a text is missing here",
    ]


def test_a_file_with_very_many_mistakes_is_not_read_to_its_end() -> None:
    begun = time.perf_counter()
    assert len(wrong(H + "  - alloc A.pd0\n" * 15_000).all) == MOST_MISTAKES
    assert time.perf_counter() - begun < 20


def test_a_key_of_a_step_at_the_top_says_where_it_belongs() -> None:
    hint = "write it in setup: or steps:, as an item: - include: …"
    assert hint in str(wrong(H.replace("steps:", "include: pair.yaml\nsteps:") + "  - run: ''\n"))


def test_a_word_that_is_not_one_of_few_gets_these() -> None:
    step = "  - why: A.qp0\n    cause: no-rr\n    {}\n"
    for line, answer in {
        "verdict: warnin": '"warnin" is not legal here',
        "verdict: warnin ": "did you mean warning?",
        "cure: x": "legal here: program",
        "plain: 'a b'": "legal here: no",
    }.items():
        errors = wrong(H + step.format(line)).all
        assert answer in "\n".join(map(str, errors)), line
