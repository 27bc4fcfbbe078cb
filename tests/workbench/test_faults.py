"""The cable under the experimenter's hands: what is lost, what is spoiled, when things arrive."""

from itertools import pairwise
from typing import NamedTuple

import pytest

from rdmalab.command import Noun, Thing
from rdmalab.grammar.format import render
from rdmalab.grammar.line import parse
from rdmalab.lab import Lab
from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.opcodes import OPCODES
from rdmalab.spec.records import Kind, kind_of
from rdmalab.vocabulary import VOCABULARY
from rdmalab.wire.packet import wire_length
from tests.labs import (
    ECN_CAPABLE,
    RECV,
    SEND,
    everything,
    kinds,
    lab_of,
    misread,
    packets,
    played_again,
    refusal,
    seen,
    status,
    trip,
    well,
)

_WRITE = "post_send A.qp0 wr_id=1 opcode=RDMA_WRITE sg=A.mr0[0:2000] remote=B.mr0 flags=SIGNALED"


class Lost(NamedTuple):
    node: str
    label: str
    psn: int


def lost(lab: Lab) -> list[Lost]:
    return [
        Lost(node, OPCODES[packet.opcode].label, packet.psn)
        for node in "AB"
        for _, packet in packets(lab, Kind.PACKET_LOST, node)
    ]


# --------------------------------------------------------------------------- which packets
@pytest.mark.parametrize(
    ("fault", "losses"),
    [
        ("drop A->B nth=1", [Lost("A", "RDMA_WRITE_FIRST", 0)]),
        ("drop A->B nth=4", [Lost("A", "RDMA_WRITE_LAST", 3)]),
        ("drop opcode=RDMA_WRITE_MIDDLE nth=2", [Lost("A", "RDMA_WRITE_MIDDLE", 2)]),
        ("drop psn=1 nth=1", [Lost("A", "RDMA_WRITE_MIDDLE", 1)]),
        ("drop B->A nth=1", [Lost("B", "ACKNOWLEDGE", 3)]),
        ("drop B->A opcode=RDMA_WRITE_FIRST", []),
        ("drop A->B opcode=ACKNOWLEDGE", []),
        ("drop A->B nth=40", []),
        ("drop B->A psn=77", []),
    ],
)
def test_a_fault_meets_the_packets_that_fit_and_no_others(fault: str, losses: list[Lost]) -> None:
    lab = lab_of(f"fault {fault}", _WRITE, "run")
    assert lost(lab) == losses
    assert status(lab) == "SUCCESS"


def test_without_nth_every_packet_that_fits_is_lost() -> None:
    lab = lab_of("fault drop B->A", _WRITE, pair="use rc_pair retry_cnt=2")
    trip(lab, "run")
    assert status(lab) == "RETRY_EXC_ERR"
    assert packets(lab, Kind.PACKET_RECEIVED, "A") == []


def test_nth_counts_from_when_it_was_set() -> None:
    lab = lab_of(_WRITE, "run", "fault drop A->B nth=1", _WRITE, "run")
    assert lost(lab) == [Lost("A", "RDMA_WRITE_FIRST", 4)]


def test_a_flipped_bit_is_found_by_the_checksum_and_the_packet_comes_again() -> None:
    lab = lab_of(
        RECV, "fill A.mr0[0:64] 0x55", "fault corrupt A->B nth=1 byte=70 bit=3", SEND, "run"
    )
    (_, _, frame), *more = seen(lab, Kind.PACKET_HARMED)
    assert more == []
    assert frame[70] == 0x55 ^ 8
    (_, _, reason), *_ = seen(lab, Kind.PACKET_DROPPED, "B")
    assert "ICRC" in reason or "malformed" in reason
    assert lab.look("A.cq0.count") == 1
    assert well(lab, "read B.mr0[0:64]").value == b"\x55" * 64


def test_a_corruption_without_a_byte_breaks_the_crc() -> None:
    for pair, crc in (("use rc_pair", "icrc"), ("use rc_pair link_layer=InfiniBand", "vcrc")):
        lab = lab_of("fault corrupt A->B nth=1", _WRITE, pair=pair)
        trip(lab, "run")
        (_, _, reason), *_ = seen(lab, Kind.PACKET_DROPPED, "B")
        assert reason == f"malformed: {crc}"
        assert status(lab) == "SUCCESS"


