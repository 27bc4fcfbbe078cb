"""Lines of `wire`: read, and compared with what was sent."""

from functools import partial
from pathlib import Path

import pytest

from rdmalab.command import NotUnderstood
from rdmalab.hca.objects import MemoryRegion
from rdmalab.lab import open_session
from rdmalab.scenario.loader import load
from rdmalab.scenario.runner import Runner
from rdmalab.scenario.wire import (
    KEYS,
    Comparison,
    Skip,
    WireLine,
    line_of,
    parse_wire,
    resolve,
    seen,
)
from rdmalab.spec.opcodes import BY_LABEL
from rdmalab.spec.records import Kind, kind_of
from rdmalab.spec.refusals import Syndrome
from rdmalab.views import ladder
from rdmalab.views.fates import Fate
from rdmalab.views.memory import with_key
from rdmalab.views.transit_effects import Origin
from rdmalab.vocabulary import VOCABULARY
from tests.each import each
from tests.labs import lab_of
from tests.scenario.playing import PAIR, failure_text

SCENARIOS = Path(__file__).parents[2] / "scenarios"
OF_EACH_KIND = ("atomic", "uc", "ud", "raw", "mw", "xrc", "loss")


def parsed(text: str) -> WireLine:
    line = parse_wire(text)
    assert isinstance(line, WireLine)
    return line


def test_a_line() -> None:
    line = parsed("A->B send_only psn=0x10 len=64 ack_req=1 lost")
    assert (line.source, line.target, line.opcode, line.fate) == ("A", "B", "SEND_ONLY", Fate.LOST)
    assert {f.fact: f.value for f in line.fields} == {"psn": 16, "length": 64, "ack_req": 1}


def test_what_the_cable_did() -> None:
    line = parsed("A->B SEND_ONLY copied marked psn=3 dropped delayed")
    assert (line.origin, line.fate) == (Origin.COPIED, Fate.DROPPED)
    assert line.troubles == ("marked", "delayed")
    plain = parsed("A->B SEND_ONLY psn=3")
    assert (plain.origin, plain.fate, plain.troubles) == (Origin.SENT, None, ())


def test_skip() -> None:
    assert parse_wire(" skip ") == Skip()


@each("label", BY_LABEL)
def test_every_opcode_may_be_expected(label: str) -> None:
    assert parsed(f"A->B {label}").opcode == label


@pytest.mark.parametrize("name", Syndrome.__members__)
def test_every_syndrome_may_be_expected(name: str) -> None:
    (field,) = parsed(f"B->A ACKNOWLEDGE syndrome={name}").fields
    assert field.value == frozenset([Syndrome[name]])


def test_nak_is_every_nak_code_as_a_packet_and_as_a_syndrome() -> None:
    line = parsed("B->A NAK syndrome=nak")
    assert line.opcode == "NAK"
    assert line.fields[0].value == frozenset(s for s in Syndrome if s.name.startswith("NAK_"))


@pytest.mark.parametrize(
    ("text", "start", "message"),
    [
        ("skip 3", 0, '"skip" is not a direction'),
        ("A->B", 0, "the opcode is missing"),
        ("A->B SEND psn=0", 5, "is no opcode"),
        ("A->B SEND_ONLY psn", 15, "a value is missing here"),
        ("A->B SEND_ONLY psn=", 15, "a value is missing here"),
        ("A->B SEND_ONLY colour=1", 15, 'no field "colour"'),
        ("A->B SEND_ONLY source=A", 15, 'no field "source"'),
        ("A->B SEND_ONLY dest_qp=qp0", 23, "is not a full name"),
        ("A->B SEND_ONLY va=mr0[3]", 18, "has no node"),
    ],
)
def test_mistakes(text: str, start: int, message: str) -> None:
    with pytest.raises(NotUnderstood) as caught:
        parse_wire(text)
    assert message in caught.value.message
    assert caught.value.place.start in (start, start + 3, start + 4)


WIRE = "  - run:\n    wire:\n      - "
LINES = {
    "RDMA_WRITE": "RDMA_WRITE_ONLY va=B.mr0[16] rkey=B.mr0 dma_length=8 len=8",
    "RDMA_READ": "RDMA_READ_REQUEST va=B.mr0[16] rkey=B.mr0 dma_length=8 len=0",
    "ATOMIC_CMP_AND_SWP": "COMPARE_SWAP va=B.mr0[16] rkey=B.mr0 compare=3 swap=4 swap_add=4",
    "ATOMIC_FETCH_AND_ADD": "FETCH_ADD va=B.mr0[16] add=3 compare=0",
}


@pytest.mark.parametrize("opcode", LINES)
def test_fields_of_each_header(opcode: str) -> None:
    post = (
        f"  - post_send A.qp0 opcode={opcode} sg=A.mr0[0:8] remote=B.mr0[16] compare_add=3 swap=4\n"
    )
    line = LINES[opcode].replace(" swap_add=4", "")
    assert failure_text(f"{PAIR}{post}{WIRE}A->B {line}\n      - skip\n") == ""
    wrong = line.replace("[16]", "[17]")
    assert "wire line 1" in failure_text(f"{PAIR}{post}{WIRE}A->B {wrong}\n      - skip\n")


