"""Changes: what an event changed, with values before and after."""

from rdmalab.hca import async_events, channels, lifecycle, qp_lifecycle
from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.records import Kind
from rdmalab.spec.states import QPState
from rdmalab.spec.work import WROpcode
from rdmalab.views import changes
from rdmalab.world.faults import Drop, Match
from tests.extended import extended_lab
from tests.labs import lab_of, well
from tests.pairs import Pair
from tests.views.looking import names_of


def changed(pair: Pair, event: int | None = None) -> list[str]:
    return [row.text for row in changes.change_rows(pair.world, names_of(pair), event)]


def test_every_kind_either_changes_something_or_is_known_not_to() -> None:
    assert set(changes.CHANGES) | set(changes.NOT_CHANGES) == set(Kind)
    assert not set(changes.CHANGES) & set(changes.NOT_CHANGES)


def test_a_post_takes_a_slot() -> None:
    pair = Pair()
    pair.a.issue(WROpcode.RDMA_WRITE, 8)
    pair.a.issue(WROpcode.RDMA_WRITE, 8)
    assert changed(pair) == ["A.qp0.sq.used 1 → 2"]


def test_the_past_is_reckoned_back_from_now() -> None:
    pair = Pair()
    events = []
    for _ in range(3):
        pair.a.issue(WROpcode.RDMA_WRITE, 8)
        events.append(pair.world.event)
    pair.run()
    pair.a.sent()
    assert [changed(pair, event) for event in events] == [
        ["A.qp0.sq.used 0 → 1"], ["A.qp0.sq.used 1 → 2"], ["A.qp0.sq.used 2 → 3"],
    ]  # fmt: skip
    assert changed(pair) == ["A.cq0.count 3 → 0", "A.qp0.sq.used 3 → 0"]


def test_a_modify_changes_state_and_attributes() -> None:
    pair = Pair()
    pair.a.modify(qp_state=QPState.SQD)
    assert changed(pair) == ["A.qp0.state RTS → SQD"]
    pair.a.modify(qp_state=QPState.SQD, timeout=15)
    assert changed(pair) == ["A.qp0.timeout = 15"]
    event = pair.world.event
    pair.a.modify(qp_state=QPState.ERR)
    assert changed(pair, event) == ["A.qp0.timeout = set"]


def test_what_was_written_is_shown() -> None:
    pair = Pair()
    pair.a.poke(0, b"hello")
    pair.a.issue(WROpcode.RDMA_WRITE, 5, to=16)
    pair.world.run(2)
    assert changed(pair) == ["B.mr0[16].bytes = 68 65 6c 6c 6f"]
    event = pair.world.event
    pair.run()
    assert changed(pair, event) == ["B.mr0[16].bytes = 5 written"]


def test_a_wait_is_armed_and_fires() -> None:
    pair = Pair()
    pair.a.issue(WROpcode.SEND, 8)
    while pair.a.qp.comp.rnr_until_ns is None:
        assert pair.world.step()
    (armed,) = changed(pair)
    assert armed.startswith("A.qp0.rnr_timer.at_ns = ")
    pair.world.run(1)
    assert changed(pair) == ["A.qp0.rnr_timer.armed on → off", "A.qp0.next_psn = 0"]


def test_the_link_takes_the_ports_with_it() -> None:
    pair = Pair()
    pair.world.begin_event()
    pair.world.network.set_link(up=False)
    assert changed(pair)[:3] == [
        "link.state = down", "A.port.state = DOWN", "A.async_events = PORT_ERR of A",
    ]  # fmt: skip
    pair.world.begin_event()
    pair.world.network.tune_link("latency_ns", 2_000)
    assert changed(pair) == ["link.latency_ns = 2 us"]


def test_a_thing_comes_into_being() -> None:
    pair = Pair()
    pair.world.begin_event()
    pair.end("A")
    assert changed(pair)[0] == "A.pd1.exists no → yes"


def test_an_attribute_reads_as_a_person_writes_it() -> None:
    pair = Pair()
    lone = pair.end("A")
    lone.peer = pair.b
    pair.bring_up(lone, 0, 0, QPState.RTR)
    answer = changed(pair)
    assert "A.qp1.path_mtu = 256" in answer
    assert "A.qp1.ah_attr = ::ffff:10.0.0.2" in answer
    assert answer[-1] == "A.qp1.state INIT → RTR"


def test_a_work_request_starts_and_ends() -> None:
    pair = Pair(rnr_retry=0)
    pair.a.issue(WROpcode.RDMA_WRITE, 8, wr_id=7)
    pair.a.issue(WROpcode.SEND, 8, wr_id=8)
    pair.world.run(1)
    assert changed(pair) == ["A.qp0.wr[7].status POSTED → ON_WIRE"]
    pair.run()
    lines = [line for event in range(pair.world.event + 1) for line in changed(pair, event)]
    assert "A.qp0.wr[7].status = ACKED" in lines
    assert "A.qp0.wr[8].status = FAILED RNR_RETRY_EXC_ERR" in lines


