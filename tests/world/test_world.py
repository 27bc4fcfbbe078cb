"""The run loop: however one goes forward, the same things happen."""

from copy import deepcopy
from errno import EFAULT
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdmalab.command import Noun, Refused, Thing
from rdmalab.hca import lifecycle, qp_lifecycle
from rdmalab.spec.profiles import MLX5, RXE, STRICT
from rdmalab.spec.records import Kind
from rdmalab.spec.work import WROpcode
from rdmalab.wire.frame import Frame
from rdmalab.world.world import World
from tests.bench.silence import Silence
from tests.digest import digest
from tests.each import examples
from tests.hca.test_loss import Plan, losses, plans
from tests.hca.traffic import Side
from tests.pairs import MANY, Pair, image
from tests.raw import BROADCAST, tcp_frame

SEND, WRITE, READ = WROpcode.SEND, WROpcode.RDMA_WRITE, WROpcode.RDMA_READ


def started(plan: Plan, lost: set[int]) -> Pair:
    """Everything is posted, nothing has moved yet."""
    pair = plan.pair()
    pair.lose("A", *lost)
    pair.lose("B", *lost)
    for end, asked in zip((pair.a, pair.b), plan.asked, strict=True):
        side = Side(end, asked)
        requests = side.prepare()
        side.post_receives(0, 20)
        end.post(*requests)
    return pair


def whole(pair: Pair) -> tuple[Any, list[Any]]:
    return image(pair.world), list(pair.world.trace.records)


same = settings(max_examples=examples(40), derandomize=True)


@same
@given(plans, losses)
def test_the_same_commands_give_the_same_world(plan: Plan, lost: set[int]) -> None:
    one, other = started(plan, lost), started(plan, lost)
    one.run()
    other.run()
    assert whole(one) == whole(other)


@same
@given(plans, losses)
def test_to_run_is_to_step_until_nothing_is_left(plan: Plan, lost: set[int]) -> None:
    one, other = started(plan, lost), started(plan, lost)
    events = one.world.run(MANY)
    steps = 0
    while other.world.step():
        steps += 1
    assert steps == events
    assert whole(one) == whole(other)


@same
@given(plans, losses, st.lists(st.integers(0, 20_000), max_size=40))
def test_to_run_in_slices_of_time_is_to_run(plan: Plan, lost: set[int], slices: list[int]) -> None:
    one, other = started(plan, lost), started(plan, lost)
    one.run()
    for slice_ns in slices:
        other.world.run(MANY, other.world.now_ns + slice_ns)
    other.run()
    assert whole(one) == whole(other)


@same
@given(plans, losses, st.integers(0, 200))
def test_a_copy_goes_the_same_way_and_alone(plan: Plan, lost: set[int], events: int) -> None:
    pair = started(plan, lost)
    pair.world.run(events)
    before = whole(pair)
    twin = deepcopy(pair.world)
    assert (image(twin), list(twin.trace.records)) == before
    twin.run(MANY)
    assert whole(pair)[0] == before[0]
    assert len(pair.world.trace.records) == len(before[1])
    pair.run()
    assert whole(pair) == (image(twin), list(twin.trace.records))


@same
@given(plans, losses)
def test_every_event_is_numbered_and_time_goes_forward_only(plan: Plan, lost: set[int]) -> None:
    """Records are in order; a cause comes before its effect, and names who scheduled the event."""
    pair = started(plan, lost)
    pair.run()
    records = pair.records(*Kind)
    assert [record.event for record in records] == sorted(record.event for record in records)
    assert [record.at_ns for record in records] == sorted(record.at_ns for record in records)
    for number, record in enumerate(records):
        assert record.cause < number
        if record.kind is Kind.PACKET_RECEIVED:
            assert records[record.cause].kind is Kind.PACKET_SENT
            assert records[record.cause].a is record.a
        if record.kind is Kind.TIMER_FIRED:
            assert records[record.cause].node == record.node
            assert records[record.cause].at_ns < record.at_ns


