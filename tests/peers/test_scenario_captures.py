"""All lessons and a tenth of `why`, exported as pcapng, and read by tshark and scapy."""

import re
import subprocess
from collections.abc import Callable, Iterator
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from rdmalab.export import pcapng
from rdmalab.export.pcapng import Captured, captured
from rdmalab.lab import open_session
from rdmalab.scenario.loader import load
from rdmalab.scenario.runner import Runner
from rdmalab.session.session import Session
from rdmalab.spec.opcodes import Service
from rdmalab.spec.records import A, B, Kind, Record, at_ns_of, event_of, kind_of, node_of, object_of
from rdmalab.views import fmt
from rdmalab.views.transit_effects import Origin
from rdmalab.vocabulary import VOCABULARY
from rdmalab.wire.frame import Frame
from rdmalab.wire.packet import Packet
from rdmalab.world.network import NEVER_LEFT
from tests.each import a_tenth, each
from tests.labs import RECV, SEND, lab_of
from tests.peers.tshark import BASE, EXTENDED_FIELDS, NEW_OPS, dissected, number, with_errors
from tests.tools import needs
from tests.wire.scapy_frames import scapy_icrc

if TYPE_CHECKING:
    from rdmalab.hca.wr import SendWqe

_ROOT = Path(__file__).parents[2]
_PAGES = _ROOT / "rdmalab" / "guide" / "pages"
_ALL = sorted((_ROOT / "scenarios").rglob("*.rdmalab.yaml"))
_WHY = [path for path in _ALL if path.parent.name == "why"]  # each asks `why`, which takes longest
SCENARIOS = [path for path in _ALL if path not in _WHY] + a_tenth(_WHY)

IMMEDIATE, INVALIDATED = "infiniband.immdt", "infiniband.ieth"
INTERFACE, DIRECTION, TIME = (
    "frame.interface_name",
    "frame.packet_flags_direction",
    "frame.time_epoch",
)
COMMENT, LENGTH = "frame.comment", "frame.len"
IP_SUM, TCP_SUM, UDP_SUM = "ip.checksum.status", "tcp.checksum.status", "udp.checksum.status"
TCP_PORT, UDP_PORT = "tcp.dstport", "udp.dstport"
COLUMNS = list(
    dict.fromkeys(
        [*BASE.values(), *EXTENDED_FIELDS.values(), IMMEDIATE, INVALIDATED, INTERFACE, DIRECTION,
         TIME, COMMENT, LENGTH, IP_SUM, TCP_SUM, UDP_SUM, TCP_PORT, UDP_PORT]
    )
)  # fmt: skip
CHECK_SUMS = ["-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE",
              "-o", "udp.check_checksum:TRUE"]  # fmt: skip
_ICRC = 4
_NS_PER_S = 1_000_000_000
GOOD = "1"  # what tshark calls a checksum it has made itself and found the same
OUTBOUND = 2


class Dissected(NamedTuple):
    """One frame of a scenario, as the lab has it; `session` is the whole scenario."""

    session: Session
    frame: Captured

    @property
    def packet(self) -> Packet | Frame:
        return self.frame.packet

    @property
    def record(self) -> Record:
        return self.session.world.trace.records[self.frame.number]


@pytest.fixture(scope="module")
def sessions() -> list[Session]:
    runners = [Runner(load(str(path), VOCABULARY), open_session) for path in SCENARIOS]
    for runner in runners:
        runner.run()
    return [runner.session for runner in runners if not _is_infiniband(runner.session)]


def _is_infiniband(session: Session) -> bool:
    """Of another link type, which tshark must be told of: tests/export/test_infiniband_capture."""
    return any(hca.lids for hca in session.world.nodes.values())


@pytest.fixture(scope="module")
def played(sessions: list[Session]) -> list[Dissected]:
    return [
        Dissected(session, frame)
        for session in sessions
        for frame in captured(session.world.trace.records)
    ]


