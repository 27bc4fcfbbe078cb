"""Programs that sleep beside a channel, and what is known of its queues."""

import pytest

from rdmalab.doctor.evidence.outcome import Status
from rdmalab.doctor.facts import thread_waits
from rdmalab.doctor.report.report import Report
from rdmalab.lab import Lab
from tests.doctor.asking import case_of
from tests.labs import RECV, SEND, lab_of

_PAIR = "use rc_pair channel=1"
_RECV = "post_recv B.qp0 wr_id=1 sg=B.mr0[0:64]"
_SEND = "post_send A.qp0 wr_id=7 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED"
_GET = "get_cq_event B.ch0"


def typed(*lines: str, question: str = "why") -> Report:
    lab = Lab()
    for line in lines:
        lab.do(line)
    report = lab.do(question)[-1].value
    assert isinstance(report, Report)
    return report


@pytest.mark.parametrize("question", ["why", "why B.ch0", "why B.cq0", "why EAGAIN"])
@pytest.mark.parametrize(
    ("lines", "slug"),
    [
        ((_PAIR, _RECV, _SEND, "run"), "cq-not-armed"),
        ((_PAIR, _RECV, _SEND, "run", "req_notify_cq B.cq0"), "armed-after-cqe"),
        ((_PAIR, _RECV, "req_notify_cq B.cq0 solicited_only=1", _SEND, "run"), "solicited-only"),
        ((_PAIR, _RECV, _RECV, "req_notify_cq B.cq0", _SEND, _SEND, "run", _GET,
          "ack_cq_events B.cq0", "req_notify_cq B.cq0", "poll_cq B.cq0"), "polled-once"),
        (("use rc_pair", "create_comp_channel B.ch0", "req_notify_cq B.cq0", _RECV, _SEND, "run"),
         "no-channel"),
    ],
)  # fmt: skip
def test_a_typed_call_that_would_block_has_the_cause_of_a_thread(
    lines: tuple[str, ...], slug: str, question: str
) -> None:
    if slug == "no-channel" and question == "why B.cq0":
        return  # the channel is none of this queue
    report = typed(*lines, _GET, question=question)
    assert report.slug == slug
    assert report.is_trouble


@pytest.mark.parametrize("question", ["why", "why B.ch0"])
def test_a_thread_that_tries_again_and_again_has_the_same_cause(question: str) -> None:
    rx = "program B.rx lines={loop; try get_cq_event B.ch0; end}"
    report = typed(_PAIR, _RECV, _SEND, "run", rx, "run 1ms", question=question)
    assert report.slug == "cq-not-armed"
    assert report.outcome.kind is Status.NEVER


@pytest.mark.parametrize(
    "lines",
    [
        ("req_notify_cq B.cq0", _GET),  # nothing has come yet
        (_SEND, "run", _GET, "poll_cq B.cq0"),  # polled instead
        (_SEND, "req_notify_cq B.cq0", _GET, "run", _GET),  # a moment too early
    ],
)
def test_an_eagain_without_effect_is_no_trouble(lines: tuple[str, ...]) -> None:
    report = typed(_PAIR, _RECV, *lines)
    assert report.outcome.kind is Status.WELL
    assert not report.is_trouble


def test_plain_why_finds_unacked_events() -> None:
    lines = (_PAIR, _RECV, "req_notify_cq B.cq0", _SEND, "run", _GET, "destroy_qp B.qp0")
    report = typed(*lines, "destroy_cq B.cq0")
    assert report.slug == "unacked-events"
    assert report.remedy is not None
    assert report.remedy.works


def test_event_waiter_only_in_get_cq_event() -> None:
    lab = lab_of("program B.a lines={get_cq_event B.ch0}", "program B.b lines={poll B.cq0}",
                 "program B.c lines={get_async_event B}", "run 1us", pair=_PAIR)  # fmt: skip
    found = thread_waits.event_waiter(case_of(lab, "B.a"))
    assert found is not None
    assert [cq.channel for cq in found.cqs] == [found.channel.number]
    assert found.since is not None
    assert thread_waits.event_waiter(case_of(lab, "B.b")) is None
    assert thread_waits.event_waiter(case_of(lab, "B.c")) is None
    assert thread_waits.event_waiter(case_of(lab, "B.qp0")) is None


def test_stays_only_without_a_later_event() -> None:
    rx = "program B.rx lines={req_notify_cq B.cq0; get_cq_event B.ch0}"
    lab = lab_of(RECV, rx, "program A.tx lines={sleep 9us; " + SEND + "}", "run 2us", pair=_PAIR)
    assert not thread_waits.stays(case_of(lab, "B.rx"))
    assert thread_waits.stays(case_of(lab_of(RECV, rx, "run", pair=_PAIR), "B.rx"))


def test_events_of_req_notify_cq_and_of_unpolled_completions() -> None:
    lab = lab_of(RECV, "req_notify_cq B.cq0", pair=_PAIR)
    case, arm = case_of(lab, "B.cq0"), lab.session.world.event
    assert case.cq is not None
    assert thread_waits.armed(case, case.cq) == arm
    assert thread_waits.armed_words(case, case.cq) == (
        "B.cq0 was armed for any completion", arm,
    )  # fmt: skip
    lab.do(SEND)
    lab.run()
    case = case_of(lab, "B.cq0")
    assert case.cq is not None
    spent = thread_waits.armed_words(case, case.cq)
    assert spent.event == thread_waits.added(case, case.cq, case.cq.cqes[0])
    assert f"armed at event {arm}" in spent.text
    assert not thread_waits.polled_since(case, case.cq, arm)
    lab.do("poll_cq B.cq0")
    assert thread_waits.polled_since(case_of(lab, "B.cq0"), case.cq, arm)
