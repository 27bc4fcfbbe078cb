"""Checkpoints in questions: counts since one, and one of another branch."""

import pytest

from rdmalab.command import NotUnderstood
from tests.labs import RECV, SEND, lab_of, well


def test_counts_since_a_moment() -> None:
    lab = lab_of(RECV, SEND, "run", "checkpoint half", "run 1us", RECV, SEND, "run")
    half = lab.session.checkpoints["half"][1]
    for question in (
        "wire.count({})",
        "A.cq0.total(status=SUCCESS, {})",
        "log.count(verb=post_send, {})",
    ):
        whole = lab.look(question.format("since=@start"))
        late = lab.look(question.format("since=@half"))
        assert (late, whole) in ((1, 2), (2, 4)), question
        assert lab.look(question.format(f"since={half.event}")) == late
        assert lab.look(question.format(f"since={half.at_ns}ns")) == late
    well(lab, "checkpoint start")
    assert lab.look("wire.count(since=@start)") == 0
    assert not lab.look("wire.any(since=@start)")


def test_a_checkpoint_of_another_branch_is_no_moment_of_this_one() -> None:
    lab = lab_of(
        RECV, "checkpoint early", SEND, "run", "checkpoint late", "goto @early", SEND, "run"
    )
    assert lab.look("wire.count(since=@early)") == 2
    with pytest.raises(NotUnderstood) as wrong:
        lab.look("wire.count(since=@late)")
    assert wrong.value.message == "@late is a moment of branch main"
    with pytest.raises(NotUnderstood) as wrong:
        lab.look("wire.count(since=@lat)")
    assert (wrong.value.message, wrong.value.hint) == (
        "no checkpoint is called lat", "there is: @early @late"
    )  # fmt: skip
    well(lab, "switch main")
    assert lab.look("wire.count(since=@late)") == 0
    assert lab.look("wire.count(since=@early)") == 2