def test_a_port_drops_a_frame_for_another_mac() -> None:
    lab = lab_of("fault corrupt A->B nth=1 byte=0", _WRITE)
    trip(lab, "run")
    (_, _, reason), *_ = seen(lab, Kind.PACKET_DROPPED, "B")
    assert reason == "malformed: mac"


def test_faults_are_listed_numbered_and_cleared() -> None:
    lab = lab_of()
    assert well(lab, "fault drop A->B opcode=SEND_ONLY nth=2").value == (
        "fault 1: drop A->B opcode=SEND_ONLY nth=2"
    )
    assert well(lab, "fault corrupt psn=-1 byte=3").value.startswith(
        "fault 2: corrupt psn=16777215"
    )
    assert [fault.number for fault in well(lab, "faults").value] == [1, 2]
    well(lab, "fault clear")
    assert well(lab, "faults").value == []
    assert seen(lab, Kind.FAULT_CLEARED)[0][1] == 2
    assert well(lab, "fault drop").value.startswith("fault 3")
    well(lab, "fault clear; post_send A.qp0 opcode=RDMA_WRITE sg=A.mr0[0:8] remote=B.mr0; run")
    assert lost(lab) == []


def test_one_fault_is_cleared_by_its_number() -> None:
    lab = lab_of("fault drop psn=90", "fault drop psn=91", "fault drop psn=92")
    assert well(lab, "fault clear 2").value == "2 left"
    assert [fault.number for fault in well(lab, "faults").value] == [1, 3]
    assert seen(lab, Kind.FAULT_CLEARED)[0][1] == 1
    assert misread(lab, "fault clear 2").hint == "there is: 1 3"
    assert well(lab, "fault drop").value.startswith("fault 4")


def test_to_list_them_is_no_event() -> None:
    lab = lab_of("fault drop psn=90")
    before = everything(lab)
    assert well(lab, "fault list").value == well(lab, "faults").value
    assert everything(lab) == before


def test_hint_for_faults_clear_is_fault_clear() -> None:
    lab = lab_of("fault drop")
    error = misread(lab, "faults clear")
    assert (error.message, error.hint) == ("faults only lists them", "fault clear")
    assert len(well(lab, "faults").value) == 1


# --------------------------------------------------------------------------- each of them
SENDS = [
    f"post_recv B.qp0 wr_id={n} sg=B.mr0[{n * 64}:{n * 64 + 64}]" for n in range(4)
] + [
    f"post_send A.qp0 wr_id={n} opcode=SEND sg=A.mr0[0:64] flags=SIGNALED" for n in range(4)
]  # fmt: skip


def arrivals(lab: Lab, node: str) -> list[tuple[int, int]]:
    """When, and which PSN."""
    return [(at_ns, packet.psn) for at_ns, packet in packets(lab, Kind.PACKET_RECEIVED, node)]


def test_fault_duplicate_arrives_next_or_after_its_delay() -> None:
    lab = lab_of("fault duplicate A->B nth=1", "fault duplicate A->B nth=2 after=3us", *SENDS)
    well(lab, "run")
    first, copy, *others, late = arrivals(lab, "B")
    assert (first, first[1]) == (copy, 0)
    assert [psn for _, psn in others] == [1, 2, 3]
    assert late == (others[0][0] + 3_000, 1)
    assert lab.look("A.cq0.count") == lab.look("B.cq0.count") == 4
    assert lab.look("B.counters.duplicate_request == 2")


def test_a_delayed_packet_is_overtaken() -> None:
    lab = lab_of("fault delay A->B 50ns nth=2", *SENDS)
    well(lab, "run 2us")
    by_psn = {psn: at_ns for at_ns, psn in reversed(arrivals(lab, "B"))}
    sent = {packet.psn: at_ns for at_ns, packet in packets(lab, Kind.PACKET_SENT, "A")}
    assert by_psn[1] - sent[1] == by_psn[0] - sent[0] + 50
    assert [psn for _, psn in arrivals(lab, "B")][:4] == [0, 2, 3, 1]


def test_fault_reorder_releases_a_packet_after_the_last_overtaker() -> None:
    lab = lab_of("fault reorder A->B nth=1 behind=2", *SENDS)
    well(lab, "run 2us")
    times = arrivals(lab, "B")
    assert [psn for _, psn in times][:4] == [1, 2, 0, 3]
    assert times[1][0] == times[2][0]
    ((_, packet, at_ns),) = seen(lab, Kind.PACKET_RELEASED)
    assert (packet.psn, at_ns) == (0, times[2][0])


