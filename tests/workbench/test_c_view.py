"""`show c`: the C form of a verb, also of an event, an object and a work request."""

import pytest

from rdmalab.lab import Lab
from rdmalab.workbench.view_requests import View
from rdmalab.world.world import World
from tests.labs import RECV, SEND, lab_of, misread


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
