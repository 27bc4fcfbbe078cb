"""Sightings: what is met of a word, newest first, without reading a long past."""

from collections.abc import Iterator

import pytest

from rdmalab.command import Noun, Thing
from rdmalab.lab import Lab
from rdmalab.spec.access import Access
from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.limits import PortState
from rdmalab.spec.records import Kind
from rdmalab.spec.refusals import Syndrome
from rdmalab.spec.states import QPState, QPType
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import SendFlags, WROpcode
from rdmalab.views import occurrences
from rdmalab.views.occurrences import OccurrenceRow, OccurrenceSearch


def search_of(lab: Lab) -> OccurrenceSearch:
    return OccurrenceSearch(lab.session.world, lab.session.names)


def texts(rows: Iterator[OccurrenceRow]) -> list[str]:
    return [row.text for row in rows]


@pytest.fixture
def rnr() -> Lab:
    """A SEND that meets no receive, once more, and dies."""
    lab = Lab()
    lab.do("use rc_pair rnr_retry=1")
    lab.do("post_send A.qp0 wr_id=7 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED")
    lab.run()
    return lab


def test_a_status_is_met_on_its_completion(rnr: Lab) -> None:
    (row,) = occurrences.of_status(search_of(rnr), WCStatus.RNR_RETRY_EXC_ERR)
    assert row.text == "A.qp0 wr7 completed with it on A.cq0 (ev 23)"
    assert row.wr_id == 7
    assert not row.answers
    assert row.thing == rnr.session.names.find("A.qp0")
    assert not texts(occurrences.of_status(search_of(rnr), WCStatus.RETRY_EXC_ERR))


def test_a_receive_is_the_one_that_answers() -> None:
    lab = Lab()
    lab.do("use rc_pair")
    lab.do("post_recv B.qp0 wr_id=2 sg=B.mr0[0:8]")
    lab.do("post_send A.qp0 wr_id=7 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED")
    lab.run()
    (row,) = occurrences.of_status(search_of(lab), WCStatus.LOC_LEN_ERR)
    assert row.text.startswith("B.qp0 receive wr2 completed with it on B.cq0")
    assert row.answers


def test_who_is_in_a_state_and_who_came_there(rnr: Lab) -> None:
    found = search_of(rnr)
    assert texts(occurrences.of_state(found, QPState.ERR)) == [
        "A.qp0 in ERR", "A.qp0 went RTS → ERR (ev 23)",
    ]  # fmt: skip
    assert texts(occurrences.of_state(found, QPState.RTS))[0] == "B.qp0 in RTS"
    move = (QPState.RTS, QPState.ERR)
    assert texts(occurrences.of_move(found, move)) == ["A.qp0 went RTS → ERR (ev 23)"]
    assert texts(occurrences.of_type(found, QPType.RC)) == ["A.qp0, B.qp0 of type RC"]


def test_an_attribute_has_its_values_and_the_last_change(rnr: Lab) -> None:
    rows = texts(occurrences.of_attribute(search_of(rnr), "rnr_retry"))
    assert rows[0] == "A.qp0, B.qp0 rnr_retry=1"
    assert rows[1].endswith("rnr_retry (ev 13)")
    rnr.do("reset B.qp0")
    rows = texts(occurrences.of_attribute(search_of(rnr), "rnr_retry"))
    assert rows[:2] == ["A.qp0 rnr_retry=1", "B.qp0 rnr_retry=0"]
    assert texts(occurrences.of_attribute(search_of(rnr), "path_mtu"))[0].startswith(
        "A.qp0 path_mtu=512"
    )


def test_the_wire_and_refusals(rnr: Lab) -> None:
    found = search_of(rnr)
    naks = list(occurrences.of_syndrome(found, Syndrome.RNR_NAK))
    assert len(naks) == 2
    assert all(row.answers for row in naks)
    assert naks[0].text.startswith("B.qp0 sent RNR_NAK psn=0")
    assert len(texts(occurrences.of_packet(found, "SEND_ONLY"))) == 2
    assert len(texts(occurrences.of_refusal(found, "no-receive"))) == 2
    assert not texts(occurrences.of_drop(found, "not-ready"))


def test_drops_are_counted() -> None:
    lab = Lab()
    lab.do("use rc_pair")
    lab.do("modify_qp B.qp0 state=ERR")
    lab.do("post_send A.qp0 wr_id=7 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED")
    lab.run()
    rows = texts(occurrences.of_drop(search_of(lab), "not-ready"))
    assert rows[0] == "B dropped 8 packets for this reason"
    assert "dropped SEND_ONLY" in rows[1]


