"""The run loop: however one goes forward, the same things happen."""

from copy import deepcopy
from dataclasses import replace
from errno import EFAULT
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdmalab.command import Noun, Refused, Thing
from rdmalab.hca import lifecycle
from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.limits import PortState
from rdmalab.spec.profiles import MLX5, RXE, STRICT
from rdmalab.spec.records import Kind
from rdmalab.spec.states import MTU
from rdmalab.spec.work import WROpcode
from rdmalab.wire.frame import Frame
from rdmalab.world.faults import Corrupt, Drop, Match
from rdmalab.world.trace import Silence
from rdmalab.world.world import LATENCY_NS, World
from tests.digest import digest
from tests.hca.test_loss import Plan, losses, plans
from tests.hca.traffic import Side
from tests.pairs import MANY, Pair, image
from tests.raw import BROADCAST, GROUP, MAC_A, tcp_frame

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


same = settings(max_examples=40, derandomize=True)


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
        world.set_link(up=False)
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
    assert len(world.node_of_gid) == 6


def test_things_are_found_until_they_are_destroyed() -> None:
    pair = Pair()
    world = pair.world
    thing = Thing(Noun.QP, "A", pair.a.qp.number)
    assert world.find(thing, object) is pair.a.qp
    assert world.find(Thing(Noun.NODE, "B", 0), object) is world.node(thing._replace(node="B"))
    lifecycle.destroy_qp(pair.a.hca, pair.a.qp)
    with pytest.raises(Refused) as caught:
        world.find(thing, object)
    assert (caught.value.rule, caught.value.errno) == ("use-after-destroy", EFAULT)


# --------------------------------------------------------------------------- the cable's settings
def test_a_link_that_is_down_takes_all_ports_along() -> None:
    pair = Pair()
    pair.world.set_link(up=False)
    assert {hca.port_state for hca in pair.world.nodes.values()} == {PortState.DOWN}
    assert pair.a.events() == pair.b.events() == [AsyncEvent.PORT_ERR]
    pair.a.issue(WRITE)
    pair.run(until_ns=1_000_000)
    pair.world.set_link(up=True)
    pair.run()
    assert [status.name for _, status in pair.a.sent()] == ["SUCCESS"]


def test_settings_of_the_link_count_at_once() -> None:
    pair = Pair()
    pair.world.tune_link("latency_ns", 77)
    pair.a.issue(WRITE, 0)
    pair.run()
    sent, answered = pair.records(Kind.PACKET_SENT)
    arrived = pair.records(Kind.PACKET_RECEIVED)[0]
    assert arrived.at_ns - sent.at_ns < LATENCY_NS
    assert answered.at_ns == arrived.at_ns + 100
    pair.world.tune_link("mtu", 512)
    assert {hca.profile.caps.active_mtu for hca in pair.world.nodes.values()} == {512}
    pair.world.tune_link("mtu", 9_000)
    assert {hca.profile.caps.active_mtu for hca in pair.world.nodes.values()} == {4096}


def test_an_address_that_nobody_has() -> None:
    pair = Pair(retry_cnt=0, timeout=1)
    assert pair.a.qp.path
    pair.a.qp.path.flow = replace(pair.a.qp.path.flow, dst=5)
    pair.a.issue(WRITE)
    pair.run()
    assert pair.reasons(Kind.PACKET_LOST) == ["no port has this address"]
    assert [status.name for _, status in pair.a.sent()] == ["RETRY_EXC_ERR"]


def test_a_flipped_bit_is_found_by_the_icrc_and_the_packet_sent_again() -> None:
    pair = Pair(mtu=MTU.B1024)
    pair.b.recv(600)
    pair.a.poke(0, b"payload" * 80)
    pair.world.cable.faults.append(Corrupt(1, Match(source="A", nth=1), byte=200, bit=3))
    pair.a.issue(SEND, 560)
    pair.run()
    (harmed,) = pair.records(Kind.PACKET_HARMED)
    (dropped,) = pair.records(Kind.PACKET_DROPPED)
    assert dropped.b.startswith("malformed")
    assert pair.records(*Kind)[dropped.cause].kind is Kind.PACKET_SENT
    assert isinstance(harmed.b, bytes)
    assert pair.b.hca.drops == {"malformed": 1}
    assert pair.b.peek(0, 560) == b"payload" * 80


def test_what_a_router_may_change_is_found_by_the_ip_checksum_alone() -> None:
    pair = Pair()
    pair.b.recv()
    pair.world.cable.faults.append(Corrupt(1, Match(nth=1), byte=14 + 1))  # the TOS
    pair.a.issue(SEND)
    pair.run()
    assert pair.reasons(Kind.PACKET_DROPPED) == ["malformed: ip"]
    assert [status.name for _, status in pair.a.sent()] == ["SUCCESS"]


# --------------------------------------------------------------------------- frames
def three() -> World:
    return World({"A": STRICT, "B": STRICT, "C": STRICT})


@pytest.mark.parametrize(
    ("dst", "reached"),
    [
        ("02:00:0a:00:00:02", "B"),
        ("02:00:0a:00:00:03", "C"),
        (BROADCAST, "BC"),
        (GROUP, "BC"),
        ("02:00:00:00:00:99", "BC"),
        (MAC_A, "BC"),
    ],
)
def test_a_frame_goes_to_its_mac_or_to_all_others(dst: str, reached: str) -> None:
    world = three()
    world.begin_event()
    busy_ns = world.transmit("A", 17, Frame(tcp_frame(bytes(71), dst=dst)))
    assert busy_ns == 10  # 125 bytes at 100 Gbit/s
    world.run(MANY)
    dropped = [r for r in world.trace.records if r[3] is Kind.PACKET_DROPPED]
    assert "".join(record[4] for record in dropped) == reached
    assert {record[1] for record in dropped} == {10 + LATENCY_NS}


def test_no_frame_leaves_a_port_that_is_down() -> None:
    world = three()
    world.begin_event()
    world.set_link(up=False)
    world.transmit("A", 17, Frame(tcp_frame()))
    assert world.run(MANY) == 0
    assert [r[7] for r in world.trace.records if r[3] is Kind.PACKET_LOST] == ["the port is down"]


def test_faults_meet_frames_by_direction_and_number() -> None:
    world = three()
    world.begin_event()
    world.cable.faults += [
        Drop(1, Match("A", "B", nth=2)),
        Corrupt(2, Match("A", "C"), byte=20, bit=0),
        Drop(3, Match(opcode="SEND_ONLY")),
        Drop(4, Match(psn=0)),
    ]
    frame = Frame(tcp_frame(dst=BROADCAST))
    for _ in range(2):
        world.transmit("A", 17, frame)
    world.run(MANY)
    arrived = [(r[4], r[6]) for r in world.trace.records if r[3] is Kind.PACKET_DROPPED]
    harmed = bytearray(frame.octets)
    harmed[20] ^= 1
    assert arrived == [("B", frame), ("C", Frame(bytes(harmed))), ("C", Frame(bytes(harmed)))]


def test_a_world_with_frames_under_way_is_copied_whole() -> None:
    world = three()
    world.begin_event()
    world.transmit("A", 17, Frame(tcp_frame(dst=BROADCAST)))
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
