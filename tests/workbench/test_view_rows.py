"""Every view there is: in an empty world it says how to begin, in a busy one it has rows."""

import re

import pytest

from rdmalab.lab import Lab
from rdmalab.workbench.view_requests import AsyncRow, View
from rdmalab.workbench.view_rows import OF_NOUN, TOPICS
from rdmalab.world.world import World
from tests.labs import BUSY, RECV, SEND, everything, lab_of, misread, well
from tests.shell.prompts import Prompt

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


@pytest.mark.parametrize("what", TOPICS)
def test_each_has_rows_in_a_busy_world_and_changes_nothing(busy: Lab, what: str) -> None:
    before = everything(busy)
    assert view(busy, _ANYWHERE.get(what, f"show {what}")).rows
    assert everything(busy) == before


@pytest.mark.parametrize("what", TOPICS)
def test_each_says_something_in_an_empty_world(what: str) -> None:
    reply = Lab().do(f"show {what}")[-1]
    if reply.error is not None:
        assert reply.error.hint
    else:
        assert reply.value.rows or reply.value.hint


@pytest.mark.parametrize("what", TOPICS)
def test_each_stands_on_the_page_of_show(what: str) -> None:
    page = " ".join(Prompt(width=100).ask("help show")).partition("opcode           ")[0]
    assert re.search(rf"[ ,]{what}(?:[,:.] |  )", page)


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


def _view(lab: Lab, line: str) -> View:
    (reply,) = lab.do(line)
    assert isinstance(reply.value, View)
    return reply.value


def _text(lab: Lab, line: str) -> str:
    return "\n".join(row.text for row in _view(lab, line).rows)


def test_the_last_verb_has_its_structures_its_call_and_its_check() -> None:
    lab = lab_of()
    lab.do(SEND)
    text = _text(lab, "show c")
    for part in (
        "struct ibv_sge sg = { .addr = (uintptr_t)A_mr0->addr, .length = 64",
        ".opcode = IBV_WR_SEND,",
        ".send_flags = IBV_SEND_SIGNALED,",
        "ret = ibv_post_send(A_qp0, &wr, &bad_wr);",
        "if (ret)",
    ):
        assert part in text
    lab.run()
    assert _text(lab, "show c") == text  # events are no calls


def test_a_refused_call_is_checked_for_its_errno() -> None:
    lab = lab_of()
    lab.do("post_send A.qp0 opcode=SEND sg=A.mr0[0:100] flags=INLINE")
    text = _text(lab, "show c")
    assert "if (ret != EINVAL)" in text
    assert "if (bad_wr != &wr)" in text


def test_an_event_an_object_and_a_work_request_have_theirs() -> None:
    lab = lab_of()
    lab.do(RECV)
    lab.do(SEND)
    lab.do("post_send A.qp0 wr_id=9 opcode=SEND sg=A.mr0[0:8]")
    assert "ibv_alloc_pd(A)" in _text(lab, "show c 0")
    assert ".wr_id = 2" in _text(lab, "show c B.qp0")
    assert ".wr_id = 9" in _text(lab, "show c A.qp0")
    assert ".wr_id = 1" in _text(lab, "show c A.qp0 1")
    assert "ibv_reg_mr" in _text(lab, "show c A.mr0")


def test_a_mask_is_made_of_the_fields() -> None:
    lab = lab_of()
    lab.do("modify_qp A.qp0 state=SQD en_sqd_async_notify=1")
    assert "IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY);" in _text(lab, "show c")


@pytest.mark.parametrize(("line", "wrong"), [
    ("show c 999", "event 999 is no verb"),
    ("show c A.qp0 77", "no verb of A.qp0 with wr_id=77"),
])  # fmt: skip
def test_a_number_without_a_verb_is_refused(line: str, wrong: str) -> None:
    assert misread(lab_of(), line).message == wrong


def test_without_a_verb_it_says_what_to_type() -> None:
    view = _view(Lab(), "show c")
    assert not view.rows
    assert "alloc_pd A.pd0" in view.hint


def test_what_is_not_in_c_has_its_reason() -> None:
    lab = lab_of()
    lab.do("post_recv B.qp0 wr=NULL")
    view = _view(lab, "show c")
    assert not view.rows
    assert "not in C: ibv_post_recv with NULL: C would crash" in view.hint


def test_a_fault_is_no_verb_and_stays_out() -> None:
    lab = lab_of()
    lab.do(RECV)
    lab.do("fault drop A->B nth=1")
    assert "ibv_post_recv" in _text(lab, "show c")


def test_a_long_session_is_not_replayed_for_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    lab = lab_of()
    write = "post_send A.qp0 wr_id=5 opcode=RDMA_WRITE sg=A.mr0[0:64] remote=B.mr0[0]"
    lab.do(f"program A.tx lines={{loop; {write} flags=SIGNALED; poll A.cq0; end}}")
    lab.session.history.run(60_000)
    lab.do("alloc_mw A.mw9 pd=A.pd0 type=2")
    lab.session.history.run(60_000)
    lab.do("reg_mr A.mr9 pd=A.pd0 length=64 access=LOCAL_WRITE")
    events, step = 0, World.run

    def counted(world: World, most: int, until_ns: int | None = None) -> int:
        nonlocal events
        done = step(world, most, until_ns)
        events += done
        return done

    monkeypatch.setattr(World, "run", counted)
    before = lab.session.world.event, lab.session.world.now_ns
    assert "A_mr9 = ibv_reg_mr(A_pd0, " in _text(lab, "show c")
    assert "ibv_alloc_mw(A_pd0, IBV_MW_TYPE_2)" in _text(lab, "show c A.mw9")
    assert events <= 10 * lab.session.history.apart
    assert (lab.session.world.event, lab.session.world.now_ns) == before
