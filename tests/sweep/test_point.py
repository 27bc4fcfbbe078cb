"""One point: its result, and why it has no number."""

import dataclasses

import pytest

from rdmalab.jobs.limits import Limits
from rdmalab.sweep.grid import Point
from rdmalab.sweep.point import Ended, Experiment, Item, play

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
