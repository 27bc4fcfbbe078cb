"""Channels and asynchronous events as they are asked for."""

from rdmalab.hca import async_events, channels, lifecycle
from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.completions import Arm
from rdmalab.views.columns import words
from rdmalab.views.completions import channel_row
from tests.pairs import Pair
from tests.views.looking import ask, names_of


def woken() -> Pair:
    pair = Pair()
    channel = lifecycle.create_comp_channel(pair.a.hca)
    pair.a.send_cq.channel = channel.number
    pair.a.send_cq.context = 7
    for _ in range(3):
        channels.raise_event(pair.a.hca, pair.a.send_cq)
    channels.take(pair.a.hca, channel)
    channels.arm(pair.a.hca, pair.a.send_cq, solicited_only=True)
    return pair


def test_fields_of_a_channel() -> None:
    pair = woken()
    assert ask(pair, "A.channel0.cqs") == "A.cq0"
    assert ask(pair, "A.channel0.events") == 2
    assert ask(pair, "A.channel0.unacked") == 1
    assert ask(pair, "A.channel0.next") == "A.cq0"
    thing = names_of(pair).find("A.channel0")
    assert thing is not None
    row = channel_row(pair.world, names_of(pair), thing)
    assert words(row) == "A.channel0 2 events wait 1 unacked of A.cq0"


def test_arm_and_event_fields_of_a_cq() -> None:
    pair = woken()
    assert ask(pair, "A.cq0.armed") is Arm.SOLICITED
    assert ask(pair, "A.cq0.armed == SOLICITED") is True
    assert [ask(pair, f"A.cq0.{field}") for field in ("context", "events", "unacked")] == [7, 2, 1]
    assert ask(pair, "A.cq0.channel") == "A.channel0"
    assert [ask(pair, f"A.cq1.{field}") for field in ("channel", "events")] == ["", 0]


def test_async_event_fields_of_a_node() -> None:
    pair = Pair()
    assert ask(pair, "A.events.next") is None
    for event in (AsyncEvent.QP_FATAL, AsyncEvent.COMM_EST, AsyncEvent.SQ_DRAINED):
        pair.a.hca.raise_event(event, pair.a.qp.number)
    async_events.take(pair.a.hca)
    assert [ask(pair, f"A.events.{field}") for field in ("waiting", "unacked")] == [2, 1]
    assert ask(pair, "A.events.next == COMM_EST") is True
    assert ask(pair, "A.events.newest == SQ_DRAINED") is True
