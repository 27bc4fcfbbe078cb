"""What a step has done begins where it arrived, if it jumped in time."""

import pytest

from rdmalab.lab import Lab
from rdmalab.scenario.runner import Since


def lab() -> Lab:
    """A pair, and one SEND that waits for time to pass."""
    made = Lab()
    for line in ("use rc_pair", "post_recv B.qp0 sg=B.mr0[0:64]",
                 "post_send A.qp0 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED"):  # fmt: skip
        made.do(line)
    return made


def count(made: Lab) -> int:
    return len(made.session.world.trace.records)


def test_what_happens_belongs_to_the_step() -> None:
    made = lab()
    first, since = count(made), Since(made.session)
    made.run()
    since.notice()
    assert since.first_record == first < count(made)


@pytest.mark.parametrize("there", ["back 2", "goto start", "goto 5", "goto 100ns", "rewind"])
def test_no_records_right_after_a_jump(there: str) -> None:
    made = lab()
    made.run()
    since = Since(made.session)
    made.do(there)
    since.notice()
    assert since.first_record == count(made)
    made.do("step 2")
    since.notice()
    assert since.first_record < count(made)


def test_a_jump_forward_skips_what_lies_between() -> None:
    made = lab()
    made.run()
    made.do("goto start")
    since = Since(made.session)
    made.do("goto end")
    since.notice()
    assert since.first_record == count(made)


def test_another_branch_has_a_past_of_its_own() -> None:
    made = lab()
    made.do("goto 3")
    since = Since(made.session)
    made.do("alloc_pd A.pd7")
    since.notice()
    assert made.session.history.branch.name == "branch-1"
    assert since.first_record < count(made)  # a fork is no jump
    made.do("switch main")
    since.notice()
    assert since.first_record == count(made)


@pytest.mark.parametrize("style", ["trace A.cq0.count", "diff start", "goto end", "switch main"])
def test_who_looks_elsewhere_and_returns_has_not_gone(style: str) -> None:
    made = lab()
    first, since = count(made), Since(made.session)
    made.run()
    since.notice()
    made.do(style)
    since.notice()
    assert since.first_record == first
