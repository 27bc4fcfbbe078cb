"""Measures: how they are written, and their values on runs that are known by hand."""

import pytest

from rdmalab.command import NotUnderstood
from rdmalab.lab import open_session
from rdmalab.scenario.loader import loads
from rdmalab.scenario.runner import Runner
from rdmalab.sweep.measures import Measure, Value, evaluated, measures, unit_of
from rdmalab.vocabulary import VOCABULARY

PAIR = """\
rdmalab: 1
title: t
setup:
  - use rc_pair
  - run: 1us
steps:
"""
SEND = "post_send A.qp0 opcode=SEND sg=A.mr0[0:1000] flags=SIGNALED"
WRITE = "post_send A.qp0 opcode=RDMA_WRITE sg=A.mr0[0:500] remote=B.mr0[0]"  # no CQE
READ = "post_send A.qp0 opcode=RDMA_READ sg=A.mr0[0:200] remote=B.mr0[0] flags=SIGNALED"
BACK = "post_send B.qp0 opcode=RDMA_WRITE sg=B.mr0[0:50] remote=A.mr0[0] flags=SIGNALED"
FAILED = "post_send A.qp0 opcode=RDMA_WRITE sg=A.mr0[0:64] remote_addr=0 rkey=0xdead"


def played(*lines: str, text: str = PAIR) -> Runner:
    scenario = loads(text + "".join(f"  - {line}\n" for line in lines), "x.yaml", VOCABULARY)
    runner = Runner(scenario, open_session)
    runner.run()
    assert runner.ok, runner.results[-1].text("x.yaml")
    return runner


def values(runner: Runner, *texts: str) -> list[Value]:
    return evaluated(runner, texts, {"n": "2"})


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("iops,time", [("iops", "iops", None), ("time", "time", None)]),
        ("done=A.cq0.total(status=SUCCESS, opcode=SEND),x=now",
         [("done", "A.cq0.total(status=SUCCESS, opcode=SEND)", None), ("x", "now", None)]),
        ("A.tx.state == DONE", [("A.tx.state == DONE", "A.tx.state == DONE", None)]),
        ("p50(goodput(A->B)), m=p9(time)",
         [("p50(goodput(A->B))", "goodput(A->B)", 50), ("m", "time", 9)]),
        ("p50(g),p90(g),g=now", [("p50(g)", "now", 50), ("p90(g)", "now", 90)]),
        ('B.mr0[0:3] == "a,b"', [('B.mr0[0:3] == "a,b"', 'B.mr0[0:3] == "a,b"', None)]),
    ],
)  # fmt: skip
def test_measures_as_they_are_written(text: str, found: list[tuple[str, str, int | None]]) -> None:
    assert measures((text,)) == tuple(Measure(*each) for each in found)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("time,,now", "a measure is missing"),
        ("A.qp0.", "--measure A.qp0.: "),
        ("tim", '--measure tim: no measure is called "tim"'),
        ("x=now,x=time", "two measures are called x"),
        ("time,p50(iops)", "p50(iops) is one number for all seeds, time one for each"),
    ],
)
def test_measures_that_are_refused(text: str, message: str) -> None:
    with pytest.raises(NotUnderstood) as caught:
        measures((text,))
    assert message in caught.value.message
    assert caught.value.hint


def test_payload_by_direction_and_requests_by_node() -> None:
    """Sent and written by A, and what B writes and A reads from B; the failed one has none."""
    runner = played(
        "post_recv B.qp0 sg=B.mr0[0:1000]", SEND, WRITE, READ, BACK, "run", FAILED, "run"
    )
    time_ns = runner.session.world.now_ns - 1000
    ab, ba, iops, iops_b, time = values(
        runner, "goodput(A->B)", "goodput( B -> A )", "iops", "iops(B)", "time"
    )
    assert time == time_ns
    assert ab == round(1500 * 8e9 / time_ns)
    assert ba == round(250 * 8e9 / time_ns)
    assert (iops, iops_b) == (round(4e9 / time_ns), round(1e9 / time_ns))


def test_units() -> None:
    given = ("time", "latency.p99", "p50(goodput(A->B))", "iops(A)", "now", "p9(x)")
    assert [unit_of(text) for text in given] == ["ns", "ns", "bit/s", "requests/s", "", ""]


def test_latency_is_from_the_post_to_the_completion() -> None:
    """A WRITE of 500 bytes, twice: the second waits 7 us for nothing but its post."""
    runner = played(WRITE, "run", "run: 7us", WRITE, "run")
    least, median, most, mean = values(
        runner, "latency.min", "latency.p50", "latency(A).p100", "latency.mean"
    )
    assert least == median == most == mean
    assert isinstance(least, int)
    assert 2_000 < least < 3_000


def test_expressions_and_parameters_in_them() -> None:
    runner = played(WRITE, "run")
    assert values(runner, "A.qp0.state", "A.qp0.state == RTS", "now > ${n}") == ["RTS", True, True]


@pytest.mark.parametrize(
    ("lines", "text", "message"),
    [
        ((), "C.qp0.state", "C"),
        ((), "goodput(A->C)", "there is no node C"),
        ((), "latency.p50", "no request that was posted after the setup has completed"),
        ((), "iops", "no virtual time has passed since the setup"),
        ((WRITE, "run", "destroy_qp A.qp0"), "goodput(A->B)", "A.qp0 was destroyed"),
        ((), "now == ${q}", 'no parameter "q"'),
    ],
)
def test_what_has_no_value(lines: tuple[str, ...], text: str, message: str) -> None:
    with pytest.raises(NotUnderstood, match=message.replace("$", "")):
        values(played(*(lines or ("alloc_pd A.pd9",))), text)


def test_bytes_of_an_unreliable_service_are_not_counted_by_its_sender() -> None:
    text = PAIR.replace("use rc_pair", "use uc_pair")
    with pytest.raises(NotUnderstood, match="is UC: SUCCESS does not mean"):
        values(played(WRITE, "run", text=text), "goodput(A->B)")


def test_a_misspelled_measure_has_a_suggestion_before_anything_runs() -> None:
    with pytest.raises(NotUnderstood) as caught:
        measures(("tim",))
    assert caught.value.hint == "did you mean time?"
    assert measures(("now", "idle"))