def test_fault_reorder_releases_a_packet_at_its_limit() -> None:
    lab = lab_of("fault reorder A->B limit=7us", RECV, SEND, "run")
    ((sent_ns, packet),) = packets(lab, Kind.PACKET_SENT, "A")
    due_ns = sent_ns + lab.session.world.network.cable.occupies_ns(packet) + 1_000 + 7_000
    assert arrivals(lab, "B") == [(due_ns, 0)]
    assert status(lab) == "SUCCESS"
    assert seen(lab, Kind.PACKET_RELEASED) == []


def test_a_limited_direction_is_a_slower_cable_and_the_other_is_not() -> None:
    lab = lab_of("fault rate A->B 1Gbps", *SENDS)
    well(lab, "run")
    times = [at_ns for at_ns, _ in arrivals(lab, "B")]
    sent = [at_ns for at_ns, _ in packets(lab, Kind.PACKET_SENT, "A")]
    takes_ns = wire_length(packets(lab, Kind.PACKET_SENT, "A")[0][1]) * 8
    assert times[0] == sent[0] + takes_ns + 1_000
    assert [later - soon for soon, later in pairwise(times)] == [takes_ns] * 3
    back = packets(lab, Kind.PACKET_SENT, "B")[0][0]
    assert arrivals(lab, "A")[0][0] < back + 1_010


def test_a_mark_arrives_in_the_header_and_is_counted_where_it_arrives() -> None:
    lab = lab_of(*ECN_CAPABLE, "fault mark A->B nth=1", RECV, SEND, "run")
    (_, marked), *_ = packets(lab, Kind.PACKET_RECEIVED, "B")
    assert marked.flow.traffic_class == 3
    assert status(lab) == "SUCCESS"
    assert lab.look("B.counters.np_ecn_marked_roce_packets == 1")
    assert lab.look("A.counters.np_ecn_marked_roce_packets == 0")
    assert {each.opcode_row.label for _, each in packets(lab, Kind.PACKET_SENT, "B")} == {
        "ACKNOWLEDGE"
    }


def test_a_packet_that_is_not_ecn_capable_is_not_marked() -> None:
    lab = lab_of("fault mark A->B", RECV, SEND, "run")
    (_, received), *_ = packets(lab, Kind.PACKET_RECEIVED, "B")
    assert received.flow.traffic_class == 0
    assert lab.look("B.counters.np_ecn_marked_roce_packets == 0")
    assert not [r for r in lab.session.world.trace.since(0) if kind_of(r) is Kind.PACKET_MARKED]


@pytest.mark.parametrize(
    ("which", "hit"), [("qp=A.qp1", {1}), ("qp=B.qp1", {1}), ("qpn=0x11", {0}), ("qp=A.qp0", {0})]
)
def test_a_fault_of_one_queue_pair_leaves_the_others_alone(which: str, hit: set[int]) -> None:
    lab = lab_of("use rc_pair", f"fault drop {which} count=1")
    for n in range(2):
        well(lab, f"post_send A.qp{n} opcode=RDMA_WRITE sg=A.mr{n}[0:8] remote=B.mr{n}")
    well(lab, "run 10us")
    gone = [record for record in lab.session.world.trace.records if record[3] is Kind.PACKET_LOST]
    name = lab.session.names
    assert {int(name.of(Thing(Noun.QP, r[4], r[5]))[-1]) for r in gone} == hit


def test_the_seed_alone_decides_which_packets_a_fault_hits() -> None:
    def numbers(seed: int, *before: str) -> list[int]:
        lab = Lab(seed=seed)
        for line in ("use rc_pair", *ECN_CAPABLE, *before, "fault mark A->B p=30%"):
            well(lab, line)
        for _ in range(8):
            well(lab, "post_send A.qp0 opcode=RDMA_WRITE sg=A.mr0 remote=B.mr0 flags=SIGNALED")
            well(lab, "run; poll_cq A.cq0 num_entries=1")
        return [packet.psn for _, packet, _ in seen(lab, Kind.PACKET_MARKED)]

    assert numbers(1) == numbers(1)
    assert numbers(1) != numbers(2)
    assert 5 < len(numbers(1)) < 35
    other = ("fault delay B->A 1ns p=50%", "fault clear 1")
    assert numbers(1, *other) == numbers(1, "fault drop psn=9000000", "fault clear 1")