def test_work_flags_and_rights(rnr: Lab) -> None:
    found = search_of(rnr)
    assert texts(occurrences.of_opcode(found, WROpcode.SEND)) == [
        "A.qp0 posted wr7 SEND 64 B (ev 14)"
    ]
    assert texts(occurrences.of_flag(found, SendFlags.SIGNALED))
    assert not texts(occurrences.of_flag(found, SendFlags.FENCE))
    assert texts(occurrences.of_right(found, Access.REMOTE_WRITE)) == [
        "A.mr0, B.mr0 with REMOTE_WRITE", "A.qp0, B.qp0 with REMOTE_WRITE in qp_access_flags",
    ]  # fmt: skip
    assert texts(occurrences.of_right(found, Access.MW_BIND)) == ["A.mr0, B.mr0 without MW_BIND"]


def test_calls_and_errnos(rnr: Lab) -> None:
    rnr.do("modify_qp B.qp0 state=INIT")
    found = search_of(rnr)
    assert texts(occurrences.of_errno(found, 22)) == ["B called modify_qp: EINVAL (ev 24)"]
    assert texts(occurrences.of_verb(found, "modify_qp"))[0].endswith("EINVAL (ev 24)")
    assert not texts(occurrences.of_verb(found, "poll_cq"))
    (row,) = occurrences.of_rule(found, "transition")
    assert "RTS → INIT is not a legal transition" in row.text
    assert not texts(occurrences.of_rule(found, "queue-full"))


def test_events_ports_and_devices(rnr: Lab) -> None:
    rnr.do("link down")
    found = search_of(rnr)
    rows = texts(occurrences.of_event(found, AsyncEvent.PORT_ERR))
    assert rows[0] == "A has 1 not yet read: get_async_event A"
    assert len(rows) == 4
    assert texts(occurrences.of_port(found, PortState.DOWN))[0] == "the port of A and B is DOWN"
    assert texts(occurrences.of_profile(found, "strict")) == ["A and B are strict"]
    assert texts(occurrences.of_cell(found, "rounding")) == ["A and B are strict"]
    assert texts(occurrences.of_limit(found, "max_cqe"))[0].startswith("A and B: ")
    assert texts(occurrences.of_record(found, Kind.PORT_CHANGED))


def test_nodes_that_differ_have_a_row_each() -> None:
    lab = Lab({"A": "strict", "B": "rxe"})
    assert texts(occurrences.of_cell(search_of(lab), "rounding")) == ["A is strict", "B is rxe"]
    assert len(texts(occurrences.of_limit(search_of(lab), "max_qp"))) == 2


def test_many_are_not_all_named() -> None:
    lab = Lab()
    for number in range(6):
        lab.do(f"alloc_pd A.pd{number}")
        lab.do(f"reg_mr A.mr{number} pd=A.pd{number} length=64 access=LOCAL_WRITE")
    (row,) = occurrences.of_right(search_of(lab), Access.LOCAL_WRITE)
    assert row.text == "A.mr0, A.mr1, A.mr2, A.mr3 and 2 more with LOCAL_WRITE"


def test_how_the_peer_stands(rnr: Lab) -> None:
    there = Thing(Noun.QP, "B", 17)
    assert occurrences.state_text(search_of(rnr), there) == "B.qp0 is in RTS and has 0 receives"
    rnr.do("post_recv B.qp0 sg=B.mr0[0:64]")
    assert occurrences.state_text(search_of(rnr), there).endswith("has 1 receive")
    assert occurrences.state_text(search_of(rnr), Thing(Noun.QP, "B", 99)) == ""
    assert occurrences.state_text(search_of(rnr), Thing(Noun.QP, "", 17)) == ""


def test_only_so_many_records_are_looked_through(rnr: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(occurrences, "REACH", 3)
    found = search_of(rnr)
    assert not texts(occurrences.of_opcode(found, WROpcode.SEND))
    assert found.cut
    rare = search_of(rnr)  # of these all are had, however old
    assert len(texts(occurrences.of_refusal(rare, "no-receive"))) == 2
    assert not rare.cut


def test_a_completion_older_than_the_tail_is_met_on_its_queue(rnr: Lab) -> None:
    trace = rnr.session.world.trace
    rnr.do("run 1ms")
    rnr.do("link rate=10Gbps")
    trace.forget(trace.latest)
    rows = texts(occurrences.of_status(search_of(rnr), WCStatus.RNR_RETRY_EXC_ERR))
    assert rows == ["A.qp0 wr7 is still in A.cq0"]