@pytest.fixture(scope="module")
def file(sessions: list[Session], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A section a scenario: sections may stand one behind the other in one file."""
    path = tmp_path_factory.mktemp("captures") / "scenarios.pcapng"
    sections = [pcapng.capture(session.world, session.names).octets for session in sessions]
    path.write_bytes(b"".join(sections))
    return path


@pytest.fixture(scope="module")
def seen(file: Path) -> list[dict[str, str]]:
    return dissected(file, COLUMNS, CHECK_SUMS)


def both(
    played: list[Dissected], seen: list[dict[str, str]]
) -> Iterator[tuple[Dissected, dict[str, str]]]:
    return zip(played, seen, strict=True)


# --------------------------------------------------------------------------- the frames
def tshark_reads_what_the_lab_says(played: list[Dissected], seen: list[dict[str, str]]) -> None:
    assert sum(each.frame.corrupted for each in played) >= 1
    read = [
        (answer, fields)
        for answer, fields in both(played, seen)
        if not answer.frame.corrupted and isinstance(answer.packet, Packet)
    ]
    assert len(read) > 500
    compared: set[str] = set()
    for answer, fields in read:
        assert isinstance(answer.packet, Packet)
        compared.update(_same(answer.packet, fields))
    assert compared == {"reth", "atomiceth", "aeth", "atomicacketh", "deth", "immdt", "ieth"}


def _same(packet: Packet, fields: dict[str, str]) -> Iterator[str]:
    """The extended headers in which tshark reads what the lab says."""
    for ours, theirs in BASE.items():
        assert number(fields[theirs]) == getattr(packet, ours), (packet, ours)
    if packet.opcode_row.op in NEW_OPS or packet.opcode_row.service is Service.XRC:
        return  # tshark 4.0 reads the BTH of these and no further
    for (header, ours), theirs in EXTENDED_FIELDS.items():
        if (value := getattr(packet, header)) is not None:
            assert number(fields[theirs]) == getattr(value, ours), (packet, header, ours)
            yield header
    if packet.immdt is not None:
        assert int(fields[IMMEDIATE], 16) == packet.immdt.imm_data, packet
        yield "immdt"
    if packet.ieth is not None:
        assert int(fields[INVALIDATED], 16) == packet.ieth.rkey, packet
        yield "ieth"


def tshark_finds_no_error_in_what_the_lab_did_not_harm(played: list[Dissected], file: Path) -> None:
    """What was injected may be anything."""
    odd = [played[n].frame for n in with_errors(file)]
    assert [f for f in odd if not f.corrupted and f.origin is not Origin.INJECTED] == []


@needs("tshark")
def test_tshark_finds_the_error_that_the_lab_has_made(tmp_path: Path) -> None:
    """A bit of the length in the IP header flips: more bytes than there are."""
    lab = lab_of(RECV, "fault corrupt A->B nth=1 byte=17", SEND, "run")
    path = tmp_path / "harmed.pcapng"
    path.write_bytes(pcapng.capture(lab.session.world, lab.session.names).octets)
    harmed = [frame.corrupted for frame in captured(lab.session.world.trace.records)]
    assert with_errors(path) == [n for n, is_harmed in enumerate(harmed) if is_harmed] == [0]


# --------------------------------------------------------------------------- what stands beside
def each_frame_is_on_its_interface_at_its_time(
    played: list[Dissected], seen: list[dict[str, str]]
) -> None:
    for answer, fields in both(played, seen):
        assert int(fields[DIRECTION], 0) == OUTBOUND
        seconds, _, fraction = fields[TIME].partition(".")
        assert len(fraction) == len(str(_NS_PER_S)) - 1
        assert int(seconds) * _NS_PER_S + int(fraction) == at_ns_of(answer.record)
        assert int(fields[LENGTH]) == len(answer.frame.octets)
        # tshark 4.0 takes interface n of all sections for that of the first which has so many
        if len(answer.session.world.nodes) == 2:
            assert fields[INTERFACE] == node_of(answer.record)


def three_nodes_are_three_interfaces(sessions: list[Session], tmp_path: Path) -> None:
    session = next(session for session in sessions if len(session.world.nodes) == 3)
    path = tmp_path / "three.pcapng"
    path.write_bytes(pcapng.capture(session.world, session.names).octets)
    senders = [frame.node for frame in captured(session.world.trace.records)]
    assert [row[INTERFACE] for row in dissected(path, [INTERFACE])] == senders
    assert set(senders) == {"A", "B", "C"}


def each_comment_names_event_queue_pair_and_request(
    played: list[Dissected], seen: list[dict[str, str]]
) -> None:
    requests = 0
    for answer, fields in both(played, seen):
        comment, record, session = fields[COMMENT], answer.record, answer.session
        name = fmt.qp_name(session.names, node_of(record), object_of(record))
        if answer.frame.origin is Origin.INJECTED:
            name = f"{node_of(record)} has not sent"
            assert " · injected on the cable · " in comment
        assert (" · copied on the cable · " in comment) is (answer.frame.origin is Origin.COPIED)
        assert comment.startswith(f"event {event_of(record)} · {name} "), comment
        if (wqe := _started_with(answer)) is not None:
            requests += 1
            assert f"{name} {fmt.send_wqe(wqe)}" in comment
            assert "(packet 1 of " in comment or "(packet " not in comment
            assert "sent again" not in comment
        assert ("corrupted on the cable" in comment) is answer.frame.corrupted
        assert ("lost on the cable" in comment) is _is_lost(answer), comment
    assert requests > 250


def _started_with(answer: Dissected) -> "SendWqe | None":
    """What its queue pair began in the very event in which the packet left."""
    records = answer.session.world.trace.records
    event, who = event_of(answer.record), (node_of(answer.record), object_of(answer.record))
    for record in records[answer.frame.number :: -1]:
        if event_of(record) != event:
            return None
        if kind_of(record) is Kind.WQE_STARTED:
            assert (node_of(record), object_of(record)) == who
            wqe: SendWqe = record[A]
            return wqe
    return None


def _is_lost(answer: Dissected) -> bool:
    following = answer.session.world.trace.records[answer.frame.number + 1 :][:1]
    return any(kind_of(record) is Kind.PACKET_LOST for record in following)


def only_what_never_left_is_missing(sessions: list[Session], played: list[Dissected]) -> None:
    for session in sessions:
        records = session.world.trace.records
        there = {each.frame.number for each in played if each.session is session}
        for sent, record in enumerate(records):
            if kind_of(record) is Kind.PACKET_SENT and sent not in there:
                lost = records[sent + 1]
                assert kind_of(lost) is Kind.PACKET_LOST
                assert lost[B] in NEVER_LEFT


# --------------------------------------------------------------------------- checksums
def the_icrc_is_wrong_exactly_where_the_lab_harmed_a_frame(played: list[Dissected]) -> None:
    packets = [each.frame for each in played if isinstance(each.packet, Packet)]
    sample = [f for f in packets if f.corrupted] + [f for f in packets if not f.corrupted][::7]
    for frame in sample:
        right = scapy_icrc(frame.octets) == frame.octets[-_ICRC:]
        assert right is not frame.corrupted, frame.packet


def of_other_frames_tshark_says_the_same_and_finds_no_wrong_checksum(
    played: list[Dissected], seen: list[dict[str, str]]
) -> None:
    asked = 0
    for answer, fields in both(played, seen):
        frame = answer.packet
        if answer.frame.corrupted or not isinstance(frame, Frame) or not _sums_are_made(frame):
            continue
        asked += 1
        transport = frame.inside.transport
        assert transport is not None
        assert (fields[TCP_PORT] or fields[UDP_PORT]) == str(transport.dport)
        assert fields[IP_SUM] == GOOD
        assert GOOD in (fields[TCP_SUM], fields[UDP_SUM])
    assert asked >= 4


def _sums_are_made(frame: Frame) -> bool:
    """Not those of the scenario that sends one without."""
    transport = frame.inside.transport
    return transport is not None and transport.checksum != 0


@needs("tshark")
def test_the_option_of_the_manual_reads_a_short_send_right(tmp_path: Path) -> None:
    lab = lab_of(RECV, "post_send A.qp0 opcode=SEND sg=A.mr0[0:5]")
    lab.run()
    path = tmp_path / "run.pcapng"
    path.write_bytes(pcapng.capture(lab.session.world, lab.session.names).octets)
    written = (_PAGES / "python.md").read_text(encoding="utf-8")
    (option,) = re.findall(r"`tshark (.*) -r run\.pcapng`", written)
    plain, switched = (
        subprocess.run(["tshark", *words, "-r", str(path)], capture_output=True, encoding="utf-8",
                       check=True).stdout
        for words in (list[str](), option.split())
    )  # fmt: skip
    assert "Malformed Packet" in plain
    assert "RC Send Only" in switched
    assert "Malformed" not in switched


def every_kind_of_packet_is_there(played: list[Dissected]) -> None:
    packets = [each.packet for each in played if isinstance(each.packet, Packet)]
    labels = {packet.opcode_row.label for packet in packets}
    assert labels >= {
        "SEND_FIRST", "SEND_MIDDLE", "SEND_LAST", "SEND_ONLY", "SEND_ONLY_WITH_IMMEDIATE",
        "RDMA_WRITE_ONLY", "RDMA_WRITE_ONLY_WITH_IMMEDIATE", "RDMA_READ_REQUEST",
        "RDMA_READ_RESPONSE_FIRST", "RDMA_READ_RESPONSE_LAST", "ACKNOWLEDGE",
        "ATOMIC_ACKNOWLEDGE", "COMPARE_SWAP", "FETCH_ADD", "SEND_ONLY_WITH_INVALIDATE", "FLUSH",
        "ATOMIC_WRITE",
    }  # fmt: skip


CHECKS = (
    tshark_reads_what_the_lab_says,
    tshark_finds_no_error_in_what_the_lab_did_not_harm,
    each_frame_is_on_its_interface_at_its_time,
    three_nodes_are_three_interfaces,
    each_comment_names_event_queue_pair_and_request,
    only_what_never_left_is_missing,
    the_icrc_is_wrong_exactly_where_the_lab_harmed_a_frame,
    of_other_frames_tshark_says_the_same_and_finds_no_wrong_checksum,
    every_kind_of_packet_is_there,
)


@needs("tshark")
@each("check", CHECKS)
def test_the_captures_of_all_scenarios(
    check: Callable[..., None], request: pytest.FixtureRequest
) -> None:
    """One item, so that one worker of pytest-xdist plays all scenarios."""
    check(*map(request.getfixturevalue, signature(check).parameters))
