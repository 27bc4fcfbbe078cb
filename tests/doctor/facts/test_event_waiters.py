"""Programs that sleep beside a channel, and what is known of its queues."""

from rdmalab.doctor.facts import event_waiters
from tests.doctor.asking import case_of
from tests.labs import RECV, SEND, lab_of

_PAIR = "use rc_pair channel=1"


def test_only_who_sleeps_in_get_cq_event_is_a_sleeper() -> None:
    lab = lab_of("program B.a lines={get_cq_event B.ch0}", "program B.b lines={poll B.cq0}",
                 "program B.c lines={get_async_event B}", "run 1us", pair=_PAIR)  # fmt: skip
    found = event_waiters.sleeper(case_of(lab, "B.a"))
    assert found is not None
    assert [cq.channel for cq in found.cqs] == [found.channel.number]
    assert found.since is not None
    assert event_waiters.sleeper(case_of(lab, "B.b")) is None
    assert event_waiters.sleeper(case_of(lab, "B.c")) is None
    assert event_waiters.sleeper(case_of(lab, "B.qp0")) is None


def test_who_is_woken_by_time_does_not_stay() -> None:
    rx = "program B.rx lines={req_notify_cq B.cq0; get_cq_event B.ch0}"
    lab = lab_of(RECV, rx, "program A.tx lines={sleep 9us; " + SEND + "}", "run 2us", pair=_PAIR)
    assert not event_waiters.stays(case_of(lab, "B.rx"))
    assert event_waiters.stays(case_of(lab_of(RECV, rx, "run", pair=_PAIR), "B.rx"))


def test_the_arm_and_what_lies_there_have_their_events() -> None:
    lab = lab_of(RECV, "req_notify_cq B.cq0", pair=_PAIR)
    case, arm = case_of(lab, "B.cq0"), lab.session.world.event
    assert case.cq is not None
    assert event_waiters.armed(case, case.cq) == arm
    assert event_waiters.armed_words(case, case.cq) == (
        "B.cq0 was armed for any completion", arm,
    )  # fmt: skip
    lab.do(SEND)
    lab.run()
    case = case_of(lab, "B.cq0")
    assert case.cq is not None
    spent = event_waiters.armed_words(case, case.cq)
    assert spent.event == event_waiters.added(case, case.cq, case.cq.cqes[0])
    assert f"armed at event {arm}" in spent.text
    assert not event_waiters.polled_since(case, case.cq, arm)
    lab.do("poll_cq B.cq0")
    assert event_waiters.polled_since(case_of(lab, "B.cq0"), case.cq, arm)
