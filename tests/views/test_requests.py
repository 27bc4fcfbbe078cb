"""Each packet is told with the work request that it carries out or answers."""

from pathlib import Path

from rdmalab.hca.psn import MASK
from rdmalab.hca.qp import Responding
from rdmalab.lab import Lab, open_session
from rdmalab.scenario.loader import load
from rdmalab.scenario.runner import Runner
from rdmalab.session.session import Session
from rdmalab.spec.records import Kind
from rdmalab.views.requests import request_rows
from rdmalab.vocabulary import VOCABULARY
from tests.labs import RECV, SEND, kinds, lab_of, well

LONG = "post_send A.qp0 wr_id=7 opcode=SEND sg=A.mr0[0:1200]"
LONG_RECV = "post_recv B.qp0 wr_id=1 sg=B.mr0[0:2048]"
READ = "post_send A.qp0 wr_id=8 opcode=RDMA_READ sg=A.mr0[0:1000] remote=B.mr0"


def request_lines(lab: Lab) -> list[str]:
    """One text a packet; empty where it belongs to no request."""
    world, names = lab.session.world, lab.session.names
    records = world.trace.records
    sent = [n for n, record in enumerate(records) if record[3] is Kind.PACKET_SENT]
    rows = request_rows(world, names, sent)
    assert all(rows[n].number == n for n in rows)
    assert [n for n in rows if rows[n].answers] == [
        n for n in rows if not records[n][6].opcode_row.request
    ]
    return [rows[n].text if n in rows else "" for n in sent]


def test_the_packets_of_a_message_are_counted_and_its_ack_is_none_of_them() -> None:
    lab = lab_of(LONG_RECV, LONG, "run")
    assert request_lines(lab) == [
        "A.qp0 wr7 SEND 1200 B (packet 1 of 3)",
        "A.qp0 wr7 SEND 1200 B (packet 2 of 3)",
        "A.qp0 wr7 SEND 1200 B (packet 3 of 3)",
        "A.qp0 wr7 SEND 1200 B",
    ]


def test_request_lines_mark_only_retransmissions() -> None:
    lab = lab_of(LONG_RECV, "fault drop A->B nth=2", LONG, "run")
    assert request_lines(lab) == [
        "A.qp0 wr7 SEND 1200 B (packet 1 of 3)",
        "A.qp0 wr7 SEND 1200 B (packet 2 of 3)",
        "A.qp0 wr7 SEND 1200 B (packet 3 of 3)",
        "A.qp0 wr7 SEND 1200 B",  # the NAK
        "A.qp0 wr7 SEND 1200 B (packet 2 of 3), sent again",
        "A.qp0 wr7 SEND 1200 B (packet 3 of 3), sent again",
        "A.qp0 wr7 SEND 1200 B",
    ]


def test_a_read_is_one_packet_and_its_responses_are_counted() -> None:
    lab = lab_of("fault drop B->A opcode=RDMA_READ_RESPONSE_LAST nth=1", READ, "run")
    assert request_lines(lab) == [
        "A.qp0 wr8 RDMA_READ 1000 B",
        "A.qp0 wr8 RDMA_READ 1000 B (packet 1 of 2)",
        "A.qp0 wr8 RDMA_READ 1000 B (packet 2 of 2)",
        "A.qp0 wr8 RDMA_READ 1000 B, sent again",  # for its rest
        "A.qp0 wr8 RDMA_READ 1000 B (packet 2 of 2)",
    ]


def test_a_request_without_packets_is_never_meant() -> None:
    window = (
        "reg_mr A.mr9 pd=A.pd0 length=64 access=LOCAL_WRITE|MW_BIND",
        "alloc_mw A.mw0 pd=A.pd0 type=TYPE_1",
        "bind_mw A.qp0 A.mw0 wr_id=9 bind=A.mr9[0:64] bind_access=REMOTE_READ",
    )
    lab = lab_of(*window[:2], RECV, SEND, window[2], "run")
    assert Kind.WINDOW_BOUND in kinds(lab)
    assert request_lines(lab) == ["A.qp0 wr1 SEND 64 B"] * 2


def test_after_a_reset_the_same_psn_means_the_new_request() -> None:
    lab = lab_of(RECV, SEND, "run", "reset A.qp0", "reset B.qp0", "connect A.qp0 B.qp0")
    for line in (RECV, SEND.replace("wr_id=1", "wr_id=5"), "run"):
        well(lab, line)
    assert request_lines(lab) == ["A.qp0 wr1 SEND 64 B"] * 2 + ["A.qp0 wr5 SEND 64 B"] * 2


def test_an_answer_to_nothing_belongs_to_nothing() -> None:
    """The responder waits for a PSN that the requester never used."""
    lab = lab_of()
    _responder(lab).psn = MASK - 9
    well(lab, SEND)
    well(lab, "run 5us")
    assert request_lines(lab)[:2] == ["A.qp0 wr1 SEND 64 B", ""]


def test_after_a_reset_an_old_psn_means_nothing() -> None:
    lab = lab_of(RECV, SEND, "run", "reset A.qp0", "reset B.qp0", "connect A.qp0 B.qp0 psn=100")
    _responder(lab).psn = 0
    well(lab, SEND)
    well(lab, "run 5us")
    assert request_lines(lab)[-2:] == ["A.qp0 wr1 SEND 64 B", ""]


def test_when_the_circle_has_come_round_the_newest_is_meant() -> None:
    lab = lab_of(RECV, SEND, "run", RECV)
    (qp,) = lab.session.world.nodes["A"].qps.items.values()
    qp.sq.next_psn = qp.req.psn = qp.req.sent = qp.comp.psn = 0
    _responder(lab).psn = 0
    well(lab, SEND.replace("wr_id=1", "wr_id=5"))
    well(lab, "run")
    assert request_lines(lab) == ["A.qp0 wr1 SEND 64 B"] * 2 + ["A.qp0 wr5 SEND 64 B"] * 2


def test_frames_are_counted_one_by_one() -> None:
    frame = "post_send A.qp0 wr_id={} opcode=SEND sg=A.mr0[0:{}]"
    lab = lab_of(frame.format(1, 60), frame.format(2, 70), "run", pair="use raw_pair")
    world, names = lab.session.world, lab.session.names
    rows = request_rows(world, names, range(len(world.trace.records))).values()
    assert [row.text for row in rows] == ["A.qp0 wr1 SEND 60 B", "A.qp0 wr2 SEND 70 B"]


def test_the_pieces_of_a_tso_are_the_parts_of_one_request() -> None:
    session = played("raw/tso")
    rows = request_rows(session.world, session.names, range(len(session.world.trace.records)))
    pieces = [(row.part, row.parts) for row in rows.values() if row.wqe.header is not None]
    assert pieces[:3] == [(1, 3), (2, 3), (3, 3)]
    assert not any(row.again for row in rows.values())


def _responder(lab: Lab) -> Responding:
    (qp,) = lab.session.world.nodes["B"].qps.items.values()
    return qp.resp


def played(name: str) -> Session:
    path = Path(__file__).parents[2] / "scenarios" / f"{name}.rdmalab.yaml"
    runner = Runner(load(str(path), VOCABULARY), open_session)
    runner.run()
    return runner.session
