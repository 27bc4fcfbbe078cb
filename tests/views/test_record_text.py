"""Records as text: a sentence for each meaning, the object that a record is about."""

from rdmalab.spec.records import KINDS, MEANINGS, Kind, kind_of
from rdmalab.spec.work import WROpcode
from rdmalab.views import record_text
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
