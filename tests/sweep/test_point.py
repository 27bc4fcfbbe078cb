"""One point: its result, and why it has no number."""

import dataclasses

import pytest

from rdmalab.command import NotUnderstood
from rdmalab.jobs.limits import Limits
from rdmalab.sweep.point import Ended, Experiment, Item, Point, over, play, points

TEXT = """\
rdmalab: 1
title: t
params:
  n: {default: 2}
  until: {default: B.cq0.count == 1}
setup:
  - use rc_pair rnr_retry=7
  - do: post_recv B.qp0 sg=B.mr0[0:64]
    repeat: ${n}
steps:
  - post_send A.qp0 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED
  - run: until ${until}
    within: 1s
"""
LIMITS = Limits(events=2_000)
ITEM = Item(Experiment("x.yaml", TEXT, ("B.qp0.rq.free + ${n}", "A.cq0.count")), Point((), 3))


def of(**values: str) -> Item:
    return dataclasses.replace(ITEM, point=Point(tuple(values.items()), 3))


def test_a_point_that_passes() -> None:
    result = play(of(n="3"), LIMITS)
    assert (result.ended, result.error) == (Ended.PASSED, "")
    assert result.values[1] == 0
    assert play(of(n="3"), LIMITS) == result


@pytest.mark.parametrize(
    ("values", "ended", "error"),
    [
        ({"until": "B.cq0.count == 7"}, Ended.FAILED, "B.cq0.count == 7 within 1 s"),
        ({"n": "0x"}, Ended.ERROR, 'x.yaml:9:13: "0x" is not a number'),
        ({"until": "B.cq7.count == 1"}, Ended.ERROR, "x.yaml:12:16:"),
    ],
)
def test_a_point_without_a_number(values: dict[str, str], ended: Ended, error: str) -> None:
    result = play(of(**values), LIMITS)
    assert (result.ended, result.values) == (ended, [])
    assert error in result.error
    assert "\n" not in result.error


def test_a_run_without_end_stops_at_the_limit_of_events() -> None:
    text = TEXT.replace("post_recv B.qp0 sg=B.mr0[0:64]", "query_qp B.qp0").replace(
        "within: 1s", ""
    )
    experiment = dataclasses.replace(ITEM.experiment, text=text)
    result = play(Item(experiment, Point((), 0)), LIMITS)
    assert result.ended is Ended.FAILED
    assert "stopped at the limit of 2,000 events" in result.error
    assert result.events >= 2_000


def test_the_key_changes_with_all_that_decides_the_result() -> None:
    other = dataclasses.replace
    keys = {
        ITEM.key(LIMITS),
        ITEM.key(other(LIMITS, events=3)),
        of(n="3").key(LIMITS),
        other(ITEM, point=Point((), 4)).key(LIMITS),
        other(ITEM, experiment=other(ITEM.experiment, text=TEXT + " ")).key(LIMITS),
        other(ITEM, experiment=other(ITEM.experiment, texts=("now",))).key(LIMITS),
        other(ITEM, experiment=other(ITEM.experiment, profile="rxe")).key(LIMITS),
        other(ITEM, experiment=other(ITEM.experiment, values=(("n", "4"),))).key(LIMITS),
    }
    assert len(keys) == 8
    assert ITEM.key(LIMITS) == ITEM.key(other(LIMITS, cpu_s=1))


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("n=0..3", ("0", "1", "2", "3")),
        ("n=0..100..50", ("0", "50", "100")),
        ("n=-2..0", ("-2", "-1", "0")),
        ("loss = 0, 1%,5 %", ("0", "1%", "5 %")),
        ("flags=A|B,8..9", ("A|B", "8", "9")),
    ],
)
def test_values_of_a_parameter(text: str, values: tuple[str, ...]) -> None:
    assert over(text).values == values


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("n", "a parameter without values"),
        ("=1", "a parameter without values"),
        ("n=", "a value is missing"),
        ("n=1,,2", "a value is missing"),
        ("n=3..1", "3..1 is no range"),
        ("n=1..9..0", "1..9..0 is no range"),
        ("n=0..99999999999", "0..99999999999 is no range"),
        ("n=0..2,1", "1 is given twice"),
    ],
)
def test_values_that_are_refused(text: str, message: str) -> None:
    with pytest.raises(NotUnderstood) as caught:
        over(text)
    assert message in caught.value.message
    assert caught.value.hint


def test_every_combination_with_every_seed() -> None:
    found = list(points([over("a=1,2"), over("b=x,y")], range(3, 5)))
    assert [(dict(p.values)["a"], dict(p.values)["b"], p.seed) for p in found] == [
        (a, b, seed) for a in "12" for b in "xy" for seed in (3, 4)
    ]
    assert [p.seed for p in points([], range(2))] == [0, 1]


def test_too_many_points_and_a_parameter_given_twice() -> None:
    with pytest.raises(NotUnderstood, match="--over a is given twice"):
        list(points([over("a=1"), over("a=2")], range(1)))
    with pytest.raises(NotUnderstood, match="1,001,000 points are more than 100,000"):
        list(points([over("a=0..1000"), over("b=0..999")], range(1)))
