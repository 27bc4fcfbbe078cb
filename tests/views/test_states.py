"""The diagram: where a QP is, was, can go, and can never be."""

import pytest

from rdmalab.spec.states import QPState, QPType, after_send_error, legal_next
from rdmalab.views import states
from tests.pairs import Pair
from tests.shell.prompts import Prompt
from tests.views.looking import QP

DONE = "post_send A.qp0 opcode=RDMA_WRITE sg=A.mr0[0:5] remote=B.mr0[0] flags=SIGNALED"


def test_the_boxes_of_a_connected_rc_qp() -> None:
    row = states.diagram_row(Pair().world, QP)
    texts = [state.text for state in row.states]
    assert texts == ["RESET", "INIT", "RTR", "[RTS]", "SQD", "·sqe·", "ERR"]
    assert [state.state for state in row.states if state.came_from] == [QPState.RTR]
    assert row.taken is not None
    assert row.taken.text == "RTR → RTS"


def test_the_arrow_is_the_newest_move_of_this_qp() -> None:
    pair = Pair()
    pair.a.modify(qp_state=QPState.SQD)
    pair.b.modify(qp_state=QPState.ERR)
    taken = states.move_row(pair.world, QP)
    assert taken is not None
    assert (taken.before, taken.after, taken.event) == (
        QPState.RTS, QPState.SQD, pair.world.event - 1,
    )  # fmt: skip


def test_a_qp_just_made_came_from_nowhere() -> None:
    pair = Pair()
    lone = pair.end("A")
    row = states.diagram_row(pair.world, QP._replace(number=lone.qp.number))
    assert row.taken is None
    assert [n.to for n in row.nexts] == [QPState.RESET, QPState.INIT]
    to_init = next(n for n in row.nexts if n.to is QPState.INIT)
    assert to_init.required == ("qp_access_flags", "pkey_index", "port_num")


@pytest.mark.parametrize(
    ("lines", "note"),
    [
        ((), "queues are empty"),
        (("post_recv A.qp0", "post_recv A.qp0"),
         "queues are empty; 2 work requests discarded without completions"),
        # A completed request keeps its completion, polled or not.
        ((DONE, "run"), "queues are empty"),
        ((DONE, "run", DONE),
         "queues are empty; 1 work request discarded without completions"),
    ],
)  # fmt: skip
def test_work_was_discarded_only_if_there_was_some(lines: tuple[str, ...], note: str) -> None:
    prompt = Prompt("use rc_pair", *lines, "modify_qp A.qp0 state=RESET", width=200)
    session = prompt.lab.session
    thing = session.names.find("A.qp0")
    assert thing is not None
    row = states.diagram_row(session.world, thing)
    assert next(each.note for each in row.states if each.current) == note


@pytest.mark.parametrize("qp_type", QPType)
def test_only_sqe_can_be_out_of_reach(qp_type: QPType) -> None:
    missing = {state for state in QPState if not states.is_possible(qp_type, state)}
    assert missing == ({QPState.SQE} if after_send_error(qp_type) is QPState.ERR else set())


def test_a_device_without_sqe_has_no_such_box() -> None:
    assert not states.is_possible(QPType.UD, QPState.SQE, gives_sqe=False)


def test_legal_next_is_what_the_table_says() -> None:
    pair = Pair()
    rows = states.state_rows(pair.world, QP)
    assert tuple(r.state for r in rows if r.legal_next) == legal_next(QPType.RC, QPState.RTS)
    assert all(row.note for row in rows)
