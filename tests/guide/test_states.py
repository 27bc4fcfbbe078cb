"""States and moves: as the table has them, RC first."""

import pytest

from rdmalab.guide.phrases import attribute_names
from rdmalab.guide.states import overview
from rdmalab.spec.states import MOVES, STATES, Mishap, QPState, QPType, after_send_error, legal_next
from tests.guide.saying import article_text, row


@pytest.mark.parametrize("state", QPState)
def test_a_state_says_its_note_and_every_next_state(state: QPState) -> None:
    assert STATES[state].note in article_text(state.name)
    leads = row(state.name, "leads to")
    assert all(to.name in leads for to in legal_next(QPType.RC, state))


def test_a_state_says_what_posting_is_answered_with() -> None:
    assert row("RTR", "post_send") == "EINVAL (mlx5: ENOMEM)"
    assert row("RTR", "post_recv") == "accepted"
    assert "WR_FLUSH_ERR" in row("ERR", "flushes")
    assert "CQ of the QP overruns" in row("ERR", "automatic")


def test_the_next_states_come_with_the_attributes_of_rc() -> None:
    assert "INIT (RC, others differ): needs qp_access_flags" in row("RESET", "leads to")


@pytest.mark.parametrize("state", QPState)
def test_moves_into_a_state_name_each_type_and_origin(state: QPState) -> None:
    text = article_text(f"modify_qp {state.name}")
    for qp_type, now, to in MOVES:
        if to is state:
            assert now.name in text
            assert qp_type.name in text or "every type" in text


@pytest.mark.parametrize("qp_type", QPType)
def test_the_moves_of_a_type_are_all_there(qp_type: QPType) -> None:
    name = f"modify_qp {qp_type.name}"
    for (kind, now, to), move in MOVES.items():
        if kind is qp_type:
            own = row(name, f"{now.name} → {to.name}")
            bare = row(name, f"… → {to.name}").split()
            if move.required or move.optional:
                assert attribute_names(move.required) in own
                assert attribute_names(move.optional) in own
                assert now.name not in bare
            else:
                assert own == ""
                assert now.name in bare
    send_error = f"RTS SQD → {after_send_error(qp_type).name}: {Mishap.SEND_ERROR.value}"
    assert send_error in row(name, "automatic")


def test_a_move_says_what_is_required() -> None:
    assert row("INIT->RTR", "RC XRC_RECV").startswith("needs path_mtu rq_psn dest_qp_num ah_attr")
    assert row("modify_qp RTS SQD", "RAW_PACKET") == "with the state alone"


def test_a_move_that_does_not_exist_says_what_is_legal() -> None:
    assert "not a legal transition: EINVAL" in article_text("RESET → ERR")
    assert row("RESET ERR", "legal") == "from RESET to RESET, INIT"


def test_the_overview_has_a_line_a_state() -> None:
    assert overview()[0] == "RESET → RESET INIT"
    assert len(overview()) == len(QPState)


def test_article_of_a_qp_type_has_opcodes_and_bring_up() -> None:
    assert "SEND_WITH_IMM" in row("UD", "opcodes")
    assert "it only receives" in row("XRC_RECV", "opcodes")
    assert "RTR → RTS needs sq_psn" in row("UC", "bring-up")
    assert row("UC", "send error") == "moves it to SQE"


def test_article_of_sqe_names_only_types_that_have_it() -> None:
    leads = row("SQE", "leads to")
    assert "RTS (UC, others differ): may set" in leads
    assert "RC" not in leads
