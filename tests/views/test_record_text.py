"""Records as text: a sentence for each meaning, the object that a record is about."""

from rdmalab.lab import Lab
from rdmalab.spec.records import KINDS, MEANINGS, Kind, kind_of
from rdmalab.spec.work import WROpcode
from rdmalab.views import record_text
from tests.labs import well
from tests.raw import raw_pair, tcp_frame
from tests.views.looking import names_of


def test_every_meaning_has_a_text() -> None:
    assert {MEANINGS[part] for row in KINDS.values() for part in (row.a, row.b)} <= set(
        record_text.SAYINGS
    )


def test_sentence_of_a_raw_frame_without_a_flow_rule() -> None:
    pair = raw_pair()
    pair.a.poke(0, tcp_frame())
    pair.a.issue(WROpcode.SEND, 54)
    pair.run()
    (number,) = (
        n for n, r in enumerate(pair.world.trace.records) if kind_of(r) is Kind.PACKET_DROPPED
    )
    record, names = pair.world.trace.records[number], names_of(pair)
    assert record_text.subject(names, record) == "B"
    assert record_text.sentence(pair.world, names, record) == (
        "dropped TCP 10.0.0.1:1234 > 10.0.0.2:80 S seq=0 len=0: no flow rule here matches this "
        "frame"
    )


def test_slots_and_requests_are_counted_in_words() -> None:
    lab = Lab()
    write = "post_send A.qp0 opcode=RDMA_WRITE sg=A.mr0[0:5] remote=B.mr0[0]"
    for line in ("use rc_pair", f"{write} flags=SIGNALED", "run", write, write,
                 "modify_qp A.qp0 state=RESET"):  # fmt: skip
        well(lab, line)
    world, names = lab.session.world, lab.session.names
    assert [
        record_text.sentence(world, names, record)
        for record in world.trace.records
        if kind_of(record) in (Kind.SLOTS_FREED, Kind.QUEUE_DISCARDED)
    ] == ["freed 1 slot of its send queue", "discarded 2 work requests of its send queue"]