@pytest.mark.parametrize(
    ("second", "wrong"),
    [
        ("A->B RDMA_WRITE_ONLY psn=0 copied", ""),
        ("A->B RDMA_WRITE_ONLY psn=0", "wire line 2"),
        ("A->B RDMA_WRITE_ONLY psn=0 copied marked", "wire line 2"),
    ],
)
def test_a_copy_is_a_line_of_its_own(second: str, wrong: str) -> None:
    post = "  - fault: duplicate A->B\n"
    post += "  - post_send A.qp0 opcode=RDMA_WRITE sg=A.mr0[0:8] remote=B.mr0[16]\n"
    answer = failure_text(
        f"{PAIR}{post}{WIRE}A->B RDMA_WRITE_ONLY\n      - {second}\n      - skip\n"
    )
    assert wrong in answer if wrong else answer == ""


def test_a_wire_mismatch_shows_the_fault_of_the_packet() -> None:
    post = "  - fault: delay A->B 3us\n"
    post += "  - post_send A.qp0 opcode=RDMA_WRITE sg=A.mr0[0:8] remote=B.mr0[16]\n"
    answer = failure_text(f"{PAIR}{post}{WIRE}A->B RDMA_WRITE_ONLY psn=1\n      - skip\n")
    assert "A->B RDMA_WRITE_ONLY psn=0 delayed" in answer
    assert failure_text(f"{PAIR}{post}{WIRE}A->B RDMA_WRITE_ONLY delayed\n      - skip\n") == ""


def test_the_flags_of_the_packet_that_differs_are_numbers() -> None:
    post = "  - post_send A.qp0 opcode=RDMA_WRITE sg=A.mr0[0:8] remote=B.mr0[16]\n"
    answer = failure_text(f"{PAIR}{post}{WIRE}A->B RDMA_WRITE_ONLY psn=1 ack_req=1\n      - skip\n")
    assert "A->B RDMA_WRITE_ONLY psn=0 ack_req=1" in answer


def test_every_key_can_be_compared() -> None:
    post = "  - post_send A.qp0 opcode=RDMA_WRITE sg=A.mr0[0:8] remote=B.mr0[16]\n"
    for key in KEYS:
        value = "A.qp0" if key in ("qp", "dest_qp") else "1"
        text = failure_text(f"{PAIR}{post}{WIRE}A->B RDMA_WRITE_ONLY {key}={value}\n      - skip\n")
        assert "ERROR" not in text, key


def test_a_frame_is_expected_by_what_it_carries() -> None:
    line = parsed("A->B FRAME len=154 seq=1000 src_port=1234 dst_port=80 ethertype=0x800 dropped")
    assert (line.opcode, line.fate) == ("FRAME", Fate.DROPPED)
    assert [(f.fact, f.value) for f in line.fields] == [
        ("length", 154), ("seq", 1000), ("src_port", 1234), ("dst_port", 80), ("ethertype", 0x800),
    ]  # fmt: skip


# --------------------------------------------------------------------------- writing a line
@pytest.mark.parametrize("topic", OF_EACH_KIND)
def test_the_line_of_a_packet_fits_it(topic: str) -> None:
    packets = 0
    for path in sorted((SCENARIOS / topic).glob("*.rdmalab.yaml"))[:6]:
        runner = Runner(load(str(path), VOCABULARY), open_session)
        runner.run()
        packets += _fitting(runner)
    assert packets > 5


def _fitting(runner: Runner) -> int:
    world, names = runner.session.world, runner.session.names
    records = world.trace.records
    sent = [n for n, record in enumerate(records) if kind_of(record) is Kind.PACKET_SENT][:200]
    packets = seen(ladder.packet_rows(world, names, sent), records)
    for packet in packets:
        line = parse_wire(line_of(packet))
        values = resolve([line], runner._locate, partial(with_key, world))
        assert Comparison([line], [packet], values).bad is None, line.text
    return len(packets)


def test_the_line_of_a_packet_has_all_its_fields() -> None:
    lab = lab_of(
        "post_send A.qp0 opcode=ATOMIC_CMP_AND_SWP sg=A.mr0[0:8] remote=B.mr0 compare_add=5 swap=6",
        "run",
    )
    world = lab.session.world
    records = world.trace.records
    sent = [n for n, record in enumerate(records) if kind_of(record) is Kind.PACKET_SENT]
    lines = [line_of(p) for p in seen(ladder.packet_rows(world, lab.session.names, sent), records)]
    rkey = world.find(lab.session.names.thing_of["B.mr0"], MemoryRegion).rkey
    assert lines[0] == (
        "A->B COMPARE_SWAP dest_qp=B.qp0 psn=0 ack_req=1 "
        f"va=0x20000000 rkey={rkey:#x} compare=5 swap_add=6"
    )
    assert lines[1].startswith("B->A ATOMIC_ACKNOWLEDGE dest_qp=A.qp0 psn=0 ")
