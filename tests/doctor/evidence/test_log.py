"""The log by kind, also of a session whose oldest part is only recalled."""

import pytest

from rdmalab.command import Noun, Thing
from rdmalab.doctor.evidence import log as log_room
from rdmalab.doctor.evidence.log import Log, work_of
from rdmalab.lab import Lab
from rdmalab.session import history
from rdmalab.spec.records import Kind, event_of, kind_of
from tests.labs import RECV, SEND, lab_of, refusal


def test_records_of_a_kind_are_those_of_one_thing_in_their_order() -> None:
    lab = lab_of(RECV, SEND, "run", "use rc_pair", "post_recv A.qp1 sg=A.mr1[0:64]")
    log = Log(lab.session)
    b, a1 = lab.session.names.find("B.qp0"), lab.session.names.find("A.qp1")
    assert b is not None
    assert a1 is not None
    assert [r[6].wr.wr_id for r in log.about(Kind.RECV_POSTED, b)] == [2]
    assert len(log.about(Kind.RECV_POSTED, a1)) == 1
    assert len(log.of(Kind.RECV_POSTED)) == 2
    assert log.begins == 0


def test_refused_call_has_rule_and_arguments() -> None:
    lab = lab_of()
    refusal(lab, "modify_qp B.qp0 state=INIT pkey_index=0 port_num=1 qp_access_flags=0")
    (call,) = Log(lab.session).refused()
    assert (call.verb, call.refusal, call.thing) == ("modify_qp", "transition", ("B", 17))
    assert call.invocation is not None
    assert call.invocation.arguments["attr"]["port_num"] == 1
    assert call.program == ""


def test_calls_have_errno_and_rule() -> None:
    lab = lab_of("dereg_mr A.mr0")
    refusal(lab, "dealloc_pd A.pd0")
    calls = Log(lab.session).calls("dealloc_pd", "A")
    assert [(c.errno != 0, c.refusal) for c in calls] == [(True, "in-use")]
    assert [c.refusal for c in Log(lab.session).calls("dereg_mr")] == [""]


def test_a_line_of_a_program_is_a_call_of_that_program() -> None:
    lab = lab_of("program B.rx lines={post_recv B.qp0 wr_id=9 sg=B.mr0[0:64]}", "run")
    (call,) = Log(lab.session).calls("post_recv")
    assert call.program == "B.rx"
    assert call.invocation is not None
    assert call.invocation.name == "post_recv"


def test_rare_records_from_the_beginning(monkeypatch: object) -> None:
    for name, value in (("EVENTS_APART", 5), ("RECENT", 4), ("OLD", 2), ("HOT", 2), ("TELLING", 9)):
        monkeypatch.setattr(history, name, value)  # type: ignore[attr-defined]
    monkeypatch.setattr(log_room, "ENOUGH", 20)  # type: ignore[attr-defined]
    lab = Lab()
    lab.do("use rc_pair")
    for _ in range(20):
        lab.do(RECV)
        lab.do(SEND)
        lab.do("run")
        lab.do("poll_cq A.cq0")
        lab.do("poll_cq B.cq0")
    log, trace = Log(lab.session), lab.session.world.trace
    assert trace.first > 0
    thing = Thing(Noun.QP, "A", 17)
    states = [r[7].name for r in log.about(Kind.STATE_CHANGED, thing)]
    assert states == ["INIT", "RTR", "RTS"]
    assert log.of(Kind.CREATED) == sorted(log.of(Kind.CREATED), key=event_of)
    assert log.begins > 0
    assert all(r[0] >= log.begins for r in log.of(Kind.SEND_POSTED))


def test_a_log_continues_an_earlier_log() -> None:
    lab = lab_of(RECV, SEND, "run", "poll_cq A.cq0")
    early = Log(lab.session)
    thing = lab.session.names.find("A.qp0")
    assert thing is not None
    assert len(early.about(Kind.SEND_POSTED, thing)) == 1
    for line in (RECV, SEND, "run", "use rc_pair", "run"):
        lab.do(line)
    late, whole = Log(lab.session, early), Log(lab.session)
    for kind in Kind:
        assert late.of(kind) == whole.of(kind)
        assert late.about(kind, thing) == whole.about(kind, thing)
        assert late.of(kind, "B") == whole.of(kind, "B")
        assert late.since(20, kind) == whole.since(20, kind)
    for record in whole.of(Kind.CQE_ADDED):
        work = work_of(record[4], record[6])
        assert late.completion(Kind.CQE_ADDED, work) == record
        assert late.completion(Kind.CQE_POLLED, work) == whole.completion(Kind.CQE_POLLED, work)


def test_in_the_past_as_much_is_read_as_in_the_present(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("EVENTS_APART", 5), ("RECENT", 4), ("OLD", 2), ("HOT", 2), ("TELLING", 9)):
        monkeypatch.setattr(history, name, value)
    lab = lab_of(*[RECV, SEND, "run", "poll_cq A.cq0", "poll_cq B.cq0"] * 8)
    past = lab.session.history
    place = past.place_after(lab.session.world.event)
    lab.do("use rc_pair")
    past.seek(place)
    assert lab.session.world.trace.first > 0
    log = Log(lab.session)
    assert log.begins == 0
    assert [r[:4] for r in log._records] == [r[:4] for r in lab.session.world.trace.records]


def test_log_of_the_newest_records_only() -> None:
    lab = lab_of(RECV, SEND, "run", RECV, SEND, "run")
    whole, brief = Log(lab.session), Log(lab.session, newest=10)
    assert len(whole.of(Kind.SEND_POSTED)) == 2
    newest = whole.trace.records[-10:]
    assert brief.of(Kind.CQE_ADDED) == [r for r in newest if kind_of(r) is Kind.CQE_ADDED]
    assert brief.count == whole.count


def test_the_newest_record_of_a_request_is_found_by_its_serial() -> None:
    lab = lab_of(RECV, SEND, "run", RECV, SEND, "run")
    log, thing = Log(lab.session), lab.session.names.find("A.qp0")
    assert thing is not None
    posts = log.about(Kind.SEND_POSTED, thing)
    assert [log.newest_of(Kind.SEND_POSTED, thing, serial) for serial in (0, 1, 2)] == [
        *posts,
        None,
    ]
    assert log.event_of(Kind.SEND_POSTED, thing, 1) == event_of(posts[1])
    assert log.event_of(Kind.SEND_POSTED, thing, 2) is None