@pytest.mark.parametrize(
    ("line", "under", "message"),
    [
        ("fault delay A->B", "delay", "how long?"),
        ("fault rate B->A", "rate", "how fast?"),
        ("fault srq_error", "srq_error", "which SRQ breaks?"),
        ("fault drop byte=3", "3", "drop takes no byte"),
        ("fault corrupt 3us", "3us", "corrupt takes no by"),
        ("fault clear A->B", "A->B", "clear takes no direction"),
        ("fault mark after=1us", "1us", "mark takes no after"),
        ("fault drop qp=A.qp0 qpn=17", "17", "qp and qpn name one queue pair twice"),
        ("fault drop p=2", "2", '"2" is out of range'),
        ("fault drop p=150%", "150%", '"150%" is out of range'),
        ("fault drop p=0.0000001", "0.0000001", '"0.0000001" is finer than one in a million'),
        ("fault drop p=often", "often", '"often" is not a probability'),
        ("fault drop every=0", "0", '"0" is out of range'),
    ],
)
def test_what_does_not_go_together_is_named(line: str, under: str, message: str) -> None:
    lab = lab_of()
    error = misread(lab, line)
    assert error.message == message
    assert line[error.place.start : error.place.stop] == under
    assert error.hint
    assert lab.session.world.network.cable.faults == []


EVERY_FAULT = [
    "fault drop A->B opcode=SEND_ONLY psn=3 nth=2",
    "fault corrupt B->A byte=60 bit=3",
    "fault duplicate A->B nth=1 after=3us",
    "fault delay A->B 3us",
    "fault reorder A->B nth=2 behind=2 limit=50us",
    "fault rate A->B 1Gbps",
    "fault rate A->B 2.5Gbps qp=A.qp0",
    "fault mark every=3 p=2% count=4",
    "fault mark p=0.02",
    "fault drop qpn=0x11 p=12.5%",
    "fault drop A->B longer=1514",
    "fault drop gid=fe80::200:a00:2",
    "fault clear 3",
    "fault clear",
]


@pytest.mark.parametrize("line", EVERY_FAULT)
def test_a_fault_is_written_as_it_is_read(line: str) -> None:
    (one,) = parse(line, VOCABULARY, "A")
    text = render(one, VOCABULARY["fault"])
    (again,) = parse(text, VOCABULARY, None, file=True)
    assert again == one, text


def test_all_that_was_set_is_set_again_when_the_journal_is_played() -> None:
    lab = lab_of(*EVERY_FAULT[:-2], *SENDS, "run", "fault clear 2", *SENDS, "run")
    assert everything(played_again(lab)) == everything(lab)


@pytest.mark.parametrize(
    ("line", "under"),
    [
        ("fault corrupt bit=8", "8"),
        ("fault corrupt byte=-1", "-1"),
        ("fault drop nth=0", "0"),
        ("fault drop psn=0x1000000", "0x1000000"),
        ("fault drop A->C", "A->C"),
        ("fault drop opcode=SEND_ONYL", "SEND_ONYL"),
        ("link rate=0bps", "0bps"),
        ("link latency=-1us", "-1us"),
        ("link mtu=1500", "1500"),
    ],
)
def test_a_fault_that_cannot_be(line: str, under: str) -> None:
    lab = lab_of()
    error = misread(lab, line)
    assert line[error.place.start : error.place.stop] == under
    assert error.hint
    assert lab.session.world.network.cable.faults == []


# --------------------------------------------------------------------------- the plug
def test_link_down_raises_port_err_and_ends_in_retry_exc_err() -> None:
    lab = lab_of("link down", SEND, pair="use rc_pair retry_cnt=1")
    trip(lab, "run")
    assert [event for _, event, _ in seen(lab, Kind.ASYNC_RAISED)][:2] == [AsyncEvent.PORT_ERR] * 2
    assert status(lab) == "RETRY_EXC_ERR"
    assert lab.look("A.qp0.state == ERR")
    assert len(packets(lab, Kind.PACKET_LOST, "A")) == 2


def test_a_plug_put_back_in_time_loses_nothing() -> None:
    lab = lab_of(RECV, "link down", SEND, "run 1ms", "link up", "run")
    assert status(lab) == "SUCCESS"
    raised = [event for _, event, _ in seen(lab, Kind.ASYNC_RAISED)]
    assert raised == [AsyncEvent.PORT_ERR] * 2 + [AsyncEvent.PORT_ACTIVE] * 2