def test_a_trace_that_is_silent_changes_nothing() -> None:
    loud, silent = World(), World(trace=Silence())
    for world in (loud, silent):
        lifecycle.alloc_pd(world.nodes["A"])
        world.network.set_link(up=False)
    assert image(loud) == image(silent)
    assert len(loud.trace.records) == 6
    assert not silent.trace.tail


# --------------------------------------------------------------------------- time
def test_the_clock_stops_at_the_last_thing_that_happened() -> None:
    """A timer that was armed and is not needed any more is no event, and takes no time."""
    pair = Pair(timeout=20)
    pair.a.issue(WRITE)
    events = pair.world.event
    pair.run()
    assert pair.world.now_ns == pair.records(Kind.CQE_ADDED)[-1].at_ns < 5_000
    assert pair.world.event == events + 4  # port, arrival, port, arrival
    assert not pair.world.step()
    assert pair.world.event == events + 4


def test_running_until_a_time_stops_before_what_is_later() -> None:
    pair = Pair()
    pair.a.issue(WRITE)
    assert pair.world.run(MANY, 99) == 0
    assert pair.world.now_ns == 0
    assert pair.world.run(MANY, 100) == 1
    assert not pair.world.step(1_099)
    assert pair.world.step(1_200)


def test_time_may_pass_in_which_nothing_happens() -> None:
    pair = Pair()
    pair.world.advance(5_000)
    pair.world.advance(4_000)
    assert pair.world.now_ns == 5_000
    pair.a.issue(WRITE)
    pair.run()
    assert pair.records(Kind.PACKET_SENT)[0].at_ns == 5_100


def test_a_command_is_an_event_of_its_own_without_a_cause() -> None:
    pair = Pair()
    event = pair.world.event
    pair.a.issue(WRITE)
    (posted,) = pair.records(Kind.SEND_POSTED)
    assert (posted.event, posted.cause) == (event + 1, -1)
    pair.world.begin_event()
    pair.world.cancel_event()
    assert pair.world.event == event + 1


# --------------------------------------------------------------------------- nodes and things
def test_nodes_have_addresses_in_their_order() -> None:
    world = World({"left": RXE, "right": MLX5, "third": RXE})
    assert [hex(hca.gids[1]) for hca in world.nodes.values()] == [
        "0xffff0a000001",
        "0xffff0a000002",
        "0xffff0a000003",
    ]
    assert world.nodes["right"].profile is MLX5
    assert len(world.network.node_of_gid) == 6


def test_things_are_found_until_they_are_destroyed() -> None:
    pair = Pair()
    world = pair.world
    thing = Thing(Noun.QP, "A", pair.a.qp.number)
    assert world.find(thing, object) is pair.a.qp
    assert world.find(Thing(Noun.NODE, "B", 0), object) is world.node(thing._replace(node="B"))
    qp_lifecycle.destroy_qp(pair.a.hca, pair.a.qp)
    with pytest.raises(Refused) as caught:
        world.find(thing, object)
    assert (caught.value.rule, caught.value.errno) == ("use-after-destroy", EFAULT)


def test_a_world_with_frames_under_way_is_copied_whole() -> None:
    world = World({"A": STRICT, "B": STRICT, "C": STRICT})
    world.begin_event()
    world.network.transmit("A", 17, Frame(tcp_frame(dst=BROADCAST)))
    twin = deepcopy(world)
    world.run(MANY)
    twin.run(MANY)
    assert image(twin) == image(world)
    assert digest(twin.trace) == digest(world.trace)


def test_a_copy_shares_the_tables_and_nothing_else() -> None:
    pair = Pair()
    pair.a.issue(WROpcode.SEND)
    twin = deepcopy(pair.world)
    qp = twin.nodes["A"].qps.find(pair.a.qp.number)
    assert qp is not pair.a.qp
    assert qp.transport is pair.a.qp.transport
    assert twin.nodes["A"].profile is pair.a.hca.profile
    (wqe,), (copied,) = pair.a.qp.sq.wqes.values(), qp.sq.wqes.values()
    assert copied is not wqe
    assert copied.work is wqe.work
