"""Every view there is: in an empty world it says how to begin, in a busy one it has rows."""

import pytest

from rdmalab.lab import Lab
from rdmalab.workbench.view_requests import AsyncRow, View
from rdmalab.workbench.view_rows import OF_NOUN, VIEWS
from tests.labs import BUSY, RECV, SEND, everything, lab_of, misread, well

_ANYWHERE = {"packet": "show packet", "sq": "show sq A.qp0", "rq": "show rq B.qp0"}


def view(lab: Lab, line: str) -> View:
    found = well(lab, line).value
    assert isinstance(found, View)
    return found


@pytest.fixture(scope="module")
def busy() -> Lab:
    shared = (
        "create_ah A.ah0 pd=A.pd0 to=B", "create_srq A.srq0 pd=A.pd0 max_wr=4",
        "open_xrcd A.xrcd0 oflag=O_CREAT", "create_comp_channel A.channel0", "alloc_td A.td0",
        "create_qp A.qp9 pd=A.pd0 qp_type=RAW_PACKET send_cq=A.cq0 recv_cq=A.cq0",
        "create_flow A.flow0 qp=A.qp9 dst_mac=A dst_port=80",
        "alloc_mw A.mw0 pd=A.pd0 type=TYPE_2", "program A.program0 lines={wait A.cq0.count > 99}",
    )  # fmt: skip
    return lab_of(*BUSY, *shared, "fault drop A->B nth=99", "run 3us", "link down")


@pytest.mark.parametrize("what", VIEWS)
def test_each_has_rows_in_a_busy_world_and_changes_nothing(busy: Lab, what: str) -> None:
    before = everything(busy)
    assert view(busy, _ANYWHERE.get(what, f"show {what}")).rows
    assert everything(busy) == before


@pytest.mark.parametrize("what", VIEWS)
def test_each_says_something_in_an_empty_world(what: str) -> None:
    reply = Lab().do(f"show {what}")[-1]
    if reply.error is not None:
        assert reply.error.hint
    else:
        assert reply.value.rows or reply.value.hint


@pytest.mark.parametrize("noun", OF_NOUN)
def test_every_noun_can_be_shown_by_name(busy: Lab, noun: str) -> None:
    name = "A" if noun == "node" else f"A.{noun}0"
    assert view(busy, f"show {name}").rows


def test_faults_have_their_numbers_and_what_they_did() -> None:
    assert view(lab_of(), "show faults").hint.startswith("no faults: fault drop")
    (row,) = view(lab_of("fault drop A->B nth=3"), "show faults").rows
    assert (row.number, row.text, row.met) == (1, "drop A->B nth=3", 0)


def test_the_receive_queue_of_a_queue_pair_on_a_srq_leads_to_the_srq() -> None:
    """post_recv is refused there, so it is no advice."""
    lab = Lab()
    lab.do("use srq_pair")
    assert "post_srq_recv B.srq0 sg=" in view(lab, "show rq B.qp1").hint


def test_bytes_of_a_region() -> None:
    lab = lab_of('write A.mr0[8] "hello"')
    found = view(lab, "show A.mr0[8:13]")
    assert found.title == "A.mr0[8:13]"
    assert any("hello" in repr(row) for row in found.rows)
    assert misread(lab, "show A.mr0[9000:9005]").hint == "it has bytes 0:4096"


def test_events_name_what_they_are_about() -> None:
    lab = lab_of("link down")
    rows = view(lab, "show events").rows
    assert [(row.node, row.event.name) for row in rows if isinstance(row, AsyncRow)] == [
        ("A", "PORT_ERR"),
        ("B", "PORT_ERR"),
    ]


@pytest.mark.parametrize("line", ["show wire last=0", "show journal last=-2", "show story last=-1"])
def test_how_much_is_a_count(busy: Lab, line: str) -> None:
    assert "out of range" in misread(busy, line).message


def test_the_last_few() -> None:
    lab = lab_of(RECV, SEND, "run")
    assert [row.text for row in view(lab, "show journal last=1").rows] == [SEND]
    assert len(view(lab, "show log last=3").rows) == 3
    assert len(view(lab, "show story last=2").rows) <= 2


def test_a_packet_is_found_by_its_event(busy: Lab) -> None:
    found = view(busy, "show packet")
    event = found.rows[0].event
    assert view(busy, f"show packet {event}").title == f"packet of event {event}"
    assert misread(busy, "show packet 0").message == "event 0 has no packet"