def test_faults_are_set_and_cleared() -> None:
    pair = Pair()
    pair.world.begin_event()
    pair.world.trace.record(Kind.FAULT_SET, "", 1, Drop(1, Match(opcode="SEND_ONLY")))
    pair.world.trace.record(Kind.FAULT_CLEARED, "", 0, 1)
    assert changed(pair) == ["link.faults = set drop opcode=SEND_ONLY", "link.faults = 1 cleared"]


def test_what_is_destroyed_leaves_steps_without_values() -> None:
    pair = Pair()
    names = names_of(pair)
    pair.a.issue(WROpcode.RDMA_WRITE, 8)
    event = pair.world.event
    pair.world.begin_event()
    qp_lifecycle.destroy_qp(pair.a.hca, pair.a.qp)
    lines = [row.text for row in changes.change_rows(pair.world, names)]
    assert lines == ["A.qp0.exists yes → no", "A.qp0.sq.used = -1"]
    lines = [row.text for row in changes.change_rows(pair.world, names, event)]
    assert lines == ["A.qp0.sq.used = +1"]


def test_an_arm_an_event_and_its_end() -> None:
    pair = Pair()
    channel = lifecycle.create_comp_channel(pair.a.hca)
    pair.a.send_cq.channel = channel.number
    pair.world.begin_event()
    channels.arm(pair.a.hca, pair.a.send_cq, solicited_only=False)
    assert changed(pair) == ["A.cq0.armed = ANY"]
    pair.world.begin_event()
    channels.raise_event(pair.a.hca, pair.a.send_cq)
    assert changed(pair) == ["A.cq0.armed = NONE", "A.channel0.events = +1"]
    pair.world.begin_event()
    channels.take(pair.a.hca, channel)
    assert changed(pair) == ["A.channel0.events = -1", "A.cq0.unacked 0 → 1"]
    pair.world.begin_event()
    channels.acknowledge(pair.a.hca, pair.a.send_cq, 1)
    assert changed(pair) == ["A.cq0.unacked 1 → 0"]
    pair.world.begin_event()
    lifecycle.resize_cq(pair.a.hca, pair.a.send_cq, 128)
    assert changed(pair) == ["A.cq0.capacity 64 → 128"]


def test_an_asynchronous_event_is_raised_taken_and_acknowledged() -> None:
    pair = Pair()
    for do, answer in (
        (lambda: pair.a.hca.raise_event(AsyncEvent.QP_FATAL, pair.a.qp.number),
         "A.async_events = QP_FATAL of A.qp0"),
        (lambda: async_events.take(pair.a.hca), "A.QP_FATAL of A.qp0 waiting → taken"),
        (lambda: async_events.acknowledge(pair.a.hca, None, None),
        "A.QP_FATAL of A.qp0 taken → acked"),
    ):  # fmt: skip
        pair.world.begin_event()
        do()
        assert changed(pair) == [answer]


def test_a_region_and_what_is_built_in_it() -> None:
    lab = extended_lab()
    session = lab.session

    def after(line: str) -> list[str]:
        lab.do(line)
        return [row.text for row in changes.change_rows(session.world, session.names)]

    assert after("wr_start A.qx0") == ["A.qx0.region.open no → yes"]
    assert after("wr_set A.qx0 wr_id=3 wr_flags=FENCE") == [
        "A.qx0.region.wr_id = 3",
        "A.qx0.region.wr_flags = FENCE",
    ]
    assert after("wr_send A.qx0") == ["A.qx0.region = wr3 SEND 0 B"]
    assert after("wr_set_sge A.qx0 sg=A.mr0[0:9]") == ["A.qx0.region = wr3 SEND 9 B"]
    assert after("wr_set_sge A.qx0 sg=A.mr0[0:9]")[0].startswith("A.qx0.region.error = wr_set_sge")
    assert after("wr_complete A.qx0") == ["A.qx0.region.open yes → no, dropped"]
    assert after("wr_complete A.qx0") == []


def test_what_a_program_did() -> None:
    lab = lab_of("program A.rx lines={poll_cq A.cq0; wait A.mr0[0] == 7; stop}", "run")
    world, names = lab.session.world, lab.session.names

    def texts() -> list[str]:
        return [row.text for row in changes.change_rows(world, names, world.event)]

    assert texts() == ["A.rx.line = 2", "A.rx.state RUNNING → WAITING"]
    well(lab, 'write A.mr0 "\\x07"')
    assert texts()[-1] == "A.rx.state WAITING → RUNNING"
    well(lab, "run")
    assert texts() == ["A.rx.line = 3", "A.rx.state RUNNING → DONE"]
