"""Completion events: one an arming, for what it waits for, and acknowledged before the CQ goes."""

import pytest

from rdmalab.command import Refused
from rdmalab.hca import channels, lifecycle
from rdmalab.hca.objects import CompChannel
from rdmalab.hca.wr import Cqe
from rdmalab.spec.completions import Arm
from rdmalab.spec.profiles import RXE, STRICT, Profile
from rdmalab.spec.records import A, Kind, kind_of
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import WROpcode
from tests.pairs import Pair

OK, FLUSH, LENGTH = WCStatus.SUCCESS, WCStatus.WR_FLUSH_ERR, WCStatus.LOC_LEN_ERR


def armed_pair() -> tuple[Pair, CompChannel]:
    """A pair whose send CQ tells a channel."""
    pair = Pair()
    channel = lifecycle.create_comp_channel(pair.a.hca)
    pair.a.send_cq.channel = channel.number
    return pair, channel


def write(pair: Pair, count: int = 1) -> None:
    for wr_id in range(count):
        pair.a.issue(WROpcode.RDMA_WRITE, wr_id=wr_id)
    pair.run()


# status, of a send queue, SE bit → wakes a solicited arm: strict, rxe
CASES = [
    (OK, True, False, False, False),
    (OK, False, False, False, False),
    (OK, False, True, True, True),
    (LENGTH, True, False, True, False),
    (LENGTH, False, False, True, False),
    (LENGTH, False, True, True, True),
    (FLUSH, True, False, True, False),
    (FLUSH, False, False, True, True),
]


@pytest.mark.parametrize(("status", "is_send", "solicited", "strict", "rxe"), CASES)
def test_req_notify_cq_solicited_only(
    status: WCStatus, is_send: bool, solicited: bool, strict: bool, rxe: bool
) -> None:
    cqe = Cqe(1, status, 0, 0, 17, 0, is_send, solicited=solicited)
    found = [channels.wakes(profile, Arm.SOLICITED, cqe) for profile in (STRICT, RXE)]
    assert found == [strict, rxe]
    assert channels.wakes(STRICT, Arm.ANY, cqe)
    assert not channels.wakes(STRICT, Arm.NONE, cqe)


def test_req_notify_cq_raises_one_event() -> None:
    pair, channel = armed_pair()
    write(pair)
    assert not channel.events
    channels.arm(pair.a.hca, pair.a.send_cq, solicited_only=False)
    write(pair, 3)
    assert list(channel.events) == [pair.a.send_cq.number]
    assert pair.a.send_cq.armed is Arm.NONE


def test_req_notify_cq_again_keeps_the_wider_request() -> None:
    pair, _ = armed_pair()
    cq = pair.a.send_cq
    for solicited, armed in ((True, Arm.SOLICITED), (False, Arm.ANY), (True, Arm.ANY)):
        channels.arm(pair.a.hca, cq, solicited_only=solicited)
        assert cq.armed is armed


def test_req_notify_cq_without_channel_raises_no_event() -> None:
    pair, channel = armed_pair()
    pair.a.send_cq.channel = 0
    channels.arm(pair.a.hca, pair.a.send_cq, solicited_only=False)
    write(pair)
    assert (pair.a.send_cq.armed, list(channel.events)) == (Arm.NONE, [])
    raised = [r for r in pair.world.trace.records if kind_of(r) is Kind.CQ_EVENT_RAISED]
    assert [record[A] for record in raised] == [0]


def test_cq_events_come_in_order_and_count_as_unacknowledged() -> None:
    pair, channel = armed_pair()
    other = lifecycle.create_cq(pair.a.hca, 4, 0, channel.number, 7)
    for cq in (other, pair.a.send_cq, other):
        channels.raise_event(pair.a.hca, cq)
    taken = [channels.take(pair.a.hca, channel) for _ in range(3)]
    assert taken == [other, pair.a.send_cq, other]
    assert (other.unacked, pair.a.send_cq.unacked) == (2, 1)
    channels.acknowledge(pair.a.hca, other, 0)
    channels.acknowledge(pair.a.hca, other, 2)
    with pytest.raises(Refused, match="unacknowledged events of this cq: 0"):
        channels.acknowledge(pair.a.hca, other, 1)
    lifecycle.destroy_cq(pair.a.hca, other)


def test_destroy_cq_waits_for_unacknowledged_events() -> None:
    pair, channel = armed_pair()
    cq = lifecycle.create_cq(pair.a.hca, 4, 0, channel.number)
    channels.raise_event(pair.a.hca, cq)
    channels.raise_event(pair.a.hca, cq)
    channels.take(pair.a.hca, channel)
    with pytest.raises(Refused, match="unacked: 1") as refused:
        lifecycle.destroy_cq(pair.a.hca, cq)
    assert (refused.value.rule, refused.value.errno) == ("cq-events-unacked", 11)
    assert len(channel.events) == 1
    channels.acknowledge(pair.a.hca, cq, 1)
    lifecycle.destroy_cq(pair.a.hca, cq)
    assert not channel.events


def test_destroy_comp_channel_in_use_is_ebusy() -> None:
    pair, channel = armed_pair()
    with pytest.raises(Refused, match="1 CQ"):
        lifecycle.destroy_comp_channel(pair.a.hca, channel)
    pair.a.send_cq.channel = 0
    lifecycle.destroy_comp_channel(pair.a.hca, channel)
    assert not pair.a.hca.channels.items


def would_wake(pair: Pair, channel: CompChannel) -> str:
    with pytest.raises(Refused, match="would block") as refused:
        channels.take(pair.a.hca, channel)
    return refused.value.legal


def test_get_cq_event_that_would_block_names_what_ends_the_wait() -> None:
    pair, channel = armed_pair()
    lone = lifecycle.create_comp_channel(pair.a.hca)
    assert "create_cq" in would_wake(pair, lone)
    assert would_wake(pair, channel).endswith("req_notify_cq")
    write(pair, 2)
    assert "2 completions already in it raise no event" in would_wake(pair, channel)
    pair.a.send_cq.cqes.popleft()
    assert "1 completion already in it raises no event" in would_wake(pair, channel)
    channels.arm(pair.a.hca, pair.a.send_cq, solicited_only=True)
    assert would_wake(pair, channel).startswith("the next receive with the solicited bit")
    channels.arm(pair.a.hca, pair.a.send_cq, solicited_only=False)
    assert would_wake(pair, channel).startswith("the next completion")


@pytest.mark.parametrize("profile", [STRICT, RXE])
def test_a_cq_event_may_find_an_empty_cq(profile: Profile) -> None:
    """The completion was polled before the event was taken."""
    pair, channel = armed_pair()
    channels.arm(pair.a.hca, pair.a.send_cq, solicited_only=False)
    write(pair)
    assert len(pair.a.sent()) == 1
    assert channels.take(pair.a.hca, channel) is pair.a.send_cq
    assert pair.a.sent() == []
