"""The cable under the experimenter's hands: what is lost, what is spoiled, when things arrive."""

from itertools import pairwise
from typing import NamedTuple

import pytest

from rdmalab.lab import Lab
from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.opcodes import OPCODES
from rdmalab.spec.records import Kind
from rdmalab.wire.packet import wire_length
from tests.labs import (
    RECV,
    SEND,
    kinds,
    lab_of,
    misread,
    packets,
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
    assert lab.session.world.cable.faults == []


# --------------------------------------------------------------------------- the plug
def test_a_pulled_plug_is_told_to_both_and_ends_in_retries_exceeded() -> None:
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


def test_pulling_it_twice_is_told_once() -> None:
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


def test_packets_leave_one_behind_the_other() -> None:
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
