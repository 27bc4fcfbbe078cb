"""The story: every kind of record can be said, and an event is one sentence."""

from rdmalab.hca.wr import Cqe, RecvWqe, RecvWR, SendWqe, SendWR
from rdmalab.lab import Lab
from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.completions import Arm
from rdmalab.spec.limits import LinkLayer, PortState
from rdmalab.spec.records import KINDS, MEANINGS, Kind
from rdmalab.spec.states import Attr, MigState, QPState
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import SendFlags, WCOpcode, WROpcode
from rdmalab.views import story
from rdmalab.world.faults import Drop, Match
from rdmalab.world.transit import Injection
from tests.each import each
from tests.pairs import Pair
from tests.views.looking import names_of

_SEND = SendWqe(0, SendWR(WROpcode.SEND, 7), None, None, 2, [], 64, None, True, 0, 0)
_RECV = RecvWqe(0, RecvWR(2), [], 4096)
_CQE = Cqe(7, WCStatus.SUCCESS, WCOpcode.SEND, 0, 17, 0, True)

# One value of each meaning that a and b have.
VALUES = {"index": 1, "entry": 0, "pkey": 0x8001, "frame": bytes(60),
    "": None, "verb": "post_send", "errno": 12, "noun": "qp", "state": QPState.RTS, "rule": "limit",
    "attr_mask": int(Attr.STATE | Attr.TIMEOUT), "send_wqe": _SEND, "recv_wqe": _RECV,
    "status": WCStatus.SUCCESS, "queue": "sq", "count": 3, "slots": 3, "requests": 3,
    "reason": "no-receive", "address": 64, "length": 8, "cqe": _CQE, "psn": 5,
    "at_ns": 650_230, "event": AsyncEvent.CQ_ERR,
    "link_layer": LinkLayer.INFINIBAND, "mig_state": MigState.ARMED,
    "port_state": PortState.DOWN, "setting": "latency_ns", "value": 2_000,
    "gid": 0xFFFF_E000_0009,
    "srq_field": "srq_limit", "number": 7,
    "arm": Arm.ANY, "channel": 1, "context": 7,
    "send_wr": _SEND.wr, "wr_id": 7, "send_flags": 2, "complaint": "too long", "ending": "dropped",
    "rkey": 0x8000151, "rereg": 3, "line": "poll_cq A.cq0", "wait_ns": 3_000,
    "injection": Injection("B", b"\xff\x02"), "why_not": "there is no mr any more",
    "fault": Drop(1, Match(source="A", target="B")),
}  # fmt: skip


@each("kind", Kind)
def test_every_kind_of_record_has_a_sentence(kind: Kind) -> None:
    pair = Pair()
    values = {**VALUES, "packet": pair.b.incoming("SEND_ONLY", 3, bytes(64))}
    pair.world.begin_event()
    row = KINDS[kind]
    pair.world.trace.record(kind, "A", 1, values[MEANINGS[row.a]], values[MEANINGS[row.b]])
    (answer,) = story.record_rows(pair.world, names_of(pair), pair.world.event)
    assert answer.text
    assert "{" not in answer.text
    assert "None" not in answer.text
    assert answer.sentence in story.event_row(pair.world, names_of(pair), pair.world.event).text


def sentences(pair: Pair, first: int) -> list[str]:
    rows = story.event_rows(pair.world, names_of(pair), first, pair.world.event)
    return [row.text for row in rows]


def test_the_story_of_a_send_without_a_receive() -> None:
    pair = Pair(rnr_retry=0, min_rnr_timer=12)
    first = pair.world.event + 1
    pair.a.issue(WROpcode.SEND, 64, wr_id=7)
    pair.run()
    assert sentences(pair, first) == [
        "A.qp0 posted wr7 SEND 64 B",
        "A.qp0 sent SEND_ONLY psn=0 64 B to B",
        "B.qp0 received SEND_ONLY psn=0 64 B from A, refused it: no receive WQE is posted",
        "B.qp0 sent RNR_NAK psn=0 timer=12 (640 us) to A",
        "A.qp0 received RNR_NAK psn=0 timer=12 (640 us) from B; A.cq0 added wr7 RNR_RETRY_EXC_ERR; "
        "A.qp0 went RTS → ERR",
    ]


def test_sentences_have_names_of_memory_and_cqs() -> None:
    pair = Pair()
    pair.b.recv(64, wr_id=2, at=128)
    pair.a.issue(WROpcode.SEND, 64, flags=SendFlags.SIGNALED)
    pair.run()
    text = " ".join(sentences(pair, 0))
    assert "wrote 64 bytes at B.mr0[128]; B.cq1 added wr2 RECV SUCCESS" in text


def test_sentences_of_a_refused_and_a_successful_call() -> None:
    pair = Pair()
    pair.a.issue(WROpcode.SEND, 8, wr_id=7)
    pair.world.trace.record(Kind.CALLED, "A", 0, "post_send", 0)
    assert sentences(pair, pair.world.event) == ["A.qp0 posted wr7 SEND 8 B"]
    pair.world.begin_event()
    pair.world.trace.record(Kind.CALLED, "A", 0, "post_send", 12)
    assert sentences(pair, pair.world.event) == ["A called post_send: ENOMEM"]


def test_row_of_an_event_without_records() -> None:
    pair = Pair()
    pair.world.begin_event()
    row = story.event_row(pair.world, names_of(pair), pair.world.event)
    assert (row.text, row.rows, row.at_ns) == ("nothing changed", [], None)


def test_records_are_counted_within_their_event() -> None:
    pair = Pair()
    rows = story.last_rows(pair.world, names_of(pair), 10**6)
    assert len(rows) == len(pair.world.trace.records)
    for row in rows:
        again = story.record_rows(pair.world, names_of(pair), row.event)
        assert again[row.position - 1] == row
    assert story.last_rows(pair.world, names_of(pair), 3) == rows[-3:]


def test_polls_in_vain_have_one_row_and_what_comes_between_has_its_own() -> None:
    lab = Lab()
    lab.do("use rc_pair")
    post = "post_send A.qp0 wr_id=7 opcode=SEND sg=A.mr0[0:8] flags=SIGNALED"
    lab.start("A.tx", [post, "poll A.cq0"])
    lab.start("B.rx", ["post_recv B.qp0 sg=B.mr0[0:64]", "poll B.cq0"])
    world, names = lab.session.world, lab.session.names
    first = world.event + 1
    lab.do("run")
    events = range(first, world.event + 1)
    rows = story.opening_rows(world, names, events, 20)
    texts = [row.text for row in rows]
    polls = "A.tx line 2: poll A.cq0 ×11; B.rx line 2: poll B.cq0 ×11, to ev 40"
    assert texts[3] == polls
    assert any("B.qp0 received SEND_ONLY psn=0" in text for text in texts)
    assert "A.qp0 freed 1 slot of its send queue" in texts[-1]  # the poll that found one
    assert rows[-1].last == world.event
    assert [row.event for row in rows[1:]] == [row.last + 1 for row in rows[:-1]]
    assert story.opening_rows(world, names, events, 4) == rows[:4]


def test_a_poll_that_comes_once_has_no_number() -> None:
    lab = Lab()
    lab.do("use rc_pair")
    lab.start("A.tx", ["poll A.cq0"])
    world, names = lab.session.world, lab.session.names
    first = world.event + 1
    lab.do("step 1")
    (row,) = story.opening_rows(world, names, range(first, world.event + 1), 5)
    assert row.text == "A.tx line 1: poll A.cq0"
