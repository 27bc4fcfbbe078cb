"""Asynchronous events: taken once, acknowledged before their object goes, kept until asked for."""

import pytest

from rdmalab.command import Refused
from rdmalab.hca import async_events, qp_lifecycle
from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.records import A, B, Kind, kind_of
from tests.pairs import Pair

E = AsyncEvent


def raised(*found: AsyncEvent) -> Pair:
    pair = Pair()
    for event in found:
        pair.a.hca.raise_event(event, 1 if event is E.PORT_ERR else pair.a.qp.number)
    return pair


def test_async_events_are_taken_in_order_and_once() -> None:
    pair = raised(E.QP_FATAL, E.PORT_ERR)
    hca = pair.a.hca
    assert [async_events.take(hca)[0] for _ in range(2)] == [E.QP_FATAL, E.PORT_ERR]
    with pytest.raises(Refused) as refused:
        async_events.take(hca)
    assert (refused.value.rule, refused.value.errno) == ("async-none", 11)
    assert [event for event, _ in hca.async_unacked] == [E.QP_FATAL, E.PORT_ERR]


def test_destroy_waits_for_the_async_event_ack() -> None:
    pair = raised(E.QP_FATAL, E.COMM_EST)
    hca, qp = pair.a.hca, pair.a.qp
    async_events.take(hca)
    async_events.take(hca)
    with pytest.raises(Refused, match="unacked: 2"):
        qp_lifecycle.destroy_qp(hca, qp)
    async_events.acknowledge(hca, E.COMM_EST, None)
    with pytest.raises(Refused, match="unacked: 1"):
        qp_lifecycle.destroy_qp(hca, qp)
    async_events.acknowledge(hca, None, ("qp", qp.number))
    qp_lifecycle.destroy_qp(hca, qp)
    assert qp.number not in hca.qps.items


def test_ack_async_event_needs_an_event_that_was_taken() -> None:
    pair = raised(E.QP_FATAL)
    hca = pair.a.hca
    for wanted, of in ((None, None), (E.QP_FATAL, None), (None, ("qp", pair.a.qp.number))):
        with pytest.raises(Refused) as refused:
            async_events.acknowledge(hca, wanted, of)
        assert refused.value.rule == "async-ack"
    async_events.take(hca)
    for wanted, of in ((E.COMM_EST, None), (None, ("qp", 99)), (None, ("cq", pair.a.qp.number))):
        with pytest.raises(Refused):
            async_events.acknowledge(hca, wanted, of)
    assert len(hca.async_unacked) == 1


def test_async_events_not_taken_are_removed_with_their_object() -> None:
    pair = raised(E.QP_FATAL, E.PORT_ERR, E.COMM_EST)
    qp_lifecycle.destroy_qp(pair.a.hca, pair.a.qp)
    assert [event for event, _ in pair.a.hca.async_events] == [E.PORT_ERR]
    gone = [r for r in pair.world.trace.records if kind_of(r) is Kind.EVENTS_DISCARDED]
    assert [(r[A], r[B]) for r in gone] == [(2, "qp")]