def test_link_down_twice_is_one_change() -> None:
    lab = lab_of("link down", "link down")
    assert kinds(lab).count(Kind.PORT_CHANGED) == 2


# --------------------------------------------------------------------------- the settings
@pytest.mark.parametrize("latency_ns", [0, 1, 1_000, 5_000_000])
@pytest.mark.parametrize("gbps", [1, 25, 400])
def test_a_packet_arrives_when_its_last_bit_has_travelled(latency_ns: int, gbps: int) -> None:
    lab = lab_of(f"link latency={latency_ns}ns rate={gbps}Gbps", RECV, SEND)
    trip(lab, "until A.cq0.count == 1")
    (sent_ns, packet), *_ = packets(lab, Kind.PACKET_SENT, "A")
    (arrived_ns, _), *_ = packets(lab, Kind.PACKET_RECEIVED, "B")
    assert arrived_ns == sent_ns + -(-wire_length(packet) * 8 // gbps) + latency_ns


def test_packets_are_spaced_by_their_wire_time() -> None:
    lab = lab_of("link rate=1Gbps", _WRITE, "run")
    sent = packets(lab, Kind.PACKET_SENT, "A")
    for (at_ns, packet), (next_ns, _) in pairwise(sent):
        assert next_ns == at_ns + wire_length(packet) * 8


def test_a_change_meets_only_packets_sent_after_it() -> None:
    lab = lab_of(RECV, SEND, "step packet", "link latency=1s", "run 2us")
    assert len(packets(lab, Kind.PACKET_RECEIVED, "B")) == 1
    assert packets(lab, Kind.PACKET_RECEIVED, "A") == []


def test_a_smaller_mtu_of_the_port_refuses_a_larger_path() -> None:
    lab = lab_of("link mtu=256", "reset A.qp0")
    assert refusal(lab, "to_rts A.qp0 B.qp0 mtu=512").argument == "path_mtu"
    well(lab, "reset A.qp0; to_rts A.qp0 B.qp0 mtu=256")


def test_every_setting_is_logged() -> None:
    lab = lab_of("link latency=5us rate=25Gbps mtu=1024 down")
    assert [(what, value) for _, what, value in seen(lab, Kind.LINK_SET)] == [
        ("latency_ns", 5_000),
        ("rate_bps", 25_000_000_000),
        ("mtu", 1024),
        ("state", "down"),
    ]


# --------------------------------------------------------------------------- InfiniBand
INFINIBAND = "use rc_pair link_layer=InfiniBand"


def test_a_fault_of_one_lid_leaves_the_others_alone() -> None:
    lab = lab_of("fault drop dlid=5", pair=INFINIBAND)
    well(lab, "post_recv B.qp0 sg=B.mr0[0:64]")
    well(lab, "post_send A.qp0 opcode=SEND sg=A.mr0[0:8] flags=SIGNALED")
    well(lab, "run 5us")
    assert lab.look("A.cq0.count == 1")
    well(lab, "fault drop dlid=4 count=1")
    well(lab, "post_send A.qp0 opcode=RDMA_WRITE sg=A.mr0[0:8] remote=B.mr0[0] flags=SIGNALED")
    well(lab, "run 5us")
    assert lab.look("wire.last.fate == LOST")
    assert lab.look("wire.last.dlid == 4")
    assert str(lab.session.world.network.cable.faults[1]) == "drop dlid=4 count=1"


def test_packets_of_roce_have_no_lids() -> None:
    answer = misread(lab_of(), "fault drop dlid=4")
    assert answer.message == "packets of RoCE have no LIDs"


def test_packets_of_infiniband_have_no_ip_header_to_be_marked() -> None:
    assert "InfiniBand" in misread(lab_of(pair=INFINIBAND), "fault mark A->B").message


def test_a_gid_is_that_of_the_grh() -> None:
    lab = lab_of("fault drop gid=fe80::200:aff:fe00:2", pair="use ud_pair link_layer=InfiniBand")
    grh = "is_global=1 dgid=fe80::200:aff:fe00:2 sgid_index=0"
    well(lab, f"create_ah A.routed pd=A.pd0 dlid=4 {grh} port_num=1")
    for name, fate in (("ah0", "DROPPED"), ("routed", "LOST")):
        well(lab, f"post_send A.qp0 opcode=SEND sg=A.mr0[0:5] ah=A.{name} remote_qpn=B.qp0")
        well(lab, "run")
        assert lab.look(f"wire.last.fate == {fate}")
